/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bio under way: what the engine keeps with it, and how it is sent to a
 * device.  Inline, because hits go through here.
 *
 * All of this may be used in any context.
 */
#ifndef HEARTH_CACHE_BIO_H
#define HEARTH_CACHE_BIO_H

#include "cache-discard.h"
#include "cache.h"

/* How a bio was issued: its end has to undo that, or to go on with it. */
enum bio_kind {
	BIO_PLAIN,		/* nothing */
	BIO_PINNED_READ,	/* reads a slot */
	BIO_PINNED_WRITE,	/* writes a slot, and only it */
	BIO_BOTH,		/* writes a slot and the origin */
	BIO_GATED,		/* writes the origin of a block without a slot */
	BIO_OVERWRITE,		/* a whole-block write that is its own promotion */
	BIO_DISCARD,		/* passed down to the origin */
	BIO_FLUSH,		/* of one of the devices */
	BIO_SUSPECT,		/* counted in nr_suspects until it ends */
	BIO_ABSORBED,		/* writes a segment of the write log */
	BIO_LOG_READ,		/* reads one, which it pins */
	BIO_LOGGED,		/* has written one, and ends with a batch of the ring */
};

struct fill;

struct cache_bio {
	u32 slot;
	u16 gate;
	u8 kind;		/* enum bio_kind */
	/* In one byte, because a hit sets all of them: in one store. */
	u8 step : 3;		/* enum bio_step */
	u8 logged_io : 1;	/* the write log took it, or served it */
	u8 shun : 1;		/* the write log has failed to write it */
	u8 turn : 1;		/* it is its turn to take room in the write log */
	u8 yielded : 1;		/* it has waited for its turn */
	u8 waited : 1;		/* it was parked on a slot and woken */
	u8 verdict;		/* enum cache_verdict */
	u8 tries;		/* left for STEP_LEAVE_THEN_WRITE */
	bool granted;		/* while deferred: @waits_on is granted to it */
	struct cache_io io;	/* what the policy is told; not on a stack for speed */
	u64 block;
	u64 began;		/* if cache_bio_is_timed(): when it came, ns */
	struct bvec_iter iter;	/* before it was issued, to issue it again */
	blk_status_t origin_status;
	blk_status_t fast_status;
	union {
		atomic_t legs;	/* under way, of a write to both devices */
		u32 waits_on;	/* the slot on which it is, or was last, parked */
	};
	unsigned long units;	/* taken by a write to both devices */
	struct fill *fill;
	union {
		struct commit_op op;
		struct bio fast_leg;	/* the second copy of a write to both */
		struct cache_discard discard;
		struct cache_log_bio logged;
	};
	struct cache *c;
};

/* From a bio of the target to what is kept with it, and back. */
static inline struct cache_bio *cache_bio(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct cache_bio));
}

static inline struct bio *cache_bio_bio(struct cache_bio *cb)
{
	return dm_bio_from_per_bio_data(cb, sizeof(struct cache_bio));
}

/*
 * Requests to one block of 64 are timed, so that the others cost next to
 * nothing.  The first of the 64 is not the one, because aligned file system
 * metadata lies there.  All flushes are timed, because a device takes far longer for
 * one.
 */
#define CACHE_TIMED_BLOCKS	64
/* A bio that is for no block has one of these in place of a block. */
#define CACHE_BLOCK_UNTIMED	0
#define CACHE_BLOCK_FLUSH	U64_MAX	/* timed, and no block has this number */

/* Does the time of this bio count?  Its block must be set. */
static inline bool cache_bio_is_timed(const struct cache_bio *cb)
{
	return cb->block % CACHE_TIMED_BLOCKS == CACHE_TIMED_BLOCKS - 1;
}

/* The bio has been judged: did admission let its block in? */
static inline bool cache_wants_promotion(const struct cache_bio *cb)
{
	return cb->verdict <= CACHE_PROMOTE_HOT;
}

/* ---- Where it goes ---- */

/* From here a worker submits the bio: it may block, and nothing polls for it. */
static inline void cache_leave_submitter(struct bio *bio)
{
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_clear_polled(bio);
	WRITE_ONCE(bio->bi_cookie, BLK_QC_T_NONE);
}

/* The bio goes to the origin; its sector stays, because it is the origin's. */
static inline void cache_remap_origin(struct cache *c, struct bio *bio)
{
	bio_set_dev(bio, c->dev.origin);
}

/* Where in @slot, on the cache device, the @sector of @block lies.  Sectors. */
static inline sector_t cache_slot_sector(const struct cache *c, u32 slot,
					 sector_t sector, u64 block)
{
	return sector + (slot - block) * c->geo.block_sectors;
}

/* The bio, for @block, goes to @slot. */
static inline void cache_remap_fast(struct cache *c, struct bio *bio,
				    u32 slot, u64 block)
{
	bio->bi_iter.bi_sector = cache_slot_sector(c, slot,
						   bio->bi_iter.bi_sector, block);
	bio_set_dev(bio, c->dev.fast);
}

/* The parts of its block that the bio touches. */
static inline u32 cache_bio_parts(struct cache *c, struct bio *bio, u64 block)
{
	u32 first = bio->bi_iter.bi_sector - cache_block_start(c, block);

	return slot_parts(first >> c->geo.part_shift,
			  (first + bio_sectors(bio) - 1) >> c->geo.part_shift);
}

/* Does the bio touch all of its block? */
static inline bool cache_bio_covers_block(struct cache *c, struct bio *bio)
{
	return bio_sectors(bio) == c->geo.block_sectors;
}

/* ---- A bio as the policy sees it ---- */

/* The word of the policy interface for a bio that reads or writes data. */
static inline enum cache_op cache_bio_op(struct bio *bio)
{
	return op_is_write(bio_op(bio)) ? CACHE_OP_WRITE : CACHE_OP_READ;
}

/*
 * Account the bio in its stream.  Returns the sectors that the stream had
 * before, 0 if it begins one.
 */
static inline u32 cache_stream_before(struct cache *c, struct bio *bio)
{
	/* The task may move to another CPU: that only races, as with an interrupt. */
	return stream_account(raw_cpu_ptr(c->streams.cpu),
			      bio->bi_iter.bi_sector, bio_sectors(bio));
}

/* The same, for a miss: also streams of other CPUs go on. */
static inline u32 cache_stream_before_miss(struct cache *c, struct bio *bio)
{
	return stream_account_miss(raw_cpu_ptr(c->streams.cpu),
				   &c->streams.ends, bio->bi_iter.bi_sector,
				   bio_sectors(bio));
}

/* Fill in @io for a bio that is an @op, of a stream of @stream_sectors. */
static inline void cache_describe_bio(struct bio *bio, enum cache_op op,
				      u32 stream_sectors, struct cache_io *io)
{
	io->op = op;
	io->flags = 0;
	io->load = 0;
	io->sectors = bio_sectors(bio);
	io->stream_sectors = stream_sectors;
	if (stream_sectors)
		io->flags |= CACHE_IO_STREAM;
	if (bio->bi_opf & REQ_META)
		io->flags |= CACHE_IO_META;
}

/* ---- The effect of a bio on its slot ---- */

/* A write has reached its slot, which it still pins. */
static inline void cache_wrote_slot(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);

	if (unlikely(slot_word(s) & SLOT_UNWRITTEN))
		atomic_andnot(SLOT_UNWRITTEN, &s->word);
}

/*
 * Is @slot granted to the bio?  Only the worker maps bios that have waited, one at a
 * time, and wait.granted is for the one that it is processing.
 */
static inline bool cache_is_granted(const struct cache *c,
				    const struct cache_bio *cb, u32 slot)
{
	return cb->waited && c->wait.granted == slot;
}

/* Park the bio until the word of @slot changes from @word; HIT_RETRY if it has. */
static inline enum hit_result cache_park_on_slot(struct cache *c,
						 struct bio *bio, u32 slot,
						 u32 word)
{
	return cache_wait_for_slot(c, slot, word, bio) ? HIT_PARKED : HIT_RETRY;
}

/* Give back the bio's units, if it has any. */
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
 * Does a write lack units?  It pinned in a mode that keeps dirty blocks, and now
 * finds another mode: without units it must not go to both devices.  If the slot
 * is dirty it may, because the slot stays dirty until a write-back that began
 * without writers.
 */
static inline bool cache_lacks_units(const struct cache_bio *cb, u32 word)
{
	return !cb->units && !(word & SLOT_DIRTY);
}

#endif
