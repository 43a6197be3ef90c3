/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hits that caches of several sizes would have had with a trace.  A sample of
 * its blocks goes through hearth's own policy, in caches that are smaller by the
 * same factor (SHARDS, Waldspurger et al., FAST 2015, and their miniature
 * simulation, ATC 2017).
 */
#ifndef HEARTH_PLUGIN_CURVE_H
#define HEARTH_PLUGIN_CURVE_H

#include "trace.h"

struct sampled {
	struct accesses part;	/* reads have source 0, writes 1 */
	double rate;		/* share of all blocks that the sample has */
	double expected[2];	/* accesses that such a share would have */
};

/*
 * Chooses about @enough blocks, by a hash of their number; all, if there are no
 * more than that.  sampled_free() frees what is allocated.
 */
void sample_blocks(struct sampled *s, const struct accesses *all, u32 enough);
void sampled_free(struct sampled *s);

struct point {
	double hits, read_hits;		/* shares */
	double time_saved;		/* share of the disk's time; run.h */
	double ssd_per_user;		/* bytes to the SSD for each byte */
};

/*
 * Simulates a cache that could hold @blocks blocks, if the sample were everything.
 * 0, or -1 after a message.
 */
int curve_point(const struct sampled *s, const char *policy, double blocks,
		bool rotational, struct point *p);

#endif
