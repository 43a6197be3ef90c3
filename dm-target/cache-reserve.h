/* SPDX-License-Identifier: GPL-2.0-only */
/* The reserve: slots that are kept free for promotions; see cache-reserve.c. */
#ifndef HEARTH_CACHE_RESERVE_H
#define HEARTH_CACHE_RESERVE_H

#include <linux/types.h>

struct cache;

/* Only the eviction worker changes @nr and @short_at, and clears @lacking. */
struct cache_reserve {
	u32 most;		/* slots: the reserve grows no further */
	u32 nr;			/* slots: the reserve at @short_at */
	unsigned long short_at;	/* jiffies when it was last too small */
	bool lacking;		/* a block found no slot since the worker last looked */
};

/**
 * cache_reserve_init() - begin without a reserve
 * @c: a new engine; map.nr_slots need not be set
 * @nr_slots: the slots of the cache
 */
void cache_reserve_init(struct cache *c, u32 nr_slots);

/**
 * cache_reserve_now() - how many slots are to be kept free now
 * @c: the engine
 *
 * Context: any.
 */
u32 cache_reserve_now(struct cache *c);

/**
 * cache_reserve_has_more() - whether more slots are free than the reserve keeps
 * @c: the engine
 *
 * Context: any.
 */
bool cache_reserve_has_more(struct cache *c);

/**
 * cache_reserve_is_short() - whether the eviction has slots to free
 * @c: the engine
 *
 * Context: any.
 */
bool cache_reserve_is_short(struct cache *c);

/**
 * cache_reserve_lacks() - a block has found no free slot
 * @c: the engine
 *
 * The eviction worker is queued.  It makes the reserve grow, and frees slots.
 *
 * Context: any, never sleeps.
 */
void cache_reserve_lacks(struct cache *c);

/**
 * cache_reserve_used() - a block has taken a free slot, or has found none
 * @c: the engine
 * @slot: the slot, or SLOT_NONE
 *
 * If too few free slots are left, the eviction worker is queued.
 *
 * Context: any, never sleeps.
 */
void cache_reserve_used(struct cache *c, u32 slot);

/**
 * cache_reserve_wanted() - let the reserve grow if need be; how many slots to free now?
 * @c: the engine
 *
 * Context: the eviction worker, which alone changes the reserve; does not sleep.
 */
u32 cache_reserve_wanted(struct cache *c);

#endif
