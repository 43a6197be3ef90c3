/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Admission, see cache-admit.c.  Every function here may be called in any
 * context and never sleeps.
 */
#ifndef HEARTH_CACHE_ADMIT_H
#define HEARTH_CACHE_ADMIT_H

#include <linux/bio.h>
#include <linux/spinlock.h>

#include "cache-policy.h"

struct cache;
struct cache_bio;

/* The budget that promotions spend. */
struct throttle {
	spinlock_t lock;	/* guards the rest */
	u64 filled;		/* ns: when the accounts were last filled */
	s64 bytes;
	s64 busy_ns;
	unsigned int writing;	/* promotions' writes in flight */
	u64 writing_since;
};

enum throttle_answer {
	THROTTLE_OK,
	THROTTLE_RATE,
	THROTTLE_SHARE,
};

struct cache_admit {
	atomic_t migrating_sectors;	/* promotions by writes, write-backs */
	atomic_t reading_sectors;	/* promotions by reads, and ahead of them */
	struct throttle throttle;
};

/**
 * cache_admit_init() - start the budget of promotions
 * @c: a new engine
 */
void cache_admit_init(struct cache *c);

/**
 * cache_admit_miss() - judge a miss, once per bio
 * @c: the engine
 * @bio: a read or write within one block that has no slot
 * @cb: what is kept with it; the answer is @cb->verdict
 *
 * Counts the miss, and the reason if the block is not promoted.  Context: takes
 * admit.throttle.lock.
 */
void cache_admit_miss(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_admit_logged() - the same for a bio that the write log serves
 * @c: the engine
 * @bio: a read or write within one block that has no slot
 * @cb: what is kept with it; the policy's verdict is @cb->verdict, if the mode promotes
 *	such requests
 *
 * A read counts as a hit, because the cache device serves it.  Context: any.
 */
void cache_admit_logged(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_admit_begin() - whether an admitted promotion may begin now
 * @c: the engine
 * @reader: it is for a read; readers have twice the room
 */
bool cache_admit_begin(struct cache *c, bool reader);

/**
 * cache_admit_stands() - whether a promotion is still wanted
 * @c: the engine
 *
 * Asked when the write to the origin that it waited for has ended.
 */
bool cache_admit_stands(struct cache *c);

/**
 * cache_admit_ahead() - whether a block may come in ahead of any request for it
 * @c: the engine
 *
 * Context: takes admit.throttle.lock.
 */
bool cache_admit_ahead(struct cache *c);

/**
 * cache_admit_from_log() - whether a block of the write log may come in
 * @c: the engine
 *
 * Context: takes admit.throttle.lock.
 */
bool cache_admit_from_log(struct cache *c);

/**
 * cache_admit_slot() - take a free slot for a promotion
 * @c: the engine
 * @why: the verdict that lets the block in
 *
 * Kicks the eviction when too few slots are left.  Context: takes
 * map.free_lock.
 *
 * Return: the slot, or SLOT_NONE, which is counted unless no request missed the
 * block.
 */
u32 cache_admit_slot(struct cache *c, enum cache_verdict why);

/**
 * cache_admit_raced() - count a promotion that gave way to a write or a discard
 * @c: the engine
 * @why: its verdict; a block that came in ahead is not counted
 */
void cache_admit_raced(struct cache *c, enum cache_verdict why);

/**
 * cache_admit_write_begins() - a promotion's write to the cache device begins
 * @c: the engine
 *
 * From here to cache_admit_write_ends() its time is drawn from the budget.
 * Context: takes admit.throttle.lock.
 */
void cache_admit_write_begins(struct cache *c);

/**
 * cache_admit_write_ends() - that write has ended
 * @c: the engine
 *
 * Context: takes admit.throttle.lock.
 */
void cache_admit_write_ends(struct cache *c);

#endif
