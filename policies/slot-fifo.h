/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First-in-first-out queues of slots, shared by the policies: four bytes a
 * slot, whatever the number of queues.
 *
 * It owns the links and the worker's byte of each policy word, and knows
 * nothing of what a queue means.  Links go one way only, so a slot that loses
 * its block stays linked, marked stale, until it comes to the front; if it has
 * got another block by then, that block is given a turn of its own.
 *
 * The policy word is used as two bytes with one writer each: FIFO_HITS belongs
 * to hit(), which stores it without a lock, FIFO_MARK to the serialised calls.
 * So a hit can never undo a change of the queues.
 */
#ifndef HEARTH_SLOT_FIFO_H
#define HEARTH_SLOT_FIFO_H

#include "../dm-target/cache-policy.h"

/* Values of a link that are not slots. */
#define FIFO_END	U32_MAX		/* last of its queue */
#define FIFO_UNLINKED	(U32_MAX - 1)	/* in no queue */

/* The worker's byte. */
#define FIFO_EPOCH_MASK	0x1f	/* when it was queued, in the queue's epochs */
#define FIFO_LIVE	0x20	/* holds a block */
#define FIFO_STALE	0x40	/* queued where a former block of it was */
#define FIFO_MAIN	0x80	/* the policy's: which queue it is for */

/* A queue of all slots is this many epochs long, so that ages fit the mask. */
#define FIFO_EPOCHS	30

struct fifo {
	u32 first, last;
	u32 nr;			/* stale ones too */
	u32 epoch;
	u32 epoch_left;		/* pushes to the next epoch */
};

struct fifo_links {
	u32 nr_slots;
	u32 nr_used;		/* that hold a block */
	bool full;		/* victims were wanted; see fifo_filling() */
	u32 epoch_len;
	u32 *next;
};

/*
 * Hints mean the same in all policies, and to a stock smq: 0 is the first to
 * go, 63 the last.  On activation slots are chained by hint, and queued from
 * the chains when all are known.
 */
#define FIFO_HINTS	64

struct fifo_loader {
	struct fifo by_hint[FIFO_HINTS];
};

static inline u8 *fifo_hits(const struct cache_policy *p, u32 slot)
{
	return (u8 *)policy_word(p, slot);
}

static inline u8 *fifo_mark(const struct cache_policy *p, u32 slot)
{
	return (u8 *)policy_word(p, slot) + 1;
}

static inline u8 fifo_get_mark(const struct cache_policy *p, u32 slot)
{
	return READ_ONCE(*fifo_mark(p, slot));
}

static inline void fifo_set_mark(const struct cache_policy *p, u32 slot, u8 mark)
{
	WRITE_ONCE(*fifo_mark(p, slot), mark);
}

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

static inline void fifo_links_exit(struct fifo_links *l)
{
	kvfree(l->next);
}

static inline void fifo_used(struct fifo_links *l, int change)
{
	WRITE_ONCE(l->nr_used, l->nr_used + change);
	if (l->nr_used < l->nr_slots - l->nr_slots / 4)
		WRITE_ONCE(l->full, false);
}

/*
 * Is the cache still filling up?  An engine that keeps some slots free always
 * has free slots; what counts is whether it had to evict for them, and that a
 * quarter of the slots has not been given up since: a small cache may have an
 * eighth free or on its way in.  For miss(); victims() says fifo_now_full().
 */
static inline bool fifo_filling(const struct fifo_links *l,
				const struct cache_io *io)
{
	return (io->flags & CACHE_IO_FREE_SLOTS) && !READ_ONCE(l->full);
}

static inline void fifo_now_full(struct fifo_links *l)
{
	WRITE_ONCE(l->full, true);
}

static inline void fifo_init(struct fifo *f, const struct fifo_links *l)
{
	f->first = FIFO_END;
	f->last = FIFO_END;
	f->nr = 0;
	f->epoch = 0;
	f->epoch_left = l->epoch_len;
}

static inline void fifo_advance(struct fifo *f, const struct fifo_links *l)
{
	if (--f->epoch_left)
		return;
	f->epoch_left = l->epoch_len;
	WRITE_ONCE(f->epoch, (f->epoch + 1) & FIFO_EPOCH_MASK);
}

/* Queue @slot, which is in no queue, last; @flags go to its mark. */
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

/* Take out the first slot, live or not; FIFO_END if there is none. */
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

/* The same, dropping those that lost their block. */
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

static inline bool fifo_linked(const struct fifo_links *l, u32 slot)
{
	return l->next[slot] != FIFO_UNLINKED;
}

/*
 * @slot got a block.  If it is still queued from before, it is marked so that
 * whoever pops it queues it anew.
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

/* @slot lost its block, wherever it is queued. */
static inline void fifo_forget(const struct cache_policy *p,
			       struct fifo_links *l, u32 slot)
{
	fifo_used(l, -1);
	fifo_set_mark(p, slot, fifo_linked(l, slot) ? FIFO_STALE : 0);
}

/*
 * How late @slot will come to the front of @f if it is queued there: 0 (next)
 * to FIFO_EPOCHS (just queued).  May run beside anything; then it is a guess.
 */
static inline u32 fifo_rank(const struct cache_policy *p, const struct fifo *f,
			    u32 slot)
{
	u32 age = (READ_ONCE(f->epoch) - fifo_get_mark(p, slot)) &
		  FIFO_EPOCH_MASK;

	return age < FIFO_EPOCHS ? FIFO_EPOCHS - age : 0;
}

static inline void fifo_loader_init(struct fifo_loader *ld,
				    const struct fifo_links *l)
{
	u32 i;

	for (i = 0; i < FIFO_HINTS; i++)
		fifo_init(&ld->by_hint[i], l);
}

static inline void fifo_loader_add(const struct cache_policy *p,
				   struct fifo_loader *ld, struct fifo_links *l,
				   u32 slot, u32 hint)
{
	hint = min_t(u32, hint, FIFO_HINTS - 1);
	fifo_used(l, 1);
	fifo_push(p, l, &ld->by_hint[hint], slot, FIFO_LIVE);
}

/* Queue all slots that were loaded with @hint last in @f. */
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
