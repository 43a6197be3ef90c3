/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Means and percentiles of the times of requests that the target has timed.  It must not
 * know a kind of request.
 */
#ifndef HEARTH_PLUGIN_LATENCY_H
#define HEARTH_PLUGIN_LATENCY_H

#include "cache-info.h"

/* The times of requests of one kind. */
struct latency {
	uint64_t requests;	/* number of timed requests */
	double mean, p50, p99, p999;	/* milliseconds; NAN if no request was timed */
};

/**
 * latency_of() - the times of requests of one kind
 * @count: NR_COUNTERS counters, of a cache or a window
 * @kind: the kind of request
 *
 * Return: mean and percentiles in milliseconds; NAN if no request was timed.
 */
struct latency latency_of(const uint64_t *count, enum cache_latency kind);

/**
 * latencies_of() - the times of requests of all kinds
 * @count: as of latency_of()
 * @all: receives them, one for each of the NR_CACHE_LATENCIES kinds
 */
void latencies_of(const uint64_t *count, struct latency *all);

/**
 * latency_percentile() - the time within which a part of all requests ended
 * @buckets: a histogram of CACHE_LATENCY_BUCKETS numbers of requests
 * @part: the part, 0 to 1
 *
 * The requests of a bucket are taken to be spread evenly over it. The last bucket has no upper
 * limit, so for a request in it the result is its lower limit.
 *
 * Return: nanoseconds; NAN if the histogram is empty.
 */
double latency_percentile(const uint64_t *buckets, double part);

/**
 * latency_buckets() - the histogram of one kind
 * @count: as of latency_of()
 * @kind: the kind of request
 *
 * Return: CACHE_LATENCY_BUCKETS numbers of requests, a part of @count.
 */
const uint64_t *latency_buckets(const uint64_t *count, enum cache_latency kind);

/* The times of all kinds, in columns of a report (report.h); UNKNOWN if no request was timed. */
struct latency_columns {
	uint64_t us[NR_CACHE_LATENCIES][3];	/* p50, p99, p99.9 in microseconds */
};

/**
 * latency_columns() - the times of all kinds for a report
 * @all: as of latencies_of()
 *
 * Return: percentiles in whole microseconds; UNKNOWN if no request was timed.
 */
struct latency_columns latency_columns(const struct latency *all);

/* The rows of a table of fields (report.h) for one kind; @member is a struct latency_columns. */
#define LATENCY_FIELDS(member, symbol, name)				\
	NUMBER(member.us[CACHE_LATENCY_##symbol][0],			\
	       #name "_p50_us", #name " p50",				\
	       "Half of " #name " took at most so many microseconds"), \
	NUMBER(member.us[CACHE_LATENCY_##symbol][1],			\
	       #name "_p99_us", #name " p99",				\
	       "99% of " #name " took at most so many microseconds"), \
	NUMBER(member.us[CACHE_LATENCY_##symbol][2],			\
	       #name "_p999_us", #name " p99.9",			\
	       "99.9% of " #name " took at most so many microseconds"),

/**
 * json_latencies() - print the times of all kinds as an object of JSON
 * @key: its key in the object that is open; NULL within an array
 * @all: as of latencies_of()
 */
void json_latencies(const char *key, const struct latency *all);

#endif
