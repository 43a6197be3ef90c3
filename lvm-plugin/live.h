/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests to a block device while they happen.
 */
#ifndef HEARTH_PLUGIN_LIVE_H
#define HEARTH_PLUGIN_LIVE_H

#include <sys/types.h>

#include "trace.h"

/* The device that a user calls @volume: VG/LV, as in /dev/mapper, or a path. */
int live_find(const char *volume, dev_t *dev);
/*
 * Add all requests to @dev to @t, for *@seconds or until interrupted; *@seconds
 * becomes the time that it took.  An exit code.
 */
int live_record(struct trace *t, dev_t dev, double *seconds, bool quiet);

#endif
