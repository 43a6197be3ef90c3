/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine gives up more and more as devices fail: see cache-degrade.c. */
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
	 * Set when a device fails to flush.  It may have lost writes then, and says so
	 * only once.  So both stay set until the engine is built anew.  While one is
	 * set, no dirty bit is cleared, because copies that were thought equal may
	 * differ.
	 */
	bool fast_flush_failed;
	bool origin_flush_failed;
	/* The cache device is asked for dirty blocks only.  Written under md.lock. */
	bool fast_dead;
	/* The cache was given up, and the disk still maps blocks.  The same. */
	bool unfenced;
	/* Blocks went home that the disk still calls dirty; stays set. */
	bool went_home_unsaid;
	/*
	 * Loaded from metadata with NEEDS_CHECK for which no engine vouches.  So
	 * nothing goes home.  Constant while I/O runs.
	 */
	bool unchecked;
	atomic_t fast_errors;		/* the cache device's; each tick halves them */
	unsigned long fence_after;	/* in jiffies: the tick tries the fence again */

	spinlock_t held_lock;		/* guards @held and @nr_suspending */
	struct bio_list held;		/* bios that wait for @work to decide */
	u32 nr_suspending;		/* tables that are being suspended */
	struct work_struct work;	/* cache_degrade_work(), on wq.commit */
};

/**
 * cache_may_go_home() - whether dirty blocks may go home, and would be clean then
 * @c: the engine
 *
 * Context: any, never sleeps.
 *
 * Return: false if the cache was given up, if the origin failed to flush, or if the
 * metadata is unchecked.
 */
bool cache_may_go_home(struct cache *c);

/**
 * cache_metadata_failed() - act on a change of the metadata that failed
 * @c: the engine; nothing happens if its health is not HEALTH_GOOD
 * @what: what was tried, for the kernel log
 * @error: a negative errno, for the kernel log
 *
 * If nothing is dirty, the cache is given up.  Otherwise its health becomes
 * HEALTH_READ_ONLY.
 *
 * Context: process, under md.lock; sleeps, does I/O to the metadata device; takes
 * engines_lock to raise an event.
 */
void cache_metadata_failed(struct cache *c, const char *what, int error);

/**
 * cache_set_failed_mode() - set the mode that is in effect in a cache that has failed
 * @c: the engine; if it is well, its mode stays
 *
 * Such a mode keeps no dirty blocks, whatever the table says.
 *
 * Context: any, never sleeps; the engine is suspended, or the caller has md.lock.
 */
void cache_set_failed_mode(struct cache *c);

/**
 * cache_fast_error() - count an error of the cache device
 * @c: the engine
 * @stat: the counter
 *
 * After too many errors in a short time, cache_degrade_work() tries the device.
 *
 * Context: any, never sleeps.
 */
void cache_fast_error(struct cache *c, enum cache_stat stat);

/**
 * cache_hold_bio() - keep a bio until it is known whether the cache is given up
 * @c: the engine
 * @bio: the bio; deferred at @step when that is known
 * @step: where the worker goes on with it
 *
 * While the health is HEALTH_HOLDING, a bio could wait for ever.  So while a table is
 * being suspended, it ends with BLK_STS_IOERR instead, because a suspend waits for it.
 *
 * Context: any, never sleeps; takes degrade.held_lock.
 */
void cache_hold_bio(struct cache *c, struct bio *bio, enum bio_step step);

/**
 * cache_suspend_begins() - a table is being suspended
 * @c: its engine
 *
 * From here to cache_suspend_ends() a bio that could wait for ever ends with
 * BLK_STS_IOERR, also if it is held already.
 *
 * Context: process, does not sleep, ends bios; takes degrade.held_lock.
 */
void cache_suspend_begins(struct cache *c);

/**
 * cache_suspend_ends() - the table is suspended, or its suspend was called off
 * @c: its engine
 *
 * Context: process, does not sleep; takes degrade.held_lock.
 */
void cache_suspend_ends(struct cache *c);

/**
 * cache_degrade_work() - decide whether the cache is given up, or try the fence again
 * @work: degrade.work of the engine
 *
 * Afterwards the held bios go on, unless the health is HEALTH_HOLDING.
 *
 * Context: wq.commit; sleeps, does I/O; takes md.lock, and under it engines_lock.
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
 * Context: process, sleeps; takes md.lock, and under it engines_lock.
 */
void cache_set_fail_open(struct cache *c);

/**
 * cache_session_distrusted() - whether the origin is newer than a session's metadata
 * @session: the session, as the record has it; 0, for none, is never distrusted
 *
 * Context: process, does not sleep; takes distrusted_lock.
 *
 * Return: true if, since this module was loaded, a cache of that session was left
 * without a fence.
 */
bool cache_session_distrusted(u64 session);

#endif
