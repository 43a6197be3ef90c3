/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extents leave the write log: see cache-log-home.c, and cache-log-move.c for blocks that
 * go into the cache.  All functions are for the log's worker, or for when it cannot run;
 * they may sleep.
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
 * cache_log_leave_runs() - have the ring record that runs left, durably
 * @log: the log
 * @runs: as log_index_collect() found them, with @leaving; stay until it returns
 * @nr: at least 1
 *
 * Return: 0, and readers do not find them any more; -EIO if the ring failed.
 */
int cache_log_leave_runs(struct cache_log *log, struct log_run *runs, u32 nr);

/**
 * cache_log_unpin_runs() - give back the pins that log_index_collect() took
 * @log: the log
 * @runs: the runs
 * @nr: their number
 */
void cache_log_unpin_runs(struct cache_log *log, const struct log_run *runs, u32 nr);

/* ---- cache-log-pace.c ---- */

/**
 * cache_log_fullness() - how full the log is: its room, its ring, or its memory
 * @log: the log
 *
 * Context: any.  Return: percent; may be more than 100.
 */
u32 cache_log_fullness(struct cache_log *log);

/**
 * cache_log_set_pace() - say whether writes have to wait for what goes home
 * @log: the log
 * @fullness: of it, percent
 * @goes_home: extents can go home now
 */
void cache_log_set_pace(struct cache_log *log, u32 fullness, bool goes_home);

/**
 * cache_log_went_home() - a copy to the origin gives credit to the writes that wait
 * @log: the log
 * @sectors: that were copied
 *
 * Context: any, never sleeps; takes log.lock.
 */
void cache_log_went_home(struct cache_log *log, u32 sectors);

/* Hands out some of what the copies have earned.  Context: process; takes log.lock. */
void cache_log_pace_work(struct work_struct *work);

/**
 * cache_log_has_waiters() - whether writes or discards wait for something to leave
 * @log: the log
 */
bool cache_log_has_waiters(struct cache_log *log);

/**
 * cache_log_is_pressed() - whether some of them need it soon, so that batches are small
 * @log: the log
 */
bool cache_log_is_pressed(struct cache_log *log);

/**
 * cache_log_give_up_on_room() - no room comes for seconds, or ever
 * @log: the log
 *
 * Writes that have had a turn in vain go to the origin, or fail if the log has some of their
 * block.
 */
void cache_log_give_up_on_room(struct cache_log *log);

/* ---- cache-log-move.c ---- */

/**
 * cache_log_copy_run() - begin to copy a run to its place in a block, when there is room
 * @log: the log
 * @run: of the log
 * @to: the cache device or the origin
 * @block: there: the slot, or the origin block
 * @copy: has @move and @batch; copy->failed is the result
 *
 * @copy stays until cache_log_wait_for_copies() returns; or, with a batch, until that has
 * no copies under way.
 */
void cache_log_copy_run(struct cache_log *log, const struct log_run *run,
			struct block_device *to, u64 block, struct log_copy *copy);

/**
 * cache_log_wait_for_copies() - all copies that were begun have ended
 * @log: the log
 */
void cache_log_wait_for_copies(struct cache_log *log);

/**
 * cache_log_begin_move() - have a block go into the cache, if it is to and can
 * @log: the log
 * @block: the block; fewer than LOG_NR_COPIED are on their way
 *
 * Return: true: it stays in the log until cache_log_end_moves(), and nobody else takes
 * it out of there.  False: it may go home.
 */
bool cache_log_begin_move(struct cache_log *log, u64 block);

/**
 * cache_log_begin_whole() - have whole blocks become blocks of the cache where they lie
 * @log: the log
 *
 * Return: are any blocks on their way?
 */
bool cache_log_begin_whole(struct cache_log *log);

/**
 * cache_log_awaits_mapping() - whether cache_log_begin_whole() is to take a block
 * @log: the log
 * @block: the block
 *
 * Return: true: the block goes home from its slot later, and the cache has it afterwards.
 */
bool cache_log_awaits_mapping(struct cache_log *log, u64 block);

/**
 * cache_log_end_moves() - the blocks that were begun are in the cache, or in the log
 * @log: the log; log->runs and log->copies are not in use
 *
 * Return: how many are in the cache, and not in the log any more.
 */
u32 cache_log_end_moves(struct cache_log *log);

/**
 * cache_log_is_moved() - whether a block of the log has a slot that holds all of it
 * @log: the log, whose ring has failed
 * @block: the block
 */
bool cache_log_is_moved(struct cache_log *log, u64 block);

/**
 * cache_log_release_moved() - blocks that could not leave a ring that failed
 * @log: the log
 *
 * They may be unmapped when the disk has forgotten the log.  Until then, bios that would
 * wait for that fail while nothing goes home.
 */
void cache_log_release_moved(struct cache_log *log);

/* ---- cache-log-home.c ---- */

/**
 * cache_log_home_is_wanted() - whether extents are to go home now, and can
 * @log: the log
 */
bool cache_log_home_is_wanted(struct cache_log *log);

/**
 * cache_log_go_home() - let extents go home, while that is wanted
 * @log: the log
 *
 * Return: did any leave?
 */
bool cache_log_go_home(struct cache_log *log);

/**
 * cache_log_map_whole() - whole blocks become blocks of the cache, if it is time
 * @log: the log
 *
 * Return: did any?
 */
bool cache_log_map_whole(struct cache_log *log);

/**
 * cache_log_serve_wanted() - blocks that reads want go into the cache
 * @log: the log
 */
void cache_log_serve_wanted(struct cache_log *log);

/**
 * cache_log_empty_block() - let all of a block go home
 * @log: the log
 * @block: the block
 *
 * Return: false if it does not now, because the origin has failed, say.
 */
bool cache_log_empty_block(struct cache_log *log, u64 block);

/**
 * cache_log_serve_leavers() - empty the blocks for which writes wait
 * @log: the log
 */
void cache_log_serve_leavers(struct cache_log *log);

/**
 * cache_log_serve_discards() - have everything leave that discards cover
 * @log: the log
 */
void cache_log_serve_discards(struct cache_log *log);

/**
 * cache_log_save_failed() - the ring has failed: copy everything home
 * @log: the log
 *
 * Return: true: the origin has everything, durably, but for the blocks that are in the
 * cache.  So the disk may forget the log.
 */
bool cache_log_save_failed(struct cache_log *log);

#endif
