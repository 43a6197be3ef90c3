/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking a cache of LVM's off, as a step of a longer command.
 */
#ifndef HEARTH_PLUGIN_DRAIN_H
#define HEARTH_PLUGIN_DRAIN_H

#include "cache-info.h"

/*
 * Writes all dirty blocks back and removes the cache, with progress on stderr
 * unless @quiet.  Returns an exit code.  After Ctrl-C the cache is still on;
 * blocks that were written back are clean.
 */
int drain_and_uncache(const struct cache_info *c, bool quiet);
/* EXIT_FAILED, with a complaint, if dirty blocks cannot be written back. */
int drain_check_health(const struct cache_info *c);

#endif
