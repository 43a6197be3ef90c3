/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histograms of the times of requests: the list of their kinds, and the limits of
 * their buckets. The target counts and hearth(8) reads, and both include this file.
 *
 * It must not know which requests are timed, and it includes nothing.
 */
#ifndef HEARTH_CACHE_LATENCY_H
#define HEARTH_CACHE_LATENCY_H

/*
 * LATENCY(symbol, name): the answer to the message "stats" has a line "latency_NAME"
 * with the buckets, and the counters "timed_NAME" and "NAME_ns". cache-counters.h
 * has these counters in the order of this list.
 */
#define CACHE_LATENCIES(LATENCY)	\
	LATENCY(READ_HITS, read_hits)	\
	LATENCY(READ_MISSES, read_misses) \
	LATENCY(WRITE_HITS, write_hits)	\
	LATENCY(WRITE_MISSES, write_misses) \
	LATENCY(ABSORBED, absorbed)	\
	LATENCY(CACHE_FLUSHES, cache_flushes) \
	LATENCY(ORIGIN_FLUSHES, origin_flushes)

#define CACHE_LATENCY_SYMBOL(symbol, name)	CACHE_LATENCY_##symbol,
enum cache_latency {
	CACHE_LATENCIES(CACHE_LATENCY_SYMBOL)
	NR_CACHE_LATENCIES
};

/*
 * The first bucket counts the requests that took at most 2^11 ns (2 us), because
 * hardly any SSD is faster. Each further bucket goes to twice the time of the one
 * before. The last bucket counts all requests that took more than 2^33 ns (8.6 s).
 */
#define CACHE_LATENCY_SHIFT	11
#define CACHE_LATENCY_BUCKETS	24

/* The longest time that bucket @i counts, in ns; the last bucket has no limit. */
#define CACHE_LATENCY_LIMIT(i)	(1ULL << (CACHE_LATENCY_SHIFT + (i)))

#endif
