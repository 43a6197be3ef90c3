// SPDX-License-Identifier: GPL-2.0-only
/*
 * cleaner: promotes nothing and has every dirty block written back, so that a
 * cache can be taken off its volume.
 *
 * Blocks stay and are served until the engine evicts them. The hints that they
 * came with are kept, so that a switch back to another policy finds the blocks
 * in order. This file must not know which blocks are dirty: writeback_all has
 * the engine write them.
 */
#include "slot-fifo.h"

struct cleaner {
	struct cache_policy policy;
	struct fifo_links links;
	struct fifo queue;
};

static struct cleaner *to_cleaner(struct cache_policy *p)
{
	return container_of(p, struct cleaner, policy);
}

static struct cache_policy *
cleaner_create(const struct cache_policy_params *params)
{
	struct cleaner *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->policy.params = *params;
	if (fifo_links_init(&c->links, params->nr_slots)) {
		kfree(c);
		return NULL;
	}
	fifo_init(&c->queue, &c->links);
	return &c->policy;
}

static void cleaner_destroy(struct cache_policy *p)
{
	struct cleaner *c = to_cleaner(p);

	fifo_links_exit(&c->links);
	kfree(c);
}

static void cleaner_hit(struct cache_policy *p, u32 slot, u64 block,
			const struct cache_io *io)
{
}

static enum cache_verdict cleaner_miss(struct cache_policy *p, u64 block,
				       const struct cache_io *io)
{
	return CACHE_BYPASS_POLICY;
}

/*
 * The loop ends soon, because a slot is stale only if it got a block while it
 * was queued, and no miss is promoted.
 */
static u32 cleaner_victim(struct cleaner *c)
{
	struct cache_policy *p = &c->policy;
	u32 slot;

	for (;;) {
		slot = fifo_pop(p, &c->links, &c->queue);
		if (slot == FIFO_END ||
		    !(fifo_get_mark(p, slot) & FIFO_STALE))
			return slot;
		fifo_push(p, &c->links, &c->queue, slot, FIFO_LIVE);
	}
}

static unsigned int cleaner_victims(struct cache_policy *p, u32 *slots,
				    unsigned int nr)
{
	struct cleaner *c = to_cleaner(p);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		slots[i] = cleaner_victim(c);
		if (slots[i] == FIFO_END)
			break;
	}
	return i;
}

static void cleaner_victim_busy(struct cache_policy *p, u32 slot)
{
	struct cleaner *c = to_cleaner(p);

	fifo_push(p, &c->links, &c->queue, slot, FIFO_LIVE);
}

/* A promotion that the policy before this one asked for. */
static void cleaner_inserted(struct cache_policy *p, u32 slot, u64 block,
			     enum cache_verdict why)
{
	struct cleaner *c = to_cleaner(p);

	WRITE_ONCE(*fifo_hits(p, slot), 0);
	fifo_add(p, &c->links, &c->queue, slot, FIFO_LIVE);
}

static void cleaner_removed(struct cache_policy *p, u32 slot, u64 block,
			    enum cache_removal why)
{
	fifo_forget(p, &to_cleaner(p)->links, slot);
}

static void cleaner_load(struct cache_policy *p, u32 slot, u64 block, u32 hint,
			 bool hint_valid)
{
	struct cleaner *c = to_cleaner(p);

	hint = hint_valid ? min_t(u32, hint, FIFO_HINTS - 1) : 0;
	WRITE_ONCE(*fifo_hits(p, slot), hint);
	fifo_add(p, &c->links, &c->queue, slot, FIFO_LIVE);
}

static void cleaner_load_done(struct cache_policy *p)
{
}

static u32 cleaner_hint(struct cache_policy *p, u32 slot)
{
	return READ_ONCE(*fifo_hits(p, slot));
}

static const struct cache_policy_ops cleaner_ops = {
	.name = "cleaner",
	.version = { 1, 0, 0 },
	.writeback_all = true,
	.owner = THIS_MODULE,
	.create = cleaner_create,
	.destroy = cleaner_destroy,
	.hit = cleaner_hit,
	.miss = cleaner_miss,
	.victims = cleaner_victims,
	.victim_busy = cleaner_victim_busy,
	.inserted = cleaner_inserted,
	.removed = cleaner_removed,
	.load = cleaner_load,
	.load_done = cleaner_load_done,
	.hint = cleaner_hint,
};

CACHE_POLICY_MODULE(cleaner_ops);
MODULE_DESCRIPTION("hearth cache policy: promote nothing, write back everything");
MODULE_LICENSE("GPL");
MODULE_VERSION(HEARTH_VERSION);
