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
	STEP_MAP,		/* from the beginning */
	STEP_PROMOTE,		/* admission has let its block in: @verdict */
	STEP_ISSUE_WRITE,	/* the intent is durable, the pins are held */
	STEP_DROP_THEN_READ,	/* the slot could not be read: drop it, read the origin */
	STEP_DROP_THEN_END,	/* the slot is outdated: end the bio without it */
	STEP_LEAVE_THEN_WRITE,	/* the slot could not be written: write it home, map again */
	STEP_DISCARD,		/* unmap what it covers, then pass it down */
	STEP_END_FLUSH,		/* the cache device would not flush */
};

/*
 * A bio that is woken is searched for among all that are parked in its bucket.  Not
 * chosen by measurement; a power of 2, because then the bucket is a mask.
 */
#define CACHE_NR_WAIT_BUCKETS	256

/* For all slots whose numbers are equal modulo CACHE_NR_WAIT_BUCKETS. */
struct wait_bucket {
	/* Guards the rest, and whether wait.granted is a slot of this bucket. */
	spinlock_t lock;
	struct bio_list bios;		/* parked on a slot */
	struct bio_list unit_bios;	/* parked until units are returned */
	unsigned long units_wanted;	/* by unit_bios; read anywhere */
};

struct cache_wait {
	/*
	 * Guards deferred, the worker's bios.  The worker is queued under it,
	 * because after its release the last bio, and the cache, may be gone.
	 */
	spinlock_t deferred_lock;
	struct bio_list deferred;
	struct work_struct deferred_work;
	/*
	 * The slot that is granted to the bio in the worker, or SLOT_NONE.  Only the
	 * worker writes it, under the lock of that slot's bucket.
	 */
	u32 granted;
	struct wait_bucket buckets[CACHE_NR_WAIT_BUCKETS];

	atomic_t nr_migrations;		/* all in flight; suspend waits until it is 0 */
	wait_queue_head_t migrations;	/* waits for room, or for nr_migrations 0 */
};

/* Counters, one set per CPU. */
#define CACHE_STAT_SYMBOL(symbol, name, help, ...)	STAT_##symbol,
enum cache_stat {
	CACHE_COUNTERS(CACHE_STAT_SYMBOL, CACHE_STAT_SYMBOL)
	NR_CACHE_STATS
};

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
 * @bio: as it was before it was issued, and a write with REQ_FUA
 */
void cache_rewind_bio(struct bio *bio);

/**
 * cache_wait_init() - make the lists empty
 * @c: a new engine
 */
void cache_wait_init(struct cache *c);

/**
 * cache_wait_for_slot() - park a bio until the word of a slot changes
 * @c: the engine
 * @slot: a slot that is busy (slot_is_busy()), or nothing would wake the bio
 * @word: the word as the caller read it
 * @bio: deferred again at its cb->step when it is woken
 *
 * A bio that is woken may find that others were faster, and is parked once more.
 * From then on it need not compete, because the slot is granted to such bios one
 * after another.  The last unpin leaves the slot closed, and pins it for the first.
 * The worker drops that pin and processes the bio, which may pin the slot although
 * it is closed; no other bio can pin it meanwhile.  Then the next one gets its
 * grant.  If it finds pins of those before it, and needs a slot without, it is
 * parked as the first, and gets its grant again from the last unpin.  When no bio
 * is left that has waited before, the slot opens, and all others are woken.
 *
 * Takes the slot's wait.buckets[].lock, and commit.lock if changes linger.
 *
 * Return: false if the word has changed already: @bio is still the caller's.
 */
bool cache_wait_for_slot(struct cache *c, u32 slot, u32 word, struct bio *bio);

/**
 * cache_wake_waiters() - defer the bios that are parked on a slot
 * @c: the engine
 * @slot: has changed its state, and lost SLOT_WAITERS in the same step
 *
 * Takes the slot's wait.buckets[].lock, then wait.deferred_lock.
 */
void cache_wake_waiters(struct cache *c, u32 slot);

/**
 * cache_slot_released() - grant a slot to a bio that has waited before, or open it
 * @c: the engine
 * @slot: has SLOT_WAITERS, and may have become VALID without pins
 *
 * Takes the slot's wait.buckets[].lock, then wait.deferred_lock.
 */
void cache_slot_released(struct cache *c, u32 slot);

/**
 * cache_wake_for_units() - defer the bios that wait for units
 * @c: the engine
 * @slot: all bios in its bucket are woken
 *
 * Takes wait.buckets[].lock, then wait.deferred_lock.
 */
void cache_wake_for_units(struct cache *c, u32 slot);

/**
 * cache_begin_grant() - the worker is about to process a bio
 * @c: the engine
 * @cb: of the bio
 *
 * Context: the worker of deferred bios; takes wait.buckets[].lock if the bio has a
 * grant.
 */
void cache_begin_grant(struct cache *c, struct cache_bio *cb);

/**
 * cache_end_grant() - the worker has processed it; it may have ended
 * @c: the engine
 *
 * Context: as cache_begin_grant().
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
 * cache_commit_kick_locked() - the same
 * @c: the engine
 *
 * Context: under commit.lock.
 */
void cache_commit_kick_locked(struct cache *c);

/**
 * cache_commit_kick_lingering() - the same, if changes linger
 * @c: the engine
 *
 * Takes commit.lock then.
 */
void cache_commit_kick_lingering(struct cache *c);

/**
 * cache_want_slots() - have the eviction worker see to free slots
 * @c: the engine; nothing happens while it quiesces
 */
void cache_want_slots(struct cache *c);

/**
 * cache_kick_writeback() - have the write-back worker look for work
 * @c: the engine; nothing happens while it quiesces
 */
void cache_kick_writeback(struct cache *c);

/**
 * cache_migration_started() - a fill, an eviction or a write-back is in flight
 * @c: the engine; a suspend waits until there is none
 */
void cache_migration_started(struct cache *c);

/**
 * cache_migration_done() - it has ended
 * @c: the engine; may be gone afterwards
 */
void cache_migration_done(struct cache *c);

/**
 * cache_stat_sum() - the sum of a counter over all CPUs
 * @c: the engine
 * @stat: the counter
 */
u64 cache_stat_sum(struct cache *c, enum cache_stat stat);

/**
 * cache_latency_sum() - the requests in a bucket of a histogram, over all CPUs
 * @c: the engine
 * @kind: the histogram
 * @bucket: less than CACHE_LATENCY_BUCKETS
 */
u64 cache_latency_sum(struct cache *c, enum cache_latency kind,
		      unsigned int bucket);

/**
 * cache_user_ios() - requests of users so far
 * @c: the engine
 *
 * Reads and writes, cut at blocks.
 */
u64 cache_user_ios(struct cache *c);

#endif
