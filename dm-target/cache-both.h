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
 * Words of units.  Two writes to slots that share a word wait for each other if
 * they touch the same pages of their blocks.  Not chosen by measurement; a multiple
 * of CACHE_NR_WAIT_BUCKETS, because slots that share a word have to share a bucket.
 */
#define CACHE_NR_UNITS		4096

static_assert(CACHE_NR_UNITS % CACHE_NR_WAIT_BUCKETS == 0);

struct cache_both {
	/*
	 * Units that are being written to both devices, a bit for each page of
	 * 4 KiB.  Slots whose numbers are equal modulo CACHE_NR_UNITS share a word.
	 */
	atomic_long_t *units;
};

/* The result of a try to pin a slot for a bio. */
enum hit_result {
	HIT_RETRY,		/* the slot has changed: look again */
	HIT_PINNED,		/* pinned; for a write, its intent is durable, too */
	HIT_NO_INTENT,		/* pinned for a write that has to wait for its intent */
	HIT_PARKED,		/* the bio waits, or was ended */
	HIT_ORIGIN,		/* the origin serves it */
};

/**
 * cache_claim_both() - take the units of a write to both devices
 * @c: the engine
 * @bio: the write, within one block
 * @cb: what is kept with it; @cb->slot is the slot, not pinned yet
 * @word: the slot's word, as the caller read it
 * @mode: the mode in effect
 *
 * The write waits for a write-back of the slot, for writers that may have pinned
 * when only the slot was written, and for its units.  Context: any, never sleeps;
 * takes the slot's wait.buckets[].lock to park.
 *
 * Return: HIT_PINNED: it has its units, and may pin; HIT_PARKED: it waits;
 * HIT_RETRY: look again.
 */
enum hit_result cache_claim_both(struct cache *c, struct bio *bio,
				 struct cache_bio *cb, u32 word,
				 enum dm_cache_mode mode);

/**
 * cache_claim_all_units() - keep writes to both devices from a slot
 * @c: the engine
 * @cb: of no bio; @cb->slot is the slot, not pinned
 *
 * Until cache_return_units().  Writes that go to the slot alone are not kept from it.
 * Context: any, never sleeps.  Return: false if such a write is under way or waits.
 */
bool cache_claim_all_units(struct cache *c, struct cache_bio *cb);

/**
 * cache_return_units() - give units back, and wake the bios that wait for them
 * @c: the engine
 * @cb: of a write that has units
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
 *
 * Context: any, submits a bio.  An error of the copy is told at the end of both.
 *
 * Return: DM_MAPIO_REMAPPED, because the caller sends the other copy.
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
 * Return: DM_ENDIO_DONE, or DM_ENDIO_INCOMPLETE while the other copy is under way
 * or the block has to be dropped first.
 */
int cache_end_origin_leg(struct cache *c, struct bio *bio,
			 struct cache_bio *cb, blk_status_t *error);

/**
 * cache_drop_then_end() - unmap a slot that only one copy has reached
 * @c: the engine
 * @bio: the write; ended when the block is gone, with the error of the origin or of
 *	the drop
 * @cb: what is kept with it
 *
 * Context: the worker of deferred bios; may sleep.
 */
void cache_drop_then_end(struct cache *c, struct bio *bio,
			 struct cache_bio *cb);

#endif
