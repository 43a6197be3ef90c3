// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log of an engine: its object, its segments, and what waits for it.
 *
 * It owns the slots that are lent to the log.  cache-log-open.c owns the segments that
 * are open, and cache-log-ring.c the order in which records become durable.  It must not
 * know why a write is absorbed (cache-log-io.c), nor where extents go (cache-log-home.c).
 */
#include "cache-bio.h"
#include "../slots/cache-instant.h"
#include "cache-log-open.h"
#include "cache-log-ring.h"
#include "cache-log.h"

#include <linux/sched/mm.h>

/*
 * The index may take 64 MiB, some 3.5 GiB of scattered 4 KiB.  In a cache whose
 * slots cannot hold so many extents it may take less, but never less than
 * LOG_MIN_BYTES.  That is room enough for the writes that may wait to be recorded
 * (UNLOGGED_MAX of cache-log-io.c), which take 160 bytes each.
 */
#define LOG_MAX_BYTES		(64ULL << 20)
#define LOG_MIN_BYTES		(1ULL << 20)
#define LOG_EXTENT_BYTES	72	/* of memory, for one alone in its block */
/* An extent of 4 KiB, in sectors: what a scattered write is taken to be. */
#define LOG_EXTENT_SECTORS	8
/*
 * Parts of reads that can be under way even if memory is short.  One would be enough,
 * because it comes back when the part has been read, and the worker waits for that.
 * With more, reads wait less.  Not chosen by measurement.
 */
#define LOG_NR_PIECES		16
/*
 * On a full cache the log has an eighth of the slots, because blocks have to leave for
 * it.  That was not chosen by measurement.
 */
#define LOG_SHARE		8
/*
 * Above its share the log takes free slots only, and leaves a 32nd of the slots to blocks that
 * come in.  With a sixteenth, random writes over four caches were 5 % slower, because the disk
 * passes over all of the origin for fewer extents.
 */
#define LOG_SPARE_SHARE		32
/*
 * A discard looks for so many of its blocks itself.  The rest is left to log.worker,
 * because a discard runs in the worker of deferred bios, behind which users' bios
 * wait.  Not chosen by measurement.
 */
#define LOG_DISCARD_LOOKS	1024

/* ---- The index's memory and pins ---- */

static void *index_alloc(void *ctx, size_t bytes, bool nowait)
{
	return kmalloc(bytes, (nowait ? GFP_NOWAIT : GFP_NOIO) | __GFP_NOWARN);
}

static void index_free(void *ctx, void *p, size_t bytes)
{
	kfree(p);
}

static void index_pin(void *ctx, u32 slot)
{
	struct cache *c = ctx;

	slot_pin_lent(slot_at(&c->map, slot));
}

static bool index_pinned(void *ctx, u32 slot)
{
	struct cache *c = ctx;

	return slot_lent_is_pinned(slot_at(&c->map, slot));
}

static const struct log_index_ops index_ops = {
	.alloc = index_alloc,
	.free = index_free,
	.pin = index_pin,
	.pinned = index_pinned,
};

/* ---- Segments ---- */

/* Are slots free that neither blocks nor the log need soon?  Racy. */
static bool has_spare(struct cache_log *log)
{
	struct cache *c = log->c;

	return READ_ONCE(c->map.nr_free) > c->map.nr_slots / LOG_SPARE_SHARE &&
	       !cache_blocks_exceed(c, cache_nr_dirty_and_log(c),
				    READ_ONCE(c->limits.dirty_limit));
}

bool cache_log_has_spare(struct cache_log *log)
{
	return !READ_ONCE(log->home.above_mark) && has_spare(log);
}

/* May the log have one more slot?  Racy. */
static bool may_grow(struct cache_log *log)
{
	return atomic_read(&log->room.nr_segments) < log->c->map.nr_slots / LOG_SHARE ||
	       has_spare(log);
}

u32 cache_log_share(struct cache_log *log)
{
	struct cache *c = log->c;
	u32 nr = atomic_read(&log->room.nr_segments);
	u32 most = c->map.nr_slots / LOG_SHARE;
	u32 free = READ_ONCE(c->map.nr_free);
	u32 spare = c->map.nr_slots / LOG_SPARE_SHARE;

	if (free > spare)
		most = max(most, nr + free - spare);
	return min_t(u64, 100, (u64)nr * 100 / max(most, 1U));
}

static void give_slot_back(struct cache_log *log, u32 slot)
{
	slot_map_take_back(&log->c->map, slot);
	atomic_dec(&log->room.nr_segments);
}

static u32 new_segment(struct cache_log *log)
{
	struct cache *c = log->c;
	u32 slot;

	if (!may_grow(log))
		return SLOT_NONE;
	slot = slot_map_alloc(&c->map);
	cache_reserve_used(c, slot);
	if (slot == SLOT_NONE)
		return SLOT_NONE;
	slot_map_lend(&c->map, slot);
	/*
	 * Counted before anything is in it, because stop_dirtying() goes by the
	 * count; see look_again() in cache-log-io.c.
	 */
	atomic_inc(&log->room.nr_segments);
	if (!log_segment_open(&log->ix, slot, true)) {
		if (!READ_ONCE(log->home.above_mark) && cache_log_share(log) >= LOG_HIGH_MARK)
			cache_log_kick(log);
		return slot;
	}
	give_slot_back(log, slot);
	return SLOT_NONE;
}

/* A segment for this write alone, which may become a block of the cache in place. */
static bool take_whole(struct cache_log *log, struct log_write *w)
{
	u32 slot = new_segment(log), nr;
	unsigned long flags;

	if (slot == SLOT_NONE)
		return false;
	slot_map_set_block(&log->c->map, slot, w->run.block);
	log_write_place(&log->ix, w, slot, 0);
	spin_lock_irqsave(&log->room.lock, flags);
	slot_list_push(&log->c->map, &log->room.whole, slot);
	nr = log->room.nr_whole + 1;
	WRITE_ONCE(log->room.nr_whole, nr);
	spin_unlock_irqrestore(&log->room.lock, flags);
	if (nr >= LOG_WHOLE_BATCH)
		cache_log_kick(log);
	return true;
}

bool cache_log_take_room(struct cache_log *log, struct log_write *w)
{
	unsigned long flags;
	bool taken;
	u32 slot;

	if (w->run.sectors == log->c->geo.block_sectors)
		return take_whole(log, w);
	spin_lock_irqsave(&log->room.lock, flags);
	taken = cache_log_append(log, w);
	spin_unlock_irqrestore(&log->room.lock, flags);
	if (taken)
		return true;

	slot = new_segment(log);
	spin_lock_irqsave(&log->room.lock, flags);
	taken = cache_log_append(log, w);
	if (!taken && slot == SLOT_NONE) {
		taken = cache_log_append_anywhere(log, w);
	} else if (!taken) {
		cache_log_open_segment(log, w, slot);
		slot = SLOT_NONE;
		taken = true;
	}
	spin_unlock_irqrestore(&log->room.lock, flags);
	/* Another write has opened one meanwhile. */
	if (slot != SLOT_NONE && !log_segment_close(&log->ix, slot, false))
		give_slot_back(log, slot);
	return taken;
}

void cache_log_add_segment(struct cache_log *log, u32 slot)
{
	slot_map_lend(&log->c->map, slot);
	atomic_inc(&log->room.nr_segments);
	slot_list_push(&log->c->map, &log->room.full, slot);
}

u32 cache_log_pop_whole(struct cache_log *log)
{
	u32 slot;

	spin_lock_irq(&log->room.lock);
	slot = slot_list_pop(&log->c->map, &log->room.whole);
	if (slot != SLOT_NONE)
		WRITE_ONCE(log->room.nr_whole, log->room.nr_whole - 1);
	spin_unlock_irq(&log->room.lock);
	return slot;
}

void cache_log_push_full(struct cache_log *log, u32 slot)
{
	spin_lock_irq(&log->room.lock);
	slot_list_push(&log->c->map, &log->room.full, slot);
	spin_unlock_irq(&log->room.lock);
}

void cache_log_push_whole(struct cache_log *log, u32 slot)
{
	spin_lock_irq(&log->room.lock);
	slot_list_push(&log->c->map, &log->room.whole, slot);
	WRITE_ONCE(log->room.nr_whole, log->room.nr_whole + 1);
	spin_unlock_irq(&log->room.lock);
}

void cache_log_close_open(struct cache_log *log)
{
	spin_lock_irq(&log->room.lock);
	cache_log_retire_open(log);
	spin_unlock_irq(&log->room.lock);
}

/* Give back what is free in a list of segments; the rest goes to @busy. */
static void reap_list(struct cache_log *log, u32 list, u32 *busy)
{
	u32 slot;

	while ((slot = slot_list_pop(&log->c->map, &list)) != SLOT_NONE) {
		if (!log_segment_close(&log->ix, slot, false))
			give_slot_back(log, slot);
		else
			slot_list_push(&log->c->map, busy, slot);
		cond_resched();
	}
}

static void push_whole_list(struct cache_log *log, u32 list)
{
	u32 slot;

	while ((slot = slot_list_pop(&log->c->map, &list)) != SLOT_NONE)
		cache_log_push_whole(log, slot);
}

void cache_log_reap(struct cache_log *log)
{
	u32 busy = SLOT_NONE, busy_whole = SLOT_NONE, full, whole;

	spin_lock_irq(&log->room.lock);
	full = log->room.full;
	log->room.full = SLOT_NONE;
	whole = log->room.whole;
	log->room.whole = SLOT_NONE;
	WRITE_ONCE(log->room.nr_whole, 0);
	spin_unlock_irq(&log->room.lock);
	reap_list(log, full, &busy);
	reap_list(log, log->room.reaping, &busy);
	log->room.reaping = busy;
	reap_list(log, whole, &busy_whole);
	push_whole_list(log, busy_whole);
}

/* ---- Bios that wait ---- */

static void park_locked(struct cache_log *log, struct bio_list *list,
			struct bio *bio)
{
	lockdep_assert_held(&log->waiting.lock);
	bio_list_add(list, bio);
	cache_log_kick(log);
}

static void park(struct cache_log *log, struct bio_list *list, struct bio *bio)
{
	unsigned long flags;

	cache_leave_submitter(bio);
	spin_lock_irqsave(&log->waiting.lock, flags);
	park_locked(log, list, bio);
	spin_unlock_irqrestore(&log->waiting.lock, flags);
}

void cache_log_wait_to_leave(struct cache_log *log, struct bio *bio)
{
	park(log, &log->waiting.leavers, bio);
}

/* ---- Blocks that are wanted in the cache ---- */

static void add_wanted_locked(struct cache_log *log, u64 block)
{
	u32 i;

	lockdep_assert_held(&log->waiting.lock);
	for (i = 0; i < log->wanted.nr; i++)
		if (log->wanted.blocks[i] == block)
			return;
	if (i == LOG_NR_WANTED)
		return;
	log->wanted.blocks[i] = block;
	WRITE_ONCE(log->wanted.nr, i + 1);
}

bool cache_log_want(struct cache *c, u64 block)
{
	struct cache_log *log = READ_ONCE(c->log);
	unsigned long flags;

	if (!log || !cache_log_counts(log) ||
	    !log_index_keep(&log->ix, block, LOG_KEEP))
		return false;
	spin_lock_irqsave(&log->waiting.lock, flags);
	add_wanted_locked(log, block);
	spin_unlock_irqrestore(&log->waiting.lock, flags);
	cache_log_kick(log);
	return true;
}

/* ---- Discards ---- */

bool cache_log_discard(struct cache *c, struct bio *bio)
{
	struct cache_log *log = READ_ONCE(c->log);
	struct cache_discard *d = &cache_bio(bio)->discard;
	u64 block, end;

	if (d->left_log || log_index_empty(&log->ix) || !cache_log_counts(log))
		return true;
	end = min(d->last, d->first + LOG_DISCARD_LOOKS);
	for (block = d->first; block < end; block++)
		if (log_index_has(&log->ix, block))
			break;
	if (block == d->last)
		return true;
	d->cursor = block;
	park(log, &log->waiting.discards, bio);
	return false;
}

void cache_log_kick(struct cache_log *log)
{
	queue_work(log->c->wq.bg, &log->worker.work);
}

/* ---- The object ---- */

bool cache_log_counts(struct cache_log *log)
{
	/* Pairs with forget(): whatever is read next is read after all went home. */
	return !smp_load_acquire(&log->life.forgotten) && !cache_bypassed(log->c);
}

bool cache_log_has_block(struct cache_log *log, u64 block)
{
	return !log_index_empty(&log->ix) && cache_log_counts(log) &&
	       log_index_has(&log->ix, block);
}

bool cache_log_backs_off(struct cache_log *log)
{
	return instant_is_ahead(READ_ONCE(log->home.backoff), jiffies,
				LOG_HOME_BACKOFF);
}

bool cache_log_none_goes_home(struct cache_log *log)
{
	struct cache *c = log->c;

	if (!cache_may_go_home(c))
		return true;
	if (!READ_ONCE(log->life.failed))
		return false;
	/*
	 * Write-back may have to clean the cache first, and a suspend has stopped
	 * it.
	 */
	return cache_log_backs_off(log) || !cache_writable(c) || READ_ONCE(c->life.quiescing);
}

bool cache_log_is_hopeless(struct cache_log *log)
{
	return cache_log_backs_off(log) || cache_log_none_goes_home(log);
}

bool cache_log_is_stuck(struct cache *c, u64 block)
{
	struct cache_log *log = READ_ONCE(c->log);

	return unlikely(log) && READ_ONCE(log->life.failed) &&
	       cache_log_is_hopeless(log) && cache_log_has_block(log, block);
}

/*
 * The memory that the index may take: room for extents of 4 KiB in all slots,
 * within bounds.
 */
static u64 bytes_for(const struct cache *c)
{
	u64 extents = div_u64((u64)c->map.nr_slots * c->geo.block_sectors,
			      LOG_EXTENT_SECTORS);

	return clamp_t(u64, extents * LOG_EXTENT_BYTES, LOG_MIN_BYTES,
		       LOG_MAX_BYTES);
}

u64 cache_log_max_runs(const struct cache *c)
{
	return div_u64(bytes_for(c), LOG_EXTENT_BYTES);
}

static void init_log(struct cache_log *log, struct cache *c, work_func_t work,
		     work_func_t pace_work)
{
	log->c = c;
	cache_log_init_device(log);
	spin_lock_init(&log->room.lock);
	cache_log_init_open(log, c->map.nr_slots / LOG_SHARE);
	log->room.full = SLOT_NONE;
	log->room.whole = SLOT_NONE;
	log->home.whole_after = jiffies;
	log->room.reaping = SLOT_NONE;
	spin_lock_init(&log->waiting.lock);
	bio_list_init(&log->waiting.flushes);
	bio_list_init(&log->waiting.joined);
	bio_list_init(&log->pace.room);
	bio_list_init(&log->pace.again);
	bio_list_init(&log->waiting.leavers);
	bio_list_init(&log->waiting.discards);
	init_waitqueue_head(&log->worker.wait);
	init_waitqueue_head(&log->recorder.all_wait);
	INIT_WORK(&log->recorder.work, cache_log_ring_work);
	INIT_WORK(&log->worker.work, work);
	INIT_DELAYED_WORK(&log->pace.work, pace_work);
	log->home.backoff = jiffies;
	log->place.start_after = jiffies;
	memset(log->io.large_ends, 0xff, sizeof(log->io.large_ends));
}

static bool alloc_runs(struct log_run **runs, struct log_copy **copies)
{
	*runs = kvmalloc_array(LOG_HOME_RUNS, sizeof(**runs), GFP_KERNEL);
	*copies = kvmalloc_array(LOG_HOME_RUNS, sizeof(**copies), GFP_KERNEL);
	return *runs && *copies;
}

static bool alloc_all_runs(struct cache_log *log)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(log->home.batches); i++)
		if (!alloc_runs(&log->home.batches[i].runs, &log->home.batches[i].copies))
			return false;
	return alloc_runs(&log->copying.runs, &log->copying.copies);
}

static void free_all_runs(struct cache_log *log)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(log->home.batches); i++) {
		kvfree(log->home.batches[i].copies);
		kvfree(log->home.batches[i].runs);
	}
	kvfree(log->copying.copies);
	kvfree(log->copying.runs);
}

static int alloc_parts(struct cache_log *log)
{
	log->home.blocks = kvmalloc_array(LOG_HOME_BLOCKS, sizeof(*log->home.blocks),
					  GFP_KERNEL);
	log->moves.all = kvmalloc_array(LOG_NR_MOVES, sizeof(*log->moves.all), GFP_KERNEL);
	log->recorder.wq = alloc_ordered_workqueue("hearth-log",
						   WQ_MEM_RECLAIM | WQ_HIGHPRI);
	if (!alloc_all_runs(log) || !log->home.blocks || !log->moves.all ||
	    !log->recorder.wq)
		return -ENOMEM;
	return bioset_init(&log->io.pieces, LOG_NR_PIECES,
			   offsetof(struct log_piece, bio), 0);
}

int cache_log_make(struct cache *c, work_func_t work, work_func_t pace_work)
{
	unsigned int noio = memalloc_noio_save();
	struct cache_log *log = kvzalloc(sizeof(*log), GFP_KERNEL);
	int r = -ENOMEM;

	if (!log)
		goto out;
	init_log(log, c, work, pace_work);
	r = alloc_parts(log);
	if (!r) {
		log->device.client = dm_io_client_create();
		r = PTR_ERR_OR_ZERO(log->device.client);
		if (r)
			log->device.client = NULL;
	}
	if (!r)
		r = log_index_init(&log->ix, &index_ops, c,
				   c->geo.block_sectors, bytes_for(c));
	if (r) {
		cache_log_free(log);
		goto out;
	}
	/* A CPU that sees the log sees what is in it. */
	smp_store_release(&c->log, log);
out:
	memalloc_noio_restore(noio);
	return r;
}

void cache_log_free(struct cache_log *log)
{
	if (!log)
		return;
	if (log->recorder.wq)
		destroy_workqueue(log->recorder.wq);
	if (log->ring.blocks)
		log_ring_exit(&log->ring);
	if (log->ix.buckets)
		log_index_exit(&log->ix);
	if (log->device.client)
		dm_io_client_destroy(log->device.client);
	bioset_exit(&log->io.pieces);
	kvfree(log->home.unsaved);
	kvfree(log->moves.all);
	free_all_runs(log);
	kvfree(log->home.blocks);
	kvfree(log);
}
