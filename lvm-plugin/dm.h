/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that the command asks of the running system's device-mapper.  dm-kernel.c
 * asks the kernel; the tests link something else in its place.
 *
 * Functions return 0, or a negative error number; dm_error() then says more.
 */
#ifndef HEARTH_PLUGIN_DM_H
#define HEARTH_PLUGIN_DM_H

#include <stdbool.h>
#include <stdint.h>

#define DM_NAME_MAX	128

/* A device whose table has a target "cache"; the first one if there are more. */
struct dm_device {
	char name[DM_NAME_MAX];
	char uuid[DM_NAME_MAX + 2];
	uint32_t major, minor;
	uint64_t start, length;		/* of the target, in sectors */
	bool alone;			/* it is the table's only target */
	bool suspended;
	char *table, *status;		/* the target's words */
};

int dm_list_caches(struct dm_device **devices, unsigned int *nr);
void dm_free_caches(struct dm_device *devices, unsigned int nr);

/*
 * One device by its device-mapper name; free its table and status.  -ENOENT if
 * it has no such target: the rest of @d is filled in.  -ENXIO if there is none.
 */
int dm_look(const char *name, struct dm_device *d);

/* @reply is allocated, or NULL if there was none; pass NULL to drop it. */
int dm_send(const struct dm_device *d, const char *message, char **reply);

/* Replace the table by one target, while the device is in use. */
int dm_replace(const struct dm_device *d, const char *type, const char *table);

/*
 * Have dmeventd watch a device, looking at it every so many seconds; 0: no more.
 * -ENODATA: it has no UUID; -ENOENT: no plugin; -EHOSTDOWN: no dmeventd.
 */
int dm_monitor(const struct dm_device *d, unsigned int seconds);
bool dm_monitored(const struct dm_device *d);

/* The version of the target "cache"; -ENOENT if it is not loaded. */
int dm_cache_version(uint32_t version[3]);

/* The device's name, or "major:minor" if it has none. */
void dm_name_of(uint32_t major, uint32_t minor, char *name, unsigned int len);

/* Number and size in bytes of the block device at @path; -ENOTBLK if it is none. */
int dm_block_device(const char *path, uint32_t *major, uint32_t *minor,
		    uint64_t *bytes);
/* 0 if nothing has claimed the device at @path: -EBUSY if it is mounted, say. */
int dm_unclaimed(const char *path);

const char *dm_error(void);
void dm_quiet(void);		/* keep complaints of libdevmapper for it */
const char *dm_root(void);	/* in front of /sys, /run, /lib, /boot: "" */

#endif
