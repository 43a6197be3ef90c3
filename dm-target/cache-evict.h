/* SPDX-License-Identifier: GPL-2.0-only */
/* Unmapping: demotions, and invalidations of single blocks; see cache-evict.c. */
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
 * An unmapping or a write-back that is under way.  It comes from a pool, so that both
 * make progress even if memory is short.
 */
struct migration {
	struct cache *c;
	u32 slot;
	u64 block;
	bool was_dirty;			/* unmapping: the slot had data of its own */
	u32 parts;			/* write-back: SLOT_PARTS_MASK of what it copies */
	enum cache_wb_reason why;	/* write-back */
	ktime_t began;			/* write-back; 0: the trace event was off */
	struct commit_op op;
};

struct cache_evict {
	atomic_t nr_unmaps;		/* unmappings queued, and not committed yet */
	mempool_t pool;			/* of struct migration, also for write-back */
	struct work_struct work;	/* cache_evict_work(), on wq.bg */
};

/**
 * cache_evict_work() - free as many slots as the reserve lacks
 * @work: evict.work of the engine
 *
 * Context: wq.bg; sleeps, waits for commits; takes policy.lock.
 */
void cache_evict_work(struct work_struct *work);

/* For cache_begin_unmap(): the slot may hold any block. */
#define ANY_BLOCK U64_MAX

/**
 * cache_begin_unmap() - begin to unmap a slot
 * @c: the engine
 * @slot: the slot
 * @block: the block that the slot has to hold, or ANY_BLOCK
 * @dirty_too: unmap it even if it may have the only copy, because its content is
 *	discarded
 * @why: the reason, for the policy and the counters
 *
 * Context: process, may sleep for memory; takes policy.lock and, after it,
 * commit.lock.
 *
 * Return: true if the slot is EVICTING.  When the commit has succeeded, it becomes
 * FREE; if the commit fails, it becomes VALID again.  False if nothing has changed,
 * because the slot is pinned, is not VALID, has to be kept, or holds another block.
 */
bool cache_begin_unmap(struct cache *c, u32 slot, u64 block, bool dirty_too,
		       enum cache_removal why);

/**
 * cache_unmap_has_room() - whether a caller that unmaps many slots may go on now
 * @c: the engine
 *
 * Unmappings that are queued have a bound.  Without it first writes would wait for
 * many commits, and the queue would take any amount of memory.
 *
 * Context: any, never sleeps.
 */
bool cache_unmap_has_room(struct cache *c);

#endif
