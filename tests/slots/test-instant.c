// SPDX-License-Identifier: GPL-2.0-only
/* Deadlines, however long ago they were. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <cmocka.h>

#include "slots/cache-instant.h"

#define MOST	1250UL

static void near_deadline(unsigned long at)
{
	assert_true(instant_is_ahead(at, at - MOST, MOST));
	assert_true(instant_is_ahead(at, at - 1, MOST));
	assert_false(instant_is_ahead(at, at, MOST));
	assert_false(instant_is_ahead(at, at + 1, MOST));
}

static void a_deadline_ends(void **state)
{
	(void)state;
	near_deadline(1000000);
	/* The first minutes of a kernel's life end where jiffies wrap. */
	near_deadline(0);
	near_deadline(MOST / 2);
}

/* By time_before() these deadlines would still be to come. */
static void an_old_deadline_is_over(void **state)
{
	unsigned long at = 1000000, age;

	(void)state;
	for (age = ULONG_MAX / 2 - 3; age < ULONG_MAX / 2 + 3; age++)
		assert_false(instant_is_ahead(at, at + age, MOST));
	assert_false(instant_is_ahead(at, at + ULONG_MAX - MOST, MOST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deadline_ends),
		cmocka_unit_test(an_old_deadline_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
