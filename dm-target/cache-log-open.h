/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The open segments of the write log: see cache-log-open.c.
 *
 * All functions but cache_log_init_open() and cache_log_sort_blocks() are called under
 * log.room.lock.
 */
#ifndef HEARTH_CACHE_LOG_OPEN_H
#define HEARTH_CACHE_LOG_OPEN_H

#include <linux/types.h>

struct cache_log;
struct log_write;

/* The segments that are open at a time, at most.  In a model of the log 16 did as well as 64. */
#define LOG_NR_OPEN	16U
/*
 * When so many appends were sampled, 8 for each of 16 shares, the shares of the origin are
 * chosen anew if they have to be.  One append of 1 << LOG_SAMPLE_SHIFT is sampled, because the
 * choice took 380 instructions an append when each was sampled.  Neither number was chosen by
 * measurement.
 */
#define LOG_NR_SAMPLED	128U
#define LOG_SAMPLE_SHIFT	3U

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

/* The shares, in the order of the origin.  Under log.room.lock. */
struct cache_log_shares {
	struct log_open open[LOG_NR_OPEN];	/* of each share */
	u32 nr;			/* one at least; does not change */
	u64 sampled[LOG_NR_SAMPLED];	/* blocks of the last appends */
	u32 nr_sampled;
	u32 nr_unsampled;	/* so many appends come before the next that is sampled */
	u32 shift;		/* one append of 1 << shift is sampled: 0 until the first choice */
};

/**
 * cache_log_append() - place a write at the end of the open segment of its share
 * @log: the log
 * @w: the write
 *
 * Context: under log.room.lock.
 *
 * Return: false if no segment is open for the share, or if it has no room for the write
 * in one piece.
 */
bool cache_log_append(struct cache_log *log, struct log_write *w);

/**
 * cache_log_append_anywhere() - place a write at the end of any open segment
 * @log: the log
 * @w: the write
 *
 * Context: under log.room.lock.
 *
 * Return: false if no open segment has room for the write in one piece.
 */
bool cache_log_append_anywhere(struct cache_log *log, struct log_write *w);

/**
 * cache_log_open_segment() - open a segment for the share of a write, and place the write
 * @log: the log
 * @w: the write
 * @slot: the segment, empty.  The one that was open for the share goes to the list of
 *	full ones.
 *
 * Context: under log.room.lock; takes locks of the index.
 */
void cache_log_open_segment(struct cache_log *log, struct log_write *w, u32 slot);

/**
 * cache_log_retire_open() - put all open segments on the list of full ones
 * @log: the log
 *
 * Context: under log.room.lock.
 */
void cache_log_retire_open(struct cache_log *log);

/**
 * cache_log_init_open() - begin without open segments
 * @log: a new log
 * @most: slots that the log may have on a full cache
 */
void cache_log_init_open(struct cache_log *log, u32 most);

/**
 * cache_log_sort_blocks() - sort numbers of blocks, the lowest first
 * @blocks: the numbers
 * @nr: how many
 *
 * Context: any.
 */
void cache_log_sort_blocks(u64 *blocks, u32 nr);

#endif
