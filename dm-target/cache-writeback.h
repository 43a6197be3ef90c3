/* SPDX-License-Identifier: GPL-2.0-only */
/* Write-back: dirty blocks go home to the origin; see cache-writeback.c. */
#ifndef HEARTH_CACHE_WRITEBACK_H
#define HEARTH_CACHE_WRITEBACK_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct cache;

/* Why a dirty block goes home. */
enum cache_wb_reason {
	CACHE_WB_NOT,		/* it stays */
	CACHE_WB_DRAIN,		/* all must go: the mode, or the policy cleaner */
	CACHE_WB_ROOM,		/* an eviction met dirty victims */
	CACHE_WB_SHARE,		/* too many blocks are dirty */
	CACHE_WB_IDLE,		/* there were no requests for a while */
	CACHE_WB_REFUSED,	/* the cache device refused a write to the block */
};

/* A dirty block of the batch that is being written home. */
struct writeback_item {
	u64 block;
	u32 slot;
};

/*
 * The dirty blocks that are sorted at a time.  The disk's heads go over the disk once
 * for each batch, so the blocks of a larger batch would lie closer together.  The
 * array takes 64 KiB.  Not chosen by measurement.
 */
#define WRITEBACK_BATCH		4096U

/*
 * The entries for blocks that failed to go home.  A hash of the block chooses its
 * entry.  If two blocks have the same entry, the older is tried again sooner.  Not
 * chosen by measurement; a power of 2 for the hash.
 */
#define CACHE_NR_WB_FAILED	256

/* A block that failed to go home. */
struct wb_failed {
	u64 block;
	unsigned long until;	/* jiffies: it is not tried again before */
	bool used;		/* the entry has a block */
};

struct cache_writeback {
	struct work_struct work;	/* cache_writeback_work(), on wq.bg */
	atomic_t nr_wanted;		/* blocks that the eviction wants to be clean */
	atomic_t nr_blocks;		/* write-backs begun, and not committed yet */
	atomic_t sectors;		/* being copied; part of admit.migrating_sectors */
	u32 low;			/* copies begin again at so many sectors; racy reads */
	bool runs;			/* a batch is under way, or follows; racy reads */
	/*
	 * Requests that missed, at the origin now, but for those that fills read.  Reads
	 * count only if they were sent while @runs or while the log's writes were paced.
	 */
	atomic_t users;
	atomic_t users_left;		/* those that have ended; wraps around */

	/* The worker's own, from @items to @user_seen. */
	struct writeback_item *items;	/* WRITEBACK_BATCH */
	u32 cursor;			/* the slot with which the next scan begins */
	u64 next;			/* the block behind the one that was tried last */
	bool goes_on;			/* a batch begins at @next, not at its first block */
	bool above_mark;		/* dirty_high was exceeded, dirty_low still is */
	u32 room;			/* sectors that may be copied at a time */
	u32 left_seen;			/* @users_left when copies last began again */
	u64 ios_seen;			/* cache_user_ios() when the worker last looked */
	unsigned long user_seen;	/* jiffies: it has changed last then */

	spinlock_t failed_lock;		/* guards writes of the rest; racy reads */
	struct wb_failed failed[CACHE_NR_WB_FAILED];
	unsigned int failed_in_row;	/* errors since a block went home */
	bool stuck;			/* all blocks fail, so none is logged any more */
	unsigned long backoff;		/* jiffies: no block is tried before */
};

/**
 * cache_user_at_origin() - a user's request that missed goes to the origin
 * @c: the engine
 *
 * Context: any. cache_user_left_origin() has to follow.
 */
void cache_user_at_origin(struct cache *c);

/**
 * cache_user_left_origin() - a request of cache_user_at_origin() has ended
 * @c: the engine
 *
 * Context: any.
 */
void cache_user_left_origin(struct cache *c);

/**
 * cache_users_at_origin() - how many requests that were counted have not ended
 * @c: the engine
 *
 * Context: any.
 */
u32 cache_users_at_origin(struct cache *c);

/**
 * cache_writeback_work() - write one batch home, in the order of the origin
 * @work: writeback.work of the engine
 *
 * On return copies may still be under way.
 *
 * Context: wq.bg; sleeps until there is room for each copy.
 */
void cache_writeback_work(struct work_struct *work);

/**
 * cache_failed_to_go_home() - whether a block failed to go home a short time ago
 * @c: the engine
 * @block: the block
 *
 * Context: process, does not sleep; takes writeback.failed_lock.
 */
bool cache_failed_to_go_home(struct cache *c, u64 block);

/**
 * cache_write_home() - start to write a slot's block home
 * @c: the engine
 * @slot: the slot; nothing happens unless it is VALID, dirty and without writers
 *
 * The slot becomes WRITEBACK.  It becomes VALID again when the copy has failed or is
 * committed.
 *
 * Context: process, may sleep for memory.
 */
void cache_write_home(struct cache *c, u32 slot);

#endif
