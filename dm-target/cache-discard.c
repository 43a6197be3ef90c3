// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discards: what a discard covers leaves the cache, then the origin is told.
 *
 * It owns the cursor with which one discard goes through its blocks.  The gate
 * keeps promotions out of the range meanwhile.  It must not know how a block is
 * unmapped.
 */
#include "cache-bio.h"
#include "cache-log.h"

/*
 * A discard begins to unmap so many blocks ahead of its cursor.  It is more than one,
 * because the unmappings share a commit.  It has a bound, because discards without one
 * once queued all of their blocks, and first writes waited for that commit
 * (GROUP_OPS).  No measurement of the value is recorded; it is far below UNMAPS_MAX.
 */
#define DISCARD_AHEAD	256U

/* Register the whole blocks inside the discarded range. */
static void discard_begin(struct cache *c, struct bio *bio,
			  struct cache_discard *d)
{
	sector_t begin = bio->bi_iter.bi_sector;
	sector_t end = bio_end_sector(bio);

	d->first = cache_block_of(c, begin + c->geo.block_sectors - 1);
	d->last = min(cache_block_of(c, end), c->geo.origin_blocks);
	if (d->last < d->first)
		d->last = d->first;
	d->cursor = d->first;
	d->ahead = d->first;
	d->registered = true;
	d->left_log = false;
	d->refused = false;
	cache_gate_enter_discard(c, d);
}

/*
 * Start unmapping what lies ahead of the cursor, so that commits are shared.  At
 * least one block is begun, because the bio waits for that one.
 */
static void discard_unmap_ahead(struct cache *c, struct cache_discard *d)
{
	u64 end = min(d->last, d->cursor + DISCARD_AHEAD);
	u32 slot;

	d->ahead = d->cursor;
	do {
		slot = slot_map_find(&c->map, d->ahead);
		if (slot != SLOT_NONE)
			cache_begin_unmap(c, slot, d->ahead, true,
					  CACHE_REMOVED_DISCARDED);
	} while (++d->ahead < end && cache_unmap_has_room(c));
}

/* I1: true when nothing in the range is mapped any more; false: the bio waits. */
static bool discard_wait(struct cache *c, struct bio *bio,
			 struct cache_discard *d)
{
	u32 slot, word;

	while (d->cursor < d->last) {
		if (d->cursor >= d->ahead)
			discard_unmap_ahead(c, d);
		slot = slot_map_find_own(&c->map, d->cursor, &word);
		if (slot == SLOT_NONE) {
			d->cursor++;
			continue;
		}
		if (slot_state(word) == SLOT_VALID &&
		    cache_begin_unmap(c, slot, d->cursor, true,
				      CACHE_REMOVED_DISCARDED))
			continue;
		if (!slot_is_busy(word))
			continue;
		if (cache_log_is_stuck(c, d->cursor)) {
			d->refused = true;
			cache_defer_bio(c, bio, STEP_DISCARD);
			return false;
		}
		if (cache_wait_for_slot(c, slot, word, bio))
			return false;
	}
	return true;
}

static void discard_pass_down(struct cache *c, struct bio *bio,
			      struct cache_bio *cb)
{
	struct cache_discard *d = &cb->discard;
	sector_t begin = cache_block_start(c, d->first);
	sector_t end = cache_block_start(c, d->last);

	if (d->first == d->last || !c->state.discard_passdown) {
		cache_gate_leave_discard(c, d);
		bio_endio(bio);
		return;
	}

	bio->bi_iter.bi_sector = begin;
	bio->bi_iter.bi_size = (end - begin) << SECTOR_SHIFT;
	cb->kind = BIO_DISCARD;
	cache_remap_origin(c, bio);
	submit_bio_noacct(bio);
}

void cache_process_discard(struct cache *c, struct bio *bio,
			   struct cache_bio *cb)
{
	struct cache_discard *d = &cb->discard;

	if ((!cache_writable(c) || (d->registered && d->refused)) &&
	    !cache_bypassed(c)) {
		if (d->registered)
			cache_gate_leave_discard(c, d);
		bio->bi_status = BLK_STS_NOTSUPP;
		bio_endio(bio);
		return;
	}
	if (!d->registered)
		discard_begin(c, bio, d);
	if (!cache_bypassed(c) && !discard_wait(c, bio, d))
		return;
	/*
	 * W6: what the log has of the range leaves it first, because it would come
	 * back otherwise.
	 */
	if (unlikely(READ_ONCE(c->log)) && !cache_log_discard(c, bio))
		return;
	discard_pass_down(c, bio, cb);
}
