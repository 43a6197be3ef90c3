// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting and waking.  All other files of the engine stand on this one and the slot map.
 *
 * It owns the list of deferred bios, the buckets in which bios are parked until
 * a slot changes, the rules by which a worker is kicked, the sums of the counters that
 * each CPU has, and the answer whether users leave the cache alone.  It must not know
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
	cache_bio(bio)->granted = false;
	spin_lock_irqsave(&c->wait.deferred_lock, flags);
	bio_list_add(&c->wait.deferred, bio);
	queue_work(c->wq.main, &c->wait.deferred_work);
	spin_unlock_irqrestore(&c->wait.deferred_lock, flags);
}

static void defer_woken(struct cache *c, struct bio_list *bios)
{
	unsigned long flags;

	if (bio_list_empty(bios))
		return;
	spin_lock_irqsave(&c->wait.deferred_lock, flags);
	bio_list_merge(&c->wait.deferred, bios);
	queue_work(c->wq.main, &c->wait.deferred_work);
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

void cache_wait_init(struct cache *c)
{
	struct wait_bucket *wb;
	unsigned int i;

	for (i = 0; i < CACHE_NR_WAIT_BUCKETS; i++) {
		wb = &c->wait.buckets[i];
		spin_lock_init(&wb->lock);
		bio_list_init(&wb->bios);
		bio_list_init(&wb->unit_bios);
	}
	spin_lock_init(&c->wait.deferred_lock);
	bio_list_init(&c->wait.deferred);
	init_waitqueue_head(&c->wait.migrations);
	c->wait.granted = SLOT_NONE;
}

/* A bio that could not use its grant loses it, and is first in the queue again. */
static void park(struct cache *c, struct wait_bucket *wb, u32 slot,
		 struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);

	lockdep_assert_held(&wb->lock);
	cb->waits_on = slot;
	if (!cache_is_granted(c, cb, slot)) {
		bio_list_add(&wb->bios, bio);
		return;
	}
	WRITE_ONCE(c->wait.granted, SLOT_NONE);
	bio_list_add_head(&wb->bios, bio);
}

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
		park(c, wb, slot, bio);
	spin_unlock_irqrestore(&wb->lock, flags);
	if (parked)
		cache_commit_kick_lingering(c);
	return parked;
}

/* Move all bios that are parked on @slot to @woken, in their order. */
static void unpark_all(struct wait_bucket *wb, u32 slot,
		       struct bio_list *woken)
{
	struct bio_list rest = BIO_EMPTY_LIST;
	struct cache_bio *cb;
	struct bio *bio;

	lockdep_assert_held(&wb->lock);
	while ((bio = bio_list_pop(&wb->bios))) {
		cb = cache_bio(bio);
		if (cb->waits_on != slot) {
			bio_list_add(&rest, bio);
			continue;
		}
		cb->waited = true;
		cb->granted = false;
		bio_list_add(woken, bio);
	}
	wb->bios = rest;
}

void cache_wake_waiters(struct cache *c, u32 slot)
{
	struct wait_bucket *wb = cache_wait_bucket(c, slot);
	struct bio_list woken = BIO_EMPTY_LIST;
	unsigned long flags;

	spin_lock_irqsave(&wb->lock, flags);
	unpark_all(wb, slot, &woken);
	spin_unlock_irqrestore(&wb->lock, flags);
	defer_woken(c, &woken);
}

/* Take the first bio on @slot that has been parked and woken before; NULL if none. */
static struct bio *unpark_first_that_waited(struct wait_bucket *wb, u32 slot)
{
	struct bio_list before = BIO_EMPTY_LIST;
	struct cache_bio *cb;
	struct bio *bio;

	lockdep_assert_held(&wb->lock);
	while ((bio = bio_list_pop(&wb->bios))) {
		cb = cache_bio(bio);
		if (cb->waits_on == slot && cb->waited)
			break;
		bio_list_add(&before, bio);
	}
	bio_list_merge_head(&wb->bios, &before);
	return bio;
}

/* Pin a slot for the bio that it is granted to. */
static bool pin_for_grant(struct slot *s)
{
	u32 word = slot_word(s);

	do {
		if (slot_state(word) != SLOT_VALID || (word & SLOT_FULL))
			return false;
	} while (!slot_try_change(s, &word, word + SLOT_PIN));
	return true;
}

/*
 * Grant a VALID slot, of which no grant is under way, to the next bio, or open it.
 * If its state changes meanwhile, the end of the new state comes here again, or
 * wakes all bios.
 */
static void grant_or_open(struct cache *c, struct wait_bucket *wb, u32 slot,
			  struct bio_list *woken)
{
	struct slot *s = slot_at(&c->map, slot);
	struct bio *bio;

	lockdep_assert_held(&wb->lock);
	bio = unpark_first_that_waited(wb, slot);
	if (!bio) {
		unpark_all(wb, slot, woken);
		atomic_andnot(SLOT_WAITERS, &s->word);
		return;
	}
	if (!pin_for_grant(s)) {
		bio_list_add_head(&wb->bios, bio);
		return;
	}
	cache_bio(bio)->granted = true;
	bio_list_add(woken, bio);
}

void cache_slot_released(struct cache *c, u32 slot)
{
	struct wait_bucket *wb = cache_wait_bucket(c, slot);
	struct bio_list woken = BIO_EMPTY_LIST;
	unsigned long flags;

	spin_lock_irqsave(&wb->lock, flags);
	if (!slot_is_busy(slot_word(slot_at(&c->map, slot))) &&
	    READ_ONCE(c->wait.granted) != slot)
		grant_or_open(c, wb, slot, &woken);
	spin_unlock_irqrestore(&wb->lock, flags);
	defer_woken(c, &woken);
}

void cache_begin_grant(struct cache *c, struct cache_bio *cb)
{
	struct wait_bucket *wb;

	if (likely(!cb->granted))
		return;
	wb = cache_wait_bucket(c, cb->waits_on);
	spin_lock_irq(&wb->lock);
	WRITE_ONCE(c->wait.granted, cb->waits_on);
	atomic_sub(SLOT_PIN, &slot_at(&c->map, cb->waits_on)->word);
	spin_unlock_irq(&wb->lock);
}

void cache_end_grant(struct cache *c)
{
	struct bio_list woken = BIO_EMPTY_LIST;
	u32 slot = c->wait.granted;
	struct wait_bucket *wb;

	if (likely(slot == SLOT_NONE))
		return;
	wb = cache_wait_bucket(c, slot);
	spin_lock_irq(&wb->lock);
	WRITE_ONCE(c->wait.granted, SLOT_NONE);
	if (slot_state(slot_word(slot_at(&c->map, slot))) == SLOT_VALID)
		grant_or_open(c, wb, slot, &woken);
	spin_unlock_irq(&wb->lock);
	defer_woken(c, &woken);
}

/* ---- Bios that wait for units ---- */

void cache_wake_for_units(struct cache *c, u32 slot)
{
	struct wait_bucket *wb = cache_wait_bucket(c, slot);
	struct bio_list woken;
	struct bio *bio;
	unsigned long flags;

	spin_lock_irqsave(&wb->lock, flags);
	woken = wb->unit_bios;
	bio_list_init(&wb->unit_bios);
	WRITE_ONCE(wb->units_wanted, 0);
	spin_unlock_irqrestore(&wb->lock, flags);

	bio_list_for_each(bio, &woken)
		cache_bio(bio)->granted = false;
	defer_woken(c, &woken);
}

/* ---- Kicks ---- */

void cache_commit_kick_locked(struct cache *c)
{
	lockdep_assert_held(&c->commit.lock);
	if (c->commit.kicked)
		return;
	c->commit.kicked = true;
	mod_delayed_work(c->wq.commit, &c->commit.work, 0);
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
	if (!READ_ONCE(c->life.quiescing))
		queue_work(c->wq.bg, &c->evict.work);
}

void cache_kick_writeback(struct cache *c)
{
	if (!READ_ONCE(c->life.quiescing))
		queue_work(c->wq.bg, &c->writeback.work);
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

u64 cache_latency_sum(struct cache *c, enum cache_latency kind,
		      unsigned int bucket)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(c->stats, cpu)->latency[kind][bucket];
	return sum;
}

u64 cache_user_ios(struct cache *c)
{
	return cache_stat_sum(c, STAT_READ_HITS) +
	       cache_stat_sum(c, STAT_READ_MISSES) +
	       cache_stat_sum(c, STAT_WRITE_HITS) +
	       cache_stat_sum(c, STAT_WRITE_MISSES);
}

static bool last_io_is_older(struct cache *c, unsigned long seconds)
{
	return time_after(jiffies, READ_ONCE(c->tick.last_io) + seconds * HZ);
}

bool cache_is_quiet(struct cache *c, unsigned long seconds)
{
	if (!last_io_is_older(c, seconds) ||
	    cache_user_ios(c) != READ_ONCE(c->tick.ios_seen))
		return false;
	/*
	 * The tick may have seen I/O between the two.  Then it has set the time before.
	 * Pairs with tick_work().
	 */
	smp_rmb();
	return last_io_is_older(c, seconds);
}

bool cache_is_idle(struct cache *c)
{
	unsigned long seconds = READ_ONCE(c->limits.writeback_idle);

	return seconds && cache_is_quiet(c, seconds);
}
