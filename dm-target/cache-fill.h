/* SPDX-License-Identifier: GPL-2.0-only */
/* Promotions, see cache-fill.c. */
#ifndef HEARTH_CACHE_FILL_H
#define HEARTH_CACHE_FILL_H

#include <linux/bio.h>

#include "cache-policy.h"

struct cache;
struct fill;

/**
 * cache_promote_bio() - promote the block of a bio
 * @c: the engine
 * @bio: a read or a write of a whole block, which has been admitted
 *
 * Context: the worker of deferred bios; may sleep for memory.
 *
 * Return: true: the promotion has the bio, which may have ended.  False: the caller
 * has it, and maps it again (a promotion may have begun).
 */
bool cache_promote_bio(struct cache *c, struct bio *bio);

/**
 * cache_fill_reserve() - prepare a promotion for a write that goes to the origin first
 * @c: the engine
 * @block: the block
 * @why: the verdict that lets it in
 *
 * Context: any, never sleeps.
 *
 * Return: the promotion, for cache_fill_start() or cache_fill_forget(); NULL when
 * there is no room or no memory.
 */
struct fill *cache_fill_reserve(struct cache *c, u64 block,
				enum cache_verdict why);

/**
 * cache_fill_start() - begin it: the write has ended
 * @fill: no longer the caller's
 *
 * Context: any, never sleeps.
 */
void cache_fill_start(struct fill *fill);

/**
 * cache_fill_forget() - give it up
 * @fill: no longer the caller's
 *
 * Context: any, never sleeps.
 */
void cache_fill_forget(struct fill *fill);

/**
 * cache_overwrite_done() - a write that is its own promotion has ended
 * @c: the engine
 * @bio: the write (BIO_OVERWRITE); ends later, with its commit
 * @error: of the cache device
 *
 * Context: any, never sleeps.
 */
void cache_overwrite_done(struct cache *c, struct bio *bio, blk_status_t error);

#endif
