// SPDX-License-Identifier: GPL-2.0-only
/*
 * "smq-like": an approximation of the kernel's stock dm-cache policy smq, to
 * compare with.
 *
 * Written from its behaviour. Cache blocks and hotspot areas of 16 blocks each
 * live in 64-level queues; an access moves an entry up and swaps it with one of
 * the level above, once per period; the levels are evened out at intervals; a
 * miss promotes when its area's level reaches a threshold that depends on how
 * well the upper hotspot levels are hit. A trace's accesses stand in for time:
 * 500 to a second, which is a tick. The throttling of migrations and the
 * reserve of clean and free blocks are left out, so it promotes more than the
 * real one. It must not know of requests, only of accesses to blocks.
 */
#include "model.h"

#define NONE		U32_MAX
#define LEVELS		64
#define AREA_BLOCKS	16
#define AREAS_MIN	1024
#define TOP_LEVELS	8
#define PER_TICK	500	/* a second */
#define TICKS_TO_EVEN_OUT 60	/* the cache's levels */

struct entry {
	u32 prev, next;
	u64 key;		/* block id or area */
	u8 level;
	bool seen;		/* in this period */
};

struct queue {
	struct entry *entries;
	u32 first[LEVELS], last[LEVELS], nr[LEVELS];
	u32 total, room;
	u32 top_levels, in_top;
	u64 hits, misses;	/* of the upper quarter of levels */
};

struct smq {
	struct model m;
	struct queue cache, areas;
	u32 *cached;		/* entry of a block id */
	u32 *area_of;		/* hash table: entry of an area */
	u32 mask;
	u32 *chain;
	u64 clock;
	u8 jump, promote_level;
};

static void q_init(struct queue *q, u32 room)
{
	u32 i;

	q->entries = calloc(max(room, 1u), sizeof(*q->entries));
	q->room = room;
	for (i = 0; i < LEVELS; i++)
		q->first[i] = q->last[i] = NONE;
}

static void q_del(struct queue *q, u32 i)
{
	struct entry *e = &q->entries[i];

	if (e->prev == NONE)
		q->first[e->level] = e->next;
	else
		q->entries[e->prev].next = e->next;
	if (e->next == NONE)
		q->last[e->level] = e->prev;
	else
		q->entries[e->next].prev = e->prev;
	q->nr[e->level]--;
}

static void q_push(struct queue *q, u32 i, u8 level)
{
	struct entry *e = &q->entries[i];

	e->level = level;
	e->prev = q->last[level];
	e->next = NONE;
	if (e->prev == NONE)
		q->first[level] = i;
	else
		q->entries[e->prev].next = i;
	q->last[level] = i;
	q->nr[level]++;
}

/* The oldest of the lowest level that is not empty. */
static u32 q_coldest(struct queue *q)
{
	u32 i;

	for (i = 0; i < LEVELS; i++)
		if (q->first[i] != NONE)
			return q->first[i];
	return NONE;
}

static void q_raise(struct queue *q, u32 i, u32 levels)
{
	u8 old = q->entries[i].level;
	u8 new = min(old + levels, LEVELS - 1u);
	u32 other = q->first[new];

	if (new != old && other != NONE) {
		q_del(q, other);
		q_push(q, other, old);
	}
	q_del(q, i);
	q_push(q, i, new);
}

static u32 q_target(struct queue *q, u32 level)
{
	u32 in_top = min(q->in_top, q->total);
	u32 lower = LEVELS - q->top_levels;

	if (level >= lower)
		return in_top / q->top_levels;
	return (q->total - in_top) / lower;
}

static u32 q_above(struct queue *q, u32 level)
{
	for (; level < LEVELS; level++)
		if (q->first[level] != NONE)
			return q->first[level];
	return NONE;
}

static void q_even_out(struct queue *q)
{
	u32 level, i;

	for (level = 0; level < LEVELS - 1; level++) {
		while (q->nr[level] < q_target(q, level)) {
			i = q_above(q, level + 1);
			if (i == NONE)
				break;
			q_del(q, i);
			q_push(q, i, level);
		}
		while (q->nr[level] > q_target(q, level)) {
			i = q->last[level];
			q_del(q, i);
			q_push(q, i, level + 1);
		}
	}
}

static void q_count(struct queue *q, u8 level)
{
	if (level >= LEVELS * 3 / 4)
		q->hits++;
	else
		q->misses++;
}

static void q_forget_seen(struct queue *q)
{
	u32 i;

	for (i = 0; i < q->total; i++)
		q->entries[i].seen = false;
}

/* How well the upper levels are hit: 0 poorly, 1 fairly, 2 well. */
static unsigned int q_performance(const struct queue *q)
{
	u64 all = q->hits + q->misses;

	if (!all || q->hits * 16 < all)
		return 0;
	return q->hits * 8 < all ? 1 : 2;
}

static void tick(struct smq *s)
{
	static const u8 levels[] = { LEVELS * 3 / 4, LEVELS / 2, 0 };
	static const u8 jumps[] = { 4, 2, 1 };
	unsigned int performance = q_performance(&s->areas);

	q_forget_seen(&s->areas);
	s->promote_level = levels[performance];
	s->jump = jumps[performance];
	q_even_out(&s->areas);
	s->areas.hits = s->areas.misses = 0;
	if (s->clock / PER_TICK % TICKS_TO_EVEN_OUT == 0) {
		q_forget_seen(&s->cache);
		q_even_out(&s->cache);
	}
}

static u32 *area_bucket(struct smq *s, u64 area)
{
	return &s->area_of[(area * 0x9e3779b97f4a7c15ull >> 32) & s->mask];
}

static u32 area_find(struct smq *s, u64 area)
{
	u32 i = *area_bucket(s, area);

	while (i != NONE && s->areas.entries[i].key != area)
		i = s->chain[i];
	return i;
}

static void area_unhash(struct smq *s, u32 i)
{
	u32 *link = area_bucket(s, s->areas.entries[i].key);

	while (*link != i)
		link = &s->chain[*link];
	*link = s->chain[i];
}

static u32 area_new(struct smq *s, u64 area)
{
	struct queue *q = &s->areas;
	u8 level = 0;
	u32 i;

	if (q->total < q->room) {
		i = q->total++;
	} else {
		i = q_coldest(q);
		level = q->entries[i].level;
		q_del(q, i);
		area_unhash(s, i);
	}
	q->entries[i].key = area;
	q->entries[i].seen = false;
	s->chain[i] = *area_bucket(s, area);
	*area_bucket(s, area) = i;
	q_push(q, i, level);
	return i;
}

/* A miss: returns the level of the block's area. */
static u8 area_miss(struct smq *s, u64 area)
{
	struct queue *q = &s->areas;
	u32 i = area_find(s, area);

	if (i == NONE) {
		q->misses++;
		i = area_new(s, area);
		return q->entries[i].level;
	}
	q_count(q, q->entries[i].level);
	if (!q->entries[i].seen) {
		q->entries[i].seen = true;
		q_raise(q, i, s->jump);
	}
	return q->entries[i].level;
}

static void promote(struct smq *s, u32 id)
{
	struct queue *q = &s->cache;
	u8 level = LEVELS / 2;
	u32 i;

	if (q->total < q->room) {
		i = q->total++;
	} else {
		i = q_coldest(q);
		s->cached[q->entries[i].key] = NONE;
		q_del(q, i);
	}
	q->entries[i].key = id;
	q->entries[i].seen = false;
	s->cached[id] = i;
	q_push(q, i, level);
}

static enum outcome smq_access(struct model *m, u32 index)
{
	struct smq *s = container_of(m, struct smq, m);
	u32 id = m->accesses->all[index].id;
	u32 i = s->cached[id];
	u8 level;

	if (++s->clock % PER_TICK == 0)
		tick(s);
	if (i != NONE) {
		q_count(&s->cache, s->cache.entries[i].level);
		if (!s->cache.entries[i].seen) {
			s->cache.entries[i].seen = true;
			q_raise(&s->cache, i, 1);
		}
		return HIT;
	}
	level = area_miss(s, m->accesses->blocks[id] / AREA_BLOCKS);
	if (s->cache.total == s->cache.room && level < s->promote_level)
		return BYPASSED;
	promote(s, id);
	return PROMOTED;
}

static void smq_destroy(struct model *m)
{
	struct smq *s = container_of(m, struct smq, m);

	free(s->cache.entries);
	free(s->areas.entries);
	free(s->cached);
	free(s->area_of);
	free(s->chain);
	free(s);
}

struct model *smq_like_create(const char *name, const struct model_params *params)
{
	u32 areas = max(params->nr_slots / 4, (u32)AREAS_MIN);
	u32 nr = max(params->accesses->nr_blocks, 1u);
	struct smq *s;

	if (strcmp(name, "smq-like"))
		return NULL;
	s = calloc(1, sizeof(*s));
	s->m.access = smq_access;
	s->m.destroy = smq_destroy;
	q_init(&s->cache, params->nr_slots);
	q_init(&s->areas, areas);
	s->cache.top_levels = 1;
	s->cache.in_top = params->nr_slots / LEVELS;
	s->areas.top_levels = TOP_LEVELS;
	s->areas.in_top = min(areas / LEVELS, params->nr_slots / AREA_BLOCKS);
	s->mask = roundup_pow_of_two(areas) - 1;
	s->area_of = malloc((s->mask + 1ull) * sizeof(*s->area_of));
	s->chain = malloc(areas * sizeof(*s->chain));
	s->cached = malloc(nr * sizeof(*s->cached));
	memset(s->area_of, 0xff, (s->mask + 1ull) * sizeof(*s->area_of));
	memset(s->cached, 0xff, nr * sizeof(*s->cached));
	s->jump = 1;
	s->promote_level = LEVELS - 1;
	return &s->m;
}
