// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks that were written last.  If somebody else writes the origin, or puts
 * it back to an earlier state, these blocks are the most likely to differ, so the
 * origin check looks at them.
 *
 * A write that hits notes nothing, because the path of a hit must not get longer.  But
 * it leaves SLOT_TOUCHED behind, and it needs an intent (I2).  The block is noted when
 * the intent is taken back, or when it went home, or when it was promoted after a
 * write that missed.
 *
 * This file owns the list in memory, and how it gets over a stop: in the upper halves
 * of the hints.  The kernel's own target and older modules of hearth take a hint above
 * 63 as 63, so they keep these few blocks longest.  It must not know what the list is
 * for.
 */
#include "cache.h"

#include <linux/sort.h>

void cache_lately_init(struct cache *c)
{
	spin_lock_init(&c->lately.lock);
	lately_clear(&c->lately.list);
}

void cache_lately_note(struct cache *c, u64 block)
{
	spin_lock(&c->lately.lock);
	lately_put(&c->lately.list, block);
	spin_unlock(&c->lately.lock);
}

u32 cache_lately_load(struct cache *c, u64 block, u32 hint)
{
	spin_lock(&c->lately.lock);
	lately_place(&c->lately.list, block, hint >> LATELY_SHIFT);
	spin_unlock(&c->lately.lock);
	return hint & LATELY_HINT;
}

static int by_slot(const void *a, const void *b)
{
	const struct lately_mark *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

void cache_lately_marks(struct cache *c, struct lately_marks *marks)
{
	u64 block;
	u32 i, slot;

	marks->nr = 0;
	marks->next = 0;
	spin_lock(&c->lately.lock);
	for (i = 0; i < LATELY_BLOCKS && marks->nr < LATELY_MARKS; i++) {
		block = c->lately.list.blocks[i];
		slot = block == LATELY_NONE ? SLOT_NONE :
					      slot_map_find(&c->map, block);
		if (slot == SLOT_NONE ||
		    (slot_word(slot_at(&c->map, slot)) & SLOT_DIRTY))
			continue;
		marks->marks[marks->nr].slot = slot;
		marks->marks[marks->nr].rank = marks->nr + 1;
		marks->nr++;
	}
	spin_unlock(&c->lately.lock);
	sort(marks->marks, marks->nr, sizeof(*marks->marks), by_slot, NULL);
}

u32 cache_lately_rank(struct lately_marks *marks, u32 slot)
{
	struct lately_mark *m = marks->marks;

	while (marks->next < marks->nr && m[marks->next].slot < slot)
		marks->next++;
	return marks->next < marks->nr && m[marks->next].slot == slot ?
	       m[marks->next].rank : 0;
}
