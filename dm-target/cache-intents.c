// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intents that no write asks for: dirty bits on the disk of slots that are not
 * dirty.
 *
 * It owns two choices.  Intents are taken back in batches, because writethrough leaves
 * many.  That is done when there are more than max_intents, because each may cost a
 * copy after a power cut, and when writes have paused.  Intents of a slot's neighbours
 * are set with one that a write asked for, because they share a word on the disk.
 *
 * cache-commit.c makes both durable.  Only the commit worker calls these functions,
 * unless cache-intents.h says otherwise.  This file must not know of bios, nor how a
 * commit is made.
 */
#include "cache.h"

/*
 * Spare intents are taken back so long after the last write that hit, or that asked
 * for an intent.  Sooner, the next burst of writes would wait for its intents
 * again.  Later, a power cut meanwhile would have more blocks copied needlessly.
 * Not chosen by measurement.
 */
#define INTENT_IDLE_SECONDS	5
#define WORD_SLOTS		64U	/* slots whose dirty bits are one word on disk */
/*
 * Intents are set ahead in so many slots around a first write: 16 words.  Blocks in
 * neighbouring slots came in together, so they may be written together.  Not chosen
 * by measurement.
 */
#define AHEAD_SLOTS		1024

static u32 spare_intents(struct cache *c)
{
	int n = atomic_read(&c->nr.intents) - atomic_read(&c->nr.dirty);

	return max(n, 0);
}

/* ---- Taken back ---- */

static bool take_intent(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 word = slot_word(s);

	if (slot_state(word) != SLOT_VALID || !(word & SLOT_INTENT) ||
	    (word & (SLOT_DIRTY | SLOT_WRITER_MASK)))
		return false;
	if (!slot_try_change(s, &word, word & ~(SLOT_INTENT | SLOT_TOUCHED)))
		return false;
	atomic_dec(&c->nr.intents);
	/* Only a commit, by this worker, takes the slot's block away. */
	if (word & SLOT_TOUCHED)
		cache_lately_note(c, slot_block(s));
	return true;
}

static bool sweep_take(void *context, u32 slot, unsigned int nr)
{
	struct cache *c = context;

	if (!take_intent(c, slot))
		return false;
	c->intents.swept[nr] = slot;
	return true;
}

/* Take the intents of up to a batch of slots; the bits on the disk are still set. */
static unsigned int sweep_collect(struct cache *c)
{
	return slot_map_scan(&c->map, &c->intents.cursor, INTENT_BATCH,
			     sweep_take, c);
}

/* I2: may copies differ though no slot is dirty? */
static bool sweep_forbidden(struct cache *c)
{
	return cache_flush_failed(c) || atomic_read(&c->intents.nr_suspects);
}

void cache_intents_give_back(struct cache *c, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct slot *s = slot_at(&c->map, c->intents.swept[i]);

		/* Only a commit, by this worker, takes the slot's block away. */
		if (!(atomic_fetch_or(SLOT_INTENT, &s->word) & SLOT_INTENT))
			atomic_inc(&c->nr.intents);
	}
}

static bool sweep_due(struct cache *c, unsigned int nr_new)
{
	u32 spare = spare_intents(c);

	if (!spare || sweep_forbidden(c))
		return false;
	if (spare + nr_new > READ_ONCE(c->limits.max_intents))
		return true;
	return time_after(jiffies, READ_ONCE(c->intents.last_wanted) +
					   INTENT_IDLE_SECONDS * HZ);
}

unsigned int cache_intents_take(struct cache *c, unsigned int nr_new)
{
	unsigned int nr = sweep_due(c, nr_new) ? sweep_collect(c) : 0;

	/* A slot becomes suspect before its writer leaves, so this look sees it. */
	smp_mb();
	if (!nr || !sweep_forbidden(c))
		return nr;
	cache_intents_give_back(c, nr);
	return 0;
}

int cache_intents_clear(struct cache *c, unsigned int nr)
{
	unsigned int i;
	int r;

	lockdep_assert_held(&c->md.lock);
	for (i = 0; i < nr; i++) {
		r = cmd_set_dirty(c->md.cmd, c->intents.swept[i], false);
		if (r && r != -ENODATA)
			return r;
	}
	return 0;
}

int cache_intents_clear_all(struct cache *c)
{
	unsigned int nr;
	int r = 0;

	while (!r && (nr = sweep_collect(c))) {
		mutex_lock(&c->md.lock);
		r = cache_intents_clear(c, nr);
		mutex_unlock(&c->md.lock);
	}
	return r;
}

void cache_intents_wanted(struct cache *c)
{
	WRITE_ONCE(c->intents.last_wanted, jiffies);
}

/* As long as writes hit, their intents are worth keeping. */
void cache_intents_tick(struct cache *c)
{
	u64 hits = cache_stat_sum(c, STAT_WRITE_HITS);

	if (hits == c->intents.write_hits_seen)
		return;
	c->intents.write_hits_seen = hits;
	cache_intents_wanted(c);
}

/* ---- Set ahead ---- */

/*
 * How many intents may be set ahead?  The dirty bits of 64 slots are one word on
 * disk (in format 2), and many words share a metadata block.  So setting all of
 * them costs little more than setting one, and spares the neighbours' first writes
 * the wait for a commit.  The cost of a power cut stays within max_intents.
 */
static u32 ahead_room(struct cache *c, unsigned int nr_new)
{
	u32 spare = spare_intents(c) + nr_new;
	u32 bound = min_t(u64, READ_ONCE(c->limits.max_intents), U32_MAX);
	u32 most = bound - bound / 8;

	/*
	 * An eighth is left for first writes, because otherwise these would soon
	 * start a sweep.
	 */
	if (c->map.nr_slots <= bound)
		most = c->map.nr_slots;
	return most - min(spare, most);
}

static bool ahead_possible(struct cache *c, u32 slot)
{
	u32 word = slot_word(slot_at(&c->map, slot));

	return slot_state(word) == SLOT_VALID && !(word & SLOT_INTENT);
}

static u64 ahead_mask(struct cache *c, u32 first)
{
	u32 i, nr = min(c->map.nr_slots - first, WORD_SLOTS);
	u64 mask = 0;

	for (i = 0; i < nr; i++)
		if (ahead_possible(c, first + i))
			mask |= BIT_ULL(i);
	return mask;
}

static bool ahead_has(struct cache *c, unsigned int nr, u32 first)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (c->intents.ahead[i].first == first)
			return true;
	return false;
}

static bool ahead_add(struct cache *c, unsigned int nr, u32 first, u32 *room)
{
	if (nr == INTENT_WORDS_AHEAD || *room < WORD_SLOTS || first >= c->map.nr_slots ||
	    ahead_has(c, nr, first))
		return false;
	c->intents.ahead[nr].first = first;
	c->intents.ahead[nr].mask = ahead_mask(c, first);
	*room -= hweight64(c->intents.ahead[nr].mask);
	return true;
}

unsigned int cache_intents_choose_ahead(struct cache *c,
					const struct list_head *ops,
					unsigned int nr_new)
{
	u32 room = ahead_room(c, nr_new);
	struct commit_op *op;
	unsigned int nr = 0;
	u32 first, i;

	list_for_each_entry(op, ops, list) {
		if (op->kind != COMMIT_SET_DIRTY)
			continue;
		first = round_down(op->slot, AHEAD_SLOTS);
		for (i = 0; i < AHEAD_SLOTS; i += WORD_SLOTS)
			nr += ahead_add(c, nr, first + i, &room);
	}
	return nr;
}

int cache_intents_set_ahead(struct cache *c, unsigned int nr)
{
	unsigned int i;
	int r = 0;

	lockdep_assert_held(&c->md.lock);
	for (i = 0; i < nr && !r; i++)
		r = cmd_set_dirty_many(c->md.cmd, c->intents.ahead[i].first,
				       c->intents.ahead[i].mask);
	return r;
}

/*
 * I2: the bit is durable.  The slot was VALID when its bit was chosen, and only a
 * commit, by this worker, takes its block away, so it still has the same block.
 */
static void ahead_mark(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 old = slot_word(s);

	do {
		if (old & SLOT_INTENT || (slot_state(old) != SLOT_VALID &&
					  slot_state(old) != SLOT_WRITEBACK))
			return;
	} while (!slot_try_change(s, &old, old | SLOT_INTENT));
	atomic_inc(&c->nr.intents);
}

void cache_intents_ahead_durable(struct cache *c, unsigned int nr)
{
	unsigned int i;
	u64 mask;

	for (i = 0; i < nr; i++)
		for (mask = c->intents.ahead[i].mask; mask; mask &= mask - 1)
			ahead_mark(c,
				   c->intents.ahead[i].first + __ffs64(mask));
}
