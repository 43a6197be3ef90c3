/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run of a model over a trace, and the account of it. This part owns the
 * model of the disk; it must not know what a model decides by.
 *
 * A request that touches k blocks counts k accesses. The origin is a disk that
 * takes 8 ms for an access that continues no stream, and reads or writes 150
 * MB/s. A promotion by a read reads the whole block in place of the part. A
 * promotion by a write to part of a block costs a read of the block apart from
 * any stream ("fetch"), or nothing where the cache can keep a block that is
 * valid in part ("partial"). A block that is promoted behind another costs its
 * bytes and no seek. Write-back is not charged, the same for all models.
 *
 * With a write log, a block that goes home costs a write, and a block that goes
 * into the cache costs a read of the block, unless the log had all of it. Either
 * is a seek, unless the block adjoins the one before it in the batch. "Partial" is
 * then another thing: the disk's head is where the block is that goes into the
 * cache, so that the read costs its bytes and no seek. A promotion by a write that
 * the log does not take is a fetch in both.
 */
#ifndef HEARTH_SIMULATOR_RUN_H
#define HEARTH_SIMULATOR_RUN_H

#include "model.h"

struct account {
	u64 accesses, hits;
	u64 ns_accesses, ns_hits;	/* accesses, and hits, that continue no stream */
	u64 fills;			/* promotions */
	u64 user_bytes, ssd_bytes;	/* that users read and wrote; written to the SSD */
	double plain_s;			/* the origin's seconds without a cache */
	double fetch_s, partial_s;	/* the origin's seconds with a cache, by the rules above */
};

/**
 * struct figures - what an account comes to
 * @hit_ratio: hits per access
 * @ns_hit_ratio: the same over accesses that continue no stream
 * @fills: promotions per 1000 accesses
 * @fetch_saved: share of the origin's time that is saved ("fetch")
 * @partial_saved: the same where blocks can be valid in part
 * @ssd_per_user: bytes written to the SSD per byte that users read and wrote
 */
struct figures {
	double hit_ratio, ns_hit_ratio, fills, fetch_saved, partial_saved,
	       ssd_per_user;
};

/**
 * run() - show a model all its accesses
 * @m: the model
 * @acc: an account for each source of the trace, which is added to
 * @progress: called now and then with the part that is done, or NULL
 */
void run(struct model *m, struct account *acc,
	 void (*progress)(double done));

/**
 * account_add() - add an account to another
 * @to: the account that grows
 * @from: the account that is added
 */
void account_add(struct account *to, const struct account *from);

/**
 * account_figures() - what an account comes to
 * @acc: the account
 *
 * Return: the figures; a ratio to nothing is 0.
 */
struct figures account_figures(const struct account *acc);

#endif
