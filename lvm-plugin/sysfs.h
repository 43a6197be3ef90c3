/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Facts about block devices from /sys, and the running kernel of itself.
 */
#ifndef HEARTH_PLUGIN_SYSFS_H
#define HEARTH_PLUGIN_SYSFS_H

#include "cache-info.h"

/*
 * /sys/dev/block/MAJOR:MINOR/@file as a number, in the file's unit; for a
 * partition that has no such file, its disk's.  @otherwise if there is none.
 */
long sys_number(struct device d, const char *file, long otherwise);
/* Is @wanted @d itself, or a device below it? */
bool stands_on(struct device d, struct device wanted);
/* Is @d, or a device below it, a mirror or RAID of LVM's or md's? */
bool is_on_mirror(struct device d);
/* Is @d, or a device below it, on the disk that @other is, or is a part of? */
bool shares_disk(struct device d, struct device other);

#define NODE_LEN	300

/* The device's node, "/dev/sda" or "/dev/dm-3"; "8:0" if /sys does not know it. */
void device_node(struct device d, char *node);
/* VG/LV, a device-mapper name, or the node. */
void device_name(struct device d, char *name);
/* The device-mapper name and UUID; false if it is no such device. */
bool device_dm_name(struct device d, char *name, size_t name_len, char *uuid,
		    size_t uuid_len);
/* The nodes of the disks and partitions below @d, with commas between. */
void device_disks(struct device d, char *nodes, size_t len);

/*
 * How the kernel reaches the disks below @d: "local", or the first other of "nvme-tcp",
 * "nvme-rdma", "nvme-fc", "nvme-loop", "iscsi", "fc", "rbd", "drbd" and "nbd".
 */
const char *device_transport(struct device d);

/* The release of the running kernel, as uname -r prints it. */
const char *kernel_release(void);

#endif
