// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of the blocks that were written last: no block twice, the last one first, and
 * the same list after a stop, whatever the disk says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dm-target/cache-lately.h"

static void the_last_one_comes_first(void **context)
{
	struct lately_list l;

	(void)context;
	lately_clear(&l);
	for (u64 block = 0; block < 1000; block++) {
		lately_put(&l, block);
		for (u32 i = 0; i < LATELY_BLOCKS; i++)
			assert_int_equal(l.blocks[i], i <= block ? block - i :
								   LATELY_NONE);
	}
}

static void none_is_there_twice(void **context)
{
	struct lately_list l;

	(void)context;
	lately_clear(&l);
	for (u32 i = 0; i < 10000; i++) {
		lately_put(&l, rand() % 80);
		for (u32 a = 0; a < LATELY_BLOCKS; a++)
			for (u32 b = 0; b < a; b++)
				assert_true(l.blocks[a] == LATELY_NONE ||
					    l.blocks[a] != l.blocks[b]);
	}
}

/* A block that is written again leaves its old place, and the others keep their order. */
static void again(void **context)
{
	struct lately_list l;

	(void)context;
	lately_clear(&l);
	for (u64 block = 1; block <= 4; block++)
		lately_put(&l, block);
	lately_put(&l, 2);
	assert_int_equal(l.blocks[0], 2);
	assert_int_equal(l.blocks[1], 4);
	assert_int_equal(l.blocks[2], 3);
	assert_int_equal(l.blocks[3], 1);
	assert_int_equal(l.blocks[4], LATELY_NONE);
}

static void marks_of_the_disk(void **context)
{
	struct lately_list l;

	(void)context;
	lately_clear(&l);
	lately_place(&l, 70, 0);
	lately_place(&l, 71, LATELY_MARKS + 1);
	lately_place(&l, 72, 0xffff);
	for (u32 i = 0; i < LATELY_BLOCKS; i++)
		assert_int_equal(l.blocks[i], LATELY_NONE);
	lately_place(&l, 73, LATELY_MARKS);
	lately_place(&l, 74, 1);
	assert_int_equal(l.blocks[0], 74);
	assert_int_equal(l.blocks[LATELY_MARKS - 1], 73);
	lately_put(&l, 73);
	assert_int_equal(l.blocks[0], 73);
	assert_int_equal(l.blocks[1], 74);
	assert_int_equal(l.blocks[LATELY_MARKS], LATELY_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_one_comes_first),
		cmocka_unit_test(none_is_there_twice),
		cmocka_unit_test(again),
		cmocka_unit_test(marks_of_the_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
