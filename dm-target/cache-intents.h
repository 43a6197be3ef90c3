/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intents that no write asks for: see cache-intents.c.  An intent is a dirty bit on
 * the disk.  It is spare if its slot is not dirty.
 *
 * Only the commit worker calls these functions, unless one says otherwise.
 */
#ifndef HEARTH_CACHE_INTENTS_H
#define HEARTH_CACHE_INTENTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

struct cache;

/*
 * One sweep takes back the intents of so many slots at most.  It is no more than a
 * commit has other changes (GROUP_OPS).  Not chosen by measurement.
 */
#define INTENT_BATCH		4096U
/*
 * One group sets intents ahead in so many words of dirty bits at most: those around
 * four first writes that are far apart (AHEAD_SLOTS).  Not chosen by measurement.
 */
#define INTENT_WORDS_AHEAD	64

/* The intents of one word of dirty bits, set because a neighbour's was asked for. */
struct intents_ahead {
	u32 first;		/* the word's first slot, a multiple of 64 */
	u64 mask;		/* bit i: the intent of slot @first + i is set */
};

struct cache_intents {
	/* The first three are the commit worker's own. */
	u32 *swept;			/* INTENT_BATCH slots: intents being taken back */
	u32 cursor;			/* the slot with which the next sweep begins */
	struct intents_ahead ahead[INTENT_WORDS_AHEAD];

	/* Jiffies of the last write that hit, or that asked for an intent; racy. */
	unsigned long last_wanted;
	u64 write_hits_seen;		/* write hits at the last tick */
	/*
	 * Slots that are to be unmapped because only one copy was written.  While
	 * there are any, no intent is taken back, because the copies may differ.
	 */
	atomic_t nr_suspects;
};

/**
 * cache_intents_take() - take intents back in memory, if a sweep is due and allowed
 * @c: the engine
 * @nr_new: intents that are about to be set
 *
 * The caller flushes both devices, and then cache_intents_clear() clears the bits on
 * the disk.
 *
 * Context: may sleep.
 *
 * Return: how many slots the sweep took, INTENT_BATCH at most.
 */
unsigned int cache_intents_take(struct cache *c, unsigned int nr_new);

/**
 * cache_intents_give_back() - undo cache_intents_take(): the disk has the bits still
 * @c: the engine
 * @nr: slots, as cache_intents_take() returned
 */
void cache_intents_give_back(struct cache *c, unsigned int nr);

/**
 * cache_intents_clear() - clear the dirty bits of a sweep in the metadata
 * @c: the engine
 * @nr: slots, as cache_intents_take() returned
 *
 * The next commit makes that durable.
 *
 * Context: under md.lock; may sleep.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_intents_clear(struct cache *c, unsigned int nr);

/**
 * cache_intents_clear_all() - take all spare intents back, and clear their dirty bits
 * @c: a suspended engine, so no write runs; both devices were flushed
 *
 * The next commit makes that durable.
 *
 * Context: process, sleeps; takes md.lock.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_intents_clear_all(struct cache *c);

/**
 * cache_intents_choose_ahead() - choose the intents that a group sets ahead
 * @c: the engine
 * @ops: the changes of the group; neighbours of each COMMIT_SET_DIRTY are chosen
 * @nr_new: intents that the changes ask for
 *
 * Return: how many words of dirty bits were chosen, INTENT_WORDS_AHEAD at most.
 */
unsigned int cache_intents_choose_ahead(struct cache *c,
					const struct list_head *ops,
					unsigned int nr_new);

/**
 * cache_intents_set_ahead() - set the chosen dirty bits in the metadata
 * @c: the engine
 * @nr: words, as cache_intents_choose_ahead() returned
 *
 * Context: under md.lock; may sleep.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_intents_set_ahead(struct cache *c, unsigned int nr);

/**
 * cache_intents_ahead_durable() - the chosen dirty bits are durable: mark the slots
 * @c: the engine
 * @nr: words, as cache_intents_choose_ahead() returned
 *
 * From here on a write to one of the slots does not wait for its intent.
 */
void cache_intents_ahead_durable(struct cache *c, unsigned int nr);

/**
 * cache_intents_wanted() - note that a write has asked for an intent
 * @c: the engine
 *
 * Spare intents stay for INTENT_IDLE_SECONDS more.
 *
 * Context: the commit worker or the tick; does not sleep.
 */
void cache_intents_wanted(struct cache *c);

/**
 * cache_intents_tick() - keep spare intents if a write has hit since the last tick
 * @c: the engine
 *
 * Context: the tick, once a second; does not sleep.
 */
void cache_intents_tick(struct cache *c);

#endif
