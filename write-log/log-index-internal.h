/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of the write log's index; no other file includes it. See
 * log-index.h for the words and the locks.
 *
 * log-blocks.c has the memory and the table of blocks, log-segments.c the counts,
 * log-extents.c what is inside a block. log-index.c (writes, readers, moves) and
 * log-record.c (the ring's writer, recovery) are made of these.
 */
#ifndef HEARTH_LOG_INDEX_INTERNAL_H
#define HEARTH_LOG_INDEX_INTERNAL_H

#include "log-index.h"

/*
 * Extents that one write may add to its block. When it is seen, 3: itself, and one
 * more at each of its borders. Later 1: if it hides the middle of an unlogged
 * extent, that is split when it is recorded. When the write is recorded, 4: itself,
 * one more where it splits a run, and one at each of its borders that lies inside a
 * lengthened extent.
 */
#define LOG_WRITE_ROOM	8
/*
 * A run that leaves may split an extent at each of its ends, once for RING and once
 * for SEEN.
 */
#define LOG_LEAVE_ROOM	4

/* ---- Memory (log-blocks.c) ---- */

/**
 * log_index_alloc() - take memory of the index's share
 * @ix: the index
 * @bytes: how much
 * @nowait: the caller may not sleep
 * @bounded: refuse what goes beyond log_index::max_bytes
 * @error: receives -ENOSPC or -ENOMEM, if there is none
 *
 * Any context if @nowait. Return: the memory, not zeroed, for log_index_free(); or
 * NULL.
 */
void *log_index_alloc(struct log_index *ix, size_t bytes, bool nowait,
		      bool bounded, int *error);

/**
 * log_write_alloc() - as log_index_alloc(), bounded, for a write
 * @ix: the index
 * @nowait: the caller may not sleep
 *
 * Any context if @nowait. Return: the write, not zeroed; or ERR_PTR(-ENOSPC) or
 * ERR_PTR(-ENOMEM).
 */
struct log_write *log_write_alloc(struct log_index *ix, bool nowait);

/**
 * log_index_is_roomy() - is so little memory in use that blocks may have more than they need?
 * @ix: the index
 *
 * Context: any.
 */
static inline bool log_index_is_roomy(const struct log_index *ix)
{
	return atomic64_read(&ix->bytes) < ix->roomy_bytes;
}

/**
 * log_index_free() - give memory back
 * @ix: the index
 * @p: what log_index_alloc() returned
 * @bytes: as it was asked for
 *
 * Context: any.
 */
void log_index_free(struct log_index *ix, void *p, size_t bytes);

/**
 * log_write_free_later() - a write was recorded, and its memory is needed no more
 * @ix: the index
 * @w: the write
 *
 * Context: the ring's writer.
 */
void log_write_free_later(struct log_index *ix, struct log_write *w);

/**
 * log_writes_free() - give back the memory of the writes that log_write_free_later() has
 * @ix: the index
 *
 * Context: the ring's writer, or a caller that has the index alone.
 */
void log_writes_free(struct log_index *ix);

/* ---- Segments (log-segments.c) ---- */

/**
 * struct log_change - numbers that are added to a segment's counts
 * @seen: sectors that readers find, or will find when a write has ended
 * @ring: sectors that the ring relies on, or has yet to record, with those of writes in flight
 * @unlogged: of these, seen ones that it has yet to record; 0 unless LOG_RULES_CAN_BREAK
 * @held: callers that hold it
 * @leaving: runs that leave
 *
 * They may be negative.
 */
struct log_change {
	int seen, ring, unlogged, held, leaving;
};

/**
 * log_open_segment() - lend a slot to the log
 * @ix: the index
 * @slot: the slot
 * @nowait: the caller may not sleep
 * @bounded: refuse what goes beyond log_index::max_bytes; recovery does not
 *
 * Any context if @nowait. Return: 0, -EEXIST, -ENOMEM or -ENOSPC.
 */
int log_open_segment(struct log_index *ix, u32 slot, bool nowait, bool bounded);

/**
 * log_count_in_segment() - change a segment's counts
 * @ix: the index
 * @slot: the segment; nothing happens if it is none
 * @c: what to add
 *
 * Context: any; takes the segment's lock, so the caller may hold a block's.
 */
void log_count_in_segment(struct log_index *ix, u32 slot, struct log_change c);

/**
 * log_count_under_block() - the same, for a caller that holds a block's lock
 * @ix: the index
 * @slot: the segment; nothing happens if it is none
 * @c: what to add
 *
 * It takes fewer instructions, because interrupts are off already. Context: any, under the
 * lock of any block.
 */
void log_count_under_block(struct log_index *ix, u32 slot, struct log_change c);

/**
 * log_release_in_segment() - the ring is about to rely on fewer sectors
 * @ix: the index
 * @slot: the segment
 * @sectors: whose record is superseded in a block that is not durable yet
 *
 * The segment stays in use until log_index_settle(). Context: the ring's writer, or
 * recovery, under the lock of a block.
 */
void log_release_in_segment(struct log_index *ix, u32 slot, u32 sectors);

/* ---- Blocks (log-blocks.c) ---- */

/**
 * log_bucket_lock() - the lock that guards a bucket's chain
 * @ix: the index
 * @bucket: the bucket
 *
 * Context: any.
 */
static inline spinlock_t *log_bucket_lock(struct log_index *ix, u32 bucket)
{
	return &ix->locks[bucket / 64 % LOG_NR_LOCKS];
}

/**
 * log_block_lock() - the lock that guards a block's chain
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * Context: any.
 */
static inline spinlock_t *log_block_lock(struct log_index *ix, u64 block)
{
	return log_bucket_lock(ix, log_index_bucket(ix, block));
}

/**
 * log_bucket_find() - as log_block_find(), for a caller that knows the block's bucket
 * @ix: the index
 * @bucket: the bucket
 * @block: the block, in blocks of the origin
 *
 * Context: any, under the bucket's lock. Return: as log_block_find().
 */
static inline struct log_block **log_bucket_find(struct log_index *ix, u32 bucket, u64 block)
{
	struct log_block **link = &ix->buckets[bucket];

	lockdep_assert_held(log_bucket_lock(ix, bucket));
	while (*link && (*link)->block != block)
		link = &(*link)->next;
	return link;
}

/**
 * log_block_find() - where a block hangs
 * @ix: the index
 * @block: the block, in blocks of the origin
 *
 * Context: any, under the block's lock. Return: the link; what it points to is NULL if
 * the index has no such block.
 */
static inline struct log_block **log_block_find(struct log_index *ix, u64 block)
{
	return log_bucket_find(ix, log_index_bucket(ix, block), block);
}

/**
 * log_block_lock_room() - lock a block, and have it exist with room for more extents
 * @ix: the index
 * @block: the block, in blocks of the origin
 * @more: extents, which are reserved
 * @nowait: the caller may not sleep
 * @bounded: refuse what goes beyond log_index::max_bytes
 * @link: receives where the block hangs
 * @flags: receives what spin_unlock_irqrestore() takes
 *
 * Any context if @nowait. Return: 0, and log_block_lock() is held; or -EFBIG,
 * -ENOMEM or -ENOSPC, and nothing is.
 */
int log_block_lock_room(struct log_index *ix, u64 block, u32 more,
			bool nowait, bool bounded, struct log_block ***link,
			unsigned long *flags);

/**
 * log_block_shrink_idle() - as log_block_shrink(), however much memory is in use
 * @ix: the index
 * @link: where it hangs; nothing is reserved in it
 *
 * Context: any, under the block's lock.
 */
void log_block_shrink_idle(struct log_index *ix, struct log_block **link);

/**
 * log_block_shrink() - give memory back that a block needs no more
 * @ix: the index
 * @link: where it hangs; the block is gone afterwards if nothing is in it
 *
 * A block with extents stays as it is while the index has memory to spare, because each write
 * needs room for several extents until it is recorded: a block that is written from time to
 * time would be copied twice for each of these writes.
 *
 * Context: any, under the block's lock.
 */
static inline void log_block_shrink(struct log_index *ix, struct log_block **link)
{
	const struct log_block *b = *link;

	if (!b->reserved && !(b->nr && log_index_is_roomy(ix)))
		log_block_shrink_idle(ix, link);
}

/**
 * log_blocks_slim_all() - have all blocks give memory back that they have kept
 * @ix: the index
 *
 * Context: the ring's writer, or recovery; takes locks of blocks.
 */
void log_blocks_slim_all(struct log_index *ix);

/**
 * log_blocks_slim_some() - a part of the same, of which some is left
 * @ix: the index
 *
 * Context and locks are those of log_blocks_slim_all().
 */
void log_blocks_slim_some(struct log_index *ix);

/**
 * log_blocks_slim() - a write was recorded: go on to have blocks give memory back
 * @ix: the index
 *
 * Once the index has no memory to spare, a call for each write has all blocks give back, after
 * some time, what they have kept.  Before that, it only remembers that all blocks are left.
 *
 * Context and locks are those of log_blocks_slim_all().
 */
static inline void log_blocks_slim(struct log_index *ix)
{
	if (likely(log_index_is_roomy(ix)))
		ix->slim_left = 1U << ix->bucket_bits;
	else if (ix->slim_left)
		log_blocks_slim_some(ix);
}

/**
 * log_block_is_unused() - is there nothing in the block, and nothing under way to it?
 * @ix: the index
 * @b: the block
 *
 * Context: any, under the block's lock.
 */
bool log_block_is_unused(struct log_index *ix, const struct log_block *b);

/* Extents in a block of so many bytes. */
#define LOG_CLASS_ROOM(bytes) \
	(((bytes) - sizeof(struct log_block)) / sizeof(struct log_extent))
/* The sizes of a block, from 64 to LOG_MOST_BYTES bytes. */
#define LOG_NR_CLASSES	10
#define LOG_MOST_BYTES	8192U

/* Extents in a block of each class: a table, because a division takes longer. */
extern const u16 log_class_rooms[LOG_NR_CLASSES];

/**
 * log_block_has_room() - has the block room for more extents already?
 * @b: the block
 * @more: extents
 *
 * Context: any, under the block's lock. Return: true for most writes.
 */
static inline bool log_block_has_room(const struct log_block *b, u32 more)
{
	return b->nr + b->reserved + more <= log_class_rooms[b->class];
}

/* Extents in a block of the largest class. */
#define LOG_MOST_ROOM	LOG_CLASS_ROOM(LOG_MOST_BYTES)

/* ---- Extents of one block (log-extents.c), under its lock, in any context ---- */

/**
 * log_end_of() - the sector behind an extent, in its block
 * @e: the extent
 */
static inline u32 log_end_of(const struct log_extent *e)
{
	return e->sector + e->last + 1;
}

/**
 * log_same_place() - does an extent lie where a run has it?
 * @e: the extent
 * @run: the run
 */
static inline bool log_same_place(const struct log_extent *e,
				  const struct log_run *run)
{
	return e->slot == run->slot &&
	       e->at - e->sector == run->at - run->sector;
}

/**
 * log_set_run() - make a run of one extent
 * @run: receives the run
 * @block: the extent's block, in blocks of the origin
 * @e: the extent
 */
static inline void log_set_run(struct log_run *run, u64 block,
			       const struct log_extent *e)
{
	*run = (struct log_run) {
		.block = block, .slot = e->slot, .sector = e->sector,
		.sectors = e->last + 1, .at = e->at,
	};
}

/**
 * log_extend_run() - lengthen a run by an extent, if the run goes on there
 * @run: the run
 * @e: the extent
 *
 * Return: false if it does not, and nothing has changed.
 */
static inline bool log_extend_run(struct log_run *run, const struct log_extent *e)
{
	if (e->slot != run->slot || e->sector != run->sector + run->sectors ||
	    e->at != run->at + run->sectors)
		return false;
	run->sectors += e->last + 1;
	return true;
}

/**
 * log_first_from() - the first extent that begins at a sector or behind it
 * @b: the block
 * @sector: of the block
 *
 * Return: its number, or log_block::nr if there is none.
 */
static inline u32 log_first_from(const struct log_block *b, u32 sector)
{
	u32 low = 0, high = b->nr;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (b->extents[middle].sector < sector)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * log_flag_before() - the last extent with a flag before another extent
 * @b: the block
 * @i: the other's number, or log_block::nr
 * @flag: LOG_SEEN or LOG_RING
 *
 * Return: its number, or log_block::nr if there is none.
 */
static inline u32 log_flag_before(const struct log_block *b, u32 i, u16 flag)
{
	while (i && !(b->extents[i - 1].flags & flag))
		i--;
	return i ? i - 1 : b->nr;
}

/**
 * log_add_extent() - put an extent in
 * @b: a block with room for it
 * @e: the extent
 *
 * Return: its number in the block.
 */
u32 log_add_extent(struct log_block *b, struct log_extent e);

/**
 * log_split_at() - split the extent that has a border inside
 * @b: a block with room for one more
 * @border: the first sector of the second half, in the block
 * @flag: LOG_SEEN or LOG_RING, which it has; so there is one at most
 * @place: where the extent has to lie, or NULL for anywhere
 */
void log_split_at(struct log_block *b, u32 border, u16 flag,
		  const struct log_run *place);

/**
 * log_clear_flag() - take a flag off a range of sectors
 * @ix: the index, whose segments count it
 * @b: a block with room for an extent at each border
 * @range: the sectors
 * @flag: LOG_SEEN or LOG_RING
 * @place: where the extents have to lie, or NULL for anywhere
 *
 * Return: how many extents have changed; 0 with most writes, and 1 only if no extent was
 * split.
 */
u32 log_clear_flag(struct log_index *ix, struct log_block *b, const struct log_run *range,
		   u16 flag, const struct log_run *place);

/**
 * log_adjoin() - does an extent go on with another, in its block and in the log?
 * @a: the first
 * @b: the one behind it
 */
static inline bool log_adjoin(const struct log_extent *a, const struct log_extent *b)
{
	return a->slot == b->slot && log_end_of(a) == b->sector &&
	       a->at + a->last + 1 == b->at;
}

/**
 * log_may_join() - may two neighbours be one extent?
 * @a: the first
 * @b: the one behind it
 */
static inline bool log_may_join(const struct log_extent *a, const struct log_extent *b)
{
	return a->flags == b->flags && log_adjoin(a, b);
}

/**
 * log_tidy() - join neighbours of which the one continues the other
 * @b: the block
 */
void log_tidy(struct log_block *b);

/**
 * log_tidy_at() - as log_tidy(), if some neighbours have changed, all in the same way
 * @b: the block
 * @first: the number of the first extent that has changed
 * @last: the number of the last one
 */
static inline void log_tidy_at(struct log_block *b, u32 first, u32 last)
{
	const struct log_extent *e = b->extents;

	if ((first && log_may_join(&e[first - 1], &e[first])) ||
	    (last + 1 < b->nr && log_may_join(&e[last], &e[last + 1])))
		log_tidy(b);
}

/**
 * log_tidy_near() - as log_tidy(), if extents have changed that are next to each other
 * @b: the block
 * @i: the number of an extent that has changed; others are its direct neighbours
 */
void log_tidy_near(struct log_block *b, u32 i);

/**
 * log_show_run() - readers find a run from here on, instead of what they found there
 * @ix: the index, whose segments count it already
 * @b: a block with room for three extents more
 * @run: the run
 */
void log_show_run(struct log_index *ix, struct log_block *b, const struct log_run *run);

/**
 * log_next_in_ring() - the next extent with LOG_RING
 * @b: the block
 * @i: the extent's number before it; -1 for the first
 *
 * Return: its number, or log_block::nr if there is none.
 */
static inline u32 log_next_in_ring(const struct log_block *b, u32 i)
{
	do {
		i++;
	} while (i < b->nr && !(b->extents[i].flags & LOG_RING));
	return i;
}

/**
 * log_same_run() - does one record cover both extents?
 * @a: an extent with LOG_RING
 * @b: the next one with LOG_RING
 */
static inline bool log_same_run(const struct log_extent *a, const struct log_extent *b)
{
	return log_adjoin(a, b) && (a->flags & LOG_ROUND) == (b->flags & LOG_ROUND);
}

/**
 * struct log_runs - runs of a block
 * @nr: how many
 * @old: of these, not recorded in this round
 */
struct log_runs {
	u32 nr, old;
};

/**
 * log_count_runs() - count a block's runs
 * @ix: the index
 * @b: the block
 */
struct log_runs log_count_runs(const struct log_index *ix,
			       const struct log_block *b);

/**
 * log_recount_runs() - bring the index's sums up to date
 * @ix: the index
 * @b: the block, which has changed
 * @before: its runs before that
 *
 * Context: the ring's writer, or recovery.
 */
void log_recount_runs(struct log_index *ix, const struct log_block *b,
		      struct log_runs before);

/**
 * log_list_for_round() - have the block in the round's list if it has LOG_RING
 * @ix: the index
 * @b: the block
 */
void log_list_for_round(struct log_index *ix, struct log_block *b);

/**
 * log_ring_changed() - tidy, count, list and shrink a block
 * @ix: the index
 * @link: where the block hangs; it may be gone afterwards
 * @before: its runs before the change
 *
 * Context: the ring's writer, or recovery.
 */
void log_ring_changed(struct log_index *ix, struct log_block **link,
		      struct log_runs before);

/**
 * log_may_leave() - how many runs of a block can leave at a time
 * @ix: the index
 * @b: the block, whose room is the limit
 * @n: runs that would
 */
static inline u32 log_may_leave(const struct log_index *ix, const struct log_block *b, u32 n)
{
	u32 used = b->nr + b->reserved, left = U16_MAX - b->reserved;

	if (2 * ix->block_sectors > LOG_MOST_ROOM)
		left = min_t(u32, left, used < LOG_MOST_ROOM ? LOG_MOST_ROOM - used : 0);
	return min(n, left / LOG_LEAVE_ROOM);
}

#endif
