/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checks of hearth replace-ssd, cache and bench: may a cache be put on this device, and is
 * there room?  It must not change anything.
 */
#ifndef HEARTH_PLUGIN_REPLACE_H
#define HEARTH_PLUGIN_REPLACE_H

#include "cache-info.h"

/**
 * same_device() - are two paths names of one block device?
 * @a: a path
 * @b: another path
 *
 * Return: true if both are equal, or lead to one device.
 */
bool same_device(const char *a, const char *b);

struct new_device {
	const char *path, *vg;
	const char *origin;	/* the name of the origin's volume, without its group */
	const struct cache_info *cache;	/* the present cache; NULL: there is none that is active */
	double need;		/* bytes that the new cache needs on the device */
	bool force;		/* --force */
};

/**
 * new_device_room() - the bytes of a device that are free for the volume group
 * @n: the device; only path and vg count
 *
 * If the device belongs to no volume group, all bytes but LVM's first MiB count as free.
 *
 * Return: bytes; 0 if it is no block device, or belongs to another volume group.
 */
double new_device_room(const struct new_device *n);

/**
 * new_device_check() - can a device hold the new cache?
 * @n: the device; with force it may be the origin's own disk, or a rotating disk
 *
 * Changes nothing. Runs pvs, lvs and wipefs.
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint.
 */
int new_device_check(const struct new_device *n);

/**
 * new_device_check_room() - the last check of new_device_check(): are enough bytes free?
 * @n: the device; only path, vg and need count
 *
 * Return: EXIT_OK; EXIT_FAILED after a complaint.
 */
int new_device_check_room(const struct new_device *n);

#endif
