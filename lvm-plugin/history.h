/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters as they were at earlier times, from which "the last minute" is
 * computed.
 */
#ifndef HEARTH_PLUGIN_HISTORY_H
#define HEARTH_PLUGIN_HISTORY_H

#include "cache-info.h"

struct sample {
	double when;		/* seconds since boot */
	uint64_t count[NR_COUNTERS];
};

/* By how much the counters grew in a span of time. */
struct window {
	double seconds;		/* 0: not known */
	uint64_t count[NR_COUNTERS];
};

/* history.c keeps 24 fine samples and 90 coarse ones. */
#define MAX_SAMPLES	128

struct history {
	struct sample samples[MAX_SAMPLES];	/* oldest first */
	unsigned int nr;
};

/*
 * Reads the samples that are kept of @c, adds its present counters, and keeps the
 * result.  Without a file to keep it in, @h holds the present counters alone.
 */
void history_update(struct history *h, const struct cache_info *c);

/*
 * The window from the sample whose age is nearest to @seconds to the newest one.
 * It is not known if no sample is between half and one and a half times as old.
 */
struct window history_window(const struct history *h, double seconds);

/* The counters of @c, at the present time. */
struct sample sample_now(const struct cache_info *c);
/* False if a counter fell, because the cache was loaded anew in between. */
bool sample_difference(const struct sample *from, const struct sample *to,
		       struct window *w);

#endif
