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

/**
 * cache_intents_take() - take intents back in memory, if a sweep is due and allowed
 * @c: the engine
 * @nr_new: intents that are about to be set
 *
 * The disk follows with cache_intents_clear(), after both devices were flushed.
 * Context: may sleep.
 *
 * Return: of how many slots, INTENT_BATCH at most.
 */
unsigned int cache_intents_take(struct cache *c, unsigned int nr_new);

/**
 * cache_intents_give_back() - their bits were not cleared after all
 * @c: the engine
 * @nr: slots, as cache_intents_take() returned
 */
void cache_intents_give_back(struct cache *c, unsigned int nr);

/**
 * cache_intents_clear() - clear their dirty bits in the metadata
 * @c: the engine
 * @nr: slots, as cache_intents_take() returned
 *
 * Context: under md.lock; may sleep.  Return: 0 or an error of the metadata.
 */
int cache_intents_clear(struct cache *c, unsigned int nr);

/**
 * cache_intents_clear_all() - clear all intents of slots that are not dirty
 * @c: a suspended engine, so no write runs
 *
 * Nothing is committed yet.  Context: process, sleeps; takes md.lock.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_intents_clear_all(struct cache *c);

/**
 * cache_intents_choose_ahead() - choose neighbours of slots that get an intent
 * @c: the engine
 * @ops: the changes of a group
 * @nr_new: intents that they ask for
 *
 * Return: how many words of bits, INTENT_WORDS_AHEAD at most.
 */
unsigned int cache_intents_choose_ahead(struct cache *c,
					const struct list_head *ops,
					unsigned int nr_new);

/**
 * cache_intents_set_ahead() - set their dirty bits in the metadata
 * @c: the engine
 * @nr: words, as cache_intents_choose_ahead() returned
 *
 * Context: under md.lock; may sleep.  Return: 0 or an error of the metadata.
 */
int cache_intents_set_ahead(struct cache *c, unsigned int nr);

/**
 * cache_intents_ahead_durable() - writes need not wait for them any more
 * @c: the engine
 * @nr: words, as cache_intents_choose_ahead() returned
 */
void cache_intents_ahead_durable(struct cache *c, unsigned int nr);

/**
 * cache_intents_wanted() - a write has asked for an intent
 * @c: the engine
 *
 * So spare ones stay for a while.  Context: also the tick.
 */
void cache_intents_wanted(struct cache *c);

/**
 * cache_intents_tick() - as long as writes hit, spare intents stay
 * @c: the engine
 *
 * Context: the tick, once a second.
 */
void cache_intents_tick(struct cache *c);

#endif
