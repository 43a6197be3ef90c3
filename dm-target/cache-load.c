// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the disk to the engine, and back at a clean stop: the metadata is opened,
 * made to fit the devices and read, and what is past the end of the table
 * leaves it.
 *
 * It owns what is believed of the disk: after an unclean stop every block is
 * dirty; metadata that is older than the origin is emptied; a dirty block is never
 * cut off, and never forgotten if an older engine knows of it (I3).  Nothing is
 * scanned: docs/architecture.md, "Invariants" and "Recovery", says why that suffices.
 * It must not know of other engines or tables, or what becomes of a cache whose
 * origin is another (cache-belongs.c).
 */
#include "cache-answer.h"
#include "cache-belongs.h"
#include "cache-load.h"
#include "cache-log-load.h"
#include "cache-log.h"
#include "cache-table.h"

#include <linux/completion.h>
#include <linux/sched/mm.h>

/* As the kernel's own target has it. */
#define DISCARD_BLOCKS_MAX	(1U << 14)

/* ---- The metadata is opened and made to fit ---- */

static int open_metadata(struct cache *c, struct cache_table *t,
			 bool may_format)
{
	struct cmd_geometry geometry = {
		.data_block_size = t->block_sectors,
		.format = t->format,
		.may_format = may_format,
		.cache_blocks = t->nr_slots,
	};
	const char *why = "cannot be opened";
	int r;

	lockdep_assert_held(&c->md.lock);
	r = pd_device_open_bdev(c->dev.metadata, false, &c->md.pd);
	if (!r)
		r = cmd_open(c->md.pd, &geometry, &c->md.cmd, &why);
	if (r)
		DMERR("metadata: %s", why);
	return r;
}

/* Have both engines the same origin and the same cache device? */
static bool has_devices_of(const struct cache *c, const struct cache *before)
{
	return cache_device_id_equal(&c->dev.origin_id, &before->dev.origin_id) &&
	       cache_device_id_equal(&c->dev.fast_id, &before->dev.fast_id);
}

/* Has @before used these devices up to now, and has nobody used the metadata since? */
static bool follows(struct cache *c, struct cache *before)
{
	lockdep_assert_held(&c->md.lock);
	return c->settings.session &&
	       c->settings.session == before->settings.session &&
	       has_devices_of(c, before) && !before->checked.put_off;
}

/*
 * The metadata may be older than the origin, because the origin was written while
 * the metadata device was away.  Such metadata is not believed.
 */
static int begin_session(struct cache *c, struct cache *before)
{
	bool distrusted;
	int r = 0;

	lockdep_assert_held(&c->md.lock);
	cache_settings_load(c);
	c->checked.followed = before && follows(c, before);
	c->checked.was_put_off = before && before->checked.put_off;
	distrusted = cache_session_distrusted(c->settings.session);
	if (distrusted) {
		DMWARN("the metadata is older than the origin: starting with an empty cache");
		r = cmd_unmap_all(c->md.cmd);
		/* The write log is as old. */
		if (!r && cmd_log_flag(c->md.cmd))
			r = cmd_set_log_flag(c->md.cmd, false);
	}
	if (!r && (distrusted || cmd_formatted(c->md.cmd)))
		r = cache_settings_note_own(c);
	return r ? r : cache_settings_new_session(c);
}

struct shrink_check {
	u32 nr_slots;
	u32 dirty_slot;
	bool found;
	bool unclean;
};

static int check_cut_slot(void *context, u32 slot, u64 block, bool dirty,
			  u32 hint, bool hint_valid)
{
	struct shrink_check *sc = context;

	if (slot >= sc->nr_slots && (dirty || sc->unclean) && !sc->found) {
		sc->found = true;
		sc->dirty_slot = slot;
	}
	return 0;
}

/* The cache device has another size: never cut off a dirty block. */
static int fit_cache_size(struct cache *c, u32 nr_slots)
{
	struct shrink_check sc = {
		.nr_slots = nr_slots,
		.unclean = !cmd_opened_clean(c->md.cmd),
	};
	int r;

	lockdep_assert_held(&c->md.lock);
	if (cmd_cache_blocks(c->md.cmd) == nr_slots)
		return 0;
	if (cmd_cache_blocks(c->md.cmd) > nr_slots) {
		r = cmd_load(c->md.cmd, NULL, NULL, check_cut_slot, &sc);
		if (r)
			return r;
		if (sc.found) {
			DMERR("unable to shrink cache from %u to %u blocks: cache block %u is dirty",
			      cmd_cache_blocks(c->md.cmd), nr_slots,
			      sc.dirty_slot);
			return -EFBIG;
		}
	}
	return cmd_resize(c->md.cmd, nr_slots);
}

static int fit_discards(struct cache *c)
{
	u64 size = c->geo.block_sectors;

	lockdep_assert_held(&c->md.lock);
	while (DIV_ROUND_UP_ULL(c->geo.origin_sectors, size) >
	       DISCARD_BLOCKS_MAX)
		size *= 2;
	return cmd_set_discard_geometry(c->md.cmd, size,
					DIV_ROUND_UP_ULL(c->geo.origin_sectors,
							 size));
}

/* Make the metadata fit the devices; after an unclean stop call all blocks dirty. */
static int prepare_metadata(struct cache *c, struct cache_table *t)
{
	int r;

	lockdep_assert_held(&c->md.lock);
	r = cmd_extend(c->md.cmd,
		       bdev_nr_sectors(c->dev.metadata) / CMD_BLOCK_SECTORS);
	if (r)
		return r;
	if (cmd_log_flag(c->md.cmd)) {
		r = cache_log_open(c, cmd_cache_blocks(c->md.cmd));
		if (!r)
			r = cache_log_fit(c, t->nr_slots);
		if (r)
			return r;
	}
	r = fit_cache_size(c, t->nr_slots);
	if (r)
		return r;
	r = fit_discards(c);
	if (r)
		return r;
	if (!cmd_opened_clean(c->md.cmd) && !cmd_formatted(c->md.cmd)) {
		DMWARN("the metadata was not closed cleanly: taking every block as dirty");
		return cmd_set_all_dirty(c->md.cmd);
	}
	return 0;
}

/* ---- Blocks past the end of the table ---- */

static bool is_past_end(struct cache *c, struct slot *s)
{
	return slot_state(slot_word(s)) == SLOT_VALID &&
	       slot_block(s) >= c->geo.origin_blocks;
}

struct copy_wait {
	struct completion done;
	int error;
};

static void copy_done(int read_err, unsigned long write_err, void *context)
{
	struct copy_wait *cw = context;

	cw->error = read_err || write_err ? -EIO : 0;
	complete(&cw->done);
}

/* Write a dirty block home now; all of it lies on the origin device. */
static int copy_home(struct cache *c, u32 slot, u64 block)
{
	struct dm_io_region from = {
		.bdev = c->dev.fast,
		.sector = cache_block_start(c, slot),
		.count = c->geo.block_sectors,
	};
	struct dm_io_region to = {
		.bdev = c->dev.origin,
		.sector = cache_block_start(c, block),
		.count = c->geo.block_sectors,
	};
	struct copy_wait cw = {};

	init_completion(&cw.done);
	dm_kcopyd_copy(c->clients.copier, &from, 1, &to, 0, copy_done, &cw);
	wait_for_completion_io(&cw.done);
	return cw.error;
}

/*
 * I3: a dirty block that does not fit on the origin device cannot go home, so it
 * must stay.  Nothing was changed so far.
 */
static int check_past_end(struct cache *c)
{
	u64 on_device = div_u64(bdev_nr_sectors(c->dev.origin),
				c->geo.block_sectors);
	u64 block, last = 0;
	u32 i, nr = 0;

	for (i = 0; i < c->map.nr_slots; i++) {
		struct slot *s = slot_at(&c->map, i);

		slot_scan_step(i);
		block = slot_block(s);
		if (!is_past_end(c, s) || !(slot_word(s) & SLOT_DIRTY) ||
		    block < on_device)
			continue;
		last = max(last, block);
		nr++;
	}
	if (!nr)
		return 0;
	DMERR("unable to shrink origin to %llu sectors: %u blocks past its end are dirty, up to sector %llu",
	      (u64)bdev_nr_sectors(c->dev.origin), nr,
	      (u64)cache_block_start(c, last + 1));
	return -EFBIG;
}

static int save_past_end(struct cache *c)
{
	struct slot *s;
	u32 i, nr = 0;
	int r;

	for (i = 0; i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		s = slot_at(&c->map, i);
		if (!is_past_end(c, s) || !(slot_word(s) & SLOT_DIRTY))
			continue;
		r = copy_home(c, i, slot_block(s));
		if (r) {
			DMERR("origin block %llu, dirty and past the end of the table, cannot be written back",
			      slot_block(s));
			return r;
		}
		nr++;
	}
	return nr ? blkdev_issue_flush(c->dev.origin) : 0;
}

static void report_past_end(struct cache *c, u32 nr, u32 nr_dirty)
{
	if (c->degrade.unchecked)
		DMWARN("%u blocks past the end of the table are left out, and the metadata keeps them; it was not checked, and calls %u of them dirty",
		       nr, nr_dirty);
	else
		DMINFO("dropped %u blocks past the end of the table, %u of them dirty",
		       nr, nr_dirty);
}

/*
 * Blocks past the end of the table leave the cache, durably.  Dirty ones go home
 * first: the origin device may be longer than the table.  If the metadata is
 * unchecked, none goes home, and the metadata keeps them, because it is not
 * written.
 */
static int drop_past_end(struct cache *c)
{
	u32 i, nr = 0, nr_dirty = atomic_read(&c->nr.dirty);
	int r = check_past_end(c);

	if (!r && !c->degrade.unchecked)
		r = save_past_end(c);
	for (i = 0; !r && i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		if (!is_past_end(c, slot_at(&c->map, i)))
			continue;
		r = cache_forget_slot(c, i);
		nr++;
	}
	nr_dirty -= atomic_read(&c->nr.dirty);
	if (nr)
		report_past_end(c, nr, nr_dirty);
	return r;
}

/* ---- The mapping ---- */

struct load_context {
	struct cache *c;
	bool unclean;
	const char *why;
};

/*
 * I3: a slot is dirty if the disk calls it so, after an unclean stop, or if the write
 * log has some of its block (W5).
 */
static int load_slot(void *context, u32 slot, u64 block, bool dirty, u32 hint,
		     bool hint_valid)
{
	struct load_context *lc = context;
	struct cache *c = lc->c;
	u32 word = SLOT_VALID;
	int logged;

	if (slot >= c->map.nr_slots)
		return -EINVAL;
	logged = cache_log_check_mapping(c, slot, block);
	if (logged < 0) {
		lc->why = "a cache block is mapped, and is the write log's";
		return logged;
	}
	/* If it is clean on the disk, cache_log_leave_mapped() sets its dirty bit there. */
	if (lc->unclean || logged)
		dirty = true;
	if (dirty)
		word |= SLOT_ALL_DIRTY | SLOT_INTENT;
	if (slot_map_insert(&c->map, slot, block, word)) {
		lc->why = "two cache blocks map the same origin block";
		return -EILSEQ;
	}
	atomic_inc(&c->nr.resident);
	if (dirty) {
		atomic_inc(&c->nr.dirty);
		atomic_inc(&c->nr.intents);
	}
	if (hint_valid)
		hint = cache_lately_load(c, block, hint);
	c->policy.p->ops->load(c->policy.p, slot, block, hint, hint_valid);
	return 0;
}

/* Is the dirty block of @slot of @known in the same slot here, and dirty? */
static bool has_dirty(struct cache *c, struct cache *known, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);

	return slot < c->map.nr_slots && (slot_word(s) & SLOT_DIRTY) &&
	       slot_block(s) == slot_block(slot_at(&known->map, slot));
}

/*
 * I3: the disk is believed, unless it has forgotten dirty blocks of @known, an
 * older engine (or NULL).  It must have the blocks whose dirty bit had become
 * durable (SLOT_INTENT).  A commit that failed may have cleared the bits of the
 * others: their copies were equal then, and nothing was written since.
 *
 * @known may be unchecked itself.  Then it knows only what the disk said when it
 * was loaded, which may be wrong.  The table may be refused because of it, but
 * nothing goes home because of it (doubt_metadata()).  A refusal loses nothing: the
 * engine goes with its table, and the next activation believes the disk alone.  If
 * @known were ignored, a device that came back with older content would lose dirty
 * blocks.
 */
static int check_known(struct cache *c, struct cache *known)
{
	u32 i, nr = 0, word;

	for (i = 0; known && i < known->map.nr_slots; i++) {
		slot_scan_step(i);
		word = slot_word(slot_at(&known->map, i));
		if ((word & SLOT_DIRTY) && (word & SLOT_INTENT) &&
		    !has_dirty(c, known, i))
			nr++;
	}
	if (!nr)
		return 0;
	DMERR("metadata: does not have %u blocks that are dirty in the cache that is suspended",
	      nr);
	return -EILSEQ;
}

/* I3: the disk has the log of @known (or NULL), if that had something in it. */
static int check_known_log(struct cache *c, struct cache *known)
{
	if (!known || !cache_log_unsaved(known) ||
	    (c->log && c->log->geo.id == known->log->geo.id))
		return 0;
	DMERR("metadata: does not have the write log of the cache that is suspended");
	return -EILSEQ;
}

static int load_mapping(struct cache *c, struct cache_table *t,
			struct cache *known, struct cache *before)
{
	struct load_context lc = {
		.c = c,
		.unclean = !cmd_opened_clean(c->md.cmd),
	};
	int r;

	lockdep_assert_held(&c->md.lock);
	r = cmd_load(c->md.cmd, c->policy.ops->name, c->policy.ops->version,
		     load_slot, &lc);
	if (r) {
		if (lc.why)
			DMERR("metadata: %s", lc.why);
		return r;
	}
	c->policy.p->ops->load_done(c->policy.p);
	r = check_known(c, known);
	if (!r)
		r = check_known_log(c, known);
	if (!r)
		r = cache_check_origin(c, t, before);
	/*
	 * The log's extents of mapped blocks leave before any slot goes home,
	 * because they are older.
	 */
	if (!r)
		r = cache_log_leave_mapped(c);
	return r ? r : drop_past_end(c);
}

/* ---- All of it ---- */

/*
 * In writethrough the dirty bits on the disk are only intents, and the origin has
 * all that was acknowledged.  The metadata says so, because then, after a power
 * cut, an origin that was written without the cache only empties the cache;
 * otherwise the volume would be refused.  The write log may outlive a change from
 * writeback, so nothing is said while its flag is set.
 */
static bool goes_through(struct cache *c, enum dm_cache_mode mode)
{
	lockdep_assert_held(&c->md.lock);
	return !cache_mode_keeps_dirty(mode) && !cmd_log_flag(c->md.cmd) &&
	       (c->settings.through || !atomic_read(&c->nr.dirty));
}

void cache_follow_mode(struct cache *c, enum dm_cache_mode mode)
{
	bool through;
	int r = 0;

	mutex_lock(&c->settings.lock);
	mutex_lock(&c->md.lock);
	through = goes_through(c, mode);
	if (through != c->settings.through) {
		r = cache_settings_note_through(c, through);
		if (!r)
			r = cmd_commit(c->md.cmd, true);
	}
	if (r)
		cache_metadata_failed(c, "commit at resume", r);
	mutex_unlock(&c->md.lock);
	mutex_unlock(&c->settings.lock);
}

/*
 * A mapping that nobody has checked since a write of it failed is read, but
 * nothing goes home by it: what is wrong in it would be written over the origin.
 * An engine that has used it all the time, with these devices, and could not write it,
 * vouches for it.
 */
static void doubt_metadata(struct cache *c, struct cache *before)
{
	bool vouched = before &&
		       before->dev.metadata_dev == c->dev.metadata_dev &&
		       has_devices_of(c, before) &&
		       READ_ONCE(before->state.health) == HEALTH_READ_ONLY &&
		       !before->degrade.unchecked;

	lockdep_assert_held(&c->md.lock);
	c->degrade.unchecked = cmd_needs_check(c->md.cmd) && !vouched;
}

/*
 * Under the policy cleaner lvm2 waits until nothing is dirty, so it would wait for
 * ever.
 */
static void report_unchecked(struct cache *c)
{
	u32 nr_dirty = atomic_read(&c->nr.dirty);

	DMERR("metadata: %u blocks are dirty, and stay so until it was checked",
	      nr_dirty);
	if (cache_drain_is_asked(c))
		DMERR("nothing is written back, however long a drain waits: deactivate and activate the volume, because LVM checks the metadata then; without LVM use 'cache_check --clear-needs-check-flag'");
}

/* The changes that were made to the metadata while it was loaded are dropped. */
static int stay_read_only(struct cache *c)
{
	lockdep_assert_held(&c->md.lock);
	DMERR("metadata: NEEDS_CHECK is set, read-only until it was checked");
	if (c->degrade.unchecked && atomic_read(&c->nr.dirty))
		report_unchecked(c);
	c->state.health = HEALTH_READ_ONLY;
	cache_set_failed_mode(c);
	return cmd_abort(c->md.cmd);
}

/*
 * Read everything, bring the metadata up to date, and commit that.  @before is
 * the suspended engine, or NULL.
 */
static int bring_up(struct cache *c, struct cache_table *t,
		    struct cache *before)
{
	struct cache *known = before && cache_alone_knows(before) ? before : NULL;
	unsigned int noio;
	int r;

	mutex_lock(&c->md.lock);
	noio = memalloc_noio_save();
	r = open_metadata(c, t, !known);
	if (!r)
		r = begin_session(c, before);
	if (!r) {
		cache_settings_apply(c, t);
		r = prepare_metadata(c, t);
	}
	if (!r) {
		doubt_metadata(c, before);
		r = load_mapping(c, t, known, before);
	}
	if (!r)
		r = cache_settings_note_through(c, goes_through(c, t->mode));
	if (!r)
		r = cmd_needs_check(c->md.cmd) ? stay_read_only(c) :
						 cmd_commit(c->md.cmd, true);
	memalloc_noio_restore(noio);
	mutex_unlock(&c->md.lock);
	return r;
}

/* Without md.lock, because no other table can find the engine yet. */
static void load_stats(struct cache *c)
{
	struct cmd_stats stats;

	cmd_get_stats(c->md.cmd, &stats);
	cache_stat_add(c, STAT_READ_HITS, stats.read_hits);
	cache_stat_add(c, STAT_READ_MISSES, stats.read_misses);
	cache_stat_add(c, STAT_WRITE_HITS, stats.write_hits);
	cache_stat_add(c, STAT_WRITE_MISSES, stats.write_misses);
}

int cache_load(struct cache *c, struct cache_table *t, struct cache *before)
{
	int r;

	if (before && cache_log_alone_knows(before)) {
		DMERR("write log: only the cache that is suspended knows all of it, because its ring cannot be written");
		return -EILSEQ;
	}
	r = bring_up(c, t, before);
	if (!r)
		r = cache_log_take_slots(c);
	if (r)
		return r;
	slot_map_build_free_list(&c->map);
	r = cache_log_begin(c);
	if (r)
		return r;
	if (c->checked.state == ORIGIN_CACHE_KEPT ||
	    c->checked.state == ORIGIN_KEPT)
		cache_answer_used(t);
	load_stats(c);
	return 0;
}

/* ---- And back ---- */

struct hints_context {
	struct cache *c;
	struct lately_marks lately;
};

static u32 hint_of(void *context, u32 slot)
{
	struct hints_context *hc = context;
	struct cache *c = hc->c;
	u32 hint = 0;

	if (!slot_has_block(slot_word(slot_at(&c->map, slot))))
		return 0;
	if (c->policy.p->ops->hint)
		hint = c->policy.p->ops->hint(c->policy.p, slot);
	return hint | cache_lately_rank(&hc->lately, slot) << LATELY_SHIFT;
}

static int write_hints(struct cache *c)
{
	struct hints_context hc = { .c = c };

	lockdep_assert_held(&c->md.lock);
	cache_lately_marks(c, &hc.lately);
	return cmd_write_hints(c->md.cmd, c->policy.ops->name,
			       c->policy.ops->version, hint_of, &hc);
}

static void store_stats(struct cache *c)
{
	struct cmd_stats stats = {
		.read_hits = cache_stat_sum(c, STAT_READ_HITS),
		.read_misses = cache_stat_sum(c, STAT_READ_MISSES),
		.write_hits = cache_stat_sum(c, STAT_WRITE_HITS),
		.write_misses = cache_stat_sum(c, STAT_WRITE_MISSES),
	};

	lockdep_assert_held(&c->md.lock);
	cmd_set_stats(c->md.cmd, &stats);
}

/*
 * W5: the log on the disk has older extents of the block.  Its mapping outranks
 * them, so it has to stay.
 */
static bool is_logged(struct cache *c, u32 slot)
{
	return c->log && cache_log_has_block(c->log, slot_block(slot_at(&c->map, slot)));
}

/*
 * I1: the cache device could not flush and may have lost writes that reached both
 * devices.  Each of these left an intent.  The origin has them unless the block is
 * dirty, so blocks with an intent that are not dirty are unmapped.
 */
static int drop_suspects(struct cache *c)
{
	u32 i, word;
	int r = 0;

	lockdep_assert_held(&c->md.lock);
	for (i = 0; !r && i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		word = slot_word(slot_at(&c->map, i));
		if (slot_state(word) == SLOT_VALID && (word & SLOT_INTENT) &&
		    !(word & SLOT_DIRTY) && !is_logged(c, i))
			r = cmd_remove(c->md.cmd, i);
	}
	return r;
}

static int commit_state(struct cache *c)
{
	int r = 0;

	lockdep_assert_held(&c->md.lock);
	if (READ_ONCE(c->degrade.fast_flush_failed) &&
	    !READ_ONCE(c->degrade.origin_flush_failed))
		r = drop_suspects(c);
	if (!r)
		r = write_hints(c);
	store_stats(c);
	return r ? r : cmd_commit(c->md.cmd, true);
}

void cache_store(struct cache *c)
{
	int r;

	if (!cache_writable(c))
		return;
	r = cache_flush_devices(c);
	if (r)
		DMERR("flush before suspend failed: error %d", r);
	else if (cache_intents_clear_all(c))
		DMERR("dirty bits could not be taken back before suspend");

	/*
	 * Done also after a failed flush, because the metadata's own commit may
	 * succeed.
	 */
	mutex_lock(&c->md.lock);
	if (cache_writable(c)) {
		r = commit_state(c);
		if (r)
			cache_metadata_failed(c, "commit at suspend", r);
	}
	mutex_unlock(&c->md.lock);
}
