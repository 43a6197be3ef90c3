/* SPDX-License-Identifier: GPL-2.0-only */
/* The worker that writes the ring of the write log: see cache-log-ring.c. */
#ifndef HEARTH_CACHE_LOG_RING_H
#define HEARTH_CACHE_LOG_RING_H

#include <linux/bio.h>
#include <linux/workqueue.h>

#include "../write-log/log-ring.h"

struct cache;
struct cache_log;
struct dm_io_client;

/* The log's answer: what becomes of a bio? */
enum log_answer {
	LOG_PASSES,		/* nothing: the bio goes on as if there were no log */
	LOG_POINTED,		/* the bio points at the cache device; the caller sends it */
	LOG_TAKEN,		/* the bio waits, or has ended */
	LOG_LOOK_AGAIN,		/* nothing, and the slot is to be looked for again */
};

/*
 * If a single writer flushes after this many writes, or after fewer, its writes have FUA.
 * Then no ring block has to wait for a flush: with an SSD of 20 us for any request, a
 * write and its fsync took 118 us instead of 144.  16 writers were slower by a third if
 * theirs had FUA, because fewer of them shared a ring block and a flush.  After one
 * write, as here, the ring block does not wait for the user's flush, either
 * (cache_log_wrote()).
 */
#define LOG_FUA_WRITES	1U

/* The cache device, for the ring and the header. */
struct cache_log_device {
	struct log_dev dev;
	struct dm_io_client *client;	/* for I/O of @dev */
};

/*
 * The worker that writes the ring.  Others begin a batch, or make the ring or free it,
 * only while the worker cannot run.  @work alone writes @batch_runs, @has_company and
 * @nr_expected, which anyone may read.  @nr_waiting is raised under log.waiting.lock, and
 * @work lowers it.  @batch_us is for @work alone.
 */
struct cache_log_recorder {
	/* For @work alone, which waits for devices and for nothing else. */
	struct workqueue_struct *wq;
	struct work_struct work;	/* cache_log_ring_work() */
	bool batch_runs;
	bool has_pairs;		/* a single writer flushes after each write; anywhere */
	/* Absorbed writes since the last flush, and before it.  Anywhere; may miss some. */
	u32 since_flush, before_flush;
	bool has_company;	/* several writers flush */
	atomic_t nr_waiting;	/* of log.waiting.flushes */
	u32 nr_expected;	/* bios that waited lately; falls by an eighth with each batch */
	wait_queue_head_t all_wait;	/* @nr_waiting has reached @nr_expected */
	unsigned int batch_us;	/* the microseconds of the last batch with a record */
	bool departed;		/* the runs of @departure have left; read by log.worker */
	struct log_departure departure;	/* log.worker's: of runs that leave */
};

/**
 * cache_log_init_device() - have the portable part of the log use the cache device
 * @log: the log
 *
 * Context: any.
 */
void cache_log_init_device(struct cache_log *log);

/**
 * cache_log_ring_work() - write one batch of the ring, and end the bios that wait for it
 * @work: recorder.work of the log
 *
 * Context: log.recorder.wq; sleeps, does I/O; takes log.waiting.lock.
 */
void cache_log_ring_work(struct work_struct *work);

/**
 * cache_log_write_ring() - have a batch of the ring written, and wait for its end
 * @log: the log
 *
 * Context: process, sleeps; not on log.recorder.wq, because it waits for work there.
 */
void cache_log_write_ring(struct cache_log *log);

/**
 * cache_log_leave_runs() - have the ring record that runs have left, durably
 * @log: the log
 * @runs: the runs, which log_index_collect() found with its @leaving
 * @nr: the number of runs, at least 1
 *
 * Context: log.worker, or a caller while that cannot run; sleeps, does I/O; takes
 * log.ring.lock.
 *
 * Return: 0: readers do not find the runs any more.  -EIO: the ring has failed.
 */
int cache_log_leave_runs(struct cache_log *log, struct log_run *runs, u32 nr);

/**
 * cache_log_unpin_runs() - give back the pins that log_index_collect() took
 * @log: the log
 * @runs: the runs
 * @nr: the number of runs
 *
 * Context: process, does not sleep; takes wait.buckets[].lock, then wait.deferred_lock, if
 * a bio waits for a segment.
 */
void cache_log_unpin_runs(struct cache_log *log, const struct log_run *runs, u32 nr);

/**
 * cache_log_flush() - take a user's flush of the cache device, if need be
 * @c: the engine; has a log
 * @bio: the flush, a BIO_FLUSH
 *
 * Context: any, never sleeps; takes log.waiting.lock.
 *
 * Return: LOG_PASSES because all is recorded, or a ring block has failed; the caller then
 * asks cache_flush_needed(), which knows of the failure.  LOG_POINTED: a
 * batch is recording the rest, and the bio, a BIO_JOINED_FLUSH now, points at the cache
 * device, which has something to flush.  LOG_TAKEN: the bio ends when all is recorded
 * (W3), with an error if that failed.
 */
enum log_answer cache_log_flush(struct cache *c, struct bio *bio);

/**
 * cache_log_end_flush() - the device has served a flush that also waits for a batch
 * @c: the engine; has a log
 * @bio: the flush, which was a BIO_JOINED_FLUSH
 *
 * Context: any, never sleeps; takes log.waiting.lock.
 *
 * Return: DM_ENDIO_DONE; DM_ENDIO_INCOMPLETE if the bio ends later, because the batch
 * still runs, or because the ring has failed.
 */
int cache_log_end_flush(struct cache *c, struct bio *bio);

/**
 * cache_log_wrote() - a write has ended that a flush is to record
 * @log: the log
 * @alone: did it come while a single writer flushed after each write?
 *
 * If so, its record is written while the user's program gets from the write to the flush.
 * A second write without a flush in between ends that.
 *
 * Context: any, never sleeps; the write's bio has not ended.
 */
void cache_log_wrote(struct cache_log *log, bool alone);

/**
 * cache_log_add_flush() - have a bio end with the next batch of the ring
 * @log: the log
 * @bio: a BIO_FLUSH; or a BIO_LOGGED, a write with FUA that readers find already
 *
 * Context: any, never sleeps; takes log.waiting.lock.
 */
void cache_log_add_flush(struct cache_log *log, struct bio *bio);

#endif
