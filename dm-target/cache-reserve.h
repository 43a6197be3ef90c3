/* SPDX-License-Identifier: GPL-2.0-only */
/* How many slots are kept free, see cache-reserve.c. */
#ifndef HEARTH_CACHE_RESERVE_H
#define HEARTH_CACHE_RESERVE_H

#include <linux/types.h>

struct cache;

struct cache_reserve {
	u32 most;		/* slots; the reserve grows no further */
	u32 nr;			/* slots; what it was at short_at.  Changed by the eviction */
	unsigned long short_at;	/* jiffies, when it was last too small */
	bool lacking;		/* a block found no free slot; the eviction takes it off */
};

/**
 * cache_reserve_init() - begin without a reserve
 * @c: the engine; map.nr_slots need not be set
 * @nr_slots: of the cache
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
 * cache_reserve_has_more() - whether more slots are free than the reserve
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
 * cache_reserve_lacks() - a block found no free slot
 * @c: the engine
 *
 * The eviction begins, and the reserve grows.  Context: any.
 */
void cache_reserve_lacks(struct cache *c);

/**
 * cache_reserve_used() - a block took a slot, or found none
 * @c: the engine
 * @slot: the slot, or SLOT_NONE
 *
 * The eviction begins if too few are left.  Context: any.
 */
void cache_reserve_used(struct cache *c, u32 slot);

/**
 * cache_reserve_wanted() - how many slots the eviction should free now
 * @c: the engine
 *
 * Context: the eviction worker, which alone changes the reserve.
 */
u32 cache_reserve_wanted(struct cache *c);

#endif
