/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The spans of time that end now, for which hearth status tells what was.
 */
#ifndef HEARTH_PLUGIN_WINDOWS_H
#define HEARTH_PLUGIN_WINDOWS_H

#include "history.h"

struct windows {
	struct window minute, five_minutes, hour, day;
};

/**
 * windows_read() - add the present counters of a cache to what is kept, and read the windows
 * @w: receives them; the seconds of one that is not known are 0
 * @c: the cache
 *
 * Writes to the history in /run and to the record in /var, where it may. Prints nothing.
 * Aborts without memory.
 */
void windows_read(struct windows *w, const struct cache_info *c);

#endif
