/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CLOCK residency, for policies that decide only which blocks are promoted.
 *
 * A hit sets one bit, and victims() gives a slot with the bit another round
 * before it evicts the slot. On the traces of docs/policies.md this is within
 * .01 of exact LRU, and it needs no lock.
 *
 * A policy starts with a struct clock and fills its operations with the
 * functions below. They are called as cache-policy.h says of the operations. This
 * file must not know why a block is promoted; the verdict, other tunables and the
 * name are the policy's.
 */
#ifndef HEARTH_CLOCK_H
#define HEARTH_CLOCK_H

#include "clock-settings.h"
#include "slot-fifo.h"

#define CLOCK_SET_DEFAULT(key, unit, def, min, max, help)	c->key = def;

/*
 * For each victim at most so many slots get another round. Without a bound victims()
 * would hold the engine's lock for long if all slots were hit.
 */
#define CLOCK_ROUNDS_PER_VICTIM	32

struct clock {
	struct cache_policy policy;
	struct fifo_links links;
	struct fifo queue;		/* all slots, the next to be evicted first */
	struct fifo_loader loader;	/* for load() and load_done() only */

	SEQ_CUTOFF_SETTING(CACHE_SETTING_MEMBER)
};

/**
 * to_clock() - the residency that a policy starts with
 * @p: the policy
 *
 * Context: any.
 */
static inline struct clock *to_clock(struct cache_policy *p)
{
	return container_of(p, struct clock, policy);
}

/**
 * clock_init() - make an empty cache's residency
 * @c: zeroed memory of the policy
 * @params: as create() was given them
 *
 * Sets policy.params, policy.bytes and seq_cutoff. May sleep.
 * Return: 0; or -ENOMEM, with nothing to undo.
 */
static inline int clock_init(struct clock *c,
			     const struct cache_policy_params *params)
{
	c->policy.params = *params;
	c->policy.bytes = sizeof(u32) * (u64)params->nr_slots;
	if (fifo_links_init(&c->links, params->nr_slots))
		return -ENOMEM;
	fifo_init(&c->queue, &c->links);
	fifo_loader_init(&c->loader, &c->links);
	SEQ_CUTOFF_SETTING(CLOCK_SET_DEFAULT)
	if (!params->rotational)
		c->seq_cutoff = 0;
	return 0;
}

/**
 * clock_exit() - free what clock_init() made
 * @c: the residency; the policy frees its memory
 */
static inline void clock_exit(struct clock *c)
{
	fifo_links_exit(&c->links);
}

/**
 * clock_cuts() - whether a miss is of a stream that should pass by; for miss()
 * @c: the residency
 * @io: the request
 *
 * Context: any, never sleeps.
 *
 * Return: true if the stream has transferred seq_cutoff before this request; false
 * while the cache fills up.
 */
static inline bool clock_cuts(struct clock *c, const struct cache_io *io)
{
	u64 cutoff = READ_ONCE(c->seq_cutoff);

	return !fifo_filling(&c->links, io) && cutoff &&
	       io->stream_sectors >= 2 * cutoff;
}

/**
 * clock_hit() - for hit(): the slot gets another round
 * @p: the policy
 * @slot: the slot
 * @block: its block
 * @io: the request
 */
static inline void clock_hit(struct cache_policy *p, u32 slot, u64 block,
			     const struct cache_io *io)
{
	u8 *used = fifo_hits(p, slot);

	if (!READ_ONCE(*used))
		WRITE_ONCE(*used, 1);
}

/**
 * clock_victim() - take the next slot to evict out of the queue
 * @c: the residency
 *
 * Return: the slot, or FIFO_END if there is none.
 */
static inline u32 clock_victim(struct clock *c)
{
	struct cache_policy *p = &c->policy;
	unsigned int rounds = CLOCK_ROUNDS_PER_VICTIM;
	u32 slot;

	for (;;) {
		slot = fifo_pop(p, &c->links, &c->queue);
		if (slot == FIFO_END)
			return FIFO_END;
		if (!(fifo_get_mark(p, slot) & FIFO_STALE)) {
			if (!READ_ONCE(*fifo_hits(p, slot)) || !rounds)
				return slot;
			rounds--;
			WRITE_ONCE(*fifo_hits(p, slot), 0);
		}
		fifo_push(p, &c->links, &c->queue, slot, FIFO_LIVE);
	}
}

/**
 * clock_victims() - for victims(): take slots to evict out of the queue
 * @p: the policy
 * @slots: receives the slots
 * @nr: how many at most
 *
 * Return: how many.
 */
static inline unsigned int clock_victims(struct cache_policy *p, u32 *slots,
					 unsigned int nr)
{
	struct clock *c = to_clock(p);
	unsigned int i;

	fifo_now_full(&c->links);
	for (i = 0; i < nr; i++) {
		slots[i] = clock_victim(c);
		if (slots[i] == FIFO_END)
			break;
	}
	return i;
}

/**
 * clock_victim_busy() - for victim_busy(): queue a slot again
 * @p: the policy
 * @slot: the slot, as clock_victims() gave it
 */
static inline void clock_victim_busy(struct cache_policy *p, u32 slot)
{
	struct clock *c = to_clock(p);

	fifo_push(p, &c->links, &c->queue, slot, FIFO_LIVE);
}

/**
 * clock_inserted() - for inserted(): queue a slot that has got a block
 * @p: the policy
 * @slot: the slot
 * @block: its block
 * @why: why the block came in
 */
static inline void clock_inserted(struct cache_policy *p, u32 slot, u64 block,
				  enum cache_verdict why)
{
	struct clock *c = to_clock(p);

	WRITE_ONCE(*fifo_hits(p, slot), 0);
	fifo_add(p, &c->links, &c->queue, slot, FIFO_LIVE);
}

/**
 * clock_removed() - for removed(): a slot has lost its block
 * @p: the policy
 * @slot: the slot
 * @block: the block that it had
 * @why: why it was removed
 */
static inline void clock_removed(struct cache_policy *p, u32 slot, u64 block,
				 enum cache_removal why)
{
	struct clock *c = to_clock(p);

	fifo_forget(p, &c->links, slot);
}

/**
 * clock_load() - for load(): take over a slot that has a block
 * @p: the policy
 * @slot: the slot
 * @block: its block
 * @hint: the slot's hint, from this policy or another
 * @hint_valid: whether @hint means anything
 */
static inline void clock_load(struct cache_policy *p, u32 slot, u64 block,
			      u32 hint, bool hint_valid)
{
	struct clock *c = to_clock(p);

	fifo_loader_add(p, &c->loader, &c->links, slot, hint_valid ? hint : 0);
}

/**
 * clock_load_done() - for load_done(): queue the slots that were taken over
 * @p: the policy
 *
 * A hint from 32 up says that the slot was hit. The rest is its place in the queue.
 */
static inline void clock_load_done(struct cache_policy *p)
{
	struct clock *c = to_clock(p);
	u32 i;

	for (i = 0; i < 32; i++) {
		fifo_loader_queue(p, &c->loader, &c->links, i, &c->queue, 0, 0);
		fifo_loader_queue(p, &c->loader, &c->links, 32 + i, &c->queue,
				  0, 1);
	}
}

/**
 * clock_hint() - for hint(): what is to be known of a slot at the next activation
 * @p: the policy
 * @slot: the slot
 *
 * Return: the hint, 0 to 62.
 */
static inline u32 clock_hint(struct cache_policy *p, u32 slot)
{
	u32 rank = fifo_rank(p, &to_clock(p)->queue, slot);

	return READ_ONCE(*fifo_hits(p, slot)) ? rank + 32 : rank;
}

/**
 * clock_stats() - for stats(): tell the figures
 * @p: the policy
 * @tell: called for each figure
 * @ctx: for @tell
 */
static inline void clock_stats(struct cache_policy *p,
			       cache_policy_stat_fn tell, void *ctx)
{
	struct clock *c = to_clock(p);

	tell(ctx, "used_slots", READ_ONCE(c->links.nr_used));
	tell(ctx, "queued_slots", c->queue.nr);
	tell(ctx, "full", READ_ONCE(c->links.full));
}

#endif
