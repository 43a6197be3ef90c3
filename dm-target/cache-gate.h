/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps promotions and changes of the origin alone apart, see cache-gate.c.
 * Every function here may be called in any context and never sleeps.
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
 * A promotion is given up if a write to another block is in the same gate: with n
 * such writes in flight, n of 4096 promotions.  The next miss tries again.  Not
 * chosen by measurement; a power of 2, because a hash of so many bits chooses one.
 */
#define CACHE_NR_GATES		4096

struct cache_gate {
	/* Writers to the origin of blocks that have no slot, by hash. */
	atomic_t *writers;
	/* Ranges under discard: no promotion may publish a block in them. */
	spinlock_t discard_lock;	/* guards discards */
	struct list_head discards;
	atomic_t nr_discards;
};

/**
 * cache_gate_enter() - a write of a block without a slot goes to the origin alone
 * @c: the engine
 * @cb: of the write; @cb->block is its block
 *
 * Return: false if the block has a slot, or is in the write log: look again.  True:
 * @cb->kind is BIO_GATED, and cache_gate_leave() has to follow the end of the write.
 */
bool cache_gate_enter(struct cache *c, struct cache_bio *cb);

/**
 * cache_gate_leave() - that write has ended
 * @c: the engine
 * @cb: of the write
 */
void cache_gate_leave(struct cache *c, const struct cache_bio *cb);

/**
 * cache_gate_is_busy() - whether a write or a discard of the origin alone is in flight
 * @c: the engine
 * @block: the block; a write to another one with the same gate counts, too
 *
 * Context: takes gate.discard_lock.
 */
bool cache_gate_is_busy(struct cache *c, u64 block);

/**
 * cache_gate_enter_discard() - no block of a discard is published from here on
 * @c: the engine
 * @d: the discard, [first, last) in blocks; stays until it leaves
 *
 * Context: takes gate.discard_lock.
 */
void cache_gate_enter_discard(struct cache *c, struct cache_discard *d);

/**
 * cache_gate_leave_discard() - they may be published again
 * @c: the engine
 * @d: the discard
 *
 * Context: takes gate.discard_lock.
 */
void cache_gate_leave_discard(struct cache *c, struct cache_discard *d);

/**
 * cache_gate_publish() - publish a slot as FILLING for a block
 * @c: the engine
 * @slot: the caller's, FREE and in no chain; so it is again after an error
 * @block: the block
 *
 * Context: takes a lock of map.chain_locks, and gate.discard_lock.
 *
 * Return: 0; -EEXIST when the block has a slot; -EBUSY when a write or a discard of
 * it is in flight, or the write log has some of it.
 */
int cache_gate_publish(struct cache *c, u32 slot, u64 block);

/**
 * cache_gate_publish_logged() - the same for a block that comes from the write log
 * @c: the engine
 * @slot: as above
 * @block: the block
 *
 * No write to it is absorbed from here on, but some may be in flight.  Context and
 * result: as above, but the write log has it.
 */
int cache_gate_publish_logged(struct cache *c, u32 slot, u64 block);

/**
 * cache_gate_publish_lent() - the same for a segment that holds all of its block
 * @c: the engine
 * @slot: LENT, with its block; FILLING with its pins from here on, or as it was
 *
 * Context and result: as above.
 */
int cache_gate_publish_lent(struct cache *c, u32 slot);

/**
 * cache_gate_unpublish_lent() - it is a segment again
 * @c: the engine
 * @slot: FILLING; LENT with its pins afterwards; bios that wait for it are woken
 *
 * Context: as cache_gate_publish().
 */
void cache_gate_unpublish_lent(struct cache *c, u32 slot);

/**
 * cache_gate_unpublish() - take a FILLING slot out of its chain again
 * @c: the engine
 * @slot: FREE afterwards, and the caller's; bios that wait for it are woken
 *
 * Context: as cache_gate_publish().
 */
void cache_gate_unpublish(struct cache *c, u32 slot);

#endif
