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
	struct bio_list bios[2];	/* READ, WRITE: bios that wait for their turn */
	int last;		/* READ or WRITE: the kind that had the last turn */
	u32 sectors;		/* that went home since the last turn */
	u32 nr_ended;		/* blocks that have left write-back; wraps */
	u32 ended_seen;		/* @nr_ended at the last tick */
	bool stalled;		/* no block left write-back between the last two ticks */
	u32 nr_suspending;	/* tables that are being suspended; no bio waits then */
};

/**
 * cache_yield_init() - make the lists empty
 * @c: a new engine
 */
void cache_yield_init(struct cache *c);

/**
 * cache_yield() - whether a bio must wait for its turn beside a drain
 * @c: the engine
 * @bio: a bio for the origin that has no pin, gate or unit
 *
 * A bio waits once at most.
 *
 * Context: any, never sleeps; takes yield.lock.
 *
 * Return: true if the bio waits; it is mapped again when its turn comes.
 */
bool cache_yield(struct cache *c, struct bio *bio);

/**
 * cache_yield_turns() - a block has left write-back: the next bios go on
 * @c: the engine
 *
 * If it was the last block on its way home, all bios go on.
 *
 * Context: any, never sleeps; takes yield.lock, then wait.deferred_lock.
 */
void cache_yield_turns(struct cache *c);

/**
 * cache_yield_tick() - let all bios go on if no block left write-back since the last tick
 * @c: the engine
 *
 * Context: the tick, once a second; takes yield.lock, then wait.deferred_lock.
 */
void cache_yield_tick(struct cache *c);

/**
 * cache_yield_suspend_begins() - a table is being suspended
 * @c: its engine
 *
 * Until cache_yield_suspend_ends() no bio waits for its turn, because a suspend waits
 * for the bios.
 *
 * Context: process; takes yield.lock, then wait.deferred_lock.
 */
void cache_yield_suspend_begins(struct cache *c);

/**
 * cache_yield_suspend_ends() - the table is suspended, or its suspend was called off
 * @c: its engine
 *
 * Context: process; takes yield.lock.
 */
void cache_yield_suspend_ends(struct cache *c);

#endif
