/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that the command asks of the running system's device-mapper.
 * dm-kernel.c, dm-below.c and dm-events.c ask the kernel and dmeventd; the tests link a
 * device-mapper made of files in their place.
 *
 * Functions that return int return 0 or a negative error number, and nothing is
 * printed; dm_error() then has libdevmapper's words.
 */
#ifndef HEARTH_PLUGIN_DM_H
#define HEARTH_PLUGIN_DM_H

#include <stdbool.h>
#include <stdint.h>

#define DM_NAME_MAX	128

/* A device whose table has a target "cache"; the first one if there are several. */
struct dm_device {
	char name[DM_NAME_MAX];
	char uuid[DM_NAME_MAX + 2];
	uint32_t major, minor;
	uint64_t start, length;		/* of the target, in sectors */
	bool alone;			/* the table has no other target */
	bool suspended;
	char *table, *status;		/* the target's words */
};

/* All of them, sorted by name; free them by dm_free_caches(). */
int dm_list_caches(struct dm_device **devices, unsigned int *nr);
void dm_free_caches(struct dm_device *devices, unsigned int nr);

/*
 * One device by its device-mapper name; the caller frees its table and status.
 * -ENOENT if it has no target "cache": the rest of @d is filled in then.  -ENXIO
 * if there is no such device.
 */
int dm_look(const char *name, struct dm_device *d);

/*
 * Sends a message to the target.  @reply receives the answer, allocated, or NULL
 * if there was none; a NULL @reply drops it.
 */
int dm_send(const struct dm_device *d, const char *message, char **reply);

/*
 * Replaces the table by one target of @type, while the device is in use.  If the
 * new table cannot be resumed, the old one runs again.
 */
int dm_replace(const struct dm_device *d, const char *type, const char *table);

/*
 * Has dmeventd watch a device, with a look every @seconds; 0 ends that.
 * -ENODATA: the device has no UUID; -ENOENT: hearth's plugin is not installed;
 * -EHOSTDOWN: dmeventd does not run, and nothing would start it.
 */
int dm_monitor(const struct dm_device *d, unsigned int seconds);
bool dm_monitored(const struct dm_device *d);

/* The version of the target "cache"; -ENOENT if the target is not loaded. */
int dm_cache_version(uint32_t version[3]);

/* Writes the device's name, or "major:minor" if it has none, to @name. */
void dm_name_of(uint32_t major, uint32_t minor, char *name, unsigned int len);

/*
 * The numbers of the devices that the table of @major:@minor names, @below[][2]: how
 * many, at most @max.  0 if it is no device of device-mapper's.
 */
unsigned int dm_devices_below(uint32_t major, uint32_t minor, uint32_t below[][2],
			      unsigned int max);

/* Number and size in bytes of the block device at @path; -ENOTBLK if it is none. */
int dm_block_device(const char *path, uint32_t *major, uint32_t *minor,
		    uint64_t *bytes);
/* 0 if nothing has claimed the device at @path; -EBUSY if it is mounted, say. */
int dm_unclaimed(const char *path);

/* libdevmapper's first complaint about the last task, or "". */
const char *dm_error(void);
/* From here on libdevmapper prints nothing; its complaints are for dm_error(). */
void dm_quiet(void);
/* The directory that stands before /sys, /run, /lib and /boot: "" but in tests. */
const char *dm_root(void);

#endif
