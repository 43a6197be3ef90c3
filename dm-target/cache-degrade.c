// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way down: what is given up when the cache device or the metadata fail.
 *
 * It owns every change of health after an engine was loaded, and the fence: an
 * empty mapping or a wiped superblock, which keeps the metadata from being believed
 * after the origin alone was written.  It must not know of single blocks; their
 * errors are dealt with where they occur and only counted here.
 *
 * As long as nothing is dirty, the origin has everything.  Then a cache whose
 * devices fail is given up as a whole: an empty mapping is committed or, if that
 * fails, the superblock is wiped.  From there on the origin serves all I/O.  If not
 * even the superblock can be written, fail_open decides whether writes go on.  In
 * any case the fence is tried again every few seconds.  The session is remembered,
 * so that a device that comes back is not believed while this module is loaded.
 *
 * While blocks are dirty, the metadata is needed.  If it cannot be changed any
 * more, it stays as it is, and a request that would need a change fails.  Nothing
 * becomes dirty any more, and dirty blocks go home.  A cache device that is dead is
 * still asked for dirty blocks, but for no others.
 */
#include "cache-bio.h"
#include "../slots/cache-instant.h"

#include <linux/sched/mm.h>

/*
 * After so many errors of the cache device the engine tries it: 32 at once, or more
 * than 16 a second, because each tick halves their number.  Fewer may be bad
 * sectors.  A value that is too small costs a few requests only, because a device
 * that answers is not given up.  Not chosen by measurement.
 */
#define ERRORS_MAX		32
/*
 * Free slots that are taken off the list.  They are more than NR_PROBES, because the
 * slots that were freed last come first, and these may be the ones that failed.
 * Meanwhile no promotion can take them.  Not chosen by measurement.
 */
#define NR_TAKEN		64U
/*
 * The slots of these that are tried, the last first.  They are more than one, because one
 * may lie on a bad sector of a device that works.  They are few, because each try may last
 * as long as the device's timeout.  Not chosen by measurement.
 */
#define NR_PROBES		4U
/*
 * Each try of the fence is a write to a device that has failed, and may last as
 * long as the device's timeout.  When the device answers again, writes that are
 * held (fail_open 0) may wait so many seconds more.  Not chosen by measurement.
 */
#define FENCE_RETRY	(5 * HZ)
/*
 * One entry for each cache that was left without a fence since the module was
 * loaded.  One cache more takes the place of the oldest entry, whose metadata would
 * be believed again.  Not chosen by measurement.
 */
#define NR_DISTRUSTED		64

/* Sessions whose metadata was overtaken by the origin without a fence. */
static u64 distrusted[NR_DISTRUSTED];	/* guarded by distrusted_lock */
static unsigned int next_distrusted;	/* guarded by distrusted_lock */
static DEFINE_SPINLOCK(distrusted_lock);

static void distrust(u64 session)
{
	spin_lock(&distrusted_lock);
	distrusted[next_distrusted++ % NR_DISTRUSTED] = session;
	spin_unlock(&distrusted_lock);
}

bool cache_session_distrusted(u64 session)
{
	bool found = false;
	unsigned int i;

	spin_lock(&distrusted_lock);
	for (i = 0; i < NR_DISTRUSTED; i++)
		found |= session && distrusted[i] == session;
	spin_unlock(&distrusted_lock);
	return found;
}

/* ---- Bios that wait for the outcome ---- */

void cache_hold_bio(struct cache *c, struct bio *bio, enum bio_step step)
{
	unsigned long flags;
	bool refused;

	cache_bio(bio)->step = step;
	spin_lock_irqsave(&c->degrade.held_lock, flags);
	/* A suspend waits for every bio, so none may wait for ever. */
	refused = c->degrade.nr_suspending &&
		  READ_ONCE(c->state.health) == HEALTH_HOLDING;
	if (!refused) {
		bio_list_add(&c->degrade.held, bio);
		queue_work(c->wq.commit, &c->degrade.work);
	}
	spin_unlock_irqrestore(&c->degrade.held_lock, flags);
	if (refused)
		bio_io_error(bio);
}

static void take_held(struct cache *c, struct bio_list *bios)
{
	spin_lock_irq(&c->degrade.held_lock);
	*bios = c->degrade.held;
	bio_list_init(&c->degrade.held);
	spin_unlock_irq(&c->degrade.held_lock);
}

static void fail_all(struct bio_list *bios)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		bio_io_error(bio);
}

/* The outcome is known: the bios go on, or they are held again. */
static void release_held(struct cache *c, struct bio_list *bios)
{
	struct bio *bio;

	if (READ_ONCE(c->state.health) != HEALTH_HOLDING) {
		while ((bio = bio_list_pop(bios)))
			cache_defer_bio(c, bio, cache_bio(bio)->step);
		return;
	}
	/*
	 * Under the lock, because then a suspend is seen here, or begins later and
	 * finds the bios in held.
	 */
	spin_lock_irq(&c->degrade.held_lock);
	if (!c->degrade.nr_suspending) {
		bio_list_merge(&c->degrade.held, bios);
		bio_list_init(bios);
	}
	spin_unlock_irq(&c->degrade.held_lock);
	fail_all(bios);
}

/*
 * A bio does not say of which table it is, so the bios of all tables are failed.
 * While the health is not HOLDING none is taken here: a held bio has queued
 * degrade.work, which fails it if the outcome is HEALTH_HOLDING.
 */
void cache_suspend_begins(struct cache *c)
{
	struct bio_list bios;

	bio_list_init(&bios);
	spin_lock_irq(&c->degrade.held_lock);
	c->degrade.nr_suspending++;
	if (READ_ONCE(c->state.health) == HEALTH_HOLDING) {
		bios = c->degrade.held;
		bio_list_init(&c->degrade.held);
	}
	spin_unlock_irq(&c->degrade.held_lock);
	fail_all(&bios);
}

void cache_suspend_ends(struct cache *c)
{
	spin_lock_irq(&c->degrade.held_lock);
	c->degrade.nr_suspending--;
	spin_unlock_irq(&c->degrade.held_lock);
}

/* ---- The fence ---- */

enum fence {
	FENCE_EMPTY,
	FENCE_WIPED,
	FENCE_NONE,
};

static const char * const fence_names[] = {
	[FENCE_EMPTY] = "its mapping was emptied",
	[FENCE_WIPED] = "its metadata was wiped",
	[FENCE_NONE] = "its metadata could NOT be invalidated",
};

static int empty_mapping(struct cache *c)
{
	int r = cmd_abort(c->md.cmd);

	lockdep_assert_held(&c->md.lock);
	if (!r)
		r = cmd_unmap_all(c->md.cmd);
	if (!r && cmd_log_flag(c->md.cmd))
		r = cmd_set_log_flag(c->md.cmd, false);
	if (!r)
		r = cmd_commit(c->md.cmd, true);
	return r;
}

/* I1: unless the result is FENCE_NONE, nothing on the disk maps a block any more. */
static enum fence make_fence(struct cache *c)
{
	unsigned int noio = memalloc_noio_save();
	enum fence fence = FENCE_EMPTY;

	lockdep_assert_held(&c->md.lock);
	if (empty_mapping(c))
		fence = cmd_zero_superblock(c->md.cmd) ? FENCE_NONE :
							 FENCE_WIPED;
	memalloc_noio_restore(noio);
	return fence;
}

static void set_health(struct cache *c, enum cache_health health)
{
	lockdep_assert_held(&c->md.lock);
	/* A CPU that sees the new health sees what was done before. */
	smp_store_release(&c->state.health, health);
	c->life.tell_tables(c);
}

static void go_without_fence(struct cache *c)
{
	lockdep_assert_held(&c->md.lock);
	distrust(c->settings.session);
	WRITE_ONCE(c->degrade.unfenced, true);
	if (READ_ONCE(c->limits.fail_open)) {
		DMWARN("fail_open: writes go on without the cache; if its devices come back after a restart, their content must not be used");
		set_health(c, HEALTH_BYPASS);
	} else {
		DMWARN("writes to cached blocks wait until the metadata can be invalidated, or fail_open is set");
		set_health(c, HEALTH_HOLDING);
	}
}

/*
 * I2: blocks went home that the disk still calls dirty.  If the origin alone were
 * written, the next start would write the old blocks over it.
 */
static void refuse_writes(struct cache *c, const char *why)
{
	lockdep_assert_held(&c->md.lock);
	DMERR("%s: the origin is complete, but the metadata cannot be written and calls blocks dirty; writes to cached blocks fail until the cache is taken off",
	      why);
	set_health(c, HEALTH_READ_ONLY);
}

/* I1: nothing is dirty, so a fence is enough to do without the cache. */
static void give_up(struct cache *c, const char *why)
{
	enum fence fence;

	lockdep_assert_held(&c->md.lock);
	/* Reads go to the origin at once, writes when the mapping is void. */
	WRITE_ONCE(c->state.mode, MODE_PASSTHROUGH);
	fence = make_fence(c);
	if (fence == FENCE_NONE && READ_ONCE(c->degrade.went_home_unsaid)) {
		refuse_writes(c, why);
		return;
	}
	DMERR("%s: the cache is bypassed from now on, the origin is complete; %s",
	      why, fence_names[fence]);
	if (fence == FENCE_NONE)
		go_without_fence(c);
	else
		set_health(c, HEALTH_BYPASS);
}

static void retry_fence(struct cache *c)
{
	lockdep_assert_held(&c->md.lock);
	if (cmd_zero_superblock(c->md.cmd))
		return;
	WRITE_ONCE(c->degrade.unfenced, false);
	DMINFO("the metadata device answers again and was wiped");
	set_health(c, HEALTH_BYPASS);
}

/* ---- Kinds of failure ---- */

/* Is anything in the cache that the origin may not have? */
static bool anything_dirty(struct cache *c)
{
	return cache_nr_dirty_and_log(c) ||
	       (READ_ONCE(c->degrade.origin_flush_failed) &&
		atomic_read(&c->nr.intents));
}

/*
 * Is nothing dirty?  Then nothing becomes dirty any more, because a writer that
 * was not counted here finds the new mode, and writes to both.
 */
static bool stop_dirtying(struct cache *c)
{
	lockdep_assert_held(&c->md.lock);
	if (anything_dirty(c))
		return false;
	WRITE_ONCE(c->state.mode, MODE_PASSTHROUGH);
	/* Pairs with count_dirty(). */
	smp_mb();
	return !anything_dirty(c);
}

bool cache_may_go_home(struct cache *c)
{
	enum cache_health health = READ_ONCE(c->state.health);

	return (health == HEALTH_GOOD || health == HEALTH_READ_ONLY) &&
	       !READ_ONCE(c->degrade.origin_flush_failed) &&
	       !c->degrade.unchecked;
}

void cache_set_failed_mode(struct cache *c)
{
	switch (READ_ONCE(c->state.health)) {
	case HEALTH_GOOD:
		if (!c->degrade.fast_dead)
			return;
		break;
	case HEALTH_READ_ONLY:
		if (c->degrade.fast_dead ||
		    c->state.table_mode == MODE_PASSTHROUGH)
			break;
		/* Blocks that the disk calls dirty are written to both devices. */
		WRITE_ONCE(c->state.mode, MODE_WRITETHROUGH);
		return;
	case HEALTH_HOLDING:
	case HEALTH_BYPASS:
		break;
	}
	WRITE_ONCE(c->state.mode, MODE_PASSTHROUGH);
}

/*
 * The metadata and the cache device are often on the same SSD, so the latter is
 * tried at once.
 */
static void doubt_fast(struct cache *c)
{
	atomic_set(&c->degrade.fast_errors, ERRORS_MAX);
	queue_work(c->wq.commit, &c->degrade.work);
}

void cache_metadata_failed(struct cache *c, const char *what, int error)
{
	lockdep_assert_held(&c->md.lock);
	if (!cache_writable(c))
		return;

	DMERR("metadata: %s failed: error %d", what, error);
	if (stop_dirtying(c)) {
		give_up(c, "metadata failed");
		return;
	}
	DMERR("metadata: switching to read-only mode, %u blocks are dirty",
	      atomic_read(&c->nr.dirty));
	if (cmd_set_needs_check(c->md.cmd))
		DMERR("metadata: could not record that it needs a check");
	set_health(c, HEALTH_READ_ONLY);
	cache_set_failed_mode(c);
	cache_kick_writeback(c);
	doubt_fast(c);
}

/* Can the beginning of @slot be read, and written first if it @may_write? */
static bool place_works(struct cache *c, struct page *page, u32 slot, bool may_write)
{
	struct dm_io_region where = {
		.bdev = c->dev.fast,
		.sector = cache_block_start(c, slot),
		/* A page may be larger than a block, and the next slot may be dirty. */
		.count = min_t(sector_t, PAGE_SECTORS, c->geo.block_sectors),
	};
	struct dm_io_request req = {
		.bi_opf = REQ_OP_WRITE,
		.mem.type = DM_IO_KMEM,
		.mem.ptr.addr = page_address(page),
		.client = c->clients.io,
	};
	int r = may_write ? compat_dm_io(&req, 1, &where, NULL) : 0;

	req.bi_opf = REQ_OP_READ;
	return !r && !compat_dm_io(&req, 1, &where, NULL);
}

/*
 * Even many errors may be bad sectors, so the device is tried before it counts as
 * dead.  While the metadata cannot be changed, the disk may still map a slot that is
 * free here (drop_past_end()), so nothing is written to it.
 */
static bool fast_answers(struct cache *c)
{
	struct page *page = alloc_page(GFP_NOIO | __GFP_ZERO);
	u32 slots[NR_TAKEN];
	unsigned int nr = 0, i;
	bool works = false;

	if (!page)
		return true;
	/* The slots that were freed last may be the ones that failed. */
	while (nr < NR_TAKEN &&
	       (slots[nr] = slot_map_alloc(&c->map)) != SLOT_NONE)
		nr++;
	for (i = 0; i < min(nr, NR_PROBES) && !works; i++)
		works = place_works(c, page, slots[nr - 1 - i],
				    cache_writable(c));
	if (!nr)
		works = place_works(c, page, 0, false);
	while (nr)
		slot_map_free(&c->map, slots[--nr]);
	__free_page(page);
	return works;
}

static bool fast_is_dead(struct cache *c)
{
	if (READ_ONCE(c->degrade.fast_flush_failed))
		return true;
	if (atomic_read(&c->degrade.fast_errors) < ERRORS_MAX)
		return false;
	if (!fast_answers(c))
		return true;
	atomic_set(&c->degrade.fast_errors, 0);
	return false;
}

/* From here on the cache device is asked for dirty blocks only. */
static void abandon_fast(struct cache *c)
{
	lockdep_assert_held(&c->md.lock);
	WRITE_ONCE(c->degrade.fast_dead, true);
	cache_set_failed_mode(c);
	DMERR("cache device failed: only its %u dirty blocks are still asked of it",
	      atomic_read(&c->nr.dirty));
	c->life.tell_tables(c);
}

static void fast_failed(struct cache *c)
{
	lockdep_assert_held(&c->md.lock);
	if (c->state.health == HEALTH_HOLDING ||
	    c->state.health == HEALTH_BYPASS ||
	    !(c->degrade.fast_dead || fast_is_dead(c)))
		return;
	if (cache_writable(c) && stop_dirtying(c))
		give_up(c, READ_ONCE(c->degrade.fast_flush_failed) ?
				   "cache device failed to flush" :
				   "cache device failed");
	else if (!c->degrade.fast_dead)
		abandon_fast(c);
}

void cache_degrade_work(struct work_struct *work)
{
	struct cache *c = container_of(work, struct cache, degrade.work);
	struct bio_list bios;

	/* A bio that is held from here on queues the work again. */
	take_held(c, &bios);
	mutex_lock(&c->md.lock);
	/* When this engine is suspended, another one may have the metadata. */
	if (c->degrade.unfenced && !READ_ONCE(c->life.quiescing))
		retry_fence(c);
	else
		fast_failed(c);
	mutex_unlock(&c->md.lock);
	release_held(c, &bios);
}

void cache_fast_error(struct cache *c, enum cache_stat stat)
{
	cache_stat_inc(c, stat);
	if (atomic_inc_return(&c->degrade.fast_errors) == ERRORS_MAX)
		queue_work(c->wq.commit, &c->degrade.work);
}

static bool degrade_due(struct cache *c)
{
	/* The last dirty block has gone home. */
	if (READ_ONCE(c->degrade.fast_dead) && cache_writable(c) &&
	    !anything_dirty(c))
		return true;
	return READ_ONCE(c->degrade.unfenced) &&
	       !instant_is_ahead(c->degrade.fence_after, jiffies, FENCE_RETRY);
}

void cache_degrade_tick(struct cache *c)
{
	int errors = atomic_read(&c->degrade.fast_errors);

	if (errors)
		atomic_sub((errors + 1) / 2, &c->degrade.fast_errors);
	if (!degrade_due(c))
		return;
	c->degrade.fence_after = jiffies + FENCE_RETRY;
	queue_work(c->wq.commit, &c->degrade.work);
}

void cache_set_fail_open(struct cache *c)
{
	mutex_lock(&c->md.lock);
	WRITE_ONCE(c->limits.fail_open, 1);
	if (c->state.health == HEALTH_HOLDING)
		go_without_fence(c);
	mutex_unlock(&c->md.lock);
	queue_work(c->wq.commit, &c->degrade.work);
}
