/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's life, see cache-engine.c.  All functions may sleep; device-mapper
 * serialises the calls for one table.
 */
#ifndef HEARTH_CACHE_ENGINE_H
#define HEARTH_CACHE_ENGINE_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct cache;
struct cache_table;

/* Once a second while the engine runs; the tick's own, but for last_io. */
struct cache_tick {
	struct delayed_work work;	/* on wq */
	unsigned long last_io;		/* jiffies of the last tick with user I/O */
	u64 ios_seen;
};

/*
 * For the constructor: would the metadata be accepted?  Only reads.  Errors of
 * the metadata; *@why says what is wrong.
 */
int cache_check_metadata(struct cache_table *t, const char **why);
/*
 * Preresume: t->cache is the engine for this table, ready to run.  Can be called
 * again after an error.  -EBUSY: the metadata is in use by another cache.
 */
int cache_engine_resume(struct cache_table *t);
/* Resume: I/O and background work may start. */
void cache_engine_run(struct cache *c);
/* Presuspend: start nothing new in the background. */
void cache_engine_quiesce(struct cache_table *t);
/* The suspend is called off. */
void cache_engine_unquiesce(struct cache_table *t);
/* Postsuspend: no user I/O is in flight any more. */
void cache_engine_suspend(struct cache_table *t);
/* The table goes.  Its engine goes with the last reference. */
void cache_engine_put(struct cache_table *t);
/* The table's engine, or NULL; it stays until it is returned.  Any time. */
struct cache *cache_engine_borrow(struct cache_table *t);
void cache_engine_return(struct cache *c);

#endif
