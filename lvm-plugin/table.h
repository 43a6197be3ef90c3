/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table lines made from table lines, for caches that LVM does not know.
 */
#ifndef HEARTH_PLUGIN_TABLE_H
#define HEARTH_PLUGIN_TABLE_H

#include "cache-info.h"

/*
 * The table of @c with another mode and policy; NULL keeps the present one.  The
 * policy cleaner gets no settings, because it has none.  The result is allocated.
 */
char *table_with(const struct cache_info *c, const char *mode, const char *policy);

/* Loads @table in the place of the present one.  Prints what is wrong, and returns
 * an exit code. */
int table_load(const struct cache_info *c, const char *table);

#endif
