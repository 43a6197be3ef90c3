/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which bucket of a histogram of times a request counts in, for the kernel and for
 * tests in user space.
 */
#ifndef HEARTH_CACHE_BUCKET_H
#define HEARTH_CACHE_BUCKET_H

#include "../os/os.h"
#include "cache-latency.h"

/**
 * cache_latency_bucket() - the bucket of a histogram that a request counts in
 * @ns: the time that the request took, in nanoseconds
 *
 * Context: any.
 */
static inline unsigned int cache_latency_bucket(u64 ns)
{
	unsigned int i;

	if (ns <= CACHE_LATENCY_LIMIT(0))
		return 0;
	i = ilog2(ns - 1) + 1 - CACHE_LATENCY_SHIFT;
	return i < CACHE_LATENCY_BUCKETS ? i : CACHE_LATENCY_BUCKETS - 1;
}

#endif
