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

/*
 * May a write to both devices start on its slot, which has this word?  It waits
 * for a write-back of the slot, for writers that may have pinned when only the
 * slot was written, and for its units.  HIT_PINNED: it has its units, and may
 * pin.  Any context.
 */
enum hit_result cache_claim_both(struct cache *c, struct bio *bio,
				 struct cache_bio *cb, u32 word,
				 enum dm_cache_mode mode);
/* Give back the units of @cb, which has some.  Any context. */
void cache_return_units(struct cache *c, struct cache_bio *cb);

/*
 * Send one copy of the bio to its slot.  Returns DM_MAPIO_REMAPPED: the caller
 * sends the other, to the origin.  Any context; may submit a bio.
 */
int cache_issue_both(struct cache *c, struct bio *bio, struct cache_bio *cb);
/* The copy for the origin has ended.  As end_io returns; any context. */
int cache_end_origin_leg(struct cache *c, struct bio *bio,
			 struct cache_bio *cb, blk_status_t *error);
/*
 * Only one copy of a write has arrived: unmap its slot, then end the bio.  For
 * the worker; may sleep.
 */
void cache_drop_then_end(struct cache *c, struct bio *bio,
			 struct cache_bio *cb);

#endif
