/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Facts about block devices from /sys, and the release of the running kernel.  It must not
 * know caches.
 */
#ifndef HEARTH_PLUGIN_SYSFS_H
#define HEARTH_PLUGIN_SYSFS_H

#include "cache-info.h"

/**
 * sys_number() - a number that /sys has of a device
 * @d: the device
 * @file: below /sys/dev/block/MAJOR:MINOR, "queue/rotational" say; if a partition has no such
 *	file, that of its disk is read
 * @otherwise: the result if there is no such file, or no number in it
 *
 * Return: the number in the file's unit, which is sectors of 512 bytes for "size".
 */
long sys_number(struct device d, const char *file, long otherwise);

/**
 * stands_on() - is a device another one, or does it stand on it?
 * @d: the device that may stand on the other
 * @wanted: the other device
 *
 * A partition does not count as standing on its disk.
 *
 * Return: true if @wanted is @d itself, or is below it.
 */
bool stands_on(struct device d, struct device wanted);

/**
 * is_redundant() - does a device outlive the loss of any one disk below it?
 * @d: the device
 *
 * It does if there is a mirror, or RAID of another level than 0, of md's or device-mapper's,
 * above each disk. This does not look whether a disk of the RAID is missing already.
 *
 * Return: true if so.
 */
bool is_redundant(struct device d);

/**
 * shares_disk() - do two devices lie on one disk?
 * @d: the one device; all disks below it count
 * @other: a disk, or a partition, which stands for its disk
 *
 * Return: true if @d, or a device below it, is on the disk that @other is, or is a part of.
 */
bool shares_disk(struct device d, struct device other);

#define NODE_LEN	300

/**
 * device_node() - a device's node
 * @d: the device
 * @node: of NODE_LEN bytes; receives "/dev/sda" or "/dev/dm-3", or "8:0" if /sys does not
 *	know the device
 */
void device_node(struct device d, char *node);

/**
 * device_name() - a device's name for people
 * @d: the device
 * @name: of NODE_LEN bytes; receives VG/LV, a device-mapper name, or the node
 */
void device_name(struct device d, char *name);

/**
 * device_dm_name() - the name and the UUID that a device has in device-mapper
 * @d: the device
 * @name: receives the name
 * @name_len: how many bytes @name has; a longer name is cut
 * @uuid: receives the UUID; "" if it has none
 * @uuid_len: how many bytes @uuid has
 *
 * Return: true; false, and both stay as they are, if it is no device of device-mapper's.
 */
bool device_dm_name(struct device d, char *name, size_t name_len, char *uuid,
		    size_t uuid_len);

/**
 * device_disks() - the disks and partitions at the bottom of a device
 * @d: the device
 * @nodes: receives their nodes, as of device_node(), with commas between, each once
 * @len: how many bytes @nodes has; the rest of a longer list is cut off
 */
void device_disks(struct device d, char *nodes, size_t len);

/**
 * device_transport() - how the kernel reaches the disks below a device
 * @d: the device
 *
 * Return: the transport of the first device, from @d down, that is not local: "nvme-tcp",
 * "nvme-rdma", "nvme-fc", "nvme-loop", "iscsi", "fc", "rbd", "drbd" or "nbd"; "local" if there
 * is none. Constant.
 */
const char *device_transport(struct device d);

/**
 * kernel_release() - the release of the running kernel, as uname -r prints it
 *
 * Return: the release, in a static buffer that every call fills with the same text.
 */
const char *kernel_release(void);

#endif
