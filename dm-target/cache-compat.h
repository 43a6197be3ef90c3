/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that knows that kernels differ.  Each HEARTH_HAVE_* is set by
 * Kbuild when a file of compat/ compiles against the headers of the kernel at
 * hand, whatever its version, so that a backported change is seen for what it
 * is.
 */
#ifndef HEARTH_CACHE_COMPAT_H
#define HEARTH_CACHE_COMPAT_H

#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/dm-kcopyd.h>

/* What a status function's flags mean; dm keeps the name in its own header. */
#ifndef DM_STATUS_NOFLUSH_FLAG
#define DM_STATUS_NOFLUSH_FLAG	(1U << 0)
#endif

static inline int compat_dm_io(struct dm_io_request *req, unsigned int num,
			       struct dm_io_region *where, unsigned long *errors)
{
#ifdef HEARTH_HAVE_DM_IO_IOPRIO
	return dm_io(req, num, where, errors, IOPRIO_DEFAULT);
#else
	return dm_io(req, num, where, errors);
#endif
}

/* For io_hints: pages must not change while they are written. */
static inline void compat_need_stable_writes(struct dm_target *ti,
					     struct queue_limits *limits)
{
#ifdef HEARTH_HAVE_TARGET_STABLE_WRITES
	ti->needs_stable_writes = true;
#else
	limits->features |= BLK_FEAT_STABLE_WRITES;
#endif
}

static inline bool compat_bdev_rotational(struct block_device *bdev)
{
#ifdef HEARTH_HAVE_BDEV_NONROT
	return !bdev_nonrot(bdev);
#else
	return bdev_rot(bdev);
#endif
}

#endif
