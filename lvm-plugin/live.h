/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests to a block device while they happen.
 */
#ifndef HEARTH_LIVE_H
#define HEARTH_LIVE_H

#include "trace.h"

/*
 * Add all requests to @volume (VG/LV, a device-mapper name, or a path) to @t,
 * for @seconds or until interrupted.  An exit code.
 */
int live_record(struct trace *t, const char *volume, double seconds,
		bool quiet);

#endif
