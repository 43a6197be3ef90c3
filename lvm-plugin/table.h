/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes and loads other tables for caches that LVM does not know.  It must not know LVM.
 */
#ifndef HEARTH_PLUGIN_TABLE_H
#define HEARTH_PLUGIN_TABLE_H

#include "cache-info.h"

/**
 * table_with() - the table of a cache, with another mode and policy
 * @c: the cache, which stays as it is
 * @mode: the mode for the table; NULL keeps the present mode
 * @policy: the policy's name; NULL keeps the present policy
 *
 * Keeps the settings, but for the policy cleaner, which has none. Aborts without memory.
 *
 * Return: the target's words, which the caller frees.
 */
char *table_with(const struct cache_info *c, const char *mode, const char *policy);

/**
 * table_load() - load a table in the place of the present table
 * @c: the cache, which is in use meanwhile
 * @table: the target's words
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint, if the present table has another target as
 * well, and runs on; or if dm_replace() fails, which says what table runs then, unless the new
 * table runs all the same. If the device stays suspended, the complaint says so, and has the commands that go on or back.
 */
int table_load(const struct cache_info *c, const char *table);

#endif
