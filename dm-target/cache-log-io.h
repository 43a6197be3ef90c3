/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of the write log.  cache-log.c has its segments, its ring and bios that
 * wait; cache-log-open.c the open segments; cache-log-pace.c writes that wait for room;
 * cache-log-io.c the paths of bios; cache-log-state.c the worker, which turns the log on
 * and off; cache-log-load.c recovery and the stop.  cache-log-home.h is for the files of
 * the log alone.
 */
#ifndef HEARTH_CACHE_LOG_IO_H
#define HEARTH_CACHE_LOG_IO_H

#include "cache-log.h"

struct cache_table;

/* A part of a read that a worker has split off, because the rest lies elsewhere. */
struct log_piece {
	struct cache *c;
	struct bio *whole;	/* the read, which ends after the piece */
	u32 slot;		/* that the piece reads and pins; SLOT_NONE: the origin */
	struct bio bio;		/* last, because its vectors may follow */
};

/* ---- cache-log.c ---- */

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
 * Context: any, never sleeps; takes log.room_lock, map.free_lock, and locks of the
 * index.
 *
 * Return: false if there is no room: the log may not have one more slot, no slot is
 * free, or memory is short.
 */
bool cache_log_take_room(struct cache_log *log, struct log_write *w);

/*
 * ---- cache-log-open.c ----
 *
 * The callers of the first four functions have log.room_lock.
 */

/**
 * cache_log_append() - place a write at the end of the open segment of its share
 * @log: the log
 * @w: the write
 *
 * Context: under log.room_lock; takes locks of the index.
 *
 * Return: false if no segment is open for the share, or if it has no room for the write
 * in one piece.
 */
bool cache_log_append(struct cache_log *log, struct log_write *w);

/**
 * cache_log_append_anywhere() - place a write at the end of any open segment
 * @log: the log
 * @w: the write
 *
 * Context: under log.room_lock; takes locks of the index.
 *
 * Return: false if no open segment has room for the write in one piece.
 */
bool cache_log_append_anywhere(struct cache_log *log, struct log_write *w);

/**
 * cache_log_open_segment() - open a segment for the share of a write, and place the write
 * @log: the log
 * @w: the write
 * @slot: the segment, empty.  The one that was open for the share goes to the list of
 *	full ones.
 *
 * Context: under log.room_lock; takes locks of the index.
 */
void cache_log_open_segment(struct cache_log *log, struct log_write *w, u32 slot);

/**
 * cache_log_retire_open() - put all open segments on the list of full ones
 * @log: the log
 *
 * Context: under log.room_lock.
 */
void cache_log_retire_open(struct cache_log *log);

/**
 * cache_log_init_open() - begin without open segments
 * @log: a new log
 * @most: slots that the log may have on a full cache
 */
void cache_log_init_open(struct cache_log *log, u32 most);

/**
 * cache_log_sort_blocks() - sort numbers of blocks, the lowest first
 * @blocks: the numbers
 * @nr: how many
 *
 * Context: any.
 */
void cache_log_sort_blocks(u64 *blocks, u32 nr);

/* ---- cache-log.c ---- */

/**
 * cache_log_add_segment() - take over a segment that recovery has found
 * @log: the log
 * @slot: FREE, and not on the free list yet; the index has it as a segment
 *
 * Context: no I/O runs.
 */
void cache_log_add_segment(struct cache_log *log, u32 slot);

/*
 * Segments that whole blocks fill are mapped when so many of them wait, or when a second
 * has passed, because then a commit maps many.  Not chosen by measurement.
 */
#define LOG_WHOLE_BATCH	128U

/**
 * cache_log_pop_whole() - take a segment off the list of whole ones
 * @log: the log
 *
 * A write of a whole block was absorbed to it.  Its slot_block() is that block.
 *
 * Context: process, does not sleep; takes log.room_lock.
 *
 * Return: the segment, or SLOT_NONE.
 */
u32 cache_log_pop_whole(struct cache_log *log);

/**
 * cache_log_push_whole() - return a segment to the list of whole ones
 * @log: the log
 * @slot: the segment
 *
 * Context: process, does not sleep; takes log.room_lock.
 */
void cache_log_push_whole(struct cache_log *log, u32 slot);

/**
 * cache_log_push_full() - put a segment on the list of full ones
 * @log: the log
 * @slot: the segment
 *
 * Context: process, does not sleep; takes log.room_lock.
 */
void cache_log_push_full(struct cache_log *log, u32 slot);

/**
 * cache_log_close_open() - put all open segments on the list of full ones
 * @log: the log
 *
 * Context: process, does not sleep; takes log.room_lock.
 */
void cache_log_close_open(struct cache_log *log);

/**
 * cache_log_reap() - give back the slots of all listed segments that hold nothing
 * @log: the log
 *
 * Context: log.work, or a caller while that cannot run; may sleep; takes log.room_lock,
 * locks of the index and map.free_lock, one after the other.
 */
void cache_log_reap(struct cache_log *log);

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
 * cache_log_ring_work() - write one batch of the ring, and end the bios that wait for it
 * @work: ring_work of the log
 *
 * Context: log.wq; sleeps, does I/O; takes log.lock.
 */
void cache_log_ring_work(struct work_struct *work);

/**
 * cache_log_write_ring() - have a batch of the ring written, and wait for its end
 * @log: the log
 *
 * Context: process, sleeps; not on log.wq, because it waits for work there.
 */
void cache_log_write_ring(struct cache_log *log);

/**
 * cache_log_flush() - take a user's flush of the cache device, if need be
 * @c: the engine; has a log
 * @bio: the flush, a BIO_FLUSH
 *
 * Context: any, never sleeps; takes log.lock.
 *
 * Return: false if nothing has to be recorded, or the ring has failed; then the flush
 * goes to the device.  True: the bio ends when all is recorded (W3), with an error if
 * that failed.
 */
bool cache_log_flush(struct cache *c, struct bio *bio);

/**
 * cache_log_add_flush() - have a bio end with the next batch of the ring
 * @log: the log
 * @bio: a BIO_FLUSH; or a BIO_LOGGED, a write with FUA that readers find already
 *
 * Context: any, never sleeps; takes log.lock.
 */
void cache_log_add_flush(struct cache_log *log, struct bio *bio);

/**
 * cache_log_wait_to_leave() - have a write wait until its block has left the log
 * @log: the log
 * @bio: the write; no longer the caller's.  It is mapped again, or ends with
 *	BLK_STS_IOERR if the block cannot leave.
 *
 * Context: any, never sleeps; takes log.lock.
 */
void cache_log_wait_to_leave(struct cache_log *log, struct bio *bio);

/**
 * cache_log_discard() - have a discard wait until the log has nothing of its blocks
 * @c: the engine; has a log
 * @bio: the discard, which has entered the gate
 *
 * Context: process, does not sleep; takes log.lock and locks of the index.
 *
 * Return: true if the log has nothing of its blocks.  False: the bio waits.  It is
 * deferred (STEP_DISCARD) when the extents have left, durably (W6), or cannot leave.
 */
bool cache_log_discard(struct cache *c, struct bio *bio);

/**
 * cache_log_kick() - have log.work look for work
 * @log: the log
 *
 * Context: any, never sleeps.
 */
void cache_log_kick(struct cache_log *log);

/* ---- cache-log-pace.c ---- */

/**
 * cache_log_must_wait() - whether a write has to wait for room or for credit
 * @log: the log
 * @bio: the write
 *
 * It has to if other writes are first.  While writes are paced, it has to if there is
 * no credit; if it need not wait, it has taken its credit.
 *
 * Context: any, never sleeps; takes log.lock if writes are paced.
 */
bool cache_log_must_wait(struct cache_log *log, struct bio *bio);

/**
 * cache_log_wait_for_room() - have a write wait until there may be room
 * @log: the log
 * @bio: the write; no longer the caller's.  It is mapped again when its turn comes.
 *
 * Writes get their turns in the order in which they came.
 *
 * Context: any, never sleeps; takes log.lock.
 */
void cache_log_wait_for_room(struct cache_log *log, struct bio *bio);

/**
 * cache_log_next_turns() - have writes that wait for room try again, in their order
 * @log: the log
 *
 * A round of turns ends before the next one begins, so no write is overtaken.  If a
 * round is under way, nothing happens, and its end kicks log.work.  While writes are
 * paced and @pace_work gives turns, only writes that had a turn in vain try again.
 *
 * Context: process, does not sleep; takes log.lock, then wait.deferred_lock.
 *
 * Return: true if turns were given, now or by @pace_work since the last call.
 */
bool cache_log_next_turns(struct cache_log *log);

/**
 * cache_log_begin_turn() - the worker is about to map a write that has its turn
 * @log: the log
 * @bio: the write; has cb->turn, and loses it
 *
 * Context: the worker of deferred bios.
 */
void cache_log_begin_turn(struct cache_log *log, struct bio *bio);

/**
 * cache_log_end_turn() - the worker has mapped that write, which may have ended
 * @log: the log
 *
 * Context: the worker of deferred bios; takes log.lock.
 */
void cache_log_end_turn(struct cache_log *log);

/**
 * cache_log_end_pace() - stop @pace_work for good
 * @log: the log, or NULL; no write waits for room
 *
 * To be called before the engine's workqueues are destroyed.
 *
 * Context: process, sleeps.
 */
void cache_log_end_pace(struct cache_log *log);

/* ---- cache-log-io.c ---- */

/**
 * cache_log_write() - absorb a write that has found no slot, if it is to be absorbed
 * @c: the engine; has a log
 * @bio: the write, within one block
 * @cb: what is kept with it
 * @r: receives what map() returns (DM_MAPIO_*), if the result is true
 *
 * Context: any, never sleeps; takes log.lock, log.room_lock, map.free_lock and locks of
 * the index.
 *
 * Return: true if the bio goes to the log, or waits for it.  False if it goes on as if
 * there were no log; the block may have got a slot meanwhile.
 */
bool cache_log_write(struct cache *c, struct bio *bio, struct cache_bio *cb,
		     int *r);

/**
 * cache_log_write_whole() - absorb a write of a whole block that is to be promoted
 * @c: the engine; has a log
 * @bio: the write; covers its block
 * @cb: what is kept with it, and the verdict
 *
 * The segment is mapped later as the block's slot, in place.
 *
 * Context: as cache_log_write().
 *
 * Return: true if the bio points at the log, and the caller submits it.  False if
 * nothing has changed.
 */
bool cache_log_write_whole(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_log_read() - serve a read that has found no slot, or a slot in transit
 * @c: the engine; has a log
 * @bio: the read, within one block.  It is cut: either (not @worker) to its first part,
 *	which lies in one piece; or (@worker) to its last one.
 * @cb: what is kept with it
 * @worker: the caller is the worker, and not map().  Then bios of their own read all
 *	parts but the last, and @bio ends after them.
 * @r: receives what map() returns (DM_MAPIO_*), if the result is true
 *
 * Context: any, never sleeps, if not @worker; otherwise it may sleep for memory.  Takes
 * a lock of the index.
 *
 * Return: true if what is left of the bio is in the log, or if the bio has ended with
 * BLK_STS_IOERR for want of memory.  False otherwise.  Then the caller looks for the
 * slot again before the origin is read (W14).
 */
bool cache_log_read(struct cache *c, struct bio *bio, struct cache_bio *cb,
		    bool worker, int *r);

/**
 * cache_log_end_write() - an absorbed write has ended
 * @c: the engine
 * @bio: the write, a BIO_ABSORBED
 * @error: in: the device's error, or 0; out: the writer's
 *
 * Context: any, never sleeps; takes locks of the index, and log.lock for a write with
 * FUA.
 *
 * Return: DM_ENDIO_DONE; DM_ENDIO_INCOMPLETE if the bio ends later, because the ring has
 * to record it, or because the cache device failed and the bio is mapped again.
 */
int cache_log_end_write(struct cache *c, struct bio *bio, blk_status_t *error);

/**
 * cache_log_end_read() - a read of the log has ended
 * @c: the engine
 * @bio: the read, a BIO_LOG_READ; its segment is unpinned
 * @error: the device's error, or 0
 *
 * Context: any, never sleeps; takes wait.buckets[].lock, then wait.deferred_lock, if a
 * bio waits for the segment, which may be a slot by now.
 */
void cache_log_end_read(struct cache *c, struct bio *bio, blk_status_t error);

/* ---- cache-log-state.c ---- */

/**
 * cache_log_work() - turn the log on and off, and have extents leave it
 * @work: work of the log
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
 * Context: log.work, or a caller while that cannot run; sleeps; takes md.lock.
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

/* ---- cache-log-load.c ---- */

/**
 * cache_log_open() - read header and ring, because the metadata has the log's flag
 * @c: an engine that is being brought up; has no log
 * @nr_slots: the slots of the cache device, as the superblock has them
 *
 * Context: process, under md.lock; sleeps, does I/O.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_open(struct cache *c, u32 nr_slots);

/**
 * cache_log_fit() - make the log fit the size of the cache device
 * @c: the engine; cache_log_open() has just opened its log
 * @nr_slots: the slots that the cache device has now
 *
 * To be called before the metadata has the new size.
 *
 * Context: process, under md.lock; sleeps, does I/O.
 *
 * Return: 0; -EFBIG if the cache device is smaller; or an error of the device.  It has
 * logged the error.
 */
int cache_log_fit(struct cache *c, u32 nr_slots);

/**
 * cache_log_nr_blocks() - how many blocks have something in the log
 * @c: the engine; it may have no log
 *
 * Context: any.
 */
u64 cache_log_nr_blocks(const struct cache *c);

/**
 * cache_log_give_up() - forget all that the log has
 * @c: an engine that is being brought up; it may have no log, and has none afterwards
 *
 * The next commit clears the flag.  Without the flag nothing believes the ring.
 *
 * Context: process, under md.lock; sleeps.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_log_give_up(struct cache *c);

/**
 * cache_log_check_mapping() - does a mapping on the disk agree with the log?
 * @c: an engine that is being brought up; it may have no log
 * @slot: the slot that is mapped
 * @block: its block
 *
 * Context: process, does not sleep; no I/O runs.
 *
 * Return: 0; 1 if the log has some of the block, too, so the mapping counts, as dirty
 * (W5); -EUCLEAN if the log has the slot for anything but this block.
 */
int cache_log_check_mapping(struct cache *c, u32 slot, u64 block);

/**
 * cache_log_leave_mapped() - have blocks that are mapped, too, leave the log (W5)
 * @c: the engine, whose mapping is loaded; it may have no log
 *
 * To be called before any slot goes home or is unmapped.
 *
 * Context: process, under md.lock; sleeps, does I/O.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_leave_mapped(struct cache *c);

/**
 * cache_log_take_slots() - lend the log the slots in which it has extents
 * @c: the engine, whose mapping is loaded and whose free list is not; it may have no log
 *
 * From here on the log counts as dirty. A failure before that could take the cache for
 * clean, and give it up.
 *
 * Context: process; may sleep.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_take_slots(struct cache *c);

/**
 * cache_log_begin() - have the log go on, because the mapping is loaded and committed
 * @c: the engine; it may have no log
 *
 * To be called after cache_log_take_slots() and when the free list is built, but before
 * anything is served.
 *
 * Context: process, not under md.lock; sleeps, does I/O.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_begin(struct cache *c);

/**
 * cache_log_stop() - have the ring record everything, and clear the flag of an empty log
 * @c: the engine, without I/O and workers; it may have no log
 *
 * If the ring has failed, all extents go home instead, however long that takes, because
 * only this engine knows them.
 *
 * Context: process, sleeps, does I/O; takes md.lock.
 */
void cache_log_stop(struct cache *c);

/**
 * cache_log_leave() - send extents home, because the cache is being removed
 * @c: the engine, which was stopped and stored; it may have no log
 *
 * Batches begin for as many seconds as the setting settle_seconds says.  When these are
 * over, up to two batches are still under way (URGENT_RUNS).  The other extents stay in
 * the log, and the kernel log says of how many blocks.  No I/O may run, and no other
 * engine may use the metadata.
 *
 * Context: process, sleeps, does I/O; takes md.lock.
 *
 * Return: true if the log is empty and its flag is cleared, so that the metadata has to
 * be stored again.
 */
bool cache_log_leave(struct cache *c);

#endif
