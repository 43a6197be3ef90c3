/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events: which block moves between the devices, why, and how long it took.
 *
 * There is no event on the path of a hit.  An event that is off costs a jump that is
 * not taken.  A duration, usecs, is in microseconds.  It is 0 if the event was switched
 * on after the move had begun.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dm_cache

#if !defined(DM_CACHE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DM_CACHE_TRACE_H

#include <linux/tracepoint.h>

#include "cache.h"

TRACE_DEFINE_ENUM(CACHE_PROMOTE);
TRACE_DEFINE_ENUM(CACHE_PROMOTE_AHEAD);
TRACE_DEFINE_ENUM(CACHE_PROMOTE_HOT);
TRACE_DEFINE_ENUM(CACHE_REMOVED_EVICTED);
TRACE_DEFINE_ENUM(CACHE_REMOVED_INVALID);
TRACE_DEFINE_ENUM(CACHE_REMOVED_DISCARDED);
TRACE_DEFINE_ENUM(CACHE_WB_DRAIN);
TRACE_DEFINE_ENUM(CACHE_WB_ROOM);
TRACE_DEFINE_ENUM(CACHE_WB_SHARE);
TRACE_DEFINE_ENUM(CACHE_WB_IDLE);
TRACE_DEFINE_ENUM(CACHE_WB_REFUSED);

/* A block was copied from one device to the other, or an error says why not. */
DECLARE_EVENT_CLASS(dm_cache_copy,
	TP_PROTO(struct cache *c, u64 block, u32 slot, int why, ktime_t began,
		 int error),

	TP_ARGS(c, block, slot, why, began, error),

	TP_STRUCT__entry(
		__field(dev_t,	dev)
		__field(u32,	slot)
		__field(u64,	block)
		__field(int,	why)
		__field(int,	error)
		__field(u64,	usecs)
	),

	TP_fast_assign(
		__entry->dev = c->dev.volume;
		__entry->slot = slot;
		__entry->block = block;
		__entry->why = why;
		__entry->error = error;
		__entry->usecs = cache_trace_usecs(began);
	),

	TP_printk("%d:%d block=%llu slot=%u why=%s usecs=%llu error=%d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->block,
		  __entry->slot,
		  __print_symbolic(__entry->why,
				   { CACHE_PROMOTE, "seen" },
				   { CACHE_PROMOTE_AHEAD, "ahead" },
				   { CACHE_PROMOTE_HOT, "hot" }),
		  __entry->usecs, __entry->error)
);

/* A promotion has ended: the block has a slot from now on, or an error says why not. */
DEFINE_EVENT(dm_cache_copy, dm_cache_promote,
	TP_PROTO(struct cache *c, u64 block, u32 slot, int why, ktime_t began,
		 int error),

	TP_ARGS(c, block, slot, why, began, error)
);

/* A block begins to leave its slot.  Its mapping leaves the disk with a commit. */
TRACE_EVENT(dm_cache_demote,
	TP_PROTO(struct cache *c, u64 block, u32 slot, int why, bool dirty),

	TP_ARGS(c, block, slot, why, dirty),

	TP_STRUCT__entry(
		__field(dev_t,	dev)
		__field(u32,	slot)
		__field(u64,	block)
		__field(int,	why)
		__field(bool,	dirty)
	),

	TP_fast_assign(
		__entry->dev = c->dev.volume;
		__entry->slot = slot;
		__entry->block = block;
		__entry->why = why;
		__entry->dirty = dirty;
	),

	TP_printk("%d:%d block=%llu slot=%u why=%s dirty=%d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->block,
		  __entry->slot,
		  __print_symbolic(__entry->why,
				   { CACHE_REMOVED_EVICTED, "evicted" },
				   { CACHE_REMOVED_INVALID, "invalidated" },
				   { CACHE_REMOVED_DISCARDED, "discarded" }),
		  __entry->dirty)
);

/*
 * A write-back has ended.  Without an error the block is clean, durably, or the origin
 * has it while the disk goes on to call it dirty (COMMIT_HOME).  Error -EAGAIN: the
 * block was written again meanwhile.  Other errors: the copy or the commit failed.
 */
DEFINE_EVENT_PRINT(dm_cache_copy, dm_cache_writeback,
	TP_PROTO(struct cache *c, u64 block, u32 slot, int why, ktime_t began,
		 int error),

	TP_ARGS(c, block, slot, why, began, error),

	TP_printk("%d:%d block=%llu slot=%u why=%s usecs=%llu error=%d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->block,
		  __entry->slot,
		  __print_symbolic(__entry->why,
				   { CACHE_WB_DRAIN, "drain" },
				   { CACHE_WB_ROOM, "room" },
				   { CACHE_WB_SHARE, "share" },
				   { CACHE_WB_IDLE, "idle" },
				   { CACHE_WB_REFUSED, "refused" }),
		  __entry->usecs, __entry->error)
);

/*
 * A group of changes was committed, or the commit failed.  For @intents of its @ops
 * changes a write waited.
 */
TRACE_EVENT(dm_cache_commit,
	TP_PROTO(struct cache *c, u32 ops, u32 intents, ktime_t began, int error),

	TP_ARGS(c, ops, intents, began, error),

	TP_STRUCT__entry(
		__field(dev_t,	dev)
		__field(u32,	ops)
		__field(u32,	intents)
		__field(int,	error)
		__field(u64,	usecs)
	),

	TP_fast_assign(
		__entry->dev = c->dev.volume;
		__entry->ops = ops;
		__entry->intents = intents;
		__entry->error = error;
		__entry->usecs = cache_trace_usecs(began);
	),

	TP_printk("%d:%d ops=%u intents=%u usecs=%llu error=%d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->ops,
		  __entry->intents, __entry->usecs, __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cache-trace
#include <trace/define_trace.h>
