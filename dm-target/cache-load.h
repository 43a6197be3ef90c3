/* SPDX-License-Identifier: GPL-2.0-only */
/* An engine is read from the disk, and stored there: see cache-load.c. */
#ifndef HEARTH_CACHE_LOAD_H
#define HEARTH_CACHE_LOAD_H

#include <linux/mutex.h>

#include "cache-mode.h"

struct cache;
struct cache_table;
struct cmd;
struct pd_device;

/* The metadata that an engine has open.  Both pointers stay until the engine goes. */
struct cache_metadata {
	struct mutex lock;		/* guards the metadata of @cmd */
	struct cmd *cmd;		/* the open metadata (cache-metadata.h) */
	struct pd_device *pd;		/* the metadata device that @cmd is read from */
};

/**
 * cache_load() - fill a new engine from the metadata
 * @c: the engine; has its devices, its slot map and its policy; no I/O runs
 * @t: its table; the metadata is made to fit the table, and committed
 * @before: the engine that was suspended before, or NULL.  If it alone knows of dirty
 *	blocks, the metadata must have them.
 *
 * Context: process, sleeps, does I/O; takes md.lock.
 *
 * Return: 0; -EFBIG if a dirty block or the write log does not fit the devices any
 * more; -EILSEQ if the metadata is damaged or lacks a block of @before; -ESTALE if the
 * origin was written without the cache, and the cache may be newer; or another error
 * of the metadata or of the devices.
 */
int cache_load(struct cache *c, struct cache_table *t, struct cache *before);

/**
 * cache_follow_mode() - a suspended engine is to go on under another table
 * @c: the engine; it was stored, and its health is HEALTH_GOOD
 * @mode: the mode of the table
 *
 * A power cut may come while the engine runs in this mode.  So what the next load must
 * know of the mode becomes durable.  If the commit fails, cache_metadata_failed() has
 * the engine keep no dirty blocks.
 *
 * Context: process, sleeps; takes settings.lock and md.lock.
 */
void cache_follow_mode(struct cache *c, enum dm_cache_mode mode);

/**
 * cache_store() - write what only a clean stop can say
 * @c: the engine; suspended, with nothing in flight
 *
 * That is: which dirty bits were only intents, the hints, and the counters.  A failure
 * is logged and worsens the health.
 *
 * Context: process, sleeps, does I/O; takes md.lock.
 */
void cache_store(struct cache *c);

#endif
