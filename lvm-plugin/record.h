/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of a cache over a day and longer, added up over restarts and
 * activations, where the target's and the kernel's own counters begin at zero.
 */
#ifndef HEARTH_PLUGIN_RECORD_H
#define HEARTH_PLUGIN_RECORD_H

#include "cache-info.h"
#include "history.h"

/* The counters at one moment, as they grew since the record began. */
struct sums {
	double when;		/* seconds since 1970 */
	uint64_t used, dirty;	/* blocks, then */
	uint64_t count[NR_COUNTERS];
};

struct record {
	double began;		/* seconds since 1970; tells it from another record */
	struct sums *sums;	/* oldest first; the last one is of now */
	unsigned int nr;
};

/**
 * record_keep() - add the present counters of @c to its record
 *
 * Does nothing if the last ones are younger than five minutes, or if the counters of
 * @c are not known.  Prints nothing; without a directory to write to, nothing is kept.
 */
void record_keep(const struct cache_info *c);

/**
 * record_read() - read the record of @c, and add the present counters to what was read
 *
 * Return: false if there is none.  The caller calls record_free().
 */
bool record_read(struct record *r, const struct cache_info *c);
void record_free(struct record *r);

/* As history_window(), of the record. */
struct window record_window(const struct record *r, double seconds);
/* By how much the counters grew from @from to the last sums. */
struct window record_since(const struct record *r, const struct sums *from);

#endif
