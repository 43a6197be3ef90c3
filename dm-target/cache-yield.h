/* SPDX-License-Identifier: GPL-2.0-only */
/* Users yield to a drain, see cache-yield.c. */
#ifndef HEARTH_CACHE_YIELD_H
#define HEARTH_CACHE_YIELD_H

#include <linux/bio.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct cache;

struct cache_yield {
	spinlock_t lock;	/* guards the rest */
	struct bio_list bios[2];	/* wait for their turn: READ, WRITE */
	int last;		/* READ or WRITE: had the last turn */
	u32 sectors;		/* that went home since the last turn */
	u32 nr_ended;		/* blocks that have left write-back; wraps */
	u32 ended_seen;		/* nr_ended at the last tick */
	bool stalled;		/* no block has ended between two ticks */
	u32 nr_suspending;	/* tables: meanwhile no bio waits */
};

void cache_yield_init(struct cache *c);
/*
 * Must @bio, which is for the origin and holds nothing, wait for its turn?  If
 * so, it is mapped again when its turn comes.  A bio waits once at most.  Any
 * context.
 */
bool cache_yield(struct cache *c, struct bio *bio);
/* A block has left write-back: the bios whose turn it is go on.  Any context. */
void cache_yield_turns(struct cache *c);
/* Once a second; from the tick. */
void cache_yield_tick(struct cache *c);
/*
 * Between these two calls a table of @c is being suspended.  No bio waits for its
 * turn, because a suspend waits for the bios.  Process context.
 */
void cache_yield_suspend_begins(struct cache *c);
void cache_yield_suspend_ends(struct cache *c);

#endif
