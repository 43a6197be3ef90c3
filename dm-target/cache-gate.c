// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate: a promotion of a block and a change of that block on the origin
 * alone never overlap.
 *
 * It owns both halves of the order between them.  A write or a discard of the
 * origin enters (a counter by hash, or the list of discards), a full barrier
 * follows, and then it looks for a slot.  A promotion publishes its slot, a
 * full barrier follows, and then it looks at the counter and the list.  So at
 * least one of the two sees the other.  A promotion that sees a change gives up,
 * because no request depends on it.  docs/models/gate.pml checks this.
 *
 * It must not know how a block is promoted, or who writes.
 */
#include "cache-bio.h"

static u32 gate_of(u64 block)
{
	return hash_64(block, ilog2(CACHE_NR_GATES));
}

/* W6, W13: what is in the log is newer than the origin. */
static bool log_has(struct cache *c, u64 block)
{
	struct cache_log *log = READ_ONCE(c->log);

	return unlikely(log) && cache_log_has_block(log, block);
}

/* ---- Enter, then look ---- */

static void leave_gate(struct cache *c, u32 gate)
{
	/* The write is complete before the gate looks empty. */
	smp_mb__before_atomic();
	atomic_dec(&c->gate.writers[gate]);
}

/* I1: true means that no promotion of the block overlaps the write. */
bool cache_gate_enter(struct cache *c, struct cache_bio *cb)
{
	u32 gate = gate_of(cb->block);

	atomic_inc(&c->gate.writers[gate]);
	/* Enter, then look: the other half is in is_in_the_way(). */
	smp_mb__after_atomic();
	if (slot_map_find(&c->map, cb->block) != SLOT_NONE ||
	    log_has(c, cb->block)) {
		leave_gate(c, gate);
		return false;
	}
	cb->gate = gate;
	cb->kind = BIO_GATED;
	return true;
}

void cache_gate_leave(struct cache *c, const struct cache_bio *cb)
{
	leave_gate(c, cb->gate);
}

void cache_gate_enter_discard(struct cache *c, struct cache_discard *d)
{
	unsigned long flags;

	spin_lock_irqsave(&c->gate.discard_lock, flags);
	list_add(&d->list, &c->gate.discards);
	spin_unlock_irqrestore(&c->gate.discard_lock, flags);
	atomic_inc(&c->gate.nr_discards);
	/* Enter, then look: the other half is in is_in_the_way(). */
	smp_mb__after_atomic();
}

void cache_gate_leave_discard(struct cache *c, struct cache_discard *d)
{
	unsigned long flags;

	spin_lock_irqsave(&c->gate.discard_lock, flags);
	list_del(&d->list);
	spin_unlock_irqrestore(&c->gate.discard_lock, flags);
	atomic_dec(&c->gate.nr_discards);
}

/* ---- Publish, then look ---- */

static bool discard_overlaps(struct cache *c, u64 block)
{
	struct cache_discard *d;
	bool found = false;
	unsigned long flags;

	if (!atomic_read(&c->gate.nr_discards))
		return false;

	spin_lock_irqsave(&c->gate.discard_lock, flags);
	list_for_each_entry(d, &c->gate.discards, list) {
		if (block >= d->first && block < d->last) {
			found = true;
			break;
		}
	}
	spin_unlock_irqrestore(&c->gate.discard_lock, flags);
	return found;
}

bool cache_gate_is_busy(struct cache *c, u64 block)
{
	return atomic_read(&c->gate.writers[gate_of(block)]) ||
	       discard_overlaps(c, block);
}

/*
 * I1: false means that no write to the origin alone, or discard, overlaps the promotion.
 * The slot was published before.
 */
static bool is_in_the_way(struct cache *c, u64 block)
{
	/* Publish, then look: the other halves are in the two functions that enter. */
	smp_mb();
	return cache_gate_is_busy(c, block);
}

int cache_gate_publish(struct cache *c, u32 slot, u64 block)
{
	int r = cache_gate_publish_logged(c, slot, block);

	if (r || !log_has(c, block))
		return r;
	cache_gate_unpublish(c, slot);
	return -EBUSY;
}

int cache_gate_publish_logged(struct cache *c, u32 slot, u64 block)
{
	int r = slot_map_insert(&c->map, slot, block, SLOT_FILLING);

	if (r || !is_in_the_way(c, block))
		return r;
	cache_gate_unpublish(c, slot);
	return -EBUSY;
}

int cache_gate_publish_lent(struct cache *c, u32 slot)
{
	int r = slot_map_insert_lent(&c->map, slot);

	if (r || !is_in_the_way(c, slot_block(slot_at(&c->map, slot))))
		return r;
	cache_gate_unpublish_lent(c, slot);
	return -EBUSY;
}

void cache_gate_unpublish_lent(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 old = slot_word(s);

	slot_map_remove(&c->map, slot);
	while (!slot_try_change(s, &old,
				slot_with_state(old, SLOT_LENT) & ~SLOT_WAITERS))
		;
	if (old & SLOT_WAITERS)
		cache_wake_waiters(c, slot);
}

void cache_gate_unpublish(struct cache *c, u32 slot)
{
	u32 old;

	slot_map_remove(&c->map, slot);
	old = atomic_xchg(&slot_at(&c->map, slot)->word, SLOT_FREE);
	if (old & SLOT_WAITERS)
		cache_wake_waiters(c, slot);
}
