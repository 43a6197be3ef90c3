/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Means and percentiles of the times of requests that the target has timed.
 */
#ifndef HEARTH_PLUGIN_LATENCY_H
#define HEARTH_PLUGIN_LATENCY_H

#include "cache-info.h"

/* In milliseconds; NAN if no request was timed. */
struct latency {
	uint64_t requests;	/* that were timed */
	double mean, p50, p99, p999;
};

/* The times of one kind; @count[NR_COUNTERS] are a cache's, or a window's. */
struct latency latency_of(const uint64_t *count, enum cache_latency kind);
/* Sets the times of all kinds, @all[NR_CACHE_LATENCIES]. */
void latencies_of(const uint64_t *count, struct latency *all);

/**
 * latency_percentile() - the time below which a part of all requests ended
 * @buckets: a histogram, CACHE_LATENCY_BUCKETS of them
 * @part: 0 to 1
 *
 * Requests are taken to be spread evenly over their bucket.  In the last bucket they
 * took at least as long as the limit of the one before.
 *
 * Return: nanoseconds; NAN if the histogram is empty.
 */
double latency_percentile(const uint64_t *buckets, double part);

/* How many requests a histogram has. */
uint64_t latency_requests(const uint64_t *buckets);
/* The histogram of one kind among the counters of a cache, or of a window. */
const uint64_t *latency_buckets(const uint64_t *count, enum cache_latency kind);

/* The same of all kinds, in columns of a report (report.h); UNKNOWN if no request was timed. */
struct latency_columns {
	uint64_t us[NR_CACHE_LATENCIES][3];	/* p50, p99, p99.9 in microseconds */
};

struct latency_columns latency_columns(const struct latency *all);

/* The rows of a table of fields (report.h) for one kind; @member is a struct latency_columns. */
#define LATENCY_FIELDS(type, member, symbol, name)			\
	NUMBER_FIELD(type, member.us[CACHE_LATENCY_##symbol][0],	\
		     #name "_p50_us", #name " p50",			\
		     "Half of " #name " took at most so many microseconds"), \
	NUMBER_FIELD(type, member.us[CACHE_LATENCY_##symbol][1],	\
		     #name "_p99_us", #name " p99",			\
		     "99% of " #name " took at most so many microseconds"), \
	NUMBER_FIELD(type, member.us[CACHE_LATENCY_##symbol][2],	\
		     #name "_p999_us", #name " p99.9",			\
		     "99.9% of " #name " took at most so many microseconds"),

/* Prints those of all kinds, @all[NR_CACHE_LATENCIES], as an object of JSON. */
void json_latencies(const char *key, const struct latency *all);

#endif
