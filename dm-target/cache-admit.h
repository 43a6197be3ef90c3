/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Admission, see cache-admit.c.  Every function here may be called in any
 * context and never sleeps.
 */
#ifndef HEARTH_CACHE_ADMIT_H
#define HEARTH_CACHE_ADMIT_H

#include <linux/bio.h>
#include <linux/spinlock.h>

#include "cache-policy.h"

struct cache;
struct cache_bio;

/* The budget that promotions spend. */
struct throttle {
	spinlock_t lock;	/* guards the rest */
	u64 filled;		/* ns: when the accounts were last filled */
	s64 bytes;
	s64 busy_ns;
	unsigned int writing;	/* promotions' writes in flight */
	u64 writing_since;
};

enum throttle_answer {
	THROTTLE_OK,
	THROTTLE_RATE,
	THROTTLE_SHARE,
};

struct cache_admit {
	atomic_t migrating_sectors;	/* promotions by writes, write-backs */
	atomic_t reading_sectors;	/* promotions by reads, and ahead of them */
	struct throttle throttle;
};

/* Start the budget, for a new engine. */
void cache_admit_init(struct cache *c);

/*
 * Judge the miss of @bio, once per bio; the answer is cb->verdict.  A bio that
 * may not be promoted has been counted with the reason.
 */
void cache_admit_miss(struct cache *c, struct bio *bio, struct cache_bio *cb);
/* May an admitted promotion begin now, for a @reader or for a writer? */
bool cache_admit_begin(struct cache *c, bool reader);
/* Its write to the origin has ended: is the promotion still wanted? */
bool cache_admit_stands(struct cache *c);
/* May a block come in ahead of any request for it? */
bool cache_admit_ahead(struct cache *c);
/*
 * A free slot for a block that comes in because of @why, or SLOT_NONE, which is
 * counted.  The eviction is kicked when few are left.
 */
u32 cache_admit_slot(struct cache *c, enum cache_verdict why);
/* Count a promotion that gave way to a write or a discard. */
void cache_admit_raced(struct cache *c, enum cache_verdict why);

/* A promotion's write to the cache device is in flight, for the budget. */
void cache_admit_write_begins(struct cache *c);
void cache_admit_write_ends(struct cache *c);

#endif
