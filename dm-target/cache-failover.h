/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio that its device has refused, see cache-failover.c. */
#ifndef HEARTH_CACHE_FAILOVER_H
#define HEARTH_CACHE_FAILOVER_H

#include <linux/bio.h>

struct cache;
struct cache_bio;

/*
 * For the end of a bio with an error; any context.  Each returns what end_io
 * does: DM_ENDIO_DONE with the error that the bio ends with, or
 * DM_ENDIO_INCOMPLETE, and the bio goes on elsewhere.
 */
/* A read of a slot, whose word was @word before it was unpinned. */
int cache_read_elsewhere(struct cache *c, struct bio *bio, u32 word,
			 blk_status_t *error);
/* A write to a slot of a dirty block, unpinned. */
int cache_write_elsewhere(struct cache *c, struct bio *bio,
			  blk_status_t *error);
/* The same for a bio that may wait: any error is the device's fault. */
int cache_leave_and_write(struct cache *c, struct bio *bio);
/* A flush, which may have succeeded. */
int cache_end_flush(struct cache *c, struct bio *bio, blk_status_t *error);

/* For the worker; may sleep. */
/*
 * Unmap the block that @bio could not use.  True when it is gone (or going,
 * if the bio only @reads the origin then); false when the bio waits, or was
 * ended with an error because what the slot holds cannot be given up.
 */
bool cache_drop_block(struct cache *c, struct bio *bio, struct cache_bio *cb,
		      bool reads);
/*
 * Take home what was acknowledged of the block, and unmap it.  True when the
 * bio may be mapped again; false when it waits or was ended with an error.
 */
bool cache_leave_block(struct cache *c, struct bio *bio, struct cache_bio *cb);
/* End a flush that the cache device has refused: the health now says if it fails. */
void cache_end_held_flush(struct cache *c, struct bio *bio);

#endif
