// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log from the disk, and its stop.
 *
 * It owns what is believed of a log on the disk: write-log/log-load.c reads it, and
 * this file makes it fit the devices and the mapping (W5, W11) before anything is
 * served.  It must not know how extents go home later.
 */
#include "cache-bio.h"
#include "cache-log-home.h"
#include "cache-log-load.h"
#include "cache-log-pace.h"
#include "cache-log-state.h"
#include "cache-log.h"
#include "../write-log/log-load.h"

/* ---- Header and ring ---- */

static const char *why_not(int error)
{
	switch (error) {
	case -EUCLEAN:
		return "its ring is damaged, or not of this cache";
	case -ERANGE:
		return "an extent lies past the origin's end";
	case -EFBIG:
		return "a block has more extents than it can have";
	case -ENOMEM:
		return "no memory";
	default:
		return "the cache device cannot be read";
	}
}

static int recover_ring(struct cache_log *log, u32 nr_slots)
{
	struct cache *c = log->c;
	struct log_position pos;
	int r;

	/* After a reset the ring's head may be in the device's cache only. */
	r = blkdev_issue_flush(c->dev.fast);
	if (r)
		return r;
	r = log_load_header(&log->device.dev, c->geo.block_sectors, nr_slots,
			    &log->geo);
	if (r)
		return r;
	r = log_load(&log->device.dev, &log->geo, bdev_nr_sectors(c->dev.origin),
		     LOG_RECORDS, &log->ix, &pos);
	if (r)
		return r;
	return log_ring_init(&log->ring, &log->ix, &log->geo, pos.head, pos.tail);
}

int cache_log_open(struct cache *c, u32 nr_slots)
{
	int r;

	lockdep_assert_held(&c->md.lock);
	if (cmd_needs_check(c->md.cmd)) {
		DMERR("write log: the metadata needs a check, which would make the log be forgotten: use hearth-metadata");
		return -EINVAL;
	}
	r = cache_log_make(c, cache_log_work, cache_log_pace_work);
	if (!r)
		r = recover_ring(c->log, nr_slots);
	if (r) {
		DMERR("write log: cannot be recovered: %s (error %d)", why_not(r), r);
		return r;
	}
	c->log->life.state = CACHE_LOG_DRAINS;
	c->log->place.is_kept = true;
	return 0;
}

/*
 * A header at the new end names the ring where it is, before the metadata has the new
 * size.  A smaller cache device would cut the ring off.
 */
int cache_log_fit(struct cache *c, u32 nr_slots)
{
	struct cache_log *log = c->log;
	int r;

	lockdep_assert_held(&c->md.lock);
	if (log->geo.nr_slots == nr_slots)
		return 0;
	if (log->geo.nr_slots > nr_slots) {
		DMERR("unable to shrink cache from %u to %u blocks: its write log is in use",
		      log->geo.nr_slots, nr_slots);
		return -EFBIG;
	}
	log->geo.nr_slots = nr_slots;
	r = log_header_write(&log->device.dev, &log->geo);
	if (r)
		DMERR("write log: its header cannot be written at the new end: error %d",
		      r);
	else
		log->ring.geo.nr_slots = nr_slots;
	return r;
}

int cache_log_check_mapping(struct cache *c, u32 slot, u64 block)
{
	if (!c->log)
		return 0;
	return log_load_mapping(&c->log->ix, &c->log->geo, slot, block);
}

u64 cache_log_nr_blocks(const struct cache *c)
{
	return c->log ? atomic64_read(&c->log->ix.nr_blocks) : 0;
}

int cache_log_give_up(struct cache *c)
{
	int r = 0;

	lockdep_assert_held(&c->md.lock);
	if (cmd_log_flag(c->md.cmd))
		r = cmd_set_log_flag(c->md.cmd, false);
	if (r)
		return r;
	cache_log_free(c->log);
	c->log = NULL;
	return 0;
}

/* ---- Before anything is served ---- */

static void unpin(struct cache_log *log, const struct log_run *run)
{
	slot_unpin_lent(slot_at(&log->c->map, run->slot));
}

/* All runs of the block leave, durably; they are in its slot, or were copied. */
static int leave_block(struct cache_log *log, u64 block)
{
	int n, i, r;

	while (log_index_has(&log->ix, block)) {
		n = log_index_collect(&log->ix, block, log->copying.runs, LOG_HOME_RUNS,
				      true);
		if (n < 0)
			return n;
		r = cache_log_leave_runs(log, log->copying.runs, n);
		for (i = 0; i < n; i++)
			unpin(log, &log->copying.runs[i]);
		if (r)
			return r;
	}
	return 0;
}

/* W5: the mapping outranks the extents of its block, so these leave. */
int cache_log_leave_mapped(struct cache *c)
{
	struct cache_log *log = c->log;
	u32 slot, nr = 0;
	int r;

	lockdep_assert_held(&c->md.lock);
	if (!log || log_index_empty(&log->ix))
		return 0;
	for (slot = 0; slot < c->map.nr_slots; slot++) {
		struct slot *s = slot_at(&c->map, slot);

		slot_scan_step(slot);
		if (!slot_has_block(slot_word(s)) ||
		    !log_index_has(&log->ix, slot_block(s)))
			continue;
		/* The disk may call it clean, if it has gone home since it was mapped. */
		r = cmd_set_dirty(c->md.cmd, slot, true);
		if (!r)
			r = leave_block(log, slot_block(s));
		if (r) {
			DMERR("write log: blocks that are in the cache cannot leave it: error %d",
			      r);
			return r;
		}
		nr++;
	}
	if (nr)
		DMINFO("write log: %u blocks of it were in the cache already", nr);
	return 0;
}

struct past_end {
	struct cache_log *log;
	u32 nr;
};

/*
 * Collect the blocks past the end.  A block whose runs are not visited one after
 * the other comes twice.
 */
static int find_past_end(void *ctx, const struct log_run *run)
{
	struct past_end *pe = ctx;
	struct cache_log *log = pe->log;

	if (run->block < log->c->geo.origin_blocks ||
	    (pe->nr && log->home.blocks[pe->nr - 1] == run->block))
		return 0;
	log->home.blocks[pe->nr++] = run->block;
	return pe->nr == LOG_HOME_BLOCKS;
}

/* The table is shorter than the origin: what lies past its end goes home now. */
static int home_past_end(struct cache_log *log)
{
	struct past_end pe = { .log = log };
	u32 i;

	do {
		pe.nr = 0;
		log_index_for_each(&log->ix, find_past_end, &pe);
		for (i = 0; i < pe.nr; i++) {
			if (cache_log_empty_block(log, log->home.blocks[i]))
				continue;
			DMERR("write log: origin block %llu, past the end of the table, cannot go home",
			      log->home.blocks[i]);
			return -EIO;
		}
	} while (pe.nr);
	return 0;
}

/* The log's slots.  One that is mapped in place is none of the log's any more. */
static int find_segments(struct cache_log *log)
{
	struct slot_range kept[SLOT_NR_KEPT];
	struct cache *c = log->c;
	struct log_segment seg;
	u32 slot;

	for (slot = 0; slot < c->map.nr_slots; slot++) {
		slot_scan_step(slot);
		if (!log_segment_get(&log->ix, slot, &seg))
			continue;
		if (!slot_has_block(slot_word(slot_at(&c->map, slot))))
			cache_log_add_segment(log, slot);
		else if (log_segment_close(&log->ix, slot, true))
			return -EUCLEAN;
	}
	cache_log_kept_slots(&log->geo, kept);
	slot_map_keep(&c->map, kept);
	return 0;
}

int cache_log_take_slots(struct cache *c)
{
	int r = c->log ? find_segments(c->log) : 0;

	if (r)
		DMERR("write log: its slots cannot be recovered: error %d", r);
	return r;
}

int cache_log_begin(struct cache *c)
{
	struct cache_log *log = c->log;
	int r;

	if (!log)
		return 0;
	r = home_past_end(log);
	log->life.begun = !r;
	if (r)
		DMERR("write log: cannot be recovered: error %d", r);
	else
		DMINFO("write log: recovered, with %llu extents of %lld blocks in %d segments",
		       log->ix.nr_ring, (s64)atomic64_read(&log->ix.nr_blocks),
		       atomic_read(&log->room.nr_segments));
	return r;
}

/* ---- The stop ---- */

void cache_log_stop(struct cache *c)
{
	struct cache_log *log = c->log;

	if (!log)
		return;
	/* A write's record that was to be written early may still wait for the worker. */
	flush_work(&log->recorder.work);
	/* After a fence nothing believes the ring. */
	if (log->life.state == CACHE_LOG_OFF || cache_bypassed(c))
		return;
	cache_log_write_ring(log);
	/* A ring that failed just now has kicked the worker. */
	cancel_work_sync(&log->worker.work);
	if (READ_ONCE(log->life.failed)) {
		cache_log_save_at_stop(log);
		return;
	}
	cache_log_reap(log);
	if (log->life.state != CACHE_LOG_UNKNOWN)
		cache_log_clear_flag(log);
}

/* ---- The removal ---- */

/*
 * Kick the worker again and again, because each run ends when it has nothing to do
 * for a moment.
 */
static void go_home_for_a_while(struct cache_log *log)
{
	u32 seconds = READ_ONCE(log->c->limits.settle_seconds);

	log->worker.leave_until = jiffies + (unsigned long)seconds * HZ;
	log->worker.leaves = true;
	do {
		cache_log_kick(log);
		flush_work(&log->worker.work);
	} while (cache_log_home_is_wanted(log));
	/* The last run may have kicked it once more. */
	cancel_work_sync(&log->worker.work);
}

bool cache_log_leave(struct cache *c)
{
	struct cache_log *log = c->log;

	if (!log || log->life.state == CACHE_LOG_OFF || cache_bypassed(c))
		return false;
	if (log->life.state != CACHE_LOG_UNKNOWN && !READ_ONCE(log->life.failed)) {
		go_home_for_a_while(log);
		if (!READ_ONCE(log->life.failed) && cache_log_clear_flag(log))
			return true;
	}
	DMINFO("write log: %lld blocks stay in it; only hearth can open the cache",
	       (s64)atomic64_read(&log->ix.nr_blocks));
	return false;
}
