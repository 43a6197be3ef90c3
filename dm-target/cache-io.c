// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path of a bio: from the table to a slot or to the origin, and back.  The way
 * back of what is no hit is in cache-end.c.
 *
 * It owns the rules by which a bio may use a slot (pins, intents, waiting) and
 * the worker that retries bios that could not go on.  It starts promotions and
 * unmappings but does not know how they are done.  docs/architecture.md has the
 * read path and the write path step by step, and the invariants I1 to I3.
 *
 * A read hit is: find, pin, compare again, remap.  No lock, no allocation, one
 * shared cache line written.  Everything that has to wait or to allocate is
 * handed to the worker by cache_defer_bio().
 */
#include "cache-bio.h"
#include "cache-both.h"
#include "cache-bucket.h"
#include "cache-end.h"
#include "cache-failover.h"
#include "cache-fill.h"
#include "cache-io.h"
#include "cache-log-io.h"
#include "cache-log-pace.h"
#include "cache-log.h"

/* ---- Messages to the policy ---- */

/* @op is that of @bio; inline because each caller knows which it is. */
static __always_inline void tell_hit(struct cache *c, struct bio *bio,
				     struct cache_bio *cb, enum cache_op op)
{
	/* A bio that was judged a miss before was counted then. */
	if (unlikely(cb->verdict != NR_CACHE_VERDICTS))
		return;
	cache_describe_bio(bio, op, cache_stream_before(c, bio), &cb->io);
	cache_stat_inc(c, op == CACHE_OP_WRITE ?
		       STAT_WRITE_HITS : STAT_READ_HITS);
	c->policy.p->ops->hit(c->policy.p, cb->slot, cb->block, &cb->io);
}

/* ---- Reads ---- */

/* The value that map() returns if the log does not pass the bio on. */
static int map_to_log(enum log_answer answer)
{
	return answer == LOG_POINTED ? DM_MAPIO_REMAPPED : DM_MAPIO_SUBMITTED;
}

/*
 * Is (the rest of) the read in the write log?  W14: if not, the slot is looked for
 * again, because extents leave the log after their block's slot is published.
 */
static noinline enum log_answer read_log(struct cache *c, struct bio *bio,
					 struct cache_bio *cb, bool worker)
{
	enum log_answer answer = cache_log_read(c, bio, cb, worker);

	if (answer != LOG_PASSES)
		return answer;
	/* The slot is looked for after the log was (W14). */
	smp_mb();
	return slot_map_find(&c->map, cb->block) == SLOT_NONE ? LOG_PASSES :
								LOG_LOOK_AGAIN;
}

/*
 * Write-back and the queue of a full log ask for the reads at the origin.  Otherwise they are
 * not counted, because counting costs each miss two atomic operations.
 */
static bool origin_reads_count(struct cache *c)
{
	const struct cache_log *log = READ_ONCE(c->log);

	return READ_ONCE(c->writeback.runs) ||
	       (unlikely(log) && READ_ONCE(log->pace.is_on));
}

static int map_read_miss(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	if (cb->verdict == NR_CACHE_VERDICTS) {
		cache_admit_miss(c, bio, cb);
		if (cache_wants_promotion(cb)) {
			cache_defer_bio(c, bio, STEP_PROMOTE);
			return DM_MAPIO_SUBMITTED;
		}
	}

	if (cache_yields(c, bio))
		return DM_MAPIO_SUBMITTED;
	if (unlikely(origin_reads_count(c))) {
		cb->kind = BIO_ORIGIN_READ;
		cache_user_at_origin(c);
	}
	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}

/*
 * The slot is on its way in or out.  Until a slot on its way in is VALID, the log
 * has what is newer than the origin (W14).
 */
static noinline enum log_answer read_log_in_transit(struct cache *c,
						    struct bio *bio,
						    struct cache_bio *cb,
						    bool worker)
{
	enum log_answer answer;
	u32 slot, word;

	/*
	 * A segment that is being mapped in place keeps the pins of the log's
	 * readers, and may be full of them.
	 */
	slot = slot_map_find_own(&c->map, cb->block, &word);
	if (slot != SLOT_NONE && unlikely(word & SLOT_FULL))
		return cache_wait_for_slot(c, slot, word, bio) ? LOG_TAKEN :
								 LOG_LOOK_AGAIN;
	answer = cache_log_read(c, bio, cb, worker);
	if (answer != LOG_PASSES)
		return answer;
	slot = slot_map_find_own(&c->map, cb->block, &word);
	return slot != SLOT_NONE && (slot_state(word) == SLOT_FILLING ||
				     slot_state(word) == SLOT_EVICTING) ?
		LOG_PASSES : LOG_LOOK_AGAIN;
}

/* The origin is current, though a slot exists: it is on its way in or out. */
static int map_read_transit(struct cache *c, struct bio *bio,
			    struct cache_bio *cb)
{
	/*
	 * The commit of a promotion may linger.  Once it is durable, the slot
	 * serves the next read.
	 */
	cache_commit_kick_lingering(c);
	if (cb->verdict == NR_CACHE_VERDICTS) {
		cb->verdict = CACHE_BYPASS_LIMIT;
		cache_stat_inc(c, STAT_READ_MISSES);
		cache_stream_before_miss(c, bio);
	}
	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}

/*
 * No slot is needed in passthrough by the table.  If a failure is the reason, blocks
 * may still be dirty, and the write log may have a block that is on its way in (W14).
 */
static bool slot_is_needed(struct cache *c, u32 slot, u64 block)
{
	struct slot *s;
	u32 word;

	if (slot == SLOT_NONE)
		return false;
	s = slot_at(&c->map, slot);
	word = slot_word(s);
	if (cache_kept(c, word))
		return true;
	if (likely(!READ_ONCE(c->log)))
		return false;
	/* If the block has left the slot since it was found, pin_for_read() tells. */
	smp_rmb();
	return slot_state(word) == SLOT_FILLING || !slot_has_block(word) ||
	       slot_block(s) != block;
}

static int map_read_passthrough(struct cache *c, struct bio *bio, u32 slot)
{
	if (cache_yields(c, bio))
		return DM_MAPIO_SUBMITTED;
	cache_stat_inc(c, slot == SLOT_NONE || cache_bypassed(c) ?
		       STAT_READ_MISSES : STAT_READ_HITS);
	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}

/* Is the slot with this @word, which is closed, closed to this bio as well? */
static bool is_shut_out(struct cache *c, struct cache_bio *cb, u32 slot,
			u32 word)
{
	return (word & SLOT_FULL) || !cache_is_granted(c, cb, slot);
}

/* Pin a slot that held the bio's block when it was found. */
static __always_inline enum hit_result pin_for_read(struct cache *c,
						    struct bio *bio,
						    struct cache_bio *cb, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 word = slot_word(s);

	switch (slot_state(word)) {
	case SLOT_VALID:
	case SLOT_WRITEBACK:
		break;
	case SLOT_FILLING:
	case SLOT_EVICTING:
		/* The word was read first: the block cannot be older than it. */
		smp_rmb();
		return slot_block(s) == cb->block ? HIT_ORIGIN : HIT_RETRY;
	case SLOT_FREE:
	case SLOT_LENT:
	case SLOT_RETIRED:
		cpu_relax();
		return HIT_RETRY;
	}

	/* Readers do not disturb the copy of a slot in WRITEBACK, even if it is closed. */
	if (unlikely(slot_is_closed(word)) &&
	    (slot_state(word) == SLOT_VALID || (word & SLOT_FULL)) &&
	    is_shut_out(c, cb, slot, word))
		return cache_park_on_slot(c, bio, slot, word);
	if (!slot_try_change(s, &word, word + SLOT_PIN))
		return HIT_RETRY;
	if (unlikely(slot_block(s) != cb->block)) {
		cache_unpin(c, slot, SLOT_PIN);
		return HIT_RETRY;
	}
	return HIT_PINNED;
}

static int map_read(struct cache *c, struct bio *bio, struct cache_bio *cb,
		    bool worker)
{
	enum log_answer answer;
	u32 slot;

	for (;;) {
		slot = slot_map_find(&c->map, cb->block);
		if (slot == SLOT_NONE && unlikely(READ_ONCE(c->log))) {
			answer = read_log(c, bio, cb, worker);
			if (answer == LOG_LOOK_AGAIN)
				continue;
			if (answer != LOG_PASSES)
				return map_to_log(answer);
		}
		if (unlikely(READ_ONCE(c->state.mode) == MODE_PASSTHROUGH) &&
		    !slot_is_needed(c, slot, cb->block))
			return map_read_passthrough(c, bio, slot);
		if (slot == SLOT_NONE)
			return map_read_miss(c, bio, cb);

		switch (pin_for_read(c, bio, cb, slot)) {
		case HIT_RETRY:
			continue;
		case HIT_PARKED:
			return DM_MAPIO_SUBMITTED;
		case HIT_ORIGIN:
			if (unlikely(READ_ONCE(c->log))) {
				answer = read_log_in_transit(c, bio, cb, worker);
				if (answer == LOG_LOOK_AGAIN)
					continue;
				if (answer != LOG_PASSES)
					return map_to_log(answer);
			}
			return map_read_transit(c, bio, cb);
		case HIT_PINNED:
		case HIT_NO_INTENT:
			break;
		}
		cb->slot = slot;
		cb->kind = BIO_PINNED_READ;
		tell_hit(c, bio, cb, CACHE_OP_READ);
		cache_remap_fast(c, bio, slot, cb->block);
		return DM_MAPIO_REMAPPED;
	}
}

/* ---- Writes that hit ---- */

/* The intent is durable and the slot is pinned for writing. */
static inline int issue_write(struct cache *c, struct bio *bio,
			      struct cache_bio *cb)
{
	cache_stat_add(c, STAT_CACHE_SECTORS_WRITTEN, bio_sectors(bio));
	if (!cache_keeps_dirty(c))
		return cache_issue_both(c, bio, cb);

	cb->kind = BIO_PINNED_WRITE;
	cache_remap_fast(c, bio, cb->slot, cb->block);
	return DM_MAPIO_REMAPPED;
}

/*
 * Will a write make a slot with this word dirty?  Here the slot is counted, and
 * then the mode is looked at.  Only after that does the slot become dirty, so
 * stop_dirtying() sees the count of every dirty slot.
 */
static bool count_dirty(struct cache *c, u32 word)
{
	if ((word & SLOT_DIRTY) || !cache_keeps_dirty(c))
		return false;
	atomic_inc(&c->nr.dirty);
	/* Pairs with the barrier of stop_dirtying(). */
	smp_mb__after_atomic();
	if (cache_keeps_dirty(c))
		return true;
	atomic_dec(&c->nr.dirty);
	return false;
}

/* If no block depends on the cache any more, the origin takes the write. */
static void intent_refused(struct cache *c, struct bio *bio,
			   struct cache_bio *cb)
{
	cache_unpin_writer(c, cb);
	cb->kind = BIO_PLAIN;
	if (READ_ONCE(c->state.health) == HEALTH_READ_ONLY)
		bio_io_error(bio);
	else
		cache_defer_bio(c, bio, STEP_MAP);
}

static void intent_done(struct cache *c, struct commit_op *op, int error)
{
	struct cache_bio *cb = container_of(op, struct cache_bio, op);
	struct bio *bio = cache_bio_bio(cb);
	struct slot *s = slot_at(&c->map, cb->slot);
	u32 old = slot_word(s), marks;
	bool counted;

	/*
	 * In passthrough, the slot was pinned before the cache device was given up.
	 * It may have several writers, whose copies could reach the two devices in
	 * different orders.
	 */
	if (error || READ_ONCE(c->state.mode) == MODE_PASSTHROUGH) {
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
		atomic_inc(&c->nr.intents);
	/* Another write has made it dirty meanwhile. */
	if (counted && (old & SLOT_DIRTY))
		atomic_dec(&c->nr.dirty);
	if (cache_lacks_units(cb, old | marks)) {
		cache_unpin_writer(c, cb);
		cb->kind = BIO_PLAIN;
		cache_defer_bio(c, bio, STEP_MAP);
		return;
	}
	cache_defer_bio(c, bio, STEP_ISSUE_WRITE);
}

/* I2: the write is issued once its intent is durable. */
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

/*
 * I2: if the slot has no SLOT_INTENT, it is pinned, but the write has to wait
 * (HIT_NO_INTENT).
 */
static enum hit_result pin_for_write(struct cache *c, struct bio *bio,
				     struct cache_bio *cb, u32 slot, u32 word)
{
	enum dm_cache_mode mode = READ_ONCE(c->state.mode);
	struct slot *s = slot_at(&c->map, slot);
	u32 new = (word + SLOT_PIN + SLOT_WRITER) | SLOT_TOUCHED |
		  cache_bio_parts(c, bio, cb->block);
	bool counted = false;

	/*
	 * A slot with as many pins as it can have is closed, too.  Each writer has
	 * a pin, so the count of writers cannot overflow.
	 */
	if (unlikely(slot_is_closed(word)) && is_shut_out(c, cb, slot, word))
		return cache_park_on_slot(c, bio, slot, word);
	cb->slot = slot;
	cb->units = 0;
	if (unlikely(!cache_mode_keeps_dirty(mode))) {
		enum hit_result r;

		/*
		 * The write yields before it pins, because a slot with a writer
		 * could not go home.
		 */
		if (cache_yields(c, bio))
			return HIT_PARKED;
		r = cache_claim_both(c, bio, cb, word, mode);
		if (r != HIT_PINNED)
			return r;
	}

	if (unlikely(!(word & SLOT_DIRTY)) && (word & SLOT_INTENT)) {
		counted = count_dirty(c, word);
		if (unlikely(!counted) && cache_lacks_units(cb, word))
			return HIT_RETRY;
	}
	if (unlikely(counted))
		new |= SLOT_DIRTY | SLOT_UNWRITTEN;
	if (!slot_try_change(s, &word, new)) {
		if (counted)
			atomic_dec(&c->nr.dirty);
		cache_give_units(c, cb);
		return HIT_RETRY;
	}
	/*
	 * If the slot is another block's by now, that block was marked dirty
	 * in vain.  Its intent was durable, so nothing is wrong with that.
	 */
	if (unlikely(slot_block(s) != cb->block)) {
		cache_unpin_writer(c, cb);
		return HIT_RETRY;
	}
	return word & SLOT_INTENT ? HIT_PINNED : HIT_NO_INTENT;
}

/* ---- Writes that miss ---- */

/*
 * A write of a whole block would be its own promotion, and wait for a commit.  The
 * log spares it that.
 */
static noinline bool absorbs_whole(struct cache *c, struct bio *bio,
				   struct cache_bio *cb)
{
	return unlikely(READ_ONCE(c->log)) && cache_bio_covers_block(c, bio) &&
	       cache_log_write_whole(c, bio, cb);
}

/* Returns -EAGAIN if the slot is to be looked for again. */
static int map_write_miss(struct cache *c, struct bio *bio,
			  struct cache_bio *cb)
{
	if (unlikely(READ_ONCE(c->log))) {
		enum log_answer answer = cache_log_write(c, bio, cb);

		if (answer != LOG_PASSES)
			return map_to_log(answer);
	}
	if (cb->verdict == NR_CACHE_VERDICTS) {
		cache_admit_miss(c, bio, cb);
		if (cache_wants_promotion(cb) && cache_keeps_dirty(c)) {
			if (absorbs_whole(c, bio, cb))
				return DM_MAPIO_REMAPPED;
			cache_defer_bio(c, bio, STEP_PROMOTE);
			return DM_MAPIO_SUBMITTED;
		}
	}

	if (cache_yields(c, bio))
		return DM_MAPIO_SUBMITTED;
	if (!cache_gate_enter(c, cb))
		return -EAGAIN;

	/* Written to the origin now, and promoted from there afterwards. */
	if (cache_wants_promotion(cb) && !cb->fill)
		cb->fill = cache_fill_reserve(c, cb->block, cb->verdict);
	cache_user_at_origin(c);
	cache_remap_origin(c, bio);
	return DM_MAPIO_REMAPPED;
}

/*
 * I1: the origin is to have the write, which makes the slot outdated, so the
 * block leaves the cache first.
 */
static enum hit_result write_past_slot(struct cache *c, struct bio *bio,
				       u32 slot, u32 word, bool worker)
{
	switch (READ_ONCE(c->state.health)) {
	case HEALTH_GOOD:
		break;
	case HEALTH_HOLDING:
		cache_hold_bio(c, bio, STEP_MAP);
		return HIT_PARKED;
	case HEALTH_READ_ONLY:
		bio_io_error(bio);
		return HIT_PARKED;
	case HEALTH_BYPASS:
		return HIT_RETRY;
	}
	if (!worker) {
		cache_defer_bio(c, bio, STEP_MAP);
		return HIT_PARKED;
	}
	if (cache_begin_unmap(c, slot, cache_bio(bio)->block, false,
			      CACHE_REMOVED_INVALID))
		return HIT_RETRY;
	if (cache_kept(c, word) || cache_log_is_stuck(c, cache_bio(bio)->block)) {
		bio_io_error(bio);
		return HIT_PARKED;
	}
	return slot_is_busy(word) ? cache_park_on_slot(c, bio, slot, word) :
				    HIT_RETRY;
}

/* Pin a slot that held the bio's block when it was found, if the write may use it. */
static __always_inline enum hit_result look_at_slot(struct cache *c,
						    struct bio *bio,
						    struct cache_bio *cb,
						    u32 slot, bool worker)
{
	u32 word = slot_word(slot_at(&c->map, slot));

	switch (slot_state(word)) {
	case SLOT_VALID:
	case SLOT_WRITEBACK:
		break;
	case SLOT_FILLING:
	case SLOT_EVICTING:
		return cache_park_on_slot(c, bio, slot, word);
	case SLOT_FREE:
	case SLOT_LENT:
	case SLOT_RETIRED:
		cpu_relax();
		return HIT_RETRY;
	}

	if (unlikely(READ_ONCE(c->state.mode) == MODE_PASSTHROUGH) &&
	    !cache_kept(c, word))
		return cache_bypassed(c) ? HIT_ORIGIN :
			write_past_slot(c, bio, slot, word, worker);

	if (unlikely(cache_over_dirty_limit(c, word))) {
		cache_kick_writeback(c);
		return write_past_slot(c, bio, slot, word, worker);
	}
	return pin_for_write(c, bio, cb, slot, word);
}

static int map_write(struct cache *c, struct bio *bio, struct cache_bio *cb,
		     bool worker)
{
	enum hit_result hit;
	u32 slot;
	int r;

	cb->kind = BIO_ORIGIN_WRITE;
	for (;;) {
		slot = slot_map_find(&c->map, cb->block);
		if (slot == SLOT_NONE) {
			r = map_write_miss(c, bio, cb);
			if (r == -EAGAIN)
				continue;
			return r;
		}
		hit = look_at_slot(c, bio, cb, slot, worker);
		switch (hit) {
		case HIT_RETRY:
			continue;
		case HIT_PARKED:
			return DM_MAPIO_SUBMITTED;
		case HIT_ORIGIN:
			cache_remap_origin(c, bio);
			return DM_MAPIO_REMAPPED;
		case HIT_PINNED:
		case HIT_NO_INTENT:
			break;
		}
		tell_hit(c, bio, cb, CACHE_OP_WRITE);
		return likely(hit == HIT_PINNED) ?
			issue_write(c, bio, cb) : wait_for_intent(c, bio, cb);
	}
}

/* ---- Flushes ---- */

/*
 * Nothing acknowledged depends on metadata that is not durable yet, so a flush is a
 * flush of both devices, and of the write log if that has something to record.  A
 * device that has nothing to flush gets none.  Device-mapper sends one bio for each
 * device.  Not inline, because then hits would have to save the registers that it needs.
 */
static noinline int map_flush(struct cache *c, struct bio *bio)
{
	bool fast = dm_bio_get_target_bio_nr(bio);
	enum log_answer answer = LOG_PASSES;

	cache_bio(bio)->kind = BIO_FLUSH;
	cache_bio(bio)->block = CACHE_BLOCK_FLUSH;
	cache_bio(bio)->began = ktime_get_ns();
	if (fast && unlikely(cache_bypassed(c))) {
		cache_end_needless(bio);
		return DM_MAPIO_SUBMITTED;
	}
	if (fast && unlikely(READ_ONCE(c->log)))
		answer = cache_log_flush(c, bio);
	if (answer != LOG_PASSES)
		return map_to_log(answer);
	if (cache_point_flush(c, bio, fast))
		return DM_MAPIO_REMAPPED;
	cache_end_needless(bio);
	return DM_MAPIO_SUBMITTED;
}

/* ---- Mapping ---- */

static int map_data(struct cache *c, struct bio *bio, struct cache_bio *cb,
		    bool worker)
{
	if (bio_data_dir(bio) == WRITE)
		return map_write(c, bio, cb, worker);
	return map_read(c, bio, cb, worker);
}

int cache_map_bio(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);

	cb->kind = BIO_PLAIN;
	if (unlikely(!bio_sectors(bio) && (bio->bi_opf & REQ_PREFLUSH))) {
		cb->turn = false;
		return map_flush(c, bio);
	}

	if (unlikely(bio_op(bio) == REQ_OP_DISCARD)) {
		cb->turn = false;
		cb->discard.registered = false;
		cb->waited = false;
		cb->block = CACHE_BLOCK_UNTIMED;
		cache_defer_bio(c, bio, STEP_DISCARD);
		return DM_MAPIO_SUBMITTED;
	}

	cb->iter = bio->bi_iter;
	cb->block = cache_block_of(c, bio->bi_iter.bi_sector);
	cb->verdict = NR_CACHE_VERDICTS;
	cb->step = STEP_MAP;
	cb->logged_io = false;
	cb->shun = false;
	cb->turn = false;
	cb->yielded = false;
	cb->waited = false;
	cb->fill = NULL;
	if (unlikely(cb->block >= c->geo.origin_blocks)) {
		cb->block = CACHE_BLOCK_UNTIMED;
		if (op_is_write(bio_op(bio)))
			cb->kind = BIO_ORIGIN_WRITE;
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
	if (cache_promote_bio(c, bio))
		return;
	cb->verdict = CACHE_BYPASS_LIMIT;
	cb->step = STEP_MAP;
	submit_if_mapped(bio, map_data(c, bio, cb, true));
}

static void leave_then_write(struct cache *c, struct bio *bio,
			     struct cache_bio *cb)
{
	if (!cache_leave_block(c, bio, cb))
		return;
	cb->step = STEP_MAP;
	submit_if_mapped(bio, map_data(c, bio, cb, true));
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
		if (!cache_drop_block(c, bio, cb, true))
			return;
		cache_remap_origin(c, bio);
		submit_bio_noacct(bio);
		return;
	case STEP_DROP_THEN_END:
		cache_drop_then_end(c, bio, cb);
		return;
	case STEP_LEAVE_THEN_WRITE:
		leave_then_write(c, bio, cb);
		return;
	case STEP_DISCARD:
		cache_process_discard(c, bio, cb);
		return;
	case STEP_END_FLUSH:
		cache_end_held_flush(c, bio);
		return;
	}
}

/* The bio has waited for room in the write log. */
static noinline void process_in_turn(struct cache *c, struct bio *bio)
{
	cache_log_begin_turn(c->log, bio);
	process_bio(c, bio);
	cache_log_end_turn(c->log);
}

void cache_deferred_work(struct work_struct *work)
{
	struct cache *c = container_of(work, struct cache, wait.deferred_work);
	struct blk_plug plug;
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&c->wait.deferred_lock);
	bios = c->wait.deferred;
	bio_list_init(&c->wait.deferred);
	spin_unlock_irq(&c->wait.deferred_lock);

	blk_start_plug(&plug);
	while ((bio = bio_list_pop(&bios))) {
		cache_begin_grant(c, cache_bio(bio));
		if (unlikely(cache_bio(bio)->turn))
			process_in_turn(c, bio);
		else
			process_bio(c, bio);
		cache_end_grant(c);
	}
	blk_finish_plug(&plug);
}

/* ---- Completion.  Any context ---- */

static int end_read(struct cache *c, struct bio *bio, struct cache_bio *cb,
		    blk_status_t *error)
{
	u32 word = slot_word(slot_at(&c->map, cb->slot));

	cb->kind = BIO_PLAIN;
	cache_unpin(c, cb->slot, SLOT_PIN);
	if (likely(!*error))
		return DM_ENDIO_DONE;
	return cache_read_elsewhere(c, bio, word, error);
}

static int end_write(struct cache *c, struct bio *bio, struct cache_bio *cb,
		     blk_status_t *error)
{
	cb->kind = BIO_PLAIN;
	if (likely(!*error))
		cache_wrote_slot(c, cb->slot);
	/*
	 * No units to give back: only writes to both devices take them, and the mode
	 * cannot become one that keeps dirty blocks with a bio in flight.
	 */
	cache_unpin(c, cb->slot, SLOT_PIN | SLOT_WRITER);
	/* The unpin is a full barrier. */
	cache_note_hit(&c->flushes.fast, bio);
	return likely(!*error) ? DM_ENDIO_DONE :
				 cache_write_elsewhere(c, bio, error);
}

/* The histogram that this bio counts in. */
static enum cache_latency latency_of(struct bio *bio, const struct cache_bio *cb)
{
	bool miss = cb->verdict != NR_CACHE_VERDICTS;

	if (cb->block == CACHE_BLOCK_FLUSH)
		return dm_bio_get_target_bio_nr(bio) ?
			CACHE_LATENCY_CACHE_FLUSHES :
			CACHE_LATENCY_ORIGIN_FLUSHES;
	if (op_is_write(bio_op(bio))) {
		if (cb->logged_io)
			return CACHE_LATENCY_ABSORBED;
		return miss ? CACHE_LATENCY_WRITE_MISSES :
			      CACHE_LATENCY_WRITE_HITS;
	}
	/* The log is on the cache device. */
	return miss && !cb->logged_io ? CACHE_LATENCY_READ_MISSES :
					CACHE_LATENCY_READ_HITS;
}

static noinline void count_time(struct cache *c, struct bio *bio,
				const struct cache_bio *cb)
{
	enum cache_latency kind = latency_of(bio, cb);
	u64 ns = ktime_get_ns() - cb->began;

	BUILD_BUG_ON(STAT_READ_HITS_NS - STAT_TIMED_READ_HITS !=
		     NR_CACHE_LATENCIES);
	/* In passthrough the origin serves hits, too. */
	if (READ_ONCE(c->state.mode) == MODE_PASSTHROUGH)
		return;
	cache_stat_inc(c, STAT_TIMED_READ_HITS + kind);
	cache_stat_add(c, STAT_READ_HITS_NS + kind, ns);
	this_cpu_inc(c->stats->latency[kind][cache_latency_bucket(ns)]);
}

static inline int end_bio(struct cache *c, struct bio *bio,
			  struct cache_bio *cb, blk_status_t *error)
{
	switch (cb->kind) {
	case BIO_PLAIN:
		return DM_ENDIO_DONE;
	case BIO_PINNED_READ:
		return end_read(c, bio, cb, error);
	case BIO_PINNED_WRITE:
		return end_write(c, bio, cb, error);
	default:
		return cache_end_no_hit(c, bio, cb, error);
	}
}

int cache_end_bio(struct cache *c, struct bio *bio, blk_status_t *error)
{
	struct cache_bio *cb = cache_bio(bio);
	int r = end_bio(c, bio, cb, error);

	/* A bio that has not ended may have another owner already. */
	if (likely(r == DM_ENDIO_DONE) && unlikely(cache_bio_is_timed(cb)))
		count_time(c, bio, cb);
	return r;
}
