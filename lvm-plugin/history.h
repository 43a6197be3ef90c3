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

/**
 * history_update() - add the present counters of a cache to the samples that are kept of it
 * @h: receives all of them, one at least; the last one is of now
 * @c: the cache, whose dm has its name
 *
 * Without a file below /run/hearth to keep them in, @h has the present counters alone.
 * Prints nothing. Dmeventd's plugin calls this, too; two calls at a time may lose a sample.
 */
void history_update(struct history *h, const struct cache_info *c);

/**
 * history_window() - by how much the counters grew of late
 * @h: of history_update()
 * @seconds: how far to look back
 *
 * It begins with the sample whose age is nearest to @seconds.
 *
 * Return: the window to the newest sample; its seconds are 0 if no sample is between half and
 * one and a half times as old.
 */
struct window history_window(const struct history *h, double seconds);

/**
 * sample_now() - the counters of a cache, as it was read, with the present time
 * @c: the cache
 *
 * Return: the sample.
 */
struct sample sample_now(const struct cache_info *c);

/**
 * sample_difference() - by how much the counters grew from one sample to another
 * @from: the older one
 * @to: the newer one, of the same cache
 * @w: receives the growth, and the seconds in between
 *
 * Return: false if a counter fell, because the cache was loaded anew in between; @w is filled
 * in in part then.
 */
bool sample_difference(const struct sample *from, const struct sample *to,
		       struct window *w);

#endif
