// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log is turned on and off: its ring gets a place, its flag is set in the
 * superblock and cleared again (W1).
 *
 * It owns log.place, log.worker and log.life.  But cache-log-load.c sets how a log begins
 * and that it is being removed, cache-log-ring.c that the ring has failed, and
 * cache-log-home.c that all is home then.  The worker calls cache-log-home.c for all
 * that leaves.  It must not know how extents leave, nor how a write is absorbed.
 */
#include "cache-bio.h"
#include "../slots/cache-instant.h"
#include "cache-log-home.h"
#include "cache-log-move.h"
#include "cache-log-pace.h"
#include "cache-log-state.h"
#include "cache-log.h"

#include <linux/delay.h>

/* A ring takes an eighth of the slots at most.  Not chosen by measurement. */
#define RING_SHARE		8
/*
 * Dirty blocks that are sent home at a time, because the ring is to lie in their slots.
 * Not chosen by measurement.
 */
#define PLACE_HOME		64
/*
 * A place of which nothing more leaves for so long is given up, because a hot block may
 * never be without a pin.  Not chosen by measurement.
 */
#define PLACE_PATIENCE		(30 * HZ)
/*
 * After a ring that could not be written, or a flag that could not be set, so much
 * time passes before the next try.  Not chosen by measurement.
 */
#define START_BACKOFF		(5 * HZ)

/* ---- The flag ---- */

static int set_flag(struct cache *c, void *in_use)
{
	return cmd_set_log_flag(c->md.cmd, *(bool *)in_use);
}

/* Durable on return.  After an error the disk has the old flag, or the new one. */
static int commit_flag(struct cache *c, bool in_use)
{
	return cache_commit_change(c, "commit of the write log's flag", set_flag,
				   &in_use);
}

/* ---- The ring's place ---- */

/* The last slots, which may be the ring's last ones, too. */
static struct slot_range header_slots(const struct log_geometry *geo)
{
	u64 sector = log_header_sector(geo->block_sectors, geo->nr_slots, true);

	return (struct slot_range){
		.first = div_u64(sector, geo->block_sectors),
		.end = geo->nr_slots,
	};
}

void cache_log_kept_slots(const struct log_geometry *geo,
			  struct slot_range *kept)
{
	u64 ring = (u64)geo->ring_blocks * LOG_BLOCK_SECTORS;

	kept[0].first = geo->ring_slot;
	kept[0].end = geo->ring_slot + DIV_ROUND_UP_ULL(ring, geo->block_sectors);
	kept[1] = header_slots(geo);
	kept[0].end = min(kept[0].end, geo->nr_slots);
	kept[1].first = max(kept[1].first, kept[0].end);
}

/* A ring as near to the end of the cache device as can be.  False: it is too small. */
static bool choose_place(struct cache_log *log)
{
	struct cache *c = log->c;
	u32 blocks = log_ring_blocks_for(cache_log_max_runs(c));
	u32 most = c->map.nr_slots / RING_SHARE, slots;

	for (;; blocks /= 2) {
		slots = DIV_ROUND_UP_ULL((u64)(blocks + 2) * LOG_BLOCK_SECTORS,
					 c->geo.block_sectors);
		if (slots <= most || blocks / 2 < LOG_MIN_RING)
			break;
	}
	if (slots > most || log->place.skipped + slots > c->map.nr_slots / 2)
		return false;
	log->geo = (struct log_geometry) {
		.id = get_random_u64(),
		.block_sectors = c->geo.block_sectors,
		.nr_slots = c->map.nr_slots,
		.ring_slot = c->map.nr_slots - slots - log->place.skipped,
		.ring_blocks = blocks,
	};
	return !log_geometry_check(&log->geo);
}

static void take_place(struct cache_log *log)
{
	struct slot_range kept[SLOT_NR_KEPT];

	cache_log_kept_slots(&log->geo, kept);
	slot_map_keep(&log->c->map, kept);
	log->place.is_kept = true;
	log->place.waits = U32_MAX;
}

static void give_place_back(struct cache_log *log)
{
	static const struct slot_range none[SLOT_NR_KEPT];

	slot_map_keep(&log->c->map, none);
	log->place.is_kept = false;
	log->place.has_header = false;
}

/* Give the place up.  The next one lies before it. */
static void give_place_up(struct cache_log *log, const char *why)
{
	u32 end = log->c->map.nr_slots - log->place.skipped;

	DMWARN("write log: its ring is to lie before the cache blocks %u to %u, because %s",
	       log->geo.ring_slot, end - 1, why);
	log->place.skipped += end - log->geo.ring_slot;
	give_place_back(log);
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

static void refuse(struct cache_log *log, const char *why)
{
	DMWARN("write log: %s; absorb stays off until the next activation", why);
	log->place.refused = true;
	give_place_back(log);
}

/* Have @waits slots of the place, and never fewer, been in use for too long? */
static bool is_late(struct cache_log *log, u32 waits)
{
	if (waits < log->place.waits) {
		log->place.waits = waits;
		log->place.until = jiffies + PLACE_PATIENCE;
	}
	return time_after(jiffies, log->place.until);
}

/*
 * Can the header be written, which has one place only?  It is written before
 * anything leaves the ring's place, because if it cannot be written, no other place
 * for the ring would be any better.
 */
static bool clear_header(struct cache_log *log)
{
	struct slot_range range = header_slots(&log->geo);
	struct clearing cl = {};
	int r;

	if (log->place.has_header)
		return true;
	clear_range(log->c, &range, &cl);
	if (cl.unmaps)
		cache_commit_sync(log->c);
	if (cl.retired) {
		refuse(log, "its header cannot be written");
		return false;
	}
	if (cl.waits) {
		if (is_late(log, cl.waits))
			refuse(log, "something in the last cache block is always in use");
		return false;
	}
	log->place.waits = U32_MAX;
	r = log_header_write(&log->device.dev, &log->geo);
	if (r == -EIO) {
		cache_fast_error(log->c, STAT_CACHE_WRITE_ERRORS);
		refuse(log, "its header cannot be written");
	}
	log->place.has_header = !r;
	return log->place.has_header;
}

/* Is the place empty?  If not, what lies there is on its way out. */
static bool clear_place(struct cache_log *log)
{
	struct slot_range kept[SLOT_NR_KEPT];
	struct clearing cl = {};
	struct cache *c = log->c;

	if (!clear_header(log))
		return false;
	cache_log_kept_slots(&log->geo, kept);
	clear_range(c, &kept[0], &cl);
	if (cl.unmaps)
		cache_commit_sync(c);
	if (cl.retired)
		give_place_up(log, "not all of them can be written");
	else if (cl.waits && is_late(log, cl.waits))
		give_place_up(log, "something in them is always in use");
	return !cl.retired && !cl.waits;
}

/* ---- On ---- */

/* Is the log to absorb?  Racy; a suspend leaves the state as it is. */
static bool is_on_wanted(struct cache_log *log)
{
	struct cache *c = log->c;

	return READ_ONCE(c->limits.absorb) && cache_keeps_dirty(c) &&
	       !cache_drain_is_asked(c) && cache_writable(c) &&
	       !READ_ONCE(c->degrade.fast_dead) && !cache_flush_failed(c) &&
	       !READ_ONCE(log->life.failed) && !log->place.refused && !log->worker.leaves;
}

static int make_ring(struct cache_log *log)
{
	int r = log_ring_create(&log->device.dev, &log->geo);

	if (r) {
		cache_fast_error(log->c, STAT_CACHE_WRITE_ERRORS);
		DMERR("write log: its ring cannot be made: error %d", r);
		return r;
	}
	return log_ring_init(&log->ring, &log->ix, &log->geo, 1, 1);
}

static void set_state(struct cache_log *log, enum cache_log_state state)
{
	/* Pairs with write_batch(): the ring was made before. */
	smp_store_release(&log->life.state, state);
	/* W1: pairs with look_again(), which counts a write in and then looks. */
	smp_mb();
}

static bool needs_check(struct cache *c)
{
	bool set;

	mutex_lock(&c->md.lock);
	set = cmd_needs_check(c->md.cmd);
	mutex_unlock(&c->md.lock);
	return set;
}

/* The place is empty: ring, then flag, then the first segment (W1). */
static void start(struct cache_log *log)
{
	int r = needs_check(log->c) ? -EBUSY : make_ring(log);

	log->place.start_after = jiffies + START_BACKOFF;
	if (r == -EIO)
		give_place_up(log, "not all of them can be written");
	if (r)
		return;
	r = commit_flag(log->c, true);
	if (r) {
		set_state(log, CACHE_LOG_UNKNOWN);
		return;
	}
	log->life.begun = true;
	set_state(log, CACHE_LOG_ON);
	DMINFO("write log: on, with a ring of %u blocks", log->geo.ring_blocks);
}

static void try_start(struct cache_log *log)
{
	if (instant_is_ahead(log->place.start_after, jiffies, START_BACKOFF))
		return;
	if (!log->place.is_kept) {
		if (!choose_place(log)) {
			refuse(log, log->place.skipped ?
				       "the cache has no place for its ring" :
				       "the cache is too small for it");
			return;
		}
		take_place(log);
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
	if (!atomic_read(&c->nr.dirty))
		c->life.tell_tables(c);
}

/*
 * W1: cleared after the last GONE is durable.  Nothing is absorbed any more: writes
 * that were counted in are seen in the index, and others see the state.
 */
bool cache_log_clear_flag(struct cache_log *log)
{
	if (!is_empty(log))
		return false;
	/* The last block has to be durable, too, because it releases segments. */
	cache_log_write_ring(log);
	cache_log_close_open(log);
	cache_log_reap(log);
	if (!is_empty(log) || atomic_read(&log->room.nr_segments) ||
	    READ_ONCE(log->life.failed))
		return false;
	if (commit_flag(log->c, false)) {
		set_state(log, CACHE_LOG_UNKNOWN);
		return false;
	}
	set_state(log, CACHE_LOG_OFF);
	/* A flush that comes late finds no ring, and goes to the device. */
	flush_work(&log->recorder.work);
	log_ring_exit(&log->ring);
	log_index_trim(&log->ix);
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

/* ---- A ring that failed ---- */

/*
 * W9: all is on the origin, or mapped.  The records on the disk are older than that, and
 * a table that is built anew would believe them.  From here on the origin serves what the
 * log had.
 */
static void forget(struct cache_log *log)
{
	if (log->life.forgotten)
		return;
	if (commit_flag(log->c, false)) {
		set_state(log, CACHE_LOG_UNKNOWN);
		return;
	}
	set_state(log, CACHE_LOG_OFF);
	/* Pairs with cache_log_counts(). */
	smp_store_release(&log->life.forgotten, true);
	log_index_trim(&log->ix);
	DMINFO("write log: off, because its ring failed; all that it had is on the origin or in the cache");
}

static void save(struct cache_log *log)
{
	struct cache *c = log->c;

	if (!cache_log_save_failed(log))
		return;
	if (cache_writable(c))
		forget(log);
	/* If nothing is dirty any more, the cache can be given up. */
	queue_work(c->wq.commit, &c->degrade.work);
	flush_work(&c->degrade.work);
}

void cache_log_save_at_stop(struct cache_log *log)
{
	/* Nobody else can do it later. */
	log->worker.serves = false;
	log->home.backoff = jiffies;
	save(log);
	if (!log->life.forgotten && !cache_bypassed(log->c))
		DMERR("write log: not all of it could be saved; the volume cannot be resumed, and what was written last will be lost");
}

/* ---- The worker ---- */

static void steer(struct cache_log *log)
{
	bool wanted = is_on_wanted(log);

	switch (log->life.state) {
	case CACHE_LOG_OFF:
		if (READ_ONCE(log->c->life.quiescing))
			return;
		if (wanted)
			try_start(log);
		else if (log->place.is_kept)
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

/* An open segment counts as one in use even if it holds nothing, so it is given back. */
static void rest(struct cache_log *log)
{
	if (!is_empty(log) || !atomic_read(&log->room.nr_segments))
		return;
	cache_log_close_open(log);
	cache_log_reap(log);
}

/* Returns whether anything has changed. */
static bool pass(struct cache_log *log)
{
	bool progress = false;

	if (READ_ONCE(log->life.failed)) {
		save(log);
		cache_log_release_moved(log);
		cache_log_serve_discards(log);
		cache_log_serve_leavers(log);
		return false;
	}
	cache_log_serve_discards(log);
	cache_log_serve_leavers(log);
	cache_log_serve_wanted(log);
	progress = cache_log_map_whole(log);
	if (cache_log_home_is_wanted(log))
		progress |= cache_log_go_home(log);
	else
		cache_log_reap(log);
	return progress;
}

void cache_log_work(struct work_struct *work)
{
	struct cache_log *log = container_of(work, struct cache_log, worker.work);
	bool progress;

	log->worker.serves = true;
	steer(log);
	progress = pass(log);
	if (log->life.state == CACHE_LOG_DRAINS &&
	    !READ_ONCE(log->c->life.quiescing))
		try_clear(log);
	rest(log);
	/*
	 * If the cache was given up, the log does not count, and the origin takes
	 * what waits.
	 */
	if (cache_log_is_hopeless(log) && cache_log_counts(log))
		cache_log_give_up_on_room(log);
	progress |= cache_log_next_turns(log);
	if (!cache_log_has_waiters(log) && !cache_log_home_is_wanted(log)) {
		if (progress && READ_ONCE(log->room.nr_whole) >= LOG_WHOLE_BATCH)
			cache_log_kick(log);
		return;
	}
	/*
	 * A write to the origin may be in the way, and does not wake this worker at
	 * its end.
	 */
	if (!progress)
		usleep_range(1000, 2000);
	cache_log_kick(log);
}

void cache_log_tick(struct cache *c)
{
	if (!c->log && READ_ONCE(c->limits.absorb) && cache_keeps_dirty(c) &&
	    c->geo.block_sectors <= LOG_MAX_BLOCK &&
	    cache_log_make(c, cache_log_work, cache_log_pace_work))
		return;
	if (c->log)
		cache_log_kick(c->log);
}
