// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace events of cache-trace.h live here.  It owns their definitions and no
 * other code.  It must not know when an event happens.
 */
#include "cache.h"

/* @began is 0 if the event was off when the move began. */
static u64 cache_trace_usecs(ktime_t began)
{
	return began ? ktime_us_delta(ktime_get(), began) : 0;
}

#define CREATE_TRACE_POINTS
#include "cache-trace.h"
