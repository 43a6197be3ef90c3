/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checks of hearth replace-ssd and hearth cache: may a cache be put on this device?
 */
#ifndef HEARTH_PLUGIN_REPLACE_H
#define HEARTH_PLUGIN_REPLACE_H

#include "cache-info.h"

/**
 * same_device() - are these two names of one block device?
 * @a: a path
 * @b: another
 *
 * Return: true if both are equal, or lead to one device.
 */
bool same_device(const char *a, const char *b);

struct new_device {
	const char *path, *vg;
	const char *origin;	/* the volume that has all blocks, without its group */
	const struct cache_info *cache;	/* NULL: the volume is not active */
	double need;		/* bytes that the new cache takes */
	bool force;
};

/**
 * new_device_room() - how much of a device is free for the volume group
 * @n: its path and vg count
 *
 * A device that belongs to no volume group is taken to be free, but for LVM's first MiB.
 *
 * Return: bytes; 0 if it is no block device, or another volume group's.
 */
double new_device_room(const struct new_device *n);

/**
 * new_device_check() - can a device hold the new cache?
 * @n: the device, and what is asked of it; with force it may be the origin's own disk, or
 *	rotate
 *
 * Changes nothing. Runs pvs, lvs and wipefs.
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint.
 */
int new_device_check(const struct new_device *n);

/**
 * new_device_check_room() - the last of these checks alone: are enough bytes free?
 * @n: its path, vg and need count
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint.
 */
int new_device_check_room(const struct new_device *n);

#endif
