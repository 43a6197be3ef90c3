// SPDX-License-Identifier: GPL-2.0-only
/*
 * The origin check: does the cache still belong to this origin?
 *
 * A block that is clean in the cache equals the origin's (I2), so the cache is its
 * own witness.  Before the first hit some clean blocks are read from both devices
 * and compared.  If they differ, somebody has written the origin without the
 * cache: another host, or an array that went back to a snapshot.
 *
 * This file owns which blocks can be witnesses and how many may differ; cache-witness.h
 * chooses among them.  It changes nothing.  It must not know what becomes of a cache
 * whose origin is another one.
 */
#include "cache-compare.h"
#include "cache-witness.h"
#include "cache.h"

#include <linux/prandom.h>
#include <linux/sort.h>

/* One in so many of the blocks that are compared may differ; see may_differ(). */
#define ODD_SHARE	16U

/* ---- The choice ---- */

/* I2: is the disk sure that both copies of the block are equal? */
static bool can_witness(struct cache *c, const struct slot *s)
{
	u32 word = slot_word(s);

	return slot_state(word) == SLOT_VALID &&
	       !(word & (SLOT_DIRTY | SLOT_INTENT)) &&
	       slot_block(s) < c->geo.origin_blocks;
}

/* The blocks that were written last come before those that the policy keeps longest. */
static u32 worth_of(struct cache *c, u32 slot, struct lately_marks *lately)
{
	u32 rank = cache_lately_rank(lately, slot);

	if (rank)
		return WITNESS_WORTH_MAX - rank + 1;
	return c->policy.p->ops->hint ?
	       c->policy.p->ops->hint(c->policy.p, slot) : 0;
}

static u32 choose(struct cache *c, struct witness *all, u32 max)
{
	struct lately_marks lately;
	struct rnd_state random;
	struct witnesses ws;
	struct slot *s;
	u32 i;

	prandom_seed_state(&random, get_random_u64());
	witnesses_begin(&ws, all, max);
	cache_lately_marks(c, &lately);
	for (i = 0; i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		s = slot_at(&c->map, i);
		if (can_witness(c, s))
			witnesses_offer(&ws, i, slot_block(s),
					worth_of(c, i, &lately),
					prandom_u32_state(&random));
	}
	return witnesses_end(&ws);
}

/* ---- The comparison ---- */

static int by_block(const void *a, const void *b)
{
	const struct cache_piece *x = a, *y = b;

	return x->block < y->block ? -1 : x->block > y->block;
}

/* A piece from anywhere in its block; the first piece of block 0. */
static struct cache_piece piece_of(struct cache *c, const struct witness *w)
{
	u32 sectors = min(c->geo.block_sectors, COMPARE_SECTORS);
	u32 room = c->geo.block_sectors - sectors;

	return (struct cache_piece) {
		.slot = w->slot,
		.block = w->block,
		.offset = w->block ?
			  round_down(w->chance % (room + 1), PAGE_SECTORS) : 0,
		.sectors = sectors,
		/* The kernel's own target leaves a discarded block in its cache. */
		.zeros_excused = !c->settings.own,
	};
}

static void add_up(const struct cache_piece *pieces, u32 nr,
		   struct origin_result *result)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		result->nr_compared += !pieces[i].failed;
		if (!pieces[i].differs)
			continue;
		if (!result->nr_differ)
			result->first = pieces[i].block;
		if (result->nr_differ < ORIGIN_ODD_MAX)
			result->odd[result->nr_differ] = pieces[i].slot;
		result->nr_differ++;
	}
}

static int compare_some(struct cache *c, struct witness *all,
			struct cache_piece *pieces, u32 max,
			struct origin_result *result)
{
	u32 nr = choose(c, all, max), i;
	int r;

	for (i = 0; i < nr; i++)
		pieces[i] = piece_of(c, &all[i]);
	/* The disk's head moves one way. */
	sort(pieces, nr, sizeof(*pieces), by_block, NULL);
	r = cache_compare(c, pieces, nr);
	if (!r)
		add_up(pieces, nr, result);
	return r;
}

int cache_origin_compare(struct cache *c, struct origin_result *result)
{
	u32 max = READ_ONCE(c->limits.origin_check);
	struct cache_piece *pieces;
	struct witness *all;
	int r = -ENOMEM;

	memset(result, 0, sizeof(*result));
	if (!max)
		return 0;
	all = kvmalloc_array(max, sizeof(*all), GFP_KERNEL);
	pieces = kvmalloc_array(max, sizeof(*pieces), GFP_KERNEL);
	if (all && pieces)
		r = compare_some(c, all, pieces, max, result);
	kvfree(pieces);
	kvfree(all);
	return r;
}

/*
 * A page that its owner changes while writethrough writes it to both devices leaves
 * two different copies, and they stay so if the owner does not write it again: a
 * page of swap, of a deleted file, of a virtual machine.  So one or two blocks of
 * 32 prove nothing.  A difference in block 0 does prove that the origin was written,
 * because a file system does not change its superblock so.
 */
static u32 may_differ(u32 nr_compared)
{
	return min(nr_compared / ODD_SHARE, ORIGIN_ODD_MAX);
}

bool cache_origin_is_another(const struct origin_result *result)
{
	return !result->first ||
	       result->nr_differ > may_differ(result->nr_compared);
}
