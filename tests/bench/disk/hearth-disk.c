// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth-disk: a block device that takes as long as a 7,200 rpm disk, in the
 * kernel's clock.  For benchmarks only.
 *
 * This file owns the queue: up to 32 requests.  The disk serves one at a time,
 * and takes the one that can begin soonest.  disk-model.h says how long a
 * request takes.  The kernel's usual elevator and merging are above it.
 *
 * insmod hearth-disk.ko size_mib=N [keep=1] makes /dev/hearthdisk0.  With
 * keep=0 (default) the disk neither keeps nor copies data, because the
 * transfers of a real disk cost the CPU nothing either.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "disk-model.h"

#define MAX_WAIT_NS	NSEC_PER_SEC	/* after that none overtakes it */

static unsigned int size_mib = 1024;
module_param(size_mib, uint, 0444);
MODULE_PARM_DESC(size_mib, "capacity in MiB");

static bool keep;
module_param(keep, bool, 0444);
MODULE_PARM_DESC(keep, "keep data, in memory");

struct disk_request {
	struct list_head list;
	u64 arrived;
};

struct disk {
	spinlock_t lock;	/* guards all below */
	struct list_head waiting;
	struct request *serving;
	struct disk_head head;
	struct hrtimer timer;

	void *data;
	struct blk_mq_tag_set tags;
	struct gendisk *gd;
};

static struct disk disk;
static int major;

static struct request *to_request(struct disk_request *dr)
{
	return blk_mq_rq_from_pdu(dr);
}

static u64 wait_of(struct disk *d, struct disk_request *dr, u64 now)
{
	struct request *rq = to_request(dr);

	return disk_wait_ns(&d->head, blk_rq_pos(rq), op_is_write(req_op(rq)),
			    now);
}

/* Chooses the request that can begin soonest, or one that is overdue. */
static struct disk_request *choose(struct disk *d, u64 now)
{
	struct disk_request *dr, *best = NULL;
	u64 best_wait = U64_MAX, wait;

	lockdep_assert_held(&d->lock);
	list_for_each_entry(dr, &d->waiting, list) {
		if (dr->arrived + MAX_WAIT_NS < now)
			return dr;
		wait = wait_of(d, dr, now);
		if (wait < best_wait) {
			best = dr;
			best_wait = wait;
		}
	}
	return best;
}

static void serve_next(struct disk *d, u64 now)
{
	struct disk_request *dr = choose(d, now);
	struct request *rq;
	u64 end;

	lockdep_assert_held(&d->lock);
	d->serving = NULL;
	if (!dr)
		return;

	list_del(&dr->list);
	rq = to_request(dr);
	d->serving = rq;
	end = disk_serve(&d->head, blk_rq_pos(rq), blk_rq_sectors(rq),
			 op_is_write(req_op(rq)), now);
	hrtimer_start(&d->timer, ns_to_ktime(end), HRTIMER_MODE_ABS);
}

static enum hrtimer_restart disk_timer(struct hrtimer *timer)
{
	struct disk *d = container_of(timer, struct disk, timer);
	u64 now = ktime_to_ns(hrtimer_get_expires(timer));
	struct request *done;
	unsigned long flags;

	spin_lock_irqsave(&d->lock, flags);
	done = d->serving;
	/* From the end of the last one, so that this code takes no time. */
	serve_next(d, now);
	spin_unlock_irqrestore(&d->lock, flags);

	blk_mq_end_request(done, BLK_STS_OK);
	return HRTIMER_NORESTART;
}

static void copy_data(struct disk *d, struct request *rq)
{
	void *place = d->data + (blk_rq_pos(rq) << SECTOR_SHIFT);
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		if (op_is_write(req_op(rq)))
			memcpy_from_bvec(place, &bv);
		else
			memcpy_to_bvec(&bv, place);
		place += bv.bv_len;
	}
}

static blk_status_t disk_queue_rq(struct blk_mq_hw_ctx *hctx,
				  const struct blk_mq_queue_data *bd)
{
	struct disk *d = hctx->queue->queuedata;
	struct disk_request *dr = blk_mq_rq_to_pdu(bd->rq);
	u64 now = ktime_get_ns();
	unsigned long flags;

	blk_mq_start_request(bd->rq);
	if (d->data)
		copy_data(d, bd->rq);

	dr->arrived = now;
	spin_lock_irqsave(&d->lock, flags);
	list_add_tail(&dr->list, &d->waiting);
	if (!d->serving) {
		/* The buffer answers without the overhead of a new command. */
		if (!wait_of(d, dr, now))
			serve_next(d, now);
		else
			serve_next(d, now + DISK_OVERHEAD_NS);
	}
	spin_unlock_irqrestore(&d->lock, flags);
	return BLK_STS_OK;
}

static const struct blk_mq_ops disk_mq_ops = {
	.queue_rq = disk_queue_rq,
};

static const struct block_device_operations disk_fops = {
	.owner = THIS_MODULE,
};

static int disk_add(struct disk *d)
{
	struct gendisk *gd;
	int r;

	d->tags.ops = &disk_mq_ops;
	d->tags.nr_hw_queues = 1;
	d->tags.queue_depth = DISK_QUEUE;
	d->tags.numa_node = NUMA_NO_NODE;
	d->tags.cmd_size = sizeof(struct disk_request);
	d->tags.flags = BLK_MQ_F_SHOULD_MERGE;
	r = blk_mq_alloc_tag_set(&d->tags);
	if (r)
		return r;

	gd = blk_mq_alloc_disk(&d->tags, d);
	if (IS_ERR(gd)) {
		r = PTR_ERR(gd);
		goto free_tags;
	}
	gd->major = major;
	gd->minors = 1;
	gd->fops = &disk_fops;
	strscpy(gd->disk_name, "hearthdisk0", sizeof(gd->disk_name));
	set_capacity(gd, (sector_t)size_mib << (20 - SECTOR_SHIFT));
	blk_queue_flag_clear(QUEUE_FLAG_NONROT, gd->queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, gd->queue);
	blk_queue_max_hw_sectors(gd->queue, 2560);
	d->gd = gd;
	r = add_disk(gd);
	if (!r)
		return 0;

	put_disk(gd);
free_tags:
	blk_mq_free_tag_set(&d->tags);
	return r;
}

static int __init disk_init(void)
{
	struct disk *d = &disk;
	int r;

	if (keep) {
		d->data = vzalloc((size_t)size_mib << 20);
		if (!d->data)
			return -ENOMEM;
	}
	major = register_blkdev(0, "hearthdisk");
	if (major < 0) {
		r = major;
		goto free_data;
	}

	spin_lock_init(&d->lock);
	INIT_LIST_HEAD(&d->waiting);
	hrtimer_init(&d->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	d->timer.function = disk_timer;
	r = disk_add(d);
	if (!r)
		return 0;

	unregister_blkdev(major, "hearthdisk");
free_data:
	vfree(d->data);
	return r;
}

static void __exit disk_exit(void)
{
	struct disk *d = &disk;

	del_gendisk(d->gd);
	put_disk(d->gd);
	blk_mq_free_tag_set(&d->tags);
	unregister_blkdev(major, "hearthdisk");
	vfree(d->data);
}

module_init(disk_init);
module_exit(disk_exit);

MODULE_DESCRIPTION("hearth: a disk with seeks and turns, for benchmarks");
MODULE_LICENSE("GPL");
