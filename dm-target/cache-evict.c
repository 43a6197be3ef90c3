// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmapping: demotions for room, and invalidations of single blocks.
 *
 * It owns the life of an EVICTING slot.  The mapping leaves the disk before the
 * slot is used for anything else and before the origin alone is written (I1).
 *
 * cache-reserve.c says how many slots are freed.  Dirty blocks are never evicted
 * here: they are reported to the write-back, which cleans them and asks again.  It
 * must not know which block is worth keeping, nor how a dirty one goes home.
 */
#include "cache-trace.h"

/*
 * The victims of one round, and so of one commit.  Both arrays of a round are on
 * the stack and take 768 bytes.  The value was not chosen by measurement; it must
 * not be above MIGRATION_POOL.
 */
#define EVICT_BATCH	64U
/*
 * Write-back is to clean so many blocks for each dirty victim.  It is more than one,
 * because write-back goes in the order of the origin, and so may come to other blocks
 * before the victim.  It is not all blocks, because an eviction needs only a few.  No
 * measurement of the value is recorded.
 */
#define CLEAN_PER_VICTIM	8U
/*
 * Unmappings that discards, messages and the write log's worker may queue: half of
 * what a commit takes, so that it has room for other changes.
 */
#define UNMAPS_MAX		2048

static void migration_free(struct cache *c, struct migration *m)
{
	mempool_free(m, &c->evict.pool);
	cache_migration_done(c);
}

static struct migration *migration_alloc(struct cache *c, u32 slot)
{
	struct migration *m = mempool_alloc(&c->evict.pool, GFP_NOIO);

	cache_migration_started(c);
	m->c = c;
	m->slot = slot;
	return m;
}

/* The metadata could not be changed: the slot stays what it was. */
static void unmap_failed(struct cache *c, struct migration *m)
{
	struct slot *s = slot_at(&c->map, m->slot);
	u32 old;

	/* The slot gets no INTENT, because the disk may have lost the bit. */
	old = atomic_xchg(&s->word, m->was_dirty ?
			  SLOT_VALID | SLOT_ALL_DIRTY : SLOT_VALID);
	if (old & SLOT_INTENT)
		atomic_dec(&c->nr.intents);
	if (old & SLOT_WAITERS)
		cache_wake_waiters(c, m->slot);
	migration_free(c, m);
}

/* I1: the unmapping is durable, so the slot may be used again. */
static void unmap_committed(struct cache *c, struct commit_op *op, int error)
{
	struct migration *m = container_of(op, struct migration, op);
	u32 old;

	/* Before any bio is woken, because such a bio may ask whether there is room. */
	atomic_dec(&c->evict.nr_unmaps);
	if (error) {
		unmap_failed(c, m);
		return;
	}

	slot_map_remove(&c->map, m->slot);
	old = atomic_xchg(&slot_at(&c->map, m->slot)->word, SLOT_FREE);
	if (old & SLOT_INTENT)
		atomic_dec(&c->nr.intents);
	if (m->was_dirty)
		atomic_dec(&c->nr.dirty);
	atomic_dec(&c->nr.resident);
	slot_map_free(&c->map, m->slot);
	if (old & SLOT_WAITERS)
		cache_wake_waiters(c, m->slot);
	migration_free(c, m);
}

static void queue_unmap(struct cache *c, struct migration *m)
{
	m->op.kind = COMMIT_UNMAP;
	m->op.slot = m->slot;
	m->op.block = m->block;
	m->op.done = unmap_committed;
	atomic_inc(&c->evict.nr_unmaps);
	cache_commit_queue(c, &m->op);
}

/* I3: a slot that may have the only copy stays, unless its block is discarded. */
static bool may_unmap(struct cache *c, u32 word, bool dirty_too)
{
	return slot_state(word) == SLOT_VALID && !(word & SLOT_PIN_MASK) &&
	       (dirty_too || !cache_kept(c, word));
}

/*
 * From VALID to EVICTING, and out of the policy's order, as one step.  A slot
 * gets and loses its block under the same lock, so the comparison of blocks holds.
 */
static bool claim_slot(struct cache *c, struct migration *m, u64 block,
		       u32 word, bool dirty_too, enum cache_removal why)
{
	struct slot *s = slot_at(&c->map, m->slot);
	u32 new = slot_with_state(word, SLOT_EVICTING) &
		  ~(SLOT_DIRTY | SLOT_UNWRITTEN);

	lockdep_assert_held(&c->policy.lock);
	if (block != ANY_BLOCK && slot_block(s) != block)
		return false;
	if (!may_unmap(c, word, dirty_too) || !slot_try_change(s, &word, new))
		return false;
	m->block = slot_block(s);
	m->was_dirty = (word & SLOT_DIRTY) && !(word & SLOT_UNWRITTEN);
	/* No write to it succeeded, so it is clean, whatever becomes of the commit. */
	if (word & SLOT_UNWRITTEN)
		atomic_dec(&c->nr.dirty);
	c->policy.p->ops->removed(c->policy.p, m->slot, m->block, why);
	trace_dm_cache_demote(c, m->block, m->slot, why, m->was_dirty);
	cache_stat_inc(c, why == CACHE_REMOVED_EVICTED ?
		       STAT_DEMOTIONS : STAT_INVALIDATIONS);
	return true;
}

bool cache_begin_unmap(struct cache *c, u32 slot, u64 block, bool dirty_too,
		       enum cache_removal why)
{
	struct slot *s = slot_at(&c->map, slot);
	struct migration *m;
	bool claimed;

	if (!may_unmap(c, slot_word(s), dirty_too))
		return false;

	m = migration_alloc(c, slot);
	spin_lock(&c->policy.lock);
	claimed = claim_slot(c, m, block, slot_word(s), dirty_too, why);
	spin_unlock(&c->policy.lock);
	if (!claimed) {
		migration_free(c, m);
		return false;
	}
	queue_unmap(c, m);
	return true;
}

bool cache_unmap_has_room(struct cache *c)
{
	return atomic_read(&c->evict.nr_unmaps) < UNMAPS_MAX;
}

/* ---- Room ---- */

struct evict_round {
	struct migration *m[EVICT_BATCH];
	unsigned int nr;
	unsigned int claimed;
	unsigned int dirty;
};

static void claim_victims(struct cache *c, struct evict_round *round)
{
	u32 slots[EVICT_BATCH];
	unsigned int i, nr;
	u32 word;

	spin_lock(&c->policy.lock);
	nr = c->policy.p->ops->victims(c->policy.p, slots, round->nr);
	for (i = 0; i < nr; i++) {
		struct migration *m = round->m[round->claimed];

		word = slot_word(slot_at(&c->map, slots[i]));
		m->slot = slots[i];
		if (claim_slot(c, m, ANY_BLOCK, word, false,
			       CACHE_REMOVED_EVICTED)) {
			round->claimed++;
			continue;
		}
		if (word & SLOT_DIRTY)
			round->dirty++;
		c->policy.p->ops->victim_busy(c->policy.p, slots[i]);
	}
	spin_unlock(&c->policy.lock);
}

/* Evict up to @nr blocks; returns how many were found. */
static unsigned int evict_round(struct cache *c, unsigned int nr)
{
	struct evict_round round = { .nr = nr };
	unsigned int i;

	for (i = 0; i < nr; i++)
		round.m[i] = migration_alloc(c, SLOT_NONE);
	claim_victims(c, &round);
	for (i = 0; i < round.claimed; i++)
		queue_unmap(c, round.m[i]);
	for (; i < nr; i++)
		migration_free(c, round.m[i]);

	if (round.dirty) {
		atomic_add(round.dirty * CLEAN_PER_VICTIM,
			   &c->writeback.nr_wanted);
		cache_kick_writeback(c);
	}
	return round.claimed;
}

void cache_evict_work(struct work_struct *work)
{
	struct cache *c = container_of(work, struct cache, evict.work);
	/*
	 * The rounds have a bound, because a round that finds no clean victim waits for
	 * nothing, so the loop would spin.  The next block that lacks a slot, or the end
	 * of a write-back, queues the worker again.  No measurement of the value is
	 * recorded.
	 */
	unsigned int tries = 4, nr;

	while (tries-- && !READ_ONCE(c->life.quiescing) && cache_writable(c)) {
		nr = min(cache_reserve_wanted(c), EVICT_BATCH);
		if (!nr)
			break;
		/*
		 * The commit is awaited, because the next round counts the slots
		 * that it frees.
		 */
		if (evict_round(c, nr))
			cache_commit_sync(c);
		else
			cache_commit_kick_lingering(c);
	}
}
