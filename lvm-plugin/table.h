/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table lines made from table lines, for caches that LVM knows nothing of.
 */
#ifndef HEARTH_PLUGIN_TABLE_H
#define HEARTH_PLUGIN_TABLE_H

#include "cache-info.h"

/*
 * The table of @c with another mode and policy; NULL keeps one.  With the policy
 * cleaner its settings are left out.  The result is allocated.
 */
char *table_with(const struct cache_info *c, const char *mode, const char *policy);

/* Load it.  Prints what is wrong and returns an exit code. */
int table_load(const struct cache_info *c, const char *table);

#endif
