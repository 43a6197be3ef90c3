/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a bio that was no hit, see cache-end.c. */
#ifndef HEARTH_CACHE_END_H
#define HEARTH_CACHE_END_H

#include <linux/blk_types.h>

struct bio;
struct cache;
struct cache_bio;

/**
 * cache_end_no_hit() - the end of a remapped bio of any kind but a pinned one
 * @c: the engine
 * @bio: the bio
 * @cb: the engine's part of the bio
 * @error: in: the device's error, or 0; out: the error that the bio ends with
 *
 * Not inline, because hits would have to compare their kind with all others.
 *
 * Context: any, never sleeps.
 *
 * Return: DM_ENDIO_DONE: the bio ends.  DM_ENDIO_INCOMPLETE: the engine goes on with
 * it, and ends it later.
 */
int cache_end_no_hit(struct cache *c, struct bio *bio, struct cache_bio *cb,
		     blk_status_t *error);

#endif
