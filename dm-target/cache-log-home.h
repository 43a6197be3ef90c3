/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extents leave the write log: see cache-log-home.c, and cache-log-move.c for blocks that
 * go into the cache.
 *
 * The log's worker calls all functions, or another caller while the worker cannot run,
 * unless one says otherwise.  They may sleep.
 */
#ifndef HEARTH_CACHE_LOG_HOME_H
#define HEARTH_CACHE_LOG_HOME_H

#include <linux/types.h>

struct cache_log;
struct dm_io_region;
struct log_copy;
struct log_run;
struct work_struct;

/* ---- cache-log.c ---- */

/**
 * cache_log_leave_runs() - have the ring record that runs have left, durably
 * @log: the log
 * @runs: the runs, which log_index_collect() found with its @leaving
 * @nr: the number of runs, at least 1
 *
 * Return: 0: readers do not find the runs any more.  -EIO: the ring has failed.
 */
int cache_log_leave_runs(struct cache_log *log, struct log_run *runs, u32 nr);

/**
 * cache_log_unpin_runs() - give back the pins that log_index_collect() took
 * @log: the log
 * @runs: the runs
 * @nr: the number of runs
 */
void cache_log_unpin_runs(struct cache_log *log, const struct log_run *runs, u32 nr);

/* ---- cache-log-pace.c ---- */

/**
 * cache_log_fullness() - how full the log is: its room, its ring, or its memory
 * @log: the log
 *
 * Context: any, never sleeps.
 *
 * Return: percent of the fullest of the three; may be more than 100.
 */
u32 cache_log_fullness(struct cache_log *log);

/**
 * cache_log_set_pace() - decide whether writes are paced
 * @log: the log
 * @fullness: what cache_log_fullness() returned, in percent
 * @goes_home: extents can go home now
 *
 * Writes are paced while the log is nearly full and extents can go home.
 *
 * Context: process, does not sleep; takes log.lock.
 */
void cache_log_set_pace(struct cache_log *log, u32 fullness, bool goes_home);

/**
 * cache_log_went_home() - have a copy to the origin earn credit for the writes that wait
 * @log: the log
 * @sectors: the sectors that were copied
 *
 * Context: any, never sleeps; takes log.lock if writes are paced.
 */
void cache_log_went_home(struct cache_log *log, u32 sectors);

/**
 * cache_log_pace_work() - hand out some of the credit that copies have earned
 * @work: pace_work of the log
 *
 * Context: wq.bg, does not sleep; takes log.lock, then wait.deferred_lock.
 */
void cache_log_pace_work(struct work_struct *work);

/**
 * cache_log_has_waiters() - whether writes or discards wait for extents to leave
 * @log: the log
 *
 * Context: any, never sleeps; racy.
 */
bool cache_log_has_waiters(struct cache_log *log);

/**
 * cache_log_is_pressed() - whether a write or a discard that waits must not wait long
 * @log: the log
 *
 * Then batches are small, because these end its wait sooner.
 *
 * Context: any, never sleeps; racy.
 */
bool cache_log_is_pressed(struct cache_log *log);

/**
 * cache_log_give_up_on_room() - end the wait for room, because none comes for seconds
 * @log: the log
 *
 * A write that had its turn in vain goes to the origin.  If the log has some of its
 * block, it ends with BLK_STS_IOERR.
 */
void cache_log_give_up_on_room(struct cache_log *log);

/* ---- cache-log-move.c ---- */

/**
 * cache_log_copy_run() - wait for room to copy, and begin to copy a run
 * @log: the log
 * @run: the run
 * @to: the device to copy to: the cache device or the origin
 * @block: the slot (if @to is the cache device) or the block to copy to
 * @copy: the caller has set copy->move and copy->batch; copy->failed is the result
 *
 * @copy must stay until the copy has ended.  cache_log_wait_for_copies() waits for that.
 * If copy->batch is set, batch->nr_copying counts it.
 */
void cache_log_copy_run(struct cache_log *log, const struct log_run *run,
			struct block_device *to, u64 block, struct log_copy *copy);

/**
 * cache_log_wait_for_copies() - wait until all copies that were begun have ended
 * @log: the log
 */
void cache_log_wait_for_copies(struct cache_log *log);

/**
 * cache_log_begin_move() - have a block go into the cache, if it is wanted there and can
 * @log: the log; fewer than LOG_NR_COPIED moves are under way
 * @block: the block
 *
 * Return: true: the block is on its way.  It stays in the log until
 * cache_log_end_moves(), and the caller must not take it out meanwhile.  False: the
 * block may go home.
 */
bool cache_log_begin_move(struct cache_log *log, u64 block);

/**
 * cache_log_begin_whole() - have segments that a whole block fills become slots, in place
 * @log: the log
 *
 * Return: whether any moves are under way.
 */
bool cache_log_begin_whole(struct cache_log *log);

/**
 * cache_log_awaits_mapping() - whether cache_log_begin_whole() is to take a block
 * @log: the log
 * @block: the block
 *
 * Return: true: the block must not go home now, because it goes home from its slot
 * later, and the cache still has it then.
 */
bool cache_log_awaits_mapping(struct cache_log *log, u64 block);

/**
 * cache_log_end_moves() - end all moves: each block is in the cache, or stays in the log
 * @log: the log; log->runs and log->copies are not in use
 *
 * Return: how many blocks have left the log for the cache.
 */
u32 cache_log_end_moves(struct cache_log *log);

/**
 * cache_log_is_moved() - whether a block was mapped, but could not leave the log
 * @log: the log, whose ring has failed
 * @block: the block
 *
 * Return: true if the block has a slot, which holds all of it.
 */
bool cache_log_is_moved(struct cache_log *log, u64 block);

/**
 * cache_log_release_moved() - let blocks go that were mapped, but could not leave the log
 * @log: the log, whose ring has failed
 *
 * When the log's flag is cleared, such a block may be unmapped.  Until then, bios that
 * would wait for that fail while nothing goes home.
 */
void cache_log_release_moved(struct cache_log *log);

/* ---- cache-log-home.c ---- */

/**
 * cache_log_home_is_wanted() - whether extents are to go home now, and can
 * @log: the log
 *
 * It also decides whether writes are paced.
 */
bool cache_log_home_is_wanted(struct cache_log *log);

/**
 * cache_log_go_home() - have extents go home, while that is wanted
 * @log: the log
 *
 * Return: whether any extents have left the log.
 */
bool cache_log_go_home(struct cache_log *log);

/**
 * cache_log_map_whole() - have segments that a whole block fills become slots, if it is time
 * @log: the log
 *
 * Return: whether any has become a slot.
 */
bool cache_log_map_whole(struct cache_log *log);

/**
 * cache_log_serve_wanted() - have the blocks go into the cache that reads want there
 * @log: the log
 */
void cache_log_serve_wanted(struct cache_log *log);

/**
 * cache_log_empty_block() - have all extents of a block go home
 * @log: the log
 * @block: the block
 *
 * Return: false if some cannot go home now, because the origin has failed, say.
 */
bool cache_log_empty_block(struct cache_log *log, u64 block);

/**
 * cache_log_serve_leavers() - have the blocks go home for which writes wait
 * @log: the log
 *
 * A write is mapped again when its block has left.  If the block cannot leave, the write
 * ends with BLK_STS_IOERR, or goes on waiting.
 */
void cache_log_serve_leavers(struct cache_log *log);

/**
 * cache_log_serve_discards() - have the extents leave that waiting discards cover
 * @log: the log
 *
 * Each discard is deferred again: its extents have left, or it is refused.
 */
void cache_log_serve_discards(struct cache_log *log);

/**
 * cache_log_save_failed() - copy all extents home, because the ring has failed
 * @log: the log, whose ring has failed
 *
 * Return: true if the origin has everything, durably, except blocks that the cache has.
 * Then the log's flag may be cleared.
 */
bool cache_log_save_failed(struct cache_log *log);

#endif
