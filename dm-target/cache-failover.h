/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio that its device has refused, see cache-failover.c. */
#ifndef HEARTH_CACHE_FAILOVER_H
#define HEARTH_CACHE_FAILOVER_H

#include <linux/bio.h>

struct cache;
struct cache_bio;

/*
 * The first four functions are called at the end of a bio, in any context, and never
 * sleep.  They return what end_io returns.  DM_ENDIO_DONE: the bio ends with *@error.
 * DM_ENDIO_INCOMPLETE: the bio goes on elsewhere.
 */

/**
 * cache_read_elsewhere() - a read of a slot has failed: try the origin
 * @c: the engine
 * @bio: the read, which has dropped its pin
 * @word: the slot's word before the pin was dropped
 * @error: in: the cache device's error; out: the reader's
 *
 * Return: DM_ENDIO_DONE if the slot may have the only copy; or if the bio is
 * read-ahead, or was refused because it must not wait (REQ_NOWAIT).  Otherwise
 * DM_ENDIO_INCOMPLETE.
 */
int cache_read_elsewhere(struct cache *c, struct bio *bio, u32 word,
			 blk_status_t *error);

/**
 * cache_write_elsewhere() - a write to a slot alone has failed: try the origin
 * @c: the engine
 * @bio: the write, which has dropped its pin
 * @error: in: the cache device's error; out: the writer's
 *
 * Return: DM_ENDIO_DONE if the bio was refused because it must not wait (REQ_NOWAIT).
 * Otherwise DM_ENDIO_INCOMPLETE: the block goes home, and then the origin takes the
 * write.
 */
int cache_write_elsewhere(struct cache *c, struct bio *bio,
			  blk_status_t *error);

/**
 * cache_leave_and_write() - as cache_write_elsewhere(), for a bio that may wait
 * @c: the engine
 * @bio: the write, which has dropped its pin
 *
 * Such a bio fails only because of the device, so the error is not looked at.
 *
 * Return: DM_ENDIO_INCOMPLETE.
 */
int cache_leave_and_write(struct cache *c, struct bio *bio);

/**
 * cache_end_flush() - a flush of one of the devices has ended
 * @c: the engine
 * @bio: the flush; dm_bio_get_target_bio_nr() is 0 for the origin, 1 for the cache
 *	device
 * @error: in: the device's error, or 0; out: BLK_STS_IOERR if that device failed to
 *	flush, now or at any time before
 *
 * A flush that the cache device refused is held until cache_degrade_work() has decided
 * whether the cache is given up.
 *
 * Context: takes degrade.held_lock to hold the bio.
 *
 * Return: DM_ENDIO_DONE; DM_ENDIO_INCOMPLETE if the bio is held.
 */
int cache_end_flush(struct cache *c, struct bio *bio, blk_status_t *error);

/* The worker of deferred bios calls the other functions, which may sleep. */

/**
 * cache_drop_block() - unmap a block, so that a bio can use the origin
 * @c: the engine
 * @bio: the bio
 * @cb: what is kept with it; @cb->block is the block
 * @reads: the bio only reads the origin afterwards
 *
 * Return: true if the bio may go to the origin, or end.  So it is when the block has
 * no slot, or the mapping is void.  If @reads, so it is also when the slot is on its
 * way in or out, or when the origin has the same content and the metadata cannot be
 * changed.  False if the bio waits, or has ended with BLK_STS_IOERR because the slot
 * cannot be given up.
 */
bool cache_drop_block(struct cache *c, struct bio *bio, struct cache_bio *cb,
		      bool reads);

/**
 * cache_leave_block() - write a block home, and unmap it
 * @c: the engine
 * @bio: a write that the cache device did not take
 * @cb: what is kept with it; @cb->block is the block, and @cb->tries how often it may
 *	still be written home
 *
 * If no write to the slot was acknowledged since it was clean, the block is only
 * unmapped.
 *
 * Return: true if the bio may be mapped again.  False if the bio waits, or has ended
 * with BLK_STS_IOERR because the block cannot leave the cache.
 */
bool cache_leave_block(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_end_held_flush() - end a flush that the cache device has refused
 * @c: the engine
 * @bio: the flush.  It succeeds if the cache was given up, because the origin has
 *	everything then; otherwise it ends with BLK_STS_IOERR.
 */
void cache_end_held_flush(struct cache *c, struct bio *bio);

#endif
