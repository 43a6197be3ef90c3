// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failing over: what becomes of a bio that its device has refused.
 *
 * A read of a clean block goes to the origin, and the block leaves the cache.
 * A write to a dirty block takes the block home first and then goes to the
 * origin itself, if the block can be read.  It owns the steps of both; the
 * health of the cache as a whole is the business of cache-degrade.c, where the
 * errors are counted.  It must not know why a device fails, nor how the cache is
 * given up.
 */
#include "cache-failover.h"
#include "cache-bio.h"

/* ---- The end of a bio with an error.  Any context ---- */

/*
 * A device that is well may refuse a bio with REQ_NOWAIT.  The bio's submitter
 * tries again, and waits then.  Read-ahead may fail, because no program has asked
 * for it.
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

int cache_read_elsewhere(struct cache *c, struct bio *bio, u32 word,
			 blk_status_t *error)
{
	if (was_refused(bio, error))
		return DM_ENDIO_DONE;

	cache_fast_error(c, STAT_CACHE_READ_ERRORS);
	if ((word & (SLOT_DIRTY | SLOT_UNWRITTEN)) == SLOT_DIRTY)
		return DM_ENDIO_DONE;
	cache_rewind_bio(bio);
	cache_defer_bio(c, bio, STEP_DROP_THEN_READ);
	return DM_ENDIO_INCOMPLETE;
}

/*
 * The write-backs of its block that a bio waits for, at most.  A write to the block
 * during a write-back makes another one necessary.  It has a bound, because other
 * writers could keep the bio waiting for ever.  No measurement of the value is
 * recorded.
 */
#define LEAVE_TRIES	8

int cache_leave_and_write(struct cache *c, struct bio *bio)
{
	cache_fast_error(c, STAT_CACHE_WRITE_ERRORS);
	cache_rewind_bio(bio);
	cache_bio(bio)->tries = LEAVE_TRIES;
	cache_defer_bio(c, bio, STEP_LEAVE_THEN_WRITE);
	return DM_ENDIO_INCOMPLETE;
}

int cache_write_elsewhere(struct cache *c, struct bio *bio,
			  blk_status_t *error)
{
	return was_refused(bio, error) ? DM_ENDIO_DONE :
					 cache_leave_and_write(c, bio);
}

/*
 * A device that once could not flush has lost something, so every later flush
 * fails, too.
 */
int cache_end_flush(struct cache *c, struct bio *bio, blk_status_t *error)
{
	bool fast = dm_bio_get_target_bio_nr(bio);
	bool *failed = fast ? &c->degrade.fast_flush_failed :
			      &c->degrade.origin_flush_failed;

	if (unlikely(*error))
		WRITE_ONCE(*failed, true);
	cache_written_end_flush(cache_flushes_of(&c->flushes, fast),
				cache_bio(bio)->flush_nr, !*error);
	if (likely(!READ_ONCE(*failed)))
		return DM_ENDIO_DONE;

	*error = BLK_STS_IOERR;
	if (!fast)
		return DM_ENDIO_DONE;
	bio->bi_status = BLK_STS_OK;
	cache_hold_bio(c, bio, STEP_END_FLUSH);
	return DM_ENDIO_INCOMPLETE;
}

/* ---- The worker's part: a block leaves the cache.  May sleep ---- */

/*
 * Is the slot dirty only because of writes under way?  Their end decides whether it
 * stays dirty.
 */
static bool is_undecided(u32 word)
{
	return (word & SLOT_UNWRITTEN) && (word & SLOT_WRITER_MASK);
}

/* I1: a writer goes on to the origin only when the unmapping is durable. */
bool cache_drop_block(struct cache *c, struct bio *bio, struct cache_bio *cb,
		      bool reads)
{
	enum cache_health health;
	u32 slot, word;

	for (;;) {
		slot = slot_map_find_own(&c->map, cb->block, &word);
		if (slot == SLOT_NONE)
			return true;
		/*
		 * Pairs with set_health(). In bypass the mapping is void,
		 * whatever the slot says.
		 */
		health = smp_load_acquire(&c->state.health);
		if (health == HEALTH_BYPASS)
			return true;
		if (health == HEALTH_HOLDING && !reads) {
			cache_hold_bio(c, bio, cb->step);
			return false;
		}
		if (reads && (slot_state(word) == SLOT_EVICTING ||
			      slot_state(word) == SLOT_FILLING))
			return true;
		/*
		 * The block stays in the cache, but the origin has the same content
		 * for the reader.
		 */
		if (reads && health != HEALTH_GOOD &&
		    (!(word & SLOT_DIRTY) || !cache_kept(c, word)))
			return true;
		if (is_undecided(word)) {
			if (cache_wait_for_slot(c, slot, word, bio))
				return false;
			continue;
		}
		if (health != HEALTH_GOOD || cache_kept(c, word) ||
		    cache_log_is_stuck(c, cb->block)) {
			bio_io_error(bio);
			return false;
		}
		if (slot_state(word) == SLOT_VALID &&
		    cache_begin_unmap(c, slot, cb->block, false,
				      CACHE_REMOVED_INVALID))
			continue;
		if (slot_is_busy(word) && cache_wait_for_slot(c, slot, word, bio))
			return false;
	}
}

enum leave_result {
	LEAVE_GO,		/* the bio may be mapped again */
	LEAVE_LOOK,		/* look again */
	LEAVE_WAIT,
	LEAVE_NEVER,
};

/* Only refused writes have made the slot dirty, so it becomes clean again. */
static enum leave_result take_dirty_back(struct cache *c, u32 slot, u32 word)
{
	if (slot_state(word) != SLOT_VALID)
		return LEAVE_WAIT;
	if (slot_try_change(slot_at(&c->map, slot), &word,
			    word & ~(SLOT_DIRTY | SLOT_UNWRITTEN)))
		atomic_dec(&c->nr.dirty);
	return LEAVE_LOOK;
}

/*
 * One step on the way out of the cache, for the block of a slot that could not be
 * written.  I3: content that was acknowledged before goes home first, so it has to
 * be read.  If there is no such content, the block is only unmapped.
 */
static enum leave_result leave_slot(struct cache *c, struct cache_bio *cb,
				    u32 slot, u32 word)
{
	if (cache_kept(c, word)) {
		if (slot_state(word) != SLOT_VALID || (word & SLOT_WRITER_MASK))
			return LEAVE_WAIT;
		if (!cb->tries || !cache_may_go_home(c))
			return LEAVE_NEVER;
		/* The first try is made even if its block failed to go home before. */
		if (cb->tries < LEAVE_TRIES &&
		    cache_failed_to_go_home(c, cb->block))
			return LEAVE_NEVER;
		cb->tries--;
		cache_write_home(c, slot);
		return LEAVE_LOOK;
	}
	/* When the bio is mapped again, the cache's health says what becomes of it. */
	if (!cache_writable(c))
		return word & SLOT_UNWRITTEN ? take_dirty_back(c, slot, word) :
					       LEAVE_GO;
	if (cache_begin_unmap(c, slot, cb->block, false, CACHE_REMOVED_INVALID))
		return LEAVE_LOOK;
	return cache_log_is_stuck(c, cb->block) ? LEAVE_NEVER : LEAVE_WAIT;
}

bool cache_leave_block(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	u32 slot, word;

	for (;;) {
		slot = slot_map_find_own(&c->map, cb->block, &word);
		if (slot == SLOT_NONE)
			return true;
		switch (leave_slot(c, cb, slot, word)) {
		case LEAVE_GO:
			return true;
		case LEAVE_LOOK:
			break;
		case LEAVE_WAIT:
			if (slot_is_busy(word) &&
			    cache_wait_for_slot(c, slot, word, bio))
				return false;
			break;
		case LEAVE_NEVER:
			bio_io_error(bio);
			return false;
		}
	}
}

void cache_end_held_flush(struct cache *c, struct bio *bio)
{
	if (!cache_bypassed(c))
		bio->bi_status = BLK_STS_IOERR;
	bio_endio(bio);
}
