// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path of a bio: from the table to a slot or to the origin, and back.
 *
 * It owns the rules by which a bio may use a slot (pins, intents, waiting) and
 * the worker that retries bios that could not go on.  It starts promotions and
 * unmappings but does not know how they are done.
 *
 * A read hit is: find, pin, compare again, remap.  No lock, no allocation, one
 * shared cache line written.  Everything that has to wait or to allocate is
 * handed to the worker by cache_defer_bio().
 */
#include "cache-bio.h"

/* ---- Units of 4 KiB that writes to both devices take ---- */

/*
 * The units that the bio touches, of 4 KiB; those that are as many apart as a
 * long has bits share one.
 */
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
	return &c->units[slot % CACHE_NR_UNITS];
}

/*
 * Writes to both devices must not reach them in different orders: each has the
 * units that it touches to itself, from before it pins its slot until both
 * copies have ended.  Nobody takes what others wait for.
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

/*
 * False when they are free by now.  What is wanted outside the lock belongs to a
 * bio that is parked, and that found some of it taken: one who gives back wakes
 * it, and with it all who only found that others were waiting.
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
	/* Say so, then look: the other half is in give_units(). */
	smp_mb();
	parked = (before | atomic_long_read(units_at(c, cb->slot))) & units;
	if (parked)
		bio_list_add(&wb->bios, bio);
	else
		WRITE_ONCE(wb->units_wanted, before);
	spin_unlock_irqrestore(&wb->lock, flags);
	return parked;
}

/* The last one in the way of those who wait wakes them. */
static noinline void give_units(struct cache *c, struct cache_bio *cb)
{
	unsigned long left, wanted;

	if (!cb->units)
		return;
	/* Give, then look: a full barrier, as the other half has. */
	left = atomic_long_fetch_andnot(cb->units, units_at(c, cb->slot)) &
	       ~cb->units;
	cb->units = 0;
	wanted = READ_ONCE(cache_wait_bucket(c, cb->slot)->units_wanted);
	if (wanted && !(wanted & left))
		cache_wake_waiters(c, cb->slot);
}

/* The end of a write that may have gone to both devices. */
static void unpin_writer(struct cache *c, struct cache_bio *cb)
{
	give_units(c, cb);
	cache_unpin(c, cb->slot, SLOT_PIN | SLOT_WRITER);
}

/* ---- What the policy is told ---- */

/* @op is that of @bio; inline because each caller knows which it is. */
static __always_inline void tell_hit(struct cache *c, struct bio *bio,
				     struct cache_bio *cb, enum cache_op op)
{
	/* A bio that was judged a miss before has been counted. */
	if (unlikely(cb->verdict != NR_CACHE_VERDICTS))
		return;
	cache_describe_bio(bio, op, cache_stream_before(c, bio), &cb->io);
	cache_stat_inc(c, op == CACHE_OP_WRITE ?
		       STAT_WRITE_HITS : STAT_READ_HITS);
	c->policy->ops->hit(c->policy, cb->slot, cb->block, &cb->io);
}

/* ---- Reads ---- */

static int map_read_miss(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	if (cb->verdict == NR_CACHE_VERDICTS) {
		cache_admit_miss(c, bio, cb);
		if (cache_wants_promotion(cb)) {
			cache_defer_bio(c, bio, STEP_PROMOTE);
			return DM_MAPIO_SUBMITTED;
		}
	}

	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}

/* The origin is current, though a slot exists: it is on its way in or out. */
static int map_read_transit(struct cache *c, struct bio *bio,
			    struct cache_bio *cb)
{
	if (cb->verdict == NR_CACHE_VERDICTS) {
		cb->verdict = CACHE_BYPASS_LIMIT;
		cache_stat_inc(c, STAT_READ_MISSES);
		cache_stream_before_miss(c, bio);
	}
	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}

/* A table's passthrough has no dirty blocks; a failed cache device may. */
static bool slot_is_needed(struct cache *c, u32 slot)
{
	return slot != SLOT_NONE &&
	       cache_kept(c, slot_word(slot_at(&c->map, slot)));
}

static int map_read_passthrough(struct cache *c, struct bio *bio, u32 slot)
{
	cache_stat_inc(c, slot == SLOT_NONE || cache_bypassed(c) ?
		       STAT_READ_MISSES : STAT_READ_HITS);
	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}

static int map_read(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	struct slot *s;
	u32 slot, word;

retry:
	slot = slot_map_find(&c->map, cb->block);
	if (unlikely(READ_ONCE(c->mode) == MODE_PASSTHROUGH) &&
	    !slot_is_needed(c, slot))
		return map_read_passthrough(c, bio, slot);
	if (slot == SLOT_NONE)
		return map_read_miss(c, bio, cb);

	s = slot_at(&c->map, slot);
	word = slot_word(s);
	switch (slot_state(word)) {
	case SLOT_VALID:
	case SLOT_WRITEBACK:
		break;
	case SLOT_FILLING:
	case SLOT_EVICTING:
		/* The word was read first: the block cannot be older than it. */
		smp_rmb();
		if (slot_block(s) != cb->block)
			goto retry;
		/* The next one may find it on the cache device. */
		cache_commit_kick_lingering(c);
		return map_read_transit(c, bio, cb);
	case SLOT_FREE:
		cpu_relax();
		goto retry;
	}

	/* Readers are in nobody's way while a block is on its way home. */
	if (unlikely(slot_is_closed(word)) &&
	    (slot_state(word) == SLOT_VALID || (word & SLOT_FULL))) {
		if (!cache_wait_for_slot(c, slot, word, bio))
			goto retry;
		return DM_MAPIO_SUBMITTED;
	}
	if (!slot_try_change(s, &word, word + SLOT_PIN))
		goto retry;
	if (unlikely(slot_block(s) != cb->block)) {
		cache_unpin(c, slot, SLOT_PIN);
		goto retry;
	}

	cb->slot = slot;
	cb->kind = BIO_PINNED_READ;
	tell_hit(c, bio, cb, CACHE_OP_READ);
	cache_remap_fast(c, bio, slot, cb->block);
	return DM_MAPIO_REMAPPED;
}

/* ---- Writes that hit ---- */

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
	if (cache_end_both(cb->c, bio, &error) == DM_ENDIO_INCOMPLETE)
		return;
	bio->bi_status = error;
	bio_endio(bio);
}

/* Send one copy of the bio to the slot; the caller sends the other. */
static void issue_fast_leg(struct cache *c, struct bio *bio,
			   struct cache_bio *cb)
{
	struct bio *leg = &cb->fast_leg;

	if (bio_init_clone(c->fast, leg, bio, GFP_NOIO)) {
		cb->fast_status = BLK_STS_RESOURCE;
		atomic_dec(&cb->legs);
		return;
	}
	leg->bi_iter.bi_sector = cache_slot_sector(c, cb->slot,
					     bio->bi_iter.bi_sector, cb->block);
	leg->bi_private = cb;
	leg->bi_end_io = fast_leg_end;
	submit_bio_noacct(leg);
}

static int issue_both(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	/* A device that is busy must not look like one that failed. */
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

/* The intent is durable and the slot is pinned for writing. */
static inline int issue_write(struct cache *c, struct bio *bio,
			      struct cache_bio *cb)
{
	cache_stat_add(c, STAT_CACHE_SECTORS_WRITTEN, bio_sectors(bio));
	if (!cache_keeps_dirty(c))
		return issue_both(c, bio, cb);

	cb->kind = BIO_PINNED_WRITE;
	cache_remap_fast(c, bio, cb->slot, cb->block);
	return DM_MAPIO_REMAPPED;
}

/*
 * Will a write make the slot dirty that has this word?  It is counted first,
 * then the mode is looked at, and only then the slot says so: whoever sees it
 * dirty may rely on stop_dirtying() seeing the count.
 */
static bool count_dirty(struct cache *c, u32 word)
{
	if ((word & SLOT_DIRTY) || !cache_keeps_dirty(c))
		return false;
	atomic_inc(&c->nr_dirty);
	smp_mb__after_atomic();
	if (cache_keeps_dirty(c))
		return true;
	atomic_dec(&c->nr_dirty);
	return false;
}

/* If nothing depends on the cache any more, the origin takes the write. */
static void intent_refused(struct cache *c, struct bio *bio,
			   struct cache_bio *cb)
{
	unpin_writer(c, cb);
	cb->kind = BIO_PLAIN;
	if (READ_ONCE(c->health) == HEALTH_READ_ONLY)
		bio_io_error(bio);
	else
		cache_defer_bio(c, bio, STEP_MAP);
}

/*
 * It pinned in a mode that keeps blocks dirty, and finds another: it has not taken
 * the units without which it must not go to both devices.  Where the slot is dirty
 * it may, because the slot stays so until a copy that began without writers.
 */
static bool lacks_units(const struct cache_bio *cb, u32 word)
{
	return !cb->units && !(word & SLOT_DIRTY);
}

static void intent_done(struct cache *c, struct commit_op *op, int error)
{
	struct cache_bio *cb = container_of(op, struct cache_bio, op);
	struct bio *bio = cache_bio_bio(cb);
	struct slot *s = slot_at(&c->map, cb->slot);
	u32 old = slot_word(s), marks;
	bool counted;

	/*
	 * Pinned before the cache device was given up: there may be several
	 * writers, whose copies could reach the two devices in different orders.
	 */
	if (error || READ_ONCE(c->mode) == MODE_PASSTHROUGH) {
		intent_refused(c, bio, cb);
		return;
	}

	counted = count_dirty(c, old);
	do {
		marks = SLOT_INTENT;
		if (counted && !(old & SLOT_DIRTY))
			marks |= SLOT_DIRTY | SLOT_UNWRITTEN;
	} while (!slot_try_change(s, &old, old | marks));
	if (~old & SLOT_INTENT)
		atomic_inc(&c->nr_intents);
	/* Another write has made it dirty meanwhile. */
	if (counted && (old & SLOT_DIRTY))
		atomic_dec(&c->nr_dirty);
	if (lacks_units(cb, old | marks)) {
		unpin_writer(c, cb);
		cb->kind = BIO_PLAIN;
		cache_defer_bio(c, bio, STEP_MAP);
		return;
	}
	cache_defer_bio(c, bio, STEP_ISSUE_WRITE);
}

static int wait_for_intent(struct cache *c, struct bio *bio,
			   struct cache_bio *cb)
{
	if (!cache_writable(c)) {
		intent_refused(c, bio, cb);
		return DM_MAPIO_SUBMITTED;
	}

	cache_stat_inc(c, STAT_INTENTS);
	cb->op.kind = COMMIT_SET_DIRTY;
	cb->op.slot = cb->slot;
	cb->op.block = cb->block;
	cb->op.done = intent_done;
	cache_commit_queue(c, &cb->op);
	return DM_MAPIO_SUBMITTED;
}

enum hit_result {
	HIT_RETRY,
	HIT_PINNED,		/* and its intent is durable */
	HIT_NO_INTENT,		/* pinned */
	HIT_PARKED,
};

static enum hit_result park_on_slot(struct cache *c, struct bio *bio,
				    u32 slot, u32 word)
{
	return cache_wait_for_slot(c, slot, word, bio) ? HIT_PARKED : HIT_RETRY;
}

/*
 * May a write to both devices start on its slot, of this word?  It waits while a
 * dirty block's older content is on its way to the origin, for writers who may
 * be of a time when only the slot was written, and for its units.  HIT_PINNED:
 * they are taken, and it may pin.
 */
static noinline enum hit_result claim_both(struct cache *c, struct bio *bio,
					   struct cache_bio *cb, u32 word,
					   enum dm_cache_mode mode)
{
	unsigned long units = units_of(bio);
	bool others = (word & SLOT_WRITER_MASK) &&
		      ((word & SLOT_DIRTY) || mode == MODE_PASSTHROUGH);

	if (others || slot_state(word) == SLOT_WRITEBACK)
		return park_on_slot(c, bio, cb->slot, word);
	if (take_units(c, cb, units))
		return HIT_PINNED;
	return wait_for_units(c, bio, cb, units) ? HIT_PARKED : HIT_RETRY;
}

static enum hit_result pin_for_write(struct cache *c, struct bio *bio,
				     struct cache_bio *cb, u32 slot, u32 word)
{
	enum dm_cache_mode mode = READ_ONCE(c->mode);
	struct slot *s = slot_at(&c->map, slot);
	u32 new = (word + SLOT_PIN + SLOT_WRITER) | SLOT_TOUCHED |
		  cache_bio_parts(c, bio, cb->block);
	bool counted = false;

	/* Who writes has pinned, too. */
	if (unlikely(slot_is_closed(word)))
		return park_on_slot(c, bio, slot, word);
	cb->slot = slot;
	cb->units = 0;
	if (unlikely(!cache_mode_keeps_dirty(mode))) {
		enum hit_result r = claim_both(c, bio, cb, word, mode);

		if (r != HIT_PINNED)
			return r;
	}

	if (unlikely(!(word & SLOT_DIRTY)) && (word & SLOT_INTENT)) {
		counted = count_dirty(c, word);
		if (unlikely(!counted) && lacks_units(cb, word))
			return HIT_RETRY;
	}
	if (unlikely(counted))
		new |= SLOT_DIRTY | SLOT_UNWRITTEN;
	if (!slot_try_change(s, &word, new)) {
		if (counted)
			atomic_dec(&c->nr_dirty);
		give_units(c, cb);
		return HIT_RETRY;
	}
	/*
	 * If the slot is another block's by now, that block was marked dirty
	 * in vain.  Its intent was durable, so nothing is wrong with that.
	 */
	if (unlikely(slot_block(s) != cb->block)) {
		unpin_writer(c, cb);
		return HIT_RETRY;
	}
	return word & SLOT_INTENT ? HIT_PINNED : HIT_NO_INTENT;
}

/* ---- Writes that miss ---- */

static bool map_write_miss(struct cache *c, struct bio *bio,
			   struct cache_bio *cb, int *r)
{
	if (cb->verdict == NR_CACHE_VERDICTS) {
		cache_admit_miss(c, bio, cb);
		if (cache_wants_promotion(cb) && cache_keeps_dirty(c)) {
			cache_defer_bio(c, bio, STEP_PROMOTE);
			*r = DM_MAPIO_SUBMITTED;
			return true;
		}
	}

	if (!cache_gate_enter(c, cb))
		return false;

	/* Written to the origin now, and promoted from there afterwards. */
	if (cache_wants_promotion(cb) && !cb->fill)
		cb->fill = cache_fill_reserve(c, cb->block, cb->verdict);
	cache_remap_origin(c, bio);
	*r = DM_MAPIO_REMAPPED;
	return true;
}

/*
 * Will the word of this slot change without our doing?  Nobody may park on one
 * that does not.
 */
static bool is_busy(u32 word)
{
	return slot_state(word) != SLOT_VALID || (word & SLOT_PIN_MASK);
}

/*
 * Passthrough: what a write makes outdated leaves the cache first.  False when
 * the bio has to be mapped again.
 */
static bool map_write_invalidate(struct cache *c, struct bio *bio, u32 slot,
				 u32 word, bool worker)
{
	switch (READ_ONCE(c->health)) {
	case HEALTH_GOOD:
		break;
	case HEALTH_HOLDING:
		cache_hold_bio(c, bio, STEP_MAP);
		return true;
	case HEALTH_READ_ONLY:
		bio_io_error(bio);
		return true;
	case HEALTH_BYPASS:
		return false;
	}
	if (!worker) {
		cache_defer_bio(c, bio, STEP_MAP);
		return true;
	}
	if (cache_begin_unmap(c, slot, cache_bio(bio)->block, false,
			      CACHE_REMOVED_INVALID))
		return false;
	if (cache_kept(c, word)) {
		bio_io_error(bio);
		return true;
	}
	return is_busy(word) && cache_wait_for_slot(c, slot, word, bio);
}

static int map_write(struct cache *c, struct bio *bio, struct cache_bio *cb,
		     bool worker)
{
	enum hit_result hit;
	u32 slot, word;
	int r;

retry:
	slot = slot_map_find(&c->map, cb->block);
	if (slot == SLOT_NONE) {
		if (!map_write_miss(c, bio, cb, &r))
			goto retry;
		return r;
	}

	word = slot_word(slot_at(&c->map, slot));
	switch (slot_state(word)) {
	case SLOT_VALID:
	case SLOT_WRITEBACK:
		break;
	case SLOT_FILLING:
	case SLOT_EVICTING:
		if (!cache_wait_for_slot(c, slot, word, bio))
			goto retry;
		return DM_MAPIO_SUBMITTED;
	case SLOT_FREE:
		cpu_relax();
		goto retry;
	}

	if (unlikely(READ_ONCE(c->mode) == MODE_PASSTHROUGH) &&
	    !cache_kept(c, word)) {
		if (cache_bypassed(c)) {
			cache_remap_origin(c, bio);
			return DM_MAPIO_REMAPPED;
		}
		if (!map_write_invalidate(c, bio, slot, word, worker))
			goto retry;
		return DM_MAPIO_SUBMITTED;
	}

	/* The block leaves the cache, and the origin has the write. */
	if (unlikely(cache_over_dirty_limit(c, word))) {
		cache_kick_writeback(c);
		if (!map_write_invalidate(c, bio, slot, word, worker))
			goto retry;
		return DM_MAPIO_SUBMITTED;
	}

	hit = pin_for_write(c, bio, cb, slot, word);
	switch (hit) {
	case HIT_RETRY:
		goto retry;
	case HIT_PARKED:
		return DM_MAPIO_SUBMITTED;
	case HIT_PINNED:
	case HIT_NO_INTENT:
		break;
	}

	tell_hit(c, bio, cb, CACHE_OP_WRITE);
	return likely(hit == HIT_PINNED) ? issue_write(c, bio, cb) :
					   wait_for_intent(c, bio, cb);
}

/* ---- Flushes ---- */

/*
 * Nothing acknowledged depends on metadata that is not durable yet, so a flush
 * is a flush of both devices; device-mapper sends one bio for each.
 */
static int map_flush(struct cache *c, struct bio *bio)
{
	bool fast = dm_bio_get_target_bio_nr(bio);

	cache_bio(bio)->kind = BIO_FLUSH;
	cache_bio(bio)->block = CACHE_BLOCK_UNTIMED;
	if (fast && unlikely(cache_bypassed(c))) {
		cache_bio(bio)->kind = BIO_PLAIN;
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	bio_set_dev(bio, fast ? c->fast : c->origin);
	return DM_MAPIO_REMAPPED;
}

/* ---- Discards ---- */

/* The whole blocks inside the discarded range. */
static void discard_begin(struct cache *c, struct bio *bio,
			  struct cache_discard *d)
{
	sector_t begin = bio->bi_iter.bi_sector;
	sector_t end = bio_end_sector(bio);

	d->first = cache_block_of(c, begin + c->block_sectors - 1);
	d->last = min(cache_block_of(c, end), c->origin_blocks);
	if (d->last < d->first)
		d->last = d->first;
	d->cursor = d->first;
	d->ahead = d->first;
	d->registered = true;
	cache_gate_enter_discard(c, d);
}

#define DISCARD_AHEAD	256U	/* blocks */

/*
 * Start unmapping what lies ahead of the cursor, so that commits are shared.  At
 * least one block however many are being unmapped: the bio waits for that one.
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

/* True when nothing in the range is mapped any more; else the bio waits. */
static bool discard_wait(struct cache *c, struct bio *bio,
			 struct cache_discard *d)
{
	u32 slot, word;

	while (d->cursor < d->last) {
		if (d->cursor >= d->ahead)
			discard_unmap_ahead(c, d);
		slot = slot_map_find(&c->map, d->cursor);
		if (slot == SLOT_NONE) {
			d->cursor++;
			continue;
		}
		word = slot_word(slot_at(&c->map, slot));
		if (slot_block(slot_at(&c->map, slot)) != d->cursor)
			continue;
		switch (slot_state(word)) {
		case SLOT_FREE:
			cpu_relax();
			continue;
		case SLOT_VALID:
			if (cache_begin_unmap(c, slot, d->cursor, true,
					      CACHE_REMOVED_DISCARDED) ||
			    !is_busy(word))
				continue;
			break;
		case SLOT_FILLING:
		case SLOT_WRITEBACK:
		case SLOT_EVICTING:
			break;
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

	if (d->first == d->last || !c->discard_passdown) {
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

static void process_discard(struct cache *c, struct bio *bio,
			    struct cache_bio *cb)
{
	struct cache_discard *d = &cb->discard;

	if (!cache_writable(c) && !cache_bypassed(c)) {
		if (d->registered)
			cache_gate_leave_discard(c, d);
		bio->bi_status = BLK_STS_NOTSUPP;
		bio_endio(bio);
		return;
	}
	if (!d->registered)
		discard_begin(c, bio, d);
	if (cache_bypassed(c) || discard_wait(c, bio, d))
		discard_pass_down(c, bio, cb);
}

/* ---- Mapping ---- */

static int map_data(struct cache *c, struct bio *bio, struct cache_bio *cb,
		    bool worker)
{
	if (bio_data_dir(bio) == WRITE)
		return map_write(c, bio, cb, worker);
	return map_read(c, bio, cb);
}

int cache_map_bio(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);

	cb->kind = BIO_PLAIN;
	if (unlikely(!bio_sectors(bio) && (bio->bi_opf & REQ_PREFLUSH)))
		return map_flush(c, bio);

	if (unlikely(bio_op(bio) == REQ_OP_DISCARD)) {
		cb->discard.registered = false;
		cb->block = CACHE_BLOCK_UNTIMED;
		cache_defer_bio(c, bio, STEP_DISCARD);
		return DM_MAPIO_SUBMITTED;
	}

	cb->iter = bio->bi_iter;
	cb->block = cache_block_of(c, bio->bi_iter.bi_sector);
	cb->verdict = NR_CACHE_VERDICTS;
	cb->step = STEP_MAP;
	cb->fill = NULL;
	if (unlikely(cb->block >= c->origin_blocks)) {
		cb->block = CACHE_BLOCK_UNTIMED;
		cache_remap_origin(c, bio);
		return DM_MAPIO_REMAPPED;
	}
	if (unlikely(cache_bio_is_timed(cb)))
		cb->began = ktime_get_ns();
	return map_data(c, bio, cb, false);
}

/* ---- The worker: bios that waited go on where they stopped ---- */

static void submit_if_mapped(struct bio *bio, int r)
{
	if (r == DM_MAPIO_REMAPPED)
		submit_bio_noacct(bio);
}

static void process_promote(struct cache *c, struct bio *bio,
			    struct cache_bio *cb)
{
	switch (cache_promote_bio(c, bio)) {
	case PROMOTE_STARTED:
		return;
	case PROMOTE_BYPASS:
		cb->verdict = CACHE_BYPASS_LIMIT;
		break;
	case PROMOTE_RETRY:
		cb->verdict = CACHE_BYPASS_LIMIT;
		break;
	}
	cb->step = STEP_MAP;
	submit_if_mapped(bio, map_data(c, bio, cb, true));
}

/* Is it dirty for writes under way alone?  Their end says whether it stays so. */
static bool is_undecided(u32 word)
{
	return (word & SLOT_UNWRITTEN) && (word & SLOT_WRITER_MASK);
}

/*
 * Unmap the block that @bio could not use.  True when it is gone (or going,
 * if the bio only @reads the origin then); false when the bio waits, or was
 * ended with an error because what the slot holds cannot be given up.
 */
static bool drop_block(struct cache *c, struct bio *bio, struct cache_bio *cb,
		       bool reads)
{
	enum cache_health health;
	u32 slot, word;

	for (;;) {
		slot = slot_map_find(&c->map, cb->block);
		if (slot == SLOT_NONE)
			return true;
		word = slot_word(slot_at(&c->map, slot));
		if (slot_block(slot_at(&c->map, slot)) != cb->block ||
		    slot_state(word) == SLOT_FREE)
			continue;
		health = smp_load_acquire(&c->health);
		/* The mapping is void, whatever the slot says. */
		if (health == HEALTH_BYPASS)
			return true;
		if (health == HEALTH_HOLDING && !reads) {
			cache_hold_bio(c, bio, cb->step);
			return false;
		}
		if (reads && (slot_state(word) == SLOT_EVICTING ||
			      slot_state(word) == SLOT_FILLING))
			return true;
		/* It stays, but the origin has the same. */
		if (reads && health != HEALTH_GOOD &&
		    (!(word & SLOT_DIRTY) || !cache_kept(c, word)))
			return true;
		if (is_undecided(word)) {
			if (cache_wait_for_slot(c, slot, word, bio))
				return false;
			continue;
		}
		if (health != HEALTH_GOOD || cache_kept(c, word)) {
			bio_io_error(bio);
			return false;
		}
		if (slot_state(word) == SLOT_VALID &&
		    cache_begin_unmap(c, slot, cb->block, false,
				      CACHE_REMOVED_INVALID))
			continue;
		if (is_busy(word) && cache_wait_for_slot(c, slot, word, bio))
			return false;
	}
}

/* Only one copy of a write arrived: its slot goes before the bio ends. */
static void drop_then_end(struct cache *c, struct bio *bio,
			  struct cache_bio *cb)
{
	if (cb->slot != SLOT_NONE) {
		unpin_writer(c, cb);
		cb->slot = SLOT_NONE;
	}
	bio->bi_status = cb->origin_status;
	if (drop_block(c, bio, cb, false))
		bio_endio(bio);
}

/* Others that write to the block begin anew what its way home had to copy. */
#define LEAVE_TRIES	8

enum leave_result {
	LEAVE_GO,		/* it may be mapped again */
	LEAVE_LOOK,		/* look again */
	LEAVE_WAIT,
	LEAVE_NEVER,
};

/* Refused writes made it dirty, and no others: it is what it was before. */
static enum leave_result take_dirty_back(struct cache *c, u32 slot, u32 word)
{
	if (slot_state(word) != SLOT_VALID)
		return LEAVE_WAIT;
	if (slot_try_change(slot_at(&c->map, slot), &word,
			    word & ~(SLOT_DIRTY | SLOT_UNWRITTEN)))
		atomic_dec(&c->nr_dirty);
	return LEAVE_LOOK;
}

/*
 * A step towards the origin for the block of a slot that could not be written.
 * What was acknowledged before, it takes along; so it has to be read.  If there is
 * nothing, its mapping goes.
 */
static enum leave_result leave_slot(struct cache *c, struct cache_bio *cb,
				    u32 slot, u32 word)
{
	if (cache_kept(c, word)) {
		if (slot_state(word) != SLOT_VALID || (word & SLOT_WRITER_MASK))
			return LEAVE_WAIT;
		if (!cb->tries || !cache_may_go_home(c))
			return LEAVE_NEVER;
		/* One try is due to it, whatever befell its block before. */
		if (cb->tries < LEAVE_TRIES &&
		    cache_failed_to_go_home(c, cb->block))
			return LEAVE_NEVER;
		cb->tries--;
		cache_write_home(c, slot);
		return LEAVE_LOOK;
	}
	/* Else the cache's health says what becomes of the write. */
	if (!cache_writable(c))
		return word & SLOT_UNWRITTEN ? take_dirty_back(c, slot, word) :
					       LEAVE_GO;
	return cache_begin_unmap(c, slot, cb->block, false,
				 CACHE_REMOVED_INVALID) ? LEAVE_LOOK :
							  LEAVE_WAIT;
}

/* True when the bio may be mapped again; else it waits or was ended. */
static bool leave_block(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	u32 slot, word;

	for (;;) {
		slot = slot_map_find(&c->map, cb->block);
		if (slot == SLOT_NONE)
			return true;
		word = slot_word(slot_at(&c->map, slot));
		if (slot_block(slot_at(&c->map, slot)) != cb->block ||
		    slot_state(word) == SLOT_FREE)
			continue;
		switch (leave_slot(c, cb, slot, word)) {
		case LEAVE_GO:
			return true;
		case LEAVE_LOOK:
			break;
		case LEAVE_WAIT:
			if (is_busy(word) &&
			    cache_wait_for_slot(c, slot, word, bio))
				return false;
			break;
		case LEAVE_NEVER:
			bio_io_error(bio);
			return false;
		}
	}
}

static void leave_then_write(struct cache *c, struct bio *bio,
			     struct cache_bio *cb)
{
	if (!leave_block(c, bio, cb))
		return;
	cb->step = STEP_MAP;
	submit_if_mapped(bio, map_data(c, bio, cb, true));
}

/* Nothing that was to be flushed is only on the cache device, or it is lost. */
static void end_held_flush(struct cache *c, struct bio *bio)
{
	if (!cache_bypassed(c))
		bio->bi_status = BLK_STS_IOERR;
	bio_endio(bio);
}

static void process_bio(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);

	switch ((enum bio_step)cb->step) {
	case STEP_MAP:
		submit_if_mapped(bio, map_data(c, bio, cb, true));
		return;
	case STEP_PROMOTE:
		process_promote(c, bio, cb);
		return;
	case STEP_ISSUE_WRITE:
		submit_if_mapped(bio, issue_write(c, bio, cb));
		return;
	case STEP_DROP_THEN_READ:
		if (!drop_block(c, bio, cb, true))
			return;
		cache_remap_origin(c, bio);
		submit_bio_noacct(bio);
		return;
	case STEP_DROP_THEN_END:
		drop_then_end(c, bio, cb);
		return;
	case STEP_LEAVE_THEN_WRITE:
		leave_then_write(c, bio, cb);
		return;
	case STEP_DISCARD:
		process_discard(c, bio, cb);
		return;
	case STEP_END_FLUSH:
		end_held_flush(c, bio);
		return;
	}
}

void cache_deferred_work(struct work_struct *work)
{
	struct cache *c = container_of(work, struct cache, deferred_work);
	struct blk_plug plug;
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&c->deferred_lock);
	bios = c->deferred;
	bio_list_init(&c->deferred);
	spin_unlock_irq(&c->deferred_lock);

	blk_start_plug(&plug);
	while ((bio = bio_list_pop(&bios)))
		process_bio(c, bio);
	blk_finish_plug(&plug);
}

/* ---- Completion.  Any context ---- */

/*
 * A device that is well may refuse a bio that must not wait: its submitter tries
 * again, and waits.  Nobody needs what was read ahead.
 */
static bool was_refused(struct bio *bio, blk_status_t *error)
{
	if (bio->bi_opf & REQ_RAHEAD)
		return true;
	if (!(bio->bi_opf & REQ_NOWAIT) ||
	    (*error != BLK_STS_AGAIN && *error != BLK_STS_NOTSUPP))
		return false;
	*error = BLK_STS_AGAIN;
	return true;
}

/* A clean block that cannot be read is read from the origin, and dropped. */
static int end_read(struct cache *c, struct bio *bio, struct cache_bio *cb,
		    blk_status_t *error)
{
	u32 word = slot_word(slot_at(&c->map, cb->slot));

	cache_unpin(c, cb->slot, SLOT_PIN);
	if (likely(!*error) || was_refused(bio, error))
		return DM_ENDIO_DONE;

	cache_fast_error(c, STAT_CACHE_READ_ERRORS);
	if ((word & (SLOT_DIRTY | SLOT_UNWRITTEN)) == SLOT_DIRTY)
		return DM_ENDIO_DONE;
	cache_rewind_bio(bio);
	cache_defer_bio(c, bio, STEP_DROP_THEN_READ);
	return DM_ENDIO_INCOMPLETE;
}

/*
 * The cache device has refused a write to a dirty block.  If the block can be
 * read, it goes home, and the write to the origin.
 */
static noinline int write_elsewhere(struct cache *c, struct bio *bio,
				    struct cache_bio *cb)
{
	cache_fast_error(c, STAT_CACHE_WRITE_ERRORS);
	cache_rewind_bio(bio);
	cb->tries = LEAVE_TRIES;
	cache_defer_bio(c, bio, STEP_LEAVE_THEN_WRITE);
	return DM_ENDIO_INCOMPLETE;
}

/* A write has arrived in its slot, which is pinned by it still. */
static inline void wrote_slot(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);

	if (unlikely(slot_word(s) & SLOT_UNWRITTEN))
		atomic_andnot(SLOT_UNWRITTEN, &s->word);
}

/*
 * Both copies of a write have ended.  If they may differ, the slot goes before
 * the write is acknowledged, unless its content is the only good one.
 */
int cache_end_both(struct cache *c, struct bio *bio, blk_status_t *error)
{
	struct cache_bio *cb = cache_bio(bio);
	bool dirty = slot_word(slot_at(&c->map, cb->slot)) & SLOT_DIRTY;

	cb->kind = BIO_PLAIN;
	*error = cb->origin_status;
	if (likely(!cb->fast_status))
		wrote_slot(c, cb->slot);
	if (likely(!cb->fast_status && !cb->origin_status)) {
		unpin_writer(c, cb);
		return DM_ENDIO_DONE;
	}

	if (dirty && cb->fast_status) {
		unpin_writer(c, cb);
		return write_elsewhere(c, bio, cb);
	}
	if (cb->fast_status)
		cache_fast_error(c, STAT_CACHE_WRITE_ERRORS);
	else
		cache_stat_inc(c, STAT_ORIGIN_ERRORS);
	if (dirty) {
		unpin_writer(c, cb);
		*error = BLK_STS_OK;
		return DM_ENDIO_DONE;
	}
	/* Until it is dropped, nobody may say that the copies are equal. */
	cb->kind = BIO_SUSPECT;
	atomic_inc(&c->nr_suspects);
	cache_defer_bio(c, bio, STEP_DROP_THEN_END);
	return DM_ENDIO_INCOMPLETE;
}

static int end_origin_leg(struct cache *c, struct bio *bio,
			  struct cache_bio *cb, blk_status_t *error)
{
	cb->origin_status = *error;
	if (!atomic_dec_and_test(&cb->legs))
		return DM_ENDIO_INCOMPLETE;
	return cache_end_both(c, bio, error);
}

static void end_gated(struct cache *c, struct cache_bio *cb, blk_status_t error)
{
	cache_gate_leave(c, cb);
	if (!cb->fill)
		return;
	if (error)
		cache_fill_forget(cb->fill);
	else
		cache_fill_start(cb->fill);
	cb->fill = NULL;
}

/* A device that could not flush has lost something, whoever was told. */
static int end_flush(struct cache *c, struct bio *bio, blk_status_t *error)
{
	bool fast = dm_bio_get_target_bio_nr(bio);
	bool *failed = fast ? &c->fast_flush_failed : &c->origin_flush_failed;

	if (unlikely(*error))
		WRITE_ONCE(*failed, true);
	if (likely(!READ_ONCE(*failed)))
		return DM_ENDIO_DONE;

	*error = BLK_STS_IOERR;
	if (!fast)
		return DM_ENDIO_DONE;
	bio->bi_status = BLK_STS_OK;
	cache_hold_bio(c, bio, STEP_END_FLUSH);
	return DM_ENDIO_INCOMPLETE;
}

static noinline void count_time(struct cache *c, struct bio *bio,
				const struct cache_bio *cb)
{
	bool write = op_is_write(bio_op(bio));
	bool miss = cb->verdict != NR_CACHE_VERDICTS;
	unsigned int which = 2 * write + miss;

	/* Its hits are served by the origin. */
	if (READ_ONCE(c->mode) == MODE_PASSTHROUGH)
		return;
	cache_stat_inc(c, STAT_TIMED_READ_HITS + which);
	cache_stat_add(c, STAT_READ_HITS_NS + which,
		       ktime_get_ns() - cb->began);
}

static inline int end_bio(struct cache *c, struct bio *bio,
			  struct cache_bio *cb, blk_status_t *error)
{
	enum bio_kind kind = cb->kind;

	if (kind == BIO_BOTH)
		return end_origin_leg(c, bio, cb, error);

	cb->kind = BIO_PLAIN;
	switch (kind) {
	case BIO_PLAIN:
	case BIO_BOTH:
		break;
	case BIO_PINNED_READ:
		return end_read(c, bio, cb, error);
	case BIO_PINNED_WRITE:
		if (likely(!*error))
			wrote_slot(c, cb->slot);
		/* It has no units: no mode that keeps nothing dirty ends meanwhile. */
		cache_unpin(c, cb->slot, SLOT_PIN | SLOT_WRITER);
		if (unlikely(*error) && !was_refused(bio, error))
			return write_elsewhere(c, bio, cb);
		break;
	case BIO_GATED:
		end_gated(c, cb, *error);
		break;
	case BIO_OVERWRITE:
		cache_overwrite_done(c, bio, *error);
		return DM_ENDIO_INCOMPLETE;
	case BIO_DISCARD:
		cache_gate_leave_discard(c, &cb->discard);
		break;
	case BIO_FLUSH:
		return end_flush(c, bio, error);
	case BIO_SUSPECT:
		atomic_dec(&c->nr_suspects);
		break;
	}
	return DM_ENDIO_DONE;
}

int cache_end_bio(struct cache *c, struct bio *bio, blk_status_t *error)
{
	struct cache_bio *cb = cache_bio(bio);
	int r = end_bio(c, bio, cb, error);

	/* Else it is not at its end, and may be another's already. */
	if (likely(r == DM_ENDIO_DONE) && unlikely(cache_bio_is_timed(cb)))
		count_time(c, bio, cb);
	return r;
}
