/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording the requests to a block device while they happen.
 */
#ifndef HEARTH_PLUGIN_LIVE_H
#define HEARTH_PLUGIN_LIVE_H

#include <sys/types.h>

#include "trace.h"

/*
 * The number of the device that a user calls @volume: VG/LV, a name in /dev/mapper,
 * or a path.  EXIT_OK, or EXIT_NO_CACHE after a complaint.
 */
int live_find(const char *volume, dev_t *dev);
/*
 * Adds all requests to @dev to @t, for *@seconds or until interrupted; *@seconds
 * becomes the time that was recorded.  Shows progress unless @quiet.  Returns an
 * exit code.
 */
int live_record(struct trace *t, dev_t dev, double *seconds, bool quiet);

#endif
