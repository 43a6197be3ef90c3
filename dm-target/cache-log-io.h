/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of the write log, for the files around it: cache-log.c has its
 * segments, its ring and the bios that wait; cache-log-io.c the paths of bios;
 * cache-log-state.c its worker, which turns it on and off; cache-log-load.c its way from
 * the disk and its stop.  cache-log-home.h is for these files alone.
 */
#ifndef HEARTH_CACHE_LOG_IO_H
#define HEARTH_CACHE_LOG_IO_H

#include "cache-log.h"

struct cache_table;

/* A part of a read that a worker has split off, because it lies elsewhere. */
struct log_piece {
	struct cache *c;
	struct bio *whole;
	u32 slot;		/* pinned, or SLOT_NONE: the origin's */
	struct bio bio;		/* last, because its vectors may follow */
};

/* ---- cache-log.c ---- */

/**
 * cache_log_make() - give an engine its log, empty and OFF
 * @c: has none yet
 * @work: cache_log_work()
 * @pace_work: cache_log_pace_work()
 *
 * Context: process, sleeps; one caller at a time.  Return: 0 or -ENOMEM.
 */
int cache_log_make(struct cache *c, work_func_t work, work_func_t pace_work);

/**
 * cache_log_free() - free it; nothing is written
 * @log: nobody uses it any more; may be NULL
 *
 * Context: process, sleeps.
 */
void cache_log_free(struct cache_log *log);

/**
 * cache_log_max_runs() - how many live extents the memory of the index is for
 * @c: the engine
 */
u64 cache_log_max_runs(const struct cache *c);

/**
 * cache_log_share() - the slots that the log has, in percent of what it may have
 * @log: the log
 *
 * Context: any.
 */
u32 cache_log_share(struct cache_log *log);

/**
 * cache_log_has_spare() - whether slots are free, and nothing has to go home for room
 * @log: the log
 *
 * Context: any.  Racy.
 */
bool cache_log_has_spare(struct cache_log *log);

/**
 * cache_log_take_room() - place a write at the end of its share's open segment
 * @log: the log
 * @w: counted in
 *
 * Context: any, never sleeps; takes log.room_lock, map.free_lock, and locks of the
 * index.  Return: false if the log may not have one more slot, or there is none.
 */
bool cache_log_take_room(struct cache_log *log, struct log_write *w);

/*
 * cache-log-open.c: the segments that are open.  The caller has log.room_lock.
 *
 * cache_log_append(): false: the write's segment has no room for it in one piece, or none
 * is open for it.  cache_log_append_anywhere(): the same for all that are open.
 * cache_log_open_segment(): @slot takes the write, and others of its share; a segment that
 * was open for them is one like any other from here on.  cache_log_retire_open(): no segment
 * is open any more.  cache_log_init_open(): the log may have @most slots.
 */
bool cache_log_append(struct cache_log *log, struct log_write *w);
bool cache_log_append_anywhere(struct cache_log *log, struct log_write *w);
void cache_log_open_segment(struct cache_log *log, struct log_write *w, u32 slot);
void cache_log_retire_open(struct cache_log *log);
void cache_log_init_open(struct cache_log *log, u32 most);
/* By number.  Any context. */
void cache_log_sort_blocks(u64 *blocks, u32 nr);

/**
 * cache_log_add_segment() - a segment that was found by recovery
 * @log: the log
 * @slot: FREE, and not on the free list yet; is a segment of the index
 *
 * Context: no I/O runs.
 */
void cache_log_add_segment(struct cache_log *log, u32 slot);

/*
 * So many segments with whole blocks wait at least, or a second has passed, before they
 * are mapped: then a commit is for many.  Not chosen by measurement.
 */
#define LOG_WHOLE_BATCH	128U

/**
 * cache_log_pop_whole() - take a segment for which a write of a whole block was absorbed
 * @log: the log
 *
 * Its slot_block() is the block.  Context: process; takes log.room_lock.  Return: the
 * segment, or SLOT_NONE.
 */
u32 cache_log_pop_whole(struct cache_log *log);

/**
 * cache_log_push_whole() - return a segment to the list of whole ones
 * @log: the log
 * @slot: the segment
 *
 * Context: process; takes log.room_lock.
 */
void cache_log_push_whole(struct cache_log *log, u32 slot);

/**
 * cache_log_push_full() - add a segment to the list of ordinary ones
 * @log: the log
 * @slot: the segment
 *
 * Context: process; takes log.room_lock.
 */
void cache_log_push_full(struct cache_log *log, u32 slot);

/**
 * cache_log_close_open() - nobody appends to the open segment any more
 * @log: the log
 *
 * Context: process; takes log.room_lock.
 */
void cache_log_close_open(struct cache_log *log);

/**
 * cache_log_reap() - give back the slots of all segments in which nothing is
 * @log: the log
 *
 * Context: log.work, or when that cannot run; may sleep; takes log.room_lock.
 */
void cache_log_reap(struct cache_log *log);

/**
 * cache_log_backs_off() - whether nothing is tried for some seconds, after errors
 * @log: the log
 *
 * Context: any.
 */
bool cache_log_backs_off(struct cache_log *log);

/**
 * cache_log_none_goes_home() - whether no block can, whichever it is
 * @log: the log
 *
 * Context: any.
 */
bool cache_log_none_goes_home(struct cache_log *log);

/**
 * cache_log_is_hopeless() - whether nothing goes home for seconds, or ever
 * @log: the log
 *
 * A write must not wait so long.  Context: any.
 */
bool cache_log_is_hopeless(struct cache_log *log);

/**
 * cache_log_ring_work() - write one batch of the ring, and end the flushes that wait
 * @work: ring_work of the log
 *
 * Context: log.wq; sleeps.
 */
void cache_log_ring_work(struct work_struct *work);

/**
 * cache_log_write_ring() - have a batch written, and wait for its end
 * @log: the log
 *
 * Context: process, sleeps.
 */
void cache_log_write_ring(struct cache_log *log);

/**
 * cache_log_flush() - a user's flush of the cache device
 * @c: has a log
 * @bio: BIO_FLUSH
 *
 * Context: any, never sleeps; takes log.lock.
 *
 * Return: false if nothing has to be recorded: the flush goes to the device.  True:
 * the bio ends when all is recorded (W3), with an error if that failed.
 */
bool cache_log_flush(struct cache *c, struct bio *bio);

/**
 * cache_log_add_flush() - a bio ends with the next batch
 * @log: the log
 * @bio: BIO_FLUSH, or BIO_LOGGED: a write with FUA that readers find already
 *
 * Context: any, never sleeps; takes log.lock.
 */
void cache_log_add_flush(struct cache_log *log, struct bio *bio);

/**
 * cache_log_wait_to_leave() - a write tries again when its block has left the log
 * @log: the log
 * @bio: not the caller's any more
 *
 * Context: any, never sleeps; takes log.lock.
 */
void cache_log_wait_to_leave(struct cache_log *log, struct bio *bio);

/**
 * cache_log_discard() - before a discard is passed down: is nothing of it in the log?
 * @c: has a log
 * @bio: the discard, registered in the gate
 *
 * Context: process; takes log.lock.
 *
 * Return: true if so.  False: the bio is deferred again (STEP_DISCARD) when what it
 * covers has left, durably (W6).
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
 * cache_log_must_wait() - whether a write has to wait for room, because others are first
 * @log: the log
 * @bio: the write
 *
 * While writes are paced, one that need not wait has taken its credit.  Context: any, never
 * sleeps; may take log.lock.
 */
bool cache_log_must_wait(struct cache_log *log, struct bio *bio);

/**
 * cache_log_wait_for_room() - a write tries again when there may be room
 * @log: the log
 * @bio: not the caller's any more
 *
 * In the order of coming.  Context: any, never sleeps; takes log.lock.
 */
void cache_log_wait_for_room(struct cache_log *log, struct bio *bio);

/**
 * cache_log_next_turns() - have all writes that wait for room try again, in order
 * @log: the log
 *
 * A round of turns ends before the next begins, so none is overtaken.  Context:
 * process; takes log.lock.  Return: were any turns given since the last call, or now?  If
 * a round is under way, its end kicks log.work.
 */
bool cache_log_next_turns(struct cache_log *log);

/**
 * cache_log_begin_turn() - the worker is about to map a bio that had waited for room
 * @log: the log
 * @bio: has cb->turn, and loses it
 *
 * Context: the worker of deferred bios.
 */
void cache_log_begin_turn(struct cache_log *log, struct bio *bio);

/**
 * cache_log_end_turn() - the worker has mapped it; it may have ended
 * @log: the log
 *
 * Context: as cache_log_begin_turn(); takes log.lock.
 */
void cache_log_end_turn(struct cache_log *log);

/**
 * cache_log_end_pace() - no write waits any more, and no copy is under way
 * @log: the log, or NULL
 *
 * Before the engine's workqueues are destroyed.
 */
void cache_log_end_pace(struct cache_log *log);

/* ---- cache-log-io.c ---- */

/**
 * cache_log_write() - a write that has found no slot
 * @c: has a log
 * @bio: within one block
 * @cb: what is kept with it
 * @r: receives DM_MAPIO_*
 *
 * Context: any, never sleeps; takes log.lock, log.room_lock, locks of the index.
 *
 * Return: true: the log has the bio.  False: it goes on as if there were no log; or,
 * if the block has a slot by now, it is looked at again.
 */
bool cache_log_write(struct cache *c, struct bio *bio, struct cache_bio *cb,
		     int *r);

/**
 * cache_log_write_whole() - a write of a whole block that is to be promoted
 * @c: has a log
 * @bio: covers its block
 * @cb: what is kept with it, and the verdict
 *
 * The block is mapped later, where it lies.  Context: as cache_log_write().
 *
 * Return: true: it goes to the log, and is to be submitted.  False: nothing has changed.
 */
bool cache_log_write_whole(struct cache *c, struct bio *bio, struct cache_bio *cb);

/**
 * cache_log_read() - a read that has found no slot, or one in transit
 * @c: has a log
 * @bio: within one block; may be cut to its first part, which lies in one piece
 * @cb: what is kept with it
 * @worker: not in map(): the parts of which all but the last lie elsewhere are read by
 *	bios of their own, for which the caller's ends last
 * @r: receives DM_MAPIO_*
 *
 * Context: any if not @worker, else it may sleep for memory.
 *
 * Return: true: what is left of the bio is in the log, and *@r is set.  False: none
 * of it is.  Then the caller looks for the slot again before the origin is read
 * (W14).
 */
bool cache_log_read(struct cache *c, struct bio *bio, struct cache_bio *cb,
		    bool worker, int *r);

/**
 * cache_log_end_write() - an absorbed write has ended
 * @c: the engine
 * @bio: BIO_ABSORBED
 * @error: in: the device's; out: the writer's
 *
 * Context: any, never sleeps.  Return: DM_ENDIO_*.
 */
int cache_log_end_write(struct cache *c, struct bio *bio, blk_status_t *error);

/**
 * cache_log_end_read() - a read of the log has ended
 * @c: the engine
 * @bio: BIO_LOG_READ
 * @error: the device's
 *
 * Context: any, never sleeps.
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
 * cache_log_tick() - once a second: is there something to do?
 * @c: the engine, which may have no log
 *
 * Context: the tick; sleeps.
 */
void cache_log_tick(struct cache *c);

/**
 * cache_log_clear_flag() - the log is empty: clear the flag, and give all slots back
 * @log: is not OFF; the worker does not run
 *
 * Context: process, sleeps; takes md.lock.  Return: false if it is not empty, or the
 * metadata could not be written.
 */
bool cache_log_clear_flag(struct cache_log *log);

/**
 * cache_log_save_at_stop() - the ring has failed: all goes home now
 * @log: the log; its worker does not run, and no I/O
 *
 * Context: process, sleeps; takes md.lock.
 */
void cache_log_save_at_stop(struct cache_log *log);

/**
 * cache_log_kept_slots() - the slots of a ring and its headers
 * @geo: the ring
 * @kept: receives SLOT_NR_KEPT ranges, for slot_map_keep()
 */
void cache_log_kept_slots(const struct log_geometry *geo,
			  struct slot_range *kept);

/* ---- cache-log-load.c ---- */

/**
 * cache_log_open() - the metadata has the flag: read header and ring
 * @c: an engine that is being brought up; has no log
 * @nr_slots: of the cache device, as the superblock has it
 *
 * Context: process, under md.lock; sleeps, does I/O.  Return: 0 or an error, which it
 * has logged.
 */
int cache_log_open(struct cache *c, u32 nr_slots);

/**
 * cache_log_fit() - the cache device has grown, or the origin has shrunk
 * @c: has a log, just opened
 * @nr_slots: of the cache device, as it is
 *
 * Before the metadata has the new size.  Context and result: as above.
 */
int cache_log_fit(struct cache *c, u32 nr_slots);

/**
 * cache_log_nr_blocks() - blocks of which the log has something
 * @c: the engine; may have no log
 *
 * Context: any.
 */
u64 cache_log_nr_blocks(const struct cache *c);

/**
 * cache_log_give_up() - forget all that the log has
 * @c: an engine that is being brought up; may have no log
 *
 * The next commit clears the flag.  Without it nothing believes the ring.  Context:
 * process, under md.lock; sleeps.  Return: 0 or an error of the metadata.
 */
int cache_log_give_up(struct cache *c);

/**
 * cache_log_check_mapping() - a slot is mapped: does that agree with the log?
 * @c: the engine; may have no log
 * @slot: the slot
 * @block: its block
 *
 * Context: as above.  Return: 0; 1 if the block is in the log, too, and the mapping
 * holds, dirty (W5); -EUCLEAN.
 */
int cache_log_check_mapping(struct cache *c, u32 slot, u64 block);

/**
 * cache_log_leave_mapped() - blocks that are mapped, too, leave the log (W5)
 * @c: the engine, whose mapping is loaded; may have no log
 *
 * Before any slot goes home or is unmapped.  Context and result: as above.
 */
int cache_log_leave_mapped(struct cache *c);

/**
 * cache_log_begin() - the mapping is loaded and committed: the log goes on
 * @c: the engine; may have no log
 *
 * Before the free list is built and anything is served.  Context and result: as above,
 * without md.lock.
 */
int cache_log_begin(struct cache *c);

/**
 * cache_log_stop() - everything is recorded, and an empty log's flag cleared
 * @c: the engine, without I/O and workers; may have no log
 *
 * If the ring has failed, all goes home instead, however long that takes, because nothing
 * but this engine knows it.
 *
 * Context: process, sleeps, takes md.lock.
 */
void cache_log_stop(struct cache *c);

/**
 * cache_log_leave() - the cache is being removed: what the log has goes home
 * @c: the engine, which was stopped and stored; may have no log
 *
 * For as many seconds as the setting settle_seconds says, and up to twice URGENT_RUNS runs more.
 * The rest stays in the log, and the kernel's log says how many blocks that are.  No I/O
 * may run, and no other engine may use the metadata.
 *
 * Context: process, sleeps, does I/O; takes md.lock.  Return: true: the log is empty and
 * its flag is cleared, so the metadata has to be stored again.
 */
bool cache_log_leave(struct cache *c);

#endif
