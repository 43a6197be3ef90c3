/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The gate keeps a promotion of a block and a change of that block on the origin alone
 * apart; see cache-gate.c.  All functions here may be called in any context, and none
 * sleeps.
 */
#ifndef HEARTH_CACHE_GATE_H
#define HEARTH_CACHE_GATE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct cache;
struct cache_bio;
struct cache_discard;

/*
 * The number of gates.  A promotion is given up if a write to another block is in its
 * gate: if n such writes are in flight, n of 4096 promotions are.  The next miss tries
 * again.  Not chosen by measurement; a power of 2, because a hash chooses the gate.
 */
#define CACHE_NR_GATES		4096

struct cache_gate {
	/*
	 * For each gate, the writes in flight to the origin of blocks without a slot.
	 * A hash of the block chooses the gate.
	 */
	atomic_t *writers;
	/* The discards under way: no promotion publishes a block of one of them. */
	spinlock_t discard_lock;	/* guards @discards */
	struct list_head discards;	/* of struct cache_discard */
	atomic_t nr_discards;
};

/**
 * cache_gate_enter() - a write to a block without a slot goes to the origin alone
 * @c: the engine
 * @cb: what is kept with the write; @cb->block is its block
 *
 * Return: false if the block has a slot, or is in the write log; then the caller looks
 * again.  True: @cb->kind is BIO_GATED, and at the end of the write the caller calls
 * cache_gate_leave().
 */
bool cache_gate_enter(struct cache *c, struct cache_bio *cb);

/**
 * cache_gate_leave() - a write that has entered its gate has ended
 * @c: the engine
 * @cb: what is kept with the write
 */
void cache_gate_leave(struct cache *c, const struct cache_bio *cb);

/**
 * cache_gate_is_busy() - whether a write or a discard of the origin alone is in flight
 * @c: the engine
 * @block: the block; a write to another block with the same gate counts, too
 *
 * Context: takes gate.discard_lock.
 */
bool cache_gate_is_busy(struct cache *c, u64 block);

/**
 * cache_gate_enter_discard() - keep promotions from the blocks of a discard
 * @c: the engine
 * @d: the discard, [first, last) in blocks; stays until cache_gate_leave_discard()
 *
 * Context: takes gate.discard_lock.
 */
void cache_gate_enter_discard(struct cache *c, struct cache_discard *d);

/**
 * cache_gate_leave_discard() - let promotions come to the blocks of a discard again
 * @c: the engine
 * @d: the discard
 *
 * Context: takes gate.discard_lock.
 */
void cache_gate_leave_discard(struct cache *c, struct cache_discard *d);

/**
 * cache_gate_publish() - publish a slot as FILLING for a block
 * @c: the engine
 * @slot: the caller's, FREE and in no chain.  After an error it is so again.
 * @block: the block
 *
 * Context: takes, one after the other, a lock of map.chain_locks, gate.discard_lock
 * and a lock of the log's index; before -EBUSY also wait.buckets[].lock and
 * wait.deferred_lock.
 *
 * Return: 0; -EEXIST if the block has a slot; -EBUSY if a write or a discard of the
 * block on the origin alone is in flight, or the write log has some of the block.
 */
int cache_gate_publish(struct cache *c, u32 slot, u64 block);

/**
 * cache_gate_publish_logged() - publish a slot for a block that is in the write log
 * @c: the engine
 * @slot: as for cache_gate_publish()
 * @block: the block
 *
 * From here on the log absorbs no write to the block, but some may be in flight.
 *
 * Context: as cache_gate_publish().
 *
 * Return: as cache_gate_publish(), but what the log has of the block is no reason for
 * -EBUSY.
 */
int cache_gate_publish_logged(struct cache *c, u32 slot, u64 block);

/**
 * cache_gate_publish_lent() - publish a segment that holds all of its block
 * @c: the engine
 * @slot: the segment: LENT, and slot_map_set_block() has set its block.  It becomes
 *	FILLING, and keeps its pins.  After an error it is LENT, as before.
 *
 * Context: as cache_gate_publish().
 *
 * Return: as cache_gate_publish_logged().
 */
int cache_gate_publish_lent(struct cache *c, u32 slot);

/**
 * cache_gate_unpublish_lent() - make a slot of cache_gate_publish_lent() LENT again
 * @c: the engine
 * @slot: the slot, FILLING.  It keeps its pins, and bios that wait for it are woken.
 *
 * Context: as cache_gate_publish().
 */
void cache_gate_unpublish_lent(struct cache *c, u32 slot);

/**
 * cache_gate_unpublish() - take a FILLING slot out of its chain again
 * @c: the engine
 * @slot: the slot.  It becomes FREE and is the caller's, and bios that wait for it are
 *	woken.
 *
 * Context: as cache_gate_publish().
 */
void cache_gate_unpublish(struct cache *c, u32 slot);

#endif
