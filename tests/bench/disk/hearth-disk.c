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
 * transfers of a real disk cost the CPU nothing either.  The parameter busy_ns
 * is how long the disk has worked.
 */
#include "bench-device.h"
#include "disk-model.h"

#define MAX_WAIT_NS	NSEC_PER_SEC	/* after that none overtakes it */

static unsigned int size_mib = 1024;
module_param(size_mib, uint, 0444);
MODULE_PARM_DESC(size_mib, "capacity in MiB");

static bool keep;
module_param(keep, bool, 0444);
MODULE_PARM_DESC(keep, "keep data, in memory");

static unsigned long busy_ns;	/* disk.lock guards it */
module_param(busy_ns, ulong, 0444);
MODULE_PARM_DESC(busy_ns, "nanoseconds of work so far");

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
};

static struct disk disk;

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
	busy_ns += end - now;
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

static blk_status_t disk_queue_rq(struct blk_mq_hw_ctx *hctx,
				  const struct blk_mq_queue_data *bd)
{
	struct disk *d = &disk;
	struct disk_request *dr = blk_mq_rq_to_pdu(bd->rq);
	u64 now = ktime_get_ns();
	unsigned long flags;

	blk_mq_start_request(bd->rq);
	bench_copy(hctx->queue->queuedata, bd->rq);

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

static struct bench_device device = {
	.name = "hearthdisk",
	.tags = {
		.ops = &disk_mq_ops,
		.queue_depth = DISK_QUEUE,
		.cmd_size = sizeof(struct disk_request),
	},
};

static int __init disk_init(void)
{
	int r = bench_prepare(&device, size_mib, keep ? size_mib : 0);

	if (r)
		return r;
	blk_queue_flag_clear(QUEUE_FLAG_NONROT, device.gd->queue);
	spin_lock_init(&disk.lock);
	INIT_LIST_HEAD(&disk.waiting);
	hrtimer_init(&disk.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	disk.timer.function = disk_timer;
	return bench_start(&device);
}

static void __exit disk_exit(void)
{
	del_gendisk(device.gd);
	bench_remove(&device);
}

module_init(disk_init);
module_exit(disk_exit);

MODULE_DESCRIPTION("hearth: a disk with seeks and turns, for benchmarks");
MODULE_LICENSE("GPL");
