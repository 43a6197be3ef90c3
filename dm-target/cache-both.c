// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes to both devices: those of writethrough and writearound, and in passthrough
 * those to slots that must be kept.
 *
 * It owns the two legs of such a write, and the units, pages, that the write has
 * to itself, because overlapping writes must reach both devices in the same order.
 * It must not know why a slot may be written.
 */
#include "cache-bio.h"
#include "cache-both.h"
#include "cache-failover.h"

/* ---- Units ---- */

/* One bit for each page that the bio touches: page n uses bit n % BITS_PER_LONG. */
static unsigned long units_of(struct bio *bio)
{
	sector_t first = bio->bi_iter.bi_sector >> PAGE_SECTORS_SHIFT;
	sector_t last = (bio_end_sector(bio) - 1) >> PAGE_SECTORS_SHIFT;
	unsigned long units;

	if (last - first >= BITS_PER_LONG - 1)
		return ~0UL;
	units = GENMASK(last - first, 0);
	return BITS_PER_LONG == 64 ? rol64(units, first % 64) :
				     rol32(units, first % 32);
}

static atomic_long_t *units_at(struct cache *c, u32 slot)
{
	return &c->both.units[slot % CACHE_NR_UNITS];
}

/*
 * I3: a write has the units that it touches to itself, from before it pins its
 * slot until both copies have ended.  It leaves a unit to a write that waits for it.
 * That look is racy: if it comes too early, the other write only waits longer.
 */
static bool take_units(struct cache *c, struct cache_bio *cb,
		       unsigned long units)
{
	atomic_long_t *taken = units_at(c, cb->slot);
	long old = atomic_long_read(taken);

	if (READ_ONCE(cache_wait_bucket(c, cb->slot)->units_wanted) & units)
		return false;
	do {
		if (old & units)
			return false;
	} while (!atomic_long_try_cmpxchg(taken, &old, old | units));
	cb->units = units;
	return true;
}

bool cache_claim_all_units(struct cache *c, struct cache_bio *cb)
{
	return take_units(c, cb, ~0UL);
}

/*
 * False when the units are free by now.  While units_wanted is not zero, a bio
 * that found a unit taken is parked here.  cache_return_units() wakes it, and
 * with it the bios that only queued behind it.
 */
static bool wait_for_units(struct cache *c, struct bio *bio,
			   struct cache_bio *cb, unsigned long units)
{
	struct wait_bucket *wb = cache_wait_bucket(c, cb->slot);
	unsigned long before, flags;
	bool parked;

	cache_leave_submitter(bio);
	spin_lock_irqsave(&wb->lock, flags);
	before = wb->units_wanted;
	WRITE_ONCE(wb->units_wanted, before | units);
	/*
	 * Say what is wanted, then look at what is taken.  The other half is in
	 * cache_return_units().
	 */
	smp_mb();
	parked = (before | atomic_long_read(units_at(c, cb->slot))) & units;
	if (parked)
		bio_list_add(&wb->unit_bios, bio);
	else
		WRITE_ONCE(wb->units_wanted, before);
	spin_unlock_irqrestore(&wb->lock, flags);
	return parked;
}

/* The last writer in the way of parked bios wakes them. */
void cache_return_units(struct cache *c, struct cache_bio *cb)
{
	unsigned long left, wanted;

	/*
	 * Give the units back, then look at what is wanted.  In between is a full
	 * barrier, as in the other half.
	 */
	left = atomic_long_fetch_andnot(cb->units, units_at(c, cb->slot)) &
	       ~cb->units;
	cb->units = 0;
	wanted = READ_ONCE(cache_wait_bucket(c, cb->slot)->units_wanted);
	if (wanted && !(wanted & left))
		cache_wake_for_units(c, cb->slot);
}

enum hit_result cache_claim_both(struct cache *c, struct bio *bio,
				 struct cache_bio *cb, u32 word,
				 enum dm_cache_mode mode)
{
	unsigned long units = units_of(bio);
	bool others = (word & SLOT_WRITER_MASK) &&
		      ((word & SLOT_DIRTY) || mode == MODE_PASSTHROUGH);

	if (others || slot_state(word) == SLOT_WRITEBACK)
		return cache_park_on_slot(c, bio, cb->slot, word);
	if (take_units(c, cb, units))
		return HIT_PINNED;
	return wait_for_units(c, bio, cb, units) ? HIT_PARKED : HIT_RETRY;
}

/* ---- The end of both copies.  Any context ---- */

/*
 * Both copies of a write have ended.  I2: if they may differ, the block is
 * dropped before the write is acknowledged, unless the slot has the only copy.
 */
static int end_both(struct cache *c, struct bio *bio, blk_status_t *error)
{
	struct cache_bio *cb = cache_bio(bio);
	bool dirty = slot_word(slot_at(&c->map, cb->slot)) & SLOT_DIRTY;

	cb->kind = BIO_PLAIN;
	/* Counting the legs was a full barrier. */
	cache_note_hit(&c->flushes.origin, bio);
	cache_note_hit(&c->flushes.fast, bio);
	*error = cb->origin_status;
	if (likely(!cb->fast_status))
		cache_wrote_slot(c, cb->slot);
	if (likely(!cb->fast_status && !cb->origin_status)) {
		cache_unpin_writer(c, cb);
		return DM_ENDIO_DONE;
	}

	if (dirty && cb->fast_status) {
		cache_unpin_writer(c, cb);
		return cache_leave_and_write(c, bio);
	}
	if (cb->fast_status)
		cache_fast_error(c, STAT_CACHE_WRITE_ERRORS);
	else
		cache_stat_inc(c, STAT_ORIGIN_ERRORS);
	if (dirty) {
		cache_unpin_writer(c, cb);
		*error = BLK_STS_OK;
		return DM_ENDIO_DONE;
	}
	/* I2: until the block is dropped, no sweep may call it clean. */
	cb->kind = BIO_SUSPECT;
	atomic_inc(&c->intents.nr_suspects);
	cache_defer_bio(c, bio, STEP_DROP_THEN_END);
	return DM_ENDIO_INCOMPLETE;
}

int cache_end_origin_leg(struct cache *c, struct bio *bio,
			 struct cache_bio *cb, blk_status_t *error)
{
	cb->origin_status = *error;
	if (!atomic_dec_and_test(&cb->legs))
		return DM_ENDIO_INCOMPLETE;
	return end_both(c, bio, error);
}

static void fast_leg_end(struct bio *leg)
{
	struct cache_bio *cb = leg->bi_private;
	struct bio *bio = cache_bio_bio(cb);
	blk_status_t error;

	cb->fast_status = leg->bi_status;
	bio_uninit(leg);
	if (!atomic_dec_and_test(&cb->legs))
		return;

	error = cb->origin_status;
	if (end_both(cb->c, bio, &error) == DM_ENDIO_INCOMPLETE)
		return;
	bio->bi_status = error;
	bio_endio(bio);
}

/* I2: the block of a suspect slot leaves the cache before the bio ends. */
void cache_drop_then_end(struct cache *c, struct bio *bio,
			 struct cache_bio *cb)
{
	if (cb->slot != SLOT_NONE) {
		cache_unpin_writer(c, cb);
		cb->slot = SLOT_NONE;
	}
	bio->bi_status = cb->origin_status;
	if (cache_drop_block(c, bio, cb, false))
		bio_endio(bio);
}

/* ---- Two legs ---- */

/* Send one copy of the bio to the slot; the caller sends the other. */
static void issue_fast_leg(struct cache *c, struct bio *bio,
			   struct cache_bio *cb)
{
	struct bio *leg = &cb->fast_leg;

	if (bio_init_clone(c->dev.fast, leg, bio, GFP_NOIO)) {
		cb->fast_status = BLK_STS_RESOURCE;
		atomic_dec(&cb->legs);
		return;
	}
	leg->bi_iter.bi_sector = cache_slot_sector(c, cb->slot,
						   bio->bi_iter.bi_sector,
						   cb->block);
	leg->bi_private = cb;
	leg->bi_end_io = fast_leg_end;
	submit_bio_noacct(leg);
}

int cache_issue_both(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	/* With REQ_NOWAIT a device that is busy would look like one that failed. */
	cache_leave_submitter(bio);
	cb->kind = BIO_BOTH;
	cb->c = c;
	cb->origin_status = BLK_STS_OK;
	cb->fast_status = BLK_STS_OK;
	atomic_set(&cb->legs, 2);
	issue_fast_leg(c, bio, cb);
	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}
