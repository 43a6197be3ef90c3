/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes that wait for room in the write log, and their pace: see cache-log-pace.c. */
#ifndef HEARTH_CACHE_LOG_PACE_H
#define HEARTH_CACHE_LOG_PACE_H

#include <linux/bio.h>
#include <linux/workqueue.h>

struct cache_log;

/* Writes that wait for room, and their pace.  Under log.waiting.lock. */
struct cache_log_pace {
	struct bio_list room;	/* writes that wait for room, in order */
	struct bio_list again;	/* the same: they found no room in their turn */
	/* The next five are read anywhere. */
	u32 nr_room;		/* bios in @room */
	u32 nr_again;		/* bios in @again */
	u32 nr_turns;		/* bios with a turn, which the worker maps soon */
	bool is_on;		/* writes are paced */
	/* So full that paced writes need small batches; written without the lock. */
	bool is_tight;
	bool gave_turns;	/* @work gave turns since log.worker looked */
	u32 earned;		/* by copies: sectors * percent, not handed out yet */
	s32 credit;		/* sectors that paced writes may take */
	unsigned long turn_at;	/* jiffies of the last turn, or of the first wait */
	/*
	 * The bio that the worker of deferred bios maps, or NULL.  That worker alone writes
	 * it, without the lock, and others only compare it.
	 */
	struct bio *turn;
	struct delayed_work work;	/* on wq.bg: hands out @earned */
};

/**
 * cache_log_none_waits() - whether no write waits for room, or has its turn
 * @pace: of the log
 *
 * Context: any, never sleeps; racy without log.waiting.lock.
 */
static inline bool cache_log_none_waits(const struct cache_log_pace *pace)
{
	return !READ_ONCE(pace->nr_room) && !READ_ONCE(pace->nr_again) &&
	       !READ_ONCE(pace->nr_turns);
}

/**
 * cache_log_may_have_to_wait() - whether cache_log_must_wait() has to be asked
 * @pace: of the log
 *
 * Inline, because that call costs each write more instructions than this look.
 *
 * Context: any, never sleeps; racy.
 *
 * Return: false for most writes.
 */
static inline bool cache_log_may_have_to_wait(const struct cache_log_pace *pace)
{
	return unlikely(READ_ONCE(pace->is_on) || !cache_log_none_waits(pace));
}

/**
 * cache_log_must_wait() - whether a write has to wait for room or for credit
 * @log: the log
 * @bio: the write
 *
 * It has to if other writes are first.  While writes are paced, it has to if there is
 * no credit; if it need not wait, it has taken its credit.
 *
 * Context: any, never sleeps; takes log.waiting.lock if writes are paced.
 */
bool cache_log_must_wait(struct cache_log *log, struct bio *bio);

/**
 * cache_log_wait_for_room() - have a write wait until there may be room
 * @log: the log
 * @bio: the write; no longer the caller's.  It is mapped again when its turn comes.
 *
 * Writes get their turns in the order in which they came.
 *
 * Context: any, never sleeps; takes log.waiting.lock.
 */
void cache_log_wait_for_room(struct cache_log *log, struct bio *bio);

/**
 * cache_log_next_turns() - have writes that wait for room try again, in their order
 * @log: the log
 *
 * A round of turns ends before the next one begins, so no write is overtaken.  If a
 * round is under way, nothing happens, and its end kicks log.worker.  While writes are
 * paced and pace.work gives turns, only writes that had a turn in vain try again.
 *
 * Context: process, does not sleep; takes log.waiting.lock, then wait.deferred_lock.
 *
 * Return: true if turns were given, now or by pace.work since the last call.
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
 * Context: the worker of deferred bios; takes log.waiting.lock.
 */
void cache_log_end_turn(struct cache_log *log);

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
 * Context: process, does not sleep; takes log.waiting.lock.
 */
void cache_log_set_pace(struct cache_log *log, u32 fullness, bool goes_home);

/**
 * cache_log_went_home() - have a copy to the origin earn credit for the writes that wait
 * @log: the log
 * @sectors: the sectors that were copied
 *
 * Context: any, never sleeps; takes log.waiting.lock if writes are paced.
 */
void cache_log_went_home(struct cache_log *log, u32 sectors);

/**
 * cache_log_pace_work() - hand out some of the credit that copies have earned
 * @work: pace.work of the log
 *
 * Context: wq.bg, does not sleep; takes log.waiting.lock, then wait.deferred_lock.
 */
void cache_log_pace_work(struct work_struct *work);

/**
 * cache_log_end_pace() - stop pace.work for good
 * @log: the log, or NULL; no write waits for room
 *
 * To be called before the engine's workqueues are destroyed.
 *
 * Context: process, sleeps.
 */
void cache_log_end_pace(struct cache_log *log);

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
 *
 * Context: process, does not sleep; takes log.waiting.lock, locks of the index and
 * wait.deferred_lock, one after the other.
 */
void cache_log_give_up_on_room(struct cache_log *log);

#endif
