/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histograms of the times of requests: the list of their kinds, and the borders of
 * their buckets. The target counts, hearth(8) reads; both have them from here.
 *
 * It must not know which requests are timed, and includes nothing.
 */
#ifndef HEARTH_CACHE_LATENCY_H
#define HEARTH_CACHE_LATENCY_H

/*
 * LATENCY(symbol, name): the message "stats" has a line "latency_NAME" with the
 * buckets, and the counters "timed_NAME" and "NAME_ns", whose order in
 * cache-counters.h is this one.
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
 * The first bucket has what took at most 2^11 ns (2 us), because hardly an SSD is
 * faster; each further one what took at most twice as much; the last one, all that
 * took more than 2^33 ns (8.6 s).
 */
#define CACHE_LATENCY_SHIFT	11
#define CACHE_LATENCY_BUCKETS	24

/* The most nanoseconds that bucket @i has; of the last one there is no such number. */
#define CACHE_LATENCY_LIMIT(i)	(1ULL << (CACHE_LATENCY_SHIFT + (i)))

#endif
