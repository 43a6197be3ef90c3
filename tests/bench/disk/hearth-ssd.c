// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth-ssd: a block device that answers each request after the same time, in
 * the kernel's clock, and has to be flushed or written with FUA.  For benchmarks
 * only.
 *
 * This file owns the requests' timers.  It is no test of flushes: nothing is
 * lost without one.
 *
 * insmod hearth-ssd.ko size_mib=N keep_mib=N latency_ns=N makes /dev/hearthssd0.
 * Only the first keep_mib are kept and copied, because the transfers of a real
 * SSD cost the CPU nothing.
 */
#include "bench-device.h"

#define SSD_QUEUE	64

static unsigned int size_mib = 256;
module_param(size_mib, uint, 0444);
MODULE_PARM_DESC(size_mib, "capacity in MiB");

static unsigned int keep_mib = 2;
module_param(keep_mib, uint, 0444);
MODULE_PARM_DESC(keep_mib, "MiB that are kept, in memory");

static unsigned int latency_ns = 20000;
module_param(latency_ns, uint, 0444);
MODULE_PARM_DESC(latency_ns, "nanoseconds until an answer");

struct ssd_request {
	struct hrtimer timer;
};

static enum hrtimer_restart ssd_timer(struct hrtimer *timer)
{
	struct ssd_request *sr = container_of(timer, struct ssd_request, timer);

	blk_mq_end_request(blk_mq_rq_from_pdu(sr), BLK_STS_OK);
	return HRTIMER_NORESTART;
}

static int ssd_init_request(struct blk_mq_tag_set *set, struct request *rq,
			    unsigned int hctx, unsigned int node)
{
	struct ssd_request *sr = blk_mq_rq_to_pdu(rq);

	hrtimer_init(&sr->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	sr->timer.function = ssd_timer;
	return 0;
}

static blk_status_t ssd_queue_rq(struct blk_mq_hw_ctx *hctx,
				 const struct blk_mq_queue_data *bd)
{
	struct ssd_request *sr = blk_mq_rq_to_pdu(bd->rq);

	blk_mq_start_request(bd->rq);
	bench_copy(hctx->queue->queuedata, bd->rq);
	hrtimer_start(&sr->timer, ns_to_ktime(latency_ns), HRTIMER_MODE_REL);
	return BLK_STS_OK;
}

static const struct blk_mq_ops ssd_mq_ops = {
	.queue_rq = ssd_queue_rq,
	.init_request = ssd_init_request,
};

static struct bench_device ssd = {
	.name = "hearthssd",
	.tags = {
		.ops = &ssd_mq_ops,
		.queue_depth = SSD_QUEUE,
		.cmd_size = sizeof(struct ssd_request),
		.flags = BLK_MQ_F_NO_SCHED_BY_DEFAULT,
	},
};

static int __init ssd_init(void)
{
	int r = bench_prepare(&ssd, size_mib, keep_mib);

	if (r)
		return r;
	blk_queue_flag_set(QUEUE_FLAG_NONROT, ssd.gd->queue);
	blk_queue_write_cache(ssd.gd->queue, true, true);
	return bench_start(&ssd);
}

static void __exit ssd_exit(void)
{
	del_gendisk(ssd.gd);
	bench_remove(&ssd);
}

module_init(ssd_init);
module_exit(ssd_exit);

MODULE_DESCRIPTION("hearth: an SSD that has to be flushed, for benchmarks");
MODULE_LICENSE("GPL");
