/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's life, see cache-engine.c.  All functions may sleep; device-mapper
 * serialises the calls for one table.
 */
#ifndef HEARTH_CACHE_ENGINE_H
#define HEARTH_CACHE_ENGINE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct block_device;
struct cache;
struct cache_table;
struct dm_io_client;
struct dm_kcopyd_client;

/* An engine among the others: the tables that have it, and whether it is to work. */
struct cache_life {
	struct kref ref;
	struct list_head list;		/* all engines; guarded by engines_lock */
	struct list_head tables;	/* resumed on it; engines_lock */
	bool stopping;			/* the last of them is going; engines_lock */
	bool broken;			/* not to be taken over by another table */
	bool quiescing;			/* no background work may start; racy reads */
	/*
	 * Raise an event of every table in @tables.  Set once, by the owner of
	 * the list, for the files below it.  May sleep: takes engines_lock.
	 */
	void (*tell_tables)(struct cache *c);
};

/*
 * Which device it is, also after it was closed.  A pointer does not say that: the
 * kernel may give its memory to another device.
 */
struct cache_device_id {
	dev_t dev;
	u64 diskseq;	/* never given to another disk, as a dev_t may be */
	sector_t start;	/* of a partition, because another may get its dev_t */
};

/*
 * Set while suspended, constant while I/O runs.  The pointers are those of the last
 * table, and point to nothing once that is gone.
 */
struct cache_devices {
	dev_t metadata_dev;		/* the engine's key; set once */
	dev_t volume;			/* for trace events */
	struct block_device *origin;
	struct block_device *fast;	/* the cache device */
	struct block_device *metadata;
	struct cache_device_id origin_id, fast_id;
};

/* Sizes, as the last table gives them.  Set while suspended, constant while I/O runs. */
struct cache_geometry {
	sector_t origin_sectors;	/* all that the table maps */
	u64 origin_blocks;		/* whole ones; a short tail is never cached */
	u32 block_sectors;
	int block_shift;		/* log2 of block_sectors, or -1 */
	int part_shift;			/* log2 of the sectors in a part of a slot */
};

/* Once a second while the engine runs; the tick's own, but for last_io. */
struct cache_tick {
	struct delayed_work work;	/* on wq.main */
	unsigned long last_io;		/* jiffies of the last tick with user I/O */
	u64 ios_seen;
};

/* For I/O that is no bio of a user.  Built with the engine. */
struct cache_clients {
	struct dm_io_client *io;
	struct dm_kcopyd_client *copier;
};

/* All work of the engine, but that on log.wq.  Built with the engine. */
struct cache_queues {
	struct workqueue_struct *main;	/* bios and promotions; waits for no other */
	struct workqueue_struct *bg;	/* eviction, write-back: may wait for main */
	/* Commits, and all that decides about a failure. */
	struct workqueue_struct *commit;
};

/**
 * cache_check_metadata() - whether the metadata would be accepted
 * @t: a table that is being constructed
 * @why: receives what is wrong, if something is
 *
 * Reads only.  Context: process, sleeps; takes engines_lock.
 *
 * Return: 0, -EINVAL if the block sizes differ, or an error of the metadata.
 */
int cache_check_metadata(struct cache_table *t, const char **why);

/**
 * cache_engine_resume() - preresume: find or build the engine for a table
 * @t: the table; @t->cache is ready to run afterwards
 *
 * May be called again after an error.  Context: process, sleeps, does I/O; takes
 * md.lock and engines_lock.
 *
 * Return: 0; -EBUSY if another cache uses the metadata; -EINVAL if the mode does not
 * go with dirty blocks; -ENOMEM; or an error of cache_load().
 */
int cache_engine_resume(struct cache_table *t);

/**
 * cache_engine_run() - resume: I/O and background work may start
 * @c: the engine
 */
void cache_engine_run(struct cache *c);

/**
 * cache_engine_quiesce() - presuspend: start nothing new in the background
 * @t: a table that has its engine
 *
 * If other tables run on the engine, background work goes on.  Context: process,
 * sleeps; takes engines_lock.
 */
void cache_engine_quiesce(struct cache_table *t);

/**
 * cache_engine_unquiesce() - the suspend is called off
 * @t: the table
 */
void cache_engine_unquiesce(struct cache_table *t);

/**
 * cache_engine_suspend() - postsuspend: no user I/O of the table is in flight
 * @t: the table
 *
 * The last table stops the engine and has its state stored.  Context: process,
 * sleeps, does I/O; takes md.lock and engines_lock.  Errors are logged and worsen
 * the health.
 */
void cache_engine_suspend(struct cache_table *t);

/**
 * cache_engine_put() - the table goes, and its engine with the last reference
 * @t: the table, suspended; or one that was not, because another of its targets did not
 *	resume, and that is suspended here
 *
 * If nobody else has the engine, its write log is emptied first, for some seconds.
 *
 * Context: process, sleeps, does I/O; takes md.lock and engines_lock.
 */
void cache_engine_put(struct cache_table *t);

/**
 * cache_engine_borrow() - take a reference to a table's engine
 * @t: the table, at any time of its life
 *
 * Context: process, sleeps; takes engines_lock.
 *
 * Return: the engine, which stays until cache_engine_return(); NULL if there is none.
 */
struct cache *cache_engine_borrow(struct cache_table *t);

/**
 * cache_engine_return() - give back what cache_engine_borrow() took
 * @c: the engine; destroyed here if this is the last reference
 *
 * Context: process, sleeps.
 */
void cache_engine_return(struct cache *c);

#endif
