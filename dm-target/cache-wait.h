/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting and waking: see cache-wait.c.
 *
 * Every function here may be called in any context, interrupts included, and
 * never sleeps.
 */
#ifndef HEARTH_CACHE_WAIT_H
#define HEARTH_CACHE_WAIT_H

#include <linux/bio.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cache-counters.h"
#include "cache-latency.h"

struct cache;
struct cache_bio;

/* Where a deferred bio goes on. */
enum bio_step {
	STEP_MAP,		/* it is mapped from the beginning */
	STEP_PROMOTE,		/* promote its block, which admission has let in */
	STEP_ISSUE_WRITE,	/* issue it: its intent is durable, and it has its pins */
	STEP_DROP_THEN_READ,	/* its slot cannot be read: unmap it, read the origin */
	STEP_DROP_THEN_END,	/* only one copy was written: unmap the slot, end it */
	STEP_LEAVE_THEN_WRITE,	/* its slot cannot be written: write it home, map again */
	STEP_DISCARD,		/* unmap what it covers, then pass it down */
	STEP_END_FLUSH,		/* end the flush, which the cache device refused */
};

/*
 * To wake the bios of a slot, its whole bucket is searched, so there are many buckets.
 * Not chosen by measurement; a power of 2, because then the bucket is a mask.
 */
#define CACHE_NR_WAIT_BUCKETS	256

/* The bucket of all slots whose numbers are equal modulo CACHE_NR_WAIT_BUCKETS. */
struct wait_bucket {
	/* Guards the rest, and whether wait.granted is a slot of this bucket. */
	spinlock_t lock;
	struct bio_list bios;		/* parked on a slot */
	struct bio_list unit_bios;	/* parked until units are returned */
	unsigned long units_wanted;	/* by unit_bios: bits; read without the lock */
};

struct cache_wait {
	/*
	 * Guards @deferred, the bios for the worker.  The worker is queued under it,
	 * because after its release the last bio may have ended, and the engine may
	 * be gone.
	 */
	spinlock_t deferred_lock;
	struct bio_list deferred;
	struct work_struct deferred_work;
	/*
	 * The slot that is granted to the bio that the worker is processing, or
	 * SLOT_NONE.  Only the worker writes it, under the lock of that slot's
	 * bucket.
	 */
	u32 granted;
	struct wait_bucket buckets[CACHE_NR_WAIT_BUCKETS];

	/* Promotions, unmappings and write-backs in flight.  A suspend waits for 0. */
	atomic_t nr_migrations;
	wait_queue_head_t migrations;	/* for @nr_migrations 0, or room for write-backs */
};

/* The counters of cache-counters.h. */
#define CACHE_STAT_SYMBOL(symbol, name, help, ...)	STAT_##symbol,
enum cache_stat {
	CACHE_COUNTERS(CACHE_STAT_SYMBOL, CACHE_STAT_SYMBOL)
	NR_CACHE_STATS
};

/* The counters of one CPU, and its histograms. */
struct cache_stats {
	u64 count[NR_CACHE_STATS];
	u64 latency[NR_CACHE_LATENCIES][CACHE_LATENCY_BUCKETS];
};

/**
 * cache_defer_bio() - hand a bio to the worker of deferred bios
 * @c: the engine
 * @bio: no longer the caller's
 * @step: where the worker goes on with it
 *
 * Takes wait.deferred_lock.
 */
void cache_defer_bio(struct cache *c, struct bio *bio, enum bio_step step);

/**
 * cache_rewind_bio() - make a bio that has ended with an error fit to be issued again
 * @bio: the bio; it becomes BIO_PLAIN, gets its cb->iter again, and a write gets REQ_FUA
 */
void cache_rewind_bio(struct bio *bio);

/**
 * cache_wait_init() - make the lists empty, and their locks
 * @c: a new engine
 */
void cache_wait_init(struct cache *c);

/**
 * cache_wait_for_slot() - park a bio until the word of a slot changes
 * @c: the engine
 * @slot: a slot that is busy (slot_is_busy()), because nothing else wakes the bio
 * @word: the word as the caller read it
 * @bio: the bio; deferred again at its cb->step when it is woken
 *
 * While bios wait, the slot is closed: no bio can pin it.  When the slot is VALID
 * without pins, cache_slot_released() opens it and wakes its bios.
 *
 * A bio that is woken may find that others were faster, and then it is parked once
 * more.  Such a bio need not compete again, because the slot is granted to such bios
 * one after another:
 *
 * The last unpin leaves the slot closed, and pins it for the first such bio.  The
 * worker drops that pin and processes the bio.  The bio may pin the closed slot, and
 * no other bio can meanwhile.  Then the next bio gets its grant.  If it needs a slot
 * without pins, and finds pins of the bios before it, it is parked as the first, and
 * the last unpin grants it the slot again.  When no bio is left that was woken
 * before, the slot opens, and all other bios are woken.
 *
 * Takes the slot's wait.buckets[].lock, and commit.lock if changes linger.
 *
 * Return: true if @bio is parked.  False if the word is not @word any more; @bio is
 * still the caller's.
 */
bool cache_wait_for_slot(struct cache *c, u32 slot, u32 word, struct bio *bio);

/**
 * cache_wake_waiters() - defer the bios that are parked on a slot
 * @c: the engine
 * @slot: a slot that has changed its state, and lost SLOT_WAITERS in the same step
 *
 * Takes the slot's wait.buckets[].lock, then wait.deferred_lock.
 */
void cache_wake_waiters(struct cache *c, u32 slot);

/**
 * cache_slot_released() - grant a slot to the next bio, or open it
 * @c: the engine
 * @slot: a slot with SLOT_WAITERS that may have become VALID without pins; if it has
 *	not, nothing happens
 *
 * cache_wait_for_slot() has the rules.
 *
 * Takes the slot's wait.buckets[].lock, then wait.deferred_lock.
 */
void cache_slot_released(struct cache *c, u32 slot);

/**
 * cache_wake_for_units() - defer all bios of a bucket that wait for units
 * @c: the engine
 * @slot: a slot of the bucket
 *
 * Takes wait.buckets[].lock, then wait.deferred_lock.
 */
void cache_wake_for_units(struct cache *c, u32 slot);

/**
 * cache_begin_grant() - the worker is about to process a bio
 * @c: the engine
 * @cb: what is kept with the bio
 *
 * If a slot is granted to the bio, the pin that kept the slot for it is dropped.
 *
 * Context: the worker of deferred bios; takes wait.buckets[].lock if the bio has a
 * grant.
 */
void cache_begin_grant(struct cache *c, struct cache_bio *cb);

/**
 * cache_end_grant() - the worker has processed the bio, which may have ended
 * @c: the engine
 *
 * If the bio had a grant, the next bio gets the slot, or the slot opens.
 *
 * Context: the worker of deferred bios; takes wait.buckets[].lock, then
 * wait.deferred_lock, if the bio had a grant.
 */
void cache_end_grant(struct cache *c);

/**
 * cache_commit_kick() - have the commit worker run at once
 * @c: the engine
 *
 * Takes commit.lock.
 */
void cache_commit_kick(struct cache *c);

/**
 * cache_commit_kick_locked() - cache_commit_kick() for a caller with commit.lock
 * @c: the engine
 *
 * Context: under commit.lock.
 */
void cache_commit_kick_locked(struct cache *c);

/**
 * cache_commit_kick_lingering() - have the commit worker run at once if changes linger
 * @c: the engine
 *
 * Takes commit.lock if changes linger.
 */
void cache_commit_kick_lingering(struct cache *c);

/**
 * cache_want_slots() - have the eviction worker look whether slots are to be freed
 * @c: the engine; nothing happens while it quiesces
 */
void cache_want_slots(struct cache *c);

/**
 * cache_kick_writeback() - have the write-back worker look for work
 * @c: the engine; nothing happens while it quiesces
 */
void cache_kick_writeback(struct cache *c);

/**
 * cache_migration_started() - count a promotion, an unmapping or a write-back in
 * @c: the engine; a suspend waits until none is in flight
 */
void cache_migration_started(struct cache *c);

/**
 * cache_migration_done() - count a promotion, an unmapping or a write-back out
 * @c: the engine; it may be gone afterwards
 */
void cache_migration_done(struct cache *c);

/**
 * cache_stat_sum() - the sum of a counter over all CPUs
 * @c: the engine
 * @stat: the counter
 */
u64 cache_stat_sum(struct cache *c, enum cache_stat stat);

/**
 * cache_latency_sum() - how many requests a bucket of a histogram has, over all CPUs
 * @c: the engine
 * @kind: the histogram
 * @bucket: less than CACHE_LATENCY_BUCKETS
 */
u64 cache_latency_sum(struct cache *c, enum cache_latency kind,
		      unsigned int bucket);

/**
 * cache_user_ios() - how many reads and writes users have sent so far
 * @c: the engine
 *
 * Return: the number of requests, cut at blocks; flushes and discards are not among
 * them.
 */
u64 cache_user_ios(struct cache *c);

/**
 * cache_is_quiet() - have users sent nothing for so long?
 * @c: the engine
 * @seconds: how long; up to a second more may have passed
 *
 * The counters are looked at, too, because the tick notices a request up to a second late.
 * Context: any.
 */
bool cache_is_quiet(struct cache *c, unsigned long seconds);

/**
 * cache_is_idle() - have users sent nothing for writeback_idle seconds?
 * @c: the engine
 *
 * Context: any.  Return: false, too, if the setting is 0.
 */
bool cache_is_idle(struct cache *c);

#endif
