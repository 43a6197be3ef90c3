// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes that wait for room in the write log, and the pace at which they get it.
 *
 * While the log is nearly full, writes are absorbed as fast as extents go home: each copy
 * that has ended gives credit, and each write takes some.  Copies end in bursts, because
 * kcopyd ends none while it begins others.  So what they earn is handed out bit by bit, and
 * a write waits for a few copies, and not for a burst or a batch.
 *
 * It owns the writes that wait for room, their order, and the credit.  It must not know
 * where in the log a write has its place, nor which extents go home.
 */
#include "cache-bio.h"
#include "cache-log-pace.h"
#include "cache-log.h"

/*
 * Percent of the room.  From PACE_MARK on writes are paced; going home begins there, too.
 * From TIGHT_MARK on batches are small, because room comes back too late for the credit.
 * No measurement of either is recorded.
 */
#define PACE_MARK		LOG_HIGH_MARK
#define TIGHT_MARK		98U
/*
 * If so many percent of the room are left, a copy of a sector gives credit for one.  The
 * log stays that full under a steady load.  A fuller log goes home with shorter seeks; in
 * a model of the log and a disk, 10 percent gave 4 writes where 25 gave 3.
 */
#define STEADY_PERCENT		10U
/*
 * The most credit that is kept, in sectors: as much may be written at once after a moment
 * without writes.  It has to be more than a disk takes from one turn of pace.work to the
 * next, 8 ms later with 250 ticks a second.
 */
#define MOST_CREDIT		1024
/*
 * Every 4 ms a part of what was earned is handed out, at least a write of 4 KiB.  The
 * bursts of kcopyd are some 30 ms apart while a disk takes 4,000 writes a second.
 */
#define PACE_MS			4
#define EARNED_SHARE		16
#define LEAST_CREDIT		8
/*
 * If no write had a turn for so long, because the origin hangs, say, all that wait have one
 * without credit: there is room until the log is full.  Not chosen by measurement.
 */
#define PATIENCE_MS		100

/* ---- How full the log is ---- */

static u32 ring_share(struct cache_log *log)
{
	u64 most = (u64)log->geo.ring_blocks * LOG_RECORDS / 4;
	u64 nr = READ_ONCE(log->ix.nr_ring) +
		 2 * atomic64_read(&log->ix.nr_unlogged);

	return div64_u64(nr * 100, max(most, 1ULL));
}

static u32 memory_share(struct cache_log *log)
{
	return div64_u64(atomic64_read(&log->ix.bytes) * 100, log->ix.max_bytes);
}

u32 cache_log_fullness(struct cache_log *log)
{
	return max3(cache_log_share(log), ring_share(log), memory_share(log));
}

/* ---- The pace ---- */

void cache_log_set_pace(struct cache_log *log, u32 fullness, bool goes_home)
{
	bool paces = goes_home && fullness >= PACE_MARK;

	WRITE_ONCE(log->pace.is_tight, fullness >= TIGHT_MARK);
	if (log->pace.is_on == paces)
		return;
	spin_lock_irq(&log->waiting.lock);
	WRITE_ONCE(log->pace.is_on, paces);
	log->pace.earned = 0;
	log->pace.turn_at = jiffies;
	spin_unlock_irq(&log->waiting.lock);
}

static bool none_waits_locked(struct cache_log *log)
{
	lockdep_assert_held(&log->waiting.lock);
	return cache_log_none_waits(&log->pace);
}

/* The debt of a large write is MOST_CREDIT at most. */
static void charge_locked(struct cache_log *log, struct bio *bio)
{
	lockdep_assert_held(&log->waiting.lock);
	log->pace.credit = max(log->pace.credit - (s32)bio_sectors(bio), -MOST_CREDIT);
}

static bool take_credit(struct cache_log *log, struct bio *bio)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&log->waiting.lock, flags);
	taken = none_waits_locked(log) && log->pace.credit > 0;
	if (taken)
		charge_locked(log, bio);
	spin_unlock_irqrestore(&log->waiting.lock, flags);
	return taken;
}

/*
 * Do others wait for room?  A bio that has a turn waits only for the bios that had their
 * turn before it and found no room.  A bio without a turn waits for all.  Racy: a bio that
 * comes at the same time may be the faster.
 */
static bool others_are_first(struct cache_log *log, struct bio *bio)
{
	if (READ_ONCE(log->pace.nr_again))
		return true;
	return READ_ONCE(log->pace.turn) != bio &&
	       (READ_ONCE(log->pace.nr_room) || READ_ONCE(log->pace.nr_turns));
}

bool cache_log_must_wait(struct cache_log *log, struct bio *bio)
{
	if (likely(!READ_ONCE(log->pace.is_on)))
		return others_are_first(log, bio);
	/* A bio with a turn took its credit when it got the turn, or needs none. */
	return READ_ONCE(log->pace.turn) != bio && !take_credit(log, bio);
}

/* ---- Writes that wait ---- */

static void hand_out_soon(struct cache_log *log)
{
	queue_delayed_work(log->c->wq.bg, &log->pace.work, msecs_to_jiffies(PACE_MS));
}

/* A bio that has had its turn in vain stays before those that came later. */
void cache_log_wait_for_room(struct cache_log *log, struct bio *bio)
{
	unsigned long flags;

	cache_leave_submitter(bio);
	spin_lock_irqsave(&log->waiting.lock, flags);
	if (none_waits_locked(log))
		log->pace.turn_at = jiffies;
	if (READ_ONCE(log->pace.turn) == bio) {
		WRITE_ONCE(log->pace.nr_again, log->pace.nr_again + 1);
		bio_list_add(&log->pace.again, bio);
	} else {
		WRITE_ONCE(log->pace.nr_room, log->pace.nr_room + 1);
		bio_list_add(&log->pace.room, bio);
	}
	/*
	 * Kicked under the lock, because afterwards the last bio, and the cache,
	 * may be gone.
	 */
	cache_log_kick(log);
	if (READ_ONCE(log->pace.is_on))
		hand_out_soon(log);
	spin_unlock_irqrestore(&log->waiting.lock, flags);
}

/* *@nr counts the list. */
static struct bio *pop_locked(struct cache_log *log, struct bio_list *list, u32 *nr)
{
	struct bio *bio = bio_list_pop(list);

	lockdep_assert_held(&log->waiting.lock);
	if (bio)
		WRITE_ONCE(*nr, *nr - 1);
	return bio;
}

static void give_turn_locked(struct cache_log *log, struct bio *bio,
			     struct bio_list *bios)
{
	lockdep_assert_held(&log->waiting.lock);
	cache_bio(bio)->turn = true;
	WRITE_ONCE(log->pace.nr_turns, log->pace.nr_turns + 1);
	bio_list_add(bios, bio);
}

/* Writes that have had a turn in vain come first. */
static void give_turns_locked(struct cache_log *log, bool to_all, struct bio_list *bios)
{
	struct bio *bio;

	lockdep_assert_held(&log->waiting.lock);
	while ((bio = pop_locked(log, &log->pace.again, &log->pace.nr_again)))
		give_turn_locked(log, bio, bios);
	while (to_all && (bio = pop_locked(log, &log->pace.room, &log->pace.nr_room)))
		give_turn_locked(log, bio, bios);
	log->pace.turn_at = jiffies;
}

static void map_again(struct cache_log *log, struct bio_list *bios)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		cache_defer_bio(log->c, bio, STEP_MAP);
}

void cache_log_went_home(struct cache_log *log, u32 sectors)
{
	unsigned long flags;
	u32 left;

	if (!READ_ONCE(log->pace.is_on))
		return;
	left = 100 - min(cache_log_fullness(log), 100U);
	spin_lock_irqsave(&log->waiting.lock, flags);
	log->pace.earned += sectors * left;
	spin_unlock_irqrestore(&log->waiting.lock, flags);
	hand_out_soon(log);
}

/* Some of what was earned becomes credit, and the next writes take it. */
static void hand_out_locked(struct cache_log *log, struct bio_list *bios)
{
	struct cache_log_pace *pace = &log->pace;
	u32 earned = pace->earned / STEADY_PERCENT;
	u32 credit = min(max(earned / EARNED_SHARE, LEAST_CREDIT), earned);
	struct bio *bio;

	lockdep_assert_held(&log->waiting.lock);
	pace->earned -= credit * STEADY_PERCENT;
	pace->credit = min_t(s32, pace->credit + credit, MOST_CREDIT);
	while (pace->credit > 0 && (bio = pop_locked(log, &pace->room, &pace->nr_room))) {
		charge_locked(log, bio);
		give_turn_locked(log, bio, bios);
		pace->gave_turns = true;
		pace->turn_at = jiffies;
	}
}

static bool is_overdue_locked(struct cache_log *log)
{
	lockdep_assert_held(&log->waiting.lock);
	return !log->pace.nr_turns &&
	       time_after(jiffies, log->pace.turn_at + msecs_to_jiffies(PATIENCE_MS));
}

void cache_log_pace_work(struct work_struct *work)
{
	struct cache_log *log = container_of(to_delayed_work(work), struct cache_log,
					     pace.work);
	struct bio_list bios = BIO_EMPTY_LIST;
	bool more;

	spin_lock_irq(&log->waiting.lock);
	hand_out_locked(log, &bios);
	if (is_overdue_locked(log))
		give_turns_locked(log, true, &bios);
	more = READ_ONCE(log->pace.is_on) &&
	       (log->pace.nr_room || log->pace.earned >= STEADY_PERCENT);
	spin_unlock_irq(&log->waiting.lock);
	map_again(log, &bios);
	if (more)
		hand_out_soon(log);
}

void cache_log_end_pace(struct cache_log *log)
{
	if (log)
		cancel_delayed_work_sync(&log->pace.work);
}

bool cache_log_next_turns(struct cache_log *log)
{
	struct bio_list bios = BIO_EMPTY_LIST;
	bool gave;

	spin_lock_irq(&log->waiting.lock);
	gave = log->pace.gave_turns;
	log->pace.gave_turns = false;
	/* pace.work gives turns to paced writes. */
	if (!log->pace.nr_turns)
		give_turns_locked(log, !gave || !READ_ONCE(log->pace.is_on), &bios);
	gave |= !bio_list_empty(&bios);
	spin_unlock_irq(&log->waiting.lock);
	map_again(log, &bios);
	return gave;
}

void cache_log_begin_turn(struct cache_log *log, struct bio *bio)
{
	cache_bio(bio)->turn = false;
	WRITE_ONCE(log->pace.turn, bio);
}

void cache_log_end_turn(struct cache_log *log)
{
	spin_lock_irq(&log->waiting.lock);
	WRITE_ONCE(log->pace.turn, NULL);
	WRITE_ONCE(log->pace.nr_turns, log->pace.nr_turns - 1);
	if (!log->pace.nr_turns && (log->pace.nr_room || log->pace.nr_again))
		cache_log_kick(log);
	spin_unlock_irq(&log->waiting.lock);
}

bool cache_log_has_waiters(struct cache_log *log)
{
	return READ_ONCE(log->pace.nr_room) || READ_ONCE(log->pace.nr_again) ||
	       !bio_list_empty(&log->waiting.leavers) ||
	       !bio_list_empty(&log->waiting.discards);
}

/* Paced writes need no room at once, but a suspend waits for all of them. */
bool cache_log_is_pressed(struct cache_log *log)
{
	if (!bio_list_empty(&log->waiting.leavers) ||
	    !bio_list_empty(&log->waiting.discards) ||
	    READ_ONCE(log->pace.nr_again))
		return true;
	return READ_ONCE(log->pace.nr_room) &&
	       (!READ_ONCE(log->pace.is_on) || READ_ONCE(log->pace.is_tight) ||
		READ_ONCE(log->c->life.quiescing));
}

/* The origin takes a write whose block has nothing in the log. */
static void give_up_on(struct cache_log *log, struct bio *bio)
{
	if (cache_log_has_block(log, cache_bio(bio)->block))
		bio_io_error(bio);
	else
		cache_defer_bio(log->c, bio, STEP_MAP);
}

void cache_log_give_up_on_room(struct cache_log *log)
{
	struct bio_list bios = BIO_EMPTY_LIST;
	struct bio *bio;

	/* Writes that had no turn yet may take the room that is left, so none is paced. */
	cache_log_set_pace(log, 0, false);
	spin_lock_irq(&log->waiting.lock);
	while ((bio = pop_locked(log, &log->pace.again, &log->pace.nr_again)))
		bio_list_add(&bios, bio);
	spin_unlock_irq(&log->waiting.lock);
	while ((bio = bio_list_pop(&bios)))
		give_up_on(log, bio);
}
