/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of an engine: see cache-build.c.
 */
#ifndef HEARTH_CACHE_BUILD_H
#define HEARTH_CACHE_BUILD_H

#include <linux/types.h>

struct block_device;
struct cache;
struct cache_device_id;
struct cache_table;

/**
 * cache_build() - build an engine for a table, and load it from the disk
 * @t: the table that is being resumed
 * @before: the engine that the metadata device had, suspended; or NULL
 * @tell_tables: raises an event of each table of an engine; see struct cache_life
 * @result: receives the engine, with one reference, quiescing and in no list
 *
 * Context: process, sleeps, does I/O; takes settings.lock and md.lock.
 *
 * Return: 0, -ENOMEM, or an error of cache_load().
 */
int cache_build(struct cache_table *t, struct cache *before,
		void (*tell_tables)(struct cache *c), struct cache **result);

/**
 * cache_free() - free an engine and all that cache_build() has made
 * @c: an engine that is in no list and whose last reference is gone
 *
 * Context: process, sleeps.
 */
void cache_free(struct cache *c);

/**
 * cache_set_devices() - an engine gets the devices, the length and the mode of a table
 * @c: the engine, suspended
 * @t: the table that is being resumed
 *
 * Context: process.
 */
void cache_set_devices(struct cache *c, struct cache_table *t);

/**
 * cache_is_device() - whether an open device is the one that an id was taken of
 * @id: the id
 * @bdev: the device
 *
 * Context: any.
 *
 * Return: true if it is.
 */
bool cache_is_device(const struct cache_device_id *id,
		     struct block_device *bdev);

/**
 * cache_tick_starts() - have the tick run a second from now, and each second after that
 * @c: the engine; once it is quiescing, the next tick is the last
 *
 * Context: any.
 */
void cache_tick_starts(struct cache *c);

#endif
