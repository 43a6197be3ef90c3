/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extents leave the write log, see cache-log-home.c.  All functions are for the log's
 * worker, or for when it cannot run; they may sleep.
 */
#ifndef HEARTH_CACHE_LOG_HOME_H
#define HEARTH_CACHE_LOG_HOME_H

#include <linux/types.h>

struct cache_log;
struct log_run;

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
 * cache_log_has_waiters() - whether writes or discards wait for something to leave
 * @log: the log
 */
bool cache_log_has_waiters(struct cache_log *log);

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
 * cache_log_empty_block() - let all of a block go home
 * @log: the log
 * @block: the block
 *
 * Return: false if it does not now, because the origin has failed, say.
 */
bool cache_log_empty_block(struct cache_log *log, u64 block);

/**
 * cache_log_is_hopeless() - whether nothing goes home for seconds, or ever
 * @log: the log
 */
bool cache_log_is_hopeless(struct cache_log *log);

/**
 * cache_log_serve_leavers() - empty the blocks for which writes wait
 * @log: the log
 */
void cache_log_serve_leavers(struct cache_log *log);

/**
 * cache_log_fail_waiters() - writes that wait for room get an error
 * @log: the log
 */
void cache_log_fail_waiters(struct cache_log *log);

/**
 * cache_log_serve_discards() - have everything leave that discards cover
 * @log: the log
 */
void cache_log_serve_discards(struct cache_log *log);

/**
 * cache_log_save_failed() - the ring has failed: copy everything home
 * @log: the log
 *
 * Then the cache can be given up, which has the disk forget the log.
 */
void cache_log_save_failed(struct cache_log *log);

#endif
