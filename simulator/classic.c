// SPDX-License-Identifier: GPL-2.0-only
/*
 * Textbook algorithms, to compare the policies with. They work on dense block
 * ids with exact lists, have no limit on memory, and must not know of streams.
 */
#include <stdio.h>

#include "model.h"

#define NONE		U32_MAX
#define MAX_LISTS	4

/* Doubly linked lists of ids; an id is in one list at most. */
struct list {
	u32 head, tail;		/* pushed at the head, old at the tail */
	u32 nr;
};

struct classic {
	struct model m;
	struct list lists[MAX_LISTS + 1];	/* 0 is "in none" */
	u32 *prev, *next;
	u8 *where;
	u8 *bits;
	u32 hand;
	double target;
	bool evicted;
};

static void take(struct classic *c, u32 id)
{
	struct list *l = &c->lists[c->where[id]];

	if (!c->where[id])
		return;
	if (c->prev[id] == NONE)
		l->head = c->next[id];
	else
		c->next[c->prev[id]] = c->next[id];
	if (c->next[id] == NONE)
		l->tail = c->prev[id];
	else
		c->prev[c->next[id]] = c->prev[id];
	l->nr--;
	c->where[id] = 0;
}

static void push(struct classic *c, u8 list, u32 id)
{
	struct list *l = &c->lists[list];

	take(c, id);
	c->where[id] = list;
	c->prev[id] = NONE;
	c->next[id] = l->head;
	if (l->head == NONE)
		l->tail = id;
	else
		c->prev[l->head] = id;
	l->head = id;
	l->nr++;
}

static u32 oldest(struct classic *c, u8 list)
{
	return c->lists[list].tail;
}

static u32 pop(struct classic *c, u8 list)
{
	u32 id = oldest(c, list);

	if (id != NONE)
		take(c, id);
	return id;
}

static u32 id_at(struct model *m, u32 index)
{
	return m->accesses->all[index].id;
}

static struct classic *to_classic(struct model *m)
{
	return container_of(m, struct classic, m);
}

static enum outcome fifo_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	u32 id = id_at(m, index);

	if (c->where[id])
		return HIT;
	if (c->lists[1].nr == m->nr_slots)
		pop(c, 1);
	push(c, 1, id);
	return PROMOTED;
}

static enum outcome lru_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	u32 id = id_at(m, index);
	bool hit = c->where[id];

	if (!hit && c->lists[1].nr == m->nr_slots)
		pop(c, 1);
	push(c, 1, id);
	return hit ? HIT : PROMOTED;
}

static enum outcome clock_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	u32 id = id_at(m, index), old;

	if (c->where[id]) {
		c->bits[id] = 1;
		return HIT;
	}
	while (c->lists[1].nr == m->nr_slots) {
		old = pop(c, 1);
		if (c->bits[old])
			push(c, 1, old);
		c->bits[old] = 0;
	}
	push(c, 1, id);
	return PROMOTED;
}

static void sieve_evict(struct classic *c)
{
	u32 id = c->hand == NONE ? oldest(c, 1) : c->hand;

	while (c->bits[id]) {
		c->bits[id] = 0;
		id = c->prev[id] == NONE ? oldest(c, 1) : c->prev[id];
	}
	c->hand = c->prev[id];
	take(c, id);
}

static enum outcome sieve_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	u32 id = id_at(m, index);

	if (c->where[id]) {
		c->bits[id] = 1;
		return HIT;
	}
	if (c->lists[1].nr == m->nr_slots)
		sieve_evict(c);
	c->bits[id] = 0;
	push(c, 1, id);
	return PROMOTED;
}

/* Lists: 1 small, 2 main, 3 ghost. */
static void s3fifo_evict_small(struct classic *c)
{
	u32 ghosts = c->m.nr_slots - c->m.nr_slots / 10;
	u32 id = pop(c, 1);

	if (c->bits[id] >= 2) {
		c->bits[id] = 0;
		push(c, 2, id);
		return;
	}
	while (c->lists[3].nr >= ghosts)
		pop(c, 3);
	if (ghosts)
		push(c, 3, id);
}

static void s3fifo_evict_main(struct classic *c)
{
	u32 id = pop(c, 2);

	if (!c->bits[id])
		return;
	c->bits[id]--;
	push(c, 2, id);
}

static enum outcome s3fifo_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	u32 small = max(m->nr_slots / 10, 1u);
	u32 id = id_at(m, index);
	bool ghost;

	if (c->where[id] == 1 || c->where[id] == 2) {
		c->bits[id] = min(c->bits[id] + 1, 3);
		return HIT;
	}
	ghost = c->where[id] == 3;
	take(c, id);
	while (c->lists[1].nr + c->lists[2].nr >= m->nr_slots) {
		c->evicted = true;
		if (c->lists[1].nr > small || !c->lists[2].nr)
			s3fifo_evict_small(c);
		else
			s3fifo_evict_main(c);
	}
	c->bits[id] = 0;
	if (ghost || (!c->evicted && c->lists[1].nr >= small))
		push(c, 2, id);
	else
		push(c, 1, id);
	return PROMOTED;
}

/* Lists: 1 A1in, 2 Am, 3 A1out. */
static void two_q_evict(struct classic *c)
{
	u32 in = max(c->m.nr_slots / 4, 1u), id;

	if (c->lists[1].nr > in || !c->lists[2].nr) {
		id = pop(c, 1);
		if (c->lists[3].nr >= max(c->m.nr_slots / 2, 1u))
			pop(c, 3);
		push(c, 3, id);
	} else {
		pop(c, 2);
	}
}

static enum outcome two_q_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	u32 id = id_at(m, index);
	bool ghost;

	if (c->where[id] == 2)
		push(c, 2, id);
	if (c->where[id] == 1 || c->where[id] == 2)
		return HIT;
	ghost = c->where[id] == 3;
	take(c, id);
	if (c->lists[1].nr + c->lists[2].nr >= m->nr_slots)
		two_q_evict(c);
	push(c, ghost ? 2 : 1, id);
	return PROMOTED;
}

/* Lists: 1 T1, 2 T2, 3 B1, 4 B2. */
static void arc_replace(struct classic *c, bool in_b2)
{
	u32 t1 = c->lists[1].nr;

	if (t1 && (t1 > c->target || (in_b2 && t1 == c->target)))
		push(c, 3, oldest(c, 1));
	else if (c->lists[2].nr)
		push(c, 4, oldest(c, 2));
	else
		push(c, 3, oldest(c, 1));
}

static void arc_make_room(struct classic *c)
{
	u32 t1 = c->lists[1].nr, t2 = c->lists[2].nr;
	u32 b1 = c->lists[3].nr, b2 = c->lists[4].nr, n = c->m.nr_slots;

	if (t1 + b1 == n) {
		if (t1 < n) {
			pop(c, 3);
			arc_replace(c, false);
		} else {
			pop(c, 1);
		}
	} else if (t1 + t2 + b1 + b2 >= n) {
		if (t1 + t2 + b1 + b2 == 2 * n)
			pop(c, 4);
		if (t1 + t2 >= n)
			arc_replace(c, false);
	}
}

static enum outcome arc_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	double b1 = c->lists[3].nr, b2 = c->lists[4].nr;
	u32 id = id_at(m, index);

	switch (c->where[id]) {
	case 1:
	case 2:
		push(c, 2, id);
		return HIT;
	case 3:
		c->target = min(c->target + max(b2 / b1, 1.0),
				(double)m->nr_slots);
		arc_replace(c, false);
		push(c, 2, id);
		return PROMOTED;
	case 4:
		c->target = max(c->target - max(b1 / b2, 1.0), 0.0);
		arc_replace(c, true);
		push(c, 2, id);
		return PROMOTED;
	}
	arc_make_room(c);
	push(c, 1, id);
	return PROMOTED;
}

/*
 * Lists: 1 resident, 2 ghost of adaptive length. While slots are free every
 * miss is promoted.
 */
static enum outcome larc_access(struct model *m, u32 index)
{
	struct classic *c = to_classic(m);
	double n = m->nr_slots;
	u32 id = id_at(m, index);

	if (!c->target)
		c->target = .1 * n;
	if (c->where[id] == 1) {
		c->target = max(.1 * n, c->target - n / c->target);
		push(c, 1, id);
		return HIT;
	}
	c->target = min(.9 * n, c->target + n / (n - c->target));
	if (c->lists[1].nr == m->nr_slots) {
		if (!c->where[id]) {
			push(c, 2, id);
			while (c->lists[2].nr > c->target)
				pop(c, 2);
			return BYPASSED;
		}
		pop(c, 1);
	}
	push(c, 1, id);
	return PROMOTED;
}

static const struct {
	const char *name;
	enum outcome (*access)(struct model *m, u32 index);
} classics[] = {
	{ "FIFO", fifo_access },
	{ "LRU", lru_access },
	{ "CLOCK", clock_access },
	{ "SIEVE", sieve_access },
	{ "S3-FIFO", s3fifo_access },
	{ "2Q", two_q_access },
	{ "ARC", arc_access },
	{ "LARC", larc_access },
};

const char * const classic_names[] = {
	"FIFO", "LRU", "CLOCK", "SIEVE", "S3-FIFO", "2Q", "ARC", "LARC", NULL
};

static void classic_destroy(struct model *m)
{
	struct classic *c = to_classic(m);

	free(c->prev);
	free(c->next);
	free(c->where);
	free(c->bits);
	free(c);
}

struct model *classic_create(const char *name, const struct model_params *params)
{
	u32 nr = max(params->accesses->nr_blocks, 1u);
	struct classic *c;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(classics); i++)
		if (!strcmp(classics[i].name, name))
			break;
	if (i == ARRAY_SIZE(classics))
		return NULL;
	c = calloc(1, sizeof(*c));
	c->m.access = classics[i].access;
	c->m.destroy = classic_destroy;
	c->prev = malloc(nr * sizeof(*c->prev));
	c->next = malloc(nr * sizeof(*c->next));
	c->where = calloc(nr, 1);
	c->bits = calloc(nr, 1);
	c->hand = NONE;
	for (i = 0; i <= MAX_LISTS; i++)
		c->lists[i] = (struct list) { NONE, NONE, 0 };
	return &c->m;
}
