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

/**
 * cache_yield_init() - make the list empty
 * @c: a new engine
 */
void cache_yield_init(struct cache *c);

/**
 * cache_yield() - whether a bio must wait for its turn beside a drain
 * @c: the engine
 * @bio: is for the origin and holds nothing
 *
 * A bio waits once at most.  Context: any, never sleeps; takes yield.lock.
 *
 * Return: true: it waits, and is mapped again when its turn comes.
 */
bool cache_yield(struct cache *c, struct bio *bio);

/**
 * cache_yield_turns() - a block has left write-back: bios whose turn it is go on
 * @c: the engine
 *
 * Context: any, never sleeps; takes yield.lock.
 */
void cache_yield_turns(struct cache *c);

/**
 * cache_yield_tick() - let all go on if no block has ended since the last tick
 * @c: the engine
 *
 * Context: the tick, once a second; takes yield.lock.
 */
void cache_yield_tick(struct cache *c);

/**
 * cache_yield_suspend_begins() - a table is being suspended
 * @c: its engine
 *
 * Until cache_yield_suspend_ends() no bio waits for its turn, because a suspend waits
 * for the bios.  Context: process; takes yield.lock.
 */
void cache_yield_suspend_begins(struct cache *c);

/**
 * cache_yield_suspend_ends() - the table is suspended, or goes on
 * @c: its engine
 *
 * Context: process; takes yield.lock.
 */
void cache_yield_suspend_ends(struct cache *c);

#endif
