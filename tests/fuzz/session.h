/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One life of a cache on an image: the engine's calls to the metadata when a
 * table is loaded and resumed, while the cache runs, and at its end.
 */

#ifndef FUZZ_SESSION_H
#define FUZZ_SESSION_H

#include "image.h"

struct session_stats {
	u64 runs;
	u64 opened;	/* the constructor accepted it */
	u64 resumed;
	u64 sound;	/* the verification found no fault at the start */
};

extern struct session_stats session_stats;

/* Aborts when a rule is broken. */
void session_run(const struct image *im);

#endif
