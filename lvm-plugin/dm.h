/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that the command asks of the running system's device-mapper.
 * dm-kernel.c, dm-below.c and dm-events.c ask the kernel and dmeventd; the tests link a
 * device-mapper made of files in their place.
 *
 * These functions print nothing.  Libdevmapper itself may print errors until the first task
 * or dm_quiet() takes its log.  After an error of libdevmapper's, dm_error() has its words.
 * It must not know what the words of a table or of a status line mean.
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
	uint64_t start, length;		/* of the target, in sectors of 512 bytes */
	bool alone;			/* the table has no other target */
	bool suspended;
	char *table, *status;		/* the target's words, without start, length and type */
};

/**
 * dm_list_caches() - all devices that have a target "cache"
 * @devices: receives them, sorted by name; dm_free_caches() frees them, also after an error
 * @nr: receives their number
 *
 * Leaves out a device that goes away meanwhile.
 *
 * Return: 0; -EACCES if the user is not root, -ENODEV without a device-mapper, -ENOMEM, or
 * the kernel's error.
 */
int dm_list_caches(struct dm_device **devices, unsigned int *nr);

/**
 * dm_free_caches() - free what dm_list_caches() made
 * @devices: the devices, with their tables and status lines; may be NULL
 * @nr: their number
 */
void dm_free_caches(struct dm_device *devices, unsigned int nr);

/**
 * dm_look() - look at one device
 * @name: its device-mapper name
 * @d: receives it; the caller frees its table and its status, which are NULL after an error
 *
 * Return: 0; -ENOENT if it has no target "cache", and @d has the rest; -ENXIO if there is no
 * such device; -EACCES, -ENODEV, -ENOMEM, or the kernel's error.
 */
int dm_look(const char *name, struct dm_device *d);

/**
 * dm_send() - send a message to the target
 * @d: the device
 * @message: the words
 * @reply: receives the answer, which the caller frees; or NULL if there was none, or no memory
 *	for it. If @reply itself is NULL, the answer is dropped
 *
 * Return: 0; -ENOMEM, or the error of the target or the kernel.
 */
int dm_send(const struct dm_device *d, const char *message, char **reply);

/**
 * dm_replace() - replace the table by one target, while the device is in use
 * @d: the device; the target keeps its start and its length
 * @type: of the target, "cache" say
 * @table: the target's words
 *
 * If the kernel refuses to suspend the device or to switch the tables, the old table runs
 * again. If the new target does not resume, the kernel has freed the old table already: the
 * new table stays then, and the device is suspended, unless a second resume succeeds.
 *
 * Return: 0; -ENOMEM, or the kernel's error for the new table, the suspend or the resume.
 */
int dm_replace(const struct dm_device *d, const char *type, const char *table);

/**
 * dm_remove_tree() - remove a device of LVM's, and the devices of its volume group below it
 * @d: the device, which may be suspended
 *
 * Leaves what another device uses, or somebody has open. Retries for some seconds if udev has
 * a device open.
 *
 * Return: 0; -EBUSY if @d is in use or cannot be removed; -ENOMEM.
 */
int dm_remove_tree(const struct dm_device *d);

/**
 * dm_monitor() - have dmeventd watch a device, or end that
 * @d: the device
 * @seconds: from one look to the next; 0 ends it
 *
 * Starts dmeventd if it does not run; under systemd only by its socket.
 *
 * Return: 0; -ENODATA: the device has no UUID; -ENOENT: hearth's plugin is not installed;
 * -EHOSTDOWN: dmeventd does not run, and its socket is not there; -ENOMEM; -EIO: dmeventd
 * refused it.
 */
int dm_monitor(const struct dm_device *d, unsigned int seconds);

/**
 * dm_monitored() - does dmeventd watch a device with hearth's plugin?
 * @d: the device
 *
 * Does not start dmeventd.
 *
 * Return: true if so; false also if dmeventd cannot be asked.
 */
bool dm_monitored(const struct dm_device *d);

/**
 * dm_cache_version() - the version of the target "cache" that is loaded
 * @version: receives major, minor and patch level; the major is 2, and hearth's minors
 *	begin at 100
 *
 * Return: 0; -ENOENT if the target is not loaded; -EACCES, -ENODEV, -ENOMEM, or the
 * kernel's error. @version stays as it is then.
 */
int dm_cache_version(uint32_t version[3]);

/**
 * dm_devices_below() - the devices that a device's table names
 * @major: the device's number
 * @minor: the same
 * @below: receives the major and the minor number of each
 * @max: how many @below has room for; the others are left out
 *
 * Libdevmapper logs an error for a device that is not device-mapper's, so the caller makes sure
 * that it is. Dmeventd's plugin calls this, too.
 *
 * Return: how many @below has; 0 if it is no device of device-mapper's, or cannot be asked.
 */
unsigned int dm_devices_below(uint32_t major, uint32_t minor, uint32_t below[][2],
			      unsigned int max);

/**
 * dm_all_targets() - does a test hold for every target of a device?
 * @major: the device's number
 * @minor: the same
 * @is: the test: true or false for one target, by its type and the words of its table
 *
 * Libdevmapper logs an error for a device that is not device-mapper's, so the caller makes sure
 * that it is.
 *
 * Return: true if so; false also if the device has no target, or cannot be asked.
 */
bool dm_all_targets(uint32_t major, uint32_t minor,
		    bool (*is)(const char *type, const char *words));

/**
 * dm_block_device() - number and length of a block device
 * @path: its node
 * @major: receives its number
 * @minor: the same
 * @bytes: receives its length in bytes
 *
 * Return: 0; -ENOTBLK if it is no block device; the error of open() or of an ioctl. dm_error()
 * says nothing of these errors. @major and @minor stay as they are then.
 */
int dm_block_device(const char *path, uint32_t *major, uint32_t *minor,
		    uint64_t *bytes);

/**
 * dm_unclaimed() - has nothing claimed a block device?
 * @path: its node
 *
 * Return: 0; -EBUSY if it is mounted, say, or a part of another device; another error of
 * open(). dm_error() says nothing of these errors.
 */
int dm_unclaimed(const char *path);

/** dm_error() - libdevmapper's first complaint about the last task, or "" */
const char *dm_error(void);

/**
 * dm_quiet() - let libdevmapper print nothing from here on
 *
 * Forgets the complaint that dm_error() had; the next error is kept for it. Takes the log of
 * libdevmapper away from a report that is open (report.h).
 */
void dm_quiet(void);

/**
 * dm_root() - the directory that stands for the root directory: before /sys, /run and /var, say
 *
 * Return: "", but in tests their own directory; constant. Dmeventd's plugin has a function of
 * its own by this name.
 */
const char *dm_root(void);

#endif
