/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording the requests to a block device while they happen.
 */
#ifndef HEARTH_PLUGIN_LIVE_H
#define HEARTH_PLUGIN_LIVE_H

#include <sys/types.h>

#include "trace.h"

/**
 * live_find() - the number of the device that a user names
 * @volume: VG/LV, a name in /dev/mapper, or a path
 * @dev: receives the number
 *
 * Return: EXIT_OK; EXIT_NO_CACHE after a complaint.
 */
int live_find(const char *volume, dev_t *dev);
/**
 * live_record() - record the requests to a device while they happen
 * @t: the requests are added to it, but for discards and flushes; also what came before a
 *	failure
 * @dev: the device's number
 * @seconds: how long to record; receives how long it was
 * @quiet: show no progress on stderr; none is shown either if that is no terminal
 *
 * Ctrl-C ends it early, and is no failure: catches signals from here on, and clears
 * interrupted at the end. Complains of requests that came too fast, and goes on.
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint.
 */
int live_record(struct trace *t, dev_t dev, double *seconds, bool quiet);

#endif
