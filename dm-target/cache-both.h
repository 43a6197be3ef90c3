/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes to both devices, see cache-both.c. */
#ifndef HEARTH_CACHE_BOTH_H
#define HEARTH_CACHE_BOTH_H

#include "cache-bio.h"

/*
 * May a write to both devices start on its slot, which has this word?  It waits
 * while a dirty block's older content is on its way to the origin, for writers
 * that may have pinned when only the slot was written, and for its units.
 * HIT_PINNED: it has its units, and may pin.  Any context.
 */
enum hit_result cache_claim_both(struct cache *c, struct bio *bio,
				 struct cache_bio *cb, u32 word,
				 enum dm_cache_mode mode);
/* Give back the units of @cb, which are not none.  Any context. */
void cache_return_units(struct cache *c, struct cache_bio *cb);

static inline void cache_give_units(struct cache *c, struct cache_bio *cb)
{
	if (cb->units)
		cache_return_units(c, cb);
}

/* The end of a write that may have gone to both devices. */
static inline void cache_unpin_writer(struct cache *c, struct cache_bio *cb)
{
	cache_give_units(c, cb);
	cache_unpin(c, cb->slot, SLOT_PIN | SLOT_WRITER);
}

/*
 * It pinned in a mode that keeps blocks dirty, and finds another: it has not taken
 * the units without which it must not go to both devices.  Where the slot is dirty
 * it may, because the slot stays so until a copy that began without writers.
 */
static inline bool cache_lacks_units(const struct cache_bio *cb, u32 word)
{
	return !cb->units && !(word & SLOT_DIRTY);
}

/*
 * Send one copy of the bio to its slot.  Returns DM_MAPIO_REMAPPED: the caller
 * sends the other, to the origin.  Any context; may submit a bio.
 */
int cache_issue_both(struct cache *c, struct bio *bio, struct cache_bio *cb);
/* The copy for the origin has ended.  As end_io returns; any context. */
int cache_end_origin_leg(struct cache *c, struct bio *bio,
			 struct cache_bio *cb, blk_status_t *error);
/*
 * Only one copy of a write has arrived: its slot is unmapped before the bio
 * ends.  For the worker; may sleep.
 */
void cache_drop_then_end(struct cache *c, struct bio *bio,
			 struct cache_bio *cb);

#endif
