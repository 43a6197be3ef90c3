/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The growth of a cache's counters in the spans of time that hearth status shows.  All spans
 * end now.
 */
#ifndef HEARTH_PLUGIN_WINDOWS_H
#define HEARTH_PLUGIN_WINDOWS_H

#include "history.h"

struct windows {
	struct window minute, five_minutes, hour, day;
};

/**
 * windows_read() - add the present counters of a cache to its history and record, and read the
 *	windows
 * @w: receives them; the seconds of a window that is not known are 0
 * @c: the cache
 *
 * Writes to the history in /run and to the record in /var, if it may write there. Prints
 * nothing. Aborts without memory.
 */
void windows_read(struct windows *w, const struct cache_info *c);

#endif
