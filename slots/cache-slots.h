/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slot map: which origin block each block of the cache device (a slot)
 * holds, and in what state.
 *
 * It owns the slots' atomic words, the hash from origin block to slot and the
 * list of free slots.  It must not know of bios, devices or metadata, nor of
 * policies beyond the 16 bits per slot that it keeps for one.
 *
 * A lookup takes no lock.  While I/O can run, slots are reused and never freed.  So
 * a lookup that stands on a slot may be carried into another hash chain when that
 * slot changes its block.  Three rules make this harmless:
 *   - Each chain ends in a marker that names its bucket.
 *   - A new slot goes to the head of a chain.
 *   - A lookup that ends at another bucket's marker starts again.
 * So a lookup never misses a slot that keeps its block.  But it may find a slot that
 * has just changed its block.  So a caller pins the slot first, and then compares
 * the block again.  This is the scheme of the kernel's hlist_nulls.
 *
 * While others can see a slot, each change of its word is one atomic step.
 */
#ifndef HEARTH_CACHE_SLOTS_H
#define HEARTH_CACHE_SLOTS_H

#include "../os/sync.h"

#define SLOT_NONE	U32_MAX
#define SLOT_MAX_NR	((1U << 27) - 1)	/* one allocation, below 2 GiB */

/*
 * FREE		holds nothing; in no chain
 * FILLING	a promotion is writing it; in a chain.  The origin, or the write log,
 *		is current.  The disk does not map the slot until the promotion's
 *		commit.
 * VALID	current, and mapped on the disk; in a chain
 * WRITEBACK	as VALID, and write-back is copying it to the origin, or waits for the
 *		commit after the copy
 * EVICTING	being unmapped on the disk; in a chain.  The origin is current, unless
 *		the block is being discarded.
 * LENT		the write log has it, for data or for its ring; in no chain
 * RETIRED	could not be written, and is not used until the engine is built
 *		anew; in no chain
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

/*
 * The word of a slot:
 *
 * SLOT_DIRTY: the slot is newer than the origin.  It implies SLOT_INTENT, unless a
 * commit has failed since.
 * SLOT_INTENT: the slot's dirty bit is durable on the disk.
 * SLOT_TOUCHED: a write began after write-back began, or after the intent was taken
 * back.
 * SLOT_WAITERS: bios are parked until the state changes or the last pin is dropped.
 * SLOT_UNWRITTEN: the slot is DIRTY, but no write that made it so has succeeded yet.
 * SLOT_PIN: one I/O uses the slot.  Ten bits count the pins.  If the last of them,
 * SLOT_FULL, is set, the slot has 512 pins and takes no more.
 * SLOT_WRITER: one of the pins is a write's.  Ten bits count these.
 * SLOT_LENT_PINS: while the slot is LENT, all of these bits count pins.
 *
 * The state and the marks take 8 of the 32 bits, pins and writers ten each, and the last
 * four are for the parts.  Not chosen by measurement.
 */
#define SLOT_STATE_MASK	0x7U		/* enum slot_state */
#define SLOT_DIRTY	BIT(3)
#define SLOT_INTENT	BIT(4)
#define SLOT_TOUCHED	BIT(5)
#define SLOT_WAITERS	BIT(6)
#define SLOT_UNWRITTEN	BIT(7)
#define SLOT_PIN	BIT(8)
#define SLOT_PIN_MASK	GENMASK(17, 8)
#define SLOT_FULL	BIT(17)
#define SLOT_WRITER	BIT(18)
#define SLOT_WRITER_MASK GENMASK(27, 18)
#define SLOT_LENT_PINS	GENMASK(31, 8)
/*
 * The parts of the block that were written, the first at bit 28.  There are four, because
 * the word has four bits left.  A part is a quarter of the block's size, which is rounded
 * up to a power of two for this.
 * While the slot is DIRTY and not in WRITEBACK, a part whose bit is not set is equal
 * on the origin.  A writer sets its bits in the step in which it pins, so before the
 * slot is DIRTY.  At other times the bits say nothing.
 */
#define SLOT_PART_SHIFT	28
#define SLOT_NR_PARTS	4
#define SLOT_PARTS_MASK	GENMASK(31, 28)
/* For a dirty slot of which nothing says which parts were written. */
#define SLOT_ALL_DIRTY	(SLOT_DIRTY | SLOT_PARTS_MASK)

struct slot {
	atomic_t word;		/* state, marks, counts of pins, parts: see above */
	u32 block_lo;		/* the block of the origin: the low 32 bits */
	u16 block_hi;		/* the 16 bits above them */
	u16 policy;		/* 16 bits that the policy keeps for the slot */
	u32 next;		/* link of a chain, the free list or a list of LENT slots */
};

static_assert(sizeof(struct slot) == 16);

/*
 * The number of locks of chains.  Only promotions and unmappings take one, so it is
 * enough if there are more locks than CPUs that take one at a time.  Not chosen by
 * measurement.
 */
#define SLOT_NR_LOCKS	256

/* Slots from @first up to @end, without @end. */
struct slot_range {
	u32 first, end;
};

/* One range for the write log's ring, one for its headers if they lie elsewhere. */
#define SLOT_NR_KEPT	2

struct slot_map {
	struct slot *slots;
	u32 *buckets;		/* head of a chain: a slot, or SLOT_CHAIN_END | bucket */
	u32 nr_slots;
	unsigned int bucket_bits;	/* log2 of the number of buckets */

	/*
	 * They guard the links of chains.  The lock of a bucket is the one with its
	 * number modulo SLOT_NR_LOCKS.
	 */
	spinlock_t chain_locks[SLOT_NR_LOCKS];

	/* Guards @free_head, the links of free slots, @kept, and writes of @nr_free. */
	spinlock_t free_lock;
	u32 free_head;		/* the first free slot, or SLOT_NONE */
	struct slot_range kept[SLOT_NR_KEPT];	/* slots that become LENT, not free */
	u32 nr_free;		/* slots on the free list; read without the lock */
};

/**
 * slot_map_init() - make a map
 * @map: the map; zeroed
 * @nr_slots: the number of slots; all become FREE, and none is on the free list yet
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EINVAL if @nr_slots is 0 or above SLOT_MAX_NR; -ENOMEM.  After an error
 * there is nothing to free.
 */
int slot_map_init(struct slot_map *map, u32 nr_slots);

/**
 * slot_map_exit() - free a map's memory
 * @map: the map; it may have no memory
 *
 * Context: process, may sleep.
 */
void slot_map_exit(struct slot_map *map);

/**
 * slot_map_bytes() - the memory that a map's slots and buckets take
 * @map: the map
 *
 * Context: any.
 *
 * Return: bytes.
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
 * slot_map_keep() - say which slots become LENT instead of free
 * @map: the map
 * @kept: SLOT_NR_KEPT ranges, which do not overlap; an empty one keeps no slot
 *
 * On return each slot of the ranges that was free is LENT.  Each other slot of the
 * ranges becomes LENT when slot_map_free() is called for it.  Each LENT slot of the
 * former ranges is given back, as by slot_map_free().
 *
 * Context: process, may give way to other tasks, one caller at a time; takes free_lock.
 */
void slot_map_keep(struct slot_map *map, const struct slot_range *kept);

/**
 * slot_map_nr_kept() - how many slots are in the ranges of slot_map_keep()
 * @map: the map
 *
 * Context: any, never sleeps; takes free_lock.
 */
u32 slot_map_nr_kept(struct slot_map *map);

/**
 * slot_map_lend() - make a slot that slot_map_alloc() gave LENT
 * @map: the map
 * @slot: FREE and in no chain
 *
 * Context: any, never sleeps.
 */
void slot_map_lend(struct slot_map *map, u32 slot);

/**
 * slot_map_take_back() - give a LENT slot back, as by slot_map_free()
 * @map: the map
 * @slot: LENT, without pins, and in no list
 *
 * Context: any, never sleeps; takes free_lock.
 */
void slot_map_take_back(struct slot_map *map, u32 slot);

/**
 * slot_list_push() - put a LENT slot at the head of a list of LENT slots
 * @map: the map
 * @head: the first slot, or SLOT_NONE; the caller's lock guards it
 * @slot: LENT, in no list
 *
 * Context: any, never sleeps.
 */
void slot_list_push(struct slot_map *map, u32 *head, u32 slot);

/**
 * slot_list_pop() - take the first slot out of a list of LENT slots
 * @map: the map
 * @head: as for slot_list_push()
 *
 * Context: any, never sleeps.  Return: the slot, or SLOT_NONE.
 */
u32 slot_list_pop(struct slot_map *map, u32 *head);

/**
 * slot_map_build_free_list() - put all FREE slots on the free list, the lowest first
 * @map: the map; its slots were loaded, and none is on the free list
 *
 * Context: process, may give way to other tasks; no I/O runs; takes free_lock.
 */
void slot_map_build_free_list(struct slot_map *map);

/**
 * slot_map_insert() - publish a slot as the slot of a block
 * @map: the map
 * @slot: FREE, in no chain and not on the free list
 * @block: the block
 * @word: the word that the slot gets
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
 * @block: the block that slot_block() returns from here on
 *
 * Context: any, never sleeps.
 */
void slot_map_set_block(struct slot_map *map, u32 slot, u64 block);

/**
 * slot_map_insert_lent() - publish a LENT slot as the slot of its block
 * @map: the map
 * @slot: LENT, in no chain and no list; slot_map_set_block() has set its block.  It
 *	becomes FILLING, and keeps its pins.
 *
 * Context: any, never sleeps; takes a lock of chain_locks.
 *
 * Return: 0; -EEXIST, and nothing has changed, if its block is in the map already.
 */
int slot_map_insert_lent(struct slot_map *map, u32 slot);

/**
 * slot_map_remove() - take a slot out of its chain
 * @map: the map
 * @slot: a slot in a chain; its word stays as it is
 *
 * Context: any, never sleeps; takes a lock of chain_locks.
 */
void slot_map_remove(struct slot_map *map, u32 slot);

/*
 * The functions below may be called in any context.  Unless one says otherwise, they
 * neither sleep nor take a lock.
 */

/**
 * slot_at() - find a slot by its number
 * @map: the map
 * @slot: the number, which must be below nr_slots
 */
static inline struct slot *slot_at(struct slot_map *map, u32 slot)
{
	return &map->slots[slot];
}

/**
 * slot_word() - the word of a slot as it is now
 * @s: the slot
 *
 * The caller reads it once, and changes it by slot_try_change().
 */
static inline u32 slot_word(const struct slot *s)
{
	return atomic_read(&s->word);
}

/**
 * slot_state() - the state in a word
 * @word: the word
 */
static inline enum slot_state slot_state(u32 word)
{
	return word & SLOT_STATE_MASK;
}

/**
 * slot_with_state() - a word with another state
 * @word: the word
 * @state: the state
 */
static inline u32 slot_with_state(u32 word, enum slot_state state)
{
	return (word & ~SLOT_STATE_MASK) | state;
}

/**
 * slot_has_block() - has a slot a block?
 * @word: the slot's word
 *
 * If not, the slot is in no chain, but a lookup may still stand on it.
 */
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

/**
 * slot_pin_lent() - pin a LENT slot, so that it is not written again
 * @s: the slot
 */
static inline void slot_pin_lent(struct slot *s)
{
	atomic_add(SLOT_PIN, &s->word);
}

/**
 * slot_unpin_lent() - drop a pin of slot_pin_lent()
 * @s: the slot
 */
static inline void slot_unpin_lent(struct slot *s)
{
	/* The read has ended before the slot may be written again. */
	smp_mb__before_atomic();
	atomic_sub(SLOT_PIN, &s->word);
}

/**
 * slot_lent_is_pinned() - has a LENT slot any pin?
 * @s: the slot
 */
static inline bool slot_lent_is_pinned(const struct slot *s)
{
	return slot_word(s) & SLOT_LENT_PINS;
}

/**
 * slot_parts() - the bits of some parts that follow each other
 * @first: the first part
 * @last: the last part; @first <= @last < SLOT_NR_PARTS
 *
 * Return: bits of SLOT_PARTS_MASK.
 */
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

/**
 * slot_first_part() - the number of the first part
 * @parts: bits of SLOT_PARTS_MASK, at least one
 */
static inline u32 slot_first_part(u32 parts)
{
	return ilog2(parts & -parts) - SLOT_PART_SHIFT;
}

/**
 * slot_end_part() - the number after that of the last part
 * @parts: bits of SLOT_PARTS_MASK, at least one
 */
static inline u32 slot_end_part(u32 parts)
{
	return ilog2(parts) + 1 - SLOT_PART_SHIFT;
}

/**
 * slot_block() - the block that a slot holds, or held last
 * @s: the slot; if it has no pin, its block may change at any time
 */
static inline u64 slot_block(const struct slot *s)
{
	return (u64)READ_ONCE(s->block_hi) << 32 | READ_ONCE(s->block_lo);
}

/**
 * slot_try_change() - replace the word of a slot if nobody has changed it
 * @s: the slot
 * @old: the word as the caller read it; receives the word as it is if the result is false
 * @new: the word that the slot gets
 *
 * Return: true if the slot has got @new.
 */
static inline bool slot_try_change(struct slot *s, u32 *old, u32 new)
{
	return atomic_try_cmpxchg(&s->word, (int *)old, new);
}

/**
 * slot_is_busy() - is a slot pinned, or not VALID?
 * @word: the slot's word
 *
 * The last unpin, or the end of that state, wakes the bios that are parked on the slot.
 * So a bio may be parked on a busy slot only.
 */
static inline bool slot_is_busy(u32 word)
{
	return slot_state(word) != SLOT_VALID || (word & SLOT_PIN_MASK);
}

/* Says of a link that it ends a chain; the other bits are the chain's bucket. */
#define SLOT_CHAIN_END	BIT(31)

/**
 * slot_hash() - the number of a block's bucket
 * @map: the map
 * @block: the block
 */
static inline u32 slot_hash(const struct slot_map *map, u64 block)
{
	return hash_64(block, map->bucket_bits);
}

/**
 * slot_map_find() - look up the slot of a block
 * @map: the map
 * @block: the block
 *
 * The answer may be outdated when it arrives, so the caller pins the slot, and then
 * compares slot_block() again.
 *
 * Return: the slot, or SLOT_NONE.
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

/**
 * slot_map_find_own() - look up the slot that holds a block, and its word
 * @map: the map
 * @block: the block
 * @word: receives the slot's word, unless there is no slot
 *
 * Hits do not use it, because they pin and then compare.
 *
 * The word was read between two looks at the slot's block, and both found @block.
 * Without a pin, slot and word may be outdated when they arrive.  If @block left the
 * slot between the looks and came back, the word may even be one that the slot had
 * for another block.  So a caller that changes the slot has to compare again.
 *
 * Return: the slot, or SLOT_NONE.
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

/**
 * slot_is_closed() - must no new pins be taken?
 * @word: the slot's word
 *
 * Either the slot can count no more pins, or a bio waits for the last unpin, and new pins
 * would starve it.
 */
static inline bool slot_is_closed(u32 word)
{
	return word & (SLOT_WAITERS | SLOT_FULL);
}

/**
 * slot_unpin() - drop a pin
 * @s: the slot
 * @unit: SLOT_PIN, or SLOT_PIN | SLOT_WRITER for a write's
 *
 * The slot stays closed, because the caller decides when it opens.
 *
 * Return: true if it was the last pin, and bios wait for the slot.
 */
static inline bool slot_unpin(struct slot *s, u32 unit)
{
	u32 old = atomic_fetch_sub(unit, &s->word);

	return unlikely(old & SLOT_WAITERS) &&
	       (old & SLOT_PIN_MASK) == SLOT_PIN;
}

/*
 * After so many slots, which are 64 KiB of memory, a scan calls cond_resched().  Not
 * chosen by measurement; a power of 2, because then the remainder is a mask.
 */
#define SLOT_SCAN_RESCHED	4096

/**
 * slot_scan_step() - let other tasks run now and then in a walk over all slots
 * @nr: counts the slots of the walk, up or down
 *
 * A cache may have 134 million slots.  With 4 million, a walk without this held a CPU of the
 * debug kernel for 22 s.
 *
 * Context: process, may sleep.
 */
static inline void slot_scan_step(u32 nr)
{
	if (!(nr % SLOT_SCAN_RESCHED))
		cond_resched();
}

/**
 * slot_map_scan() - go once round all slots, until enough of them are taken
 * @map: the map
 * @cursor: the slot with which the scan begins; receives the one for the next scan
 * @max: how many slots are enough
 * @take: returns whether it takes @slot; it has taken @nr slots before
 * @context: for @take
 *
 * Inline, because then @take is not called by pointer.
 *
 * Context: process, may sleep.
 *
 * Return: how many slots were taken.
 */
static inline unsigned int
slot_map_scan(struct slot_map *map, u32 *cursor, unsigned int max,
	      bool (*take)(void *context, u32 slot, unsigned int nr), void *context)
{
	unsigned int nr = 0;
	u32 seen, slot;

	for (seen = 0; seen < map->nr_slots && nr < max; seen++) {
		slot_scan_step(seen);
		slot = *cursor;
		*cursor = slot + 1 < map->nr_slots ? slot + 1 : 0;
		nr += take(context, slot, nr);
	}
	return nr;
}

#endif
