// SPDX-License-Identifier: GPL-2.0-only
/*
 * Belady's MIN (L. A. Belady, IBM Systems Journal 5, 1966): knows the future, and
 * evicts the block whose next use is furthest away. "MIN" inserts every miss;
 * "MIN-bypass" lets a miss pass when every cached block is used sooner. It bounds
 * hit ratios. It does not bound the origin's time, because it does not know that
 * some misses are cheap.
 *
 * It must not know streams or what a miss costs: run.c keeps the account.
 */
#include <stdio.h>

#include "model.h"

struct entry {
	u32 next;		/* index of its next use */
	u32 id;
};

struct optimum {
	struct model m;
	bool bypass;
	u32 nr;			/* resident blocks */
	u32 *next_use;		/* of an id; valid if resident */
	bool *resident;
	struct entry *heap;	/* furthest use first; outdated ones linger */
	size_t heap_nr;
};

static void heap_push(struct optimum *o, struct entry e)
{
	size_t i = o->heap_nr++, up;

	for (; i; i = up) {
		up = (i - 1) / 2;
		if (o->heap[up].next >= e.next)
			break;
		o->heap[i] = o->heap[up];
	}
	o->heap[i] = e;
}

static void heap_pop(struct optimum *o)
{
	struct entry e = o->heap[--o->heap_nr];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < o->heap_nr) {
		if (child + 1 < o->heap_nr &&
		    o->heap[child + 1].next > o->heap[child].next)
			child++;
		if (e.next >= o->heap[child].next)
			break;
		o->heap[i] = o->heap[child];
		i = child;
	}
	o->heap[i] = e;
}

static struct entry furthest(struct optimum *o)
{
	for (;;) {
		struct entry e = o->heap[0];

		if (o->resident[e.id] && o->next_use[e.id] == e.next)
			return e;
		heap_pop(o);
	}
}

static void keep(struct optimum *o, u32 id, u32 next)
{
	o->resident[id] = true;
	o->next_use[id] = next;
	heap_push(o, (struct entry) { next, id });
}

static enum outcome optimum_access(struct model *m, u32 index)
{
	struct optimum *o = container_of(m, struct optimum, m);
	u32 id = m->accesses->all[index].id;
	u32 next = m->accesses->next[index];
	struct entry last;

	if (o->resident[id]) {
		keep(o, id, next);
		return HIT;
	}
	if (o->nr == m->nr_slots) {
		last = furthest(o);
		if (o->bypass && next >= last.next)
			return BYPASSED;
		heap_pop(o);
		o->resident[last.id] = false;
		o->nr--;
	}
	keep(o, id, next);
	o->nr++;
	return PROMOTED;
}

static void optimum_destroy(struct model *m)
{
	struct optimum *o = container_of(m, struct optimum, m);

	free(o->next_use);
	free(o->resident);
	free(o->heap);
	free(o);
}

struct model *optimum_create(const char *name, const struct model_params *params)
{
	u32 nr = max(params->accesses->nr_blocks, 1u);
	struct optimum *o;

	if (strcmp(name, "MIN") && strcmp(name, "MIN-bypass"))
		return NULL;
	o = calloc(1, sizeof(*o));
	o->m.access = optimum_access;
	o->m.destroy = optimum_destroy;
	o->bypass = strcmp(name, "MIN") != 0;
	o->next_use = malloc(nr * sizeof(*o->next_use));
	o->resident = calloc(nr, sizeof(*o->resident));
	o->heap = malloc((params->accesses->nr + 1ull) * sizeof(*o->heap));
	return &o->m;
}
