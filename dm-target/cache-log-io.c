// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paths of bios into the write log, and out of it.
 *
 * It owns the rules by which a write is absorbed or waits, and by which a read finds
 * its pieces (W8, W13, W14).  It must not know how records become durable, nor where
 * extents go later.
 */
#include "cache-admit.h"
#include "cache-bio.h"
#include "cache-log-io.h"
#include "cache-log-pace.h"
#include "cache-log.h"
#include "cache-writeback.h"

/*
 * A write of 32 KiB or more is large.  The disk takes streams of large writes
 * without seeks, and they would use the log up.  So a large write is absorbed only
 * while slots are free.  Not chosen by measurement.
 */
#define LARGE_SECTORS	64U
/*
 * While writes are paced, a stream of small writes counts as large once it is so long and so
 * many requests wait for room or are at the origin.  A shorter stream may be a request that
 * the kernel has cut up.  Behind fewer requests, a program that waits for each of its writes
 * may have them sooner from the log than from the disk.  Neither was chosen by measurement.
 */
#define STREAM_SECTORS	2048U
#define QUEUE_MIN	64U
/*
 * If more writes than this wait to be recorded, a batch of the ring is written
 * without any flush from a user.  Their memory, and the room in the ring that is
 * kept for them, come back only then.  A batch for 2,048 takes nine blocks of the
 * ring.  Not chosen by measurement.
 */
#define UNLOGGED_MAX	2048

/* ---- Writes ---- */

/*
 * W1, W13: may anything be absorbed now?  Asked again after the write was counted
 * in.  The worker that changes the answer to no looks at the count after that.
 */
static inline bool may_absorb(struct cache_log *log)
{
	struct cache *c = log->c;

	return READ_ONCE(log->life.state) == CACHE_LOG_ON &&
	       !READ_ONCE(log->life.failed) && cache_keeps_dirty(c) &&
	       cache_writable(c) && !READ_ONCE(c->degrade.fast_dead) &&
	       !cache_flush_failed(c);
}

/*
 * The number for the end of a write in a table of ends: the sector, and from bit 40 on the
 * number of flushes so far.  So no write goes on with one that a flush has ended, because a
 * program that flushes waits for each of its writes.  Ends behind 512 TiB share that space,
 * which costs precision only.
 */
static u64 end_number(struct cache_log *log, u64 sector)
{
	return sector ^ (u64)READ_ONCE(log->io.nr_flushes) << 40;
}

static u64 *large_entry(struct cache_log *log, u64 end)
{
	return &log->io.large_ends[hash_64(end, ilog2(LOG_NR_LARGE))];
}

/*
 * Is the write large, or does it follow a large one?  A large write that is not aligned
 * to blocks comes as several, of which the last may be small.
 */
static bool is_of_large(struct cache_log *log, struct bio *bio)
{
	u64 begin = end_number(log, bio->bi_iter.bi_sector), end;

	if (bio_sectors(bio) < LARGE_SECTORS &&
	    READ_ONCE(*large_entry(log, begin)) != begin)
		return false;
	end = end_number(log, bio_end_sector(bio));
	WRITE_ONCE(*large_entry(log, end), end);
	return true;
}

static u64 *stream_entry(struct cache_log *log, u64 end)
{
	return &log->io.stream_ends[hash_64(end, ilog2(LOG_NR_STREAMS))];
}

/*
 * Add the write to the stream that it continues.  Returns the stream's sectors, U16_MAX at
 * most.  An entry is the number of an end, and below it these sectors in 16 bits.  The
 * streams of cache-stream.h will not do, because they count a write only after its wait,
 * and a flush does not end them.
 */
static u32 count_stream(struct cache_log *log, struct bio *bio)
{
	u64 begin = end_number(log, bio->bi_iter.bi_sector) << 16;
	u64 end = end_number(log, bio_end_sector(bio)) << 16;
	u64 entry = READ_ONCE(*stream_entry(log, begin));
	u32 sectors = bio_sectors(bio);

	if ((entry & ~(u64)U16_MAX) == begin)
		sectors += entry & U16_MAX;
	sectors = min_t(u32, sectors, U16_MAX);
	WRITE_ONCE(*stream_entry(log, end), end | sectors);
	return sectors;
}

/*
 * Does the write belong to a long stream, in a queue in which it would wait longer than
 * for the disk?  The disk takes the stream without seeks, and through the log it would be
 * written twice.  A write that has a turn has waited already.
 */
static bool is_of_queued_stream(struct cache_log *log, struct bio *bio)
{
	if (likely(!READ_ONCE(log->pace.is_on)) || bio->bi_opf & REQ_FUA ||
	    READ_ONCE(log->pace.turn) == bio)
		return false;
	return count_stream(log, bio) >= STREAM_SECTORS &&
	       READ_ONCE(log->pace.nr_room) + cache_users_at_origin(log->c) >= QUEUE_MIN;
}

static bool is_large(struct cache_log *log, struct bio *bio)
{
	return is_of_large(log, bio) || is_of_queued_stream(log, bio);
}

/* May this write be absorbed?  The cache device may have refused it before. */
static bool may_absorb_bio(struct cache_log *log, const struct cache_bio *cb)
{
	return may_absorb(log) && !cb->shun;
}

/*
 * Is it worth while to absorb a write to a block that has nothing in the log?  A
 * write of a whole block is left to its promotion, which the log takes, too, but
 * which has a budget.
 */
static bool is_wanted(struct cache_log *log, struct bio *bio,
		      struct cache_bio *cb)
{
	if (!may_absorb_bio(log, cb))
		return false;
	return !is_large(log, bio) ||
	       (!cache_bio_covers_block(log->c, bio) && cache_log_has_spare(log));
}

enum absorbed {
	ABSORBED,
	FOUND_SLOT,		/* look again */
	NO_ROOM,		/* later there may be */
	NOT_NOW,		/* the block has to leave first, or is about to */
};

static enum absorbed refused(int error)
{
	return error == -EBUSY ? NOT_NOW : NO_ROOM;
}

static void cancel(struct cache_log *log, struct log_write *w)
{
	log_index_cancel(&log->ix, w);
	atomic_dec(&log->room.in_flight);
}

/*
 * Count the write in, then look.  A worker, or a promotion, first makes its change
 * known, and then looks at the count.
 */
static enum absorbed look_again(struct cache_log *log, struct log_write *w)
{
	atomic_inc(&log->room.in_flight);
	/* Pairs with cache_gate_publish(), and with the worker's barriers. */
	smp_mb();
	if (slot_map_find(&log->c->map, w->run.block) != SLOT_NONE)
		return FOUND_SLOT;
	/*
	 * Asked before room is taken, because the worker may have turned the log off, and a
	 * slot that is lent now could become a part of the next ring.
	 */
	if (!may_absorb(log))
		return NOT_NOW;
	if (!log_ring_admits(&log->ring) || !cache_log_take_room(log, w))
		return NO_ROOM;
	/* stop_dirtying() sees the segment, or the mode is seen here. */
	smp_mb();
	return may_absorb(log) ? ABSORBED : NOT_NOW;
}

/* With ABSORBED, cb->logged.write is the write that was counted in. */
static enum absorbed count_in(struct cache_log *log, struct bio *bio,
			      struct cache_bio *cb)
{
	struct cache *c = log->c;
	u32 sector = bio->bi_iter.bi_sector - cache_block_start(c, cb->block);
	enum absorbed r;
	struct log_write *w;

	if (cache_log_may_have_to_wait(&log->pace) && cache_log_must_wait(log, bio))
		return NO_ROOM;
	w = log_index_reserve(&log->ix, cb->block, sector, bio_sectors(bio), true);
	if (IS_ERR(w))
		return refused(PTR_ERR(w));
	r = look_again(log, w);
	if (r == ABSORBED)
		cb->logged.write = w;
	else
		cancel(log, w);
	return r;
}

/* Does the policy's wish to have the block stand, for which the log has @kept? */
static bool is_settled(struct cache_log *log, enum log_keep kept)
{
	const struct slot_map *map = &log->c->map;

	return kept && READ_ONCE(map->nr_free) > map->nr_slots / CACHE_SETTLED_SHARE;
}

/*
 * A block that the policy wants goes into the cache later, instead of home.  If
 * slots were free, that may be the only reason why the policy wanted it.  Then a
 * write alone does not have the rest of its block copied to the cache device,
 * because 4 KiB of a user would cost 64 KiB more.
 *
 * @kept: what an earlier write to the block has led to; LOG_KEEP_NOT for a read.
 */
static enum log_keep keeps(struct cache_log *log, struct bio *bio,
			   struct cache_bio *cb, enum log_keep kept)
{
	if (cb->verdict != NR_CACHE_VERDICTS)
		return LOG_KEEP_NOT;
	if (is_settled(log, kept)) {
		cache_admit_wanted(log->c, bio, cb);
		return kept;
	}
	cache_admit_logged(log->c, bio, cb);
	if (!cache_wants_promotion(cb))
		return LOG_KEEP_NOT;
	if (!cache_met_free_slots(cb))
		return LOG_KEEP;
	return cb->io.op == CACHE_OP_WRITE ? LOG_KEEP_IF_COVERED : LOG_KEEP_IF_FREE;
}

/* Are so few writes not recorded, with those in flight, that each may have FUA? */
static bool has_few(struct cache_log *log)
{
	return atomic64_read(&log->ix.nr_unlogged) <= LOG_FUA_WRITES;
}

/*
 * Is this write to be durable when it ends, so that its ring block needs no flush (W2)?
 * @alone: is it the only write of a single writer that flushes after each?
 */
static bool needs_fua(struct cache_log *log, struct bio *bio, bool alone)
{
	struct block_device *fast = log->c->dev.fast;

	if (!alone && !(bio->bi_opf & REQ_FUA && has_few(log)))
		return false;
	/* Without a write cache the block layer strips FUA. */
	return bdev_write_cache(fast) && bdev_fua(fast);
}

static void issue(struct cache_log *log, struct bio *bio, struct cache_bio *cb)
{
	bool alone = READ_ONCE(log->recorder.has_pairs) && has_few(log);
	struct log_write *w = cb->logged.write;
	struct cache *c = log->c;

	w->keep = keeps(log, bio, cb, w->keep);
	cache_stat_inc(c, STAT_LOG_WRITES);
	cache_stat_add(c, STAT_CACHE_SECTORS_WRITTEN, bio_sectors(bio));
	cb->kind = BIO_ABSORBED;
	cb->logged.fua = bio->bi_opf & REQ_FUA;
	w->durable = needs_fua(log, bio, alone);
	cb->logged.alone = alone && !cb->logged.fua &&
			   (w->durable || !bdev_write_cache(c->dev.fast));
	if (w->durable)
		bio->bi_opf |= REQ_FUA;
	else
		bio->bi_opf &= ~REQ_FUA;
	bio->bi_iter.bi_sector = cache_block_start(c, w->run.slot) + w->run.at;
	bio_set_dev(bio, c->dev.fast);
}

static void wait_until(struct cache_log *log, struct bio *bio, enum absorbed why)
{
	if (why == NO_ROOM)
		cache_log_wait_for_room(log, bio);
	else
		cache_log_wait_to_leave(log, bio);
}

/*
 * A block that has extents takes every later write, because the origin alone must not
 * be written (W6).  If that is not possible, the write waits.
 */
enum log_answer cache_log_write(struct cache *c, struct bio *bio,
				struct cache_bio *cb)
{
	struct cache_log *log = c->log;
	enum absorbed absorbed;
	bool wanted;

	if (!cache_log_counts(log))
		return LOG_PASSES;
	wanted = is_wanted(log, bio, cb);
	if (!wanted && !cache_log_has_block(log, cb->block))
		return LOG_PASSES;
	absorbed = wanted || may_absorb_bio(log, cb) ?
		   count_in(log, bio, cb) : NOT_NOW;
	switch (absorbed) {
	case ABSORBED:
		issue(log, bio, cb);
		return LOG_POINTED;
	case FOUND_SLOT:
		return LOG_PASSES;
	case NO_ROOM:
	case NOT_NOW:
		break;
	}
	if (cache_log_has_block(log, cb->block) ||
	    (absorbed == NO_ROOM && READ_ONCE(log->pace.is_on))) {
		wait_until(log, bio, absorbed);
		return LOG_TAKEN;
	}
	/* The write goes to the origin; the next one may find room. */
	if (absorbed == NO_ROOM)
		cache_log_kick(log);
	return LOG_PASSES;
}

bool cache_log_write_whole(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	struct cache_log *log = c->log;

	if (!may_absorb_bio(log, cb) || count_in(log, bio, cb) != ABSORBED)
		return false;
	issue(log, bio, cb);
	cb->logged.write->keep = LOG_KEEP;
	return true;
}

/* The submitter of a bio with REQ_NOWAIT tries again, and waits then. */
static bool must_not_wait(struct bio *bio, blk_status_t *error)
{
	if (!(bio->bi_opf & REQ_NOWAIT) ||
	    (*error != BLK_STS_AGAIN && *error != BLK_STS_NOTSUPP))
		return false;
	*error = BLK_STS_AGAIN;
	return true;
}

/*
 * W8: readers have not seen the write.  It goes to the origin when its block has
 * left the log.
 */
static int end_failed_write(struct cache *c, struct bio *bio,
			    struct cache_bio *cb, blk_status_t *error)
{
	cancel(c->log, cb->logged.write);
	if (must_not_wait(bio, error))
		return DM_ENDIO_DONE;
	cache_fast_error(c, STAT_CACHE_WRITE_ERRORS);
	cache_rewind_bio(bio);
	cb->shun = true;
	cache_defer_bio(c, bio, STEP_MAP);
	return DM_ENDIO_INCOMPLETE;
}

int cache_log_end_write(struct cache *c, struct bio *bio, struct cache_bio *cb,
			blk_status_t *error)
{
	struct cache_log *log = c->log;

	if (unlikely(*error))
		return end_failed_write(c, bio, cb, error);
	/* Readers find the write before its bio ends (W8). */
	log_index_seen(&log->ix, cb->logged.write);
	cb->logged_io = true;
	/*
	 * The write is seen before it counts as ended, because
	 * cache_log_save_failed() looks at both.
	 */
	smp_mb__before_atomic();
	atomic_dec(&log->room.in_flight);
	if (cb->logged.fua) {
		cb->kind = BIO_LOGGED;
		cache_log_add_flush(log, bio);
		return DM_ENDIO_INCOMPLETE;
	}
	cache_log_wrote(log, cb->logged.alone);
	if (atomic64_read(&log->ix.nr_unlogged) > UNLOGGED_MAX)
		queue_work(log->recorder.wq, &log->recorder.work);
	return DM_ENDIO_DONE;
}

/* ---- Reads ---- */

static void piece_ended(struct bio *bio)
{
	struct log_piece *piece = container_of(bio, struct log_piece, bio);
	struct bio *whole = piece->whole;

	if (bio->bi_status && !whole->bi_status)
		whole->bi_status = bio->bi_status;
	if (piece->slot != SLOT_NONE)
		cache_unpin(piece->c, piece->slot, SLOT_PIN);
	bio_put(bio);
	bio_endio(whole);
}

static void send_to(struct cache *c, struct bio *bio, const struct log_run *run)
{
	if (run->slot == LOG_NO_SLOT) {
		cache_remap_origin(c, bio);
		return;
	}
	bio->bi_iter.bi_sector = cache_block_start(c, run->slot) + run->at;
	bio_set_dev(bio, c->dev.fast);
}

/* The first sectors of the bio, as far as @run goes, are read by a bio of their own. */
static bool split_off(struct cache_log *log, struct bio *bio,
		      const struct log_run *run)
{
	struct bio *part = bio_split(bio, run->sectors, GFP_NOIO, &log->io.pieces);
	struct log_piece *piece;

	if (IS_ERR_OR_NULL(part))
		return false;
	piece = container_of(part, struct log_piece, bio);
	piece->c = log->c;
	piece->whole = bio;
	piece->slot = run->slot == LOG_NO_SLOT ? SLOT_NONE : run->slot;
	part->bi_end_io = piece_ended;
	bio_inc_remaining(bio);
	send_to(log->c, part, run);
	submit_bio_noacct(part);
	return true;
}

static void unpin_run(struct cache_log *log, const struct log_run *run)
{
	if (run->slot != LOG_NO_SLOT)
		cache_unpin(log->c, run->slot, SLOT_PIN);
}

static void find_run(struct cache_log *log, struct bio *bio, u64 block,
		     struct log_run *run)
{
	log_index_lookup(&log->ix, block,
			 bio->bi_iter.bi_sector -
			 cache_block_start(log->c, block), bio_sectors(bio), run);
}

/*
 * Does a slot serve the block, so that the origin must not?  The log had nothing of the
 * bio's first sectors, but the block may have come into the cache before the log was
 * looked at (W14).
 */
static bool is_in_slot(struct cache *c, u64 block)
{
	u32 word;

	/* The slot is looked for after the log was. */
	smp_rmb();
	return slot_map_find_own(&c->map, block, &word) != SLOT_NONE &&
	       slot_state(word) != SLOT_FILLING &&
	       slot_state(word) != SLOT_EVICTING;
}

/* @run is all that is left of the bio. */
static enum log_answer serve_last(struct cache_log *log, struct bio *bio,
				  struct cache_bio *cb,
				  const struct log_run *run)
{
	struct cache *c = log->c;
	enum log_keep keep;

	if (run->slot == LOG_NO_SLOT)
		return LOG_PASSES;
	keep = keeps(log, bio, cb, LOG_KEEP_NOT);
	if (keep)
		log_index_keep(&log->ix, cb->block, keep);
	cache_stat_inc(c, STAT_LOG_READS);
	cb->kind = BIO_LOG_READ;
	cb->logged_io = true;
	cb->slot = run->slot;
	send_to(c, bio, run);
	return LOG_POINTED;
}

enum log_answer cache_log_read(struct cache *c, struct bio *bio,
			       struct cache_bio *cb, bool worker)
{
	struct cache_log *log = c->log;
	struct log_run run;

	if (log_index_empty(&log->ix) || !cache_log_counts(log))
		return LOG_PASSES;
	for (;;) {
		find_run(log, bio, cb->block, &run);
		if (run.sectors == bio_sectors(bio))
			return serve_last(log, bio, cb, &run);
		if (!worker) {
			/* The rest comes as a bio of its own. */
			dm_accept_partial_bio(bio, run.sectors);
			cb->iter = bio->bi_iter;
			return serve_last(log, bio, cb, &run);
		}
		if (run.slot == LOG_NO_SLOT && is_in_slot(c, cb->block))
			return LOG_PASSES;
		if (!split_off(log, bio, &run)) {
			unpin_run(log, &run);
			bio_io_error(bio);
			return LOG_TAKEN;
		}
	}
}

void cache_log_end_read(struct cache *c, struct bio *bio, blk_status_t error)
{
	/* The segment may have become a slot of the cache, on which bios are parked. */
	cache_unpin(c, cache_bio(bio)->slot, SLOT_PIN);
	if (unlikely(error) && !(bio->bi_opf & (REQ_NOWAIT | REQ_RAHEAD)))
		cache_fast_error(c, STAT_CACHE_READ_ERRORS);
}
