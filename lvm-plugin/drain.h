/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking a cache of LVM's off, for those who do more than that.
 */
#ifndef HEARTH_PLUGIN_DRAIN_H
#define HEARTH_PLUGIN_DRAIN_H

#include "cache-info.h"

/*
 * Write back and remove the cache, with progress on stderr unless @quiet.  An
 * exit code; Ctrl-C leaves it as it was, but for what has gone home.
 */
int drain_and_uncache(const struct cache_info *c, bool quiet);
/* Complains if dirty blocks cannot be written back. */
int drain_check_health(const struct cache_info *c);

#endif
