/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run of a model over a trace, and the account of it.
 *
 * A request that touches k blocks counts k accesses.  The origin is a disk that
 * takes 8 ms for an access that continues no stream, and 150 MB/s for the
 * bytes.  A promotion by a read reads the whole block in place of the part.  A
 * promotion by a write to part of a block costs a read of the block apart from
 * any stream ("fetch"), or nothing where the cache can keep a block that is
 * valid in part ("partial").  What is promoted behind a block costs its bytes.
 * Write-back is not charged.
 */
#ifndef HEARTH_SIMULATOR_RUN_H
#define HEARTH_SIMULATOR_RUN_H

#include "model.h"

struct account {
	u64 accesses, hits;
	u64 ns_accesses, ns_hits;	/* continuing no stream */
	u64 fills;
	u64 user_bytes, ssd_bytes;	/* written to the SSD */
	double plain_s;			/* origin's time without a cache */
	double fetch_s, partial_s;	/* with one */
};

struct figures {
	double hit_ratio, ns_hit_ratio, fills, fetch_saved, partial_saved,
	       ssd_per_user;
};

/* @acc has room for each source; @progress is called now and then, or NULL. */
void run(struct model *m, struct account *acc,
	 void (*progress)(double done));
void account_add(struct account *to, const struct account *from);
struct figures account_figures(const struct account *acc);

#endif
