/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log: small writes that miss go to the cache device.  See cache-log.c;
 * docs/write-log.md has the words and the rules W1 to W14.
 *
 * An engine gets a log when it is brought up and its metadata has the log's flag.  It
 * also gets one within a second after "absorb" was set to 1, in a mode that keeps dirty
 * blocks, if a block has LOG_MAX_BLOCK sectors at most.  It has the log until it is
 * destroyed.  A log that was read from the disk goes earlier if the mapping is emptied
 * because the origin is another.
 *
 * Without a log c->log is NULL, and a miss only looks at that pointer.
 */
#ifndef HEARTH_CACHE_LOG_H
#define HEARTH_CACHE_LOG_H

#include <linux/bio.h>
#include <linux/dm-io.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../write-log/log-ring.h"
#include "cache-commit.h"
#include "cache-slots.h"

struct cache;
struct cache_bio;

/* Kept with a bio that is absorbed. */
struct cache_log_bio {
	struct log_write *write;
	bool fua;		/* the ring records the write before the bio ends */
};

/* Changed by log.work, and by a stop or a removal when that does not run. */
enum cache_log_state {
	CACHE_LOG_OFF,		/* no flag on the disk, no ring, the index is empty */
	CACHE_LOG_ON,		/* the flag is durable, and writes are absorbed (W1) */
	CACHE_LOG_DRAINS,	/* all extents go home; then the flag is cleared */
	CACHE_LOG_UNKNOWN,	/* a commit of the flag failed: it may be set or not */
};

/*
 * The runs that leave the log with one flush of the origin and one batch of the ring,
 * at most.  The array takes 48 KiB.  Not chosen by measurement.
 */
#define LOG_HOME_RUNS	2048U
/*
 * The blocks that are sorted at a time, as in write-back.  The array takes 128 KiB.
 * Not chosen by measurement.
 */
#define LOG_HOME_BLOCKS	16384U
/*
 * The ends of large writes that are remembered; a power of 2 for the hash.  With fewer,
 * an end takes the entry of another sooner, and the small last part of that write is
 * absorbed.  Not chosen by measurement.
 */
#define LOG_NR_LARGE	64U

/*
 * The blocks that go into the cache with one commit, and how many of them need a copy,
 * at most.  32 blocks of 64 KiB are the room for copies while there are no users.
 * Neither was chosen by measurement.
 */
#define LOG_NR_MOVES	256U
#define LOG_NR_COPIED	32U
/*
 * The segments that are open at a time, at most, and the appends after which the shares
 * of the origin are chosen anew.  In a model of the log 16 did as well as 64.
 */
#define LOG_NR_OPEN	16U
#define LOG_NR_SAMPLED	128U
/*
 * Percent of the log's room, its ring or its memory.  When one of them is so full, the
 * log begins to go home, and writes are paced.  If it were higher, less room would be
 * left for bursts.  If it were lower, more would go home that is written again soon.  No
 * measurement of the value is recorded.
 */
#define LOG_HIGH_MARK	75U
/*
 * The blocks that may wait for log.work, because reads want them in the cache.  A block
 * that finds no room keeps its mark, and goes into the cache when its turn to go home
 * comes.  Not chosen by measurement.
 */
#define LOG_NR_WANTED	64U

struct log_move;

/* One copy: from the log to the origin, or for a block that goes into the cache. */
struct log_copy {
	struct cache_log *log;
	struct log_move *move;	/* the move that it is for, or NULL */
	struct log_batch *batch;	/* the batch that it is of, or NULL */
	u32 sectors;
	bool from_fast, to_fast;	/* whether that end is the cache device */
	bool failed;		/* result: valid when the copy has ended */
};

/* Runs that go home together, with one flush of the origin (W4). */
struct log_batch {
	struct log_run *runs;	/* LOG_HOME_RUNS; the first @nr are used */
	struct log_copy *copies;	/* one for each run */
	u32 nr;			/* runs */
	u32 nr_begun;		/* the first runs: their copies were begun */
	atomic_t nr_copying;	/* copies that were begun and have not ended */
};

enum log_move_state {
	LOG_MOVE_COPIES,	/* the slot is FREE and nobody finds it, or a segment */
	LOG_MOVE_PUBLISHED,	/* the slot is FILLING: writes to the block wait */
	LOG_MOVE_MAPPED,	/* VALID, with a pin until the extents have left (W5) */
	LOG_MOVE_OVER,		/* nothing is left to be done */
};

/* A block on its way from the log into the cache. */
struct log_move {
	struct cache_log *log;
	u64 block;
	u32 slot;
	enum log_move_state state;
	bool failed;		/* a copy failed, so the block stays in the log */
	bool slot_failed;	/* because the slot could not be written */
	bool in_place;		/* the slot is a segment, which one extent fills */
	u32 parts;		/* SLOT_PARTS_MASK: parts with extents, newer than the origin */
	ktime_t began;		/* for the trace; 0: the event was off */
	struct commit_op op;
	struct log_copy copy;	/* of the whole block, from the origin */
};

/*
 * An open segment: writes are appended to it.  It takes the writes to one share of the
 * origin, because the log goes home in the origin's order, and a segment is free only
 * when all of its extents have left.
 */
struct log_open {
	u32 slot;		/* SLOT_NONE: no segment is open for this share */
	u32 fill;		/* sectors of the segment that are taken */
	u64 first;		/* the first block of the share; 0 for the first share */
};

/*
 * After errors of the origin nothing of the log goes home for so long; in jiffies.  It is
 * as long as write-back leaves a block alone (WB_BACKOFF).
 */
#define LOG_HOME_BACKOFF	(5 * HZ)

struct cache_log {
	struct cache *c;
	enum cache_log_state state;	/* read anywhere */
	bool failed;			/* the ring cannot be written; stays set (W9) */
	bool all_home;			/* @failed, and the origin has everything */
	bool begun;			/* recovery is over, or there was none */
	bool forgotten;			/* @all_home, and the flag is cleared; read anywhere */
	bool refused;			/* the cache has no place for ring or header */
	bool has_place;			/* slots are kept for the ring that @geo describes */
	bool has_header;		/* the header was written */
	u32 skipped;			/* slots at the end where the ring could not lie */
	u32 place_waits;		/* the least of the place's slots in use so far */
	unsigned long place_until;	/* jiffies: by then one more must become empty */
	unsigned long start_after;	/* jiffies: the log is not turned on before */

	struct log_index ix;
	struct log_geometry geo;	/* the shape of the log */
	struct log_dev dev;		/* the cache device, for @ring and the header */
	struct dm_io_client *io;	/* for I/O of @dev */
	struct bio_set pieces;		/* of struct log_piece */

	/* @ring_work has the ring to itself; others only while that cannot run. */
	struct log_ring ring;
	/* For @ring_work alone, which waits for devices and for nothing else. */
	struct workqueue_struct *wq;
	struct work_struct ring_work;
	bool batch_runs;		/* written by @ring_work, read anywhere */

	/*
	 * Guards the members from @open to @nr_whole.  The index's locks of segments nest
	 * inside, because a write must count in its segment before another writer may
	 * close the segment.
	 */
	spinlock_t room_lock;
	struct log_open open[LOG_NR_OPEN];	/* in the order of the origin */
	u32 nr_open;			/* shares: one at least; does not change */
	u64 sampled[LOG_NR_SAMPLED];	/* the blocks of the last appends */
	u32 nr_sampled;			/* appends since the shares were chosen */
	u32 full;			/* list of segments that are not open */
	u32 whole;			/* the same: each had a write of a whole block */
	u32 nr_whole;			/* segments in @whole; read anywhere */
	u32 reaping;			/* as @full, for cache_log_reap() alone */
	atomic_t nr_segments;		/* all segments */
	atomic_t in_flight;		/* writes that were counted in and have not ended */

	/* Guards the members from @flushes to @nr_wanted, but for reads of some. */
	spinlock_t lock;
	struct bio_list flushes;	/* for @ring_work: flushes, writes with FUA */
	struct bio_list room;		/* writes that wait for room, in order */
	struct bio_list again;		/* the same: they found no room in their turn */
	struct bio_list leavers;	/* writes: their block has to leave the log first */
	struct bio_list discards;	/* their blocks have to leave the log first */
	/* The next three are read anywhere. */
	u32 nr_room;			/* bios in @room */
	u32 nr_again;			/* bios in @again */
	u32 nr_turns;			/* bios with a turn, which the worker maps soon */
	u32 earned;			/* by copies: sectors * percent, not handed out yet */
	s32 credit;			/* sectors that paced writes may take */
	bool gave_turns;		/* @pace_work gave turns since log.work looked */
	unsigned long turn_at;		/* jiffies of the last turn, or of the first wait */
	struct bio *turn;		/* the bio that the worker of bios maps, or NULL */
	u64 wanted[LOG_NR_WANTED];	/* blocks that reads want in the cache */
	u32 nr_wanted;			/* read anywhere */

	struct delayed_work pace_work;	/* on wq.bg: hands out @earned */
	wait_queue_head_t wait;		/* log.work waits for copies, commits, the ring */

	/* The members from here to @nr_unsaved are log.work's own, but for some reads. */
	struct work_struct work;	/* cache_log_work(), on wq.bg */
	u64 *blocks;			/* LOG_HOME_BLOCKS: picked to go home, sorted */
	u32 nr_picked;			/* of @blocks */
	u32 next_pick;			/* the first of @blocks that was not tried yet */
	/*
	 * While the copies of one batch end, the copies of the other run.  So the disk
	 * never has only the last few copies of a batch.  No block has runs in both.
	 */
	struct log_batch home[2];
	u32 filling;			/* the index of the batch that takes runs */
	struct log_run *runs;		/* LOG_HOME_RUNS: for moves and discards */
	struct log_copy *copies;	/* one for each of @runs */
	struct log_departure departure;	/* of runs that leave; @departed: they have left */
	bool departed;
	bool serves;			/* users do I/O, or did: set by the first kick */
	atomic_t copying;		/* sectors of all copies that have not ended */
	struct log_move *moves;		/* LOG_NR_MOVES */
	u32 nr_moves;			/* of @moves */
	bool moves_stay;		/* they are mapped, but the ring failed before GONE */
	atomic_t committing;		/* moves whose mapping is being committed */
	unsigned long whole_after;	/* jiffies: then even few whole blocks are mapped */
	bool above_mark;		/* too full, and not empty enough yet; read anywhere */
	bool paces;			/* writes are paced; read anywhere */
	bool is_tight;			/* so full that paced writes need small batches */
	unsigned long backoff;		/* jiffies: nothing goes home before */
	bool leaves;			/* the cache is being removed; stays set */
	unsigned long leave_until;	/* jiffies: so long extents go home then */
	u64 home_next;			/* the next pass goes on with this block */
	u64 fruitless;			/* runs that were tried since one left the log */
	u32 pick_from;			/* the bucket of the index where picking begins */
	u64 *unsaved;			/* if @failed: blocks that are to be copied home */
	u32 nr_unsaved;			/* of @unsaved */

	u64 large_ends[LOG_NR_LARGE];	/* sectors where large writes ended; racy */
};

/* ---- For the files below cache-log-io.c ---- */

/**
 * cache_log_has_block() - may some of a block be in the log, or on its way into it?
 * @log: the log
 * @block: the block
 *
 * The caller is about to change the origin, or to promote the block.  It has made that
 * known first, and a full barrier was in between.  An absorber counts its write in, has
 * a full barrier, and then looks for the slot.  So at least one of the two sees the
 * other.
 *
 * Context: any, never sleeps; takes a lock of the index.
 */
bool cache_log_has_block(struct cache_log *log, u64 block);

/**
 * cache_log_counts() - does the log still say what its blocks contain?
 * @log: the log
 *
 * Context: any, never sleeps.
 *
 * Return: false if its ring failed, all extents were copied home, and the flag is
 * cleared; or if the cache was given up.
 */
bool cache_log_counts(struct cache_log *log);

/**
 * cache_log_is_stuck() - will a block stay in a log whose ring failed?
 * @c: the engine; it may have no log
 * @block: the block
 *
 * So it is if the log cannot go home for seconds, or ever.  Then a bio must not wait
 * until the block's slot, or its extents, leave.
 *
 * Context: any, never sleeps; takes a lock of the index.
 */
bool cache_log_is_stuck(struct cache *c, u64 block);

/**
 * cache_log_want() - a promotion gave way, perhaps because the log has some of the block
 * @c: the engine; it may have no log
 * @block: the block
 *
 * Context: any, never sleeps; takes a lock of the index, then log.lock.
 *
 * Return: true if the log has some of the block, so the block goes into the cache from
 * there.
 */
bool cache_log_want(struct cache *c, u64 block);

#endif
