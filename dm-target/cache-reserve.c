// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reserve: slots that are kept free, so that no promotion waits for a
 * demotion.
 *
 * It owns how many they are.  A reserve is of use only while blocks come in faster
 * than demotions are committed.  It costs hits if all blocks that are used would just
 * fit into the cache.  So it follows the need: it begins at zero; when a block has found
 * no free slot it becomes one slot, or twice what it was; and it halves in each second
 * without such a block.  cache-reserve-size.h has the numbers.  It must not know how
 * slots become free, nor which blocks come in.
 */
#include "cache.h"
#include "cache-reserve-size.h"

void cache_reserve_init(struct cache *c, u32 nr_slots)
{
	c->reserve.most = reserve_most(nr_slots);
	c->reserve.short_at = jiffies;
}

u32 cache_reserve_now(struct cache *c)
{
	unsigned long seconds = (jiffies - READ_ONCE(c->reserve.short_at)) / HZ;

	return reserve_left(READ_ONCE(c->reserve.nr), seconds);
}

bool cache_reserve_has_more(struct cache *c)
{
	return READ_ONCE(c->map.nr_free) > cache_reserve_now(c);
}

bool cache_reserve_is_short(struct cache *c)
{
	return READ_ONCE(c->reserve.lacking) ||
	       READ_ONCE(c->map.nr_free) < cache_reserve_now(c);
}

void cache_reserve_lacks(struct cache *c)
{
	WRITE_ONCE(c->reserve.lacking, true);
	cache_want_slots(c);
}

void cache_reserve_used(struct cache *c, u32 slot)
{
	if (slot == SLOT_NONE)
		cache_reserve_lacks(c);
	else if (cache_reserve_is_short(c))
		cache_want_slots(c);
}

/* Once for all blocks that lacked a slot since the eviction last looked. */
static void grow(struct cache *c)
{
	u32 nr = cache_reserve_now(c);

	WRITE_ONCE(c->reserve.lacking, false);
	WRITE_ONCE(c->reserve.nr, reserve_grown(nr, c->reserve.most));
	WRITE_ONCE(c->reserve.short_at, jiffies);
}

u32 cache_reserve_wanted(struct cache *c)
{
	u32 nr_free = READ_ONCE(c->map.nr_free);

	if (READ_ONCE(c->reserve.lacking))
		grow(c);
	return reserve_wanted(cache_reserve_now(c), c->map.nr_slots, nr_free);
}
