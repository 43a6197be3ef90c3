/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of a cache at earlier times, from which "the last minute" is computed.  It
 * must not know what a counter means.
 */
#ifndef HEARTH_PLUGIN_HISTORY_H
#define HEARTH_PLUGIN_HISTORY_H

#include "cache-info.h"

struct sample {
	double when;		/* seconds since boot */
	uint64_t count[NR_COUNTERS];
};

/* The growth of the counters in a span of time. */
struct window {
	double seconds;		/* the span; 0: not known, and neither is the growth */
	uint64_t count[NR_COUNTERS];
};

/* Enough for the 27 fine samples and 89 coarse ones that history.c keeps at most. */
#define MAX_SAMPLES	128

struct history {
	struct sample samples[MAX_SAMPLES];	/* oldest first */
	unsigned int nr;
};

/**
 * history_update() - add the present counters of a cache to its samples in /run/hearth
 * @h: receives all samples, one at least; the last one is of now
 * @c: the cache, whose dm has its name
 *
 * If /run/hearth cannot be made, @h has the present counters alone. Prints nothing. Dmeventd's
 * plugin calls this, too. If two processes call this at the same time, the sample of one may be
 * lost.
 */
void history_update(struct history *h, const struct cache_info *c);

/**
 * history_window() - the growth of the counters in the last minute, or in another span
 * @h: of history_update()
 * @seconds: the span
 *
 * The window begins with the sample whose age is nearest to @seconds, and ends with the newest.
 *
 * Return: the window; its seconds are 0 if no sample's age is between half of @seconds and one
 * and a half times @seconds.
 */
struct window history_window(const struct history *h, double seconds);

/**
 * sample_now() - the counters of a cache, as they were read, with the present time
 * @c: the cache
 *
 * Return: the sample.
 */
struct sample sample_now(const struct cache_info *c);

/**
 * sample_difference() - the growth of the counters from one sample to another
 * @from: the older sample
 * @to: the newer sample, of the same cache
 * @w: receives the growth, and the seconds between the two
 *
 * Return: true; false if a counter fell, because the cache was loaded anew in between. Then @w
 * has the growth of some counters, and its seconds stay as they are.
 */
bool sample_difference(const struct sample *from, const struct sample *to,
		       struct window *w);

#endif
