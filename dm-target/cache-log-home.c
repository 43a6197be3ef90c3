// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents leave the write log: home to the origin, or nowhere, because they are
 * discarded.
 *
 * It owns the order of things (W4, W6, W13): copied, the origin flushed, GONE.  All of
 * it is done by one worker (cache-log-state.c), so no two parts of it meet.  It must
 * not know how a write is absorbed, nor when the log is turned on and off.
 */
#include "cache-bio.h"
#include "cache-log-home.h"
#include "cache-log-io.h"

#include <linux/sort.h>

/* After an error of the origin, for the whole log; as write-back has it. */
#define HOME_BACKOFF		(5 * HZ)
/* Above the first the log is too full, until it is below the second: percent. */
#define HIGH_MARK		75
#define LOW_MARK		50
/* A block of 600 runs, of which 16 can leave at a time, is empty after so many. */
#define DISCARD_PASSES		64
/* Runs that leave together while writes or discards wait for some of them. */
#define URGENT_RUNS		256U

/* ---- Runs leave ---- */

static void departure_ended(struct log_departure *d)
{
	struct cache_log *log = container_of(d, struct cache_log, departure);

	WRITE_ONCE(log->departed, true);
}

int cache_log_leave_runs(struct cache_log *log, struct log_run *runs, u32 nr)
{
	if (READ_ONCE(log->failed))
		return -EIO;
	log->departed = false;
	log->departure.runs = runs;
	log->departure.nr = nr;
	log->departure.ended = departure_ended;
	log_ring_leave(&log->ring, &log->departure);
	while (!READ_ONCE(log->departed) && !READ_ONCE(log->failed))
		cache_log_write_ring(log);
	return READ_ONCE(log->departed) ? 0 : -EIO;
}

static void unpin_runs(struct cache_log *log, const struct log_run *runs, u32 nr)
{
	while (nr--)
		slot_unpin_lent(slot_at(&log->c->map, runs[nr].slot));
}

/* ---- Copies to the origin ---- */

bool cache_log_has_waiters(struct cache_log *log)
{
	return READ_ONCE(log->nr_room) || READ_ONCE(log->nr_again) ||
	       !bio_list_empty(&log->leavers) || !bio_list_empty(&log->discards);
}

static u32 copy_room(struct cache_log *log)
{
	struct cache *c = log->c;
	u32 room = min_t(u64, READ_ONCE(c->limits.migration_threshold),
			 U32_MAX / 4);

	/* Users wait behind the copies, so there are fewer while users are there. */
	if (READ_ONCE(log->state) != CACHE_LOG_ON || log->nr_room || log->nr_again ||
	    time_after(jiffies, READ_ONCE(c->tick.last_io) + 2 * HZ))
		return 2 * room;
	return room / 2;
}

static void run_copied(int read_err, unsigned long write_err, void *context)
{
	struct log_copy *copy = context;
	struct cache_log *log = copy->log;

	copy->failed = read_err || write_err;
	if (read_err)
		cache_fast_error(log->c, STAT_CACHE_READ_ERRORS);
	else if (write_err)
		cache_stat_inc(log->c, STAT_ORIGIN_ERRORS);
	/* The result is there before the copy counts as ended. */
	smp_mb__before_atomic();
	atomic_sub(copy->sectors, &log->copying);
	wake_up_all(&log->wait);
}

static void copy_run(struct cache_log *log, u32 i)
{
	const struct log_run *run = &log->runs[i];
	struct cache *c = log->c;
	u32 room = copy_room(log);
	struct dm_io_region from = {
		.bdev = c->fast,
		.sector = cache_block_start(c, run->slot) + run->at,
		.count = run->sectors,
	};
	struct dm_io_region to = {
		.bdev = c->origin,
		.sector = cache_block_start(c, run->block) + run->sector,
		.count = run->sectors,
	};

	wait_event(log->wait, !atomic_read(&log->copying) ||
		   atomic_read(&log->copying) + run->sectors <= room);
	log->copies[i].log = log;
	log->copies[i].sectors = run->sectors;
	atomic_add(run->sectors, &log->copying);
	dm_kcopyd_copy(c->copier, &from, 1, &to, 0, run_copied, &log->copies[i]);
}

/*
 * Returns how many were begun, and have ended: all, unless a suspend began for which
 * nobody has to wait.
 */
static u32 copy_runs(struct cache_log *log, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (READ_ONCE(log->c->quiescing) && log->serves &&
		    !cache_log_has_waiters(log))
			break;
		copy_run(log, i);
	}
	wait_event(log->wait, !atomic_read(&log->copying));
	/* Pairs with run_copied(). */
	smp_rmb();
	return i;
}

/* Runs that could not be copied stay.  Returns how many leave: the first ones. */
static u32 drop_failed(struct cache_log *log, u32 nr)
{
	u32 i, n = 0;

	for (i = 0; i < nr; i++) {
		if (!log->copies[i].failed) {
			log->runs[n++] = log->runs[i];
			continue;
		}
		log_index_stay(&log->ix, &log->runs[i]);
		unpin_runs(log, &log->runs[i], 1);
	}
	return n;
}

/* These stay: @nr from @first on. */
static void keep_runs(struct cache_log *log, u32 first, u32 nr)
{
	u32 i;

	for (i = first; i < first + nr; i++)
		log_index_stay(&log->ix, &log->runs[i]);
	unpin_runs(log, log->runs + first, nr);
}

static void went_wrong(struct cache_log *log, const char *what, bool all)
{
	DMERR_LIMIT("write log: %s; what it holds stays there, and is tried again every %u seconds",
		    what, HOME_BACKOFF / HZ);
	if (all)
		log->backoff = jiffies + HOME_BACKOFF;
}

/* W4: copied, the origin flushed, then GONE.  Returns how many runs left. */
static u32 send_home(struct cache_log *log, u32 nr)
{
	u32 copied = copy_runs(log, nr), n;

	keep_runs(log, copied, nr - copied);
	n = drop_failed(log, copied);
	if (n < copied)
		went_wrong(log, "extents cannot be copied to the origin", !n);
	if (!n)
		return 0;
	if (cache_flush_origin(log->c)) {
		went_wrong(log, "the origin cannot be flushed", true);
		keep_runs(log, 0, n);
		return 0;
	}
	if (cache_log_leave_runs(log, log->runs, n)) {
		unpin_runs(log, log->runs, n);
		return 0;
	}
	cache_stat_add(log->c, STAT_LOG_HOME, n);
	unpin_runs(log, log->runs, n);
	return n;
}

/*
 * W13: the runs of a block, behind @nr others.  0 while writes to the origin alone or
 * discards are in flight: none begins while the block has extents.
 */
static u32 take_block(struct cache_log *log, u64 block, u32 nr, u32 max)
{
	int n;

	/* Pairs with cache_gate_enter(): the extents were there before. */
	smp_mb();
	if (cache_gate_is_busy(log->c, block))
		return 0;
	n = log_index_collect(&log->ix, block, log->runs + nr, max - nr, true);
	return max(n, 0);
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

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	if (x == y)
		return 0;
	return x < y ? -1 : 1;
}

static u32 pick_blocks(struct cache_log *log, u64 *blocks, u32 max)
{
	struct picked p = { .blocks = blocks, .max = max };

	log_index_for_each(&log->ix, pick, &p);
	sort(blocks, p.nr, sizeof(*blocks), by_number, NULL);
	return p.nr;
}

/* ---- Is it time? ---- */

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

static bool too_full(struct cache_log *log)
{
	struct cache *c = log->c;
	u64 dirty = (u64)atomic_read(&log->nr_segments) + atomic_read(&c->nr_dirty);
	u32 share = max3(cache_log_share(log), ring_share(log), memory_share(log));

	if (share >= HIGH_MARK ||
	    cache_blocks_exceed(c, dirty, READ_ONCE(c->limits.dirty_high)))
		log->above_mark = true;
	else if (share < LOW_MARK &&
		 !cache_blocks_exceed(c, dirty, READ_ONCE(c->limits.dirty_low)))
		log->above_mark = false;
	return log->above_mark;
}

static bool is_idle(struct cache *c)
{
	unsigned long seconds = READ_ONCE(c->limits.writeback_idle);

	return seconds &&
	       time_after(jiffies, READ_ONCE(c->tick.last_io) + seconds * HZ);
}

static bool may_go_home(struct cache_log *log)
{
	return READ_ONCE(log->state) != CACHE_LOG_OFF &&
	       !READ_ONCE(log->failed) && cache_may_go_home(log->c) &&
	       time_after_eq(jiffies, log->backoff) &&
	       !log_index_empty(&log->ix);
}

bool cache_log_home_is_wanted(struct cache_log *log)
{
	struct cache *c = log->c;

	if (!may_go_home(log))
		return false;
	if (cache_log_has_waiters(log))
		return true;
	if (READ_ONCE(c->quiescing))
		return false;
	return READ_ONCE(log->state) != CACHE_LOG_ON || too_full(log) || is_idle(c);
}

/* ---- Home ---- */

/* Returns how many runs left. */
static u64 blocks_go_home(struct cache_log *log, const u64 *blocks, u32 nr)
{
	u32 i, n = 0, max, taken;
	u64 left = 0;

	for (i = 0; i < nr && cache_log_home_is_wanted(log); i++) {
		max = cache_log_has_waiters(log) ? URGENT_RUNS : LOG_HOME_RUNS;
		do {
			if (n >= max) {
				left += send_home(log, n);
				cache_log_reap(log);
				n = 0;
				if (cache_log_has_waiters(log))
					return left;
			}
			taken = take_block(log, blocks[i], n, max);
			n += taken;
		} while (taken && n >= max && log_index_has(&log->ix, blocks[i]));
	}
	if (n)
		left += send_home(log, n);
	return left;
}

bool cache_log_go_home(struct cache_log *log)
{
	u32 nr = pick_blocks(log, log->blocks, LOG_HOME_BLOCKS);
	u64 left = blocks_go_home(log, log->blocks, nr);

	/* Records, too, what superseded the rest, so that segments become free. */
	if (!left)
		cache_log_write_ring(log);
	cache_log_reap(log);
	return left;
}

/* ---- Blocks that have to leave ---- */

static struct bio *pop_bio(struct cache_log *log, struct bio_list *list)
{
	struct bio *bio;

	spin_lock_irq(&log->lock);
	bio = bio_list_pop(list);
	spin_unlock_irq(&log->lock);
	return bio;
}

static void push_bios_back(struct cache_log *log, struct bio_list *list,
			   struct bio_list *bios)
{
	spin_lock_irq(&log->lock);
	bio_list_merge_head(list, bios);
	spin_unlock_irq(&log->lock);
}

/* All of the block goes home.  False if it does not now. */
bool cache_log_empty_block(struct cache_log *log, u64 block)
{
	u32 n;

	while (log_index_has(&log->ix, block)) {
		if (!may_go_home(log))
			return false;
		n = take_block(log, block, 0, LOG_HOME_RUNS);
		if (!n || !send_home(log, n))
			return false;
	}
	return true;
}

/*
 * New writes to the block are refused meanwhile, because otherwise this one might
 * wait for ever.
 */
static bool close_and_empty(struct cache_log *log, u64 block)
{
	bool left;

	if (!log_index_has(&log->ix, block))
		return true;
	if (log_index_close(&log->ix, block))
		return false;
	left = cache_log_empty_block(log, block);
	log_index_open(&log->ix, block);
	return left;
}

/* Nothing goes home for a while, or ever: a write must not wait so long. */
bool cache_log_is_hopeless(struct cache_log *log)
{
	struct cache *c = log->c;

	if (time_before(jiffies, log->backoff))
		return true;
	if (!READ_ONCE(log->failed))
		return !cache_may_go_home(c);
	/* Write-back may have to end first, and a suspend has stopped it. */
	return !cache_writable(c) || READ_ONCE(c->quiescing);
}

void cache_log_serve_leavers(struct cache_log *log)
{
	struct bio_list stay = BIO_EMPTY_LIST;
	struct bio *bio;

	while ((bio = pop_bio(log, &log->leavers))) {
		if (close_and_empty(log, cache_bio(bio)->block) ||
		    cache_bypassed(log->c))
			cache_defer_bio(log->c, bio, STEP_MAP);
		else if (cache_log_is_hopeless(log))
			bio_io_error(bio);
		else
			bio_list_add(&stay, bio);
	}
	push_bios_back(log, &log->leavers, &stay);
}

void cache_log_fail_waiters(struct cache_log *log)
{
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&log->lock);
	bios = log->again;
	bio_list_merge(&bios, &log->room);
	bio_list_init(&log->again);
	bio_list_init(&log->room);
	WRITE_ONCE(log->nr_again, 0);
	WRITE_ONCE(log->nr_room, 0);
	spin_unlock_irq(&log->lock);
	while ((bio = bio_list_pop(&bios)))
		bio_io_error(bio);
}

/* ---- Discards ---- */

/* Runs of what the discard covers, from its cursor on; the cursor goes on. */
static u32 collect_discarded(struct cache_log *log, struct cache_discard *d)
{
	u32 nr = 0;
	int n;

	for (; d->cursor < d->last && nr < LOG_HOME_RUNS; d->cursor++) {
		cond_resched();
		n = log_index_collect(&log->ix, d->cursor, log->runs + nr,
				      LOG_HOME_RUNS - nr, true);
		if (n < 0)
			break;
		nr += n;
	}
	return nr;
}

/* False: the ring has failed, or there is no memory. */
static bool discard_some(struct cache_log *log, struct cache_discard *d)
{
	u64 begin = d->cursor, first = begin;
	u32 passes, nr;
	int r;

	/* Again, because not all runs of a block may leave at a time. */
	for (passes = 0; passes < DISCARD_PASSES; passes++) {
		d->cursor = first;
		nr = collect_discarded(log, d);
		if (!nr)
			break;
		r = cache_log_leave_runs(log, log->runs, nr);
		unpin_runs(log, log->runs, nr);
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

	while ((bio = pop_bio(log, &log->discards))) {
		d = &cache_bio(bio)->discard;
		while (d->cursor < d->last && !READ_ONCE(log->failed) &&
		       discard_some(log, d))
			cond_resched();
		d->left_log = d->cursor == d->last;
		d->refused = !d->left_log;
		d->cursor = d->first;
		d->ahead = d->first;
		cache_defer_bio(log->c, bio, STEP_DISCARD);
	}
	cache_log_reap(log);
}

/* ---- A ring that failed ---- */

/*
 * W9: no record can say that an extent has gone home, so all stay in the index, until
 * the fence has made the disk forget the log with the mapping.  The origin alone must
 * not be written before that (W6).
 */
static bool copy_block(struct cache_log *log, u64 block)
{
	int n = log_index_collect(&log->ix, block, log->runs, LOG_HOME_RUNS,
				  false);
	u32 i, copied;
	bool all;

	if (n <= 0)
		return !n;
	copied = copy_runs(log, n);
	all = copied == n;
	for (i = 0; i < copied; i++)
		all &= !log->copies[i].failed;
	unpin_runs(log, log->runs, n);
	return all;
}

static bool copy_all_home(struct cache_log *log)
{
	u64 max = atomic64_read(&log->ix.nr_blocks) + 1, *blocks;
	bool copied = true;
	u32 nr, i;

	blocks = kvmalloc_array(max, sizeof(*blocks), GFP_NOIO);
	if (!blocks)
		return false;
	nr = pick_blocks(log, blocks, max);
	for (i = 0; i < nr && copied; i++)
		copied = copy_block(log, blocks[i]);
	kvfree(blocks);
	return copied && !cache_flush_origin(log->c);
}

void cache_log_save_failed(struct cache_log *log)
{
	struct cache *c = log->c;

	/* A write that was counted in later has seen that the ring failed. */
	smp_mb();
	if (!log->all_home && cache_may_go_home(c) &&
	    time_after_eq(jiffies, log->backoff) &&
	    !atomic_read(&log->in_flight)) {
		if (copy_all_home(log))
			WRITE_ONCE(log->all_home, true);
		else
			went_wrong(log, "extents cannot be copied to the origin",
				   true);
	}
	if (!log->all_home)
		return;
	/* Nothing is dirty any more, so the cache can be given up. */
	queue_work(c->commit_wq, &c->degrade.work);
	flush_work(&c->degrade.work);
}
