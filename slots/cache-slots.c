// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slot map: memory, chains and the free list.  See cache-slots.h for what
 * it owns, for what it must not know, and for the rules of lock-free lookup.
 */
#include "cache-slots.h"

static spinlock_t *chain_lock(struct slot_map *map, u32 bucket)
{
	return &map->chain_locks[bucket % SLOT_NR_LOCKS];
}

/*
 * A bucket takes 4 bytes, and there is one for each slot or two.  There is 1 bit at least,
 * because hash_64() cannot make a number of 0 bits.
 */
static unsigned int bucket_bits_for(u32 nr_slots)
{
	return max(ilog2(nr_slots), 1);
}

int slot_map_init(struct slot_map *map, u32 nr_slots)
{
	u32 i;

	if (!nr_slots || nr_slots > SLOT_MAX_NR)
		return -EINVAL;

	map->nr_slots = nr_slots;
	map->bucket_bits = bucket_bits_for(nr_slots);
	map->slots = kvcalloc(nr_slots, sizeof(*map->slots), GFP_KERNEL);
	map->buckets = kvmalloc_array(1UL << map->bucket_bits,
				      sizeof(*map->buckets), GFP_KERNEL);
	if (!map->slots || !map->buckets) {
		slot_map_exit(map);
		return -ENOMEM;
	}

	for (i = 0; i < 1U << map->bucket_bits; i++)
		map->buckets[i] = SLOT_CHAIN_END | i;
	for (i = 0; i < SLOT_NR_LOCKS; i++)
		spin_lock_init(&map->chain_locks[i]);
	spin_lock_init(&map->free_lock);
	map->free_head = SLOT_NONE;
	map->nr_free = 0;
	return 0;
}

void slot_map_exit(struct slot_map *map)
{
	kvfree(map->buckets);
	kvfree(map->slots);
	map->buckets = NULL;
	map->slots = NULL;
}

size_t slot_map_bytes(const struct slot_map *map)
{
	return sizeof(*map->slots) * map->nr_slots +
	       (sizeof(*map->buckets) << map->bucket_bits);
}

/*
 * The link of a free slot is the free list's.  It looks like the end of a chain whose
 * bucket does not exist, so a lookup that still stands on the slot starts again at its
 * own bucket.  The block number stays as it was, so no lookup takes a link for a block.
 */
#define FREE_LINK	BIT(30)
#define FREE_LINK_MASK	SLOT_MAX_NR	/* as a link: the end of the list */

static u32 to_free_link(u32 slot)
{
	return SLOT_CHAIN_END | FREE_LINK | (slot & FREE_LINK_MASK);
}

static u32 from_free_link(u32 link)
{
	u32 slot = link & FREE_LINK_MASK;

	return slot == FREE_LINK_MASK ? SLOT_NONE : slot;
}

u32 slot_map_alloc(struct slot_map *map)
{
	unsigned long flags;
	u32 slot;

	spin_lock_irqsave(&map->free_lock, flags);
	slot = map->free_head;
	if (slot != SLOT_NONE) {
		map->free_head = from_free_link(map->slots[slot].next);
		WRITE_ONCE(map->nr_free, map->nr_free - 1);
	}
	spin_unlock_irqrestore(&map->free_lock, flags);
	return slot;
}

static bool is_kept(const struct slot_map *map, u32 slot)
{
	u32 i;

	lockdep_assert_held(&map->free_lock);
	for (i = 0; i < SLOT_NR_KEPT; i++)
		if (slot >= map->kept[i].first && slot < map->kept[i].end)
			return true;
	return false;
}

static void free_locked(struct slot_map *map, u32 slot)
{
	lockdep_assert_held(&map->free_lock);
	if (is_kept(map, slot)) {
		atomic_set(&map->slots[slot].word, SLOT_LENT);
		return;
	}
	WRITE_ONCE(map->slots[slot].next, to_free_link(map->free_head));
	map->free_head = slot;
	WRITE_ONCE(map->nr_free, map->nr_free + 1);
}

void slot_map_free(struct slot_map *map, u32 slot)
{
	unsigned long flags;

	spin_lock_irqsave(&map->free_lock, flags);
	free_locked(map, slot);
	spin_unlock_irqrestore(&map->free_lock, flags);
}

/* ---- Slots for the write log ---- */

/* Free slots that are put back under the lock at a time.  Not chosen by measurement. */
#define FILTER_BATCH	1024

/*
 * Put the free slots back, from @slot on; those that are kept now become LENT
 * instead.  Meanwhile slot_map_alloc() finds fewer slots than are free.
 */
static void filter_free_slots(struct slot_map *map, u32 slot)
{
	unsigned long flags;
	u32 next, i;

	while (slot != SLOT_NONE) {
		spin_lock_irqsave(&map->free_lock, flags);
		for (i = 0; i < FILTER_BATCH && slot != SLOT_NONE; i++) {
			next = from_free_link(map->slots[slot].next);
			free_locked(map, slot);
			slot = next;
		}
		spin_unlock_irqrestore(&map->free_lock, flags);
		cond_resched();
	}
}

static void end_keeping(struct slot_map *map, struct slot_range *kept)
{
	u32 slot = kept->first, end = kept->end;

	lockdep_assert_held(&map->free_lock);
	kept->end = kept->first;
	for (; slot < end; slot++)
		if (slot_state(slot_word(slot_at(map, slot))) == SLOT_LENT) {
			atomic_set(&map->slots[slot].word, SLOT_FREE);
			free_locked(map, slot);
		}
}

void slot_map_keep(struct slot_map *map, const struct slot_range *kept)
{
	unsigned long flags;
	u32 i, free;

	spin_lock_irqsave(&map->free_lock, flags);
	for (i = 0; i < SLOT_NR_KEPT; i++)
		end_keeping(map, &map->kept[i]);
	for (i = 0; i < SLOT_NR_KEPT; i++)
		map->kept[i] = kept[i];
	free = map->free_head;
	map->free_head = SLOT_NONE;
	WRITE_ONCE(map->nr_free, 0);
	spin_unlock_irqrestore(&map->free_lock, flags);
	filter_free_slots(map, free);
}

u32 slot_map_nr_kept(struct slot_map *map)
{
	unsigned long flags;
	u32 nr = 0, i;

	spin_lock_irqsave(&map->free_lock, flags);
	for (i = 0; i < SLOT_NR_KEPT; i++)
		nr += map->kept[i].end - map->kept[i].first;
	spin_unlock_irqrestore(&map->free_lock, flags);
	return nr;
}

void slot_map_lend(struct slot_map *map, u32 slot)
{
	atomic_set(&slot_at(map, slot)->word, SLOT_LENT);
}

void slot_map_take_back(struct slot_map *map, u32 slot)
{
	atomic_set(&slot_at(map, slot)->word, SLOT_FREE);
	slot_map_free(map, slot);
}

/* A lookup that still stands on the slot starts again, as with a free one. */
void slot_list_push(struct slot_map *map, u32 *head, u32 slot)
{
	WRITE_ONCE(map->slots[slot].next, to_free_link(*head));
	*head = slot;
}

u32 slot_list_pop(struct slot_map *map, u32 *head)
{
	u32 slot = *head;

	if (slot != SLOT_NONE)
		*head = from_free_link(map->slots[slot].next);
	return slot;
}

void slot_map_build_free_list(struct slot_map *map)
{
	u32 i;

	for (i = map->nr_slots; i-- > 0;) {
		if (slot_state(slot_word(slot_at(map, i))) == SLOT_FREE)
			slot_map_free(map, i);
		slot_scan_step(i);
	}
}

static u32 chain_find_locked(struct slot_map *map, u32 bucket, u64 block)
{
	u32 i = map->buckets[bucket];

	lockdep_assert_held(chain_lock(map, bucket));
	while (!(i & SLOT_CHAIN_END)) {
		if (slot_block(slot_at(map, i)) == block)
			return i;
		i = slot_at(map, i)->next;
	}
	return SLOT_NONE;
}

/*
 * A lookup that finds the slot by this block sees from the state that the slot has no
 * block, and starts again.
 */
void slot_map_set_block(struct slot_map *map, u32 slot, u64 block)
{
	struct slot *s = slot_at(map, slot);

	WRITE_ONCE(s->block_lo, lower_32_bits(block));
	WRITE_ONCE(s->block_hi, upper_32_bits(block));
}

/* Only the state of the word is changed, because pins come and go meanwhile. */
int slot_map_insert_lent(struct slot_map *map, u32 slot)
{
	struct slot *s = slot_at(map, slot);
	u32 bucket = slot_hash(map, slot_block(s));
	unsigned long flags;
	int r = -EEXIST;

	spin_lock_irqsave(chain_lock(map, bucket), flags);
	if (chain_find_locked(map, bucket, slot_block(s)) == SLOT_NONE) {
		WRITE_ONCE(s->next, map->buckets[bucket]);
		/* A CPU that sees the state sees its block. */
		smp_mb__before_atomic();
		atomic_sub(SLOT_LENT - SLOT_FILLING, &s->word);
		/* The head last, as in slot_map_insert(). */
		smp_store_release(&map->buckets[bucket], slot);
		r = 0;
	}
	spin_unlock_irqrestore(chain_lock(map, bucket), flags);
	return r;
}

int slot_map_insert(struct slot_map *map, u32 slot, u64 block, u32 word)
{
	u32 bucket = slot_hash(map, block);
	struct slot *s = slot_at(map, slot);
	unsigned long flags;
	int r = -EEXIST;

	spin_lock_irqsave(chain_lock(map, bucket), flags);
	if (chain_find_locked(map, bucket, block) == SLOT_NONE) {
		slot_map_set_block(map, slot, block);
		WRITE_ONCE(s->next, map->buckets[bucket]);
		/* A CPU that sees the word sees its block. */
		atomic_set_release(&s->word, word);
		/* The head last: a lookup that sees the slot sees its link. */
		smp_store_release(&map->buckets[bucket], slot);
		r = 0;
	}
	spin_unlock_irqrestore(chain_lock(map, bucket), flags);
	return r;
}

void slot_map_remove(struct slot_map *map, u32 slot)
{
	struct slot *s = slot_at(map, slot);
	u32 bucket = slot_hash(map, slot_block(s));
	unsigned long flags;
	u32 *link;

	spin_lock_irqsave(chain_lock(map, bucket), flags);
	for (link = &map->buckets[bucket]; *link != slot;
	     link = &slot_at(map, *link)->next)
		if (WARN_ON_ONCE(*link & SLOT_CHAIN_END))
			goto out;
	WRITE_ONCE(*link, s->next);
out:
	spin_unlock_irqrestore(chain_lock(map, bucket), flags);
}
