// SPDX-License-Identifier: GPL-2.0-only
/*
 * heat: the default policy; it answers to smq, mq and default as well.
 *
 * It promotes a block if promoting such blocks paid on this volume lately:
 *
 *  - Residency is S3-FIFO (Yang and others, SOSP 2023): a small queue on
 *    probation, a main queue of blocks that were used again, two bits of hits
 *    per slot. Blocks that come back soon after their eviction move the border
 *    between the two queues.
 *  - A ghost remembers the blocks that were missed or evicted lately, as 16
 *    bit fingerprints. Regions of 4 MiB gather heat from what misses in them.
 *  - A miss is put into one of 55 classes by what the ghost and its region
 *    know, and by its kind. A slot remembers the class that it was promoted in,
 *    and when it leaves probation the class is credited with its hits. A class
 *    is promoted if its promotions are hit nearly as often as all are. One miss
 *    in HEAT_SAMPLE is promoted whatever its class, so that a change shows.
 *  - How strict that is depends on the rival: a table of what a cache that
 *    promotes everything would hold, for a sample of the blocks. While we hit
 *    more often than the rival we spare the cache device; when we fall behind,
 *    the price of a promotion falls.
 *  - The rival leaves out classes that hardly ever pay, such as a scan of new
 *    blocks, because a scan would flush it and a flushed rival sets no price.
 *  - A sequential stream passes by after a small cutoff, because a disk serves
 *    it without seeking. Streams that repeat before long are a class of their
 *    own.
 *
 * hit() and miss() take no lock: what they touch is plain words with racy
 * stores. The queues belong to the serialised calls. This file must not know of
 * requests beyond struct cache_io, nor of time other than by counting misses.
 *
 * The numbers below were chosen by looking at the whole surface, rather than at
 * its peak, on the five traces of docs/policies.md, on two more and on made-up
 * ones. Few of them are sharp: with half or twice the value, the share of the
 * disk's time that is saved moves by .005 at most, and the promotions by 16 in
 * 1000 accesses (means of the five traces; caches of 5, 10 and 20 %). A comment
 * says where a number matters more, or has another reason.
 */
#include "heat-settings.h"
#include "slot-fifo.h"
#include "tables.h"

/* Limits the time under the engine's lock if every slot was hit. */
#define HEAT_ROUNDS_PER_VICTIM	32
/*
 * One miss in 96 is promoted whatever its class, because a class that is never promoted
 * could not show that it pays now. That is a percent of the misses.
 */
#define HEAT_SAMPLE		96
/* Percent of the room for migrations: samples wait while more of it is in use. */
#define HEAT_BUSY		50
/* A request up to this, a database's page of 8 KiB, is of the small kind. */
#define HEAT_SMALL_SECTORS	16
/* 4 MiB: the best of 256 KiB, 1 MiB and 4 MiB on four traces. */
#define HEAT_REGION_SECTORS	8192
/* 1 MiB: a disk of 8 ms and 150 MB/s reads about this much in a seek's time. */
#define HEAT_SEEK_SECTORS	2048

/*
 * The byte of the policy word that hit() stores: hits in the lower two bits,
 * as in S3-FIFO, the class in the upper six.
 */
#define HEAT_MAX_HITS		3
#define HEAT_CLASS_SHIFT	2

/* Classes: 6 by the ghost, 3 by the region, 3 by kind; 0 is none. */
#define HEAT_KINDS		3
#define HEAT_WARMTHS		3
#define HEAT_CLASS_STREAM	(1 + 6 * HEAT_WARMTHS * HEAT_KINDS)
#define HEAT_CLASSES		(HEAT_CLASS_STREAM + 1)

/* Hits per promotion, in fixed point. */
#define YIELD_ONE		1024
/*
 * A class of which nothing is known has this yield, so that it is promoted, because
 * promotions teach.
 */
#define YIELD_FIRST		YIELD_ONE
/*
 * The same for blocks that the ghost does not know, if more than half of the cache was in
 * use when heat took it over, because then it has blocks to lose.
 */
#define YIELD_WARY		(YIELD_ONE / 2)
/*
 * Samples in the moving averages: of one class, and of all of them. The mean has
 * several times as many, because a burst of one class shall not move it. Not chosen
 * by measurement.
 */
#define YIELD_WEIGHT		24
#define YIELD_MEAN_WEIGHT	128
/* A stream must earn this: little, because few streams repeat at all. */
#define YIELD_STREAM		(YIELD_ONE / 4)
/*
 * The cost, in hits, of reading the rest of a block for a write. A write within a
 * stream would not seek without that read, and does with it. With half of the
 * value, up to .008 less of the disk's time is saved.
 */
#define YIELD_FETCH		(YIELD_ONE / 4)
#define YIELD_FETCH_STREAM	YIELD_ONE
/*
 * The cost of a promotion is cut at this, which blocks of 8 MiB reach. The lead counts
 * costs, and one promotion of a larger block would move it too far.
 */
#define YIELD_MAX_COST		(8 * YIELD_ONE)
/* A class that yields less is poor: it hardly ever pays. */
#define YIELD_POOR		(YIELD_ONE / 4)
/* If this part of the mean is less than YIELD_POOR, it is the bound instead. */
#define POOR_OF_MEAN(mean)	((mean) * 3 / 4)

/* The share of the misses that are of poor classes, in fixed point. */
#define POOR_ONE		(1u << 20)
#define POOR_SHIFT		10	/* log of the misses in the moving average */
/* The price falls by so many sixteenths if all misses are of poor classes. */
#define POOR_DISCOUNT		7

/*
 * The price at level 1 and up, in parts of the mean yield, in sixteenths.
 * Level 2 is the default, at the knee: on the five traces, 9/16 saves .004 to
 * .007 more of the disk's time for 18 to 29 promotions more in 1000 accesses,
 * and 17/16 loses .003 to .005 for 4 to 7 less. The other levels are points to
 * either side of it, for less wear or for more hits at any wear.
 */
#define PRICE_SIXTEENTHS	{ 0, 6, 13, 15, 18, 24 }
/*
 * Bounds of the price: as of a mean yield of 16/72 and of 16/18 of a hit, so .18
 * and .72 of a hit at level 2. The counters stop at 3 hits, so a higher mean says
 * little. The upper bound matters: twice the value costs 16 to 18 promotions more
 * in 1000 accesses.
 */
#define PRICE_LEAST(n)		((n) * YIELD_ONE / 72)
#define PRICE_MOST(n)		((n) * YIELD_ONE / 18)

/* A bucket of 8 entries is half a cache line, so a look at it touches one line. */
#define GHOST_WAYS		8
/* An entry of the ghost; zero is empty. */
#define GHOST_FP_MASK		0xffffu
#define GHOST_VISITS_SHIFT	16
#define GHOST_VISITS_MASK	0x3u
#define GHOST_CLASS_SHIFT	18
#define GHOST_CLASS_MASK	0x3fu
#define GHOST_TIME_SHIFT	24
#define GHOST_TIME_MASK		0xffu
/*
 * Ghost time in which a visit counts. A tick is a power of two of misses, so
 * that the window is between half a cache full of misses and a whole one.
 */
#define GHOST_WINDOW		64
/* Ghost time in which a return counts as a regret of the eviction. */
#define GHOST_SOON		(GHOST_WINDOW / 4)
/* Ages that tell the classes of a second and of a later visit apart. */
#define GHOST_AGAIN_SOON	(GHOST_WINDOW / 8)
#define GHOST_AGAIN_LATER	(GHOST_WINDOW * 3 / 8)
#define GHOST_OFTEN_SOON	(GHOST_WINDOW / 4)
/* In place of a class: the block was evicted, from this queue. */
#define GHOST_FROM_SMALL	62
#define GHOST_FROM_MAIN		63

/* Fixed point of the border between the queues. */
#define BORDER_ONE		65536u
/* The number of slots by which one return moves the border at most. */
#define BORDER_STEP		4
/* Evictions in the moving average of the queues that they were from. */
#define BORDER_WEIGHT		64
/* The least share of the evictions that a queue is taken to have. */
#define BORDER_RARE		(BORDER_ONE / 8)
/* The small queue's part of the cache at first: S3-FIFO's tenth. */
#define BORDER_FIRST(nr)	((nr) / 10)
/*
 * The small queue's least and most part of the cache. Neither queue may vanish,
 * because only evictions from a queue tell whether it should be longer.
 */
#define BORDER_LEAST(all)	((all) / 16)
#define BORDER_MOST(all)	((all) - (all) / 8)

/* As GHOST_WAYS. */
#define RIVAL_WAYS		8
/* An entry of the rival's table; zero is empty. */
#define RIVAL_FP_MASK		0xffffu
#define RIVAL_NEWS		0x10000u /* put by a hit, not counted yet */
#define RIVAL_TIME_SHIFT	17
#define RIVAL_TIME_MASK		0x7fffu
/*
 * Entries: a 32nd of the slots, which is an eighth of a byte for each. A small
 * cache has more, because a sample of a few blocks would tell of chance only; a
 * large one does not need more.
 */
#define RIVAL_MIN		512u
#define RIVAL_MAX		65536u
#define RIVAL_MAX_SHIFT		16

/* How far ahead of the rival we are: hits per miss, in fixed point. */
#define LEAD_ONE		65536
#define LEAD_WEIGHT		1024	/* misses in the moving average */
/*
 * If the rival leads by this, all is promoted. The number trades wear for hits: a
 * fortieth saves .001 to .005 more of the disk's time for 4 to 10 promotions more
 * in 1000 accesses.
 */
#define LEAD_LOST		(LEAD_ONE / 20)
/*
 * The lead is cut at this, because a longer lead would take longer to fall after the load
 * has changed.
 */
#define LEAD_MOST		LEAD_LOST

/*
 * Heat up to which a region is cold, and up to which it is warm. A region of
 * 4 MiB has 64 blocks of 64 KiB: 16 misses are a quarter of it.
 */
#define REGION_COLD		4
#define REGION_WARM		16

/* A set of 4 entries is a quarter of a cache line, so a look at it touches one line. */
#define REGION_WAYS		4
/* An entry of the region table. */
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
/* A step back of less than a quarter of a region is requests out of order. */
#define STREAM_BACK		(STREAM_PLACES / 4)
/* 256 KiB: requests that follow each other by chance stop before that. */
#define STREAM_SURE		512
/*
 * So many stretches are as long as the cache, but none is longer than a region. With fewer
 * stretches a small cache would sample a stream too seldom to learn that it repeats. On
 * five traces, 512 and 1,024 differ by .0002 of the disk's time.
 */
#define STREAM_STRETCHES	512

struct heat {
	struct cache_policy policy;

	/* Belong to the serialised calls. */
	struct fifo_links links;
	struct fifo small, main;
	struct fifo busy;	/* victims that were dirty or in use */
	bool busy_turn;
	struct fifo_loader loader;

	/* Read and stored by any call, without a lock. */
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
	unsigned int stretch_shift;	/* traffic to stretches of streams */

	HEAT_SETTINGS(CACHE_SETTING_MEMBER)
};

static struct heat *to_heat(struct cache_policy *p)
{
	return container_of(p, struct heat, policy);
}

#define HEAT_SET_DEFAULT(key, unit, def, min, max, help)	h->key = def;
#define HEAT_ROW(key, unit, def, min, max, help) \
	CACHE_SETTING_ROW(struct heat, key, key, unit, min, max, help)
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
 * The entry of the block that hashes to @hash, whose content goes to *@old. If
 * there is none, the entry to replace, and *@old is 0.
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

/* Forget the block, because what is written there next is other data. */
static void ghost_discarded(struct heat *h, u64 block)
{
	u32 old;
	u32 *entry = ghost_find(h, table_hash(block), &old);

	if (old)
		WRITE_ONCE(*entry, 0);
}

/*
 * Regions: how many misses each had lately. The count is halved each time that
 * about a cache full of misses has passed.
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

	/* The heat has eight bits, so nothing is left of it after eight halvings. */
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

/* The entry of the region, or the one to replace: the coldest of its set. */
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
 * Streams past the cutoff. A stream repeats if it enters a region further back
 * than where the region was left, before a cache full of other misses passed.
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
 * The rival: what a cache would hold that promotes every miss but streams past
 * the cutoff, first in, first out, for one block in so many. A miss of ours
 * that the rival holds is a hit that we lost; a hit of ours that it does not
 * hold is a hit that we won. hit() may store once only, so it marks the entry
 * that it puts with RIVAL_NEWS, and the next miss in that bucket counts it.
 */

/*
 * Hits pay for this test, so it takes one multiplication of the hash only. The
 * rival ignores writes within a stream, because fetching the rest of the block
 * would cost it a seek.
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

/* The entry of the block that hashes to @hash, or the one to replace. */
static u32 *rival_find(struct heat *h, u64 hash)
{
	u32 now = rival_now(h) << RIVAL_TIME_SHIFT;
	u32 *bucket = rival_bucket(h, hash);

	return ways_find(bucket, RIVAL_WAYS, RIVAL_FP_MASK, ghost_fp(hash)) ?:
	       ways_oldest(bucket, RIVAL_WAYS, now, RIVAL_TIME_SHIFT);
}

/* Is an entry with the content @old that of the block that hashes to @hash? */
static bool rival_holds(u32 old, u64 hash)
{
	return (old & RIVAL_FP_MASK) == ghost_fp(hash);
}

static void rival_store(struct heat *h, u32 *entry, u64 hash, u32 news)
{
	WRITE_ONCE(*entry, rival_now(h) << RIVAL_TIME_SHIFT | news |
			   ghost_fp(hash));
}

/* How many hits we won in this bucket since the last call for it. */
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
 * Returns whether it stored anything. An entry of the present time is not
 * replaced: without misses time stands still, and blocks of one bucket would
 * replace each other at every hit.
 */
static bool rival_hit(struct heat *h, u64 block, const struct cache_io *io)
{
	u32 *entry, old;
	u64 hash;

	if (rival_ignores(h, block, io))
		return false;
	hash = table_hash(block);
	entry = rival_find(h, hash);
	old = READ_ONCE(*entry);
	if (rival_holds(old, hash) ||
	    (old && old >> RIVAL_TIME_SHIFT == rival_now(h)))
		return false;
	rival_store(h, entry, hash,
		    io->flags & CACHE_IO_STREAM ? 0 : RIVAL_NEWS);
	return true;
}

/*
 * Does the rival take a block of a class with this @yield? It takes blocks of
 * poor classes in proportion to the yield, and always the same ones.
 */
static bool rival_wants(u64 hash, u32 yield, u32 poor_below)
{
	return (((hash >> 40) & 0xff) * poor_below) >> 8 < yield;
}

/*
 * Show the rival a miss. @yield is that of the block's class, and @poor_below
 * the least of classes that are not poor; the two say whether the rival takes
 * the block if it does not hold it. @cost is what a promotion costs the origin:
 * the rival pays it for each block that it takes, and we pay it if @promoted.
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
	entry = rival_find(h, hash);
	held = rival_holds(READ_ONCE(*entry), hash);
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
 * The border between the queues. A block that comes back soon after its
 * eviction would have been kept if its queue had been longer. The rarer
 * evictions from that queue are, the more a return weighs, because returns are
 * as rare.
 */

static void border_evicted(struct heat *h, bool small)
{
	u32 share = READ_ONCE(h->small_share);

	share -= share / BORDER_WEIGHT;
	if (small)
		share += BORDER_ONE / BORDER_WEIGHT;
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
	small = clamp(READ_ONCE(h->small_share), BORDER_RARE,
		      BORDER_ONE - BORDER_RARE);
	if (ghost_class(old) == GHOST_FROM_SMALL)
		border += BORDER_STEP * (BORDER_ONE - small);
	else if (ghost_class(old) == GHOST_FROM_MAIN)
		border -= min_t(u64, border, BORDER_STEP * small);
	else
		return;
	WRITE_ONCE(h->border, clamp(border, BORDER_LEAST(all),
				    BORDER_MOST(all)));
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
		return age < GHOST_OFTEN_SOON ? 4 : 5;
	if (age < GHOST_AGAIN_SOON)
		return 1;
	return age < GHOST_AGAIN_LATER ? 2 : 3;
}

static u32 class_by_region(u32 heat)
{
	if (heat <= REGION_COLD)
		return 0;
	return heat <= REGION_WARM ? 1 : 2;
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
	return min_t(u32, POOR_OF_MEAN(READ_ONCE(h->mean_yield)), YIELD_POOR);
}

static void class_count_poor(struct heat *h, bool poor)
{
	u32 share = READ_ONCE(h->poor);

	share -= share >> POOR_SHIFT;
	if (poor)
		share += POOR_ONE >> POOR_SHIFT;
	WRITE_ONCE(h->poor, share);
}

static bool is_sample(u64 nr)
{
	return !table_index(table_hash(nr), HEAT_SAMPLE);
}

/*
 * One miss in HEAT_SAMPLE is promoted whatever its class, but not while that
 * would delay promotions that have earned it.
 */
static bool class_sampled(u64 clock, const struct cache_io *io)
{
	return is_sample(clock) && io->load < HEAT_BUSY;
}

/*
 * The yield that a class must have at @level, which is 1 at least: a share of the
 * mean yield of promotions, within bounds in the same proportion. Poor classes are
 * not promoted, so the more misses are of them, the more of the cache is left to
 * the others; the price falls by up to POOR_DISCOUNT sixteenths for that. Up to the
 * default level it falls to nothing as the rival gets ahead.
 */
static u32 heat_share(struct heat *h, u64 level)
{
	static const u8 sixteenths[HEAT_MAX_LEVEL + 1] = PRICE_SIXTEENTHS;
	u32 n = sixteenths[level];
	u32 share = clamp(READ_ONCE(h->mean_yield) * n / 16,
			  PRICE_LEAST(n), PRICE_MOST(n));
	s32 left = clamp(READ_ONCE(h->lead) + LEAD_LOST, 0, LEAD_LOST);

	/*
	 * The share of poor misses is shortened by eight bits, so that the product
	 * fits 32.
	 */
	share -= share * (READ_ONCE(h->poor) >> 8) * POOR_DISCOUNT /
		 (POOR_ONE >> 8) / 16;
	return level > HEAT_DEFAULT_LEVEL ? share : share * left / LEAD_LOST;
}

static bool heat_fetches(const struct cache_io *io)
{
	return io->op == CACHE_OP_WRITE && !(io->flags & CACHE_IO_NO_FETCH);
}

/* The cost of a promotion for the origin beyond the request, in hits. */
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
 * Has @class earned that @io be promoted? Whatever the rival does, a promotion
 * has to save the origin the time that it costs, which is much if blocks are
 * large.
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
 * A request within a stream does not count as a hit, because the request before
 * it has just brought the block in. One of a whole block does.
 */
static bool heat_counts(struct heat *h, const struct cache_io *io)
{
	return !(io->flags & CACHE_IO_STREAM) ||
	       io->sectors >= h->policy.params.block_sectors;
}

/*
 * A hit stores once at most. The rival's entry comes first, and the byte is stored only if
 * the rival needed no store. While the byte has no hits, the byte comes first in every
 * second case, because a block without a hit is evicted. If the counter is full and the
 * rival holds the block, the hit stores nothing.
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

/*
 * A whole stretch of a stream is sampled, however busy the engine is. If one block were
 * promoted alone, the disk would be asked for it after the blocks behind it, because the
 * engine begins promotions later than it passes requests on. The disk would turn once more
 * for each such block.
 */
static bool stream_sampled(struct heat *h)
{
	return is_sample(READ_ONCE(h->traffic) >> h->stretch_shift);
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
	if (READ_ONCE(h->yield[HEAT_CLASS_STREAM]) < YIELD_STREAM && !stream_sampled(h))
		return CACHE_BYPASS_STREAM;
	entry = ghost_find(h, hash, &old);
	ghost_store(h, entry, hash, 1, HEAT_CLASS_STREAM);
	return CACHE_PROMOTE;
}

/* Does the disk seek for this read? If so, the blocks behind it are cheap. */
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

/* Has @slot, which was the first of its queue, earned another round? */
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

/* The queue to evict from. Every second victim is one that was busy before. */
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
	/* Not caused by a miss, so it has no class. */
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
 * Hints, 0 to 63 as smq's: 0 to 7 are places in the small queue. The other 56
 * are places in the main queue: 14 for each of 0 to 3 hits, because each hit
 * grants another round.
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
 * A cache that comes back full holds blocks that were worth it. New blocks have
 * to show that they are worth more, though nothing is known of them yet.
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

/* log2 of @n / @d, rounded down; 0 at least. */
static unsigned int heat_log2_ratio(u64 n, u64 d)
{
	return n > d ? ilog2(div64_u64(n, d)) : 0;
}

static u32 *heat_table(u32 nr, u32 ways)
{
	return kvcalloc(nr, ways * sizeof(u32), GFP_KERNEL);
}

/* Sample one block in 2^shift, so that the sample of @nr fits the table. */
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
	/*
	 * The ghost has 3 bytes a slot, the regions half a byte, the streams a
	 * quarter. The sum fits into 10 bytes a slot beside the queues' links. A
	 * ghost of 2 to 6 bytes saves the same. Regions and streams have less,
	 * because a region covers many blocks, and a stream many regions.
	 */
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

/* The sectors of a stretch of a stream, a block at least. */
static u32 heat_stretch(u32 nr, u32 block_sectors)
{
	u64 sectors = div_u64((u64)nr * block_sectors, STREAM_STRETCHES);

	return clamp_t(u64, sectors, block_sectors, max_t(u32, HEAT_REGION_SECTORS, block_sectors));
}

static void heat_init(struct heat *h, const struct cache_policy_params *params)
{
	u32 nr = params->nr_slots;
	u32 i;

	fifo_init(&h->small, &h->links);
	fifo_init(&h->main, &h->links);
	fifo_init(&h->busy, &h->links);
	fifo_loader_init(&h->loader, &h->links);
	h->border = (u64)max_t(u32, BORDER_FIRST(nr), 1) * BORDER_ONE;
	for (i = 0; i < HEAT_CLASSES; i++)
		h->yield[i] = YIELD_FIRST;
	h->mean_yield = YIELD_FIRST;
	h->ghost_shift = heat_log2_ratio(nr, GHOST_WINDOW);
	h->region_shift = heat_log2_ratio(nr, 1);
	h->stream_shift = heat_log2_ratio((u64)nr * params->block_sectors,
					  STREAM_WINDOW);
	h->blocks_shift = heat_log2_ratio(HEAT_REGION_SECTORS,
					  params->block_sectors);
	h->stretch_shift = heat_log2_ratio(heat_stretch(nr, params->block_sectors), 1);
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

/* Name and version are those of the kernel's smq, because hints carry both. */
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
