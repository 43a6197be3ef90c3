/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio that its device has refused, see cache-failover.c. */
#ifndef HEARTH_CACHE_FAILOVER_H
#define HEARTH_CACHE_FAILOVER_H

#include <linux/bio.h>

struct cache;
struct cache_bio;

/*
 * The first four are for the end of a bio.  Context: any, never sleep.  Return: what
 * end_io does: DM_ENDIO_DONE, and the bio ends with *@error; or DM_ENDIO_INCOMPLETE,
 * and the bio goes on elsewhere.
 */

/**
 * cache_read_elsewhere() - a read of a slot has failed
 * @c: the engine
 * @bio: the read, unpinned
 * @word: the slot's word before the pin was dropped
 * @error: in: the device's; out: the reader's
 *
 * Return: DM_ENDIO_DONE if the slot may have the only copy, or the bio was not to
 * wait.
 */
int cache_read_elsewhere(struct cache *c, struct bio *bio, u32 word,
			 blk_status_t *error);

/**
 * cache_write_elsewhere() - a write to the slot of a dirty block has failed
 * @c: the engine
 * @bio: the write, unpinned
 * @error: in: the device's; out: the writer's
 *
 * Return: DM_ENDIO_DONE if the bio was not to wait.
 */
int cache_write_elsewhere(struct cache *c, struct bio *bio,
			  blk_status_t *error);

/**
 * cache_leave_and_write() - the same for a bio that may wait
 * @c: the engine
 * @bio: the write, unpinned
 *
 * Any error is the device's fault.
 *
 * Return: DM_ENDIO_INCOMPLETE.
 */
int cache_leave_and_write(struct cache *c, struct bio *bio);

/**
 * cache_end_flush() - a flush of one of the devices has ended
 * @c: the engine
 * @bio: the flush; its number says which device
 * @error: in: the device's, 0 if it succeeded; out: BLK_STS_IOERR if that device
 *	could not flush, now or ever before
 *
 * Context: takes degrade.held_lock if it was the cache device.
 */
int cache_end_flush(struct cache *c, struct bio *bio, blk_status_t *error);

/* The rest is for the worker of deferred bios, and may sleep. */

/**
 * cache_drop_block() - unmap the block that a bio could not use
 * @c: the engine
 * @bio: the bio
 * @cb: what is kept with it; @cb->block is the block
 * @reads: the bio only reads the origin then
 *
 * Return: true when the block is gone (or going, if @reads); false when the bio waits
 * or was ended with an error, because what the slot holds cannot be given up.
 */
bool cache_drop_block(struct cache *c, struct bio *bio, struct cache_bio *cb,
		      bool reads);

/**
 * cache_leave_block() - take a block home, and unmap it
 * @c: the engine
 * @bio: a write that its slot did not take
 * @cb: what is kept with it; @cb->tries is how often it may still go home
 *
 * Only what was acknowledged goes home.
 *
 * Return: true when the bio may be mapped again; false when it waits or was ended
 * with an error.
 */
bool cache_leave_block(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_end_held_flush() - end a flush that the cache device has refused
 * @c: the engine; its health now says whether the flush fails
 * @bio: the flush
 */
void cache_end_held_flush(struct cache *c, struct bio *bio);

#endif
