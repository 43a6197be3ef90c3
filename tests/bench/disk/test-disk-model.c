// SPDX-License-Identifier: GPL-2.0-only
/*
 * The test disk gives no more than its platters and its buffer can.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

typedef uint64_t u64;

#include "disk-model.h"

#define MIB		2048ULL		/* in sectors */
#define SECOND		1000000000ULL

/* Reads @mib MiB from @sector on, 1 MiB at a time; returns when the last one has ended. */
static u64 read_on(struct disk_head *h, u64 sector, u64 mib, u64 now)
{
	u64 i;

	for (i = 0; i < mib; i++)
		now = disk_serve(h, sector + i * MIB, MIB, 0, now);
	return now;
}

/* A stream has the speed of the platters. */
static void test_a_stream_is_not_faster_than_the_platters(void **state)
{
	struct disk_head h = { 0 };
	u64 took = read_on(&h, 1 << 20, 300, 0);

	(void)state;
	assert_true(took >= disk_transfer_ns(300 * MIB));
	assert_true(took <= disk_transfer_ns(300 * MIB) + SECOND / 10);
}

/* After a pause the buffer has 16 MiB, however long the pause was. */
static void test_a_pause_fills_the_buffer_and_no_more(void **state)
{
	struct disk_head h = { 0 };
	u64 now = read_on(&h, 1 << 20, 1, 0), took;

	(void)state;
	now += 10 * SECOND;
	took = read_on(&h, (1 << 20) + MIB, 16, now) - now;
	assert_true(took <= 16 * DISK_BUFFER_NS);
	took = read_on(&h, (1 << 20) + 17 * MIB, 100, now + took) - now;
	/* The disk has read on for a moment meanwhile. */
	assert_true(took >= disk_transfer_ns(99 * MIB));
}

/* A write right behind the last one goes on without a turn; after a pause it does not. */
static void test_a_late_write_waits_for_its_sector(void **state)
{
	struct disk_head h = { 0 };
	u64 now = disk_serve(&h, 1 << 20, MIB, 1, 0);

	(void)state;
	assert_int_equal(disk_serve(&h, (1 << 20) + MIB, MIB, 1, now) - now,
			 disk_transfer_ns(MIB));
	now = h.when + DISK_TURN_NS / 10;
	assert_true(disk_serve(&h, (1 << 20) + 2 * MIB, MIB, 1, now) - now >=
		    disk_transfer_ns(MIB) + DISK_TURN_NS * 8 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stream_is_not_faster_than_the_platters),
		cmocka_unit_test(test_a_pause_fills_the_buffer_and_no_more),
		cmocka_unit_test(test_a_late_write_waits_for_its_sector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
