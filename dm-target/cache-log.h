/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log: small writes that miss go to the SSD.  See cache-log.c, and
 * docs/write-log.md for its words and the rules W1 to W14.
 *
 * An engine has a log from the moment on when its metadata has the log's flag, or
 * "absorb" is set, until it is destroyed, or is brought up with another origin.
 * Without one, c->log is NULL, and all that a miss pays is the look at that pointer.
 */
#ifndef HEARTH_CACHE_LOG_H
#define HEARTH_CACHE_LOG_H

#include <linux/bio.h>
#include <linux/dm-io.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../write-log/log-ring.h"
#include "cache-commit.h"
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

/*
 * Blocks that go into the cache with one commit, and how many of them are copied: 32 blocks
 * of 64 KiB are the room for copies while there are no users.  Neither was chosen by
 * measurement.
 */
#define LOG_NR_MOVES	256U
#define LOG_NR_COPIED	32U
/*
 * Segments that are open at a time, and appends after which the shares of the origin are
 * chosen anew.  In a model of the log 16 did as well as 64.
 */
#define LOG_NR_OPEN	16U
#define LOG_NR_SAMPLED	128U
/* Percent of room, ring or memory: from here on the log goes home, and writes are paced. */
#define LOG_HIGH_MARK	75U
/* Blocks that reads want in the cache, and log.work has not looked at yet. */
#define LOG_NR_WANTED	64U

struct log_move;

/* One copy: from the log to the origin, or for a block that goes into the cache. */
struct log_copy {
	struct cache_log *log;
	struct log_move *move;	/* or NULL */
	struct log_batch *batch;	/* or NULL */
	u32 sectors;
	bool from_fast, to_fast;
	bool failed;
};

/* Runs that go home together, with one flush of the origin (W4). */
struct log_batch {
	struct log_run *runs;	/* LOG_HOME_RUNS */
	struct log_copy *copies;	/* one for each */
	u32 nr;
	u32 nr_begun;		/* copies: the first ones */
	atomic_t nr_copying;	/* of these, have not ended */
};

enum log_move_state {
	LOG_MOVE_COPIES,	/* its slot is FREE, and known to nobody; or a segment */
	LOG_MOVE_PUBLISHED,	/* FILLING: writes wait */
	LOG_MOVE_MAPPED,	/* VALID; pinned until the extents have left (W5) */
	LOG_MOVE_OVER,
};

/* A block on its way into the cache. */
struct log_move {
	struct cache_log *log;
	u64 block;
	u32 slot;
	enum log_move_state state;
	bool failed;		/* something could not be copied: it stays in the log */
	bool slot_failed;	/* because the slot could not be written */
	bool in_place;		/* its slot is a segment, which one extent fills */
	u32 parts;		/* of SLOT_PARTS_MASK: with extents, so not as on the origin */
	ktime_t began;		/* for the trace; 0: the event is off */
	struct commit_op op;
	struct log_copy copy;	/* of the whole block, from the origin */
};

/*
 * A segment that is appended to.  Each takes writes of one share of the origin, because
 * the log goes home in the origin's order, and a segment is free only when all of it has
 * left.
 */
struct log_open {
	u32 slot;		/* or SLOT_NONE */
	u32 fill;		/* sectors of it that are taken */
	u64 first;		/* block: the share begins here; 0 for the first one */
};

/* After an error of the origin, for the whole log; as write-back has it. */
#define LOG_HOME_BACKOFF	(5 * HZ)

struct cache_log {
	struct cache *c;
	enum cache_log_state state;	/* read anywhere */
	bool failed;			/* the ring cannot be written; stays set (W9) */
	bool all_home;			/* it failed, and the origin has everything */
	bool begun;			/* the engine is brought up */
	bool forgotten;			/* and the disk has no log any more; read anywhere */
	bool refused;			/* there is no place for a ring in this cache */
	bool has_place;			/* slots are kept for the ring that @geo names */
	bool has_header;		/* its header was written */
	u32 skipped;			/* slots behind the ring where it could not lie */
	u32 place_waits;		/* of the place's slots, not empty yet: the least so far */
	unsigned long place_until;	/* jiffies: then one of them has to become empty */
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
	 * Guards open to nr_whole.  The index's locks of segments nest inside, because a
	 * write has to be counted in its segment before another may close that.
	 */
	spinlock_t room_lock;
	struct log_open open[LOG_NR_OPEN];	/* in the order of the origin */
	u32 nr_open;			/* that are used: one at least; does not change */
	u64 sampled[LOG_NR_SAMPLED];	/* the blocks of the last appends */
	u32 nr_sampled;			/* since the shares were chosen */
	u32 full;			/* list of segments: nobody appends to them */
	u32 whole;			/* the same, but each had a write of a whole block */
	u32 nr_whole;			/* read anywhere */
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
	u32 earned;			/* by copies: sectors * percent; for @credit */
	s32 credit;			/* sectors that paced writes may take */
	bool gave_turns;		/* @pace_work did, since log.work has looked */
	unsigned long turn_at;		/* jiffies: of the last turn, or of the first wait */
	struct bio *turn;		/* the one that the worker of bios maps now, or NULL */
	u64 wanted[LOG_NR_WANTED];	/* blocks that reads want in the cache */
	u32 nr_wanted;			/* read anywhere */

	struct delayed_work pace_work;	/* on wq.bg: hands out @earned */
	wait_queue_head_t wait;		/* for copies, commits, and what leaves */

	/* The worker's own, log.work. */
	struct work_struct work;	/* on wq.bg */
	u64 *blocks;			/* that were picked to go home, sorted */
	u32 nr_picked;
	u32 next_pick;			/* of @blocks: those before it have had their turn */
	/*
	 * While the copies of one end, the other's run, so that the disk never has only the
	 * last few of a batch.  No block has runs in both.
	 */
	struct log_batch home[2];
	u32 filling;			/* the one of @home that takes runs */
	struct log_run *runs;		/* of all else that takes some: LOG_HOME_RUNS */
	struct log_copy *copies;
	struct log_departure departure;
	bool departed;
	bool serves;			/* users do I/O, or did: set by the first kick */
	atomic_t copying;		/* sectors */
	struct log_move *moves;		/* LOG_NR_MOVES */
	u32 nr_moves;
	bool moves_stay;		/* these are mapped, but a ring that failed keeps them */
	atomic_t committing;		/* of them */
	unsigned long whole_after;	/* jiffies: then even few whole blocks are mapped */
	/* It was too full, and is not empty enough yet; read anywhere. */
	bool above_mark;
	bool paces;			/* writes wait for what goes home; read anywhere */
	bool is_tight;			/* room is needed soon */
	unsigned long backoff;		/* jiffies: after errors, nothing goes home before */
	bool leaves;			/* the cache is being removed; stays set */
	unsigned long leave_until;	/* jiffies: it may take until then */
	u64 home_next;			/* the block with which going home goes on */
	u64 fruitless;			/* runs that were tried since any left */
	u32 pick_from;			/* the bucket of the index where picking begins */
	u64 *unsaved;			/* blocks that a log whose ring failed has to copy */
	u32 nr_unsaved;

	u64 large_ends[LOG_NR_LARGE];	/* sectors; racy */
};

/* ---- For the files below cache-log-io.c ---- */

/*
 * May some of the block be in the log, or on its way into it?  The caller, which is
 * about to change the origin or to promote the block, has made that known first, and a
 * full barrier was in between.  An absorber is counted in, a full barrier follows, and
 * it looks for the slot.  Any context.
 */
bool cache_log_has_block(struct cache_log *log, u64 block);

/*
 * Does the log still say what its blocks contain?  Not after its ring failed, all was
 * copied home, and the disk has forgotten it; nor in a cache that was given up.  Any
 * context.
 */
bool cache_log_counts(struct cache_log *log);

/*
 * Will the block stay in a log whose ring failed, because some of the log cannot go home?
 * Then a bio for which its slot, or its extents, would have to leave must not wait.  Any
 * context; takes a lock of the index.
 */
bool cache_log_is_stuck(struct cache *c, u64 block);

/*
 * A promotion gave way: if that is because the write log has some of the block, then
 * from there the block goes into the cache, and the answer is true.  Any context; takes
 * log.lock, a lock of the index.
 */
bool cache_log_want(struct cache *c, u64 block);

#endif
