/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bio under way: what the engine keeps with it, and how it is sent to a
 * device.  The functions are inline, because hits go through them.
 *
 * All functions here may be called in any context, and none sleeps.
 */
#ifndef HEARTH_CACHE_BIO_H
#define HEARTH_CACHE_BIO_H

#include "cache-discard.h"
#include "cache.h"

/* How a bio was issued.  The end of the bio undoes that, or goes on with it. */
enum bio_kind {
	BIO_PLAIN,		/* there is nothing to undo */
	BIO_ORIGIN_WRITE,	/* it writes the origin, and there is nothing to undo */
	BIO_ORIGIN_READ,	/* a read that missed; write-back lets it go first */
	BIO_PINNED_READ,	/* it reads a slot, which it pins */
	BIO_PINNED_WRITE,	/* it writes only a slot, which it pins */
	BIO_BOTH,		/* it writes a slot, which it pins, and the origin */
	BIO_GATED,		/* it writes the origin of a block without a slot */
	BIO_OVERWRITE,		/* it writes a whole block, and is its own promotion */
	BIO_DISCARD,		/* a discard that was passed down to the origin */
	BIO_FLUSH,		/* a flush of one of the devices */
	BIO_JOINED_FLUSH,	/* a flush of the cache device that waits for the log, too */
	BIO_SUSPECT,		/* it counts in intents.nr_suspects until it ends */
	BIO_ABSORBED,		/* it writes a segment of the write log */
	BIO_LOG_READ,		/* it reads a segment of the write log, which it pins */
	BIO_LOGGED,		/* a write with FUA that waits for the log's ring */
};

struct fill;

/* The engine keeps one with each bio. */
struct cache_bio {
	u32 slot;		/* that the bio has pinned, or is about to */
	u16 gate;		/* of a BIO_GATED: the gate that it has entered */
	u8 kind;		/* enum bio_kind */
	/* These share a byte, because a hit sets all of them in one store. */
	u8 step : 3;		/* enum bio_step: where the worker goes on */
	u8 logged_io : 1;	/* the write log took the write, or served the read */
	u8 shun : 1;		/* the cache device refused to write it to the log */
	u8 turn : 1;		/* it has the turn to take room in the write log */
	u8 yielded : 1;		/* it has waited for its turn beside a drain */
	u8 waited : 1;		/* it was parked on a slot and woken */
	u8 verdict;		/* enum cache_verdict; NR_CACHE_VERDICTS: not judged */
	u8 tries;		/* write-backs left for STEP_LEAVE_THEN_WRITE */
	bool granted;		/* while it is deferred: @waits_on is granted to it */
	struct cache_io io;	/* for the policy; here, because a stack is slower */
	u64 block;		/* or CACHE_BLOCK_UNTIMED or CACHE_BLOCK_FLUSH */
	u64 began;		/* if cache_bio_is_timed(): when it came, in ns */
	struct bvec_iter iter;	/* as it came, so that it can be issued again */
	blk_status_t origin_status;	/* of a BIO_BOTH: how each copy has ended */
	blk_status_t fast_status;
	union {
		atomic_t legs;	/* of a BIO_BOTH: copies that are under way */
		u32 waits_on;	/* the slot that it is, or was last, parked on */
		int flush_nr;	/* of a flush that the device is to serve: its number */
	};
	unsigned long units;	/* that a write to both devices has taken: bits */
	/* A promotion that begins at its end, or, of a BIO_OVERWRITE, that it is. */
	struct fill *fill;
	union {
		struct commit_op op;	/* while it waits for its intent */
		struct bio fast_leg;	/* of a BIO_BOTH: the copy for the slot */
		struct cache_discard discard;
		struct cache_log_bio logged;	/* of a BIO_ABSORBED */
	};
	struct cache *c;	/* of a BIO_BOTH, for the end of @fast_leg */
};

/**
 * cache_bio() - the data that the engine keeps with a bio
 * @bio: a bio of the target
 */
static inline struct cache_bio *cache_bio(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct cache_bio));
}

/**
 * cache_bio_bio() - the bio that data are kept with
 * @cb: the data
 */
static inline struct bio *cache_bio_bio(struct cache_bio *cb)
{
	return dm_bio_from_per_bio_data(cb, sizeof(struct cache_bio));
}

/*
 * The requests to one block of each 64 are timed, so that requests to the others cost
 * next to nothing.  It is the last of the 64 and not the first, because aligned file
 * system metadata lies in the first.  All flushes are timed, because a device takes
 * far longer for a flush than the engine takes to time it.
 */
#define CACHE_TIMED_BLOCKS	64
/* The block of a bio that is for no block: a number that is not timed, ... */
#define CACHE_BLOCK_UNTIMED	0
/* ... or, of a flush, one that is timed and that no block has. */
#define CACHE_BLOCK_FLUSH	U64_MAX

/**
 * cache_bio_is_timed() - is this bio timed?
 * @cb: what is kept with it; @cb->block must be set
 */
static inline bool cache_bio_is_timed(const struct cache_bio *cb)
{
	return cb->block % CACHE_TIMED_BLOCKS == CACHE_TIMED_BLOCKS - 1;
}

/**
 * cache_wants_promotion() - did admission let the bio's block in?
 * @cb: what is kept with the bio, which must have been judged
 */
static inline bool cache_wants_promotion(const struct cache_bio *cb)
{
	return cb->verdict <= CACHE_PROMOTE_HOT;
}

/**
 * cache_met_free_slots() - were slots free beyond the reserve when the bio was judged?
 * @cb: what is kept with the bio, which must have been judged
 *
 * That may be the only reason why the policy wants the block.
 */
static inline bool cache_met_free_slots(const struct cache_bio *cb)
{
	return cb->io.flags & CACHE_IO_FREE_SLOTS;
}

/* ---- Where it goes ---- */

/**
 * cache_leave_submitter() - a bio leaves its submitter, because a worker is to submit it
 * @bio: the bio.  From here on it may wait, and nobody polls for it.
 */
static inline void cache_leave_submitter(struct bio *bio)
{
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_clear_polled(bio);
	WRITE_ONCE(bio->bi_cookie, BLK_QC_T_NONE);
}

/**
 * cache_remap_origin() - point a bio at the origin
 * @c: the engine
 * @bio: the bio.  Its sector stays, because it is the origin's.
 */
static inline void cache_remap_origin(struct cache *c, struct bio *bio)
{
	bio_set_dev(bio, c->dev.origin);
}

/**
 * cache_slot_sector() - where a slot has a sector of the origin
 * @c: the engine
 * @slot: the slot
 * @sector: the sector of the origin
 * @block: the block that @sector lies in
 *
 * Return: the sector of the cache device.
 */
static inline sector_t cache_slot_sector(const struct cache *c, u32 slot,
					 sector_t sector, u64 block)
{
	return sector + (slot - block) * c->geo.block_sectors;
}

/**
 * cache_remap_fast() - point a bio at a slot
 * @c: the engine
 * @bio: the bio, which lies in @block
 * @slot: the slot
 * @block: the block
 */
static inline void cache_remap_fast(struct cache *c, struct bio *bio,
				    u32 slot, u64 block)
{
	bio->bi_iter.bi_sector = cache_slot_sector(c, slot,
						   bio->bi_iter.bi_sector, block);
	bio_set_dev(bio, c->dev.fast);
}

/**
 * cache_bio_parts() - the parts of a block that a bio touches
 * @c: the engine
 * @bio: the bio, which lies in @block and has at least a sector
 * @block: the block
 *
 * Return: bits of SLOT_PARTS_MASK.
 */
static inline u32 cache_bio_parts(struct cache *c, struct bio *bio, u64 block)
{
	u32 first = bio->bi_iter.bi_sector - cache_block_start(c, block);

	return slot_parts(first >> c->geo.part_shift,
			  (first + bio_sectors(bio) - 1) >> c->geo.part_shift);
}

/**
 * cache_bio_covers_block() - does a bio cover its block?
 * @c: the engine
 * @bio: the bio, which lies in one block
 */
static inline bool cache_bio_covers_block(struct cache *c, struct bio *bio)
{
	return bio_sectors(bio) == c->geo.block_sectors;
}

/* ---- Writes that are not durable yet, and flushes ---- */

/**
 * cache_note_hit() - note that a bio has written a device, if a flush has to follow
 * @device: what is kept of the device
 * @bio: the bio, as it was sent to the device
 *
 * Context: a full barrier lies between the device's answer and the call.
 */
static inline void cache_note_hit(struct cache_written *device, const struct bio *bio)
{
	if (!(bio->bi_opf & REQ_FUA))
		cache_written_note(device);
}

/**
 * cache_note_write() - cache_note_hit() with the barrier
 * @device: what is kept of the device
 * @bio: the bio, as it was sent to the device
 */
static inline void cache_note_write(struct cache_written *device, const struct bio *bio)
{
	/* As cache_written_note() asks for. */
	smp_mb();
	cache_note_hit(device, bio);
}

/**
 * cache_point_flush() - point a user's flush at its device
 * @c: the engine
 * @bio: the flush
 * @fast: is it for the cache device, or for the origin?
 *
 * Return: false if the device has nothing to flush.
 */
static inline bool cache_point_flush(struct cache *c, struct bio *bio, bool fast)
{
	if (!cache_flush_needed(c, fast))
		return false;
	cache_bio(bio)->flush_nr =
		cache_written_begin_flush(cache_flushes_of(&c->flushes, fast));
	bio_set_dev(bio, fast ? c->dev.fast : c->dev.origin);
	return true;
}

/**
 * cache_end_needless() - end a user's flush without its device
 * @bio: the flush, for a device that has nothing to flush, or is bypassed
 *
 * It is not timed, because the device has not served it.
 */
static inline void cache_end_needless(struct bio *bio)
{
	cache_bio(bio)->kind = BIO_PLAIN;
	cache_bio(bio)->block = CACHE_BLOCK_UNTIMED;
	bio_endio(bio);
}

/* ---- A bio as the policy sees it ---- */

/**
 * cache_bio_op() - the policy's word for the operation of a bio
 * @bio: a bio that reads or writes data
 */
static inline enum cache_op cache_bio_op(struct bio *bio)
{
	return op_is_write(bio_op(bio)) ? CACHE_OP_WRITE : CACHE_OP_READ;
}

/**
 * cache_stream_before() - account a hit in its stream
 * @c: the engine
 * @bio: the hit
 *
 * Return: the sectors that the stream had transferred before; 0 if the bio begins a
 * stream.
 */
static inline u32 cache_stream_before(struct cache *c, struct bio *bio)
{
	/*
	 * The task may move to another CPU meanwhile.  Then two CPUs use one table, and
	 * may lose an update, as with an interrupt.
	 */
	return stream_account(raw_cpu_ptr(c->streams.cpu),
			      bio->bi_iter.bi_sector, bio_sectors(bio));
}

/**
 * cache_stream_before_miss() - account a miss in its stream, which may be of another CPU
 * @c: the engine
 * @bio: the miss
 *
 * Return: as cache_stream_before().
 */
static __always_inline u32 cache_stream_before_miss(struct cache *c, struct bio *bio)
{
	return stream_account_miss(raw_cpu_ptr(c->streams.cpu),
				   &c->streams.ends, bio->bi_iter.bi_sector,
				   bio_sectors(bio));
}

/**
 * cache_describe_bio() - describe a bio for the policy
 * @bio: the bio
 * @op: what it does
 * @stream_sectors: what its stream had transferred before, in sectors
 * @io: receives the description
 */
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

/**
 * cache_wrote_slot() - a write has reached its slot: SLOT_UNWRITTEN goes
 * @c: the engine
 * @slot: the slot, which the write still pins
 */
static inline void cache_wrote_slot(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);

	if (unlikely(slot_word(s) & SLOT_UNWRITTEN))
		atomic_andnot(SLOT_UNWRITTEN, &s->word);
}

/**
 * cache_is_granted() - is a slot granted to a bio?
 * @c: the engine
 * @cb: what is kept with the bio
 * @slot: the slot
 *
 * wait.granted is for the bio that the worker is processing.  The bio is that one if it
 * has waited, because only the worker maps bios that have waited, one at a time.
 */
static inline bool cache_is_granted(const struct cache *c,
				    const struct cache_bio *cb, u32 slot)
{
	return cb->waited && c->wait.granted == slot;
}

/**
 * cache_park_on_slot() - park a bio on a slot
 * @c: the engine
 * @bio: the bio
 * @slot: the slot
 * @word: its word, as the caller read it
 *
 * Context: takes the locks of cache_wait_for_slot().
 *
 * Return: HIT_PARKED; HIT_RETRY if the word has changed.
 */
static inline enum hit_result cache_park_on_slot(struct cache *c,
						 struct bio *bio, u32 slot,
						 u32 word)
{
	return cache_wait_for_slot(c, slot, word, bio) ? HIT_PARKED : HIT_RETRY;
}

/**
 * cache_give_units() - give back the units of a bio, if it has any
 * @c: the engine
 * @cb: what is kept with the bio
 *
 * Context: takes the locks of cache_return_units() if the bio has units.
 */
static inline void cache_give_units(struct cache *c, struct cache_bio *cb)
{
	if (cb->units)
		cache_return_units(c, cb);
}

/**
 * cache_unpin_writer() - give back the pins of a write, and its units, if it has any
 * @c: the engine
 * @cb: what is kept with the write; @cb->slot is its slot
 *
 * Context: takes the locks of cache_give_units() and of cache_unpin().
 */
static inline void cache_unpin_writer(struct cache *c, struct cache_bio *cb)
{
	cache_give_units(c, cb);
	cache_unpin(c, cb->slot, SLOT_PIN | SLOT_WRITER);
}

/**
 * cache_lacks_units() - does a write lack units that it needs to go to both devices?
 * @cb: what is kept with the write
 * @word: the word of its slot
 *
 * It has none if it pinned in a mode that keeps dirty blocks, and the mode has changed
 * since.  It needs none if its slot is dirty, because the slot stays dirty until a
 * write-back that began while no write was under way.
 */
static inline bool cache_lacks_units(const struct cache_bio *cb, u32 word)
{
	return !cb->units && !(word & SLOT_DIRTY);
}

#endif
