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

/* Adds the present counters of @c to what is kept, and reads the windows before them. */
void windows_read(struct windows *w, const struct cache_info *c);

#endif
