/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blocks that were written last, see cache-lately.c.
 *
 * User-space tests compile the list.  The list must not know of slots or locks.
 */
#ifndef HEARTH_CACHE_LATELY_H
#define HEARTH_CACHE_LATELY_H

#include "../os/os.h"

struct cache;

/*
 * So many are kept over a stop: as many as the origin check looks at by default.  In
 * memory there are as many again, because some leave the cache.
 */
#define LATELY_MARKS	32U
#define LATELY_BLOCKS	(2 * LATELY_MARKS)
#define LATELY_NONE	U64_MAX

/* On disk the upper half of a slot's hint is its block's rank, from 1 on; 0: none. */
#define LATELY_SHIFT	16
#define LATELY_HINT	((1U << LATELY_SHIFT) - 1)

/* No block twice, the one that was written last first; LATELY_NONE fills gaps. */
struct lately_list {
	u64 blocks[LATELY_BLOCKS];
};

static inline void lately_clear(struct lately_list *l)
{
	memset(l->blocks, 0xff, sizeof(l->blocks));
}

/* Puts a block to the front; the last one falls off the list. */
static inline void lately_put(struct lately_list *l, u64 block)
{
	u32 i = 0;

	while (i < LATELY_BLOCKS - 1 && l->blocks[i] != block)
		i++;
	memmove(l->blocks + 1, l->blocks, i * sizeof(*l->blocks));
	l->blocks[0] = block;
}

/* A mark of the disk, which may be anything. */
static inline void lately_place(struct lately_list *l, u64 block, u32 rank)
{
	if (rank && rank <= LATELY_MARKS)
		l->blocks[rank - 1] = block;
}

#ifdef __KERNEL__

#include <linux/spinlock.h>

struct cache_lately {
	spinlock_t lock;	/* guards list */
	struct lately_list list;
};

struct lately_mark {
	u32 slot;
	u32 rank;		/* 1: its block was written last */
};

/* In the order of slots. */
struct lately_marks {
	u32 nr, next;
	struct lately_mark marks[LATELY_MARKS];
};

/**
 * cache_lately_init() - no block was written
 * @c: the engine
 */
void cache_lately_init(struct cache *c);

/**
 * cache_lately_note() - a block was written a while ago
 * @c: the engine
 * @block: its number
 *
 * Nothing on the path of a hit calls it.  Context: process.
 */
void cache_lately_note(struct cache *c, u64 block);

/**
 * cache_lately_load() - take a mark from a hint
 * @c: an engine that is being brought up
 * @block: the block of the hint's slot
 * @hint: as it is on disk
 *
 * Return: the policy's hint.
 */
u32 cache_lately_load(struct cache *c, u64 block, u32 hint);

/**
 * cache_lately_marks() - the clean blocks in the cache that were written last
 * @c: the engine; no I/O runs
 * @marks: receives them
 *
 * Context: process.
 */
void cache_lately_marks(struct cache *c, struct lately_marks *marks);

/**
 * cache_lately_rank() - the rank of a slot's block
 * @marks: of cache_lately_marks()
 * @slot: larger than in the call before
 *
 * Return: 1 to LATELY_MARKS, or 0 if the slot has no mark.
 */
u32 cache_lately_rank(struct lately_marks *marks, u32 slot);

#endif
#endif
