/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks: the counters of caches as they were at a moment that the administrator named.
 */
#ifndef HEARTH_PLUGIN_MARKS_H
#define HEARTH_PLUGIN_MARKS_H

#include <stdio.h>

#include "record.h"

/* The name that stands for the time when a record began. */
#define MARK_BEGIN	"begin"

/* The names of all marks, with a blank between two; allocated. */
char *mark_names(void);

/*
 * The window from @since to the present counters of @c: a mark's name, MARK_BEGIN, or a
 * span as 30m, 6h or 1d.  False after a complaint if there is none.
 */
bool mark_window(const char *since, const struct cache_info *c, struct window *w);

#endif
