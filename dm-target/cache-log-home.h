/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extents leave the write log: see cache-log-home.c.
 *
 * The log's worker calls all functions, or another caller while the worker cannot run.
 * They may sleep.
 */
#ifndef HEARTH_CACHE_LOG_HOME_H
#define HEARTH_CACHE_LOG_HOME_H

#include <linux/types.h>

struct cache_log;
struct log_copy;
struct log_run;

/*
 * The blocks that are sorted at a time, as in write-back.  The array takes 128 KiB.
 * Not chosen by measurement.
 */
#define LOG_HOME_BLOCKS	16384U

/*
 * After errors of the origin nothing of the log goes home for so long; in jiffies.  It is
 * as long as write-back leaves a block alone (WB_BACKOFF).
 */
#define LOG_HOME_BACKOFF	(5 * HZ)

/* Runs that go home together, with one flush of the origin (W4). */
struct log_batch {
	struct log_run *runs;	/* LOG_HOME_RUNS; the first @nr are used */
	struct log_copy *copies;	/* one for each run */
	u32 nr;			/* runs */
	u32 nr_begun;		/* the first runs: their copies were begun */
	atomic_t nr_copying;	/* copies that were begun and have not ended */
};

/* The way home.  log.worker's own, but for reads of @above_mark and @backoff. */
struct cache_log_home {
	u64 *blocks;		/* LOG_HOME_BLOCKS: picked to go home, sorted */
	u32 nr_picked;		/* of @blocks */
	u32 next_pick;		/* the first of @blocks that was not tried yet */
	/*
	 * While the copies of one batch end, the copies of the other run.  So the disk
	 * never has only the last few copies of a batch.  No block has runs in both.
	 */
	struct log_batch batches[2];
	u32 filling;		/* the index of the batch that takes runs */
	bool above_mark;	/* too full, and not empty enough yet */
	u32 pick_from;		/* the bucket of the index where picking begins */
	u64 next;		/* the next pass goes on with this block */
	u64 fruitless;		/* runs that were tried since one left the log */
	unsigned long backoff;	/* jiffies: nothing goes home before */
	/* In jiffies: then even few whole blocks are mapped. */
	unsigned long whole_after;
	u64 *unsaved;		/* if the ring failed: blocks that are to be copied home */
	u32 nr_unsaved;		/* of @unsaved */
};

/**
 * cache_log_home_is_wanted() - whether extents are to go home now, and can
 * @log: the log
 *
 * It also decides whether writes are paced.
 */
bool cache_log_home_is_wanted(struct cache_log *log);

/**
 * cache_log_go_home() - have extents go home, while that is wanted
 * @log: the log
 *
 * Return: whether any extents have left the log.
 */
bool cache_log_go_home(struct cache_log *log);

/**
 * cache_log_map_whole() - have segments that a whole block fills become slots, if it is time
 * @log: the log
 *
 * Return: whether any has become a slot.
 */
bool cache_log_map_whole(struct cache_log *log);

/**
 * cache_log_serve_wanted() - have the blocks go into the cache that reads want there
 * @log: the log
 */
void cache_log_serve_wanted(struct cache_log *log);

/**
 * cache_log_empty_block() - have all extents of a block go home
 * @log: the log
 * @block: the block
 *
 * Return: false if some cannot go home now, because the origin has failed, say.
 */
bool cache_log_empty_block(struct cache_log *log, u64 block);

/**
 * cache_log_serve_leavers() - have the blocks go home for which writes wait
 * @log: the log
 *
 * A write is mapped again when its block has left.  If the block cannot leave, the write
 * ends with BLK_STS_IOERR, or goes on waiting.
 */
void cache_log_serve_leavers(struct cache_log *log);

/**
 * cache_log_serve_discards() - have the extents leave that waiting discards cover
 * @log: the log
 *
 * Each discard is deferred again: its extents have left, or it is refused.
 */
void cache_log_serve_discards(struct cache_log *log);

/**
 * cache_log_save_failed() - copy all extents home, because the ring has failed
 * @log: the log, whose ring has failed
 *
 * Return: true if the origin has everything, durably, except blocks that the cache has.
 * Then the log's flag may be cleared.
 */
bool cache_log_save_failed(struct cache_log *log);

#endif
