/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters as they were: what "the last minute" is computed from.
 */
#ifndef HEARTH_PLUGIN_HISTORY_H
#define HEARTH_PLUGIN_HISTORY_H

#include "cache-info.h"

struct sample {
	double when;		/* seconds since boot */
	uint64_t count[NR_COUNTERS];
};

/* What happened within a span of time. */
struct window {
	double seconds;		/* 0: not known */
	uint64_t count[NR_COUNTERS];
};

#define MAX_SAMPLES	128

struct history {
	struct sample samples[MAX_SAMPLES];	/* oldest first */
	unsigned int nr;
};

/* Read what is kept of @c, add its present counters, and keep that. */
void history_update(struct history *h, const struct cache_info *c);

/*
 * From the sample that is nearest to @seconds old to the newest.  Not known if
 * none is between a half and one and a half times as old.
 */
struct window history_window(const struct history *h, double seconds);

struct sample sample_now(const struct cache_info *c);
/* False if a counter fell: the cache was loaded anew in between. */
bool sample_difference(const struct sample *from, const struct sample *to,
		       struct window *w);

#endif
