/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log's index: where in the log the sectors of each origin block are,
 * what the ring says about them, and what is in use in each segment.
 *
 * It owns memory only. It knows no device, bio, policy or mapping, and it
 * decides nothing: docs/write-log.md says which rules its callers keep.
 *
 * A block that has extents is one piece of memory: a header, and its extents
 * sorted by sector. An extent has two independent properties:
 *
 *   SEEN	readers find it; the SEEN extents of a block do not overlap
 *   RING	it is what the ring says last; the RING extents do not overlap
 *
 * Most extents are both. A fresh one is only SEEN, until its record is put in a
 * block of the ring. One that was superseded, or has gone home, is only RING,
 * until the record that ends it is put. An extent that is neither is dropped.
 *
 * Adjoining RING extents at adjoining places make a *run*, which takes one
 * record. Runs are counted, not extents, because a write that splits an extent
 * in memory must not change what the ring has to repeat.
 *
 * A write goes through log_index_reserve(), log_write_place() and
 * log_index_seen() or log_index_cancel(). The reservation makes all the room
 * that the write will ever need in its block, so nothing later can fail.
 *
 * Locks: log_index::locks guard the blocks of their chains, in any context.
 * Inside them nest log_index::segment_locks, round_lock and unlogged_lock, which
 * do not nest in each other. spare_lock nests in a block's lock, too, and none nests in it.
 * Callbacks may run under the first and the second.
 */
#ifndef HEARTH_LOG_INDEX_H
#define HEARTH_LOG_INDEX_H

#include "../os/sync.h"

#include "log-format.h"
#include "log-rules.h"

#define LOG_NO_SLOT		U32_MAX	/* no slot has so many bits */
/*
 * The locks of blocks, and those of segments. With fewer, CPUs would wait for each
 * other more often. With more, an index would take more memory. Neither number was
 * chosen by measurement.
 */
#define LOG_NR_LOCKS		256
#define LOG_NR_SEGMENT_LOCKS	64

#define LOG_SEEN		BIT(0)
#define LOG_RING		BIT(1)
#define LOG_ROUND		BIT(2)	/* of a RING extent: its round's parity */

struct log_extent {
	u32 slot;
	u16 sector;		/* the first, in its block */
	u16 last;		/* sectors - 1 */
	u16 at;			/* the first sector in the slot */
	u16 flags;
};

static_assert(sizeof(struct log_extent) == 12);

/* Is a block to go into the cache instead of home?  The higher, the stronger. */
enum log_keep {
	LOG_KEEP_NOT,
	LOG_KEEP_IF_COVERED,	/* as LOG_KEEP_IF_FREE, if readers find all of it here */
	LOG_KEEP_IF_FREE,	/* while slots are free, which was why it is wanted */
	LOG_KEEP,
};

struct log_block {
	struct log_block *next;		/* hash chain */
	u64 block;
	struct list_head round;		/* in log_index::round while it has RING */
	u16 nr;				/* extents */
	u16 reserved;			/* extents that may still come */
	u16 writes;			/* in flight */
	u8 class;			/* of its memory */
	u8 closed : 6;			/* new writes wait: count of closers */
	u8 kept : 2;			/* enum log_keep */
	struct log_extent extents[];
};

static_assert(sizeof(struct log_block) == 40);

/*
 * A slot that is lent to the log. Counts are of sectors, because splitting an
 * extent must not change them.
 */
struct log_segment {
	struct log_segment *next;	/* hash chain */
	struct log_segment *next_released;
	u32 slot;
	/*
	 * While the segment is held, @seen and @ring lack the sectors that were placed since.  So
	 * they may wrap, and mean something only if @held is 0.
	 */
	u32 seen;		/* with the writes in flight */
	u32 ring;		/* RING, or seen once and to be recorded, or in flight */
	u32 unlogged;		/* seen and to be recorded; counted if LOG_RULES_CAN_BREAK */
	u32 released;		/* RING until the block being written is durable */
	u32 held;		/* callers that append to it */
	u32 leaving;		/* runs that were collected to leave */
};

/* A run of sectors of one block at one place of the log. */
struct log_run {
	u64 block;
	u32 slot;		/* LOG_NO_SLOT: these sectors are not in the log */
	u32 sectors;
	u16 sector;
	u16 at;
};

/*
 * A write on its way: the caller's token first, later what the ring has to
 * record.
 */
struct log_write {
	struct log_write *next;
	struct log_run run;
	u8 keep;		/* enum log_keep: the block has it or more, once this is seen */
	bool durable;		/* the data were written with FUA */
	u16 nr;			/* writes that became this one, U16_MAX at most */
};

static_assert(sizeof(struct log_write) == 40);

/*
 * The functions that the index calls. alloc() returns memory of any
 * content or NULL; with @nowait it is called under a spinlock and must not
 * sleep. free() may be called in any context. pin() keeps a segment from being
 * written again; it is called under a spinlock and must not fail; the caller
 * gives the pin back. pinned() says whether anyone has one.
 */
struct log_index_ops {
	void *(*alloc)(void *ctx, size_t bytes, bool nowait);
	void (*free)(void *ctx, void *p, size_t bytes);
	void (*pin)(void *ctx, u32 slot);
	bool (*pinned)(void *ctx, u32 slot);
};

/* Memory of one size that is kept for the next things. */
#define LOG_NR_SPARES	2

struct log_spares {
	void *first;
	u32 nr;
};

struct log_index {
	const struct log_index_ops *ops;
	void *ctx;
	u32 block_sectors;
	s64 max_bytes;
	s64 roomy_bytes;		/* while less is in use, blocks keep the room they have */
	atomic64_t bytes;		/* all memory in use, without @spares */
	atomic64_t nr_blocks;		/* with extents or writes in flight */

	struct log_block **buckets;
	/*
	 * A bit for each bucket that has blocks, because a walk over a log with little in it
	 * would look at thousands of empty buckets.
	 */
	u64 *used;
	unsigned int bucket_bits;
	/* A lock guards a word of @used and the chains of its 64 buckets; see log_bucket_lock(). */
	spinlock_t locks[LOG_NR_LOCKS];

	struct log_segment **segments;
	unsigned int segment_bits;
	/* Likewise for the chains of segments, and all counts in them. */
	spinlock_t segment_locks[LOG_NR_SEGMENT_LOCKS];
	struct log_segment *released;	/* the ring's writer only */

	/* Guards @round and the links of blocks in it. */
	spinlock_t round_lock;
	struct list_head round;		/* blocks with RING, next to repeat first */
	/* The ring's writer, or recovery before it, alone changes the next seven. */
	u16 parity;			/* LOG_ROUND of what was recorded this round */
	u64 nr_ring;			/* runs that the ring relies on */
	u64 nr_old;			/* of these, not recorded in this round */
	/* Recorded writes, whose memory is given back many at a time. */
	struct log_write *put;
	u32 nr_put;
	/* Blocks that have kept memory: so many buckets are to be looked at, this one first. */
	u32 slim_left, slim_next;

	/*
	 * Guards @unlogged and @newest, and the writes between them: what the
	 * ring has to record, in the order in which it was seen.
	 */
	spinlock_t unlogged_lock;
	struct log_write *unlogged, *newest;
	atomic64_t nr_unlogged;		/* with the writes in flight */

	spinlock_t spare_lock;		/* guards @spares */
	struct log_spares spares[LOG_NR_SPARES];
};

/**
 * log_index_init() - an empty index
 * @ix: the index
 * @ops: the functions that it calls
 * @ctx: the argument of @ops
 * @block_sectors: sectors in a block of the cache, at most LOG_MAX_BLOCK
 * @max_bytes: what it may use, without the memory that it keeps for the next things; decides
 *	how large its hash is
 *
 * Process context. Return: 0, -EINVAL or -ENOMEM.
 */
int log_index_init(struct log_index *ix, const struct log_index_ops *ops,
		   void *ctx, u32 block_sectors, u64 max_bytes);

/**
 * log_index_exit() - free everything
 * @ix: nobody uses it, and no write is in flight
 *
 * Context: process.
 */
void log_index_exit(struct log_index *ix);

/**
 * log_index_trim() - give back the memory that is kept
 * @ix: the index
 *
 * Context: any.
 */
void log_index_trim(struct log_index *ix);

/* ---- Segments ---- */

/**
 * log_segment_open() - lend a slot to the log
 * @ix: the index
 * @slot: the slot
 * @nowait: the caller may not sleep
 *
 * Any context if @nowait. Return: 0, -EEXIST, -ENOMEM, or -ENOSPC when the
 * index has all the memory that it may have.
 */
int log_segment_open(struct log_index *ix, u32 slot, bool nowait);

/**
 * log_segment_close() - the slot is no segment any more, if nothing is in it (W6)
 * @ix: the index
 * @slot: the segment
 * @mapped: it became a block of the cache in place, so its pins do not matter
 *
 * Nobody appends to it any more. Any context. Return: 0; -EBUSY when something
 * of it is seen, to be recorded, in flight, relied on by a durable block of the
 * ring, about to leave, or pinned; -ENOENT when it is no segment.
 */
int log_segment_close(struct log_index *ix, u32 slot, bool mapped);

/**
 * log_segment_hold() - the caller is about to append to a segment
 * @ix: the index
 * @slot: a segment
 *
 * While the segment is held it is in use, and log_write_place_held() need not count its
 * writes one by one. Context: any.
 */
void log_segment_hold(struct log_index *ix, u32 slot);

/**
 * log_segment_let_go() - nobody appends to a held segment any more
 * @ix: the index
 * @slot: the segment
 * @sectors: of the writes that log_write_place_held() has placed there
 *
 * Context: any.
 */
void log_segment_let_go(struct log_index *ix, u32 slot, u32 sectors);

/**
 * log_segment_free() - may the ring record that nothing of this segment is in the log?
 * @ix: the index
 * @slot: the segment
 *
 * So it is when all of it was superseded or is GONE in what was put. The answer
 * stays true while nobody appends to the segment. Context: any.
 */
bool log_segment_free(struct log_index *ix, u32 slot);

/**
 * log_segment_get() - copy a segment's counts
 * @ix: the index
 * @slot: the segment
 * @out: receives them
 *
 * Context: any. Return: false if @slot is no segment.
 */
bool log_segment_get(struct log_index *ix, u32 slot, struct log_segment *out);

/* ---- Writes ---- */

/**
 * log_index_reserve() - count a write in
 * @ix: the index
 * @block: the block, in blocks of the origin
 * @sector: of the block, the write's first
 * @sectors: of the write
 * @nowait: the caller may not sleep
 *
 * The write's @keep is what the block has; the caller may put another in its place.
 *
 * Any context if @nowait. Return: the write, or an ERR_PTR: -EBUSY when the
 * block is closed, -ENOMEM, -ENOSPC when the memory's bound is reached, -EFBIG
 * when the block may get more extents than it can have, or has more than some
 * 8,000 writes to be recorded: they have to be recorded first, or to go home.
 */
struct log_write *log_index_reserve(struct log_index *ix, u64 block, u16 sector,
				    u32 sectors, bool nowait);

/**
 * log_write_place() - say where in the log a write's data go
 * @ix: the index
 * @w: the write
 * @slot: a segment
 * @at: sectors from its beginning
 *
 * Context: any.
 */
void log_write_place(struct log_index *ix, struct log_write *w, u32 slot,
		     u16 at);

/**
 * log_write_place_held() - the same in a segment that the caller holds
 * @w: the write, which log_segment_let_go() will count
 * @slot: the segment
 * @at: sectors from its beginning
 *
 * Context: any.
 */
static inline void log_write_place_held(struct log_write *w, u32 slot, u16 at)
{
	w->run.slot = slot;
	w->run.at = at;
}

/**
 * log_index_seen() - the write has ended well: readers find it from here on
 * @ix: the index
 * @w: the write
 *
 * The write belongs to the ring then (W8). To be called before the bio ends.
 * Any context, interrupts included.
 */
void log_index_seen(struct log_index *ix, struct log_write *w);

/**
 * log_index_cancel() - the write failed or was not issued
 * @ix: the index
 * @w: the write; freed
 *
 * Nothing of it was seen. Context: any.
 */
void log_index_cancel(struct log_index *ix, struct log_write *w);

/* ---- Readers ---- */

/**
 * log_index_empty() - has no block extents or writes in flight?
 * @ix: the index
 *
 * Context: any.
 */
static inline bool log_index_empty(struct log_index *ix)
{
	return !atomic64_read(&ix->nr_blocks);
}

/**
 * log_index_lookup() - the first run of a range of sectors
 * @ix: the index
 * @block: the block, in blocks of the origin
 * @sector: of the block, the range's first
 * @sectors: of the range
 * @run: receives the run
 *
 * @run gets the sectors from @sector on, @sectors at most, that lie in one
 * piece, in the log (its segment is pinned) or, with LOG_NO_SLOT, outside. The
 * range is mixed if that is not all of it. Any context.
 */
void log_index_lookup(struct log_index *ix, u64 block, u16 sector, u32 sectors,
		      struct log_run *run);

/**
 * log_index_has() - has the block extents that readers find, or writes in flight?
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * Context: any.
 */
bool log_index_has(struct log_index *ix, u64 block);

/* ---- Going home, and into the cache ---- */

/**
 * log_index_collect() - what readers find of a block, by sector
 * @ix: the index
 * @block: the block, in blocks of the origin
 * @runs: receives the runs
 * @max: runs that there is room for
 * @leaving: these runs will go through log_index_put_gone(), and each through
 *	log_index_leave() or log_index_stay(), which release the room that
 *	is reserved here
 *
 * Pins the segment of each run. All runs of the block; but if @leaving only the
 * first, when there are more than @max or than the block has room for:
 * log_index_has() says whether some are left. It may sleep if @leaving, else it
 * is for any context.
 *
 * Return: the number of runs; if not @leaving, -E2BIG when there are more than
 * @max; if @leaving, -ENOMEM, or -EFBIG when what was collected before, or what
 * is to be recorded, takes all the room.
 */
int log_index_collect(struct log_index *ix, u64 block, struct log_run *runs,
		      u32 max, bool leaving);

/**
 * log_index_close() - have new writes to a block refused from here on
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * log_index_writes() counts those that were in flight before.
 *
 * Context: process, may sleep. Return: 0, -ENOMEM, or -ENOSPC when the memory's
 * bound is reached.
 */
int log_index_close(struct log_index *ix, u64 block);

/**
 * log_index_open() - have writes to a closed block accepted again
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * Context: any.
 */
void log_index_open(struct log_index *ix, u64 block);

/**
 * log_index_writes() - how many writes to a block are in flight
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * Context: any.
 */
u32 log_index_writes(struct log_index *ix, u64 block);

/**
 * log_index_keep() - mark a block that is to go into the cache instead of home
 * @ix: the index
 * @block: the block, in blocks of the origin
 * @keep: the mark
 *
 * The mark stays until a stronger one replaces it, LOG_KEEP_NOT takes it off, or
 * the block has left the log. Context: any. Return: false if the block is not in
 * the log.
 */
bool log_index_keep(struct log_index *ix, u64 block, enum log_keep keep);

/**
 * log_index_whole() - the segment in which readers find all of the block as one run
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * Context: any. Return: the segment, which is not pinned; LOG_NO_SLOT if there is none.
 */
u32 log_index_whole(struct log_index *ix, u64 block);

/**
 * log_index_kept() - the mark of a block
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * Context: any. Return: LOG_KEEP_NOT, too, if the block is not in the log, or
 * readers find nothing of it yet.
 */
enum log_keep log_index_kept(struct log_index *ix, u64 block);

/**
 * log_index_covers() - do readers find all of a block?
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * It stays so until runs of it leave. Context: any.
 */
bool log_index_covers(struct log_index *ix, u64 block);

/**
 * log_index_leave() - a run has left the log, because its GONE is durable
 * @ix: the index
 * @run: from log_index_collect()
 *
 * Readers do not find it any more, where it is still the newest. Context: any.
 */
void log_index_leave(struct log_index *ix, const struct log_run *run);

/**
 * log_index_stay() - a run does not leave after all, and no GONE was put
 * @ix: the index
 * @run: from log_index_collect()
 *
 * Context: any.
 */
void log_index_stay(struct log_index *ix, const struct log_run *run);

/* ---- The ring's writer: one at a time, any context ---- */

/**
 * log_index_take_unlogged() - take all unlogged writes
 * @ix: the index
 *
 * Return: a list in the order in which they were seen, or NULL.
 */
struct log_write *log_index_take_unlogged(struct log_index *ix);

/**
 * log_index_put() - a VALID record of a write's sectors is being put in a block
 * @ix: the index
 * @w: the write; its memory is given back with that of others, at log_index_settle() at the
 *	latest
 */
void log_index_put(struct log_index *ix, struct log_write *w);

/**
 * log_index_put_gone() - a GONE record of a run is being put in a block
 * @ix: the index
 * @run: the run
 */
void log_index_put_gone(struct log_index *ix, const struct log_run *run);

/**
 * log_index_forget() - a write will never be put, because the index is given up
 * @ix: the index
 * @w: the write; freed
 */
void log_index_forget(struct log_index *ix, struct log_write *w);

/**
 * log_index_settle() - the puts are durable
 * @ix: the index
 *
 * Releases the extents that they superseded, and gives the memory of the recorded writes back.
 */
void log_index_settle(struct log_index *ix);

/**
 * log_index_begin_round() - a round begins, in which all RING runs are to be repeated
 * @ix: the index; none was left in the round before
 */
void log_index_begin_round(struct log_index *ix);

/**
 * log_index_repeat() - the next run to repeat
 * @ix: the index
 * @run: receives it; it counts as recorded
 *
 * Return: false if none is left.
 */
bool log_index_repeat(struct log_index *ix, struct log_run *run);

/* ---- Recovery: one thread, before anything else ---- */

/**
 * log_index_in_place() - how much of a block lies in a slot as if it were mapped there
 * @ix: the index
 * @block: the block, in blocks of the origin
 * @slot: the slot
 *
 * Return: sectors.
 */
u32 log_index_in_place(struct log_index *ix, u64 block, u32 slot);

/**
 * log_index_replay_valid() - play a VALID record back
 * @ix: the index
 * @run: the run
 *
 * The memory's bound does not count. Context: process, may sleep. Return: 0,
 * -ENOMEM, or -EFBIG when a block has more extents than one of ours could have.
 */
int log_index_replay_valid(struct log_index *ix, const struct log_run *run);

/**
 * log_index_replay_gone() - play a GONE record back
 * @ix: the index
 * @run: the run
 *
 * Context and result are those of log_index_replay_valid().
 */
int log_index_replay_gone(struct log_index *ix, const struct log_run *run);

/**
 * log_index_replayed() - the ring was played back
 * @ix: the index
 *
 * Frees memory that is not needed any more.
 */
void log_index_replayed(struct log_index *ix);

/**
 * log_index_for_each() - call a function for each run of SEEN extents, in no order
 * @ix: the index
 * @fn: must not call the index; ends the walk by a result other than 0
 * @ctx: its argument
 *
 * The walk misses a block that comes in meanwhile. A caller that was told of a block has a
 * read barrier before the walk.
 *
 * Context: any. Return: 0, or the result that ended the walk.
 */
int log_index_for_each(struct log_index *ix,
		       int (*fn)(void *ctx, const struct log_run *run),
		       void *ctx);

/**
 * log_index_visit_from() - as log_index_for_each(), from a bucket of the hash on, and round
 * @ix: the index
 * @fn: as there
 * @ctx: its argument
 * @first: the bucket
 *
 * Context and result are those of log_index_for_each().
 */
int log_index_visit_from(struct log_index *ix,
			 int (*fn)(void *ctx, const struct log_run *run),
			 void *ctx, u32 first);

/**
 * log_index_bucket() - the bucket of a block
 * @ix: the index
 * @block: the block, in blocks of the origin
 */
static inline u32 log_index_bucket(const struct log_index *ix, u64 block)
{
	return hash_64(block, ix->bucket_bits);
}

#ifndef __KERNEL__
/**
 * log_index_check() - check that counts and flags are what the extents say; for tests
 * @ix: the index, which one thread uses
 *
 * Ends the program if one is not.
 */
void log_index_check(struct log_index *ix);
#endif

#endif
