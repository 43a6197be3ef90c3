/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name of a cache that is being taken off its volume, kept for a later run.
 */
#ifndef HEARTH_PLUGIN_LEFT_OVER_H
#define HEARTH_PLUGIN_LEFT_OVER_H

#include <libdevmapper.h>

#include "cache-info.h"
#include "lvm.h"

struct left_over {
	char volume[2 * DM_NAME_MAX];		/* VG/LV */
	char cache[2 * DM_NAME_MAX];		/* VG/POOL, as it is called when it is off */
	char uuid[FIELD_LEN];			/* of that */
};

/*
 * Keeps the name and the UUID of the cache of @c until left_over_forget().  @what is the
 * subcommand, @name the volume as the user calls it; both find it again.
 */
void left_over_keep(const char *what, const char *name, const struct cache_info *c);
/* False if nothing was kept. */
bool left_over_find(const char *what, const char *name, struct left_over *l);
void left_over_forget(const char *what, const char *name);

/* Is the cache off its volume? */
bool left_over_is_off(const struct left_over *l);
/* Removes the cache if it is there still and in no use.  Returns an exit code. */
int left_over_remove(const struct left_over *l);

#endif
