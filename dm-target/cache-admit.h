/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Admission: may a block come in?  See cache-admit.c.  All functions here may be
 * called in any context, and none sleeps.
 */
#ifndef HEARTH_CACHE_ADMIT_H
#define HEARTH_CACHE_ADMIT_H

#include <linux/bio.h>
#include <linux/spinlock.h>

#include "cache-policy.h"

struct cache;
struct cache_bio;

/*
 * The budget of promotions: two accounts, which fill with time and which promotions
 * draw on.  No promotion begins while an account whose limit is set is negative.
 */
struct throttle {
	spinlock_t lock;	/* guards the rest */
	u64 filled;		/* when the accounts were last filled, in ns */
	s64 bytes;		/* account of max_promote_mbps */
	s64 busy_ns;		/* account of max_promote_share */
	unsigned int writing;	/* promotions' writes in flight */
	/* If @writing: the time since then is not drawn from @busy_ns yet; in ns. */
	u64 writing_since;
};

/* May a promotion begin? */
enum throttle_answer {
	THROTTLE_OK,
	THROTTLE_RATE,		/* no, because of max_promote_mbps */
	THROTTLE_SHARE,		/* no, because of max_promote_share */
};

/* The sectors that are being copied; migration_threshold limits both counts. */
struct cache_admit {
	/* by write-backs, and by promotions that writes to part of a block caused */
	atomic_t migrating_sectors;
	atomic_t reading_sectors;	/* by reads' promotions, and those ahead of reads */
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
 * @cb: what is kept with it; @cb->verdict receives the answer
 *
 * Counts the miss; if the block is not promoted, also the reason.
 *
 * Context: takes admit.throttle.lock.
 */
void cache_admit_miss(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_admit_logged() - judge a bio that the write log serves, once per bio
 * @c: the engine
 * @bio: a read or write within one block that has no slot
 * @cb: what is kept with it; @cb->verdict receives the policy's verdict, or
 *	CACHE_BYPASS_POLICY if the mode does not promote such requests
 *
 * Counts a read as a hit, because the cache device serves it, and a write as a miss.
 *
 * Context: any.
 */
void cache_admit_logged(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_admit_wanted() - count a write that the write log serves, without a question
 * @c: the engine
 * @bio: a write within one block, which is in the log, and which the policy has wanted
 * @cb: what is kept with it; @cb->verdict receives CACHE_BYPASS_LIMIT, because the block goes
 *	into the cache when it leaves the log, and not if this write fails
 *
 * Context: any.
 */
void cache_admit_wanted(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_admit_begin() - whether an admitted promotion may begin now
 * @c: the engine
 * @reader: the promotion is for a read; these have more room
 */
bool cache_admit_begin(struct cache *c, bool reader);

/**
 * cache_admit_overwrite() - whether an admitted write of a whole block may begin now
 * @c: the engine
 */
bool cache_admit_overwrite(struct cache *c);

/**
 * cache_admit_stands() - whether a promotion that had to wait may still begin
 * @c: the engine
 *
 * Return: false if the metadata cannot be changed, or a suspend has begun.
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
 * Kicks the eviction if too few slots are left.
 *
 * Context: takes map.free_lock.
 *
 * Return: the slot; or SLOT_NONE, which is counted unless @why is
 * CACHE_PROMOTE_AHEAD, because no request missed such a block.
 */
u32 cache_admit_slot(struct cache *c, enum cache_verdict why);

/**
 * cache_admit_raced() - count a promotion that gave way to a write or a discard
 * @c: the engine
 * @why: its verdict; CACHE_PROMOTE_AHEAD is not counted, because no request missed
 *	such a block
 */
void cache_admit_raced(struct cache *c, enum cache_verdict why);

/**
 * cache_admit_write_begins() - a promotion's write to the cache device begins
 * @c: the engine
 *
 * From here to cache_admit_write_ends() the time is drawn from the budget, but once
 * only while several such writes are in flight.
 *
 * Context: takes admit.throttle.lock.
 */
void cache_admit_write_begins(struct cache *c);

/**
 * cache_admit_write_ends() - a promotion's write to the cache device has ended
 * @c: the engine
 *
 * Context: takes admit.throttle.lock.
 */
void cache_admit_write_ends(struct cache *c);

#endif
