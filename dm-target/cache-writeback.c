// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back: dirty blocks go home to the origin, in the origin's order.
 *
 * It owns the life of a WRITEBACK slot.  Reads of the block go on meanwhile, and
 * writes in the modes that keep dirty blocks; a block that was written again stays
 * dirty.  The dirty bit leaves
 * the disk only with a commit that flushed both devices first (I2).
 *
 * If the metadata cannot be written, or the cache device cannot flush, no commit
 * can call a block clean.  The block goes home all the same: once the origin is
 * flushed, it is clean in memory, while the disk still calls it dirty (INTENT without
 * DIRTY, as after a write to both devices).  Both copies have to stay equal then:
 * until its mapping is gone, a write to it goes to both devices, makes it dirty again,
 * or fails.
 *
 * Write-back copies the parts of a block that were written, and the parts between
 * them.  A slot that enters WRITEBACK forgets its parts; writes mark theirs anew,
 * and a slot that leaves WRITEBACK dirty gets the forgotten ones back.
 *
 * It must not know why a block became dirty, nor how a commit is made.
 */
#include "../slots/cache-instant.h"
#include "cache-trace.h"

#include <linux/sort.h>

/*
 * After an error its block is left alone for so long.  If the time were shorter, a bad
 * sector would keep its device busy more often.  If it were longer, blocks would stay
 * dirty for longer when the device answers again.  Not chosen by measurement.
 */
#define WB_BACKOFF_SECONDS	5
#define WB_BACKOFF		(WB_BACKOFF_SECONDS * HZ)
/*
 * After so many errors in a row all blocks wait, because a device is to blame.  Fewer
 * may be bad sectors.  Not chosen by measurement.
 */
#define WB_FAILED_IN_ROW	64
/*
 * The first errors of such a row are logged by block.  They are few, because a device that
 * has failed would fill the kernel log.  Not chosen by measurement.
 */
#define WB_NAMED_IN_ROW		8
/*
 * After so long without user I/O, write-back has the disk; see users_are_gone().  If the
 * time were shorter, write-back would take the disk while a user waits for a slow
 * request.  Not chosen by measurement.
 */
#define WB_ALONE		(HZ / 4)

/*
 * Between the two marks the answer stays what it was.  Blocks on their way home do
 * not count, though they are dirty until that is committed.
 */
static bool too_dirty(struct cache *c)
{
	u64 high = min(READ_ONCE(c->limits.dirty_high),
		       READ_ONCE(c->limits.dirty_limit));
	int left = atomic_read(&c->nr.dirty) -
		   atomic_read(&c->writeback.nr_blocks);

	left = max(left, 0);
	if (cache_blocks_exceed(c, left, high))
		c->writeback.above_mark = true;
	else if (!cache_blocks_exceed(c, left, READ_ONCE(c->limits.dirty_low)))
		c->writeback.above_mark = false;
	return c->writeback.above_mark;
}

static bool backs_off(struct cache *c)
{
	return instant_is_ahead(READ_ONCE(c->writeback.backoff), jiffies,
				WB_BACKOFF);
}

static enum cache_wb_reason writeback_wanted(struct cache *c)
{
	if (READ_ONCE(c->life.quiescing) || !cache_may_go_home(c) ||
	    !atomic_read(&c->nr.dirty) || backs_off(c))
		return CACHE_WB_NOT;
	if (cache_all_must_go(c))
		return CACHE_WB_DRAIN;
	if (atomic_read(&c->writeback.nr_wanted))
		return CACHE_WB_ROOM;
	if (too_dirty(c))
		return CACHE_WB_SHARE;
	return cache_is_idle(c) ? CACHE_WB_IDLE : CACHE_WB_NOT;
}

/* ---- How many at a time ---- */

/*
 * Room for @sectors under way.  When all of it was taken, copies begin again when no
 * more than @low sectors are under way.
 */
static void set_room(struct cache *c, u32 sectors, u32 low)
{
	u32 block = min(c->geo.block_sectors, sectors);

	c->writeback.room = sectors;
	WRITE_ONCE(c->writeback.low, min(low, sectors - block));
}

/*
 * A user blocked on the disk sends nothing, so silence means idle only after
 * WB_ALONE, and not while a request is at the origin.  A read that was sent before
 * write-back began is not counted there.
 */
static bool users_are_gone(struct cache *c)
{
	u64 ios = cache_user_ios(c);

	if (ios != c->writeback.ios_seen || atomic_read(&c->writeback.users)) {
		c->writeback.ios_seen = ios;
		c->writeback.user_seen = jiffies;
	}
	return time_after(jiffies, c->writeback.user_seen + WB_ALONE);
}

/*
 * Users wait behind the blocks on their way to the origin.  So write-back has a
 * quarter of the room while there are users, unless they wait for slots.  Without
 * users it has twice the room, because a disk is faster the more it can choose
 * from.  Several copies begin together, so that users are disturbed less often.
 * A drain that was asked for has half of the room, because users yield to it.  It is
 * measured: with twice the room the p99 of hits at depth 16 was 1.9 times the p99 without
 * a drain, because sixteen copies began together and the hits shared the CPU with them.
 * With the whole room, and four copies at a time, the p99 of hits at depth 1 was 1.6 times
 * the p99 without a drain.
 */
static void measure_room(struct cache *c)
{
	u32 room = min_t(u64, READ_ONCE(c->limits.migration_threshold),
			 U32_MAX / 2);

	if (users_are_gone(c)) {
		set_room(c, 2 * room, room);
		return;
	}
	if (cache_drain_is_asked(c))
		room /= 2;
	else if (!atomic_read(&c->writeback.nr_wanted))
		room /= 4;
	set_room(c, room, room / 2);
}

static bool has_room(struct cache *c)
{
	return cache_block_fits(c, atomic_read(&c->writeback.sectors),
				c->writeback.room);
}

static bool may_go_on(struct cache *c)
{
	u32 used = atomic_read(&c->writeback.sectors);

	return !used || used <= READ_ONCE(c->writeback.low);
}

void cache_user_at_origin(struct cache *c)
{
	atomic_inc(&c->writeback.users);
}

u32 cache_users_at_origin(struct cache *c)
{
	return atomic_read(&c->writeback.users);
}

void cache_user_left_origin(struct cache *c)
{
	atomic_inc(&c->writeback.users_left);
	atomic_dec(&c->writeback.users);
	/* The barrier pairs with that of wait_event_timeout() in wait_for_room(). */
	if (wq_has_sleeper(&c->wait.migrations) && may_go_on(c))
		wake_up_all(&c->wait.migrations);
}

/*
 * One of the users' requests that missed ends at the origin before further copies begin,
 * because a disk serves next what is near its head, and that is where write-back goes on.
 * A request far from there waited for a quarter of a second.  If users yield to a drain,
 * or wait for clean blocks, they wait for the copies.
 */
static bool is_users_turn(struct cache *c)
{
	return cache_users_at_origin(c) && !cache_all_must_go(c) &&
	       !atomic_read(&c->writeback.nr_wanted) &&
	       !cache_over_dirty_limit(c, 0) &&
	       (u32)atomic_read(&c->writeback.users_left) == c->writeback.left_seen;
}

/* A request that does not end does not hold write-back up for longer than WB_ALONE. */
static void wait_for_room(struct cache *c)
{
	if (has_room(c))
		return;
	do {
		wait_event_timeout(c->wait.migrations,
				   (may_go_on(c) && !is_users_turn(c)) ||
				   READ_ONCE(c->life.quiescing),
				   WB_ALONE);
		measure_room(c);
	} while (!has_room(c) && !READ_ONCE(c->life.quiescing));
	c->writeback.left_seen = atomic_read(&c->writeback.users_left);
}

/* A block counts as a whole one, even if only a part is copied. */
static void copy_started(struct cache *c)
{
	cache_migration_started(c);
	atomic_add(c->geo.block_sectors, &c->admit.migrating_sectors);
	atomic_inc(&c->writeback.nr_blocks);
	atomic_add(c->geo.block_sectors, &c->writeback.sectors);
}

static void copy_ended(struct cache *c)
{
	atomic_sub(c->geo.block_sectors, &c->admit.migrating_sectors);
	atomic_sub(c->geo.block_sectors, &c->writeback.sectors);
	if (wq_has_sleeper(&c->wait.migrations) && may_go_on(c))
		wake_up_all(&c->wait.migrations);
}

/* ---- Blocks that cannot go home ---- */

/*
 * Each is left alone for a while, and holds up no other block.  Many blocks share
 * an entry of the table; a block that loses its entry is only tried sooner.
 */
static struct wb_failed *failed_at(struct cache *c, u64 block)
{
	return &c->writeback.failed[hash_64(block, ilog2(CACHE_NR_WB_FAILED))];
}

bool cache_failed_to_go_home(struct cache *c, u64 block)
{
	struct wb_failed *f = failed_at(c, block);
	bool found;

	if (!READ_ONCE(f->used))
		return false;
	spin_lock(&c->writeback.failed_lock);
	found = f->used && f->block == block &&
		instant_is_ahead(f->until, jiffies, WB_BACKOFF);
	spin_unlock(&c->writeback.failed_lock);
	return found;
}

/*
 * After WB_FAILED_IN_ROW errors in a row a device is to blame, and not its places.
 * From then on so many blocks at a time are tried, WB_BACKOFF_SECONDS apart.  Returns
 * true the first time.
 */
static bool count_failure(struct cache *c)
{
	lockdep_assert_held(&c->writeback.failed_lock);
	if (++c->writeback.failed_in_row < WB_FAILED_IN_ROW)
		return false;
	c->writeback.failed_in_row = 0;
	WRITE_ONCE(c->writeback.backoff, jiffies + WB_BACKOFF);
	if (c->writeback.stuck)
		return false;
	c->writeback.stuck = true;
	return true;
}

static void went_wrong(struct cache *c, const struct migration *m,
		       const char *what)
{
	struct wb_failed *f = failed_at(c, m->block);
	bool name, stuck;

	spin_lock(&c->writeback.failed_lock);
	name = !c->writeback.stuck &&
	       c->writeback.failed_in_row < WB_NAMED_IN_ROW &&
	       !(f->used && f->block == m->block);
	f->block = m->block;
	f->until = jiffies + WB_BACKOFF;
	WRITE_ONCE(f->used, true);
	stuck = count_failure(c);
	spin_unlock(&c->writeback.failed_lock);

	if (name)
		DMERR_LIMIT("write-back of block %llu failed: %s error; it stays dirty and is tried again every %u seconds",
			    m->block, what, WB_BACKOFF_SECONDS);
	if (stuck)
		DMERR("write-back: nothing but %s errors; blocks stay dirty, and some are tried every %u seconds",
		      what, WB_BACKOFF_SECONDS);
}

static void went_well(struct cache *c, u64 block)
{
	struct wb_failed *f = failed_at(c, block);

	if (!READ_ONCE(c->writeback.failed_in_row) &&
	    !READ_ONCE(c->writeback.stuck) && !READ_ONCE(f->used))
		return;
	spin_lock(&c->writeback.failed_lock);
	WRITE_ONCE(c->writeback.failed_in_row, 0);
	WRITE_ONCE(c->writeback.stuck, false);
	if (f->block == block)
		WRITE_ONCE(f->used, false);
	spin_unlock(&c->writeback.failed_lock);
}

/* ---- One block ---- */

static void end_migration(struct cache *c, struct migration *m)
{
	mempool_free(m, &c->evict.pool);
	atomic_dec(&c->writeback.nr_blocks);
	cache_yield_turns(c);
	cache_migration_done(c);
}

/* Leave WRITEBACK for VALID.  cache_slot_released() opens a slot that is closed. */
static void leave_writeback(struct cache *c, u32 slot, u32 marks)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 old = slot_word(s), gone = 0;

	/* The slot is dirty again with content that was acknowledged. */
	if (marks & SLOT_DIRTY)
		gone |= SLOT_UNWRITTEN;
	while (!slot_try_change(s, &old, (slot_with_state(old, SLOT_VALID) |
					  marks) & ~gone))
		;
	if (~old & marks & SLOT_DIRTY)
		atomic_inc(&c->nr.dirty);
	if (~old & marks & SLOT_INTENT)
		atomic_inc(&c->nr.intents);
	if (old & SLOT_WAITERS)
		cache_slot_released(c, slot);
}

/* I3: the copy on the origin cannot be relied on, so the slot is dirty again. */
static u32 marks_given_back(struct cache *c, struct migration *m)
{
	/*
	 * After a flush that failed the bit on disk still says dirty.  After a
	 * commit that failed it may say either, so the slot gets no INTENT: its
	 * next write asks for one, and read-only health refuses that.
	 */
	if (m->op.kind == COMMIT_CLEAR_DIRTY && cache_writable(c))
		return m->parts | SLOT_DIRTY | SLOT_INTENT;
	return m->parts | SLOT_DIRTY;
}

static void writeback_committed(struct cache *c, struct commit_op *op,
				int error)
{
	struct migration *m = container_of(op, struct migration, op);

	trace_dm_cache_writeback(c, m->block, m->slot, m->why, m->began, error);
	leave_writeback(c, m->slot, error ? marks_given_back(c, m) : 0);
	/* lvm2, for one, waits for a clean cache. */
	if (atomic_dec_and_test(&c->nr.dirty))
		c->life.tell_tables(c);
	if (!error) {
		cache_stat_inc(c, STAT_WRITEBACKS);
		cache_lately_note(c, m->block);
		/* An eviction that met only dirty victims can try again. */
		if (cache_reserve_is_short(c))
			cache_want_slots(c);
	} else {
		/* The block may go home without a commit now. */
		cache_kick_writeback(c);
	}
	end_migration(c, m);
}

/*
 * The copy is on the origin.  If nothing was written since it began, the block is
 * clean from here on, and its slot loses @marks.
 */
static bool take_marks(struct cache *c, u32 slot, u32 marks)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 old = slot_word(s);

	lockdep_assert_held(&c->commit.lock);
	do {
		if (old & (SLOT_TOUCHED | SLOT_WRITER_MASK))
			return false;
	} while (!slot_try_change(s, &old, old & ~marks));

	if (old & marks & SLOT_INTENT)
		atomic_dec(&c->nr.intents);
	return true;
}

/*
 * I2: the intent goes, too, so the next write asks for a new one, and that change is
 * queued after this one.
 */
static bool clear_marks(struct cache *c, u32 slot)
{
	return take_marks(c, slot, SLOT_DIRTY | SLOT_UNWRITTEN | SLOT_INTENT);
}

/*
 * The disk still calls the block dirty.  A write that comes now finds the intent:
 * it goes to both devices, or makes the slot dirty again.
 */
static bool clear_dirty(struct cache *c, u32 slot)
{
	return take_marks(c, slot, SLOT_DIRTY | SLOT_UNWRITTEN);
}

/* Can a commit say that a block is clean? */
static bool disk_can_say_clean(struct cache *c)
{
	return cache_writable(c) && !cache_flush_failed(c);
}

/* I2: the commit flushes first.  False if the block was written meanwhile. */
static bool queue_clean(struct cache *c, struct migration *m)
{
	bool says_clean = disk_can_say_clean(c);

	/* Set before nr.dirty falls, because give_up() looks at it after nr.dirty. */
	if (!says_clean)
		WRITE_ONCE(c->degrade.went_home_unsaid, true);
	m->op.kind = says_clean ? COMMIT_CLEAR_DIRTY : COMMIT_HOME;
	m->op.slot = m->slot;
	m->op.block = m->block;
	m->op.done = writeback_committed;
	return cache_commit_linger_if(c, &m->op,
				      says_clean ? clear_marks : clear_dirty);
}

static void stays_dirty(struct cache *c, struct migration *m, int why)
{
	trace_dm_cache_writeback(c, m->block, m->slot, m->why, m->began, why);
	leave_writeback(c, m->slot, m->parts);
	end_migration(c, m);
}

static void copied_to_origin(int read_err, unsigned long write_err,
			     void *context)
{
	struct migration *m = context;
	struct cache *c = m->c;

	copy_ended(c);
	if (read_err || write_err) {
		if (read_err)
			cache_fast_error(c, STAT_CACHE_READ_ERRORS);
		else
			cache_stat_inc(c, STAT_ORIGIN_ERRORS);
		went_wrong(c, m, read_err ? "cache read" : "origin write");
		stays_dirty(c, m, -EIO);
		return;
	}
	went_well(c, m->block);
	if (!queue_clean(c, m))
		stays_dirty(c, m, -EAGAIN);
}

static bool begin_copy(struct cache *c, struct migration *m)
{
	struct slot *s = slot_at(&c->map, m->slot);
	u32 word = slot_word(s);
	u32 new = slot_with_state(word, SLOT_WRITEBACK) &
		  ~(SLOT_TOUCHED | SLOT_PARTS_MASK);

	if (slot_state(word) != SLOT_VALID || !(word & SLOT_DIRTY) ||
	    (word & SLOT_WRITER_MASK))
		return false;
	m->parts = word & SLOT_PARTS_MASK;
	return slot_try_change(s, &word, new);
}

/* The sectors of the block that are to be copied: @nr from @first on. */
static void sectors_of_parts(struct cache *c, u32 parts, sector_t *first,
			     sector_t *nr)
{
	u32 from = 0, end = c->geo.block_sectors;

	/* A dirty slot has a part.  If one has none, all of it goes. */
	if (!WARN_ON_ONCE(!parts)) {
		from = slot_first_part(parts) << c->geo.part_shift;
		end = min(slot_end_part(parts) << c->geo.part_shift, end);
	}
	*first = from;
	*nr = end - from;
}

static void write_back(struct cache *c, const struct writeback_item *item,
		       enum cache_wb_reason why)
{
	struct migration *m;
	struct dm_io_region from, to;
	sector_t first;

	m = mempool_alloc(&c->evict.pool, GFP_NOIO);
	m->c = c;
	m->slot = item->slot;
	copy_started(c);
	if (!begin_copy(c, m)) {
		copy_ended(c);
		end_migration(c, m);
		return;
	}

	/* A slot in WRITEBACK keeps its block. */
	m->block = slot_block(slot_at(&c->map, item->slot));
	m->why = why;
	m->began = trace_dm_cache_writeback_enabled() ? ktime_get() : 0;
	sectors_of_parts(c, m->parts, &first, &from.count);
	from.bdev = c->dev.fast;
	from.sector = cache_block_start(c, m->slot) + first;
	to.bdev = c->dev.origin;
	to.sector = cache_block_start(c, m->block) + first;
	to.count = from.count;
	dm_kcopyd_copy(c->clients.copier, &from, 1, &to, 0, copied_to_origin,
		       m);
}

void cache_write_home(struct cache *c, u32 slot)
{
	struct writeback_item item = { .slot = slot };

	write_back(c, &item, CACHE_WB_REFUSED);
}

/* ---- The blocks to write, and their order ---- */

static int by_block(const void *a, const void *b)
{
	const struct writeback_item *x = a, *y = b;

	if (x->block == y->block)
		return 0;
	return x->block < y->block ? -1 : 1;
}

static bool take_dirty(void *context, u32 slot, unsigned int nr)
{
	struct cache *c = context;
	struct slot *s = slot_at(&c->map, slot);
	u32 word = slot_word(s);

	if (slot_state(word) != SLOT_VALID || !(word & SLOT_DIRTY) ||
	    cache_failed_to_go_home(c, slot_block(s)))
		return false;
	c->writeback.items[nr].slot = slot;
	c->writeback.items[nr].block = slot_block(s);
	return true;
}

/* Collect dirty slots, going on where the last batch ended. */
static unsigned int collect_dirty(struct cache *c)
{
	unsigned int nr = slot_map_scan(&c->map, &c->writeback.cursor,
					WRITEBACK_BATCH, take_dirty, c);

	sort(c->writeback.items, nr, sizeof(*c->writeback.items), by_block,
	     NULL);
	return nr;
}

/*
 * The item with which to begin: the first from writeback.next on, or the first of
 * all.
 */
static unsigned int first_to_try(struct cache *c, unsigned int nr)
{
	unsigned int i;

	if (!c->writeback.goes_on)
		return 0;
	for (i = 0; i < nr; i++)
		if (c->writeback.items[i].block >= c->writeback.next)
			return i;
	return 0;
}

/*
 * A stretch of blocks that cannot go home breaks off each batch that reaches it.  So
 * the batches that follow begin in turn behind the block that was tried last, because
 * good blocks may lie behind the stretch, and at the first, because they may lie
 * before it.
 */
static void batch_ended(struct cache *c, bool whole)
{
	if (!whole && backs_off(c)) {
		c->writeback.goes_on = !c->writeback.goes_on;
		return;
	}
	c->writeback.goes_on = false;
	c->writeback.next = 0;
}

static void write_batch(struct cache *c, unsigned int nr)
{
	unsigned int first = first_to_try(c, nr), i;
	const struct writeback_item *item;
	enum cache_wb_reason why;

	for (i = 0; i < nr; i++) {
		why = writeback_wanted(c);
		if (!why)
			break;
		wait_for_room(c);
		item = &c->writeback.items[(first + i) % nr];
		write_back(c, item, why);
		if (c->writeback.goes_on || item->block >= c->writeback.next)
			c->writeback.next = item->block + 1;
		atomic_dec_if_positive(&c->writeback.nr_wanted);
	}
	batch_ended(c, i == nr);
}

void cache_writeback_work(struct work_struct *work)
{
	struct cache *c = container_of(work, struct cache, writeback.work);
	unsigned int nr;

	WRITE_ONCE(c->writeback.runs, writeback_wanted(c) != CACHE_WB_NOT);
	if (!c->writeback.runs)
		return;
	nr = collect_dirty(c);
	measure_room(c);
	write_batch(c, nr);

	/* The eviction asks again for what this batch has not cleaned. */
	atomic_set(&c->writeback.nr_wanted, 0);
	/*
	 * No kick after a smaller batch, because it had all dirty blocks that could be
	 * tried.
	 */
	if (nr == WRITEBACK_BATCH)
		cache_kick_writeback(c);
	else
		WRITE_ONCE(c->writeback.runs, false);
}
