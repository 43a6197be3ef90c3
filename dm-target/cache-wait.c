// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting and waking: the floor that all other files of the engine stand on.
 *
 * It owns the list of deferred bios, the buckets in which bios are parked until
 * a slot changes, and the rules by which a worker is kicked.  It must not know
 * what a worker does, nor why a bio waits.
 *
 * All functions here may be called in any context; none sleeps.
 */
#include "cache-bio.h"

/* ---- Bios that a worker goes on with ---- */

void cache_defer_bio(struct cache *c, struct bio *bio, enum bio_step step)
{
	unsigned long flags;

	cache_leave_submitter(bio);
	cache_bio(bio)->step = step;
	spin_lock_irqsave(&c->wait.deferred_lock, flags);
	bio_list_add(&c->wait.deferred, bio);
	queue_work(c->wq, &c->wait.deferred_work);
	spin_unlock_irqrestore(&c->wait.deferred_lock, flags);
}

/*
 * Reset what the block layer consumed.  __bi_remaining is 0 after a split.
 * REQ_FUA is stripped for a device without a write cache; the other device may
 * have one, so a write gets the flag.
 */
void cache_rewind_bio(struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);

	cb->kind = BIO_PLAIN;
	bio->bi_iter = cb->iter;
	bio->bi_status = BLK_STS_OK;
	atomic_set(&bio->__bi_remaining, 1);
	if (op_is_write(bio_op(bio)))
		bio->bi_opf |= REQ_FUA;
}

/* ---- Bios that wait for a slot ---- */

bool cache_wait_for_slot(struct cache *c, u32 slot, u32 word, struct bio *bio)
{
	struct wait_bucket *wb = cache_wait_bucket(c, slot);
	unsigned long flags;
	bool parked;

	cache_leave_submitter(bio);
	/* The waker sees the flag, then takes this lock, and so finds the bio. */
	spin_lock_irqsave(&wb->lock, flags);
	parked = slot_try_change(slot_at(&c->map, slot), &word,
				 word | SLOT_WAITERS);
	if (parked)
		bio_list_add(&wb->bios, bio);
	spin_unlock_irqrestore(&wb->lock, flags);
	if (parked)
		cache_commit_kick_lingering(c);
	return parked;
}

void cache_wake_waiters(struct cache *c, u32 slot)
{
	struct wait_bucket *wb = cache_wait_bucket(c, slot);
	struct bio_list bios;
	unsigned long flags;

	spin_lock_irqsave(&wb->lock, flags);
	bios = wb->bios;
	bio_list_init(&wb->bios);
	WRITE_ONCE(wb->units_wanted, 0);
	spin_unlock_irqrestore(&wb->lock, flags);

	if (bio_list_empty(&bios))
		return;
	spin_lock_irqsave(&c->wait.deferred_lock, flags);
	bio_list_merge(&c->wait.deferred, &bios);
	queue_work(c->wq, &c->wait.deferred_work);
	spin_unlock_irqrestore(&c->wait.deferred_lock, flags);
}

/* ---- Kicks ---- */

void cache_commit_kick_locked(struct cache *c)
{
	lockdep_assert_held(&c->commit.lock);
	if (c->commit.kicked)
		return;
	c->commit.kicked = true;
	mod_delayed_work(c->commit_wq, &c->commit.work, 0);
}

void cache_commit_kick(struct cache *c)
{
	unsigned long flags;

	spin_lock_irqsave(&c->commit.lock, flags);
	cache_commit_kick_locked(c);
	spin_unlock_irqrestore(&c->commit.lock, flags);
}

void cache_commit_kick_lingering(struct cache *c)
{
	if (READ_ONCE(c->commit.nr_lingering))
		cache_commit_kick(c);
}

void cache_want_slots(struct cache *c)
{
	if (!READ_ONCE(c->quiescing))
		queue_work(c->bg_wq, &c->evict.work);
}

void cache_kick_writeback(struct cache *c)
{
	if (!READ_ONCE(c->quiescing))
		queue_work(c->bg_wq, &c->writeback.work);
}

/* ---- Counts ---- */

void cache_migration_started(struct cache *c)
{
	atomic_inc(&c->wait.nr_migrations);
}

void cache_migration_done(struct cache *c)
{
	if (atomic_dec_and_test(&c->wait.nr_migrations))
		wake_up_all(&c->wait.migrations);
}

u64 cache_stat_sum(struct cache *c, enum cache_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(c->stats, cpu)->count[stat];
	return sum;
}

u64 cache_user_ios(struct cache *c)
{
	return cache_stat_sum(c, STAT_READ_HITS) +
	       cache_stat_sum(c, STAT_READ_MISSES) +
	       cache_stat_sum(c, STAT_WRITE_HITS) +
	       cache_stat_sum(c, STAT_WRITE_MISSES);
}
