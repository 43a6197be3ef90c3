// SPDX-License-Identifier: GPL-2.0-only
/*
 * Means and percentiles of the times of requests, from the target's histograms.
 * It must not know a kind of request.
 */
#include <math.h>

#include "latency.h"
#include "report.h"
#include "text.h"

#define NS_PER_MS	1e6

const uint64_t *latency_buckets(const uint64_t *count, enum cache_latency kind)
{
	return count + FIRST_BUCKET + kind * CACHE_LATENCY_BUCKETS;
}

/* The number of requests in a histogram. */
static uint64_t latency_requests(const uint64_t *buckets)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < CACHE_LATENCY_BUCKETS; i++)
		sum += buckets[i];
	return sum;
}

double latency_percentile(const uint64_t *buckets, double part)
{
	double rank = part * latency_requests(buckets), before = 0, from, to;
	unsigned int i, last = CACHE_LATENCY_BUCKETS - 1;

	if (!latency_requests(buckets))
		return NAN;
	for (i = 0; i < last && before + buckets[i] < rank; i++)
		before += buckets[i];
	from = i ? CACHE_LATENCY_LIMIT(i - 1) : 0;
	if (i == last || !buckets[i])
		return from;
	to = CACHE_LATENCY_LIMIT(i);
	return from + (to - from) * (rank - before) / buckets[i];
}

struct latency latency_of(const uint64_t *count, enum cache_latency kind)
{
	const uint64_t *buckets = latency_buckets(count, kind);
	uint64_t timed = count[TIMED_READ_HITS + kind];

	return (struct latency){
		.requests = latency_requests(buckets),
		.mean = timed ? count[READ_HITS_NS + kind] / NS_PER_MS / timed : NAN,
		.p50 = latency_percentile(buckets, .5) / NS_PER_MS,
		.p99 = latency_percentile(buckets, .99) / NS_PER_MS,
		.p999 = latency_percentile(buckets, .999) / NS_PER_MS,
	};
}

void latencies_of(const uint64_t *count, struct latency *all)
{
	unsigned int kind;

	for (kind = 0; kind < NR_CACHE_LATENCIES; kind++)
		all[kind] = latency_of(count, kind);
}

static uint64_t whole_us(double ms)
{
	return isfinite(ms) ? (uint64_t)(1000 * ms + 0.5) : UNKNOWN;
}

struct latency_columns latency_columns(const struct latency *all)
{
	struct latency_columns l;
	unsigned int kind;

	for (kind = 0; kind < NR_CACHE_LATENCIES; kind++) {
		l.us[kind][0] = whole_us(all[kind].p50);
		l.us[kind][1] = whole_us(all[kind].p99);
		l.us[kind][2] = whole_us(all[kind].p999);
	}
	return l;
}

static void json_latency(const char *key, const struct latency *l)
{
	json_begin(key, '{');
	json_uint("requests", l->requests);
	json_real("mean_ms", l->mean);
	json_real("p50_ms", l->p50);
	json_real("p99_ms", l->p99);
	json_real("p999_ms", l->p999);
	json_end();
}

void json_latencies(const char *key, const struct latency *all)
{
	unsigned int kind;

	json_begin(key, '{');
	for (kind = 0; kind < NR_CACHE_LATENCIES; kind++)
		json_latency(latency_names[kind], &all[kind]);
	json_end();
}
