/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intents that no write asks for, see cache-intents.c.  Only the commit worker
 * calls these functions, unless one says otherwise.
 */
#ifndef HEARTH_CACHE_INTENTS_H
#define HEARTH_CACHE_INTENTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

struct cache;

/*
 * Slots whose intents are taken back at a time: no more than a commit has other
 * changes (GROUP_OPS).  Not chosen by measurement.
 */
#define INTENT_BATCH		4096U
/*
 * Words of dirty bits that are set ahead with one group at most: those around four
 * first writes that are far apart.  Not chosen by measurement.
 */
#define INTENT_WORDS_AHEAD	64

/* Dirty bits of neighbours, set with one that was asked for. */
struct intents_ahead {
	u32 first;		/* slot, a multiple of 64 */
	u64 mask;
};

struct cache_intents {
	/* The commit worker's own. */
	u32 *swept;			/* slots whose intents are being taken back */
	u32 cursor;			/* where the next sweep begins: slot */
	struct intents_ahead ahead[INTENT_WORDS_AHEAD];

	unsigned long last_wanted;	/* or write hit: jiffies; racy */
	u64 write_hits_seen;		/* by the tick */
	/* While there are any, no intent is taken back, because copies may differ. */
	atomic_t nr_suspects;		/* slots about to be dropped after an error */
};

/*
 * Take the intents of up to INTENT_BATCH slots in memory, if a sweep is due and
 * allowed; @nr_new more intents are about to be set.  Returns how many slots.  The
 * disk follows with cache_intents_clear(), after both devices were flushed.
 */
unsigned int cache_intents_take(struct cache *c, unsigned int nr_new);
/* The bits of those @nr slots were not cleared after all. */
void cache_intents_give_back(struct cache *c, unsigned int nr);
/* Clear the bits of those @nr slots; under md_lock.  Errors of the metadata. */
int cache_intents_clear(struct cache *c, unsigned int nr);
/*
 * Clear all intents of slots that are not dirty.  For a suspended engine, so no
 * write runs.  Sleeps, takes md_lock.  Errors of the metadata.
 */
int cache_intents_clear_all(struct cache *c);

/*
 * Choose neighbours of the slots of which @ops asks for @nr_new intents.
 * Returns how many words of bits.
 */
unsigned int cache_intents_choose_ahead(struct cache *c,
					const struct list_head *ops,
					unsigned int nr_new);
/* Set the bits of those @nr words; under md_lock.  Errors of the metadata. */
int cache_intents_set_ahead(struct cache *c, unsigned int nr);
/* They are durable: writes need not wait for them any more. */
void cache_intents_ahead_durable(struct cache *c, unsigned int nr);

/* A write has asked for an intent, so spare ones stay for a while. */
void cache_intents_wanted(struct cache *c);
/* Once a second, from the tick. */
void cache_intents_tick(struct cache *c);

#endif
