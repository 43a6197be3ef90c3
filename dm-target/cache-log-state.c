// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log is turned on and off: its ring gets a place, its flag is set in the
 * superblock and cleared again (W1).
 *
 * It owns log.state and the worker, which calls cache-log-home.c for all that leaves.
 * It must not know how extents leave, nor how a write is absorbed.
 */
#include "cache-bio.h"
#include "cache-log-home.h"
#include "cache-log-io.h"

#include <linux/delay.h>

/* A ring takes an eighth of the slots at most.  Not chosen by measurement. */
#define RING_SHARE		8
/*
 * Dirty blocks that are sent home at a time, because the ring is to lie in their slots.
 * Not chosen by measurement.
 */
#define PLACE_HOME		64
/* A ring could not be written, or the flag not be set: so long it is not tried again. */
#define START_BACKOFF		(5 * HZ)

/* ---- The flag ---- */

static int set_flag(struct cache *c, void *in_use)
{
	return cmd_set_log_flag(c->cmd, *(bool *)in_use);
}

/* Durable on return.  After an error the disk has the old flag, or the new one. */
static int commit_flag(struct cache *c, bool in_use)
{
	return cache_commit_change(c, "commit of the write log's flag", set_flag,
				   &in_use);
}

/* ---- The ring's place ---- */

void cache_log_kept_slots(const struct log_geometry *geo,
			  struct slot_range *kept)
{
	u64 ring = (u64)geo->ring_blocks * LOG_BLOCK_SECTORS;

	kept[0].first = geo->ring_slot;
	kept[0].end = geo->ring_slot + DIV_ROUND_UP_ULL(ring, geo->block_sectors);
	kept[1].end = geo->nr_slots;
	kept[1].first = div_u64(log_header_sector(geo->block_sectors,
						  geo->nr_slots, true),
				geo->block_sectors);
	/* They may share a slot. */
	kept[0].end = min(kept[0].end, geo->nr_slots);
	kept[1].first = max(kept[1].first, kept[0].end);
}

/* A ring at the end of the cache device.  False: it is too small. */
static bool choose_place(struct cache_log *log)
{
	struct cache *c = log->c;
	u32 blocks = log_ring_blocks_for(cache_log_max_runs(c));
	u32 most = c->map.nr_slots / RING_SHARE, slots;

	for (;; blocks /= 2) {
		slots = DIV_ROUND_UP_ULL((u64)(blocks + 2) * LOG_BLOCK_SECTORS,
					 c->block_sectors);
		if (slots <= most || blocks / 2 < LOG_MIN_RING)
			break;
	}
	if (slots > most)
		return false;
	log->geo = (struct log_geometry) {
		.id = get_random_u64(),
		.block_sectors = c->block_sectors,
		.nr_slots = c->map.nr_slots,
		.ring_slot = c->map.nr_slots - slots,
		.ring_blocks = blocks,
	};
	return !log_geometry_check(&log->geo);
}

static void keep_slots(struct cache_log *log)
{
	struct slot_range kept[SLOT_NR_KEPT];

	cache_log_kept_slots(&log->geo, kept);
	slot_map_keep(&log->c->map, kept);
}

static void give_place_back(struct cache_log *log)
{
	static const struct slot_range none[SLOT_NR_KEPT];

	slot_map_keep(&log->c->map, none);
	log->has_place = false;
}

struct clearing {
	u32 waits;		/* slots that have something */
	u32 homes;		/* that were sent home */
	bool unmaps;
	bool retired;
};

static void clear_slot(struct cache *c, u32 slot, struct clearing *cl)
{
	u32 word = slot_word(slot_at(&c->map, slot));

	switch (slot_state(word)) {
	case SLOT_LENT:
		return;
	case SLOT_RETIRED:
		cl->retired = true;
		return;
	case SLOT_VALID:
		break;
	case SLOT_FREE:
	case SLOT_FILLING:
	case SLOT_WRITEBACK:
	case SLOT_EVICTING:
		cl->waits++;
		return;
	}
	cl->waits++;
	if (!(word & SLOT_DIRTY)) {
		cl->unmaps |= cache_begin_unmap(c, slot, ANY_BLOCK, false,
						CACHE_REMOVED_EVICTED);
	} else if (cl->homes < PLACE_HOME && cache_may_go_home(c)) {
		cache_write_home(c, slot);
		cl->homes++;
	}
}

static void clear_range(struct cache *c, const struct slot_range *range,
			struct clearing *cl)
{
	u32 slot;

	for (slot = range->first; slot < range->end; slot++) {
		if (!cache_unmap_has_room(c))
			cache_commit_sync(c);
		clear_slot(c, slot, cl);
		cond_resched();
	}
}

/* Is the place empty?  If not, what lies there is on its way out. */
static bool clear_place(struct cache_log *log)
{
	struct slot_range kept[SLOT_NR_KEPT];
	struct clearing cl = {};
	struct cache *c = log->c;
	u32 i;

	cache_log_kept_slots(&log->geo, kept);
	for (i = 0; i < SLOT_NR_KEPT; i++)
		clear_range(c, &kept[i], &cl);
	if (cl.unmaps)
		cache_commit_sync(c);
	if (cl.retired) {
		DMWARN("write log: a cache block where its ring would lie cannot be written; absorb stays off until the next activation");
		log->refused = true;
		return false;
	}
	return !cl.waits;
}

/* ---- On ---- */

/* Is it to absorb?  Racy; a suspend leaves the state as it is. */
static bool is_on_wanted(struct cache_log *log)
{
	struct cache *c = log->c;

	return READ_ONCE(c->limits.absorb) && cache_keeps_dirty(c) &&
	       !cache_drain_is_asked(c) && cache_writable(c) &&
	       !READ_ONCE(c->degrade.fast_dead) && !cache_flush_failed(c) &&
	       !READ_ONCE(log->failed) && !log->refused;
}

static int make_ring(struct cache_log *log)
{
	int r = log_ring_create(&log->dev, &log->geo);

	if (r) {
		cache_fast_error(log->c, STAT_CACHE_WRITE_ERRORS);
		DMERR("write log: its ring cannot be made: error %d", r);
		return r;
	}
	return log_ring_init(&log->ring, &log->ix, &log->geo, 1, 1);
}

static void set_state(struct cache_log *log, enum cache_log_state state)
{
	WRITE_ONCE(log->state, state);
	/* W1: pairs with the absorber, which is counted in and then looks. */
	smp_mb();
}

static bool needs_check(struct cache *c)
{
	bool set;

	mutex_lock(&c->md_lock);
	set = cmd_needs_check(c->cmd);
	mutex_unlock(&c->md_lock);
	return set;
}

/* The place is empty: ring, then flag, then the first segment (W1). */
static void start(struct cache_log *log)
{
	int r = needs_check(log->c) ? -EBUSY : make_ring(log);

	log->start_after = jiffies + START_BACKOFF;
	if (r)
		return;
	r = commit_flag(log->c, true);
	if (r) {
		set_state(log, CACHE_LOG_UNKNOWN);
		return;
	}
	set_state(log, CACHE_LOG_ON);
	DMINFO("write log: on, with a ring of %u blocks", log->geo.ring_blocks);
}

static void try_start(struct cache_log *log)
{
	if (time_before(jiffies, log->start_after))
		return;
	if (!log->has_place) {
		if (!choose_place(log)) {
			DMWARN("write log: the cache is too small for it");
			log->refused = true;
			return;
		}
		log->has_place = true;
		keep_slots(log);
	}
	if (clear_place(log))
		start(log);
}

/* ---- Off ---- */

static bool is_empty(struct cache_log *log)
{
	return log_index_empty(&log->ix) && !atomic64_read(&log->ix.nr_unlogged);
}

static void report_clean(struct cache *c)
{
	/* lvm2, for one, waits for a clean cache. */
	if (!atomic_read(&c->nr_dirty))
		c->tell_tables(c);
}

/*
 * W1: cleared after the last GONE is durable.  Absorbers are out: those that were
 * counted in are seen in the index, and others see the state.
 */
bool cache_log_clear_flag(struct cache_log *log)
{
	if (!is_empty(log))
		return false;
	/* The last block has to be durable, too, because it releases segments. */
	cache_log_write_ring(log);
	cache_log_close_open(log);
	cache_log_reap(log);
	if (!is_empty(log) || atomic_read(&log->nr_segments) ||
	    READ_ONCE(log->failed))
		return false;
	if (commit_flag(log->c, false)) {
		set_state(log, CACHE_LOG_UNKNOWN);
		return false;
	}
	set_state(log, CACHE_LOG_OFF);
	/* A flush that comes late finds no ring, and goes to the device. */
	flush_work(&log->ring_work);
	log_ring_exit(&log->ring);
	give_place_back(log);
	return true;
}

static void try_clear(struct cache_log *log)
{
	if (cache_log_clear_flag(log)) {
		DMINFO("write log: off, and all that it had is on the origin or in the cache");
		report_clean(log->c);
	}
}

/* ---- The worker ---- */

static void steer(struct cache_log *log)
{
	bool wanted = is_on_wanted(log);

	switch (log->state) {
	case CACHE_LOG_OFF:
		if (READ_ONCE(log->c->quiescing))
			return;
		if (wanted)
			try_start(log);
		else if (log->has_place)
			give_place_back(log);
		return;
	case CACHE_LOG_ON:
		if (!wanted)
			set_state(log, CACHE_LOG_DRAINS);
		return;
	case CACHE_LOG_DRAINS:
		if (wanted)
			set_state(log, CACHE_LOG_ON);
		return;
	case CACHE_LOG_UNKNOWN:
		return;
	}
}

/* An open segment in which nothing is counts as one in use, so it is given back. */
static void rest(struct cache_log *log)
{
	if (!is_empty(log) || !atomic_read(&log->nr_segments))
		return;
	cache_log_close_open(log);
	cache_log_reap(log);
}

/* Returns whether anything has changed. */
static bool pass(struct cache_log *log)
{
	bool progress = false;

	if (READ_ONCE(log->failed)) {
		cache_log_save_failed(log);
		cache_log_serve_discards(log);
		cache_log_serve_leavers(log);
		return false;
	}
	cache_log_serve_discards(log);
	cache_log_serve_leavers(log);
	if (cache_log_home_is_wanted(log))
		progress = cache_log_go_home(log);
	else
		cache_log_reap(log);
	return progress;
}

void cache_log_work(struct work_struct *work)
{
	struct cache_log *log = container_of(work, struct cache_log, work);
	bool progress;

	log->serves = true;
	steer(log);
	progress = pass(log);
	if (log->state == CACHE_LOG_DRAINS && !READ_ONCE(log->c->quiescing))
		try_clear(log);
	rest(log);
	/* The origin takes what waits when the cache was given up. */
	if (cache_log_is_hopeless(log) && !cache_bypassed(log->c))
		cache_log_fail_waiters(log);
	progress |= cache_log_next_turns(log);
	if (!cache_log_has_waiters(log) && !cache_log_home_is_wanted(log))
		return;
	/* A write to the origin that is in the way, say, wakes nobody. */
	if (!progress)
		usleep_range(1000, 2000);
	cache_log_kick(log);
}

void cache_log_tick(struct cache *c)
{
	if (!c->log && READ_ONCE(c->limits.absorb) && cache_keeps_dirty(c) &&
	    c->block_sectors <= LOG_MAX_BLOCK &&
	    cache_log_make(c, cache_log_work))
		return;
	if (c->log)
		cache_log_kick(c->log);
}
