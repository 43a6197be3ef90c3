// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples a trace, and runs the policy once for each number of blocks.
 *
 * A sample has too few accesses if it lacks some of the hottest blocks by chance, and too
 * many if it has more of them than its share.  Accesses to the hottest blocks are hits in a
 * cache of any sensible size.  So the missing accesses are counted as hits, and surplus
 * accesses are subtracted from the hits (the adjustment of SHARDS).
 *
 * It must not know devices, caches that run, or the command's options.
 */
#include "curve.h"
#include "run.h"

#define LEFT_OUT	U32_MAX
/* Slots for each block of the sample.  More slots would change nothing, and cost memory. */
#define MORE_THAN_ENOUGH	2.

static u64 mix(u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/* Gives new ids to the blocks of the sample, and LEFT_OUT to all others.  Allocated. */
static u32 *choose(struct sampled *s, const struct accesses *all)
{
	u64 limit = s->rate < 1 ? (u64)(s->rate * 0x1p64) : U64_MAX;
	u32 *ids = malloc(all->nr_blocks * sizeof(*ids)), i;

	s->part.blocks = malloc(all->nr_blocks * sizeof(*s->part.blocks));
	if (!ids || !s->part.blocks)
		abort();
	for (i = 0; i < all->nr_blocks; i++) {
		ids[i] = LEFT_OUT;
		if (mix(all->blocks[i] + 77) > limit)
			continue;
		ids[i] = s->part.nr_blocks;
		s->part.blocks[s->part.nr_blocks++] = all->blocks[i];
	}
	return ids;
}

void sample_blocks(struct sampled *s, const struct accesses *all, u32 enough)
{
	u32 *ids, i;

	memset(s, 0, sizeof(*s));
	s->rate = all->nr_blocks > enough ? (double)enough / all->nr_blocks : 1;
	s->part.block_sectors = all->block_sectors;
	s->part.all = malloc((all->nr + 1ULL) * sizeof(*s->part.all));
	if (!s->part.all)
		abort();
	ids = choose(s, all);
	for (i = 0; i < all->nr; i++) {
		struct access a = all->all[i];

		a.source = a.op == CACHE_OP_WRITE;
		s->expected[a.source] += s->rate;
		if (ids[a.id] == LEFT_OUT)
			continue;
		a.id = ids[a.id];
		s->part.all[s->part.nr++] = a;
	}
	free(ids);
}

void sampled_free(struct sampled *s)
{
	accesses_free(&s->part);
}

static double adjusted(const struct account *a, double expected)
{
	double hits = a->hits + expected - a->accesses;

	return hits < 0 ? 0 : hits > expected ? expected : hits;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

int curve_point(const struct sampled *s, const char *policy, double blocks,
		bool rotational, struct point *p)
{
	struct model_params params = {
		.nr_slots = max(1., min(blocks * s->rate + .5,
					MORE_THAN_ENOUGH * s->part.nr_blocks)),
		.accesses = &s->part,
		.rotational = rotational,
	};
	struct account acc[2] = { 0 }, both;
	struct figures f;
	struct model *m;
	double hits[2];

	m = strcmp(policy, "LRU") ? hosted_create(policy, &params) :
				    classic_create(policy, &params);
	if (!m)
		return -1;
	m->accesses = &s->part;
	m->nr_slots = params.nr_slots;
	run(m, acc, NULL);
	m->destroy(m);
	hits[0] = adjusted(&acc[0], s->expected[0]);
	hits[1] = adjusted(&acc[1], s->expected[1]);
	both = acc[0];
	account_add(&both, &acc[1]);
	f = account_figures(&both);
	p->hits = ratio(hits[0] + hits[1], s->expected[0] + s->expected[1]);
	p->read_hits = ratio(hits[0], s->expected[0]);
	p->time_saved = max(0., f.fetch_saved);
	p->ssd_per_user = f.ssd_per_user;
	return 0;
}
