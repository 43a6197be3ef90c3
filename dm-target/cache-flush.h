/* SPDX-License-Identifier: GPL-2.0-only */
/* Flushes of the origin and of the cache device: see cache-flush.c. */
#ifndef HEARTH_CACHE_FLUSH_H
#define HEARTH_CACHE_FLUSH_H

#include <linux/bits.h>

#include "../slots/cache-written.h"

struct cache;

/* Which devices: bits. */
#define FLUSH_ORIGIN	BIT(0)
#define FLUSH_FAST	BIT(1)
#define FLUSH_BOTH	(FLUSH_ORIGIN | FLUSH_FAST)

/*
 * Which device has something to flush for users?  Only their own writes count.  A copy of
 * the engine does not, because the commit that relies on it flushes the device (I1, I2).
 */
struct cache_flushes {
	struct cache_written fast;
	struct cache_written origin;
};

/**
 * cache_flushes_of() - what is kept of a device
 * @flushes: flushes of the engine
 * @fast: is it the cache device, or the origin?
 */
static inline struct cache_written *cache_flushes_of(struct cache_flushes *flushes, bool fast)
{
	return fast ? &flushes->fast : &flushes->origin;
}

/**
 * cache_flushes_init() - nothing is known of the devices
 * @flushes: flushes of the engine
 */
void cache_flushes_init(struct cache_flushes *flushes);

/**
 * cache_flushes_forget() - both devices may have something to flush
 * @flushes: flushes of the engine
 *
 * Context: any, never sleeps.
 */
void cache_flushes_forget(struct cache_flushes *flushes);

/**
 * cache_unflushed() - the devices that could not flush, and so have lost something
 * @c: the engine
 *
 * Context: any, never sleeps.
 *
 * Return: FLUSH_* of those that failed since the engine was built.
 */
unsigned int cache_unflushed(const struct cache *c);

/**
 * cache_flush_needed() - does a user's flush have to go to a device?
 * @c: the engine
 * @fast: is it the cache device, or the origin?
 *
 * Context: any, never sleeps.
 *
 * Return: false if all writes that have ended are durable there.  True also if the device
 * could not flush, because then every later flush fails, too.
 */
bool cache_flush_needed(struct cache *c, bool fast);

/**
 * cache_flush_some() - flush devices at the same time
 * @c: the engine
 * @devices: FLUSH_*; a device that could not flush once is left out
 *
 * cache_unflushed() is the result.
 *
 * Context: process, sleeps.
 */
void cache_flush_some(struct cache *c, unsigned int devices);

/**
 * cache_flush_devices() - flush the origin and the cache device, at the same time
 * @c: the engine
 *
 * Context: process, sleeps.
 *
 * Return: 0; -EIO if one of them failed to flush, now or since the engine was built.
 */
int cache_flush_devices(struct cache *c);

/**
 * cache_flush_fast() - flush the cache device
 * @c: the engine
 *
 * Context: process, sleeps.
 *
 * Return: 0; -EIO if it failed to flush, now or since the engine was built.
 */
int cache_flush_fast(struct cache *c);

/**
 * cache_flush_origin() - flush the origin
 * @c: the engine
 *
 * Context: process, sleeps.
 *
 * Return: 0; -EIO if it failed to flush, now or since the engine was built.
 */
int cache_flush_origin(struct cache *c);

#endif
