// SPDX-License-Identifier: GPL-2.0-only
/*
 * twice: promote a block at its second miss; evict what was not used.
 * The example of docs/writing-a-policy.md.
 */
#include "clock.h"

#define ERAS	2		/* of a cache size of misses each */

struct twice {
	struct clock clock;	/* first: residency, and the common head */
	u8 *seen;		/* one byte for a hash value: the era of its miss */
	u32 misses;
};

static struct twice *to_twice(struct cache_policy *p)
{
	return container_of(p, struct twice, clock.policy);
}

#define TWICE_ROW(key, unit, def, min, max, help) \
	CACHE_SETTING_ROW(struct twice, clock.key, key, unit, min, max, help)
static const struct cache_tunable twice_tunables[] = {
	SEQ_CUTOFF_SETTING(TWICE_ROW)
	{ NULL }
};

SEQ_CUTOFF_SETTING(CACHE_SETTING_ALIAS)

static struct cache_policy *twice_create(const struct cache_policy_params *params)
{
	struct twice *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	t->seen = kvcalloc(params->nr_slots, 1, GFP_KERNEL);
	if (!t->seen || clock_init(&t->clock, params)) {
		kvfree(t->seen);
		kfree(t);
		return NULL;
	}
	return &t->clock.policy;
}

static void twice_destroy(struct cache_policy *p)
{
	struct twice *t = to_twice(p);

	clock_exit(&t->clock);
	kvfree(t->seen);
	kfree(t);
}

/* Any context, no lock: racy loads and stores only. */
static enum cache_verdict twice_miss(struct cache_policy *p, u64 block,
				     const struct cache_io *io)
{
	struct twice *t = to_twice(p);
	u32 nr = p->params.nr_slots;
	u32 misses = READ_ONCE(t->misses);
	u8 era = 1 + misses / nr % 255;		/* 0 is never */
	u64 hash = block * 0x9e3779b97f4a7c15ull;
	u8 *seen = &t->seen[mul_u32_u32(hash >> 32, nr) >> 32];
	u8 last = READ_ONCE(*seen);

	if (fifo_filling(&t->clock.links, io))
		return CACHE_PROMOTE;
	if (clock_cuts(&t->clock, io))
		return CACHE_BYPASS_STREAM;
	WRITE_ONCE(t->misses, misses + 1);
	WRITE_ONCE(*seen, era);
	if (last && (u8)(era - last) < ERAS)
		return CACHE_PROMOTE;
	return CACHE_BYPASS_COLD;
}

static const struct cache_policy_ops twice_ops = {
	.name = "twice",
	.version = { 1, 0, 0 },
	.tunables = twice_tunables,
	.owner = THIS_MODULE,
	.create = twice_create,
	.destroy = twice_destroy,
	.hit = clock_hit,
	.miss = twice_miss,
	.victims = clock_victims,
	.victim_busy = clock_victim_busy,
	.inserted = clock_inserted,
	.removed = clock_removed,
	.load = clock_load,
	.load_done = clock_load_done,
	.hint = clock_hint,
};

CACHE_POLICY_MODULE(twice_ops);
MODULE_DESCRIPTION("hearth cache policy: promote at the second miss");
MODULE_LICENSE("GPL");
