/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May hearth replace-ssd put a cache on a device?
 */
#ifndef HEARTH_PLUGIN_REPLACE_H
#define HEARTH_PLUGIN_REPLACE_H

#include "cache-info.h"

/* Two paths of one block device, or one path twice. */
bool same_device(const char *a, const char *b);

struct new_device {
	const char *path, *vg;
	const char *origin;	/* the hidden volume below the cache, VG/LV */
	const struct cache_info *cache;	/* NULL: it is not active */
	double need;		/* bytes */
	bool force;
};

/* Is it fit to hold the new cache?  Prints why not; an exit code. */
int new_device_check(const struct new_device *n);
/* The last of these checks: has it bytes enough for the volume group? */
int new_device_check_room(const struct new_device *n);

#endif
