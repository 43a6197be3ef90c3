/* SPDX-License-Identifier: GPL-2.0-only */
/* Write-back, see cache-writeback.c. */
#ifndef HEARTH_CACHE_WRITEBACK_H
#define HEARTH_CACHE_WRITEBACK_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct cache;

/* Why a dirty block goes home. */
enum cache_wb_reason {
	CACHE_WB_NOT,			/* it stays */
	CACHE_WB_DRAIN,		/* all must go: the mode, or the policy cleaner */
	CACHE_WB_ROOM,		/* an eviction met only dirty blocks */
	CACHE_WB_SHARE,		/* too much is dirty */
	CACHE_WB_IDLE,		/* no requests for a while */
	CACHE_WB_REFUSED,	/* the cache device refused a write to it */
};

/* A dirty block of the batch that is being written. */
struct writeback_item {
	u64 block;
	u32 slot;
};

/*
 * Blocks that are sorted at a time: the disk's heads go over it once for each
 * batch, so more blocks would lie closer together.  64 KiB.  Not chosen by
 * measurement.
 */
#define WRITEBACK_BATCH		4096U

/*
 * A block whose way home has failed, and is not tried again for a while.  A hash
 * chooses its entry; of two blocks with one entry the older is tried again sooner.
 * Not chosen by measurement; a power of 2 for the hash.
 */
#define CACHE_NR_WB_FAILED	256

struct wb_failed {
	u64 block;
	unsigned long until;	/* jiffies */
	bool used;
};

struct cache_writeback {
	struct work_struct work;
	atomic_t nr_wanted;		/* evictions that met dirty victims */
	atomic_t nr_blocks;		/* begun and not committed */
	atomic_t sectors;		/* of admit.migrating_sectors, its own */
	u32 low;			/* sectors left at which it goes on; racy reads */

	/* The worker's own. */
	struct writeback_item *items;
	u32 cursor;			/* where the next batch begins: slot */
	u64 next;			/* behind the block that was tried last */
	bool goes_on;			/* the next batch begins there, not at its first block */
	bool above_mark;		/* dirty_high was passed, dirty_low not yet */
	u32 room;			/* sectors */
	u64 ios_seen;
	unsigned long user_seen;	/* jiffies */

	spinlock_t failed_lock;		/* guards the next four */
	struct wb_failed failed[CACHE_NR_WB_FAILED];	/* by block */
	unsigned int failed_in_row;	/* and none went home in between */
	bool stuck;			/* all fail, so none is named any more */
	unsigned long backoff;		/* jiffies: after too many errors, none before */
};

/**
 * cache_writeback_work() - write one batch home, in the order of the origin
 * @work: writeback.work of the engine
 *
 * Context: wq.bg; sleeps.
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
 * @slot: nothing happens unless it is VALID, dirty and without writers
 *
 * The slot's word changes when the copy has ended.  Context: process, may sleep for
 * memory.
 */
void cache_write_home(struct cache *c, u32 slot);

#endif
