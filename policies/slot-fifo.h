/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First-in-first-out queues of slots, shared by the policies: four bytes a
 * slot, whatever the number of queues.
 *
 * This file owns the links and the upper byte of each policy word, the mark. It
 * must not know what a queue means. Links go one way only, so a slot that loses
 * its block cannot be taken out of the middle of its queue. It stays linked, and is
 * marked stale, until it comes to the front. If it has got another block by then,
 * the slot is queued anew for that block.
 *
 * The policy word is two bytes with one writer each. hit() stores the lower
 * one, fifo_hits(), without a lock; the serialised calls store the mark. So a
 * hit cannot undo a change of the queues.
 *
 * Context: the functions neither sleep nor lock. Functions that change a queue or a
 * mark are for the policy's serialised calls; fifo_hits(), fifo_get_mark(),
 * fifo_filling() and fifo_rank() may run beside them in any context.
 */
#ifndef HEARTH_SLOT_FIFO_H
#define HEARTH_SLOT_FIFO_H

#include "../dm-target/cache-policy.h"

/* Values of a link that are not slots. */
#define FIFO_END	U32_MAX		/* last of its queue */
#define FIFO_UNLINKED	(U32_MAX - 1)	/* in no queue */

/* The mark. */
#define FIFO_EPOCH_MASK	0x1f	/* when it was queued, in the queue's epochs */
#define FIFO_LIVE	0x20	/* holds a block */
#define FIFO_STALE	0x40	/* queued in the place of its former block */
#define FIFO_MAIN	0x80	/* a queue: the policy says which */

/*
 * A queue of all slots is so many epochs long. They are two less than the mask
 * counts, because otherwise the oldest slot might be taken for one of the next epoch.
 */
#define FIFO_EPOCHS	30

struct fifo {
	u32 first, last;	/* slots, or FIFO_END in an empty queue */
	u32 nr;			/* slots in the queue, also those that lost their block */
	u32 epoch;		/* the epoch of the slots that are pushed now */
	u32 epoch_left;		/* pushes until the next epoch */
};

struct fifo_links {
	u32 nr_slots;
	u32 nr_used;		/* slots that hold a block */
	bool full;		/* the engine has asked for victims; see fifo_filling() */
	u32 epoch_len;		/* pushes to a queue in an epoch */
	u32 *next;		/* of each slot: a slot, FIFO_END or FIFO_UNLINKED */
};

/*
 * Hints mean the same in all policies, and to a stock smq: a slot with hint 0
 * is the first to be evicted, one with 63 the last. On activation slots are
 * chained by hint, and queued from the chains when all are known.
 */
#define FIFO_HINTS	64

struct fifo_loader {
	struct fifo by_hint[FIFO_HINTS];
};

/**
 * fifo_hits() - the byte of a slot's word that hit() stores without a lock
 * @p: the policy
 * @slot: the slot
 */
static inline u8 *fifo_hits(const struct cache_policy *p, u32 slot)
{
	return (u8 *)policy_word(p, slot);
}

/**
 * fifo_mark() - the byte of a slot's word that is its mark
 * @p: the policy
 * @slot: the slot
 */
static inline u8 *fifo_mark(const struct cache_policy *p, u32 slot)
{
	return (u8 *)policy_word(p, slot) + 1;
}

/**
 * fifo_get_mark() - the mark of a slot
 * @p: the policy
 * @slot: the slot
 *
 * Return: its epoch and FIFO_ flags.
 */
static inline u8 fifo_get_mark(const struct cache_policy *p, u32 slot)
{
	return READ_ONCE(*fifo_mark(p, slot));
}

/**
 * fifo_set_mark() - change the mark of a slot
 * @p: the policy
 * @slot: the slot
 * @mark: its epoch and FIFO_ flags
 */
static inline void fifo_set_mark(const struct cache_policy *p, u32 slot, u8 mark)
{
	WRITE_ONCE(*fifo_mark(p, slot), mark);
}

/**
 * fifo_links_init() - make the links of @nr_slots slots, none of them queued
 * @l: the links
 * @nr_slots: number of slots
 *
 * May sleep. Return: 0 or -ENOMEM. fifo_links_exit() frees them, also if this
 * failed.
 */
static inline int fifo_links_init(struct fifo_links *l, u32 nr_slots)
{
	u32 i;

	l->nr_slots = nr_slots;
	l->nr_used = 0;
	l->full = false;
	l->epoch_len = max_t(u32, 1, DIV_ROUND_UP(nr_slots, FIFO_EPOCHS));
	l->next = kvcalloc(nr_slots, sizeof(*l->next), GFP_KERNEL);
	if (!l->next)
		return -ENOMEM;
	for (i = 0; i < nr_slots; i++)
		l->next[i] = FIFO_UNLINKED;
	return 0;
}

/**
 * fifo_links_exit() - free what fifo_links_init() made
 * @l: the links
 *
 * May sleep.
 */
static inline void fifo_links_exit(struct fifo_links *l)
{
	kvfree(l->next);
}

/**
 * fifo_used() - note that slots have got a block, or have lost one
 * @l: the links
 * @change: how many have got one, or, if it is negative, have lost one
 */
static inline void fifo_used(struct fifo_links *l, int change)
{
	WRITE_ONCE(l->nr_used, l->nr_used + change);
	if (l->nr_used < l->nr_slots - l->nr_slots / 4)
		WRITE_ONCE(l->full, false);
}

/**
 * fifo_filling() - whether the cache is still filling up; for miss()
 * @l: the links
 * @io: the request that missed
 *
 * The engine keeps some slots free, so free slots alone do not say it. The cache
 * counts as full from the first call of victims(), which calls fifo_now_full(), until
 * more than a quarter of the slots have no block. It is a quarter, because a small
 * cache may have an eighth of its slots free or on the way in.
 *
 * Context: any, never sleeps.
 */
static inline bool fifo_filling(const struct fifo_links *l,
				const struct cache_io *io)
{
	return (io->flags & CACHE_IO_FREE_SLOTS) && !READ_ONCE(l->full);
}

/**
 * fifo_now_full() - the engine asked for victims; for victims()
 * @l: the links
 */
static inline void fifo_now_full(struct fifo_links *l)
{
	WRITE_ONCE(l->full, true);
}

/**
 * fifo_init() - make an empty queue
 * @f: the queue
 * @l: the links
 */
static inline void fifo_init(struct fifo *f, const struct fifo_links *l)
{
	f->first = FIFO_END;
	f->last = FIFO_END;
	f->nr = 0;
	f->epoch = 0;
	f->epoch_left = l->epoch_len;
}

/**
 * fifo_advance() - count a push; after epoch_len of them the next epoch begins
 * @f: the queue
 * @l: the links
 */
static inline void fifo_advance(struct fifo *f, const struct fifo_links *l)
{
	if (--f->epoch_left)
		return;
	f->epoch_left = l->epoch_len;
	WRITE_ONCE(f->epoch, (f->epoch + 1) & FIFO_EPOCH_MASK);
}

/**
 * fifo_push() - queue a slot last
 * @p: the policy
 * @l: the links
 * @f: the queue
 * @slot: a slot that is in no queue
 * @flags: FIFO_ flags for its mark
 */
static inline void fifo_push(const struct cache_policy *p, struct fifo_links *l,
			     struct fifo *f, u32 slot, u8 flags)
{
	fifo_set_mark(p, slot, f->epoch | flags);
	l->next[slot] = FIFO_END;
	if (f->first == FIFO_END)
		f->first = slot;
	else
		l->next[f->last] = slot;
	f->last = slot;
	f->nr++;
	fifo_advance(f, l);
}

/**
 * fifo_pop_any() - take out the first slot, live or not
 * @l: the links
 * @f: the queue
 *
 * Return: the slot, or FIFO_END if there is none.
 */
static inline u32 fifo_pop_any(struct fifo_links *l, struct fifo *f)
{
	u32 slot = f->first;

	if (slot == FIFO_END)
		return FIFO_END;
	f->first = l->next[slot];
	if (f->first == FIFO_END)
		f->last = FIFO_END;
	l->next[slot] = FIFO_UNLINKED;
	f->nr--;
	return slot;
}

/**
 * fifo_pop() - take out the first slot that holds a block
 * @p: the policy
 * @l: the links
 * @f: the queue
 *
 * Drops the slots before it, which lost their block.
 *
 * Return: the slot, or FIFO_END if there is none. If the slot is marked FIFO_STALE,
 * the caller has to queue it anew.
 */
static inline u32 fifo_pop(const struct cache_policy *p, struct fifo_links *l,
			   struct fifo *f)
{
	u32 slot;

	do {
		slot = fifo_pop_any(l, f);
		if (slot == FIFO_END)
			return FIFO_END;
		if (!(fifo_get_mark(p, slot) & FIFO_LIVE))
			fifo_set_mark(p, slot, 0);
	} while (!fifo_get_mark(p, slot));
	return slot;
}

/**
 * fifo_linked() - is a slot in a queue?
 * @l: the links
 * @slot: the slot
 */
static inline bool fifo_linked(const struct fifo_links *l, u32 slot)
{
	return l->next[slot] != FIFO_UNLINKED;
}

/**
 * fifo_add() - a slot got a block
 * @p: the policy
 * @l: the links
 * @f: the queue for it
 * @slot: the slot
 * @flags: FIFO_ flags for its mark
 *
 * If the slot is still queued for a former block, it is marked FIFO_STALE, and the
 * caller of fifo_pop() queues it anew.
 */
static inline void fifo_add(const struct cache_policy *p, struct fifo_links *l,
			    struct fifo *f, u32 slot, u8 flags)
{
	fifo_used(l, 1);
	if (fifo_linked(l, slot))
		fifo_set_mark(p, slot, FIFO_STALE | flags);
	else
		fifo_push(p, l, f, slot, flags);
}

/**
 * fifo_forget() - a slot lost its block, in whatever queue it is
 * @p: the policy
 * @l: the links
 * @slot: the slot
 */
static inline void fifo_forget(const struct cache_policy *p,
			       struct fifo_links *l, u32 slot)
{
	fifo_used(l, -1);
	fifo_set_mark(p, slot, fifo_linked(l, slot) ? FIFO_STALE : 0);
}

/**
 * fifo_rank() - how late a slot comes to the front of its queue; for hint()
 * @p: the policy
 * @f: the queue that holds the slot
 * @slot: the slot
 *
 * Context: any. While others change the queue, the result is a guess.
 *
 * Return: 0 (the next) to FIFO_EPOCHS (just queued).
 */
static inline u32 fifo_rank(const struct cache_policy *p, const struct fifo *f,
			    u32 slot)
{
	u32 age = (READ_ONCE(f->epoch) - fifo_get_mark(p, slot)) &
		  FIFO_EPOCH_MASK;

	return age < FIFO_EPOCHS ? FIFO_EPOCHS - age : 0;
}

/**
 * fifo_loader_init() - make the chains of a loader, all empty
 * @ld: the loader
 * @l: the links
 */
static inline void fifo_loader_init(struct fifo_loader *ld,
				    const struct fifo_links *l)
{
	u32 i;

	for (i = 0; i < FIFO_HINTS; i++)
		fifo_init(&ld->by_hint[i], l);
}

/**
 * fifo_loader_add() - chain a slot that holds a block; for load()
 * @p: the policy
 * @ld: the loader
 * @l: the links
 * @slot: the slot
 * @hint: its hint
 */
static inline void fifo_loader_add(const struct cache_policy *p,
				   struct fifo_loader *ld, struct fifo_links *l,
				   u32 slot, u32 hint)
{
	hint = min_t(u32, hint, FIFO_HINTS - 1);
	fifo_used(l, 1);
	fifo_push(p, l, &ld->by_hint[hint], slot, FIFO_LIVE);
}

/**
 * fifo_loader_queue() - queue a chain's slots last; for load_done()
 * @p: the policy
 * @ld: the loader
 * @l: the links
 * @hint: which chain
 * @f: the queue
 * @flags: FIFO_ flags for the marks
 * @hits: what the lower byte of each slot's word becomes
 */
static inline void fifo_loader_queue(const struct cache_policy *p,
				     struct fifo_loader *ld,
				     struct fifo_links *l, u32 hint,
				     struct fifo *f, u8 flags, u8 hits)
{
	u32 slot;

	for (;;) {
		slot = fifo_pop_any(l, &ld->by_hint[hint]);
		if (slot == FIFO_END)
			return;
		WRITE_ONCE(*fifo_hits(p, slot), hits);
		fifo_push(p, l, f, slot, FIFO_LIVE | flags);
	}
}

#endif
