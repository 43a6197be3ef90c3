// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks that are held for a change.
 */
#include "util.h"

#define NR_BLOCKS	64

/* A damaged tree can lead to a block twice, but the code that changes both is not told so. */
static void a_block_is_changed_by_one_holder(void **state)
{
	struct pd_block a, b;
	struct store s;
	u64 nr;

	(void)state;
	store_make(&s, NR_BLOCKS);
	assert_ok(pd_tm_new(&s.tm, PD_KIND_RAW, &a));
	nr = a.nr;
	os_quiet = true;
	assert_int_equal(pd_tm_shadow(&s.tm, &nr, PD_KIND_RAW, &b), -EILSEQ);
	assert_int_equal(pd_block_new(s.dev, nr, PD_KIND_RAW, &b), -EILSEQ);
	os_quiet = false;
	/* Readers may look at it. */
	assert_ok(pd_tm_read(&s.tm, nr, PD_KIND_RAW, &b));
	pd_tm_put(&b);
	pd_tm_put(&a);
	assert_ok(pd_tm_shadow(&s.tm, &nr, PD_KIND_RAW, &b));
	assert_int_equal(b.nr, nr);
	pd_tm_put(&b);
	store_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_changed_by_one_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
