/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table lines made from table lines, for caches that LVM does not know.
 */
#ifndef HEARTH_PLUGIN_TABLE_H
#define HEARTH_PLUGIN_TABLE_H

#include "cache-info.h"

/**
 * table_with() - the table of a cache, with another mode and policy
 * @c: the cache, which stays as it is
 * @mode: a mode that the table may have; NULL keeps the present one
 * @policy: its name; NULL keeps the present one. Settings are kept, but the policy cleaner
 *	gets none, because it has none
 *
 * Aborts without memory.
 *
 * Return: the target's words, which the caller frees.
 */
char *table_with(const struct cache_info *c, const char *mode, const char *policy);

/**
 * table_load() - load a table in the place of the present one
 * @c: the cache, which is in use meanwhile
 * @table: the target's words
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint, if it was refused, or if the present table
 * has another target as well. The present one runs then.
 */
int table_load(const struct cache_info *c, const char *table);

#endif
