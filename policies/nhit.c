// SPDX-License-Identifier: GPL-2.0-only
/*
 * nhit: a block is promoted at its n-th visit, as Open CAS's policy of that
 * name does it.
 *
 * Until @trigger percent of the cache are in use, every miss is promoted. Visits
 * are counted in a hashed table of one entry per slot; a block that was not
 * visited for long makes room for another. Residency is CLOCK. nhit looks at
 * one block at a time and never learns.
 *
 * It must not know of streams: the cutoff is the clock's.
 */
#include "clock.h"
#include "nhit-settings.h"
#include "tables.h"

/* A bucket of 8 entries is half a cache line, so a look at it touches one line. */
#define NHIT_WAYS		8
/* An entry of the table: fingerprint 16, visits 10, when 6; zero is empty. */
#define NHIT_FP_MASK		0xffffu
#define NHIT_VISITS_SHIFT	16
#define NHIT_VISITS_MASK	0x3ffu
#define NHIT_TIME_SHIFT		26
#define NHIT_TIME_MASK		0x3fu

struct nhit {
	struct clock clock;

	NHIT_SETTINGS(CACHE_SETTING_MEMBER)

	/* Read and stored by any call, without a lock. */
	u32 *table;
	u32 misses;

	u32 nr_buckets;
	unsigned int time_shift;	/* misses to the table's time */
};

static struct nhit *to_nhit(struct cache_policy *p)
{
	return container_of(p, struct nhit, clock.policy);
}

#define NHIT_SET_DEFAULT(key, unit, def, min, max, help)	n->key = def;
#define NHIT_ROW(key, unit, def, min, max, help) \
	CACHE_SETTING_ROW(struct nhit, key, key, unit, min, max, help)
#define NHIT_CLOCK_ROW(key, unit, def, min, max, help) \
	CACHE_SETTING_ROW(struct nhit, clock.key, key, unit, min, max, help)
static const struct cache_tunable nhit_tunables[] = {
	NHIT_SETTINGS(NHIT_ROW)
	SEQ_CUTOFF_SETTING(NHIT_CLOCK_ROW)
	{ NULL }
};

NHIT_SETTINGS(CACHE_SETTING_ALIAS)
SEQ_CUTOFF_SETTING(CACHE_SETTING_ALIAS)

static struct cache_policy *nhit_create(const struct cache_policy_params *params)
{
	struct nhit *n = kzalloc(sizeof(*n), GFP_KERNEL);

	if (!n)
		return NULL;
	NHIT_SETTINGS(NHIT_SET_DEFAULT)
	n->nr_buckets = max_t(u32, 1, params->nr_slots / NHIT_WAYS);
	/* 16 ticks to a cache full of misses: time wraps after four of those. */
	n->time_shift = params->nr_slots > 16 ? ilog2(params->nr_slots / 16) : 0;
	n->table = kvcalloc(n->nr_buckets, NHIT_WAYS * sizeof(u32), GFP_KERNEL);
	if (!n->table || clock_init(&n->clock, params)) {
		kvfree(n->table);
		kfree(n);
		return NULL;
	}
	n->clock.policy.bytes += sizeof(u32) * (u64)n->nr_buckets * NHIT_WAYS;
	return &n->clock.policy;
}

static void nhit_destroy(struct cache_policy *p)
{
	struct nhit *n = to_nhit(p);

	clock_exit(&n->clock);
	kvfree(n->table);
	kfree(n);
}

static u32 nhit_now(struct nhit *n)
{
	return (READ_ONCE(n->misses) >> n->time_shift) & NHIT_TIME_MASK;
}

/*
 * The entry of @bucket that was not visited for longest; an empty one, if there is
 * one.
 */
static u32 *nhit_oldest(struct nhit *n, u32 *bucket)
{
	u32 *oldest = bucket;
	u32 oldest_age = 0;
	u32 i;

	for (i = 0; i < NHIT_WAYS; i++) {
		u32 entry = READ_ONCE(bucket[i]);
		u32 age = entry ? (nhit_now(n) - (entry >> NHIT_TIME_SHIFT)) &
				  NHIT_TIME_MASK : U32_MAX;

		if (age >= oldest_age) {
			oldest = &bucket[i];
			oldest_age = age;
		}
	}
	return oldest;
}

/* The entry with fingerprint @fp, or the one to replace. */
static u32 *nhit_find(struct nhit *n, u64 hash, u32 fp)
{
	u32 *bucket = n->table + NHIT_WAYS * table_index(hash, n->nr_buckets);

	return ways_find(bucket, NHIT_WAYS, NHIT_FP_MASK, fp) ?:
	       nhit_oldest(n, bucket);
}

/* Count a visit of @block; returns how many there were. */
static u32 nhit_visit(struct nhit *n, u64 block)
{
	u64 hash = table_hash(block);
	u32 fp = (hash & NHIT_FP_MASK) ?: 1;
	u32 *entry = nhit_find(n, hash, fp);
	u32 old = READ_ONCE(*entry);
	u32 visits = 1;

	if ((old & NHIT_FP_MASK) == fp)
		visits += (old >> NHIT_VISITS_SHIFT) & NHIT_VISITS_MASK;
	visits = min(visits, NHIT_VISITS_MASK);
	WRITE_ONCE(n->misses, READ_ONCE(n->misses) + 1);
	WRITE_ONCE(*entry, nhit_now(n) << NHIT_TIME_SHIFT |
			   visits << NHIT_VISITS_SHIFT | fp);
	return visits;
}

/* Is the cache below its trigger? */
static bool nhit_filling(struct nhit *n)
{
	return (u64)READ_ONCE(n->clock.links.nr_used) * 100 <
	       (u64)n->clock.links.nr_slots * READ_ONCE(n->trigger);
}

static enum cache_verdict nhit_miss(struct cache_policy *p, u64 block,
				    const struct cache_io *io)
{
	struct nhit *n = to_nhit(p);
	bool filling = nhit_filling(n);
	u32 visits;

	if (!filling && clock_cuts(&n->clock, io))
		return CACHE_BYPASS_STREAM;
	visits = nhit_visit(n, block);
	if (filling || visits >= READ_ONCE(n->visits))
		return CACHE_PROMOTE;
	return CACHE_BYPASS_COLD;
}

static const struct cache_policy_ops nhit_ops = {
	.name = "nhit",
	.version = { 1, 0, 0 },
	.tunables = nhit_tunables,
	.owner = THIS_MODULE,
	.create = nhit_create,
	.destroy = nhit_destroy,
	.hit = clock_hit,
	.miss = nhit_miss,
	.victims = clock_victims,
	.victim_busy = clock_victim_busy,
	.inserted = clock_inserted,
	.removed = clock_removed,
	.load = clock_load,
	.load_done = clock_load_done,
	.hint = clock_hint,
	.stats = clock_stats,
};

CACHE_POLICY_MODULE(nhit_ops);
MODULE_DESCRIPTION("hearth cache policy: promote at the n-th visit");
MODULE_LICENSE("GPL");
MODULE_VERSION(HEARTH_VERSION);
