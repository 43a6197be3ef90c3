/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a bio, see cache-end.c. */
#ifndef HEARTH_CACHE_END_H
#define HEARTH_CACHE_END_H

#include <linux/bio.h>

struct cache;

/**
 * cache_end_bio() - the end of a bio that was remapped
 * @c: the engine
 * @bio: the bio
 * @error: in: the device's error, or 0; out: the error that the bio ends with
 *
 * Context: any, never sleeps.
 *
 * Return: DM_ENDIO_DONE: the bio ends.  DM_ENDIO_INCOMPLETE: the engine goes on with
 * it, and ends it later.
 */
int cache_end_bio(struct cache *c, struct bio *bio, blk_status_t *error);

#endif
