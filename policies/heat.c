// SPDX-License-Identifier: GPL-2.0-only
/*
 * heat: the default policy; answers to smq, mq and default as well.
 *
 * It promotes what has earned it on this volume lately:
 *
 *  - Residency is S3-FIFO: a small queue on probation, a main queue of blocks
 *    that were used again, two bits of hits per slot.  Evicted blocks that come
 *    back soon move the border between the two.
 *  - A ghost remembers the blocks that were missed or evicted lately, as 16
 *    bit fingerprints, and regions of 4 MiB gather heat from what misses.
 *  - A miss is put into one of 55 classes by what the ghost and its region
 *    know and by its kind.  Slots remember the class they were promoted in,
 *    and when they leave probation the class is credited with their hits.  A
 *    class is promoted if its promotions are hit nearly as often as all are;
 *    a sample of the others is, too, so that a change is noticed.
 *  - How strict that is depends on the rival: a table of what a cache that
 *    promotes everything would hold, for a sample of the blocks.  As long as
 *    we hit more often than the rival we spare the cache device; if we fall
 *    behind, the price of a promotion falls.
 *  - What hardly ever pays, as a scan of new blocks does not, the rival leaves
 *    out as well, or the scan would flush it and it would be no rival.
 *  - Sequential streams pass by after a small cutoff, for a disk serves them
 *    without seeking.  Those that repeat before long are a class of their own.
 *
 * What hit() and miss() touch is plain words with racy stores, so they take no
 * lock; the queues belong to the serialised calls.  Nothing here knows of
 * requests beyond struct cache_io, nor of time other than by counting misses.
 */
#include "heat-settings.h"
#include "slot-fifo.h"
#include "tables.h"

#define HEAT_ROUNDS_PER_VICTIM	32
#define HEAT_SAMPLE		96	/* one in so many is promoted regardless */
#define HEAT_BUSY		50	/* percent of load at which they wait */
#define HEAT_SMALL_SECTORS	16	/* requests up to this are of another kind */
#define HEAT_REGION_SECTORS	8192	/* 4 MiB */
#define HEAT_SEEK_SECTORS	2048	/* read in the time of a seek, about */

/* The hit path's byte of the policy word: hits below, the class above. */
#define HEAT_MAX_HITS		3
#define HEAT_CLASS_SHIFT	2

/* Classes: 6 by the ghost, 3 by the region, 3 by kind; 0 is none. */
#define HEAT_KINDS		3
#define HEAT_WARMTHS		3
#define HEAT_CLASS_STREAM	(1 + 6 * HEAT_WARMTHS * HEAT_KINDS)
#define HEAT_CLASSES		(HEAT_CLASS_STREAM + 1)

/* Hits per promotion, in fixed point. */
#define YIELD_ONE		1024
#define YIELD_FIRST		YIELD_ONE /* before anything is known */
#define YIELD_WARY		(YIELD_ONE / 2)	/* of new blocks, in a warm cache */
#define YIELD_WEIGHT		24	/* samples in a class's moving average */
#define YIELD_MEAN_WEIGHT	128	/* and in that of all */
#define YIELD_STREAM		(YIELD_ONE / 4)	/* what a stream must earn */
/* What reading the rest of a block costs a write, seeking, in hits. */
#define YIELD_FETCH		(YIELD_ONE / 4)
#define YIELD_FETCH_STREAM	YIELD_ONE	/* it leaves its stream for that */
#define YIELD_MAX_COST		(8 * YIELD_ONE)
#define YIELD_POOR		(YIELD_ONE / 4)	/* less hardly ever pays */

/* The share of the misses that are of poor classes, in fixed point. */
#define POOR_ONE		(1u << 20)
#define POOR_SHIFT		10	/* log of the misses in the moving average */

/* An entry of the ghost; zero is empty. */
#define GHOST_WAYS		8
#define GHOST_FP_MASK		0xffffu
#define GHOST_VISITS_SHIFT	16
#define GHOST_VISITS_MASK	0x3u
#define GHOST_CLASS_SHIFT	18
#define GHOST_CLASS_MASK	0x3fu
#define GHOST_TIME_SHIFT	24
#define GHOST_TIME_MASK		0xffu
#define GHOST_WINDOW		64	/* ghost time in which a visit counts */
#define GHOST_SOON		16	/* and in which a return is a regret */
/* In place of a class: what was evicted, and from where. */
#define GHOST_FROM_SMALL	62
#define GHOST_FROM_MAIN		63

/* Fixed point of the border between the queues. */
#define BORDER_ONE		65536u
#define BORDER_STEP		4	/* slots that one return moves it at most */

/* An entry of the rival's table; zero is empty. */
#define RIVAL_WAYS		8
#define RIVAL_FP_MASK		0xffffu
#define RIVAL_NEWS		0x10000u /* put by a hit, not counted yet */
#define RIVAL_TIME_SHIFT	17
#define RIVAL_TIME_MASK		0x7fffu
/* Entries: a 32nd of the slots, within these bounds. */
#define RIVAL_MIN		512u
#define RIVAL_MAX		65536u
#define RIVAL_MAX_SHIFT		16

/* How far ahead of the rival we are: hits per miss, in fixed point. */
#define LEAD_ONE		65536
#define LEAD_WEIGHT		1024	/* misses in the moving average */
#define LEAD_LOST		(LEAD_ONE / 20)	/* so far behind, all is promoted */
#define LEAD_MOST		LEAD_LOST	/* not more, so that it is soon lost */

/* An entry of the region table. */
#define REGION_WAYS		4
#define REGION_TAG_MASK		0xfffu
#define REGION_HEAT_SHIFT	12
#define REGION_HEAT_MAX		0xffu
#define REGION_TIME_SHIFT	20
#define REGION_TIME_MASK	0xfffu

/* An entry of the table of streamed regions. */
#define STREAM_TAG_MASK		0x1fffu
#define STREAM_AGAIN		0x2000u
#define STREAM_PLACE_SHIFT	14
#define STREAM_PLACE_MASK	0x3fu
#define STREAM_PLACES		64
#define STREAM_TIME_SHIFT	20
#define STREAM_TIME_MASK	0xfffu
#define STREAM_WINDOW		16	/* stream time of one cache of traffic */
#define STREAM_BACK		(STREAM_PLACES / 4) /* less is reordering */
#define STREAM_SURE		512	/* sectors: by chance requests follow less long */

struct heat {
	struct cache_policy policy;

	/* The serialised calls'. */
	struct fifo_links links;
	struct fifo small, main;
	struct fifo busy;	/* victims that were dirty or in use */
	bool busy_turn;
	struct fifo_loader loader;

	/* Racy. */
	u64 border;		/* length of the small queue, in BORDER_ONEs */
	u32 small_share;	/* of the evictions, in parts of BORDER_ONE */
	u32 *ghost;
	u32 *regions;
	u32 *streams;
	u32 clock;		/* visits that missed */
	u64 traffic;		/* sectors that missed */
	u32 mean_yield;
	u32 poor;
	u16 yield[HEAT_CLASSES];
	u32 *rival;
	s32 lead;

	u32 nr_buckets;
	u32 nr_region_sets;
	u32 nr_streams;
	u32 nr_rival_buckets;
	u32 rival_mask;		/* of the hash bits that are 0 in the sample */
	unsigned int ghost_shift;	/* clock to ghost time */
	unsigned int region_shift;	/* clock to region time */
	unsigned int stream_shift;	/* traffic to stream time */
	unsigned int blocks_shift;	/* block to region */

	HEAT_SETTINGS(CACHE_SETTING_MEMBER)
};

static struct heat *to_heat(struct cache_policy *p)
{
	return container_of(p, struct heat, policy);
}

#define HEAT_SET_DEFAULT(key, unit, def, min, max, help)	h->key = def;
#define HEAT_ROW(key, unit, def, min, max, help) \
	CACHE_SETTING_ROW(struct heat, , key, unit, min, max, help)
static const struct cache_tunable heat_tunables[] = {
	HEAT_SETTINGS(HEAT_ROW)
	{ NULL }
};
HEAT_SETTINGS(CACHE_SETTING_ALIAS)

/*
 * The ghost: which blocks were missed or evicted lately, how often, and in
 * which class the last miss was put.
 */

static u32 ghost_now(struct heat *h)
{
	return (READ_ONCE(h->clock) >> h->ghost_shift) & GHOST_TIME_MASK;
}

static u32 ghost_age(struct heat *h, u32 entry)
{
	return (ghost_now(h) - (entry >> GHOST_TIME_SHIFT)) & GHOST_TIME_MASK;
}

static u32 ghost_fp(u64 hash)
{
	return (hash & GHOST_FP_MASK) ?: 1;
}

static u32 ghost_visits(u32 entry)
{
	return (entry >> GHOST_VISITS_SHIFT) & GHOST_VISITS_MASK;
}

/*
 * The entry of the block that hashes to @hash, and what it holds in *@old; or
 * else the one to replace, and *@old is 0.
 */
static __always_inline u32 *ghost_find(struct heat *h, u64 hash, u32 *old)
{
	u32 *bucket = h->ghost + GHOST_WAYS * table_index(hash, h->nr_buckets);
	u32 *entry = ways_find(bucket, GHOST_WAYS, GHOST_FP_MASK, ghost_fp(hash));

	if (entry) {
		*old = READ_ONCE(*entry);
		return entry;
	}
	*old = 0;
	return ways_oldest(bucket, GHOST_WAYS,
			   ghost_now(h) << GHOST_TIME_SHIFT, GHOST_TIME_SHIFT);
}

/* The visits that @old stands for and one more. */
static u32 ghost_count(struct heat *h, u32 old)
{
	if (!old || ghost_age(h, old) > GHOST_WINDOW)
		return 1;
	return min(ghost_visits(old) + 1, GHOST_VISITS_MASK);
}

static void ghost_store(struct heat *h, u32 *entry, u64 hash, u32 visits,
			u32 class)
{
	WRITE_ONCE(*entry, ghost_now(h) << GHOST_TIME_SHIFT |
			   class << GHOST_CLASS_SHIFT |
			   visits << GHOST_VISITS_SHIFT | ghost_fp(hash));
}

static u32 ghost_class(u32 entry)
{
	return (entry >> GHOST_CLASS_SHIFT) & GHOST_CLASS_MASK;
}

/* The class of the last miss of @block, 0 if that is forgotten. */
static u32 ghost_find_class(struct heat *h, u64 block)
{
	u32 old, class;

	ghost_find(h, table_hash(block), &old);
	class = ghost_class(old);
	return class < HEAT_CLASSES ? class : 0;
}

/* An eviction counts as a visit: the block was worth a promotion before. */
static void ghost_evicted(struct heat *h, u64 block, u32 from)
{
	u64 hash = table_hash(block);
	u32 old;
	u32 *entry = ghost_find(h, hash, &old);

	ghost_store(h, entry, hash, ghost_count(h, old), from);
}

/* What was in the block is gone; what comes there next is another thing. */
static void ghost_discarded(struct heat *h, u64 block)
{
	u32 old;
	u32 *entry = ghost_find(h, table_hash(block), &old);

	if (old)
		WRITE_ONCE(*entry, 0);
}

/*
 * Regions: how many misses they had lately; halved each time that about a
 * cache full of misses has passed.
 */

static u32 region_now(struct heat *h)
{
	return (READ_ONCE(h->clock) >> h->region_shift) & REGION_TIME_MASK;
}

static u32 region_heat(struct heat *h, u32 entry)
{
	u32 age = (region_now(h) - (entry >> REGION_TIME_SHIFT)) &
		  REGION_TIME_MASK;
	u32 heat = (entry >> REGION_HEAT_SHIFT) & REGION_HEAT_MAX;

	return age < 8 ? heat >> age : 0;
}

static u32 *region_coldest(struct heat *h, u32 *set)
{
	u32 *coldest = set;
	u32 coldest_heat = U32_MAX;
	u32 i;

	for (i = 0; i < REGION_WAYS; i++) {
		u32 heat = region_heat(h, READ_ONCE(set[i]));

		if (heat < coldest_heat) {
			coldest = &set[i];
			coldest_heat = heat;
		}
	}
	return coldest;
}

/* The entry of the region, or the coldest of its set. */
static u32 *region_find(struct heat *h, u64 hash, u32 tag)
{
	u32 *set = h->regions + REGION_WAYS * table_index(hash, h->nr_region_sets);

	return ways_find(set, REGION_WAYS, REGION_TAG_MASK, tag) ?:
	       region_coldest(h, set);
}

/* Count a miss of @block; returns the heat of its region with it. */
static u32 region_visit(struct heat *h, u64 block)
{
	u64 hash = table_hash(~(block >> h->blocks_shift));
	u32 tag = (hash & REGION_TAG_MASK) ?: 1;
	u32 *entry = region_find(h, hash, tag);
	u32 old = READ_ONCE(*entry);
	u32 heat = 1;

	if ((old & REGION_TAG_MASK) == tag)
		heat = min(region_heat(h, old) + 1, REGION_HEAT_MAX);
	WRITE_ONCE(*entry, region_now(h) << REGION_TIME_SHIFT |
			   heat << REGION_HEAT_SHIFT | tag);
	return heat;
}

/*
 * Streams past the cutoff: a region that was streamed through and is entered
 * anew further back, before a cache full of other misses came by, repeats.
 */

static u32 stream_place(struct heat *h, u64 block)
{
	u32 in_region = block & ((1ull << h->blocks_shift) - 1);

	return (u64)in_region * STREAM_PLACES >> h->blocks_shift;
}

static bool stream_repeats(struct heat *h, u64 block)
{
	u64 hash = table_hash(~(block >> h->blocks_shift));
	u32 *entry = h->streams + table_index(hash, h->nr_streams);
	u32 now = (READ_ONCE(h->traffic) >> h->stream_shift) & STREAM_TIME_MASK;
	u32 tag = (hash & STREAM_TAG_MASK) ?: 1;
	u32 place = stream_place(h, block);
	u32 old = READ_ONCE(*entry);
	u32 again = 0;
	u32 new;

	if ((old & STREAM_TAG_MASK) == tag &&
	    ((now - (old >> STREAM_TIME_SHIFT)) & STREAM_TIME_MASK) <=
	    STREAM_WINDOW) {
		u32 last = (old >> STREAM_PLACE_SHIFT) & STREAM_PLACE_MASK;

		again = old & STREAM_AGAIN;
		if (place + STREAM_BACK <= last)
			again = STREAM_AGAIN;
	}
	new = now << STREAM_TIME_SHIFT | place << STREAM_PLACE_SHIFT | again | tag;
	if (new != old)
		WRITE_ONCE(*entry, new);
	return again;
}

/*
 * The rival: what a cache that promotes every miss but streams past the cutoff
 * would hold, first in, first out, of one block in so many.  A miss of ours
 * that it holds is a hit that we lost; a hit of ours that it does not hold is
 * one that we won.  hit() has but one store, so it leaves word in the entry
 * that it puts, and the next miss that comes by counts it.
 */

/*
 * Hits pay for this, so that it takes a part of the hash only.  Writes within a
 * stream make the rival's disk seek: it had better not.
 */
static bool rival_ignores(struct heat *h, u64 block, const struct cache_io *io)
{
	if (block * TABLE_GOLDEN >> 40 & h->rival_mask)
		return true;
	return io->op == CACHE_OP_WRITE && (io->flags & CACHE_IO_STREAM);
}

static u32 *rival_bucket(struct heat *h, u64 hash)
{
	return h->rival + RIVAL_WAYS * table_index(hash, h->nr_rival_buckets);
}

static u32 rival_now(struct heat *h)
{
	return (READ_ONCE(h->clock) >> h->ghost_shift) & RIVAL_TIME_MASK;
}

/* Its entry of the block that hashes to @hash; or the one to replace, @held false. */
static u32 *rival_find(struct heat *h, u64 hash, bool *held)
{
	u32 now = rival_now(h) << RIVAL_TIME_SHIFT;
	u32 *bucket = rival_bucket(h, hash);
	u32 *entry;

	entry = ways_find(bucket, RIVAL_WAYS, RIVAL_FP_MASK, ghost_fp(hash));
	*held = entry;
	return entry ?: ways_oldest(bucket, RIVAL_WAYS, now, RIVAL_TIME_SHIFT);
}

static void rival_store(struct heat *h, u32 *entry, u64 hash, u32 news)
{
	WRITE_ONCE(*entry, rival_now(h) << RIVAL_TIME_SHIFT | news |
			   ghost_fp(hash));
}

/* How many hits we won in this bucket since it was last asked. */
static u32 rival_news(struct heat *h, u64 hash)
{
	u32 *bucket = rival_bucket(h, hash);
	u32 nr = 0;
	u32 i;

	for (i = 0; i < RIVAL_WAYS; i++) {
		u32 entry = READ_ONCE(bucket[i]);

		if (!(entry & RIVAL_NEWS))
			continue;
		WRITE_ONCE(bucket[i], entry & ~RIVAL_NEWS);
		nr++;
	}
	return nr;
}

/*
 * Returns whether it stored anything.  An entry of now stays, so that each block
 * is stored once at most while nothing misses.
 */
static bool rival_hit(struct heat *h, u64 block, const struct cache_io *io)
{
	u32 *entry, old;
	bool held;
	u64 hash;

	if (rival_ignores(h, block, io))
		return false;
	hash = table_hash(block);
	entry = rival_find(h, hash, &held);
	old = READ_ONCE(*entry);
	if (held || (old && old >> RIVAL_TIME_SHIFT == rival_now(h)))
		return false;
	rival_store(h, entry, hash,
		    io->flags & CACHE_IO_STREAM ? 0 : RIVAL_NEWS);
	return true;
}

/* Poor classes are wanted in proportion to their yield, the same blocks always. */
static bool rival_wants(u64 hash, u32 yield, u32 poor_below)
{
	return (((hash >> 40) & 0xff) * poor_below) >> 8 < yield;
}

/*
 * What the class of the block yields, and when that is poor, says whether the
 * rival takes it if it has not got it.  @cost is what a promotion would cost
 * the origin; the rival pays it for each block that it takes, and we if
 * @promoted.
 */
static void rival_miss(struct heat *h, u64 block, const struct cache_io *io,
		       u32 yield, u32 poor_below, u32 cost, bool promoted)
{
	s32 lead = READ_ONCE(h->lead);
	u32 *entry;
	bool held;
	u64 hash;
	s32 won;

	if (rival_ignores(h, block, io))
		return;
	hash = table_hash(block);
	entry = rival_find(h, hash, &held);
	if (io->flags & CACHE_IO_STREAM) {
		if (!held && rival_wants(hash, yield, poor_below))
			rival_store(h, entry, hash, 0);
		return;
	}
	won = rival_news(h, hash) * LEAD_ONE;
	if (held) {
		won -= LEAD_ONE;
	} else if (rival_wants(hash, yield, poor_below)) {
		rival_store(h, entry, hash, 0);
		won += (s32)cost * (LEAD_ONE / YIELD_ONE);
	}
	if (promoted)
		won -= (s32)cost * (LEAD_ONE / YIELD_ONE);
	lead += (won - lead) / LEAD_WEIGHT;
	WRITE_ONCE(h->lead, min(lead, LEAD_MOST));
}

/*
 * The border between the queues: a block that comes back soon after its
 * eviction would have been kept had its queue been longer.  The rarer the
 * evictions from that queue, the more a return weighs.
 */

static void border_evicted(struct heat *h, bool small)
{
	u32 share = READ_ONCE(h->small_share);

	share -= share / 64;
	if (small)
		share += BORDER_ONE / 64;
	WRITE_ONCE(h->small_share, share);
}

static void border_move(struct heat *h, u32 old)
{
	u64 all = (u64)h->policy.params.nr_slots * BORDER_ONE;
	u64 border;
	u32 small;

	if (!old || ghost_age(h, old) > GHOST_SOON)
		return;
	border = READ_ONCE(h->border);
	small = clamp(READ_ONCE(h->small_share), BORDER_ONE / 8,
		      BORDER_ONE - BORDER_ONE / 8);
	if (ghost_class(old) == GHOST_FROM_SMALL)
		border += BORDER_STEP * (BORDER_ONE - small);
	else if (ghost_class(old) == GHOST_FROM_MAIN)
		border -= min_t(u64, border, BORDER_STEP * small);
	else
		return;
	WRITE_ONCE(h->border, clamp(border, all / 16, all - all / 8));
}

/*
 * Classes and what they earn.
 */

static u32 class_by_ghost(struct heat *h, u32 old, u32 visits)
{
	u32 age;

	if (visits < 2)
		return 0;
	age = ghost_age(h, old);
	if (visits > 2)
		return age < GHOST_WINDOW / 4 ? 4 : 5;
	if (age < GHOST_WINDOW / 8)
		return 1;
	return age < GHOST_WINDOW * 3 / 8 ? 2 : 3;
}

static u32 class_by_region(u32 heat)
{
	return heat <= 4 ? 0 : heat <= 16 ? 1 : 2;
}

static u32 class_by_kind(const struct cache_io *io)
{
	if (io->flags & CACHE_IO_STREAM)
		return 2;
	return io->sectors > HEAT_SMALL_SECTORS;
}

static u32 class_of(u32 by_ghost, u32 by_region, u32 by_kind)
{
	return 1 + (by_ghost * HEAT_WARMTHS + by_region) * HEAT_KINDS + by_kind;
}

static u32 yield_average(u32 average, u32 hits, int weight)
{
	return average + ((int)(hits * YIELD_ONE) - (int)average) / weight;
}

/* Credit @slot's class with its hits, once. */
static void class_learn(struct heat *h, u32 slot)
{
	u8 *byte = fifo_hits(&h->policy, slot);
	u8 old = READ_ONCE(*byte);
	u32 class = old >> HEAT_CLASS_SHIFT;
	u32 hits = old & HEAT_MAX_HITS;

	if (!class)
		return;
	WRITE_ONCE(h->yield[class],
		   yield_average(h->yield[class], hits, YIELD_WEIGHT));
	WRITE_ONCE(h->mean_yield,
		   yield_average(h->mean_yield, hits, YIELD_MEAN_WEIGHT));
	WRITE_ONCE(*byte, hits);
}

/* Classes that yield less than this are poor. */
static u32 class_poor_below(struct heat *h)
{
	return min_t(u32, READ_ONCE(h->mean_yield) * 3 / 4, YIELD_POOR);
}

static void class_count_poor(struct heat *h, bool poor)
{
	u32 share = READ_ONCE(h->poor);

	share -= share >> POOR_SHIFT;
	if (poor)
		share += POOR_ONE >> POOR_SHIFT;
	WRITE_ONCE(h->poor, share);
}

/*
 * One in HEAT_SAMPLE is promoted whatever its class, but not when that would
 * get into the way of what has earned it.
 */
static bool class_sampled(u64 clock, const struct cache_io *io)
{
	return !table_index(table_hash(clock), HEAT_SAMPLE) && io->load < HEAT_BUSY;
}

/*
 * What a class must yield at @level: a share of what promotions yield on the
 * whole, within bounds of the same proportion (at level 2: 13/16 of the mean,
 * and from .18 to .72 of a hit).  The more misses are of poor classes, which
 * take nothing, the more is left to the others: down to 9/16 of that.  Up to
 * the default level it falls to nothing as the rival gets ahead.
 */
static u32 heat_share(struct heat *h, u64 level)
{
	static const u8 sixteenths[HEAT_MAX_LEVEL + 1] = { 0, 6, 13, 15, 18, 24 };
	u32 n = sixteenths[level];
	u32 share = clamp(READ_ONCE(h->mean_yield) * n / 16,
			  n * YIELD_ONE / 72, n * YIELD_ONE / 18);
	s32 left = clamp(READ_ONCE(h->lead) + LEAD_LOST, 0, LEAD_LOST);

	share -= share * (READ_ONCE(h->poor) >> 8) * 7 / (POOR_ONE >> 8) / 16;
	return level > HEAT_DEFAULT_LEVEL ? share : share * left / LEAD_LOST;
}

static bool heat_fetches(const struct cache_io *io)
{
	return io->op == CACHE_OP_WRITE && !(io->flags & CACHE_IO_NO_FETCH);
}

/* What a promotion costs the origin beyond the request, in hits. */
static u32 heat_cost(struct heat *h, const struct cache_io *io)
{
	u32 block = h->policy.params.block_sectors;
	u32 rest = block - min(io->sectors, block);
	u32 cost = min_t(u64, (u64)rest * YIELD_ONE / HEAT_SEEK_SECTORS,
			 YIELD_MAX_COST);

	if (io->op == CACHE_OP_READ)
		return cost;
	if (!heat_fetches(io))
		return 0;
	return cost + (io->flags & CACHE_IO_STREAM ? YIELD_FETCH_STREAM :
						     YIELD_FETCH);
}

static u64 heat_level(struct heat *h, const struct cache_io *io)
{
	if (io->op == CACHE_OP_READ)
		return READ_ONCE(h->read_level);
	return heat_fetches(io) ? READ_ONCE(h->write_level) :
				  READ_ONCE(h->full_write_level);
}

/*
 * Has @class earned that @io be promoted?  Whatever the rival does, it has to
 * save the origin what that costs, which is much if blocks are large.
 */
static bool heat_pays(struct heat *h, u32 class, const struct cache_io *io,
		      u32 cost)
{
	u64 level = heat_level(h, io);

	return !level || READ_ONCE(h->yield[class]) >=
			 max(heat_share(h, level), cost);
}

/*
 * Requests.
 */

/*
 * Requests within a stream do not count, for the last one of them has just
 * brought the block in; but those of whole blocks do.
 */
static bool heat_counts(struct heat *h, const struct cache_io *io)
{
	return !(io->flags & CACHE_IO_STREAM) ||
	       io->sectors >= h->policy.params.block_sectors;
}

/*
 * One store at most: the byte's, or now and then the rival's instead.  While
 * the byte has no hits, its own store goes first half of the time.  Once it is
 * full, and all that hits is known to the rival, there is none.
 */
static void heat_hit(struct cache_policy *p, u32 slot, u64 block,
		     const struct cache_io *io)
{
	struct heat *h = to_heat(p);
	u8 *byte = fifo_hits(p, slot);
	u8 old = READ_ONCE(*byte);
	u32 hits = old & HEAT_MAX_HITS;
	bool first = !hits && ((READ_ONCE(h->clock) ^ block) & 1);

	if (!first && rival_hit(h, block, io))
		return;
	if (hits < HEAT_MAX_HITS && heat_counts(h, io))
		WRITE_ONCE(*byte, old + 1);
}

static enum cache_verdict heat_stream(struct heat *h, u64 block,
				      const struct cache_io *io)
{
	u64 hash = table_hash(block);
	u32 old, *entry;

	/* To fetch the rest of a block the disk would leave the stream. */
	if (heat_fetches(io))
		return CACHE_BYPASS_STREAM;
	if (fifo_filling(&h->links, io))
		return CACHE_PROMOTE;
	if (io->stream_sectors < STREAM_SURE || !READ_ONCE(h->seq_again) ||
	    !stream_repeats(h, block))
		return CACHE_BYPASS_STREAM;
	if (READ_ONCE(h->yield[HEAT_CLASS_STREAM]) < YIELD_STREAM &&
	    !class_sampled(READ_ONCE(h->traffic), io))
		return CACHE_BYPASS_STREAM;
	entry = ghost_find(h, hash, &old);
	ghost_store(h, entry, hash, 1, HEAT_CLASS_STREAM);
	return CACHE_PROMOTE;
}

/* Does the disk seek for a read?  What lies behind it is cheap then. */
static bool heat_seeks(struct heat *h, const struct cache_io *io)
{
	return h->policy.params.rotational && io->op == CACHE_OP_READ &&
	       !(io->flags & CACHE_IO_STREAM);
}

static enum cache_verdict heat_visit(struct heat *h, u64 block,
				     const struct cache_io *io)
{
	bool filling = fifo_filling(&h->links, io);
	u32 clock = READ_ONCE(h->clock) + 1;
	u64 hash = table_hash(block);
	u32 cost = heat_cost(h, io);
	u32 poor_below = class_poor_below(h);
	u32 old, visits, class, yield;
	u32 *entry = ghost_find(h, hash, &old);
	bool promote;

	WRITE_ONCE(h->clock, clock);
	border_move(h, old);
	visits = ghost_count(h, old);
	class = class_of(class_by_ghost(h, old, visits),
			 class_by_region(region_visit(h, block)),
			 class_by_kind(io));
	ghost_store(h, entry, hash, visits, filling ? 0 : class);
	yield = READ_ONCE(h->yield[class]);
	class_count_poor(h, yield < poor_below);
	promote = filling || heat_pays(h, class, io, cost) ||
		  class_sampled(clock, io);
	rival_miss(h, block, io, yield, poor_below, cost, promote);
	if (!promote)
		return CACHE_BYPASS_COLD;
	if (visits > 2)
		return CACHE_PROMOTE_HOT;
	return filling && heat_seeks(h, io) ? CACHE_PROMOTE_AHEAD : CACHE_PROMOTE;
}

static enum cache_verdict heat_miss(struct cache_policy *p, u64 block,
				    const struct cache_io *io)
{
	struct heat *h = to_heat(p);
	u64 cutoff = READ_ONCE(h->seq_cutoff);
	bool past = cutoff && io->stream_sectors >= 2 * cutoff;

	WRITE_ONCE(h->traffic, READ_ONCE(h->traffic) + io->sectors);
	if ((io->flags & CACHE_IO_STREAM) &&
	    (past || (fifo_filling(&h->links, io) && !heat_fetches(io))))
		return heat_stream(h, block, io);
	return heat_visit(h, block, io);
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
	u8 *byte = fifo_hits(&h->policy, slot);
	u8 hits;

	class_learn(h, slot);
	hits = READ_ONCE(*byte);
	if (!hits)
		return false;
	WRITE_ONCE(*byte, mark & FIFO_MAIN ? hits - 1 : 0);
	return true;
}

/* Busy slots are asked for again in every second place. */
static struct fifo *heat_source(struct heat *h)
{
	if (h->busy_turn && h->busy.nr)
		return &h->busy;
	if ((u64)h->small.nr * BORDER_ONE > READ_ONCE(h->border))
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

	fifo_now_full(&h->links);
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
	/* A miss of long ago is not why it came. */
	u32 class = why == CACHE_PROMOTE_AHEAD ? 0 : ghost_find_class(h, block);

	WRITE_ONCE(*fifo_hits(p, slot), class << HEAT_CLASS_SHIFT);
	fifo_add(p, &h->links, hot ? &h->main : &h->small, slot,
		 FIFO_LIVE | (hot ? FIFO_MAIN : 0));
}

static void heat_removed(struct cache_policy *p, u32 slot, u64 block,
			 enum cache_removal why)
{
	struct heat *h = to_heat(p);
	bool small = !(fifo_get_mark(p, slot) & FIFO_MAIN);

	if (why == CACHE_REMOVED_EVICTED) {
		border_evicted(h, small);
		ghost_evicted(h, block, small ? GHOST_FROM_SMALL :
			      GHOST_FROM_MAIN);
	} else if (why == CACHE_REMOVED_DISCARDED) {
		ghost_discarded(h, block);
	}
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

/*
 * A cache that comes back full holds what was worth it.  What was never seen has
 * to show that it is worth more, though nothing is known of that yet.
 */
static void heat_be_wary(struct heat *h)
{
	u32 class;

	for (class = 1; class <= HEAT_WARMTHS * HEAT_KINDS; class++)
		h->yield[class] = YIELD_WARY;
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
	if (h->small.nr + h->main.nr > p->params.nr_slots / 2)
		heat_be_wary(h);
}

static u32 heat_hint(struct cache_policy *p, u32 slot)
{
	struct heat *h = to_heat(p);
	u32 round = READ_ONCE(*fifo_hits(p, slot)) & HEAT_MAX_HITS;
	u32 rank;

	if (!(fifo_get_mark(p, slot) & FIFO_MAIN)) {
		rank = fifo_rank(p, &h->small, slot);
		return rank * (HINT_SMALL - 1) / FIFO_EPOCHS;
	}
	rank = fifo_rank(p, &h->main, slot) * (HINT_ROUND - 1) / FIFO_EPOCHS;
	return HINT_SMALL + round * HINT_ROUND + rank;
}

/*
 * Looking into it.
 */

/* A fixed-point @value, of which @one is 1, in thousandths. */
static s64 heat_permille(s64 value, s32 one)
{
	return div_s64(value * 1000, one);
}

/* The names of a class's three parts, numbered as class_of() takes them. */
static const char * const class_by_ghost_names[] = {
	"new", "again_soon", "again_later", "again_late",
	"often_soon", "often_late",
};

static const char * const class_by_region_names[HEAT_WARMTHS] = {
	"cold", "warm", "hot",
};

static const char * const class_by_kind_names[HEAT_KINDS] = {
	"small", "large", "stream",
};

static void heat_tell_class(struct heat *h, u32 class,
			    cache_policy_stat_fn tell, void *ctx)
{
	u32 i = class - 1;
	char name[CACHE_POLICY_STAT_LEN];

	snprintf(name, sizeof(name), "%s_%s_%s_yield_permille",
		 class_by_ghost_names[i / HEAT_KINDS / HEAT_WARMTHS],
		 class_by_region_names[i / HEAT_KINDS % HEAT_WARMTHS],
		 class_by_kind_names[i % HEAT_KINDS]);
	tell(ctx, name, heat_permille(READ_ONCE(h->yield[class]), YIELD_ONE));
}

static void heat_tell_price(struct heat *h, const char *name, u64 level,
			    cache_policy_stat_fn tell, void *ctx)
{
	u32 price = level ? heat_share(h, level) : 0;

	tell(ctx, name, heat_permille(price, YIELD_ONE));
}

static void heat_stats(struct cache_policy *p, cache_policy_stat_fn tell,
		       void *ctx)
{
	struct heat *h = to_heat(p);
	u32 class;

	tell(ctx, "small_slots", h->small.nr);
	tell(ctx, "main_slots", h->main.nr);
	tell(ctx, "busy_slots", h->busy.nr);
	tell(ctx, "border_slots", READ_ONCE(h->border) / BORDER_ONE);
	tell(ctx, "small_evictions_permille",
	     heat_permille(READ_ONCE(h->small_share), BORDER_ONE));
	tell(ctx, "lead_permille",
	     heat_permille(READ_ONCE(h->lead), LEAD_ONE));
	tell(ctx, "rival_blocks_per_sample", h->rival_mask + 1);
	tell(ctx, "poor_misses_permille",
	     heat_permille(READ_ONCE(h->poor), POOR_ONE));
	heat_tell_price(h, "read_price_permille", READ_ONCE(h->read_level),
			tell, ctx);
	heat_tell_price(h, "write_price_permille", READ_ONCE(h->write_level),
			tell, ctx);
	heat_tell_price(h, "full_write_price_permille",
			READ_ONCE(h->full_write_level), tell, ctx);
	tell(ctx, "mean_yield_permille",
	     heat_permille(READ_ONCE(h->mean_yield), YIELD_ONE));
	for (class = 1; class < HEAT_CLASS_STREAM; class++)
		heat_tell_class(h, class, tell, ctx);
	tell(ctx, "repeated_stream_yield_permille",
	     heat_permille(READ_ONCE(h->yield[HEAT_CLASS_STREAM]), YIELD_ONE));
}

/*
 * Life.
 */

/* The exponent of the power of two nearest below @n / @d, 0 at least. */
static unsigned int heat_log2_ratio(u64 n, u64 d)
{
	return n > d ? ilog2(div64_u64(n, d)) : 0;
}

static u32 *heat_table(u32 nr, u32 ways)
{
	return kvcalloc(nr, ways * sizeof(u32), GFP_KERNEL);
}

/* The sample is as large as fits the rival's table. */
static void rival_size(struct heat *h, u32 nr)
{
	u32 entries = clamp(nr / 32, RIVAL_MIN, RIVAL_MAX);
	unsigned int shift = 0;

	while (nr >> shift > entries && shift < RIVAL_MAX_SHIFT)
		shift++;
	h->rival_mask = (1u << shift) - 1;
	h->nr_rival_buckets = DIV_ROUND_UP(max(nr >> shift, 1u), RIVAL_WAYS);
}

static int heat_allocate(struct heat *h, u32 nr)
{
	h->nr_buckets = max_t(u32, 1, (u64)nr * 3 / 4 / GHOST_WAYS);
	h->nr_region_sets = max_t(u32, 1, nr / 8 / REGION_WAYS);
	h->nr_streams = max_t(u32, 1, nr / 16);
	rival_size(h, nr);
	h->ghost = heat_table(h->nr_buckets, GHOST_WAYS);
	h->regions = heat_table(h->nr_region_sets, REGION_WAYS);
	h->streams = heat_table(h->nr_streams, 1);
	h->rival = heat_table(h->nr_rival_buckets, RIVAL_WAYS);
	if (!h->ghost || !h->regions || !h->streams || !h->rival)
		return -ENOMEM;
	h->policy.bytes = sizeof(u32) * (nr + (u64)h->nr_buckets * GHOST_WAYS +
					 (u64)h->nr_region_sets * REGION_WAYS +
					 h->nr_streams +
					 (u64)h->nr_rival_buckets * RIVAL_WAYS);
	return fifo_links_init(&h->links, nr);
}

static void heat_init(struct heat *h, const struct cache_policy_params *params)
{
	u32 nr = params->nr_slots;
	u32 i;

	fifo_init(&h->small, &h->links);
	fifo_init(&h->main, &h->links);
	fifo_init(&h->busy, &h->links);
	fifo_loader_init(&h->loader, &h->links);
	h->border = (u64)max_t(u32, nr / 10, 1) * BORDER_ONE;
	for (i = 0; i < HEAT_CLASSES; i++)
		h->yield[i] = YIELD_FIRST;
	h->mean_yield = YIELD_FIRST;
	h->ghost_shift = heat_log2_ratio(nr, GHOST_WINDOW);
	h->region_shift = heat_log2_ratio(nr, 1);
	h->stream_shift = heat_log2_ratio((u64)nr * params->block_sectors,
					  STREAM_WINDOW);
	h->blocks_shift = heat_log2_ratio(HEAT_REGION_SECTORS,
					  params->block_sectors);
	HEAT_SETTINGS(HEAT_SET_DEFAULT)
	if (!params->rotational)
		h->seq_cutoff = 0;
}

static void heat_destroy(struct cache_policy *p)
{
	struct heat *h = to_heat(p);

	fifo_links_exit(&h->links);
	kvfree(h->rival);
	kvfree(h->streams);
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
	if (heat_allocate(h, params->nr_slots)) {
		heat_destroy(&h->policy);
		return NULL;
	}
	heat_init(h, params);
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
	.stats = heat_stats,
};

CACHE_POLICY_MODULE(heat_ops);
MODULE_ALIAS("dm-cache-heat");
MODULE_ALIAS("dm-cache-mq");
MODULE_ALIAS("dm-cache-default");
MODULE_DESCRIPTION("hearth cache policy: scan-resistant, promotes what has earned it");
MODULE_LICENSE("GPL");
MODULE_VERSION(HEARTH_VERSION);
