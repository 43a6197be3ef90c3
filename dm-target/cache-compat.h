/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that knows that kernels differ.  Kbuild sets each HEARTH_HAVE_* if a
 * file of compat/ compiles against the headers of the kernel.  It does not look at the
 * kernel's version, because distributions backport changes.
 */
#ifndef HEARTH_CACHE_COMPAT_H
#define HEARTH_CACHE_COMPAT_H

#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/dm-kcopyd.h>

/* A flag of status functions.  Device-mapper has the name in a header of its own. */
#ifndef DM_STATUS_NOFLUSH_FLAG
#define DM_STATUS_NOFLUSH_FLAG	(1U << 0)
#endif

/**
 * compat_dm_io() - call dm_io()
 * @req: the request.  If it has no function to notify, the call sleeps until the I/O has
 *	ended.
 * @num: the number of regions
 * @where: the regions
 * @errors: receives a bit for each region that failed; or NULL
 *
 * Context: process, may sleep for memory.
 *
 * Return: 0 or a negative error.
 */
static inline int compat_dm_io(struct dm_io_request *req, unsigned int num,
			       struct dm_io_region *where, unsigned long *errors)
{
#if defined(HEARTH_HAVE_DM_IO_UNSUP)
	return dm_io(req, num, where, errors, NULL, IOPRIO_DEFAULT);
#elif defined(HEARTH_HAVE_DM_IO_IOPRIO)
	return dm_io(req, num, where, errors, IOPRIO_DEFAULT);
#else
	return dm_io(req, num, where, errors);
#endif
}

/*
 * An asynchronous request.  It is embedded in a structure of the caller's, which @done
 * finds by container_of().  @error is 0 if the I/O succeeded.
 */
struct compat_io;
typedef void (*compat_io_fn)(struct compat_io *io, unsigned long error);

struct compat_io {
	compat_io_fn done;
};

#ifdef HEARTH_HAVE_DM_IO_UNSUP
/**
 * compat_io_end() - what dm-io calls when the I/O has ended
 * @error: a bit for each region that failed
 * @unsup: a bit for each region that does not support the operation
 * @context: the struct compat_io
 *
 * An operation that is not supported is an error here, even if this kernel's dm-io tells
 * the two apart.
 */
static inline void compat_io_end(unsigned long error, unsigned long unsup,
				 void *context)
{
	struct compat_io *io = context;

	io->done(io, error | unsup);
}
#else
/**
 * compat_io_end() - what dm-io calls when the I/O has ended
 * @error: a bit for each region that failed, or does not support the operation
 * @context: the struct compat_io
 */
static inline void compat_io_end(unsigned long error, void *context)
{
	struct compat_io *io = context;

	io->done(io, error);
}
#endif

/**
 * compat_dm_io_async() - begin a request for one region
 * @req: the request; its function to notify is set here
 * @where: the region
 * @io: what @done gets; stays until then
 * @done: called when the I/O has ended, in any context
 *
 * Context: process, may sleep for memory.
 */
static inline void compat_dm_io_async(struct dm_io_request *req,
				      struct dm_io_region *where,
				      struct compat_io *io, compat_io_fn done)
{
	io->done = done;
	req->notify.fn = compat_io_end;
	req->notify.context = io;
	compat_dm_io(req, 1, where, NULL);
}

/**
 * compat_need_stable_writes() - ask that pages do not change while they are written
 * @ti: the target
 * @limits: the limits that its io_hints sets
 *
 * Context: io_hints of the target.
 */
static inline void compat_need_stable_writes(struct dm_target *ti,
					     struct queue_limits *limits)
{
#ifdef HEARTH_HAVE_TARGET_STABLE_WRITES
	ti->needs_stable_writes = true;
#else
	limits->features |= BLK_FEAT_STABLE_WRITES;
#endif
}

/**
 * compat_raise_max_sectors() - let requests be as large as a device takes them
 * @limits: the limits that io_hints sets
 * @bdev: the device
 *
 * Context: io_hints of a target.
 */
static inline void compat_raise_max_sectors(struct queue_limits *limits,
					    struct block_device *bdev)
{
	struct queue_limits *of = &bdev_get_queue(bdev)->limits;

	limits->max_hw_sectors = max(limits->max_hw_sectors, of->max_hw_sectors);
	/* 0 means that the device has no limit. */
	if (!of->max_dev_sectors || of->max_dev_sectors > limits->max_dev_sectors)
		limits->max_dev_sectors = of->max_dev_sectors;
#ifdef HEARTH_HAVE_MAX_USER_SECTORS
	limits->max_user_sectors = of->max_sectors;
#else
	limits->max_sectors = max(limits->max_sectors, of->max_sectors);
#endif
}

/**
 * compat_bdev_rotational() - is the device a disk that seeks?
 * @bdev: the device
 *
 * Context: any.
 */
static inline bool compat_bdev_rotational(struct block_device *bdev)
{
#ifdef HEARTH_HAVE_BDEV_NONROT
	return !bdev_nonrot(bdev);
#else
	return bdev_rot(bdev);
#endif
}

#endif
