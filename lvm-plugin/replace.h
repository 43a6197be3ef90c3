/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checks of hearth replace-ssd and hearth cache: may a cache be put on this device?
 */
#ifndef HEARTH_PLUGIN_REPLACE_H
#define HEARTH_PLUGIN_REPLACE_H

#include "cache-info.h"

/* True if both paths are equal, or lead to one block device. */
bool same_device(const char *a, const char *b);

struct new_device {
	const char *path, *vg;
	const char *origin;	/* the volume that has all blocks, without its group */
	const struct cache_info *cache;	/* NULL: the volume is not active */
	double need;		/* bytes that the new cache takes */
	bool force;
};

/* Bytes of it that are free for the volume group. */
double new_device_room(const struct new_device *n);
/* EXIT_OK if it can hold the new cache; else prints why not. */
int new_device_check(const struct new_device *n);
/* The last of these checks alone: are enough bytes of it free? */
int new_device_check_room(const struct new_device *n);

#endif
