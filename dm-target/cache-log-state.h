/* SPDX-License-Identifier: GPL-2.0-only */
/* The write log is turned on and off, and its worker: see cache-log-state.c. */
#ifndef HEARTH_CACHE_LOG_STATE_H
#define HEARTH_CACHE_LOG_STATE_H

#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct cache;
struct cache_log;
struct log_geometry;
struct slot_range;

/* Changed by log.worker, and by a stop or a removal when that does not run. */
enum cache_log_state {
	CACHE_LOG_OFF,		/* no flag on the disk, no ring, the index is empty */
	CACHE_LOG_ON,		/* the flag is durable, and writes are absorbed (W1) */
	CACHE_LOG_DRAINS,	/* all extents go home; then the flag is cleared */
	CACHE_LOG_UNKNOWN,	/* a commit of the flag failed: it may be set or not */
};

/* How far the log has come.  Read anywhere. */
struct cache_log_life {
	enum cache_log_state state;
	bool failed;		/* the ring cannot be written; stays set (W9) */
	bool all_home;		/* @failed, and the origin has everything */
	bool begun;		/* recovery is over, or there was none */
	bool forgotten;		/* @all_home, and the flag is cleared */
};

/* The place of the ring and its header, which log.geo describes.  log.worker's own. */
struct cache_log_place {
	bool refused;		/* the cache has no place for ring or header */
	bool is_kept;		/* slots are kept for the ring */
	bool has_header;	/* the header was written */
	u32 skipped;		/* slots at the end where the ring could not lie */
	u32 waits;		/* the least of the place's slots in use so far */
	unsigned long until;	/* jiffies: by then one more must become empty */
	unsigned long start_after;	/* jiffies: the log is not turned on before */
};

/*
 * The worker, which turns the log on and off, and has extents leave.  A member that is
 * "log.worker's own" is used by the worker, or by a caller while that cannot run.
 */
struct cache_log_worker {
	wait_queue_head_t wait;	/* the worker waits for copies, commits, the ring */
	struct work_struct work;	/* cache_log_work(), on wq.bg */
	bool serves;		/* users do I/O, or did: set by the first kick */
	bool leaves;		/* the cache is being removed; stays set */
	unsigned long leave_until;	/* jiffies: so long extents go home then */
};

/**
 * cache_log_work() - turn the log on and off, and have extents leave it
 * @work: worker.work of the log
 *
 * Context: wq.bg; sleeps, does I/O, takes md.lock.
 */
void cache_log_work(struct work_struct *work);

/**
 * cache_log_tick() - kick the log, or make one if "absorb" is set and there is none
 * @c: the engine; it may have no log
 *
 * Context: the tick, once a second; may sleep.
 */
void cache_log_tick(struct cache *c);

/**
 * cache_log_clear_flag() - turn an empty log off: clear the flag, give all slots back
 * @log: the log; its state is not OFF
 *
 * Context: log.worker, or a caller while that cannot run; sleeps; takes md.lock.
 *
 * Return: false if the log is not empty, its ring has failed, or the metadata could not
 * be written.
 */
bool cache_log_clear_flag(struct cache_log *log);

/**
 * cache_log_save_at_stop() - send all extents home, because the ring has failed
 * @log: the log; neither its worker nor I/O runs
 *
 * Logs an error if some cannot go home, because they are lost then.
 *
 * Context: process, sleeps, does I/O; takes md.lock.
 */
void cache_log_save_at_stop(struct cache_log *log);

/**
 * cache_log_kept_slots() - the slots of a ring and its headers
 * @geo: the shape of the log
 * @kept: receives SLOT_NR_KEPT ranges, for slot_map_keep()
 *
 * Context: any.
 */
void cache_log_kept_slots(const struct log_geometry *geo,
			  struct slot_range *kept);

#endif
