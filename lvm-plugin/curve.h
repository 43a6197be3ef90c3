/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What caches of several sizes would have done with a trace: a sample of its
 * blocks goes through hearth's own policy, in caches made smaller by the same
 * factor (SHARDS, and Waldspurger's miniature simulation).
 */
#ifndef HEARTH_PLUGIN_CURVE_H
#define HEARTH_PLUGIN_CURVE_H

#include "trace.h"

struct sampled {
	struct accesses part;	/* reads have source 0, writes 1 */
	double rate;		/* share of the blocks that are in it */
	double expected[2];	/* reads and writes that it should hold */
};

/*
 * Choose blocks by a hash of their number: all, if there are no more than
 * @enough of them, else about so many.
 */
void sample_blocks(struct sampled *s, const struct accesses *all, u32 enough);
void sampled_free(struct sampled *s);

struct point {
	double hits, read_hits;		/* shares */
	double time_saved;		/* share of the disk's time; run.h */
	double ssd_per_user;		/* bytes */
};

/* A cache of @blocks blocks of the whole.  0, or -1 with a message. */
int curve_point(const struct sampled *s, const char *policy, double blocks,
		bool rotational, struct point *p);

#endif
