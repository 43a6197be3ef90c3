/* SPDX-License-Identifier: GPL-2.0-only */
/* The path of a bio, see cache-io.c. */
#ifndef HEARTH_CACHE_IO_H
#define HEARTH_CACHE_IO_H

#include <linux/bio.h>
#include <linux/workqueue.h>

struct cache;

/*
 * Map a bio, whose sector is relative to the target.  Returns DM_MAPIO_REMAPPED
 * or DM_MAPIO_SUBMITTED: the engine ends or submits it later.  Any context, also
 * where the submitter must not wait; never sleeps.
 */
int cache_map_bio(struct cache *c, struct bio *bio);
/*
 * The end of a bio that was remapped, with *@error, which may be changed.
 * Returns DM_ENDIO_DONE or DM_ENDIO_INCOMPLETE: it goes on elsewhere.  Any
 * context.
 */
int cache_end_bio(struct cache *c, struct bio *bio, blk_status_t *error);
/* The worker that goes on with deferred bios; on wq. */
void cache_deferred_work(struct work_struct *work);

#endif
