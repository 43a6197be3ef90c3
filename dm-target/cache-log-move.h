/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks go from the write log into the cache, and runs are copied: see cache-log-move.c.
 *
 * The log's worker calls all functions, or another caller while the worker cannot run.
 * They may sleep.
 */
#ifndef HEARTH_CACHE_LOG_MOVE_H
#define HEARTH_CACHE_LOG_MOVE_H

#include <linux/ktime.h>
#include <linux/types.h>

#include "cache-commit.h"

struct block_device;
struct cache_log;
struct log_batch;
struct log_move;
struct log_run;

/*
 * The runs that leave the log with one flush of the origin and one batch of the ring,
 * at most.  The array takes 48 KiB.  Not chosen by measurement.
 */
#define LOG_HOME_RUNS	2048U

/*
 * The blocks that go into the cache with one commit, and how many of them need a copy,
 * at most.  32 blocks of 64 KiB are the room for copies while there are no users.
 * Neither was chosen by measurement.
 */
#define LOG_NR_MOVES	256U
#define LOG_NR_COPIED	32U

/* One copy: from the log to the origin, or for a block that goes into the cache. */
struct log_copy {
	struct cache_log *log;
	struct log_move *move;	/* the move that it is for, or NULL */
	struct log_batch *batch;	/* the batch that it is of, or NULL */
	u32 sectors;
	bool from_fast, to_fast;	/* whether that end is the cache device */
	bool failed;		/* result: valid when the copy has ended */
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

/* The copies.  log.worker's own, but the end of a copy counts @sectors down. */
struct cache_log_copying {
	struct log_run *runs;	/* LOG_HOME_RUNS: for moves and discards */
	struct log_copy *copies;	/* one for each of @runs */
	atomic_t sectors;	/* of all copies that have not ended */
};

/*
 * Blocks on their way into the cache.  log.worker's own, but the end of a commit counts
 * @committing down.
 */
struct cache_log_moves {
	struct log_move *all;	/* LOG_NR_MOVES */
	u32 nr;			/* of @all */
	bool stay;		/* they are mapped, but the ring failed before GONE */
	atomic_t committing;	/* moves whose mapping is being committed */
};

/**
 * cache_log_copy_run() - wait for room to copy, and begin to copy a run
 * @log: the log
 * @run: the run
 * @to: the device to copy to: the cache device or the origin
 * @block: the slot (if @to is the cache device) or the block to copy to
 * @copy: the caller has set copy->move and copy->batch; copy->failed is the result
 *
 * @copy must stay until the copy has ended.  cache_log_wait_for_copies() waits for that.
 * If copy->batch is set, batch->nr_copying counts it.
 */
void cache_log_copy_run(struct cache_log *log, const struct log_run *run,
			struct block_device *to, u64 block, struct log_copy *copy);

/**
 * cache_log_wait_for_copies() - wait until all copies that were begun have ended
 * @log: the log
 */
void cache_log_wait_for_copies(struct cache_log *log);

/**
 * cache_log_begin_move() - have a block go into the cache, if it is wanted there and can
 * @log: the log; fewer than LOG_NR_COPIED moves are under way
 * @block: the block
 *
 * Return: true: the block is on its way.  It stays in the log until
 * cache_log_end_moves(), and the caller must not take it out meanwhile.  False: the
 * block may go home.
 */
bool cache_log_begin_move(struct cache_log *log, u64 block);

/**
 * cache_log_begin_whole() - have segments that a whole block fills become slots, in place
 * @log: the log
 *
 * Return: whether any moves are under way.
 */
bool cache_log_begin_whole(struct cache_log *log);

/**
 * cache_log_awaits_mapping() - whether cache_log_begin_whole() is to take a block
 * @log: the log
 * @block: the block
 *
 * Return: true: the block must not go home now, because it goes home from its slot
 * later, and the cache still has it then.
 */
bool cache_log_awaits_mapping(struct cache_log *log, u64 block);

/**
 * cache_log_end_moves() - end all moves: each block is in the cache, or stays in the log
 * @log: the log; log->copying.runs and log->copying.copies are not in use
 *
 * Return: how many blocks have left the log for the cache.
 */
u32 cache_log_end_moves(struct cache_log *log);

/**
 * cache_log_is_moved() - whether a block was mapped, but could not leave the log
 * @log: the log, whose ring has failed
 * @block: the block
 *
 * Return: true if the block has a slot, which holds all of it.
 */
bool cache_log_is_moved(struct cache_log *log, u64 block);

/**
 * cache_log_release_moved() - let blocks go that were mapped, but could not leave the log
 * @log: the log, whose ring has failed
 *
 * When the log's flag is cleared, such a block may be unmapped.  Until then, bios that
 * would wait for that fail while nothing goes home.
 */
void cache_log_release_moved(struct cache_log *log);

#endif
