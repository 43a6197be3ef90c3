/* SPDX-License-Identifier: GPL-2.0-only */
/* The paths of bios into the write log, and out of it: see cache-log-io.c. */
#ifndef HEARTH_CACHE_LOG_IO_H
#define HEARTH_CACHE_LOG_IO_H

#include <linux/bio.h>
#include <linux/types.h>

#include "cache-log-ring.h"

struct cache;
struct cache_bio;
struct log_write;

/*
 * The ends of large writes that are remembered; a power of 2 for the hash.  With fewer,
 * an end takes the entry of another sooner, and the small last part of that write is
 * absorbed.  Not chosen by measurement.
 */
#define LOG_NR_LARGE	64U
/*
 * Likewise the ends of small writes while writes are paced, which take 8 KiB.  A stream is
 * long after 256 writes of 4 KiB.  Beside as many writes at random its entry is still there
 * in three of four cases, and in one of 50 with 64 entries.
 */
#define LOG_NR_STREAMS	1024U

/* Kept with a bio that is absorbed. */
struct cache_log_bio {
	struct log_write *write;
	bool fua;		/* the ring records the write before the bio ends */
	bool alone;		/* the ring records it when the bio ends */
};

/* A part of a read that a worker has split off, because the rest lies elsewhere. */
struct log_piece {
	struct cache *c;
	struct bio *whole;	/* the read, which ends after the piece */
	u32 slot;		/* that the piece reads and pins; SLOT_NONE: the origin */
	struct bio bio;		/* last, because its vectors may follow */
};

struct cache_log_io {
	struct bio_set pieces;	/* of struct log_piece */
	/* All three are racy, which costs precision only. */
	u64 large_ends[LOG_NR_LARGE];	/* where large writes ended, see end_number() */
	u64 stream_ends[LOG_NR_STREAMS];	/* see count_stream() */
	u8 nr_flushes;			/* of users, modulo 256 */
};

/**
 * cache_log_write() - absorb a write that has found no slot, if it is to be absorbed
 * @c: the engine; has a log
 * @bio: the write, within one block
 * @cb: what is kept with it
 *
 * Context: any, never sleeps; takes log.waiting.lock, log.room.lock, map.free_lock and
 * locks of the index.
 *
 * Return: the log's answer, but not LOG_LOOK_AGAIN.  After LOG_PASSES the block may have
 * got a slot.
 */
enum log_answer cache_log_write(struct cache *c, struct bio *bio,
				struct cache_bio *cb);

/**
 * cache_log_write_whole() - absorb a write of a whole block that is to be promoted
 * @c: the engine; has a log
 * @bio: the write; covers its block
 * @cb: what is kept with it, and the verdict
 *
 * The segment is mapped later as the block's slot, in place.
 *
 * Context: as cache_log_write().
 *
 * Return: true if the bio points at the log, and the caller submits it.  False if
 * nothing has changed.
 */
bool cache_log_write_whole(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_log_read() - serve a read that has found no slot, or a slot in transit
 * @c: the engine; has a log
 * @bio: the read, within one block.  It is cut: either (not @worker) to its first part,
 *	which lies in one piece; or (@worker) to its last one.
 * @cb: what is kept with it
 * @worker: the caller is the worker, and not map().  Then bios of their own read all
 *	parts but the last, and @bio ends after them.
 *
 * Context: any, never sleeps, if not @worker; otherwise it may sleep for memory.  Takes
 * a lock of the index.
 *
 * Return: LOG_POINTED if what is left of the bio is in the log; LOG_TAKEN if the bio has
 * ended with BLK_STS_IOERR for want of memory; otherwise LOG_PASSES.  Then the caller
 * looks for the slot again before the origin is read (W14).
 */
enum log_answer cache_log_read(struct cache *c, struct bio *bio,
			       struct cache_bio *cb, bool worker);

/**
 * cache_log_end_write() - an absorbed write has ended
 * @c: the engine
 * @bio: the write, a BIO_ABSORBED
 * @cb: its per-bio data
 * @error: in: the device's error, or 0; out: the writer's
 *
 * Context: any, never sleeps; takes locks of the index, and log.waiting.lock for a write
 * with FUA.
 *
 * Return: DM_ENDIO_DONE; DM_ENDIO_INCOMPLETE if the bio ends later, because the ring has
 * to record it, or because the cache device failed and the bio is mapped again.
 */
int cache_log_end_write(struct cache *c, struct bio *bio, struct cache_bio *cb,
			blk_status_t *error);

/**
 * cache_log_end_read() - a read of the log has ended
 * @c: the engine
 * @bio: the read, a BIO_LOG_READ; its segment is unpinned
 * @error: the device's error, or 0
 *
 * Context: any, never sleeps; takes wait.buckets[].lock, then wait.deferred_lock, if a
 * bio waits for the segment, which may be a slot by now.
 */
void cache_log_end_read(struct cache *c, struct bio *bio, blk_status_t error);

#endif
