/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of an engine: see cache-engine.c.  All functions may sleep.  Device-mapper
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
	struct list_head list;		/* in the list of engines; engines_lock */
	struct list_head tables;	/* tables that run on it; engines_lock */
	bool stopping;			/* its last table is being suspended; engines_lock */
	bool broken;			/* no table may take it over */
	bool quiescing;			/* no background work may begin; racy reads */
	/*
	 * Raises an event of every table in @tables.  The owner of the list sets it
	 * once, because files that must not call that owner's need it.  May sleep,
	 * takes engines_lock.
	 */
	void (*tell_tables)(struct cache *c);
};

/*
 * Says which device it is, also after the device was closed.  A pointer does not say
 * that, because the kernel may give its memory to another device.
 */
struct cache_device_id {
	dev_t dev;
	u64 diskseq;	/* no other disk gets it, as another may get @dev */
	sector_t start;	/* of a partition, because another one may get its @dev */
};

/**
 * cache_device_id_equal() - are two ids of the same device?
 * @a: an id
 * @b: an id
 *
 * Context: any.
 */
static inline bool cache_device_id_equal(const struct cache_device_id *a,
					 const struct cache_device_id *b)
{
	return a->dev == b->dev && a->diskseq == b->diskseq &&
	       a->start == b->start;
}

/*
 * Set while the engine is suspended, constant while I/O runs.  The pointers are those
 * of the last table that was resumed.  When that table is gone, they point to nothing.
 */
struct cache_devices {
	dev_t metadata_dev;		/* engines are found by it; set once */
	dev_t volume;			/* the mapped device, for trace events */
	struct block_device *origin;
	struct block_device *fast;	/* the cache device */
	struct block_device *metadata;
	struct cache_device_id origin_id, fast_id;
};

/*
 * Sizes, as the last table that was resumed gives them.  Set while the engine is
 * suspended, constant while I/O runs.
 */
struct cache_geometry {
	sector_t origin_sectors;	/* of the origin, that the table maps */
	u64 origin_blocks;		/* whole blocks; a short tail is never cached */
	u32 block_sectors;		/* sectors of a block */
	int block_shift;		/* log2 of @block_sectors; -1: no power of 2 */
	int part_shift;			/* log2 of the sectors in a part of a slot */
};

/*
 * The tick: work once a second while the engine runs.  A resume sets @last_io before the
 * first tick.  cache_is_quiet() reads @last_io and @ios_seen.
 */
struct cache_tick {
	struct delayed_work work;	/* on wq.main */
	unsigned long last_io;		/* jiffies of a resume, or a tick with user I/O */
	u64 ios_seen;			/* cache_user_ios() at the last tick */
};

/* Clients for I/O that is no bio of a user.  Built with the engine. */
struct cache_clients {
	struct dm_io_client *io;	/* promotions, comparisons, tries of a device */
	struct dm_kcopyd_client *copier;	/* copies between the devices */
};

/* The workqueues of the engine, except log.recorder.wq.  Built with the engine. */
struct cache_queues {
	/* Deferred bios, promotions, the tick.  Its work waits for no other work. */
	struct workqueue_struct *main;
	/* Eviction, write-back, log.worker.  Its work may wait for that of the others. */
	struct workqueue_struct *bg;
	/* Commits, and decisions after a failure.  Ordered: one work at a time. */
	struct workqueue_struct *commit;
};

/**
 * cache_check_metadata() - whether a resume would accept the metadata
 * @t: a table that is being constructed
 * @why: receives a text that says what is wrong; means nothing if the result is 0
 *
 * Nothing is written.
 *
 * Context: process, sleeps, reads the metadata device; takes engines_lock.
 *
 * Return: 0; -EINVAL if the block sizes differ; or an error of the metadata.
 */
int cache_check_metadata(struct cache_table *t, const char **why);

/**
 * cache_engine_resume() - preresume: find or build the engine for a table
 * @t: the table; after success @t->cache is ready to run
 *
 * May be called again after an error.
 *
 * Context: process, sleeps, does I/O; takes settings.lock, md.lock and engines_lock.
 *
 * Return: 0; -EBUSY if another cache uses the metadata; -EINVAL if the table's mode is
 * passthrough and blocks are dirty; -ENOMEM; or an error of cache_load().
 */
int cache_engine_resume(struct cache_table *t);

/**
 * cache_engine_run() - resume: I/O and background work may begin
 * @c: the engine
 *
 * Context: process, may sleep; takes engines_lock to raise an event.
 */
void cache_engine_run(struct cache *c);

/**
 * cache_engine_quiesce() - presuspend: begin nothing new in the background
 * @t: a table that has its engine
 *
 * If other tables run on the engine, background work goes on.
 *
 * Context: process, sleeps; takes engines_lock.
 */
void cache_engine_quiesce(struct cache_table *t);

/**
 * cache_engine_unquiesce() - presuspend_undo: the suspend is called off
 * @t: the table
 *
 * Context: process, may sleep; takes engines_lock to raise an event.
 */
void cache_engine_unquiesce(struct cache_table *t);

/**
 * cache_engine_suspend() - postsuspend: no user I/O of the table is in flight
 * @t: the table
 *
 * If it is the last table that runs on the engine, the engine stops, and its state is
 * stored.  Errors are logged and worsen the health.
 *
 * Context: process, sleeps, does I/O; takes md.lock and engines_lock.
 */
void cache_engine_suspend(struct cache_table *t);

/**
 * cache_engine_put() - the table goes, and its engine with the last reference
 * @t: the table.  Device-mapper has not suspended it if another of the device's targets
 *	did not resume; then it is suspended here.
 *
 * If the device is being removed, and nobody else has the engine, what the write log
 * has goes home first; see cache_log_leave().
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
 * Return: the engine, which stays until cache_engine_return(); NULL if the table was
 * never resumed.
 */
struct cache *cache_engine_borrow(struct cache_table *t);

/**
 * cache_engine_return() - give back the reference of cache_engine_borrow()
 * @c: the engine; destroyed here if this is the last reference
 *
 * Context: process, sleeps; takes engines_lock to destroy the engine.
 */
void cache_engine_return(struct cache *c);

#endif
