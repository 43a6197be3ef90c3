/* SPDX-License-Identifier: GPL-2.0-only */
/* Unmapping, see cache-evict.c. */
#ifndef HEARTH_CACHE_EVICT_H
#define HEARTH_CACHE_EVICT_H

#include <linux/mempool.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "cache-commit.h"
#include "cache-policy.h"
#include "cache-writeback.h"

struct cache;

/*
 * A block on its way out of the cache, or back to the origin.  From a pool, so
 * that both always make progress.
 */
struct migration {
	struct cache *c;
	u32 slot;
	u64 block;
	bool was_dirty;
	u32 parts;			/* of SLOT_PARTS_MASK: a write-back's */
	enum cache_wb_reason why;	/* of a write-back */
	ktime_t began;			/* the same; 0: the event is off */
	struct commit_op op;
};

struct cache_evict {
	atomic_t nr_unmaps;		/* queued, and not committed yet */
	mempool_t pool;			/* of struct migration, write-back's too */
	struct work_struct work;
};

/**
 * cache_evict_work() - free as many slots as the reserve lacks
 * @work: evict.work of the engine
 *
 * Context: wq.bg; sleeps, waits for commits, takes policy.lock.
 */
void cache_evict_work(struct work_struct *work);

#define ANY_BLOCK U64_MAX
/**
 * cache_begin_unmap() - begin to unmap a slot
 * @c: the engine
 * @slot: the slot
 * @block: the block that it has to hold, or ANY_BLOCK
 * @dirty_too: also if it may have the only copy: its content is discarded
 * @why: for the policy and the counters
 *
 * Context: process, may sleep for memory; takes policy.lock and, after it,
 * commit.lock.
 *
 * Return: false if it is in use, is dirty or has changed.  True: it is EVICTING, and
 * FREE when the commit has succeeded; if the commit fails, it is VALID again.
 */
bool cache_begin_unmap(struct cache *c, u32 slot, u64 block, bool dirty_too,
		       enum cache_removal why);

/**
 * cache_unmap_has_room() - whether a caller that unmaps many may queue another now
 * @c: the engine
 *
 * The bound is there because first writes would wait for too many commits, and the
 * queue would take any amount of memory.  Context: any, never sleeps.
 */
bool cache_unmap_has_room(struct cache *c);

#endif
