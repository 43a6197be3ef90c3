// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks go from the write log into the cache.
 *
 * It owns the order of things (W5, W13).  While writes go on, the block is copied from
 * the origin to a slot.  The slot is published: from here on writes wait.  When the writes
 * in flight have ended, the extents are copied over it.  The mapping is durable, dirty.
 * The slot becomes VALID, with a pin, so that nobody unmaps it.  Then GONE is durable,
 * and the pin is given back.
 *
 * A segment that one extent fills becomes the block's slot in place, without a copy.
 *
 * All of it is done by one worker (cache-log-state.c).  This file owns the copies
 * of that worker, too.  It must not know when a block is to leave the log, nor why
 * it is wanted.
 */
#include "cache-bio.h"
#include "cache-log-move.h"
#include "cache-log-pace.h"
#include "cache-log.h"
#include "cache-trace.h"

#include <linux/delay.h>

/* ---- Copies ---- */

/*
 * The sectors that may be copied at a time.  Twice migration_threshold if there are
 * no users, if they wait for room, or if the log is being emptied.  Half of it if users
 * do I/O, because that waits behind the copies.  A quarter while writes are paced,
 * because paced writes need the end of a copy now and then, and kcopyd ends none while
 * it fills the disk's queue with new ones.
 */
static u32 copy_room(struct cache_log *log)
{
	struct cache *c = log->c;
	u32 room = min_t(u64, READ_ONCE(c->limits.migration_threshold),
			 U32_MAX / 4);

	if (READ_ONCE(log->life.state) != CACHE_LOG_ON || cache_log_is_pressed(log) ||
	    cache_is_quiet(c, 2))
		return 2 * room;
	return READ_ONCE(log->pace.is_on) ? room / 4 : room / 2;
}

static void count_error(struct cache *c, bool fast, enum cache_stat stat)
{
	if (fast)
		cache_fast_error(c, stat);
	else
		cache_stat_inc(c, STAT_ORIGIN_ERRORS);
}

static void copied(int read_err, unsigned long write_err, void *context)
{
	struct log_copy *copy = context;
	struct log_batch *batch = copy->batch;
	struct cache_log *log = copy->log;

	copy->failed = read_err || write_err;
	if (read_err)
		count_error(log->c, copy->from_fast, STAT_CACHE_READ_ERRORS);
	else if (write_err)
		count_error(log->c, copy->to_fast, STAT_CACHE_WRITE_ERRORS);
	if (copy->move && copy->failed) {
		copy->move->failed = true;
		if (!read_err)
			copy->move->slot_failed = true;
	}
	if (!copy->to_fast && !copy->failed)
		cache_log_went_home(log, copy->sectors);
	/* The result is there before the copy counts as ended. */
	smp_mb__before_atomic();
	atomic_sub(copy->sectors, &log->copying.sectors);
	if (batch)
		atomic_dec(&batch->nr_copying);
	wake_up_all(&log->worker.wait);
}

/* Waits for room, and begins the copy.  The caller has set copy->move and copy->batch. */
static void begin_copy(struct cache_log *log, struct log_copy *copy,
		       struct dm_io_region *from, struct dm_io_region *to)
{
	u32 room = copy_room(log), sectors = from->count;

	wait_event(log->worker.wait, !atomic_read(&log->copying.sectors) ||
		   atomic_read(&log->copying.sectors) + sectors <= room);
	copy->log = log;
	copy->sectors = sectors;
	copy->from_fast = from->bdev == log->c->dev.fast;
	copy->to_fast = to->bdev == log->c->dev.fast;
	atomic_add(sectors, &log->copying.sectors);
	dm_kcopyd_copy(log->c->clients.copier, from, 1, to, 0, copied, copy);
}

void cache_log_copy_run(struct cache_log *log, const struct log_run *run,
			struct block_device *to, u64 block, struct log_copy *copy)
{
	struct cache *c = log->c;
	struct dm_io_region segment = {
		.bdev = c->dev.fast,
		.sector = cache_block_start(c, run->slot) + run->at,
		.count = run->sectors,
	};
	struct dm_io_region place = {
		.bdev = to,
		.sector = cache_block_start(c, block) + run->sector,
		.count = run->sectors,
	};

	begin_copy(log, copy, &segment, &place);
}

void cache_log_wait_for_copies(struct cache_log *log)
{
	wait_event(log->worker.wait, !atomic_read(&log->copying.sectors));
	/* Pairs with copied(). */
	smp_rmb();
}

/* ---- A block that does not come in ---- */

static void trace_move(struct log_move *m, int error)
{
	trace_dm_cache_promote(m->log->c, m->block, m->slot, CACHE_PROMOTE, m->began,
			       error);
}

/* Give up a slot that is FREE and in no chain. */
static void give_slot_up(struct cache *c, struct log_move *m)
{
	if (!m->slot_failed) {
		slot_map_free(&c->map, m->slot);
		return;
	}
	atomic_set(&slot_at(&c->map, m->slot)->word, SLOT_RETIRED);
	cache_stat_inc(c, STAT_RETIRED_BLOCKS);
}

/* A segment like any other from here on: its extent goes home. */
static void stay_segment(struct log_move *m)
{
	if (m->state == LOG_MOVE_PUBLISHED)
		cache_gate_unpublish_lent(m->log->c, m->slot);
	cache_log_push_full(m->log, m->slot);
}

/*
 * Nothing about the move is on the disk, so the block stays in the log.  If a copy
 * failed, the block goes home next time.
 */
static void stay(struct log_move *m, int error)
{
	struct cache *c = m->log->c;

	if (m->in_place) {
		stay_segment(m);
	} else {
		if (m->state == LOG_MOVE_PUBLISHED)
			cache_gate_unpublish(c, m->slot);
		give_slot_up(c, m);
	}
	if (m->failed)
		log_index_keep(&m->log->ix, m->block, LOG_KEEP_NOT);
	cache_stat_inc(c, STAT_PROMOTIONS_ABORTED);
	trace_move(m, error);
	m->state = LOG_MOVE_OVER;
}

/* ---- From the origin, while writes go on ---- */

static void copy_from_origin(struct log_move *m)
{
	struct cache *c = m->log->c;
	struct dm_io_region from = {
		.bdev = c->dev.origin,
		.sector = cache_block_start(c, m->block),
		.count = c->geo.block_sectors,
	};
	struct dm_io_region to = {
		.bdev = c->dev.fast,
		.sector = cache_block_start(c, m->slot),
		.count = c->geo.block_sectors,
	};

	cache_stat_add(c, STAT_CACHE_SECTORS_WRITTEN, c->geo.block_sectors);
	m->copy.move = m;
	m->copy.batch = NULL;
	begin_copy(m->log, &m->copy, &from, &to);
}

static bool is_kept(struct cache_log *log, u64 block)
{
	switch (log_index_kept(&log->ix, block)) {
	case LOG_KEEP_NOT:
		break;
	case LOG_KEEP_IF_COVERED:
		return cache_reserve_has_more(log->c) &&
		       log_index_covers(&log->ix, block);
	case LOG_KEEP_IF_FREE:
		return cache_reserve_has_more(log->c);
	case LOG_KEEP:
		return true;
	}
	return false;
}

/*
 * W13: true means that no write to the origin alone is in flight.  None begins while
 * readers find extents, and only log.worker takes these away.
 */
static bool may_begin_kept(struct cache_log *log, u64 block)
{
	if (READ_ONCE(log->life.state) != CACHE_LOG_ON || READ_ONCE(log->life.failed))
		return false;
	/* Pairs with cache_gate_enter(): the extents were there before. */
	smp_mb();
	return !cache_gate_is_busy(log->c, block);
}

static bool may_begin(struct cache_log *log, u64 block)
{
	return is_kept(log, block) && may_begin_kept(log, block);
}

static struct log_move *begin(struct cache_log *log, u64 block, u32 slot)
{
	struct log_move *m = &log->moves.all[log->moves.nr++];

	*m = (struct log_move) {
		.log = log,
		.block = block,
		.slot = slot,
		.began = trace_dm_cache_promote_enabled() ? ktime_get() : 0,
	};
	cache_migration_started(log->c);
	return m;
}

bool cache_log_begin_move(struct cache_log *log, u64 block)
{
	struct log_move *m;
	u32 slot;

	if (!may_begin(log, block) || !cache_admit_from_log(log->c))
		return false;
	slot = cache_admit_slot(log->c, CACHE_PROMOTE);
	if (slot == SLOT_NONE)
		return false;
	m = begin(log, block, slot);
	/*
	 * If extents cover all of the block, they would overwrite all of a copy
	 * from the origin.
	 */
	if (!log_index_covers(&log->ix, block))
		copy_from_origin(m);
	return true;
}

/*
 * W5, W13: wait for writes that were counted in before the slot was published.  No
 * other can begin.
 */
static void wait_for_writes(struct log_move *m)
{
	while (log_index_writes(&m->log->ix, m->block))
		usleep_range(50, 100);
}

/* ---- In place ---- */

bool cache_log_awaits_mapping(struct cache_log *log, u64 block)
{
	struct cache *c = log->c;
	u32 slot;

	/*
	 * The segment of such a block is on the list of whole ones, until it is
	 * mapped or becomes one like any other.
	 */
	if (!READ_ONCE(log->room.nr_whole) || !cache_admit_stands(c) ||
	    !may_begin(log, block))
		return false;
	/* It needs no pin, because this worker alone gives segments back. */
	slot = log_index_whole(&log->ix, block);
	return slot != LOG_NO_SLOT && slot_block(slot_at(&c->map, slot)) == block;
}

enum whole {
	WHOLE_BEGUN,
	WHOLE_LATER,
	WHOLE_NOT,		/* it is a segment like any other */
};

static enum whole begin_in_place(struct cache_log *log, u32 slot)
{
	struct cache *c = log->c;
	u64 block = slot_block(slot_at(&c->map, slot));
	struct log_segment seg;
	struct log_move *m;

	/* If nothing of it was superseded, its write has not ended, or has ended just now. */
	if (log_index_whole(&log->ix, block) != slot)
		return log_segment_get(&log->ix, slot, &seg) && seg.seen == c->geo.block_sectors ?
			WHOLE_LATER : WHOLE_NOT;
	if (!is_kept(log, block))
		return WHOLE_NOT;
	/* VALID slots have room for fewer pins. */
	if ((slot_word(slot_at(&c->map, slot)) & SLOT_LENT_PINS) >= SLOT_FULL ||
	    !cache_admit_stands(c) || !may_begin_kept(log, block))
		return WHOLE_LATER;
	m = begin(log, block, slot);
	m->in_place = true;
	m->parts = SLOT_PARTS_MASK;
	return WHOLE_BEGUN;
}

static void put_back(struct cache_log *log, u32 list)
{
	u32 slot;

	while ((slot = slot_list_pop(&log->c->map, &list)) != SLOT_NONE)
		cache_log_push_whole(log, slot);
}

bool cache_log_begin_whole(struct cache_log *log)
{
	u32 later = SLOT_NONE, slot;

	while (log->moves.nr < LOG_NR_MOVES &&
	       (slot = cache_log_pop_whole(log)) != SLOT_NONE) {
		switch (begin_in_place(log, slot)) {
		case WHOLE_BEGUN:
			break;
		case WHOLE_LATER:
			slot_list_push(&log->c->map, &later, slot);
			break;
		case WHOLE_NOT:
			cache_log_push_full(log, slot);
			break;
		}
	}
	put_back(log, later);
	return log->moves.nr;
}

/* A write that was in flight may have superseded some of the extent. */
static void check_in_place(struct cache_log *log)
{
	u32 i;

	for (i = 0; i < log->moves.nr; i++) {
		struct log_move *m = &log->moves.all[i];

		if (!m->in_place || m->state != LOG_MOVE_PUBLISHED)
			continue;
		wait_for_writes(m);
		if (log_index_whole(&log->ix, m->block) != m->slot)
			stay(m, -EAGAIN);
	}
}

/*
 * The slot is no segment any more, once nothing of it is in the log.  False: the
 * ring has failed.
 */
static bool end_segment(struct log_move *m)
{
	struct cache_log *log = m->log;

	while (log_segment_close(&log->ix, m->slot, true) == -EBUSY) {
		cache_log_write_ring(log);
		if (READ_ONCE(log->life.failed))
			return false;
	}
	atomic_dec(&log->room.nr_segments);
	return true;
}

/* ---- The extents over it, while writes wait ---- */

static void publish(struct log_move *m)
{
	int r = -EIO;

	if (m->in_place)
		r = cache_gate_publish_lent(m->log->c, m->slot);
	else if (!m->failed)
		r = cache_gate_publish_logged(m->log->c, m->slot, m->block);
	if (r)
		stay(m, r);
	else
		m->state = LOG_MOVE_PUBLISHED;
}

static void copy_extent(struct log_move *m, u32 i)
{
	struct cache_log *log = m->log;
	const struct log_run *run = &log->copying.runs[i];
	struct cache *c = log->c;

	m->parts |= slot_parts(run->sector >> c->geo.part_shift,
			       (run->sector + run->sectors - 1) >>
			       c->geo.part_shift);
	cache_stat_add(c, STAT_CACHE_SECTORS_WRITTEN, run->sectors);
	log->copying.copies[i].move = m;
	log->copying.copies[i].batch = NULL;
	cache_log_copy_run(log, run, c->dev.fast, m->slot, &log->copying.copies[i]);
}

/* Wait for the copies of the first @nr of log->copying.runs, and drop their pins. */
static void end_extents(struct cache_log *log, u32 nr)
{
	cache_log_wait_for_copies(log);
	cache_log_unpin_runs(log, log->copying.runs, nr);
}

/* Appends runs behind the @nr of other blocks.  Returns the new number. */
static u32 copy_extents(struct log_move *m, u32 nr)
{
	struct cache_log *log = m->log;
	int n = log_index_collect(&log->ix, m->block, log->copying.runs + nr,
				  LOG_HOME_RUNS - nr, false);
	int i;

	if (n == -E2BIG && nr) {
		end_extents(log, nr);
		nr = 0;
		n = log_index_collect(&log->ix, m->block, log->copying.runs,
				      LOG_HOME_RUNS, false);
	}
	if (n < 0) {
		m->failed = true;
		return nr;
	}
	for (i = 0; i < n; i++)
		copy_extent(m, nr + i);
	return nr + n;
}

static void lay_over(struct cache_log *log)
{
	struct cache *c = log->c;
	u32 i, nr = 0;

	cache_admit_write_begins(c);
	for (i = 0; i < log->moves.nr; i++) {
		struct log_move *m = &log->moves.all[i];

		if (m->in_place || m->state != LOG_MOVE_PUBLISHED)
			continue;
		wait_for_writes(m);
		nr = copy_extents(m, nr);
	}
	end_extents(log, nr);
	cache_admit_write_ends(c);
	for (i = 0; i < log->moves.nr; i++)
		if (log->moves.all[i].state == LOG_MOVE_PUBLISHED &&
		    log->moves.all[i].failed)
			stay(&log->moves.all[i], -EIO);
}

/* ---- The mapping ---- */

/* The slot is VALID, dirty, and the policy's from here on.  Readers' pins stay. */
static void become_valid(struct log_move *m, u32 marks)
{
	u32 word = SLOT_VALID | SLOT_DIRTY | m->parts | marks;
	struct cache *c = m->log->c;
	u32 old;

	/* Before the segment is given back: cache_nr_dirty_and_log() relies on it. */
	atomic_inc(&c->nr.dirty);
	atomic_inc(&c->nr.resident);
	if (marks & SLOT_INTENT)
		atomic_inc(&c->nr.intents);
	old = cache_policy_insert(c, m->slot, CACHE_PROMOTE, word);
	if (old & SLOT_WAITERS)
		cache_wake_waiters(c, m->slot);
}

/*
 * The commit failed, and the metadata cannot be written any more.  Perhaps the mapping
 * is on the disk, so the slot stays.  The log has the same, and goes home.  A write asks
 * for an intent, and is refused.
 */
static void stay_in_both(struct log_move *m, int error)
{
	become_valid(m, 0);
	/* It counts as a dirty slot now, and as a segment no more. */
	if (m->in_place)
		atomic_dec(&m->log->room.nr_segments);
	trace_move(m, error);
	m->state = LOG_MOVE_OVER;
}

/* The mapping is durable, dirty. */
static void mapped(struct log_move *m)
{
	become_valid(m, SLOT_INTENT | SLOT_PIN);
	cache_stat_inc(m->log->c, STAT_PROMOTIONS);
	trace_move(m, 0);
	m->state = LOG_MOVE_MAPPED;
}

static void move_committed(struct cache *c, struct commit_op *op, int error)
{
	struct log_move *m = container_of(op, struct log_move, op);
	struct cache_log *log = m->log;

	if (!error)
		mapped(m);
	else if (!cache_writable(c) && !cache_bypassed(c))
		stay_in_both(m, error);
	else
		stay(m, error);
	if (atomic_dec_and_test(&log->moves.committing))
		wake_up_all(&log->worker.wait);
}

static void queue_mapping(struct log_move *m)
{
	m->op.kind = COMMIT_MAP_DIRTY;
	m->op.slot = m->slot;
	m->op.block = m->block;
	m->op.done = move_committed;
	atomic_inc(&m->log->moves.committing);
	cache_commit_linger(m->log->c, &m->op);
}

/* I1, W5: the commit flushes the devices first. */
static void commit_mappings(struct cache_log *log)
{
	u32 i;

	for (i = 0; i < log->moves.nr; i++)
		if (log->moves.all[i].state == LOG_MOVE_PUBLISHED)
			queue_mapping(&log->moves.all[i]);
	cache_commit_kick_lingering(log->c);
	wait_event(log->worker.wait, !atomic_read(&log->moves.committing));
	/* Pairs with move_committed(). */
	smp_rmb();
}

/* ---- GONE ---- */

/* Collect runs of blocks that are mapped.  *@any: is there one? */
static u32 collect_mapped(struct cache_log *log, bool *any)
{
	u32 i, nr = 0;
	int n;

	*any = false;
	for (i = 0; i < log->moves.nr; i++) {
		struct log_move *m = &log->moves.all[i];

		if (m->state == LOG_MOVE_OVER ||
		    !log_index_has(&log->ix, m->block))
			continue;
		*any = true;
		n = log_index_collect(&log->ix, m->block, log->copying.runs + nr,
				      LOG_HOME_RUNS - nr, true);
		nr += max(n, 0);
	}
	return nr;
}

/* False: the ring has failed. */
static bool leave(struct cache_log *log)
{
	bool any;
	u32 nr;
	int r;

	for (;;) {
		nr = collect_mapped(log, &any);
		if (!any)
			return true;
		if (!nr) {
			/* Writes to be recorded take all the room, or memory is short. */
			cache_log_write_ring(log);
			if (READ_ONCE(log->life.failed))
				return false;
			usleep_range(1000, 2000);
			continue;
		}
		r = cache_log_leave_runs(log, log->copying.runs, nr);
		cache_log_unpin_runs(log, log->copying.runs, nr);
		if (r)
			return false;
	}
}

static u32 unpin_mapped(struct cache_log *log)
{
	u32 i, nr = 0;

	for (i = 0; i < log->moves.nr; i++) {
		if (log->moves.all[i].state != LOG_MOVE_MAPPED)
			continue;
		cache_unpin(log->c, log->moves.all[i].slot, SLOT_PIN);
		nr++;
	}
	return nr;
}

/* False: the ring has failed. */
static bool end_segments(struct cache_log *log)
{
	u32 i;

	for (i = 0; i < log->moves.nr; i++)
		if (log->moves.all[i].in_place &&
		    log->moves.all[i].state == LOG_MOVE_MAPPED &&
		    !end_segment(&log->moves.all[i]))
			return false;
	return true;
}

/* ---- All of it ---- */

u32 cache_log_end_moves(struct cache_log *log)
{
	u32 i, nr = log->moves.nr, left = 0;
	bool gone;

	if (!nr || log->moves.stay)
		return 0;
	cache_log_wait_for_copies(log);
	for (i = 0; i < nr; i++)
		publish(&log->moves.all[i]);
	lay_over(log);
	check_in_place(log);
	commit_mappings(log);
	gone = leave(log) && end_segments(log);
	if (gone) {
		left = unpin_mapped(log);
		log->moves.nr = 0;
	}
	log->moves.stay = !gone;
	cache_stat_add(log->c, STAT_LOG_MOVED, left);
	while (nr--)
		cache_migration_done(log->c);
	return left;
}

bool cache_log_is_moved(struct cache_log *log, u64 block)
{
	u32 i;

	for (i = 0; i < log->moves.nr; i++)
		if (log->moves.all[i].state == LOG_MOVE_MAPPED &&
		    log->moves.all[i].block == block)
			return true;
	return false;
}

/* Bios that wait for the worker's pin look again, and cache_log_is_stuck() fails them. */
static void wake_waiters(struct log_move *m)
{
	struct cache *c = m->log->c;
	struct slot *s = slot_at(&c->map, m->slot);

	if (atomic_fetch_andnot(SLOT_WAITERS, &s->word) & SLOT_WAITERS)
		cache_wake_waiters(c, m->slot);
}

/*
 * W5: as long as the disk has the log, a block whose extents could not leave it is not
 * unmapped, because the extents would be believed, and they are older.
 */
void cache_log_release_moved(struct cache_log *log)
{
	u32 i;

	if (!cache_log_counts(log)) {
		unpin_mapped(log);
		log->moves.nr = 0;
		log->moves.stay = false;
		return;
	}
	if (!cache_log_is_hopeless(log))
		return;
	for (i = 0; i < log->moves.nr; i++)
		if (log->moves.all[i].state == LOG_MOVE_MAPPED)
			wake_waiters(&log->moves.all[i]);
}
