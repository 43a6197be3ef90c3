/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes to both devices, see cache-both.c. */
#ifndef HEARTH_CACHE_BOTH_H
#define HEARTH_CACHE_BOTH_H

#include <linux/atomic.h>
#include <linux/bio.h>

#include "cache-mode.h"
#include "cache-wait.h"

struct cache;
struct cache_bio;

/*
 * The number of words of units.  Two writes to slots that share a word wait for each
 * other if they touch pages with the same bit.  Not chosen by measurement; a multiple
 * of CACHE_NR_WAIT_BUCKETS, because slots that share a word have to share a bucket.
 */
#define CACHE_NR_UNITS		4096

static_assert(CACHE_NR_UNITS % CACHE_NR_WAIT_BUCKETS == 0);

struct cache_both {
	/*
	 * The units that are being written to both devices.  A unit is a page; page n
	 * of the origin has bit n % BITS_PER_LONG.  Slots whose numbers are equal
	 * modulo CACHE_NR_UNITS share a word.
	 */
	atomic_long_t *units;
};

/* The result of a try to pin a slot for a bio. */
enum hit_result {
	HIT_RETRY,		/* the slot has changed: the caller looks again */
	HIT_PINNED,		/* pinned; for a write, the intent is durable, too */
	HIT_NO_INTENT,		/* pinned for a write that has to wait for its intent */
	HIT_PARKED,		/* the bio waits, or has ended */
	HIT_ORIGIN,		/* the origin serves the bio */
};

/**
 * cache_claim_both() - take the units of a write to both devices
 * @c: the engine
 * @bio: the write, within one block
 * @cb: what is kept with it; @cb->slot is the slot, not pinned yet
 * @word: the slot's word, as the caller read it
 * @mode: the mode in effect
 *
 * The write is parked while the slot is in WRITEBACK, while a writer has pinned it
 * that may write the slot alone, and while another write has one of its units.
 *
 * Context: any, never sleeps; takes the slot's wait.buckets[].lock to park the bio.
 *
 * Return: HIT_PINNED: the write has its units, and may pin the slot.  HIT_PARKED: it
 * waits.  HIT_RETRY: the caller looks again.
 */
enum hit_result cache_claim_both(struct cache *c, struct bio *bio,
				 struct cache_bio *cb, u32 word,
				 enum dm_cache_mode mode);

/**
 * cache_claim_all_units() - keep writes to both devices from a slot
 * @c: the engine
 * @cb: belongs to no bio; @cb->slot is the slot, not pinned
 *
 * No write to both devices begins on the slot until cache_return_units().  A write to
 * the slot alone may begin.
 *
 * Context: any, never sleeps.
 *
 * Return: true if @cb has all units of the slot; false if a write to both devices has
 * some, or waits for some.
 */
bool cache_claim_all_units(struct cache *c, struct cache_bio *cb);

/**
 * cache_return_units() - give units back, and wake the bios that wait for them
 * @c: the engine
 * @cb: what is kept with a write that has units, or that of cache_claim_all_units()
 *
 * Context: any, never sleeps; takes wait.buckets[].lock, then wait.deferred_lock, if
 * a bio waits.
 */
void cache_return_units(struct cache *c, struct cache_bio *cb);

/**
 * cache_issue_both() - send one copy of a write to its slot
 * @c: the engine
 * @bio: the write; points at the origin afterwards
 * @cb: what is kept with it; it has pinned @cb->slot as a writer, and has its units
 *	unless the slot is dirty
 *
 * If the copy fails, the write learns it when both copies have ended.
 *
 * Context: any; submits a bio.
 *
 * Return: DM_MAPIO_REMAPPED, because the caller sends the other copy to the origin.
 */
int cache_issue_both(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_end_origin_leg() - the copy for the origin has ended
 * @c: the engine
 * @bio: the write
 * @cb: what is kept with it
 * @error: in: how this copy ended; out: how the write ends
 *
 * Context: any, never sleeps.
 *
 * Return: DM_ENDIO_DONE: the write ends with *@error.  DM_ENDIO_INCOMPLETE: the other
 * copy is under way, or the block has to leave the cache before the write ends.
 */
int cache_end_origin_leg(struct cache *c, struct bio *bio,
			 struct cache_bio *cb, blk_status_t *error);

/**
 * cache_drop_then_end() - unmap a block of which only one copy was written
 * @c: the engine
 * @bio: the write.  It ends when the block is unmapped, with the error of the origin,
 *	if there was one; or with BLK_STS_IOERR if the block cannot be unmapped.
 * @cb: what is kept with it
 *
 * Context: the worker of deferred bios; may sleep.
 */
void cache_drop_then_end(struct cache *c, struct bio *bio,
			 struct cache_bio *cb);

#endif
