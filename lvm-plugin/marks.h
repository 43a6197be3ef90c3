/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks: the counters of caches at a moment to which the administrator gave a name.  It must
 * not change a cache.
 */
#ifndef HEARTH_PLUGIN_MARKS_H
#define HEARTH_PLUGIN_MARKS_H

#include <stdio.h>

#include "record.h"

/* This name stands for the time when the record of a cache began. */
#define MARK_BEGIN	"begin"

/**
 * mark_names() - the names of all marks
 *
 * Return: the names in the order of the alphabet, with a blank between two; "" if there is no
 * mark, or no directory of marks. The caller frees it. Aborts without memory.
 */
char *mark_names(void);

/**
 * mark_window() - the growth of a cache's counters since a mark
 * @since: the name of a mark, MARK_BEGIN, or a span such as 30m, 6h or 1d
 * @c: the cache; its present counters are added to its record
 * @w: receives the window from that moment to now
 *
 * Return: true; false after a complaint, if there is no such mark, if the mark does not have
 * the cache, or if the record has no counters of that time.
 */
bool mark_window(const char *since, const struct cache_info *c, struct window *w);

#endif
