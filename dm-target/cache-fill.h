/* SPDX-License-Identifier: GPL-2.0-only */
/* Promotions, see cache-fill.c. */
#ifndef HEARTH_CACHE_FILL_H
#define HEARTH_CACHE_FILL_H

#include <linux/bio.h>

#include "cache-policy.h"

struct cache;
struct fill;

/*
 * Promote the block of @bio, which has been admitted.  True: the promotion has
 * the bio, which may have ended.  False: the caller has it, and maps it again
 * (a promotion may have begun).  For the worker; may sleep for memory.
 */
bool cache_promote_bio(struct cache *c, struct bio *bio);

/*
 * For a write that goes to the origin first: a promotion of @block that begins
 * when the write has ended, or NULL when there is no room or no memory.  The
 * caller passes it to one of the next two.  All three: any context.
 */
struct fill *cache_fill_reserve(struct cache *c, u64 block,
				enum cache_verdict why);
void cache_fill_start(struct fill *fill);
void cache_fill_forget(struct fill *fill);

/*
 * A write that is its own promotion (BIO_OVERWRITE) has reached its slot, or has
 * not.  @bio ends later, with its commit.  Any context.
 */
void cache_overwrite_done(struct cache *c, struct bio *bio, blk_status_t error);

#endif
