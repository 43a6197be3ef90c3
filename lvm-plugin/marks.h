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

/**
 * mark_names() - the names of all marks
 *
 * Return: the names in the order of the alphabet, with a blank between two; "" if there is
 * none, or without a directory. The caller frees it. Aborts without memory.
 */
char *mark_names(void);

/**
 * mark_window() - by how much the counters of a cache grew since a mark
 * @since: a mark's name, MARK_BEGIN, or a span as 30m, 6h or 1d
 * @c: the cache, whose present counters are added to its record
 * @w: receives the window from there to now
 *
 * Return: false after a complaint, if there is no such mark, if it does not have the cache,
 * or if no counters of that time are kept.
 */
bool mark_window(const char *since, const struct cache_info *c, struct window *w);

#endif
