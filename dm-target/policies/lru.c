// SPDX-License-Identifier: GPL-2.0-only
/*
 * lru: every miss is promoted, the block unused for longest goes.
 *
 * The baseline, for comparisons and for caches as large as the working set.
 * A hit sets one bit; the worker gives a slot that has it another round before
 * evicting it (CLOCK), which on block traces is within a few thousandths of
 * exact LRU and needs no lock.  It knows nothing of frequency, and only the
 * sequential cutoff protects it from scans.
 */
#include "slot-fifo.h"

#define LRU_DEFAULT_CUTOFF_KIB	64
#define LRU_ROUNDS_PER_VICTIM	32

struct lru {
	struct cache_policy policy;
	struct fifo_links links;
	struct fifo queue;
	struct fifo_loader loader;
	u64 seq_cutoff;
};

static struct lru *to_lru(struct cache_policy *p)
{
	return container_of(p, struct lru, policy);
}

static const struct cache_tunable lru_tunables[] = {
	{ "seq_cutoff", "KiB",
	  "bypass sequential streams after this much; 0 never does",
	  0, 1 << 20, offsetof(struct lru, seq_cutoff) },
	{ NULL }
};

static struct cache_policy *lru_create(const struct cache_policy_params *params)
{
	struct lru *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l)
		return NULL;
	l->policy.params = *params;
	if (fifo_links_init(&l->links, params->nr_slots)) {
		kfree(l);
		return NULL;
	}
	fifo_init(&l->queue, &l->links);
	fifo_loader_init(&l->loader, &l->links);
	l->seq_cutoff = params->rotational ? LRU_DEFAULT_CUTOFF_KIB : 0;
	return &l->policy;
}

static void lru_destroy(struct cache_policy *p)
{
	struct lru *l = to_lru(p);

	fifo_links_exit(&l->links);
	kfree(l);
}

static void lru_hit(struct cache_policy *p, u32 slot, u64 block,
		    const struct cache_io *io)
{
	u8 *used = fifo_hits(p, slot);

	if (!READ_ONCE(*used))
		WRITE_ONCE(*used, 1);
}

static enum cache_verdict lru_miss(struct cache_policy *p, u64 block,
				   const struct cache_io *io)
{
	u64 cutoff = READ_ONCE(to_lru(p)->seq_cutoff);

	if (io->flags & CACHE_IO_FREE_SLOTS)
		return CACHE_PROMOTE;
	if (cutoff && io->stream_sectors >= 2 * cutoff)
		return CACHE_BYPASS_STREAM;
	return CACHE_PROMOTE;
}

static u32 lru_victim(struct lru *l)
{
	struct cache_policy *p = &l->policy;
	unsigned int rounds = LRU_ROUNDS_PER_VICTIM;
	u32 slot;

	for (;;) {
		slot = fifo_pop(p, &l->links, &l->queue);
		if (slot == FIFO_END)
			return FIFO_END;
		if (!(fifo_get_mark(p, slot) & FIFO_STALE)) {
			if (!READ_ONCE(*fifo_hits(p, slot)) || !rounds)
				return slot;
			rounds--;
			WRITE_ONCE(*fifo_hits(p, slot), 0);
		}
		fifo_push(p, &l->links, &l->queue, slot, FIFO_LIVE);
	}
}

static unsigned int lru_victims(struct cache_policy *p, u32 *slots,
				unsigned int nr)
{
	struct lru *l = to_lru(p);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		slots[i] = lru_victim(l);
		if (slots[i] == FIFO_END)
			break;
	}
	return i;
}

static void lru_victim_busy(struct cache_policy *p, u32 slot)
{
	struct lru *l = to_lru(p);

	fifo_push(p, &l->links, &l->queue, slot, FIFO_LIVE);
}

static void lru_inserted(struct cache_policy *p, u32 slot, u64 block,
			 enum cache_verdict why)
{
	struct lru *l = to_lru(p);

	WRITE_ONCE(*fifo_hits(p, slot), 0);
	fifo_add(p, &l->links, &l->queue, slot, FIFO_LIVE);
}

static void lru_removed(struct cache_policy *p, u32 slot, u64 block,
			enum cache_removal why)
{
	fifo_forget(p, &to_lru(p)->links, slot);
}

static void lru_load(struct cache_policy *p, u32 slot, u64 block, u32 hint,
		     bool hint_valid)
{
	struct lru *l = to_lru(p);

	fifo_loader_add(p, &l->loader, &l->links, slot, hint_valid ? hint : 0);
}

/* Hints from 32 up had the bit set; the rest of the hint is the place. */
static void lru_load_done(struct cache_policy *p)
{
	struct lru *l = to_lru(p);
	u32 i;

	for (i = 0; i < 32; i++) {
		fifo_loader_queue(p, &l->loader, &l->links, i, &l->queue, 0, 0);
		fifo_loader_queue(p, &l->loader, &l->links, 32 + i, &l->queue,
				  0, 1);
	}
}

static u32 lru_hint(struct cache_policy *p, u32 slot)
{
	u32 rank = fifo_rank(p, &to_lru(p)->queue, slot);

	return READ_ONCE(*fifo_hits(p, slot)) ? rank + 32 : rank;
}

static const struct cache_policy_ops lru_ops = {
	.name = "lru",
	.version = { 1, 0, 0 },
	.tunables = lru_tunables,
	.owner = THIS_MODULE,
	.create = lru_create,
	.destroy = lru_destroy,
	.hit = lru_hit,
	.miss = lru_miss,
	.victims = lru_victims,
	.victim_busy = lru_victim_busy,
	.inserted = lru_inserted,
	.removed = lru_removed,
	.load = lru_load,
	.load_done = lru_load_done,
	.hint = lru_hint,
};

CACHE_POLICY_MODULE(lru_ops);
MODULE_DESCRIPTION("hearth cache policy: promote every miss, evict the least recently used");
MODULE_LICENSE("GPL");
