/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log: small writes that miss go to the cache device.  See cache-log.c;
 * docs/write-log.md has the words and the rules W1 to W14.
 *
 * An engine gets a log when it is brought up and its metadata has the log's flag.  It
 * also gets one within a second after "absorb" was set to 1, in a mode that keeps dirty
 * blocks, if a block has LOG_MAX_BLOCK sectors at most.  It has the log until it is
 * destroyed.  A log that was read from the disk goes earlier if the mapping is emptied
 * because the origin is another.
 *
 * Without a log c->log is NULL, and a miss only looks at that pointer.
 */
#ifndef HEARTH_CACHE_LOG_H
#define HEARTH_CACHE_LOG_H

#include <linux/bio.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "cache-log-home.h"
#include "cache-log-io.h"
#include "cache-log-move.h"
#include "cache-log-open.h"
#include "cache-log-pace.h"
#include "cache-log-ring.h"
#include "cache-log-state.h"

struct cache;

/*
 * Percent of the log's room, its ring or its memory.  When one of them is so full, the
 * log begins to go home, and writes are paced.  If it were higher, less room would be
 * left for bursts.  If it were lower, more would go home that is written again soon.  No
 * measurement of the value is recorded.
 */
#define LOG_HIGH_MARK	75U

/*
 * Segments that whole blocks fill are mapped when so many of them wait, or when a second
 * has passed, because then a commit maps many.  Not chosen by measurement.
 */
#define LOG_WHOLE_BATCH	128U

/*
 * The blocks that may wait for log.worker, because reads want them in the cache.  A
 * block that finds no room keeps its mark, and goes into the cache when its turn to go
 * home comes.  Not chosen by measurement.
 */
#define LOG_NR_WANTED	64U

/* The room for writes: the log's segments. */
struct cache_log_room {
	/*
	 * Guards @shares, @full, @whole and @nr_whole.  The index's locks of segments nest
	 * inside, because a write must count in its segment before another writer may
	 * close the segment.
	 */
	spinlock_t lock;
	struct cache_log_shares shares;
	u32 full;		/* list of segments that are not open */
	u32 whole;		/* the same: each had a write of a whole block */
	u32 nr_whole;		/* segments in @whole; read anywhere */
	u32 reaping;		/* as @full, for cache_log_reap() alone */
	atomic_t nr_segments;	/* all segments */
	atomic_t in_flight;	/* writes that were counted in and have not ended */
};

/* Bios that wait; log.pace has the writes that wait for room. */
struct cache_log_waiting {
	/*
	 * Guards this group, log.pace and log.wanted.  Members that are read or written
	 * without it say so.
	 */
	spinlock_t lock;
	struct bio_list flushes;	/* for log.recorder: flushes, writes with FUA */
	struct bio_list joined;	/* flushes that the device served: for the batch's end */
	/* Whether these two are empty is read anywhere. */
	struct bio_list leavers;	/* writes: their block has to leave the log first */
	struct bio_list discards;	/* their blocks have to leave the log first */
};

/* Blocks that reads want in the cache.  Under log.waiting.lock. */
struct cache_log_wanted {
	u64 blocks[LOG_NR_WANTED];
	u32 nr;			/* read anywhere */
};

/*
 * The log of an engine.  Its members are groups; the header of a group's owner declares
 * and explains it.  A write that is absorbed uses life, ix, io, room, and the counts
 * of pace.
 */
struct cache_log {
	struct cache *c;
	struct cache_log_life life;
	struct cache_log_place place;
	struct log_index ix;
	struct log_geometry geo;	/* the shape of the log */
	struct cache_log_device device;
	struct cache_log_io io;

	struct log_ring ring;		/* its batches are log.recorder's own */
	struct cache_log_recorder recorder;
	struct cache_log_room room;

	struct cache_log_waiting waiting;
	struct cache_log_pace pace;
	struct cache_log_wanted wanted;

	struct cache_log_worker worker;
	struct cache_log_home home;
	struct cache_log_copying copying;
	struct cache_log_moves moves;
};

/* ---- The object ---- */

/**
 * cache_log_make() - give an engine a log, empty and OFF
 * @c: the engine; has no log yet
 * @work: cache_log_work(), which this file must not call
 * @pace_work: cache_log_pace_work(), the same
 *
 * Context: process, sleeps; one caller at a time.
 *
 * Return: 0; -ENOMEM; or another error, and then the engine has no log.
 */
int cache_log_make(struct cache *c, work_func_t work, work_func_t pace_work);

/**
 * cache_log_free() - free a log; nothing is written
 * @log: the log, which nobody uses any more; may be NULL
 *
 * Context: process, sleeps.
 */
void cache_log_free(struct cache_log *log);

/**
 * cache_log_kick() - have log.worker look for work
 * @log: the log
 *
 * Context: any, never sleeps.
 */
void cache_log_kick(struct cache_log *log);

/**
 * cache_log_counts() - does the log still say what its blocks contain?
 * @log: the log
 *
 * Context: any, never sleeps.
 *
 * Return: false if its ring failed, all extents were copied home, and the flag is
 * cleared; or if the cache was given up.
 */
bool cache_log_counts(struct cache_log *log);

/**
 * cache_log_has_block() - may some of a block be in the log, or on its way into it?
 * @log: the log
 * @block: the block
 *
 * The caller is about to change the origin, or to promote the block.  It has made that
 * known first, and a full barrier was in between.  An absorber counts its write in, has
 * a full barrier, and then looks for the slot.  So at least one of the two sees the
 * other.
 *
 * Context: any, never sleeps; takes a lock of the index.
 */
bool cache_log_has_block(struct cache_log *log, u64 block);

/**
 * cache_log_backs_off() - whether nothing goes home for some seconds, after errors
 * @log: the log
 *
 * Context: any, never sleeps.
 */
bool cache_log_backs_off(struct cache_log *log);

/**
 * cache_log_none_goes_home() - whether no block of the log can go home
 * @log: the log
 *
 * Context: any, never sleeps.
 */
bool cache_log_none_goes_home(struct cache_log *log);

/**
 * cache_log_is_hopeless() - whether nothing goes home for seconds, or ever
 * @log: the log
 *
 * A write must not wait so long.
 *
 * Context: any, never sleeps.
 */
bool cache_log_is_hopeless(struct cache_log *log);

/**
 * cache_log_is_stuck() - will a block stay in a log whose ring failed?
 * @c: the engine; it may have no log
 * @block: the block
 *
 * So it is if the log cannot go home for seconds, or ever.  Then a bio must not wait
 * until the block's slot, or its extents, leave.
 *
 * Context: any, never sleeps; takes a lock of the index.
 */
bool cache_log_is_stuck(struct cache *c, u64 block);

/* ---- Segments ---- */

/**
 * cache_log_max_runs() - how many extents the memory of the index has room for
 * @c: the engine
 *
 * Context: any.
 *
 * Return: extents that lie alone in their blocks.
 */
u64 cache_log_max_runs(const struct cache *c);

/**
 * cache_log_share() - the slots that the log has, in percent of what it may have
 * @log: the log
 *
 * Context: any, never sleeps.
 *
 * Return: percent, 100 at most.
 */
u32 cache_log_share(struct cache_log *log);

/**
 * cache_log_has_spare() - whether slots are free, and nothing has to go home for room
 * @log: the log
 *
 * Racy: the answer may change at any time.
 *
 * Context: any, never sleeps.
 */
bool cache_log_has_spare(struct cache_log *log);

/**
 * cache_log_take_room() - give a write its place in the log
 * @log: the log
 * @w: the write, which log_index_reserve() has counted in
 *
 * A write of a whole block gets a segment of its own.  Any other goes to the end of
 * the open segment of its share; if no slot can be taken for that share, to the end of
 * any open segment with room.
 *
 * Context: any, never sleeps; takes log.room.lock, map.free_lock, and locks of the
 * index.
 *
 * Return: false if there is no room: the log may not have one more slot, no slot is
 * free, or memory is short.
 */
bool cache_log_take_room(struct cache_log *log, struct log_write *w);

/**
 * cache_log_add_segment() - take over a segment that recovery has found
 * @log: the log
 * @slot: FREE, and not on the free list yet; the index has it as a segment
 *
 * Context: no I/O runs.
 */
void cache_log_add_segment(struct cache_log *log, u32 slot);

/**
 * cache_log_pop_whole() - take a segment off the list of whole ones
 * @log: the log
 *
 * A write of a whole block was absorbed to it.  Its slot_block() is that block.
 *
 * Context: process, does not sleep; takes log.room.lock.
 *
 * Return: the segment, or SLOT_NONE.
 */
u32 cache_log_pop_whole(struct cache_log *log);

/**
 * cache_log_push_whole() - return a segment to the list of whole ones
 * @log: the log
 * @slot: the segment
 *
 * Context: process, does not sleep; takes log.room.lock.
 */
void cache_log_push_whole(struct cache_log *log, u32 slot);

/**
 * cache_log_push_full() - put a segment on the list of full ones
 * @log: the log
 * @slot: the segment
 *
 * Context: process, does not sleep; takes log.room.lock.
 */
void cache_log_push_full(struct cache_log *log, u32 slot);

/**
 * cache_log_close_open() - put all open segments on the list of full ones
 * @log: the log
 *
 * Context: process, does not sleep; takes log.room.lock.
 */
void cache_log_close_open(struct cache_log *log);

/**
 * cache_log_reap() - give back the slots of all listed segments that hold nothing
 * @log: the log
 *
 * Context: log.worker, or a caller while that cannot run; may sleep; takes
 * log.room.lock, locks of the index and map.free_lock, one after the other.
 */
void cache_log_reap(struct cache_log *log);

/* ---- Bios and blocks that wait ---- */

/**
 * cache_log_wait_to_leave() - have a write wait until its block has left the log
 * @log: the log
 * @bio: the write; no longer the caller's.  It is mapped again, or ends with
 *	BLK_STS_IOERR if the block cannot leave.
 *
 * Context: any, never sleeps; takes log.waiting.lock.
 */
void cache_log_wait_to_leave(struct cache_log *log, struct bio *bio);

/**
 * cache_log_want() - a promotion gave way, perhaps because the log has some of the block
 * @c: the engine; it may have no log
 * @block: the block
 *
 * Context: any, never sleeps; takes a lock of the index, then log.waiting.lock.
 *
 * Return: true if the log has some of the block, so the block goes into the cache from
 * there.
 */
bool cache_log_want(struct cache *c, u64 block);

/**
 * cache_log_discard() - have a discard wait until the log has nothing of its blocks
 * @c: the engine; has a log
 * @bio: the discard, which has entered the gate
 *
 * Context: process, does not sleep; takes log.waiting.lock and locks of the index.
 *
 * Return: true if the log has nothing of its blocks.  False: the bio waits.  It is
 * deferred (STEP_DISCARD) when the extents have left, durably (W6), or cannot leave.
 */
bool cache_log_discard(struct cache *c, struct bio *bio);

#endif
