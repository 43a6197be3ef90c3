// SPDX-License-Identifier: GPL-2.0-only
/*
 * heat: the default policy; answers to smq, mq and default as well.
 *
 * It decides by what a block or its neighbourhood did before, never by one
 * touch alone:
 *
 *  - Residency is S3-FIFO: a small queue on probation, a main queue of blocks
 *    that were used again, two bits of hits per slot.
 *  - A ghost remembers the blocks that were missed or evicted lately, as 16
 *    bit fingerprints.  A second visit admits.
 *  - Regions of 4 MiB gather heat from visits; a block of a hot region is
 *    admitted at its first touch.
 *  - Sequential streams pass by after a small cutoff: a disk serves them
 *    without seeking.
 *
 * What hit() and miss() touch is plain words with racy stores, so they take no
 * lock; the queues belong to the serialised calls.  Nothing here knows of
 * requests beyond struct cache_io, nor of time other than the count of misses.
 */
#include "slot-fifo.h"

#define HEAT_MAX_LEVEL		5
#define HEAT_MAX_HITS		3
#define HEAT_DEFAULT_CUTOFF_KIB	64
#define HEAT_ROUNDS_PER_VICTIM	32

/*
 * An entry of the ghost: fingerprint 16, visits 2, when 14.  Zero is empty.
 */
#define GHOST_WAYS		8
#define GHOST_FP_MASK		0xffffu
#define GHOST_VISITS_SHIFT	16
#define GHOST_VISITS_MASK	0x3u
#define GHOST_TIME_SHIFT	18
#define GHOST_TIME_MASK		0x3fffu

/* An entry of the region table: tag 12, heat 8, when 12. */
#define REGION_WAYS		4
#define REGION_TAG_MASK		0xfffu
#define REGION_HEAT_SHIFT	12
#define REGION_HEAT_MAX		0xffu
#define REGION_TIME_SHIFT	20
#define REGION_TIME_MASK	0xfffu

#define HEAT_REGION_SECTORS	8192	/* 4 MiB */

struct heat {
	struct cache_policy policy;

	/* The serialised calls'. */
	struct fifo_links links;
	struct fifo small, main;
	struct fifo busy;	/* victims that were dirty or in use */
	bool busy_turn;
	struct fifo_loader loader;
	u32 small_target;

	/* Racy. */
	u32 *ghost;
	u32 *regions;
	u32 clock;		/* visits that missed */

	u32 nr_buckets;
	u32 nr_region_sets;
	unsigned int time_shift;	/* clock to ghost time */
	unsigned int region_time_shift;	/* clock to region time */
	unsigned int region_shift;	/* block to region */
	u32 window;			/* ghost time that a visit is valid */

	u64 read_level;
	u64 write_level;
	u64 full_write_level;
	u64 seq_cutoff;
};

static struct heat *to_heat(struct cache_policy *p)
{
	return container_of(p, struct heat, policy);
}

static const struct cache_tunable heat_tunables[] = {
	{ "read_level", "",
	  "evidence wanted to promote a read: 0 none, 1 to 3 a warm region or a second visit, 4 a second visit, 5 a third",
	  0, HEAT_MAX_LEVEL, offsetof(struct heat, read_level) },
	{ "write_level", "",
	  "the same for a write to part of a block, which costs a read",
	  0, HEAT_MAX_LEVEL, offsetof(struct heat, write_level) },
	{ "full_write_level", "",
	  "the same for a write that needs no read of the origin",
	  0, HEAT_MAX_LEVEL, offsetof(struct heat, full_write_level) },
	{ "seq_cutoff", "KiB",
	  "bypass sequential streams after this much; 0 never does",
	  0, 1 << 20, offsetof(struct heat, seq_cutoff) },
	{ NULL }
};

static u64 heat_hash(u64 key)
{
	key *= 0x9e3779b97f4a7c15ull;
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93ull;
	return key ^ key >> 32;
}

/*
 * The ghost.
 */

static u32 ghost_now(struct heat *h)
{
	return (READ_ONCE(h->clock) >> h->time_shift) & GHOST_TIME_MASK;
}

static u32 ghost_age(struct heat *h, u32 entry)
{
	return (ghost_now(h) - (entry >> GHOST_TIME_SHIFT)) & GHOST_TIME_MASK;
}

static u32 *ghost_bucket(struct heat *h, u64 hash)
{
	return h->ghost + GHOST_WAYS * (mul_u32_u32(hash >> 32, h->nr_buckets) >> 32);
}

static u32 ghost_fp(u64 hash)
{
	return (hash & GHOST_FP_MASK) ?: 1;
}

/*
 * The entry of @fp in @bucket; or else the one to replace, which is empty or
 * the oldest, and *@found is false.
 */
static u32 *ghost_find(struct heat *h, u32 *bucket, u32 fp, bool *found)
{
	u32 *oldest = bucket;
	u32 oldest_age = 0;
	u32 i;

	*found = true;
	for (i = 0; i < GHOST_WAYS; i++) {
		u32 entry = READ_ONCE(bucket[i]);
		u32 age = entry ? ghost_age(h, entry) : U32_MAX;

		if ((entry & GHOST_FP_MASK) == fp)
			return &bucket[i];
		if (age >= oldest_age) {
			oldest = &bucket[i];
			oldest_age = age;
		}
	}
	*found = false;
	return oldest;
}

/* Count a visit; returns how many there were lately, this one included. */
static u32 ghost_visit(struct heat *h, u64 hash)
{
	u32 fp = ghost_fp(hash);
	u32 visits = 0;
	bool found;
	u32 *entry = ghost_find(h, ghost_bucket(h, hash), fp, &found);

	if (found) {
		u32 old = READ_ONCE(*entry);

		if (ghost_age(h, old) <= h->window)
			visits = (old >> GHOST_VISITS_SHIFT) & GHOST_VISITS_MASK;
	}
	visits = min(visits + 1, GHOST_VISITS_MASK);
	WRITE_ONCE(*entry, ghost_now(h) << GHOST_TIME_SHIFT |
			   visits << GHOST_VISITS_SHIFT | fp);
	return visits;
}

/*
 * Regions.
 */

static u32 region_now(struct heat *h)
{
	return (READ_ONCE(h->clock) >> h->region_time_shift) & REGION_TIME_MASK;
}

static u32 region_heat(struct heat *h, u32 entry)
{
	u32 age = (region_now(h) - (entry >> REGION_TIME_SHIFT)) & REGION_TIME_MASK;
	u32 heat = (entry >> REGION_HEAT_SHIFT) & REGION_HEAT_MAX;

	return age < 8 ? heat >> age : 0;
}

static u32 *region_find(struct heat *h, u64 block, u32 *tag)
{
	u64 hash = heat_hash(~(block >> h->region_shift));
	u32 *set = h->regions +
		   REGION_WAYS * (mul_u32_u32(hash >> 32, h->nr_region_sets) >> 32);
	u32 *coldest = set;
	u32 coldest_heat = U32_MAX;
	u32 i;

	*tag = (hash & REGION_TAG_MASK) ?: 1;
	for (i = 0; i < REGION_WAYS; i++) {
		u32 entry = READ_ONCE(set[i]);
		u32 heat = region_heat(h, entry);

		if ((entry & REGION_TAG_MASK) == *tag)
			return &set[i];
		if (heat < coldest_heat) {
			coldest = &set[i];
			coldest_heat = heat;
		}
	}
	return coldest;
}

/* Returns the heat of @block's region after adding @heat. */
static u32 region_visit(struct heat *h, u64 block, u32 heat)
{
	u32 tag;
	u32 *entry = region_find(h, block, &tag);
	u32 old = READ_ONCE(*entry);

	if ((old & REGION_TAG_MASK) == tag)
		heat += region_heat(h, old);
	heat = min(heat, REGION_HEAT_MAX);
	WRITE_ONCE(*entry, region_now(h) << REGION_TIME_SHIFT |
			   heat << REGION_HEAT_SHIFT | tag);
	return heat;
}

/*
 * Admission.
 */

static void heat_hit(struct cache_policy *p, u32 slot, u64 block,
		     const struct cache_io *io)
{
	u8 *hits = fifo_hits(p, slot);
	u8 old = READ_ONCE(*hits);

	if (old < HEAT_MAX_HITS && !(io->flags & CACHE_IO_STREAM))
		WRITE_ONCE(*hits, old + 1);
}

static u64 heat_level(struct heat *h, const struct cache_io *io)
{
	if (io->op == CACHE_OP_READ)
		return READ_ONCE(h->read_level);
	if (io->flags & (CACHE_IO_FULL_BLOCK | CACHE_IO_NO_FETCH))
		return READ_ONCE(h->full_write_level);
	return READ_ONCE(h->write_level);
}

static enum cache_verdict heat_admit(u64 level, u32 visits, u32 region)
{
	u32 wanted = level == HEAT_MAX_LEVEL ? 3 : 2;

	if (visits >= wanted)
		return CACHE_PROMOTE_HOT;
	if (!level || (level < 4 && region > 1u << (2 * level)))
		return CACHE_PROMOTE;
	return CACHE_BYPASS_COLD;
}

static enum cache_verdict heat_miss(struct cache_policy *p, u64 block,
				    const struct cache_io *io)
{
	struct heat *h = to_heat(p);
	u64 cutoff = READ_ONCE(h->seq_cutoff);
	enum cache_verdict verdict;
	u32 visits, region;

	if (io->flags & CACHE_IO_STREAM) {
		if (io->flags & CACHE_IO_FREE_SLOTS)
			return CACHE_PROMOTE;
		if (cutoff && io->stream_sectors >= 2 * cutoff)
			return CACHE_BYPASS_STREAM;
	}
	WRITE_ONCE(h->clock, READ_ONCE(h->clock) + 1);
	visits = ghost_visit(h, heat_hash(block));
	region = region_visit(h, block, 1);
	verdict = heat_admit(heat_level(h, io), visits, region);
	if (verdict == CACHE_BYPASS_COLD && (io->flags & CACHE_IO_FREE_SLOTS))
		return CACHE_PROMOTE;
	return verdict;
}

/*
 * Residency.
 */

static void heat_push(struct heat *h, u32 slot, u8 queue)
{
	fifo_push(&h->policy, &h->links, queue ? &h->main : &h->small, slot,
		  FIFO_LIVE | queue);
}

/* Has @slot, the first of its queue, earned another round? */
static bool heat_spare(struct heat *h, u32 slot, u8 mark)
{
	u8 *hits = fifo_hits(&h->policy, slot);
	u8 old = READ_ONCE(*hits);

	if (mark & FIFO_MAIN) {
		if (old)
			WRITE_ONCE(*hits, old - 1);
		return old;
	}
	if (old < 2)
		return false;
	WRITE_ONCE(*hits, 0);
	return true;
}

/* Busy slots are asked for again in every second place. */
static struct fifo *heat_source(struct heat *h)
{
	if (h->busy_turn && h->busy.nr)
		return &h->busy;
	if (h->small.nr > h->small_target)
		return &h->small;
	if (h->main.nr)
		return &h->main;
	return h->small.nr ? &h->small : &h->busy;
}

static u32 heat_victim(struct heat *h)
{
	unsigned int rounds = HEAT_ROUNDS_PER_VICTIM;
	u32 slot;
	u8 mark;

	h->busy_turn = !h->busy_turn;
	while (h->small.nr || h->main.nr || h->busy.nr) {
		slot = fifo_pop(&h->policy, &h->links, heat_source(h));
		if (slot == FIFO_END)
			continue;
		mark = fifo_get_mark(&h->policy, slot);
		if (mark & FIFO_STALE) {
			heat_push(h, slot, mark & FIFO_MAIN);
			continue;
		}
		if (!rounds || !heat_spare(h, slot, mark))
			return slot;
		rounds--;
		heat_push(h, slot, FIFO_MAIN);
	}
	return FIFO_END;
}

static unsigned int heat_victims(struct cache_policy *p, u32 *slots,
				 unsigned int nr)
{
	struct heat *h = to_heat(p);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		slots[i] = heat_victim(h);
		if (slots[i] == FIFO_END)
			break;
	}
	return i;
}

static void heat_victim_busy(struct cache_policy *p, u32 slot)
{
	struct heat *h = to_heat(p);

	fifo_push(p, &h->links, &h->busy, slot, FIFO_LIVE | FIFO_MAIN);
}

static void heat_inserted(struct cache_policy *p, u32 slot, u64 block,
			  enum cache_verdict why)
{
	struct heat *h = to_heat(p);
	bool hot = why == CACHE_PROMOTE_HOT;

	WRITE_ONCE(*fifo_hits(p, slot), 0);
	fifo_add(p, &h->links, hot ? &h->main : &h->small, slot,
		 FIFO_LIVE | (hot ? FIFO_MAIN : 0));
}

static void heat_removed(struct cache_policy *p, u32 slot, u64 block,
			 enum cache_removal why)
{
	struct heat *h = to_heat(p);

	if (why == CACHE_REMOVED_EVICTED)
		ghost_visit(h, heat_hash(block));
	fifo_forget(p, &h->links, slot);
}

/*
 * Hints: 0 to 7 are places in the small queue; from 8 up, the place in the
 * main queue, in 14 steps for each hit that grants another round.
 */
#define HINT_SMALL	8
#define HINT_ROUND	14

static void heat_load(struct cache_policy *p, u32 slot, u64 block, u32 hint,
		      bool hint_valid)
{
	struct heat *h = to_heat(p);

	fifo_loader_add(p, &h->loader, &h->links, slot,
			hint_valid ? hint : HINT_SMALL);
}

static void heat_load_done(struct cache_policy *p)
{
	struct heat *h = to_heat(p);
	u32 hint, place, round;

	for (hint = 0; hint < HINT_SMALL; hint++)
		fifo_loader_queue(p, &h->loader, &h->links, hint, &h->small,
				  0, 0);
	for (place = 0; place < HINT_ROUND; place++) {
		for (round = 0; round <= HEAT_MAX_HITS; round++) {
			hint = HINT_SMALL + round * HINT_ROUND + place;
			fifo_loader_queue(p, &h->loader, &h->links, hint,
					  &h->main, FIFO_MAIN, round);
		}
	}
}

static u32 heat_hint(struct cache_policy *p, u32 slot)
{
	struct heat *h = to_heat(p);
	u32 round = min_t(u32, READ_ONCE(*fifo_hits(p, slot)), HEAT_MAX_HITS);
	u32 rank;

	if (!(fifo_get_mark(p, slot) & FIFO_MAIN)) {
		rank = fifo_rank(p, &h->small, slot);
		return rank * (HINT_SMALL - 1) / FIFO_EPOCHS;
	}
	rank = fifo_rank(p, &h->main, slot) * (HINT_ROUND - 1) / FIFO_EPOCHS;
	return HINT_SMALL + round * HINT_ROUND + rank;
}

/*
 * Life.
 */

static unsigned int heat_log2_ratio(u64 n, u64 d)
{
	return n > d ? ilog2(div64_u64(n, d)) : 0;
}

static int heat_init(struct heat *h)
{
	const struct cache_policy_params *params = &h->policy.params;
	u32 nr = params->nr_slots;

	h->nr_buckets = max_t(u32, 1, (u64)nr * 3 / 4 / GHOST_WAYS);
	h->nr_region_sets = max_t(u32, 1, nr / 8 / REGION_WAYS);
	h->ghost = kvcalloc(h->nr_buckets, GHOST_WAYS * sizeof(u32), GFP_KERNEL);
	h->regions = kvcalloc(h->nr_region_sets, REGION_WAYS * sizeof(u32),
			      GFP_KERNEL);
	if (!h->ghost || !h->regions || fifo_links_init(&h->links, nr))
		return -ENOMEM;

	fifo_init(&h->small, &h->links);
	fifo_init(&h->main, &h->links);
	fifo_init(&h->busy, &h->links);
	fifo_loader_init(&h->loader, &h->links);
	h->small_target = max_t(u32, 1, nr / 10);
	h->time_shift = heat_log2_ratio(nr, 4096);
	h->region_time_shift = heat_log2_ratio(nr, 1);
	h->region_shift = heat_log2_ratio(HEAT_REGION_SECTORS,
					  params->block_sectors);
	h->window = min_t(u32, nr >> h->time_shift, GHOST_TIME_MASK / 2);
	return 0;
}

static void heat_destroy(struct cache_policy *p)
{
	struct heat *h = to_heat(p);

	fifo_links_exit(&h->links);
	kvfree(h->regions);
	kvfree(h->ghost);
	kfree(h);
}

static struct cache_policy *heat_create(const struct cache_policy_params *params)
{
	struct heat *h = kzalloc(sizeof(*h), GFP_KERNEL);

	if (!h)
		return NULL;
	h->policy.params = *params;
	if (heat_init(h)) {
		heat_destroy(&h->policy);
		return NULL;
	}
	h->read_level = 2;
	h->write_level = 2;
	h->full_write_level = 2;
	h->seq_cutoff = params->rotational ? HEAT_DEFAULT_CUTOFF_KIB : 0;
	return &h->policy;
}

static const char * const heat_aliases[] = { "mq", "default", "heat", NULL };

/* The name and version under which hints are stored, as a stock smq has them. */
static const struct cache_policy_ops heat_ops = {
	.name = "smq",
	.aliases = heat_aliases,
	.version = { 2, 0, 0 },
	.tunables = heat_tunables,
	.owner = THIS_MODULE,
	.create = heat_create,
	.destroy = heat_destroy,
	.hit = heat_hit,
	.miss = heat_miss,
	.victims = heat_victims,
	.victim_busy = heat_victim_busy,
	.inserted = heat_inserted,
	.removed = heat_removed,
	.load = heat_load,
	.load_done = heat_load_done,
	.hint = heat_hint,
};

CACHE_POLICY_MODULE(heat_ops);
MODULE_ALIAS("dm-cache-heat");
MODULE_ALIAS("dm-cache-mq");
MODULE_ALIAS("dm-cache-default");
MODULE_DESCRIPTION("hearth cache policy: scan-resistant, admits on evidence");
MODULE_LICENSE("GPL");
