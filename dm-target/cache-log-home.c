// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents leave the write log: home to the origin, or nowhere, because they are
 * discarded.
 *
 * It owns the order of things (W4, W6, W13): copied, the origin flushed, GONE; and which
 * blocks go into the cache instead (cache-log-move.c).  One worker (cache-log-state.c) does
 * all of it, so nothing of it runs beside another part.  It must not know how a write is
 * absorbed, nor when the log is turned on and off.
 */
#include "cache-bio.h"
#include "../slots/cache-instant.h"
#include "cache-log-home.h"
#include "cache-log-move.h"
#include "cache-log-open.h"
#include "cache-log-pace.h"
#include "cache-log.h"

/*
 * After so many runs that were tried in vain, nothing is tried for a while, even if
 * the log has more.  Not chosen by measurement.
 */
#define FRUITLESS_MAX		65536
/*
 * From LOG_HIGH_MARK on the log is too full, until it is below this: percent.  Nearer to
 * that mark, going home would begin and end more often.  Further below, more would go
 * home that is written again soon.  Not chosen by measurement.
 */
#define LOW_MARK		50
/*
 * After so many passes a block of 600 runs is empty, even if only 16 can leave at a
 * time.
 */
#define DISCARD_PASSES		64
/*
 * Runs that leave together while somebody waits: writes, discards, or a removal.  With
 * fewer, each wait is shorter, but each flush of the origin and batch of the ring is for
 * fewer runs.  Not chosen by measurement.
 */
#define URGENT_RUNS		256U

/*
 * A batch with less room counts as full, because a block of 64 KiB may have so many
 * runs, and a block whose runs are split between batches keeps the next batch from
 * beginning.
 */
#define WHOLE_BLOCK		128U

/* Does somebody wait?  Then batches are small, because these end the wait sooner. */
static bool is_in_haste(struct cache_log *log)
{
	return log->worker.leaves || cache_log_is_pressed(log);
}

/* ---- Copies to the origin ---- */

static void begin_copy(struct cache_log *log, struct log_batch *b, u32 i)
{
	struct log_copy *copy = &b->copies[i];

	copy->move = NULL;
	copy->batch = b;
	atomic_inc(&b->nr_copying);
	cache_log_copy_run(log, &b->runs[i], log->c->dev.origin, b->runs[i].block, copy);
}

/*
 * Begin to copy all runs.  When a suspend begins, the rest is left out, unless
 * somebody waits.
 */
static void begin_copies(struct cache_log *log, struct log_batch *b)
{
	u32 i;

	for (i = 0; i < b->nr; i++) {
		if (READ_ONCE(log->c->life.quiescing) && log->worker.serves &&
		    !is_in_haste(log))
			break;
		begin_copy(log, b, i);
	}
	b->nr_begun = i;
}

static void wait_for_copies(struct cache_log *log, struct log_batch *b)
{
	wait_event(log->worker.wait, !atomic_read(&b->nr_copying));
	/* Pairs with copied() in cache-log-move.c. */
	smp_rmb();
}

/* @nr runs from @first on stay in the log. */
static void keep_runs(struct cache_log *log, const struct log_batch *b, u32 first,
		      u32 nr)
{
	u32 i;

	for (i = first; i < first + nr; i++)
		log_index_stay(&log->ix, &b->runs[i]);
	cache_log_unpin_runs(log, b->runs + first, nr);
}

/* Runs that were not copied stay.  Returns how many leave: the first ones. */
static u32 keep_failed(struct cache_log *log, struct log_batch *b)
{
	u32 i, n = 0;

	keep_runs(log, b, b->nr_begun, b->nr - b->nr_begun);
	for (i = 0; i < b->nr_begun; i++) {
		if (b->copies[i].failed)
			keep_runs(log, b, i, 1);
		else
			b->runs[n++] = b->runs[i];
	}
	return n;
}

static void went_wrong(const char *what)
{
	DMERR_LIMIT("write log: %s; what it holds stays there, and is tried again every %u seconds",
		    what, LOG_HOME_BACKOFF / HZ);
}

static void back_off(struct cache_log *log)
{
	WRITE_ONCE(log->home.backoff, jiffies + LOG_HOME_BACKOFF);
}

/*
 * W4: copied, the origin flushed, then GONE.  Returns how many runs left.  *@failed: some
 * could not be copied.
 */
static u32 end_copies(struct cache_log *log, struct log_batch *b, bool *failed)
{
	u32 n;

	wait_for_copies(log, b);
	n = keep_failed(log, b);
	*failed = n < b->nr_begun;
	if (*failed)
		went_wrong("extents cannot be copied to the origin");
	if (!n)
		return 0;
	/*
	 * After one failed flush every later one fails, too.  So nothing leaves
	 * that another batch had copied before.
	 */
	if (cache_flush_origin(log->c)) {
		went_wrong("the origin cannot be flushed");
		back_off(log);
		keep_runs(log, b, 0, n);
		return 0;
	}
	if (cache_log_leave_runs(log, b->runs, n)) {
		cache_log_unpin_runs(log, b->runs, n);
		return 0;
	}
	cache_stat_add(log->c, STAT_LOG_HOME, n);
	cache_log_unpin_runs(log, b->runs, n);
	return n;
}

/*
 * W13: add runs of a block to the batch, which may have @max.  Returns how many
 * were added: 0 while writes to the origin alone or discards are in flight.  None
 * of these begins while the block has extents.
 */
static u32 take_block(struct cache_log *log, u64 block, struct log_batch *b, u32 max)
{
	int n;

	/* Pairs with cache_gate_enter(): the extents were there before. */
	smp_mb();
	if (cache_gate_is_busy(log->c, block))
		return 0;
	n = log_index_collect(&log->ix, block, b->runs + b->nr, max - b->nr, true);
	if (n <= 0)
		return 0;
	b->nr += n;
	return n;
}

/* ---- Which blocks ---- */

struct picked {
	u64 *blocks;
	u32 nr, max;
};

static int pick(void *ctx, const struct log_run *run)
{
	struct picked *p = ctx;

	if (p->nr && p->blocks[p->nr - 1] == run->block)
		return 0;
	if (p->nr == p->max)
		return 1;
	p->blocks[p->nr++] = run->block;
	return 0;
}

static u32 pick_blocks(struct cache_log *log, u64 *blocks, u32 max)
{
	struct picked p = { .blocks = blocks, .max = max };

	log_index_visit_from(&log->ix, pick, &p, log->home.pick_from);
	/* If all of these stay, the next pass picks others. */
	if (p.nr == max)
		log->home.pick_from = log_index_bucket(&log->ix, blocks[max - 1]) + 1;
	cache_log_sort_blocks(blocks, p.nr);
	return p.nr;
}

/*
 * The index of the first of the sorted @blocks that is not before @block; 0 if all
 * are.
 */
static u32 first_from(const u64 *blocks, u32 nr, u64 block)
{
	u32 low = 0, high = nr;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (blocks[middle] < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nr ? low : 0;
}

/* ---- Is it time? ---- */

static bool too_full(struct cache_log *log, u32 fullness)
{
	struct cache *c = log->c;
	u64 dirty = (u64)atomic_read(&log->room.nr_segments) + atomic_read(&c->nr.dirty);

	if (fullness >= LOG_HIGH_MARK ||
	    cache_blocks_exceed(c, dirty, READ_ONCE(c->limits.dirty_high)))
		WRITE_ONCE(log->home.above_mark, true);
	else if (fullness < LOW_MARK &&
		 !cache_blocks_exceed(c, dirty, READ_ONCE(c->limits.dirty_low)))
		WRITE_ONCE(log->home.above_mark, false);
	return log->home.above_mark;
}

static bool can_go_home(struct cache_log *log)
{
	return READ_ONCE(log->life.state) != CACHE_LOG_OFF &&
	       !READ_ONCE(log->life.failed) && cache_may_go_home(log->c) &&
	       !log_index_empty(&log->ix);
}

bool cache_log_home_is_wanted(struct cache_log *log)
{
	/*
	 * An empty log is looked at, too, because streams are absorbed until too_full()
	 * sets above_mark.
	 */
	u32 fullness = cache_log_fullness(log);
	bool full = too_full(log, fullness);
	bool can = can_go_home(log) && !cache_log_backs_off(log);
	struct cache *c = log->c;

	cache_log_set_pace(log, fullness, can && log->life.state == CACHE_LOG_ON);
	if (!can)
		return false;
	if (cache_log_has_waiters(log))
		return true;
	if (log->worker.leaves)
		return time_before(jiffies, log->worker.leave_until);
	if (READ_ONCE(c->life.quiescing))
		return false;
	return READ_ONCE(log->life.state) != CACHE_LOG_ON || full || cache_is_idle(c);
}

/* ---- Home ---- */

/* How many runs the log has, or a few more. */
static u64 nr_runs(struct cache_log *log)
{
	return READ_ONCE(log->ix.nr_ring) + atomic64_read(&log->ix.nr_unlogged);
}

/*
 * A bad stretch of the origin must not keep the rest in the log, so the next pass
 * goes on behind a batch that failed.  Only if all of the log was tried in vain,
 * nothing is tried for a while.
 */
static u64 end_batch(struct cache_log *log, struct log_batch *b)
{
	bool failed = false;
	u32 left;

	if (!b->nr)
		return 0;
	left = end_copies(log, b, &failed);
	log->home.fruitless = left || !failed ? 0 : log->home.fruitless + b->nr;
	b->nr = 0;
	if (log->home.fruitless > min_t(u64, nr_runs(log), FRUITLESS_MAX))
		back_off(log);
	cache_log_reap(log);
	return left;
}

/* Nothing more leaves a cache that is being removed when its time is over. */
static void begin_batch(struct cache_log *log, struct log_batch *b)
{
	b->nr_begun = 0;
	if (!log->worker.leaves || time_before(jiffies, log->worker.leave_until))
		begin_copies(log, b);
}

/* The batch that was filled begins; the one that was begun before ends, and is filled next. */
static u64 send_batch(struct cache_log *log)
{
	struct log_batch *b = &log->home.batches[log->home.filling];

	if (b->nr)
		log->home.next = b->runs[b->nr - 1].block + 1;
	begin_batch(log, b);
	log->home.filling ^= 1;
	return end_batch(log, &log->home.batches[log->home.filling]);
}

/*
 * End both batches and all moves into the cache.  Returns how many runs and blocks
 * have left.
 */
static u64 end_all(struct cache_log *log)
{
	u64 left = send_batch(log), moved;

	left += send_batch(log);
	moved = cache_log_end_moves(log);
	if (!moved)
		return left;
	log->home.fruitless = 0;
	cache_log_reap(log);
	return left + moved;
}

/*
 * Make room for runs of the block in the batch that is filled.  No block may have
 * runs in both batches, so if it has some in this one, both are ended first.
 * Returns false if that made nothing leave.  Adds to *@left how many runs have left.
 */
static bool make_room(struct cache_log *log, u64 block, u64 *left)
{
	struct log_batch *b = &log->home.batches[log->home.filling];
	u64 some;

	if (b->runs[b->nr - 1].block != block) {
		*left += send_batch(log);
		return true;
	}
	some = end_all(log);
	*left += some;
	return some;
}

/*
 * Add runs of the block to the batch that is filled.  Returns whether a batch was
 * sent.  Adds to *@left how many runs have left.
 */
static bool add_block(struct cache_log *log, u64 block, u32 max, u64 *left)
{
	bool sent = false;
	u32 taken;

	do {
		if (log->home.batches[log->home.filling].nr > max - WHOLE_BLOCK) {
			sent = true;
			if (!make_room(log, block, left))
				break;
		}
		taken = take_block(log, block, &log->home.batches[log->home.filling], max);
	} while (taken && log->home.batches[log->home.filling].nr == max &&
		 log_index_has(&log->ix, block));
	return sent;
}

/* Is the block to go into the cache?  Not while somebody waits for the log. */
static bool goes_into_cache(struct cache_log *log, u64 block)
{
	return !log->worker.leaves && !cache_log_has_waiters(log) &&
	       (cache_log_awaits_mapping(log, block) ||
		cache_log_begin_move(log, block));
}

/*
 * The picked blocks leave, until somebody waits.  Returns how many runs have left, plus
 * how many blocks went into the cache.
 */
static u64 blocks_go_home(struct cache_log *log)
{
	u64 left = 0, block;
	bool sent = false;

	while (log->home.next_pick < log->home.nr_picked &&
	       cache_log_home_is_wanted(log) &&
	       !(sent && cache_log_is_pressed(log))) {
		if (log->moves.nr == LOG_NR_COPIED)
			left += end_all(log);
		block = log->home.blocks[log->home.next_pick++];
		if (!goes_into_cache(log, block))
			sent = add_block(log, block,
					 is_in_haste(log) ? URGENT_RUNS : LOG_HOME_RUNS,
					 &left);
	}
	left += end_all(log);
	if (log->home.next_pick == log->home.nr_picked)
		log->home.next = 0;
	return left;
}

/*
 * Map the segments in place that a whole block fills.  They wait for each other,
 * because then one commit maps many.
 */
bool cache_log_map_whole(struct cache_log *log)
{
	u32 moved;

	u32 nr = READ_ONCE(log->room.nr_whole);

	if (!nr || (nr < LOG_WHOLE_BATCH &&
		    instant_is_ahead(log->home.whole_after, jiffies, HZ) &&
		    !cache_log_home_is_wanted(log)))
		return false;
	log->home.whole_after = jiffies + HZ;
	if (!cache_log_begin_whole(log))
		return false;
	moved = cache_log_end_moves(log);
	cache_log_reap(log);
	return moved;
}

void cache_log_serve_wanted(struct cache_log *log)
{
	u64 blocks[LOG_NR_WANTED];
	u32 nr, i;

	spin_lock_irq(&log->waiting.lock);
	nr = log->wanted.nr;
	memcpy(blocks, log->wanted.blocks, nr * sizeof(*blocks));
	WRITE_ONCE(log->wanted.nr, 0);
	spin_unlock_irq(&log->waiting.lock);
	cache_log_sort_blocks(blocks, nr);
	for (i = 0; i < nr && !cache_log_has_waiters(log); i++) {
		cache_log_begin_move(log, blocks[i]);
		if (log->moves.nr == LOG_NR_COPIED)
			cache_log_end_moves(log);
	}
	if (cache_log_end_moves(log))
		cache_log_reap(log);
}

/*
 * Pick the next blocks.  A block that comes into the log later waits until blocks
 * are picked again.
 */
static void pick_again(struct cache_log *log)
{
	struct cache_log_home *home = &log->home;

	home->nr_picked = pick_blocks(log, home->blocks, LOG_HOME_BLOCKS);
	home->next_pick = first_from(home->blocks, home->nr_picked, home->next);
	if (home->nr_picked < LOG_HOME_BLOCKS)
		home->pick_from = 0;
}

bool cache_log_go_home(struct cache_log *log)
{
	u64 left;

	if (log->home.next_pick == log->home.nr_picked)
		pick_again(log);
	left = blocks_go_home(log);
	if (left)
		log->home.pick_from = 0;
	/*
	 * Nothing has left.  So the ring records which extents were superseded, because
	 * that frees segments, too.
	 */
	if (!left)
		cache_log_write_ring(log);
	cache_log_reap(log);
	return left;
}

/* ---- Blocks that have to leave ---- */

static struct bio *pop_bio(struct cache_log *log, struct bio_list *list)
{
	struct bio *bio;

	spin_lock_irq(&log->waiting.lock);
	bio = bio_list_pop(list);
	spin_unlock_irq(&log->waiting.lock);
	return bio;
}

static void push_bios_back(struct cache_log *log, struct bio_list *list,
			   struct bio_list *bios)
{
	spin_lock_irq(&log->waiting.lock);
	bio_list_merge_head(list, bios);
	spin_unlock_irq(&log->waiting.lock);
}

/*
 * All of the block goes home, even while the log backs off.  -EBUSY: not now; -EIO: it
 * cannot be copied.
 */
static int empty_block(struct cache_log *log, u64 block)
{
	struct log_batch *b = &log->home.batches[0];
	bool failed;
	u32 left;

	while (log_index_has(&log->ix, block)) {
		if (!can_go_home(log))
			return -EBUSY;
		b->nr = 0;
		if (!take_block(log, block, b, LOG_HOME_RUNS))
			return -EBUSY;
		begin_copies(log, b);
		left = end_copies(log, b, &failed);
		b->nr = 0;
		if (!left)
			return failed ? -EIO : -EBUSY;
	}
	return 0;
}

bool cache_log_empty_block(struct cache_log *log, u64 block)
{
	return !empty_block(log, block);
}

/*
 * New writes to the block are refused meanwhile, because otherwise the write that waits
 * for the block might wait for ever.
 */
static int close_and_empty(struct cache_log *log, u64 block)
{
	int r;

	if (!log_index_has(&log->ix, block))
		return 0;
	if (log_index_close(&log->ix, block))
		return -EBUSY;
	r = empty_block(log, block);
	log_index_open(&log->ix, block);
	return r;
}

void cache_log_serve_leavers(struct cache_log *log)
{
	struct bio_list stay = BIO_EMPTY_LIST;
	struct bio *bio;
	int r;

	while ((bio = pop_bio(log, &log->waiting.leavers))) {
		r = close_and_empty(log, cache_bio(bio)->block);
		if (!r || !cache_log_counts(log))
			cache_defer_bio(log->c, bio, STEP_MAP);
		else if (r == -EIO || cache_log_none_goes_home(log))
			bio_io_error(bio);
		else
			bio_list_add(&stay, bio);
	}
	push_bios_back(log, &log->waiting.leavers, &stay);
}

/* ---- Discards ---- */

/*
 * Collect the runs that the discard covers, from its cursor on, and move the cursor
 * behind them.
 */
static u32 collect_discarded(struct cache_log *log, struct cache_discard *d)
{
	u32 nr = 0;
	int n;

	for (; d->cursor < d->last && nr < LOG_HOME_RUNS; d->cursor++) {
		cond_resched();
		n = log_index_collect(&log->ix, d->cursor, log->copying.runs + nr,
				      LOG_HOME_RUNS - nr, true);
		if (n < 0)
			break;
		nr += n;
	}
	return nr;
}

/* False: the ring has failed, memory is short, or the block has no room for the runs. */
static bool discard_some(struct cache_log *log, struct cache_discard *d)
{
	u64 begin = d->cursor, first = begin;
	u32 passes, nr;
	int r;

	/* Several passes, because not all runs of a block may leave at a time. */
	for (passes = 0; passes < DISCARD_PASSES; passes++) {
		d->cursor = first;
		nr = collect_discarded(log, d);
		if (!nr)
			break;
		r = cache_log_leave_runs(log, log->copying.runs, nr);
		cache_log_unpin_runs(log, log->copying.runs, nr);
		if (r)
			return false;
		while (first < d->cursor && !log_index_has(&log->ix, first))
			first++;
	}
	return d->cursor > begin;
}

/*
 * W6: GONE is durable before the discard is passed down.  Writes that are absorbed
 * meanwhile came beside the discard, so they may come after it.
 */
void cache_log_serve_discards(struct cache_log *log)
{
	struct cache_discard *d;
	struct bio *bio;

	while ((bio = pop_bio(log, &log->waiting.discards))) {
		d = &cache_bio(bio)->discard;
		while (d->cursor < d->last && !READ_ONCE(log->life.failed) &&
		       discard_some(log, d))
			cond_resched();
		d->left_log = d->cursor == d->last || !cache_log_counts(log);
		d->refused = !d->left_log;
		d->cursor = d->first;
		d->ahead = d->first;
		cache_defer_bio(log->c, bio, STEP_DISCARD);
	}
	cache_log_reap(log);
}

/* ---- A ring that failed ---- */

/*
 * W9: no record can say that an extent has gone home.  So all stay in the index, until
 * the log's flag is cleared, or the cache is given up.  The origin alone must not be
 * written before that (W6).
 */
static bool copy_block(struct cache_log *log, u64 block)
{
	struct log_batch *b = &log->home.batches[0];
	bool all;
	u32 i;
	int n;

	/* W5: it went into the cache, where it may be newer. */
	if (cache_log_is_moved(log, block))
		return true;
	n = log_index_collect(&log->ix, block, b->runs, LOG_HOME_RUNS, false);
	if (n <= 0)
		return !n;
	b->nr = n;
	begin_copies(log, b);
	wait_for_copies(log, b);
	all = b->nr_begun == n;
	for (i = 0; i < b->nr_begun; i++)
		all &= !b->copies[i].failed;
	cache_log_unpin_runs(log, b->runs, n);
	b->nr = 0;
	return all;
}

/* Nothing comes in any more, so all blocks are picked once. */
static bool pick_unsaved(struct cache_log *log)
{
	u64 max = atomic64_read(&log->ix.nr_blocks) + 1;

	if (log->home.unsaved)
		return true;
	log->home.unsaved = kvmalloc_array(max, sizeof(*log->home.unsaved), GFP_NOIO);
	if (!log->home.unsaved)
		return false;
	log->home.nr_unsaved = pick_blocks(log, log->home.unsaved, max);
	return true;
}

/* A block that cannot be read keeps no other from being saved, and is tried again. */
static bool copy_all_home(struct cache_log *log)
{
	u32 i, nr = 0;

	if (!pick_unsaved(log))
		return false;
	for (i = 0; i < log->home.nr_unsaved; i++)
		if (!copy_block(log, log->home.unsaved[i]))
			log->home.unsaved[nr++] = log->home.unsaved[i];
	log->home.nr_unsaved = nr;
	return !cache_flush_origin(log->c) && !nr;
}

bool cache_log_save_failed(struct cache_log *log)
{
	struct cache *c = log->c;

	/* A write that was counted in later has seen that the ring failed. */
	smp_mb();
	if (!log->life.all_home && cache_may_go_home(c) &&
	    !cache_log_backs_off(log) &&
	    !atomic_read(&log->room.in_flight)) {
		/*
		 * The walk looks at the index after it looked at the count, because it
		 * is made only once, and must miss no block.  Pairs with the barrier in
		 * cache_log_end_write().
		 */
		smp_rmb();
		if (copy_all_home(log)) {
			/* I2: the disk has older records of what went home. */
			WRITE_ONCE(c->degrade.went_home_unsaid, true);
			WRITE_ONCE(log->life.all_home, true);
		} else {
			went_wrong("extents cannot be copied to the origin");
			back_off(log);
		}
	}
	return log->life.all_home;
}
