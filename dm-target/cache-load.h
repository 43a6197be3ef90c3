/* SPDX-License-Identifier: GPL-2.0-only */
/* From the disk to the engine and back, see cache-load.c. */
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
	struct mutex lock;		/* guards cmd and the metadata it stands for */
	struct cmd *cmd;
	struct pd_device *pd;
};

/**
 * cache_load() - fill a new engine from the metadata
 * @c: has its devices, its slot map and its policy; no I/O runs
 * @t: its table; the metadata is made to fit it, and committed
 * @before: the suspended engine, or NULL; if it alone knows of dirty blocks, they
 *	must be there
 *
 * Context: process, sleeps; takes md.lock.
 *
 * Return: 0; -EFBIG if a dirty block does not fit any more; -EILSEQ if the metadata
 * is damaged or lacks a block of @before; -ESTALE if the origin was written without
 * the cache, and blocks are dirty; or another error of the metadata or of the
 * devices.
 */
int cache_load(struct cache *c, struct cache_table *t, struct cache *before);

/**
 * cache_follow_mode() - a suspended engine is to go on under another table
 * @c: the engine, stored and not failed
 * @mode: the mode of the table
 *
 * A power cut may come while it runs in this mode, so what the next load must know
 * of it is made durable.  If that fails, so does the metadata, and the engine then
 * keeps no dirty blocks.  Context: process, sleeps; takes settings.lock and md.lock.
 */
void cache_follow_mode(struct cache *c, enum dm_cache_mode mode);

/**
 * cache_store() - write what is better known after a clean stop than after a power cut
 * @c: suspended, with nothing in flight
 *
 * That is: which blocks are clean, hints, counters.  Context: process, sleeps; takes
 * md.lock.  A failure is logged and worsens the health.
 */
void cache_store(struct cache *c);

#endif
