// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way back of a bio: a device has ended it, and what it held is given back.
 *
 * It owns which end belongs to which kind of bio, and the histogram that a bio's
 * time counts in.  It must not know why a bio was mapped as it was: cache-io.c
 * decided that.  Everything here runs in any context and never sleeps.
 */
#include "cache-bio.h"
#include "cache-both.h"
#include "cache-bucket.h"
#include "cache-end.h"
#include "cache-failover.h"
#include "cache-fill.h"
#include "cache-log-io.h"

/* ---- Times ---- */

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

/* ---- The end of a hit ---- */

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

/* ---- The end of other bios ---- */

static void end_gated(struct cache *c, struct cache_bio *cb, blk_status_t error)
{
	cache_user_left_origin(c);
	cache_gate_leave(c, cb);
	if (!cb->fill)
		return;
	if (error)
		cache_fill_forget(cb->fill);
	else
		cache_fill_start(cb->fill);
	cb->fill = NULL;
}

static int end_joined_flush(struct cache *c, struct bio *bio, blk_status_t *error)
{
	int r = cache_end_flush(c, bio, error);

	return r == DM_ENDIO_DONE ? cache_log_end_flush(c, bio) : r;
}

/* Not inline, because hits would have to compare their kind with all of these. */
static noinline int end_no_hit(struct cache *c, struct bio *bio,
			       struct cache_bio *cb, blk_status_t *error)
{
	enum bio_kind kind = cb->kind;

	if (kind == BIO_BOTH)
		return cache_end_origin_leg(c, bio, cb, error);

	cb->kind = BIO_PLAIN;
	switch (kind) {
	case BIO_PLAIN:
	case BIO_PINNED_READ:
	case BIO_PINNED_WRITE:
	case BIO_BOTH:
	case BIO_LOGGED:
		break;
	case BIO_ORIGIN_WRITE:
		cache_note_write(&c->flushes.origin, bio);
		break;
	case BIO_ORIGIN_READ:
		cache_user_left_origin(c);
		break;
	case BIO_GATED:
		cache_note_write(&c->flushes.origin, bio);
		end_gated(c, cb, *error);
		break;
	case BIO_OVERWRITE:
		cache_note_write(&c->flushes.fast, bio);
		cache_overwrite_done(c, bio, *error);
		return DM_ENDIO_INCOMPLETE;
	case BIO_DISCARD:
		cache_note_write(&c->flushes.origin, bio);
		cache_gate_leave_discard(c, &cb->discard);
		break;
	case BIO_FLUSH:
		return cache_end_flush(c, bio, error);
	case BIO_JOINED_FLUSH:
		return end_joined_flush(c, bio, error);
	case BIO_SUSPECT:
		atomic_dec(&c->intents.nr_suspects);
		break;
	case BIO_ABSORBED:
		cache_note_write(&c->flushes.fast, bio);
		return cache_log_end_write(c, bio, error);
	case BIO_LOG_READ:
		cache_log_end_read(c, bio, *error);
		break;
	}
	return DM_ENDIO_DONE;
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
		return end_no_hit(c, bio, cb, error);
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
