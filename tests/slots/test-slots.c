// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slot map's slots for the write log: kept for its ring, lent to it, listed, and
 * given back. One thread.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "slots/cache-slots.h"

#define SLOTS	5000

static const struct slot_range none[SLOT_NR_KEPT];

static void make(struct slot_map *map)
{
	memset(map, 0, sizeof(*map));
	assert_int_equal(slot_map_init(map, SLOTS), 0);
	slot_map_build_free_list(map);
	assert_int_equal(map->nr_free, SLOTS);
}

static enum slot_state state_of(struct slot_map *map, u32 slot)
{
	return slot_state(slot_word(slot_at(map, slot)));
}

/* Take all free slots, and see that each is there once. */
static u32 take_all(struct slot_map *map, u8 *seen)
{
	u32 slot, nr = 0;

	memset(seen, 0, SLOTS);
	while ((slot = slot_map_alloc(map)) != SLOT_NONE) {
		assert_true(slot < SLOTS);
		assert_false(seen[slot]);
		assert_int_equal(state_of(map, slot), SLOT_FREE);
		seen[slot] = 1;
		nr++;
	}
	assert_int_equal(map->nr_free, 0);
	return nr;
}

static void test_kept(void **state)
{
	const struct slot_range kept[SLOT_NR_KEPT] = { { 3000, 3100 }, { 4990, SLOTS } };
	static u8 seen[SLOTS];
	struct slot_map map;
	u32 used, i;

	(void)state;
	make(&map);
	/* One of the kept slots is in use, and comes back later. */
	do {
		used = slot_map_alloc(&map);
	} while (used != 3050);
	for (i = 0; i < 3050; i++)
		slot_map_free(&map, i);
	slot_map_keep(&map, kept);
	assert_int_equal(map.nr_free, SLOTS - 110);
	assert_int_equal(state_of(&map, 3000), SLOT_LENT);
	assert_int_equal(state_of(&map, 4999), SLOT_LENT);
	assert_int_equal(state_of(&map, 3050), SLOT_FREE);
	slot_map_free(&map, 3050);
	assert_int_equal(state_of(&map, 3050), SLOT_LENT);
	assert_int_equal(take_all(&map, seen), SLOTS - 110);
	for (i = 0; i < SLOTS; i++)
		assert_int_equal(!seen[i], (i >= 3000 && i < 3100) || i >= 4990);

	/* The end: all of them are free, and nothing is kept any more. */
	slot_map_keep(&map, none);
	assert_int_equal(take_all(&map, seen), 110);
	slot_map_free(&map, 3050);
	assert_int_equal(slot_map_alloc(&map), 3050);
	slot_map_exit(&map);
}

/* When the ranges change, slots of both the old and the new ones stay kept. */
static void test_other_range(void **state)
{
	const struct slot_range first[SLOT_NR_KEPT] = { { 10, 20 } };
	const struct slot_range second[SLOT_NR_KEPT] = { { 15, 25 } };
	static u8 seen[SLOTS];
	struct slot_map map;
	u32 i;

	(void)state;
	make(&map);
	slot_map_keep(&map, first);
	slot_map_keep(&map, second);
	assert_int_equal(take_all(&map, seen), SLOTS - 10);
	for (i = 10; i < 25; i++)
		assert_int_equal(!seen[i], i >= 15);
	slot_map_exit(&map);
}

static void test_lent(void **state)
{
	u32 head = SLOT_NONE, a, b, word;
	struct slot_map map;

	(void)state;
	make(&map);
	a = slot_map_alloc(&map);
	b = slot_map_alloc(&map);
	slot_map_lend(&map, a);
	slot_map_lend(&map, b);
	assert_false(slot_has_block(slot_word(slot_at(&map, a))));
	slot_list_push(&map, &head, a);
	slot_list_push(&map, &head, b);

	/*
	 * So many readers that their count reaches bits which mean something else
	 * in other slots.
	 */
	for (u32 i = 0; i < 3000; i++)
		slot_pin_lent(slot_at(&map, a));
	assert_int_equal(state_of(&map, a), SLOT_LENT);
	assert_true(slot_lent_is_pinned(slot_at(&map, a)));
	assert_false(slot_lent_is_pinned(slot_at(&map, b)));
	for (u32 i = 0; i < 3000; i++)
		slot_unpin_lent(slot_at(&map, a));
	assert_false(slot_lent_is_pinned(slot_at(&map, a)));

	assert_int_equal(slot_list_pop(&map, &head), b);
	assert_int_equal(slot_list_pop(&map, &head), a);
	assert_int_equal(slot_list_pop(&map, &head), SLOT_NONE);
	slot_map_take_back(&map, a);
	assert_int_equal(state_of(&map, a), SLOT_FREE);
	assert_int_equal(slot_map_alloc(&map), a);
	/* No block is found in a lent slot, though it had one before. */
	assert_int_equal(slot_map_insert(&map, a, 7, SLOT_VALID), 0);
	slot_map_remove(&map, a);
	slot_map_lend(&map, a);
	assert_int_equal(slot_map_find_own(&map, 7, &word), SLOT_NONE);
	slot_map_exit(&map);
}

/* A lent slot is published where it lies, and keeps the pins that readers have. */
static void test_published_in_place(void **state)
{
	struct slot_map map;
	u32 a, b, word;

	(void)state;
	make(&map);
	a = slot_map_alloc(&map);
	b = slot_map_alloc(&map);
	slot_map_lend(&map, a);
	slot_map_set_block(&map, a, 7ULL << 32 | 7);
	slot_pin_lent(slot_at(&map, a));
	assert_int_equal(slot_map_find_own(&map, 7ULL << 32 | 7, &word), SLOT_NONE);

	assert_int_equal(slot_map_insert(&map, b, 7ULL << 32 | 7, SLOT_FILLING), 0);
	assert_int_equal(slot_map_insert_lent(&map, a), -EEXIST);
	assert_int_equal(slot_word(slot_at(&map, a)), SLOT_LENT | SLOT_PIN);
	slot_map_remove(&map, b);
	atomic_set(&slot_at(&map, b)->word, SLOT_FREE);

	assert_int_equal(slot_map_insert_lent(&map, a), 0);
	assert_int_equal(slot_map_find_own(&map, 7ULL << 32 | 7, &word), a);
	assert_int_equal(word, SLOT_FILLING | SLOT_PIN);
	slot_unpin_lent(slot_at(&map, a));
	assert_int_equal(slot_word(slot_at(&map, a)), SLOT_FILLING);
	slot_map_remove(&map, a);
	assert_int_equal(slot_map_find(&map, 7ULL << 32 | 7), SLOT_NONE);
	slot_map_exit(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_other_range),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_published_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
