/* SPDX-License-Identifier: GPL-2.0-only */
/* The path of a bio, see cache-io.c. */
#ifndef HEARTH_CACHE_IO_H
#define HEARTH_CACHE_IO_H

#include <linux/bio.h>
#include <linux/workqueue.h>

struct cache;

/**
 * cache_map_bio() - map a bio
 * @c: the engine
 * @bio: the bio; its sector counts from the target's beginning
 *
 * Context: any, also where the submitter must not wait; never sleeps.
 *
 * Return: DM_MAPIO_REMAPPED: the caller submits the bio.  DM_MAPIO_SUBMITTED: the
 * engine ends or submits it.
 */
int cache_map_bio(struct cache *c, struct bio *bio);

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

/**
 * cache_deferred_work() - go on with all bios that are deferred now
 * @work: wait.deferred_work of the engine
 *
 * Context: wq.main; may sleep.
 */
void cache_deferred_work(struct work_struct *work);

#endif
