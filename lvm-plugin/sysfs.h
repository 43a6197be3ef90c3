/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What /sys says of block devices, and the running kernel of itself.
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

/* The release of the running kernel, as uname -r prints it. */
const char *kernel_release(void);

#endif
