/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blocks that were written last; see cache-lately.c.
 *
 * User-space tests compile the part up to __KERNEL__.  It must not know of slots or
 * locks.
 */
#ifndef HEARTH_CACHE_LATELY_H
#define HEARTH_CACHE_LATELY_H

#include "../os/os.h"

struct cache;

/* Blocks that are marked on the disk: as many as origin_check compares by default. */
#define LATELY_MARKS	32U
/* Blocks in memory: twice as many, because some leave the cache. */
#define LATELY_BLOCKS	(2 * LATELY_MARKS)
#define LATELY_NONE	U64_MAX

/*
 * On the disk the upper half of a slot's hint is the rank of its block: 1 for the block
 * that was written last, 0 for none.  The lower half is the policy's hint.
 */
#define LATELY_SHIFT	16
#define LATELY_HINT	((1U << LATELY_SHIFT) - 1)

/*
 * The block that was written last comes first, and none is there twice.  LATELY_NONE
 * fills gaps.
 */
struct lately_list {
	u64 blocks[LATELY_BLOCKS];
};

/**
 * lately_clear() - make a list empty
 * @l: the list, which the caller guards
 *
 * Context: any.
 */
static inline void lately_clear(struct lately_list *l)
{
	memset(l->blocks, 0xff, sizeof(l->blocks));
}

/**
 * lately_put() - put a block to the front
 * @l: the list, which the caller guards.  If the block is new to a full list, the last
 *	block falls off.
 * @block: the block
 *
 * Context: any.
 */
static inline void lately_put(struct lately_list *l, u64 block)
{
	u32 i = 0;

	while (i < LATELY_BLOCKS - 1 && l->blocks[i] != block)
		i++;
	memmove(l->blocks + 1, l->blocks, i * sizeof(*l->blocks));
	l->blocks[0] = block;
}

/**
 * lately_place() - put a block to the place of its mark
 * @l: the list, which the caller guards
 * @block: the block
 * @rank: the mark, which is from the disk and may be anything
 *
 * Context: any.
 */
static inline void lately_place(struct lately_list *l, u64 block, u32 rank)
{
	if (rank && rank <= LATELY_MARKS)
		l->blocks[rank - 1] = block;
}

#ifdef __KERNEL__

#include <linux/spinlock.h>

struct cache_lately {
	spinlock_t lock;	/* guards @list */
	struct lately_list list;
};

struct lately_mark {
	u32 slot;
	u32 rank;		/* 1: its block was written last */
};

/* The marks for the disk, in the order of slots. */
struct lately_marks {
	/* How many there are; the first that cache_lately_rank() has not passed. */
	u32 nr, next;
	struct lately_mark marks[LATELY_MARKS];
};

/**
 * cache_lately_init() - make the list empty
 * @c: a new engine
 */
void cache_lately_init(struct cache *c);

/**
 * cache_lately_note() - note that a block was written a while ago
 * @c: the engine
 * @block: the block
 *
 * Nothing on the path of a hit calls it.
 *
 * Context: process, does not sleep; takes lately.lock.
 */
void cache_lately_note(struct cache *c, u64 block);

/**
 * cache_lately_load() - take a mark from a hint
 * @c: an engine that is being brought up
 * @block: the block of the hint's slot
 * @hint: the hint as it is on the disk
 *
 * Context: process, does not sleep; takes lately.lock.
 *
 * Return: the policy's hint.
 */
u32 cache_lately_load(struct cache *c, u64 block, u32 hint);

/**
 * cache_lately_marks() - mark the clean blocks of the cache that were written last
 * @c: the engine; no I/O runs
 * @marks: receives the marks, LATELY_MARKS at most
 *
 * Context: process, does not sleep; takes lately.lock.
 */
void cache_lately_marks(struct cache *c, struct lately_marks *marks);

/**
 * cache_lately_rank() - the rank of a slot's block
 * @marks: the marks, as cache_lately_marks() made them
 * @slot: the slot; larger than in the call before
 *
 * Context: any.
 *
 * Return: 1 to LATELY_MARKS, or 0 if the slot has no mark.
 */
u32 cache_lately_rank(struct lately_marks *marks, u32 slot);

#endif
#endif
