/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records the requests to a block device while they happen.  It must not know caches.
 */
#ifndef HEARTH_PLUGIN_LIVE_H
#define HEARTH_PLUGIN_LIVE_H

#include <sys/types.h>

#include "trace.h"

/**
 * live_find() - the number of the block device that a user names
 * @volume: VG/LV, a name in /dev/mapper, or a path
 * @dev: receives the number
 *
 * Return: EXIT_OK; EXIT_NO_CACHE after a complaint.
 */
int live_find(const char *volume, dev_t *dev);
/**
 * live_record() - record the requests to a device while they happen
 * @t: receives the requests, without discards and flushes; after a failure, those before it.
 *	trace_free() frees them
 * @dev: the device's number
 * @seconds: how long to record; receives how long it did record
 * @quiet: show no progress; if stderr is no terminal, none is shown anyway
 *
 * Calls catch_signals(), because Ctrl-C ends the recording early, which is no failure. Clears
 * interrupted at the end. If the kernel has lost requests, because they came too fast, complains
 * and goes on.
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint.
 */
int live_record(struct trace *t, dev_t dev, double *seconds, bool quiet);

#endif
