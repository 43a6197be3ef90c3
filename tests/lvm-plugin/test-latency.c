// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic of histograms: the target's choice of a bucket, and the percentiles
 * that hearth reads from the buckets.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>

#include <cmocka.h>

#include "../../dm-target/cache-bucket.h"
#include "latency.h"

#define LAST	(CACHE_LATENCY_BUCKETS - 1)

static void test_buckets(void **state)
{
	unsigned int i;

	assert_int_equal(cache_latency_bucket(0), 0);
	assert_int_equal(cache_latency_bucket(1), 0);
	assert_int_equal(cache_latency_bucket(2048), 0);
	assert_int_equal(cache_latency_bucket(2049), 1);
	for (i = 0; i < LAST; i++) {
		assert_int_equal(cache_latency_bucket(CACHE_LATENCY_LIMIT(i)), i);
		assert_int_equal(cache_latency_bucket(CACHE_LATENCY_LIMIT(i) + 1), i + 1);
	}
	assert_int_equal(cache_latency_bucket(UINT64_MAX), LAST);
}

static void test_nothing_was_timed(void **state)
{
	uint64_t count[NR_COUNTERS] = { 0 };
	struct latency l = latency_of(count, CACHE_LATENCY_ABSORBED);

	assert_int_equal(l.requests, 0);
	assert_true(isnan(l.mean) && isnan(l.p50) && isnan(l.p99) && isnan(l.p999));
}

static void test_one_bucket(void **state)
{
	uint64_t buckets[CACHE_LATENCY_BUCKETS] = { [3] = 100 };
	double from = CACHE_LATENCY_LIMIT(2), to = CACHE_LATENCY_LIMIT(3);

	assert_true(latency_percentile(buckets, .5) == (from + to) / 2);
	assert_true(latency_percentile(buckets, 1) == to);
	memset(buckets, 0, sizeof(buckets));
	buckets[0] = 1;
	assert_true(latency_percentile(buckets, .5) == CACHE_LATENCY_LIMIT(0) / 2.0);
}

/* Only the lower border of the last bucket is known. */
static void test_last_bucket(void **state)
{
	uint64_t buckets[CACHE_LATENCY_BUCKETS] = { [5] = 90, [LAST] = 10 };

	assert_true(latency_percentile(buckets, .9) == CACHE_LATENCY_LIMIT(5));
	assert_true(latency_percentile(buckets, .99) == CACHE_LATENCY_LIMIT(LAST - 1));
}

/* Empty buckets before, between and behind do not matter. */
static void test_gaps(void **state)
{
	uint64_t buckets[CACHE_LATENCY_BUCKETS] = { [4] = 990, [12] = 9, [15] = 1 };

	assert_true(latency_percentile(buckets, .99) == CACHE_LATENCY_LIMIT(4));
	assert_true(latency_percentile(buckets, .999) == CACHE_LATENCY_LIMIT(12));
	assert_true(latency_percentile(buckets, .9995) ==
		    (CACHE_LATENCY_LIMIT(14) + CACHE_LATENCY_LIMIT(15)) / 2.0);
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The percentile of real times lies in the bucket that is told, or on its border. */
static void test_against_sorted_times(void **state)
{
	static const double parts[] = { .01, .5, .9, .99, .999 };
	uint64_t times[1000], buckets[CACHE_LATENCY_BUCKETS];
	unsigned int round, i, n;
	double told, before = 0;
	uint64_t real;

	srandom(1);
	for (round = 0; round < 200; round++) {
		memset(buckets, 0, sizeof(buckets));
		n = 1 + random() % 1000;
		for (i = 0; i < n; i++) {
			times[i] = random() >> (random() % 31);
			buckets[cache_latency_bucket(times[i])]++;
		}
		qsort(times, n, sizeof(*times), compare);
		for (i = 0, before = 0; i < 5; i++) {
			told = latency_percentile(buckets, parts[i]);
			real = times[(unsigned int)ceil(parts[i] * n) - 1];
			assert_true(told >= before);
			assert_int_equal(cache_latency_bucket(ceil(told)),
					 cache_latency_bucket(real));
			before = told;
		}
	}
}

static void test_kinds_are_apart(void **state)
{
	uint64_t count[NR_COUNTERS] = { 0 };
	struct latency l;

	count[TIMED_CACHE_FLUSHES] = 4;
	count[CACHE_FLUSHES_NS] = 10000000;
	count[FIRST_BUCKET + CACHE_LATENCY_CACHE_FLUSHES * CACHE_LATENCY_BUCKETS + 10] = 4;
	l = latency_of(count, CACHE_LATENCY_CACHE_FLUSHES);
	assert_int_equal(l.requests, 4);
	assert_true(l.mean == 2.5);
	assert_true(l.p50 == (CACHE_LATENCY_LIMIT(9) + CACHE_LATENCY_LIMIT(10)) / 2e6);
	assert_int_equal(latency_of(count, CACHE_LATENCY_ORIGIN_FLUSHES).requests, 0);
	assert_int_equal(latency_of(count, CACHE_LATENCY_ABSORBED).requests, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_nothing_was_timed),
		cmocka_unit_test(test_one_bucket),
		cmocka_unit_test(test_last_bucket),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_against_sorted_times),
		cmocka_unit_test(test_kinds_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
