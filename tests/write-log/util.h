/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of all tests of the write log: memory that is counted. */

#ifndef LOG_TEST_UTIL_H
#define LOG_TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/lib/seed.h"
#include "write-log/log-index.h"

#define assert_ok(e)	assert_int_equal(e, 0)

/* Memory of an index as the kernel's allocator rounds it, and its pins. */
struct host {
	s64 bytes;		/* as asked for */
	s64 rounded;		/* as the kernel's kmalloc() would round */
	u32 nr_allocs;
	u64 *fails;		/* a generator: some allocations fail */
	u32 fail_one_in;
	u32 nr_slots;
	int *pins;		/* by slot */
};

extern const struct log_index_ops host_ops;

void host_make(struct host *h, u32 nr_slots);
void host_free(struct host *h);

#endif
