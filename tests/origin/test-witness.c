// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which blocks are witnesses: all if there is room, the first block always, half by
 * worth, the rest by chance, none twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dm-target/cache-witness.h"

#define MAX	32
#define MANY	10000

static u32 state = 1;

static u32 chance(void)
{
	state = state * 1664525 + 1013904223;
	return state ^ state >> 15;
}

/* Offers @nr blocks in slots of the same numbers; worth_of() says their worth. */
static u32 choose(struct witness *all, u32 max, u32 nr, u32 (*worth_of)(u32 slot))
{
	struct witnesses ws;

	witnesses_begin(&ws, all, max);
	for (u32 i = 0; i < nr; i++)
		witnesses_offer(&ws, i, i, worth_of(i), chance());
	return witnesses_end(&ws);
}

static u32 same(u32 slot)
{
	(void)slot;
	return 8;
}

/* Twenty are worth most, from slot 7000 on; the worth of one is too large. */
static u32 hot(u32 slot)
{
	if (slot == 7019)
		return 1000;
	return slot >= 7000 && slot < 7020 ? 63 : slot % 60;
}

static bool has(const struct witness *all, u32 nr, u32 slot)
{
	u32 found = 0;

	for (u32 i = 0; i < nr; i++)
		found += all[i].slot == slot;
	assert_in_range(found, 0, 1);
	return found;
}

static void all_if_there_is_room(void **context)
{
	struct witness all[MAX];

	(void)context;
	for (u32 nr = 0; nr <= MAX; nr++) {
		assert_int_equal(choose(all, MAX, nr, same), nr);
		for (u32 i = 0; i < nr; i++)
			assert_true(has(all, nr, i));
		assert_int_equal(choose(all, MAX, nr, hot), nr);
		for (u32 i = 0; i < nr; i++)
			assert_true(has(all, nr, i));
	}
}

static void none_twice_and_the_first_always(void **context)
{
	struct witness all[MAX];

	(void)context;
	for (u32 max = 1; max <= MAX; max++) {
		for (u32 round = 0; round < 50; round++) {
			assert_int_equal(choose(all, max, MANY, hot), max);
			assert_true(has(all, max, 0));
			for (u32 i = 0; i < max; i++) {
				assert_true(has(all, max, all[i].slot));
				assert_int_equal(all[i].slot, all[i].block);
			}
		}
	}
}

static void half_are_worth_most(void **context)
{
	struct witness all[MAX];
	u32 nr_hot = 0;

	(void)context;
	assert_int_equal(choose(all, MAX, MANY, hot), MAX);
	for (u32 i = 7000; i < 7020; i++)
		nr_hot += has(all, MAX, i);
	assert_in_range(nr_hot, MAX / 2, MAX / 2 + 4);
}

/* Three were written last, and as many as can be are as hot as can be. */
static u32 three_lately(u32 slot)
{
	return slot >= 400 && slot < 403 ? WITNESS_WORTH_MAX - (slot - 400) : 63;
}

static void worth_above_a_hint_comes_first(void **context)
{
	struct witness all[MAX];

	(void)context;
	for (u32 round = 0; round < 50; round++) {
		assert_int_equal(choose(all, 8, MANY, three_lately), 8);
		for (u32 i = 400; i < 403; i++)
			assert_true(has(all, 8, i));
	}
}

/* No block is left out for good, and none is favoured for its place. */
static void others_are_left_to_chance(void **context)
{
	u32 seen[200] = { 0 };
	struct witness all[MAX];

	(void)context;
	for (u32 round = 0; round < 2000; round++) {
		assert_int_equal(choose(all, MAX, 200, same), MAX);
		for (u32 i = 0; i < MAX; i++)
			seen[all[i].slot]++;
	}
	assert_int_equal(seen[0], 2000);
	/* On average 2000 * 31 / 199 = 312. */
	for (u32 i = 1; i < 200; i++)
		assert_in_range(seen[i], 220, 410);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_if_there_is_room),
		cmocka_unit_test(none_twice_and_the_first_always),
		cmocka_unit_test(half_are_worth_most),
		cmocka_unit_test(worth_above_a_hint_comes_first),
		cmocka_unit_test(others_are_left_to_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
