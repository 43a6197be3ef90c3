/* SPDX-License-Identifier: GPL-2.0-only */
/* The way down when a device fails, see cache-degrade.c. */
#ifndef HEARTH_CACHE_DEGRADE_H
#define HEARTH_CACHE_DEGRADE_H

#include <linux/bio.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "cache-mode.h"
#include "cache-wait.h"

struct cache;

struct cache_degrade {
	/*
	 * A device says only once that it could not flush, and has lost writes
	 * then, so these stay set until the engine is built anew.  Meanwhile no
	 * dirty bit is cleared, because copies that were thought equal may differ.
	 */
	bool fast_flush_failed;
	bool origin_flush_failed;
	bool fast_dead;			/* written under md_lock */
	bool unfenced;			/* written under md_lock */
	bool went_home_unsaid;		/* blocks went home by COMMIT_HOME; stays set */
	bool unchecked;			/* loaded with NEEDS_CHECK; constant afterwards */
	atomic_t fast_errors;		/* of late, halved by the tick */
	unsigned long last_fence;	/* jiffies; tick only */

	spinlock_t held_lock;		/* guards held and nr_suspending */
	struct bio_list held;		/* until the worker has decided */
	u32 nr_suspending;		/* tables */
	struct work_struct work;	/* on commit_wq */
};

/*
 * The metadata could not be changed: @what, with @error.  Under md_lock; may
 * sleep and do I/O.
 */
void cache_metadata_failed(struct cache *c, const char *what, int error);
/*
 * Set the mode that a failed cache has in effect, whatever its table says.  If
 * the cache is well, its mode stays.  Suspended, or under md_lock.
 */
void cache_set_failed_mode(struct cache *c);
/* Count an error of the cache device, as @stat.  Any context. */
void cache_fast_error(struct cache *c, enum cache_stat stat);
/*
 * Keep @bio until it is known how the cache goes on without the device or the
 * metadata that failed; it is then deferred at @step.  Any context.
 */
void cache_hold_bio(struct cache *c, struct bio *bio, enum bio_step step);
/*
 * Between these two calls a table of @c is being suspended: a bio that could wait
 * for ever is failed.  Process context.
 */
void cache_suspend_begins(struct cache *c);
void cache_suspend_ends(struct cache *c);
/*
 * The worker that decides whether the cache is given up, and then releases the
 * held bios.  On commit_wq; takes md_lock.
 */
void cache_degrade_work(struct work_struct *work);
/* Once a second, from the tick. */
void cache_degrade_tick(struct cache *c);
/*
 * The administrator lets writes go on without the cache.  May sleep; takes
 * md_lock.
 */
void cache_set_fail_open(struct cache *c);
/* Was this session's metadata overtaken by the origin?  Process context. */
bool cache_session_distrusted(u64 session);

#endif
