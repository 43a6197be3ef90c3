// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes of the origin and of the cache device, and what each of them has to flush.
 *
 * It owns the rule that a device which could not flush once has lost something for good.
 * It must not know why a flush is needed, nor what the write log waits for.
 */
#include "cache.h"

#include <linux/completion.h>

void cache_flushes_init(struct cache_flushes *flushes)
{
	cache_written_init(&flushes->fast);
	cache_written_init(&flushes->origin);
}

void cache_flushes_forget(struct cache_flushes *flushes)
{
	cache_written_note(&flushes->fast);
	cache_written_note(&flushes->origin);
}

unsigned int cache_unflushed(const struct cache *c)
{
	return (READ_ONCE(c->degrade.origin_flush_failed) ? FLUSH_ORIGIN : 0) |
	       (READ_ONCE(c->degrade.fast_flush_failed) ? FLUSH_FAST : 0);
}

bool cache_flush_needed(struct cache *c, bool fast)
{
	return !cache_written_is_flushed(cache_flushes_of(&c->flushes, fast)) ||
	       cache_unflushed(c) & (fast ? FLUSH_FAST : FLUSH_ORIGIN);
}

/* ---- Several at the same time ---- */

struct flush_wait {
	atomic_t pending;
	struct completion done;
};

struct flush_leg {
	struct bio bio;
	struct cache_written *written;
	int nr;			/* the number of the flush */
	bool *failed;
	struct flush_wait *fw;
};

static void flush_end_io(struct bio *bio)
{
	struct flush_leg *leg = container_of(bio, struct flush_leg, bio);
	struct flush_wait *fw = leg->fw;

	/*
	 * Noted here, because the device may serve a user's flush next, which has
	 * to fail, too.
	 */
	if (bio->bi_status)
		WRITE_ONCE(*leg->failed, true);
	cache_written_end_flush(leg->written, leg->nr, !bio->bi_status);
	bio_uninit(bio);
	if (atomic_dec_and_test(&fw->pending))
		complete(&fw->done);
}

static void submit_flush(struct flush_leg *leg, struct block_device *bdev,
			 struct flush_wait *fw)
{
	leg->fw = fw;
	leg->nr = cache_written_begin_flush(leg->written);
	atomic_inc(&fw->pending);
	bio_init(&leg->bio, bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH);
	leg->bio.bi_end_io = flush_end_io;
	submit_bio(&leg->bio);
}

void cache_flush_some(struct cache *c, unsigned int devices)
{
	struct flush_leg origin = {
		.written = &c->flushes.origin,
		.failed = &c->degrade.origin_flush_failed,
	};
	struct flush_leg fast = {
		.written = &c->flushes.fast,
		.failed = &c->degrade.fast_flush_failed,
	};
	struct flush_wait fw = { .pending = ATOMIC_INIT(1) };
	unsigned int before = cache_unflushed(c);

	init_completion(&fw.done);
	devices &= ~before;
	if (devices & FLUSH_ORIGIN)
		submit_flush(&origin, c->dev.origin, &fw);
	if (devices & FLUSH_FAST)
		submit_flush(&fast, c->dev.fast, &fw);
	if (!atomic_dec_and_test(&fw.pending))
		wait_for_completion_io(&fw.done);
	if (~before & cache_unflushed(c) & FLUSH_FAST)
		queue_work(c->wq.commit, &c->degrade.work);
}

int cache_flush_devices(struct cache *c)
{
	cache_flush_some(c, FLUSH_BOTH);
	return cache_unflushed(c) ? -EIO : 0;
}

int cache_flush_fast(struct cache *c)
{
	cache_flush_some(c, FLUSH_FAST);
	return cache_unflushed(c) & FLUSH_FAST ? -EIO : 0;
}

int cache_flush_origin(struct cache *c)
{
	cache_flush_some(c, FLUSH_ORIGIN);
	return cache_unflushed(c) & FLUSH_ORIGIN ? -EIO : 0;
}
