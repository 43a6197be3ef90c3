/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log: small writes that miss go to the SSD.  See cache-log.c, and
 * docs/write-log.md for its words and the rules W1 to W14.
 *
 * An engine has a log from the moment on when its metadata has the log's flag, or
 * "absorb" is set, until it is destroyed.  Without one, c->log is NULL, and all
 * that a miss pays is the look at that pointer.
 */
#ifndef HEARTH_CACHE_LOG_H
#define HEARTH_CACHE_LOG_H

#include <linux/bio.h>
#include <linux/dm-io.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../write-log/log-ring.h"
#include "cache-slots.h"

struct cache;
struct cache_bio;

/* Kept with a bio that is absorbed. */
struct cache_log_bio {
	struct log_write *write;
	bool fua;		/* it is to be recorded before it ends */
};

/* Changed by log.work, and by a stop when that has ended. */
enum cache_log_state {
	CACHE_LOG_OFF,		/* no flag on the disk, no ring, the index is empty */
	CACHE_LOG_ON,		/* the flag is durable, and writes are absorbed (W1) */
	CACHE_LOG_DRAINS,	/* all goes home; then the flag is cleared */
	CACHE_LOG_UNKNOWN,	/* a commit of the flag failed: it is set, or is not */
};

/*
 * Runs that leave the log with one flush of the origin and one batch of the ring.
 * 48 KiB.  Not chosen by measurement.
 */
#define LOG_HOME_RUNS	2048U
/*
 * Blocks that are sorted at a time, as in write-back: 128 KiB.  Not chosen by
 * measurement.
 */
#define LOG_HOME_BLOCKS	16384U
/* Ends of large writes that are remembered; a power of 2 for the hash. */
#define LOG_NR_LARGE	64U

/* One copy to the origin. */
struct log_copy {
	struct cache_log *log;
	u32 sectors;
	bool failed;
};

struct cache_log {
	struct cache *c;
	enum cache_log_state state;	/* read anywhere */
	bool failed;			/* the ring cannot be written; stays set (W9) */
	bool all_home;			/* it failed, and the origin has everything */
	bool refused;			/* there is no place for a ring in this cache */
	bool has_place;			/* slots are kept for the ring that @geo names */
	unsigned long start_after;	/* jiffies: not turned on before */

	struct log_index ix;
	struct log_geometry geo;
	struct log_dev dev;
	struct dm_io_client *io;
	struct bio_set pieces;		/* parts of a read */

	/* The ring belongs to @ring_work; to others only when that cannot run. */
	struct log_ring ring;
	struct workqueue_struct *wq;	/* ring_work only: waits for devices alone */
	struct work_struct ring_work;
	bool batch_runs;		/* written by ring_work, read anywhere */

	/*
	 * Guards open to full.  The index's locks of segments nest inside, because a
	 * write has to be counted in its segment before another may close that.
	 */
	spinlock_t room_lock;
	u32 open;			/* the segment that is appended to, or SLOT_NONE */
	u32 fill;			/* sectors of it that are taken */
	u32 full;			/* list of segments: nobody appends to them */
	u32 reaping;			/* another such list; log.work's own */
	atomic_t nr_segments;
	atomic_t in_flight;		/* writes that are counted in, and have not ended */

	/* Guards the lists of bios and what counts them. */
	spinlock_t lock;
	struct bio_list flushes;	/* flushes, and writes with FUA: for ring_work */
	struct bio_list room;		/* writes that wait for room, in order */
	struct bio_list again;		/* they have waited, and have had a turn in vain */
	struct bio_list leavers;	/* writes whose block has to leave first */
	struct bio_list discards;	/* whose blocks have to leave first */
	/* These three are read anywhere. */
	u32 nr_room;			/* in @room */
	u32 nr_again;			/* in @again */
	u32 nr_turns;			/* it is their turn: they are with the worker of bios */
	struct bio *turn;		/* the one that the worker of bios maps now, or NULL */

	wait_queue_head_t wait;		/* for copies, and for what leaves */

	/* The worker's own, log.work. */
	struct work_struct work;	/* on bg_wq */
	u64 *blocks;
	struct log_run *runs;
	struct log_copy *copies;
	struct log_departure departure;
	bool departed;
	bool serves;			/* users do I/O, or did: set by the first kick */
	atomic_t copying;		/* sectors */
	bool above_mark;		/* it was too full, and is not empty enough yet */
	unsigned long backoff;		/* jiffies: after errors, nothing goes home before */

	u64 large_ends[LOG_NR_LARGE];	/* sectors; racy */
};

/* ---- For cache-gate.c ---- */

/*
 * May some of the block be in the log, or on its way into it?  The caller, which is
 * about to change the origin or to promote the block, has made that known first, and a
 * full barrier was in between.  An absorber is counted in, a full barrier follows, and
 * it looks for the slot.  Any context.
 */
bool cache_log_has_block(struct cache_log *log, u64 block);

#endif
