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
	bool fast_dead;			/* written under md.lock */
	bool unfenced;			/* written under md.lock */
	bool went_home_unsaid;		/* blocks went home by COMMIT_HOME; stays set */
	bool unchecked;			/* loaded with NEEDS_CHECK; constant afterwards */
	atomic_t fast_errors;		/* of late, halved by the tick */
	unsigned long last_fence;	/* jiffies; tick only */

	spinlock_t held_lock;		/* guards held and nr_suspending */
	struct bio_list held;		/* until the worker has decided */
	u32 nr_suspending;		/* tables */
	struct work_struct work;	/* on wq.commit */
};

/**
 * cache_may_go_home() - whether a dirty block can go home, and then is not dirty
 * @c: the engine
 *
 * Context: any, never sleeps.
 */
bool cache_may_go_home(struct cache *c);

/**
 * cache_metadata_failed() - the metadata could not be changed
 * @c: the engine; nothing happens if its health is not HEALTH_GOOD
 * @what: what was tried, for the log
 * @error: negative, for the log
 *
 * Context: under md.lock; sleeps, does I/O to the metadata device, takes
 * engines_lock to raise an event.
 */
void cache_metadata_failed(struct cache *c, const char *what, int error);

/**
 * cache_set_failed_mode() - set the mode that a failed cache has in effect
 * @c: the engine; if it is well, its mode stays
 *
 * Whatever the table says.  Context: suspended, or under md.lock.
 */
void cache_set_failed_mode(struct cache *c);

/**
 * cache_fast_error() - count an error of the cache device
 * @c: the engine
 * @stat: the counter
 *
 * Too many of late have the device tried by cache_degrade_work().  Context: any,
 * never sleeps.
 */
void cache_fast_error(struct cache *c, enum cache_stat stat);

/**
 * cache_hold_bio() - keep a bio until it is known how the cache goes on
 * @c: the engine
 * @bio: deferred at @step then; ended with BLK_STS_IOERR if it could wait for ever
 *	while a table is being suspended
 * @step: where it goes on
 *
 * Context: any, never sleeps; takes degrade.held_lock.
 */
void cache_hold_bio(struct cache *c, struct bio *bio, enum bio_step step);

/**
 * cache_suspend_begins() - a table is being suspended
 * @c: its engine
 *
 * Until cache_suspend_ends() a bio that could wait for ever is failed.  Context:
 * process, ends bios; takes degrade.held_lock.
 */
void cache_suspend_begins(struct cache *c);

/**
 * cache_suspend_ends() - the table is suspended, or goes on
 * @c: its engine
 *
 * Context: process; takes degrade.held_lock.
 */
void cache_suspend_ends(struct cache *c);

/**
 * cache_degrade_work() - decide whether the cache is given up
 * @work: degrade.work of the engine
 *
 * Then it releases the held bios.  Context: wq.commit; sleeps, does I/O, takes
 * md.lock.
 */
void cache_degrade_work(struct work_struct *work);

/**
 * cache_degrade_tick() - forget old errors, and try the fence again
 * @c: the engine
 *
 * Context: the tick, once a second; does not sleep.
 */
void cache_degrade_tick(struct cache *c);

/**
 * cache_set_fail_open() - the administrator lets writes go on without the cache
 * @c: the engine
 *
 * Context: process, sleeps; takes md.lock.
 */
void cache_set_fail_open(struct cache *c);

/**
 * cache_session_distrusted() - whether the origin has overtaken a session's metadata
 * @session: as the record has it; 0, for none, is never distrusted
 *
 * Context: process; takes distrusted_lock.
 */
bool cache_session_distrusted(u64 session);

#endif
