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
 * @bio: its sector is relative to the target
 *
 * Context: any, also where the submitter must not wait; never sleeps.
 *
 * Return: DM_MAPIO_REMAPPED; or DM_MAPIO_SUBMITTED: the engine ends or submits it.
 */
int cache_map_bio(struct cache *c, struct bio *bio);

/**
 * cache_end_bio() - the end of a bio that was remapped
 * @c: the engine
 * @bio: the bio
 * @error: in: the device's; out: what the bio ends with
 *
 * Context: any, never sleeps.
 *
 * Return: DM_ENDIO_DONE, or DM_ENDIO_INCOMPLETE: it goes on elsewhere.
 */
int cache_end_bio(struct cache *c, struct bio *bio, blk_status_t *error);

/**
 * cache_deferred_work() - go on with deferred bios
 * @work: wait.deferred_work of the engine
 *
 * Context: wq.main; may sleep.
 */
void cache_deferred_work(struct work_struct *work);

#endif
