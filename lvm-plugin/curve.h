/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hits that caches of several sizes would have had with a trace.  A sample of its
 * blocks goes through hearth's own policy, in caches that are smaller by the same factor
 * (SHARDS, Waldspurger et al., FAST 2015, and their miniature simulation, ATC 2017).
 *
 * It must not know devices, or caches that run.
 */
#ifndef HEARTH_PLUGIN_CURVE_H
#define HEARTH_PLUGIN_CURVE_H

#include "trace.h"

struct sampled {
	struct accesses part;	/* the accesses to the sample: reads have source 0, writes 1 */
	double rate;		/* share of the blocks that the sample should have, 0 to 1 */
	double expected[2];	/* that share of all accesses, by source */
};

/**
 * sample_blocks() - choose some blocks of a trace, by a hash of their number
 * @s: receives the accesses to them; sampled_free() frees them
 * @all: the accesses to all blocks
 * @enough: about so many blocks are chosen, 1 or more; if the trace has no more blocks, all are
 *
 * The same blocks are chosen each time. Aborts without memory.
 */
void sample_blocks(struct sampled *s, const struct accesses *all, u32 enough);

/**
 * sampled_free() - free what sample_blocks() made
 * @s: the sample
 */
void sampled_free(struct sampled *s);

struct point {
	double hits, read_hits;		/* shares, 0 to 1 */
	double time_saved;		/* share of the disk's time, as run.h counts it */
	double ssd_per_user;		/* bytes written to the SSD for each byte of the requests */
};

/**
 * curve_point() - simulate a cache of one size
 * @s: the sample
 * @policy: the name of one of hearth's policies, or LRU for plain LRU
 * @blocks: how many blocks the cache holds; the simulated cache holds the sample's share of them
 * @rotational: the origin is a rotating disk
 * @p: receives the result
 *
 * Return: 0; -1, without a complaint, if there is no such policy, or no memory for it.
 */
int curve_point(const struct sampled *s, const char *policy, double blocks,
		bool rotational, struct point *p);

#endif
