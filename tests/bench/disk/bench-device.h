/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two devices for benchmarks share this: one hardware queue, one disk, data in memory.
 * It must not know when a request ends.
 */
#ifndef HEARTH_BENCH_DEVICE_H
#define HEARTH_BENCH_DEVICE_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

struct bench_device {
	const char *name;	/* of the driver; its only disk is NAME0 */
	int major;
	void *data;
	u64 data_bytes;		/* what is further on is neither kept nor copied */
	struct blk_mq_tag_set tags;
	struct gendisk *gd;
};

static const struct block_device_operations bench_fops = {
	.owner = THIS_MODULE,
};

static void bench_copy(struct bench_device *d, struct request *rq)
{
	u64 at = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	struct req_iterator iter;
	struct bio_vec bv;

	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE)
		return;
	rq_for_each_segment(bv, rq, iter) {
		if (at + bv.bv_len > d->data_bytes)
			return;
		if (op_is_write(req_op(rq)))
			memcpy_from_bvec(d->data + at, &bv);
		else
			memcpy_to_bvec(&bv, d->data + at);
		at += bv.bv_len;
	}
}

/*
 * Makes the device, with its first @keep_mib of @size_mib kept.  The caller has filled in
 * @tags.ops, @tags.queue_depth, @tags.cmd_size and perhaps @tags.flags; it begins the
 * device's life by bench_start(), or ends it by bench_remove().
 */
static int bench_prepare(struct bench_device *d, unsigned int size_mib,
			 unsigned int keep_mib)
{
	int r = -ENOMEM;

	d->data_bytes = (u64)min(keep_mib, size_mib) << 20;
	d->data = vzalloc(max_t(u64, d->data_bytes, PAGE_SIZE));
	if (!d->data)
		return r;
	d->major = r = register_blkdev(0, d->name);
	if (r < 0)
		goto free_data;

	d->tags.nr_hw_queues = 1;
	d->tags.numa_node = NUMA_NO_NODE;
	d->tags.flags |= BLK_MQ_F_SHOULD_MERGE;
	r = blk_mq_alloc_tag_set(&d->tags);
	if (r)
		goto unregister;
	d->gd = blk_mq_alloc_disk(&d->tags, d);
	if (IS_ERR(d->gd)) {
		r = PTR_ERR(d->gd);
		goto free_tags;
	}
	d->gd->major = d->major;
	d->gd->minors = 1;
	d->gd->fops = &bench_fops;
	snprintf(d->gd->disk_name, sizeof(d->gd->disk_name), "%s0", d->name);
	set_capacity(d->gd, (sector_t)size_mib << (20 - SECTOR_SHIFT));
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, d->gd->queue);
	blk_queue_max_hw_sectors(d->gd->queue, 2560);
	return 0;

free_tags:
	blk_mq_free_tag_set(&d->tags);
unregister:
	unregister_blkdev(d->major, d->name);
free_data:
	vfree(d->data);
	return r;
}

static void bench_remove(struct bench_device *d)
{
	put_disk(d->gd);
	blk_mq_free_tag_set(&d->tags);
	unregister_blkdev(d->major, d->name);
	vfree(d->data);
}

/* Requests may come.  The device is gone if there is an error. */
static int bench_start(struct bench_device *d)
{
	int r = add_disk(d->gd);

	if (r)
		bench_remove(d);
	return r;
}

#endif
