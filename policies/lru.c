// SPDX-License-Identifier: GPL-2.0-only
/*
 * lru: every miss is promoted, and the block that was not used for longest is
 * evicted.
 *
 * The baseline, for comparisons and for caches as large as the working set. It
 * must not know how often a block is used; only the sequential cutoff protects
 * it from scans.
 */
#include "clock.h"

#define LRU_ROW(key, unit, def, min, max, help) \
	CACHE_SETTING_ROW(struct clock, key, key, unit, min, max, help)
static const struct cache_tunable lru_tunables[] = {
	SEQ_CUTOFF_SETTING(LRU_ROW)
	{ NULL }
};

SEQ_CUTOFF_SETTING(CACHE_SETTING_ALIAS)

static struct cache_policy *lru_create(const struct cache_policy_params *params)
{
	struct clock *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	if (clock_init(c, params)) {
		kfree(c);
		return NULL;
	}
	return &c->policy;
}

static void lru_destroy(struct cache_policy *p)
{
	clock_exit(to_clock(p));
	kfree(to_clock(p));
}

static enum cache_verdict lru_miss(struct cache_policy *p, u64 block,
				   const struct cache_io *io)
{
	if (clock_cuts(to_clock(p), io))
		return CACHE_BYPASS_STREAM;
	return CACHE_PROMOTE;
}

static const struct cache_policy_ops lru_ops = {
	.name = "lru",
	.version = { 1, 0, 0 },
	.tunables = lru_tunables,
	.owner = THIS_MODULE,
	.create = lru_create,
	.destroy = lru_destroy,
	.hit = clock_hit,
	.miss = lru_miss,
	.victims = clock_victims,
	.victim_busy = clock_victim_busy,
	.inserted = clock_inserted,
	.removed = clock_removed,
	.load = clock_load,
	.load_done = clock_load_done,
	.hint = clock_hint,
	.stats = clock_stats,
};

CACHE_POLICY_MODULE(lru_ops);
MODULE_DESCRIPTION("hearth cache policy: promote every miss, evict the least recently used");
MODULE_LICENSE("GPL");
MODULE_VERSION(HEARTH_VERSION);
