/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slot map: which origin block each block of the cache device (a slot)
 * holds, and in what state.
 *
 * It owns the slots' atomic words, the hash from origin block to slot and the
 * list of free slots.  It must not know of bios, devices or metadata, nor of
 * policies beyond the 16 bits per slot that it keeps for one.
 *
 * Readers take no lock.  Slots are never freed while I/O can run, only reused,
 * so a walker may be carried from one hash chain into another when the slot it
 * stands on moves.  Every chain therefore ends in a marker that names its
 * bucket, new slots go to the head of a chain, and a walker that ends at
 * another bucket's marker starts again: it can find a slot that has just
 * changed its block (so pin first, then compare again), but it can never miss
 * one that stays.  This is the scheme of the kernel's hlist_nulls.
 *
 * Every change of a slot's state is one compare-and-exchange of its word.
 */
#ifndef HEARTH_CACHE_SLOTS_H
#define HEARTH_CACHE_SLOTS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define SLOT_NONE	U32_MAX
#define SLOT_MAX_NR	((1U << 27) - 1)	/* one allocation, below 2 GiB */

/*
 * FREE		holds nothing and is in no chain (or about to be)
 * FILLING	a promotion is writing it; the origin is current; unmapped on
 *		disk until the promotion's commit
 * VALID	current, and mapped on disk
 * WRITEBACK	like VALID, and being copied to the origin
 * EVICTING	being unmapped on disk; the origin is current
 * LENT		the write log has it, for data or for its ring; in no chain
 * RETIRED	could not be written, and is not used any more; in no chain
 */
enum slot_state {
	SLOT_FREE,
	SLOT_FILLING,
	SLOT_VALID,
	SLOT_WRITEBACK,
	SLOT_EVICTING,
	SLOT_LENT,
	SLOT_RETIRED,
};

#define SLOT_STATE_MASK	0x7U
#define SLOT_DIRTY	BIT(3)	/* newer than the origin's copy; implies INTENT */
#define SLOT_INTENT	BIT(4)	/* its dirty bit is durable on disk */
#define SLOT_TOUCHED	BIT(5)	/* a write began since write-back, or a sweep, did */
#define SLOT_WAITERS	BIT(6)	/* bios wait for another state, or for no pins */
#define SLOT_UNWRITTEN	BIT(7)	/* DIRTY for writes of which none has succeeded yet */
#define SLOT_PIN	BIT(8)	/* one I/O that uses it: 10 bits, full when the last is set */
#define SLOT_PIN_MASK	GENMASK(17, 8)
#define SLOT_FULL	BIT(17)
#define SLOT_WRITER	BIT(18)	/* one pin that is a write: 10 bits */
#define SLOT_WRITER_MASK GENMASK(27, 18)
#define SLOT_LENT_PINS	GENMASK(31, 8)	/* while LENT all of these count pins */
/*
 * Parts of the block that were written, the first at bit 28: quarters of its
 * size rounded up to a power of two.  While the slot is DIRTY and not in
 * WRITEBACK, parts whose bit is not set are the same on the origin.  A writer
 * sets its bits as it pins, before the slot is DIRTY.  At other times the bits
 * say nothing.
 */
#define SLOT_PART_SHIFT	28
#define SLOT_NR_PARTS	4
#define SLOT_PARTS_MASK	GENMASK(31, 28)
#define SLOT_ALL_DIRTY	(SLOT_DIRTY | SLOT_PARTS_MASK)	/* as far as is known */

struct slot {
	atomic_t word;
	u32 block_lo;
	u16 block_hi;
	u16 policy;		/* the policy's */
	u32 next;		/* hash chain, or free list */
};

static_assert(sizeof(struct slot) == 16);

/*
 * Only promotions and unmappings take one.  More locks than the CPUs that do so at
 * a time are enough.  Not chosen by measurement.
 */
#define SLOT_NR_LOCKS	256

/* Slots from @first up to @end, without @end. */
struct slot_range {
	u32 first, end;
};

/* For the ring of the write log, and for its headers, if they lie elsewhere. */
#define SLOT_NR_KEPT	2

struct slot_map {
	struct slot *slots;
	u32 *buckets;		/* slot number, or CHAIN_END | bucket */
	u32 nr_slots;
	unsigned int bucket_bits;

	/* Guards the chains' links; a bucket's lock is its number modulo the array. */
	spinlock_t chain_locks[SLOT_NR_LOCKS];

	/* Guards @free_head, the links of free slots and @kept. */
	spinlock_t free_lock;
	u32 free_head;
	struct slot_range kept[SLOT_NR_KEPT];
	u32 nr_free;		/* written under free_lock, read anywhere */
};

/**
 * slot_map_init() - make a map
 * @map: the map
 * @nr_slots: all FREE, and not on the free list yet
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EINVAL if there are too many slots or none; -ENOMEM.
 */
int slot_map_init(struct slot_map *map, u32 nr_slots);

/**
 * slot_map_exit() - free a map's memory
 * @map: the map; may have none
 *
 * Context: process, may sleep.
 */
void slot_map_exit(struct slot_map *map);

/**
 * slot_map_bytes() - the memory that a map takes, in bytes
 * @map: the map
 */
size_t slot_map_bytes(const struct slot_map *map);

/**
 * slot_map_alloc() - take a free slot
 * @map: the map
 *
 * Context: any, never sleeps; takes free_lock.
 *
 * Return: the slot, FREE and in no chain; or SLOT_NONE.
 */
u32 slot_map_alloc(struct slot_map *map);

/**
 * slot_map_free() - give a slot back
 * @map: the map
 * @slot: FREE and in no chain
 *
 * Context: any, never sleeps; takes free_lock.
 */
void slot_map_free(struct slot_map *map, u32 slot);

/**
 * slot_map_keep() - slots that become LENT instead of free
 * @map: the map
 * @kept: SLOT_NR_KEPT ranges; an empty one keeps none
 *
 * Slots of the ranges that are free are LENT on return, and the others when they
 * are given back.  Slots of the former ranges that are LENT are free on return.
 *
 * Context: process, one caller at a time; takes free_lock.
 */
void slot_map_keep(struct slot_map *map, const struct slot_range *kept);

/** slot_map_nr_kept() - how many slots are kept */
u32 slot_map_nr_kept(struct slot_map *map);

/**
 * slot_map_lend() - a slot that slot_map_alloc() gave becomes LENT
 * @map: the map
 * @slot: FREE and in no chain
 *
 * Context: any, never sleeps.
 */
void slot_map_lend(struct slot_map *map, u32 slot);

/**
 * slot_map_take_back() - a LENT slot becomes free
 * @map: the map
 * @slot: LENT, without pins, and in no list
 *
 * Context: any, never sleeps; takes free_lock.
 */
void slot_map_take_back(struct slot_map *map, u32 slot);

/**
 * slot_list_push() - put a LENT slot at the head of a list of such slots
 * @map: the map
 * @head: SLOT_NONE if the list is empty; the caller's lock guards it
 * @slot: in no list
 *
 * Context: any, never sleeps.
 */
void slot_list_push(struct slot_map *map, u32 *head, u32 slot);

/**
 * slot_list_pop() - take the first slot out of such a list
 * @map: the map
 * @head: as for slot_list_push()
 *
 * Context: any, never sleeps.  Return: the slot, or SLOT_NONE.
 */
u32 slot_list_pop(struct slot_map *map, u32 *head);

/**
 * slot_map_build_free_list() - put all slots that are FREE on it, ascending
 * @map: the map; its slots were loaded
 *
 * Context: no I/O runs.
 */
void slot_map_build_free_list(struct slot_map *map);

/**
 * slot_map_insert() - publish a slot as holding a block
 * @map: the map
 * @slot: FREE and in no chain
 * @block: the block
 * @word: the slot's word from here on
 *
 * Context: any, never sleeps; takes a lock of chain_locks.
 *
 * Return: 0; -EEXIST, and nothing has changed, if @block is in the map already.
 */
int slot_map_insert(struct slot_map *map, u32 slot, u64 block, u32 word);

/**
 * slot_map_set_block() - note which block a LENT slot is for
 * @map: the map
 * @slot: LENT, and in no chain
 * @block: slot_block() has it
 *
 * Context: any, never sleeps.
 */
void slot_map_set_block(struct slot_map *map, u32 slot, u64 block);

/**
 * slot_map_insert_lent() - publish a LENT slot for its block
 * @map: the map
 * @slot: LENT, in no chain and no list; slot_map_set_block() was called; FILLING, with
 *	its pins, from here on
 *
 * Context: any, never sleeps; takes a lock of chain_locks.
 *
 * Return: 0; -EEXIST, and nothing has changed, if its block is in the map already.
 */
int slot_map_insert_lent(struct slot_map *map, u32 slot);

/**
 * slot_map_remove() - take a slot out of its chain
 * @map: the map
 * @slot: is in a chain; its word is the caller's business
 *
 * Context: any, never sleeps; takes a lock of chain_locks.
 */
void slot_map_remove(struct slot_map *map, u32 slot);

/* @slot must be below nr_slots. */
static inline struct slot *slot_at(struct slot_map *map, u32 slot)
{
	return &map->slots[slot];
}

/* The word as it is now; read it once, and change it by slot_try_change(). */
static inline u32 slot_word(const struct slot *s)
{
	return atomic_read(&s->word);
}

/* The state in a word, and a word with another state. */
static inline enum slot_state slot_state(u32 word)
{
	return word & SLOT_STATE_MASK;
}

static inline u32 slot_with_state(u32 word, enum slot_state state)
{
	return (word & ~SLOT_STATE_MASK) | state;
}

/* Has it a block?  A slot that has none is in no chain, or about to be. */
static inline bool slot_has_block(u32 word)
{
	switch (slot_state(word)) {
	case SLOT_FREE:
	case SLOT_LENT:
	case SLOT_RETIRED:
		return false;
	case SLOT_FILLING:
	case SLOT_VALID:
	case SLOT_WRITEBACK:
	case SLOT_EVICTING:
		break;
	}
	return true;
}

/* Pins of a LENT slot.  Any context. */
static inline void slot_pin_lent(struct slot *s)
{
	atomic_add(SLOT_PIN, &s->word);
}

static inline void slot_unpin_lent(struct slot *s)
{
	/* The read has ended before the slot may be written again. */
	smp_mb__before_atomic();
	atomic_sub(SLOT_PIN, &s->word);
}

static inline bool slot_lent_is_pinned(const struct slot *s)
{
	return slot_word(s) & SLOT_LENT_PINS;
}

/* The bits of the parts from @first to @last, both below SLOT_NR_PARTS. */
static inline u32 slot_parts(u32 first, u32 last)
{
	static const u32 bits[SLOT_NR_PARTS][SLOT_NR_PARTS] = {
		{ BIT(28), GENMASK(29, 28), GENMASK(30, 28), GENMASK(31, 28) },
		{ 0, BIT(29), GENMASK(30, 29), GENMASK(31, 29) },
		{ 0, 0, BIT(30), GENMASK(31, 30) },
		{ 0, 0, 0, BIT(31) },
	};

	return bits[first][last];
}

/* The first of @parts (at least one), and the one after the last. */
static inline u32 slot_first_part(u32 parts)
{
	return ilog2(parts & -parts) - SLOT_PART_SHIFT;
}

static inline u32 slot_end_part(u32 parts)
{
	return ilog2(parts) + 1 - SLOT_PART_SHIFT;
}

/* The block that it holds or held.  It may change while the slot has no pin. */
static inline u64 slot_block(const struct slot *s)
{
	return (u64)READ_ONCE(s->block_hi) << 32 | READ_ONCE(s->block_lo);
}

/* Replace the word if it still is *@old; otherwise load it into *@old. */
static inline bool slot_try_change(struct slot *s, u32 *old, u32 new)
{
	return atomic_try_cmpxchg(&s->word, (int *)old, new);
}

/*
 * Will the word of a slot change by itself?  A bio may only be parked on a busy
 * slot, because that change wakes it.
 */
static inline bool slot_is_busy(u32 word)
{
	return slot_state(word) != SLOT_VALID || (word & SLOT_PIN_MASK);
}

#define SLOT_CHAIN_END	BIT(31)

/* The bucket of @block. */
static inline u32 slot_hash(const struct slot_map *map, u64 block)
{
	return hash_64(block, map->bucket_bits);
}

/*
 * Look @block up.  Any context, no lock.  The answer may be outdated when it
 * arrives: pin the slot and compare slot_block() again before trusting it.
 */
static inline u32 slot_map_find(struct slot_map *map, u64 block)
{
	u32 bucket = slot_hash(map, block);
	u32 lo = lower_32_bits(block);
	u16 hi = upper_32_bits(block);
	u32 i;

	do {
		i = READ_ONCE(map->buckets[bucket]);
		while (!(i & SLOT_CHAIN_END)) {
			struct slot *s = slot_at(map, i);

			if (READ_ONCE(s->block_lo) == lo &&
			    READ_ONCE(s->block_hi) == hi)
				return i;
			i = READ_ONCE(s->next);
		}
	} while (unlikely(i != (SLOT_CHAIN_END | bucket)));

	return SLOT_NONE;
}

/*
 * The slot that holds @block, and its @word, or SLOT_NONE.  The word was read
 * between two looks at the slot's block, which both found @block.  Without a pin
 * both may be outdated when they arrive.  If @block left the slot and came back
 * between the looks, the word may even be that of another block: then no slot had
 * @block for a while.  A caller that changes the slot has to compare again.  Any
 * context, no lock; not for hits, which pin and then compare.
 */
static inline u32 slot_map_find_own(struct slot_map *map, u64 block, u32 *word)
{
	u32 slot;

	for (;;) {
		slot = slot_map_find(map, block);
		if (slot == SLOT_NONE)
			return SLOT_NONE;
		*word = slot_word(slot_at(map, slot));
		if (slot_block(slot_at(map, slot)) == block &&
		    slot_has_block(*word))
			return slot;
		cpu_relax();
	}
}

/*
 * True if no new pins may be taken.  A bio waits for the last unpin; new pins
 * would starve it.
 */
static inline bool slot_is_closed(u32 word)
{
	return word & (SLOT_WAITERS | SLOT_FULL);
}

/*
 * Drop a pin (@unit is SLOT_PIN, or SLOT_PIN | SLOT_WRITER).  Returns true if it
 * was the last and there are waiters.  The slot stays closed, because the waiters
 * decide when it opens.
 */
static inline bool slot_unpin(struct slot *s, u32 unit)
{
	u32 old = atomic_fetch_sub(unit, &s->word);

	return unlikely(old & SLOT_WAITERS) &&
	       (old & SLOT_PIN_MASK) == SLOT_PIN;
}

/*
 * A scan offers the CPU to others each time that it has seen so many slots (64 KiB
 * of memory).  Not chosen by measurement; a power of 2, because then the remainder
 * is a mask.
 */
#define SLOT_SCAN_RESCHED	4096

/*
 * Go once round all slots, from *@cursor on, until @take has taken @max of them.
 * @take says whether it takes @slot, as the @nr-th.  *@cursor is where the next
 * scan goes on.  Returns how many were taken.  May sleep.  Inline, because then
 * @take is not called by pointer.
 */
static inline unsigned int
slot_map_scan(struct slot_map *map, u32 *cursor, unsigned int max,
	      bool (*take)(void *context, u32 slot, unsigned int nr), void *context)
{
	unsigned int nr = 0;
	u32 seen, slot;

	for (seen = 0; seen < map->nr_slots && nr < max; seen++) {
		if (!(seen % SLOT_SCAN_RESCHED))
			cond_resched();
		slot = *cursor;
		*cursor = slot + 1 < map->nr_slots ? slot + 1 : 0;
		nr += take(context, slot, nr);
	}
	return nr;
}

#endif
