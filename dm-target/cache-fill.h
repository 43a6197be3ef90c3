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
 * @bio: a read or a write within one block, which admission has let in; a write only
 *	in a mode that keeps dirty blocks
 *
 * Context: the worker of deferred bios; may sleep for memory.
 *
 * Return: true if the promotion has the bio, which may have ended.  False if the
 * caller still has the bio, and maps it again.  A promotion may have begun all the
 * same: a write of a part of the block then waits for its slot.
 */
bool cache_promote_bio(struct cache *c, struct bio *bio);

/**
 * cache_fill_reserve() - prepare a promotion for a write that goes to the origin first
 * @c: the engine
 * @block: the block
 * @why: the verdict that lets the block in
 *
 * Context: any, never sleeps.
 *
 * Return: the promotion, for cache_fill_start() or cache_fill_forget(); NULL if
 * cache_admit_begin() refuses it, or without memory.
 */
struct fill *cache_fill_reserve(struct cache *c, u64 block,
				enum cache_verdict why);

/**
 * cache_fill_start() - begin a prepared promotion, because the write has ended
 * @fill: the promotion; no longer the caller's
 *
 * Context: any, never sleeps.
 */
void cache_fill_start(struct fill *fill);

/**
 * cache_fill_forget() - give a prepared promotion up, because the write has failed
 * @fill: the promotion; no longer the caller's
 *
 * Context: any, never sleeps.
 */
void cache_fill_forget(struct fill *fill);

/**
 * cache_overwrite_done() - a write that is its own promotion has ended
 * @c: the engine
 * @bio: the write (BIO_OVERWRITE).  It ends when its mapping is committed.  If the cache
 *	device failed, or nothing was committed, it is mapped again, for the origin.
 * @error: how the write to the cache device ended
 *
 * Context: any, never sleeps.
 */
void cache_overwrite_done(struct cache *c, struct bio *bio, blk_status_t error);

#endif
