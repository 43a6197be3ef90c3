// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's life: built from the metadata, resumed and suspended under one
 * table after another, torn down with the last.
 *
 * It owns the list of engines, one per metadata device.  lvm2 loads a new
 * table while the old one is live, so nothing happens before preresume.  There
 * the new table takes over the suspended engine, if the geometry is the same
 * and the metadata was not written meanwhile; if not, it builds a new engine from
 * disk.  The superseded table keeps its reference and touches nothing.
 * docs/architecture.md, "Table reload" and "Failure", has the steps.  It must not
 * know how a bio is served.
 */
#include "cache-build.h"
#include "cache-engine.h"
#include "cache-load.h"
#include "cache-log-load.h"
#include "cache-log.h"
#include "cache-table.h"

#include <linux/sched/mm.h>

/*
 * Guards engines, the tables and list membership of each, and which engine a
 * table has.  Held only briefly; taken after md.lock.
 */
static DEFINE_MUTEX(engines_lock);
static LIST_HEAD(engines);

/* The lock keeps the tables, because a table leaves the list before it is destroyed. */
static void tell_tables(struct cache *c)
{
	struct cache_table *t;

	mutex_lock(&engines_lock);
	list_for_each_entry(t, &c->life.tables, running)
		dm_table_event(t->ti->table);
	mutex_unlock(&engines_lock);
}

static void destroy_engine(struct kref *ref)
{
	struct cache *c = container_of(ref, struct cache, life.ref);

	mutex_lock(&engines_lock);
	list_del(&c->life.list);
	mutex_unlock(&engines_lock);
	cache_free(c);
}

/* ---- From table to table ---- */

static struct cache *find_engine(dev_t dev)
{
	struct cache *c;

	lockdep_assert_held(&engines_lock);
	list_for_each_entry(c, &engines, life.list)
		if (c->dev.metadata_dev == dev)
			return c;
	return NULL;
}

/*
 * The same blocks in the same places?  The table that gave the engine its devices
 * may be gone, and with it the cache device and the origin, so their ids are
 * compared.  The metadata device is open at all times: the engine is found by it,
 * and a table that keeps the engine has opened it before the last one closed it.
 */
static bool same_stack(struct cache *c, struct cache_table *t)
{
	return c->geo.block_sectors == t->block_sectors &&
	       c->map.nr_slots == t->nr_slots &&
	       c->geo.origin_sectors == t->ti->len &&
	       c->dev.metadata == t->metadata->bdev &&
	       cache_is_device(&c->dev.fast_id, t->fast->bdev) &&
	       cache_is_device(&c->dev.origin_id, t->origin->bdev);
}

/*
 * Can the suspended engine serve this table as it is?  Without md.lock: the
 * engine's workers have ended (drain_work()), and begin_resume() lets no other
 * resume look at it.
 */
static bool still_fits(struct cache *c, struct cache_table *t)
{
	return cache_writable(c) && !c->life.broken && !c->degrade.fast_dead &&
	       !cache_flush_failed(c) &&
	       !(c->checked.put_off && t->mode != MODE_PASSTHROUGH) &&
	       same_stack(c, t) && cmd_reread_matches(c->md.cmd) == 1;
}

/*
 * Can an engine serve this table though its metadata cannot be opened (again)?
 * An engine that was given up does not need it, because the origin serves all.  A
 * read-only engine knows all that it needs to copy its dirty blocks home.
 */
static bool can_stay(struct cache *c, struct cache_table *t)
{
	return !cache_writable(c) && same_stack(c, t);
}

/* Reads only.  Unformatted metadata is accepted. */
static int try_metadata(struct cache_table *t, const char **why)
{
	struct cmd_geometry geometry = {
		.data_block_size = t->block_sectors,
		.format = t->format,
	};
	struct pd_device *pd;
	struct cmd *cmd;
	int r;

	*why = "the device cannot be read";
	r = pd_device_open_bdev(t->metadata->bdev, true, &pd);
	if (r)
		return r;
	r = cmd_open(pd, &geometry, &cmd, why);
	if (!r)
		cmd_close(cmd);
	pd_device_close(pd);
	return r == -ENODATA ? 0 : r;
}

/*
 * For the constructor: would the metadata be accepted?  Reads only.  A live
 * engine has read it already.  If that engine has failed since, a table that
 * needs the metadata read again is refused now, while the live table can go on.
 */
int cache_check_metadata(struct cache_table *t, const char **why)
{
	struct cache *c;
	bool live;
	int r = 0;

	mutex_lock(&engines_lock);
	c = find_engine(t->metadata->bdev->bd_dev);
	if (c && !kref_get_unless_zero(&c->life.ref))
		c = NULL;
	live = c && !list_empty(&c->life.tables);
	mutex_unlock(&engines_lock);

	*why = "its block size is not the table's";
	if (live && c->geo.block_sectors != t->block_sectors)
		r = -EINVAL;
	else if (!live || !cache_writable(c))
		r = try_metadata(t, why);
	if (r == -EIO && c && can_stay(c, t))
		r = 0;
	if (c)
		kref_put(&c->life.ref, destroy_engine);
	return r;
}

static int reuse_engine(struct cache *c, struct cache_table *t)
{
	int r;

	r = cache_policy_switch(c, t->policy_ops);
	if (r)
		return r;
	cache_set_devices(c, t);
	cache_settings_apply(c, t);
	if (cache_writable(c))
		cache_follow_mode(c, t->mode);
	return 0;
}

static int check_mode(struct cache *c, struct cache_table *t)
{
	if (t->mode != MODE_PASSTHROUGH || !cache_nr_unsaved(c))
		return 0;
	DMERR("cannot enter passthrough mode: %u blocks are dirty",
	      cache_nr_unsaved(c));
	return -EINVAL;
}

/*
 * A resume under way: no other table may resume on the same metadata meanwhile.
 * engines_lock is not held, because a resume does I/O, perhaps to another cache.
 */
struct resuming {
	struct list_head list;
	dev_t dev;
	bool shares;		/* the engine runs, under another table */
};

static LIST_HEAD(resumings);	/* guarded by engines_lock */

/* Is a resume, or a removal, under way on this metadata device? */
static bool is_claimed(dev_t dev)
{
	struct resuming *r;

	lockdep_assert_held(&engines_lock);
	list_for_each_entry(r, &resumings, list)
		if (r->dev == dev)
			return true;
	return false;
}

/*
 * May this table run on an engine on which another table still runs?  lvm2 needs
 * that when it removes a snapshot of a cached volume: the volume's own device gets
 * the cache's table before the device below it, idle by then, is removed.  Both
 * tables have the same engine, so nothing can differ between them.
 */
static bool may_share(struct cache *c, struct cache_table *t)
{
	return same_stack(c, t) && c->state.table_mode == t->mode &&
	       c->policy.ops == t->policy_ops;
}

/*
 * Do only tables of the device of @t run on the engine?  Device-mapper destroys them
 * when the resume of @t has failed, and the engine would go with them.
 */
static bool runs_only_here(struct cache *c, struct cache_table *t)
{
	struct mapped_device *md = dm_table_get_md(t->ti->table);
	struct cache_table *other;

	lockdep_assert_held(&engines_lock);
	list_for_each_entry(other, &c->life.tables, running)
		if (dm_table_get_md(other->ti->table) != md)
			return false;
	return true;
}

static const char in_use[] = "metadata device is in use by another active cache";

/*
 * Returns -EBUSY when the metadata is in use.  *@c is the engine to take over, with a
 * reference, or NULL; after -EBUSY, an engine that goes with the tables of this device.
 * A refused table keeps no engine of another device, because that would outlive its
 * removal.
 */
static int begin_resume(struct cache_table *t, struct resuming *me,
			struct cache **c)
{
	bool inherits = false;
	int r = 0;

	me->dev = t->metadata->bdev->bd_dev;
	mutex_lock(&engines_lock);
	*c = find_engine(me->dev);
	/* An engine that is being destroyed has nothing to hand over. */
	if (*c && !kref_get_unless_zero(&(*c)->life.ref))
		*c = NULL;
	me->shares = *c && !list_empty(&(*c)->life.tables) &&
		     list_empty(&t->running);
	if (me->shares && ((*c)->life.stopping || !may_share(*c, t)))
		r = -EBUSY;
	if (is_claimed(me->dev))
		r = -EBUSY;
	if (!r)
		list_add(&me->list, &resumings);
	else
		inherits = me->shares && runs_only_here(*c, t);
	mutex_unlock(&engines_lock);
	if (r) {
		DMERR("%s", in_use);
		if (*c && !inherits) {
			kref_put(&(*c)->life.ref, destroy_engine);
			*c = NULL;
		}
	}
	return r;
}

/*
 * Could the engine be shared when the resume began, and not any more?  Its last
 * table has been suspended since, or is being suspended, and a suspend does not
 * wait for a table that joins.  Once this table is on the list, the other one is
 * not the last: leave_engine() looks under the same lock.
 */
static bool left_meanwhile(const struct resuming *me, struct cache *c)
{
	lockdep_assert_held(&engines_lock);
	return me->shares && (c->life.stopping || list_empty(&c->life.tables));
}

/*
 * Make *@c the engine of @t, and list it.  On return *@c is the engine that @t had
 * before, which the caller has to put.
 */
static void adopt_engine(struct cache_table *t, const struct resuming *me,
			 struct cache **c)
{
	struct cache *old = find_engine(me->dev);

	lockdep_assert_held(&engines_lock);
	if (old != *c) {
		if (old)
			list_del_init(&old->life.list);
		list_add(&(*c)->life.list, &engines);
	}
	list_add(&t->running, &(*c)->life.tables);
	swap(t->cache, *c);
}

/* End the resume: @t gets @c and its reference, or (NULL) keeps what it had. */
static int end_resume(struct cache_table *t, struct resuming *me,
		      struct cache *c)
{
	int r = 0;

	mutex_lock(&engines_lock);
	list_del(&me->list);
	if (c && left_meanwhile(me, c))
		r = -EBUSY;
	else if (c)
		adopt_engine(t, me, &c);
	mutex_unlock(&engines_lock);
	if (r)
		DMERR("%s", in_use);
	if (c)
		kref_put(&c->life.ref, destroy_engine);
	return r;
}

/*
 * The suspended engine goes on with what it knows.  An engine that was given up
 * needs nothing of the table.
 */
static int stay_with_engine(struct cache *c, struct cache_table *t)
{
	enum dm_cache_mode mode;
	int r;

	if (READ_ONCE(c->state.health) != HEALTH_READ_ONLY)
		return 0;
	r = check_mode(c, t);
	if (r)
		return r;
	/* The failure decided the mode, whatever the table says. */
	mode = c->state.mode;
	r = reuse_engine(c, t);
	WRITE_ONCE(c->state.mode, mode);
	return r;
}

/* The suspended engine was well: has its metadata device failed since? */
static void notice_failure(struct cache *c)
{
	mutex_lock(&c->md.lock);
	if (cache_writable(c) && cmd_reread_matches(c->md.cmd) < 0)
		cache_metadata_failed(c, "reading it at resume", -EIO);
	mutex_unlock(&c->md.lock);
	/* The work may change the mode, and the caller looks at that. */
	flush_work(&c->degrade.work);
}

/*
 * Build a new engine.  If the metadata cannot be read, the suspended engine goes on
 * if it can.
 */
static int rebuild_engine(struct cache_table *t, struct cache *suspended,
			  struct cache **result)
{
	int r = cache_build(t, suspended, tell_tables, result);

	/* Any other fault of the metadata is for the administrator to mend. */
	if (r != -EIO || !suspended || !same_stack(suspended, t))
		return r;
	notice_failure(suspended);
	if (!can_stay(suspended, t))
		return r;
	DMWARN("metadata: cannot be used: going on with what is known of the cache");
	r = stay_with_engine(suspended, t);
	if (r)
		return r;
	kref_get(&suspended->life.ref);
	*result = suspended;
	return 0;
}

/* The engine for @t, with a reference: the suspended one, or a new one. */
static int engine_for(struct cache_table *t, const struct resuming *me,
		      struct cache *suspended, struct cache **result)
{
	int r;

	if (me->shares) {
		kref_get(&suspended->life.ref);
		*result = suspended;
		return 0;
	}
	if (suspended && still_fits(suspended, t)) {
		r = check_mode(suspended, t);
		if (!r)
			r = reuse_engine(suspended, t);
		if (!r)
			kref_get(&suspended->life.ref);
		*result = suspended;
		return r;
	}

	r = rebuild_engine(t, suspended, result);
	if (r || *result == suspended)
		return r;
	r = check_mode(*result, t);
	if (r)
		kref_put(&(*result)->life.ref, destroy_engine);
	return r;
}

/*
 * Keep @c with the table, or give back the kept engine (NULL).  After a failed
 * resume device-mapper destroys the older table.  If the engine of that table alone
 * knows of dirty blocks, this table keeps it, until a table comes with which it can
 * stay, or its metadata comes back.  Both tables have the same metadata device.
 */
static void keep_engine(struct cache_table *t, struct cache *c)
{
	if (c)
		kref_get(&c->life.ref);
	swap(t->kept, c);
	if (c)
		kref_put(&c->life.ref, destroy_engine);
}

/* Get @t an engine, and end the resume. */
static int resume_with(struct cache_table *t, struct resuming *me,
		       struct cache *suspended)
{
	struct cache *c = NULL;
	int r = 0;

	/*
	 * A table that runs already is resumed again, because another of its targets
	 * did not resume.
	 */
	if (list_empty(&t->running))
		r = engine_for(t, me, suspended, &c);
	if (!r)
		return end_resume(t, me, c);
	end_resume(t, me, NULL);
	return r;
}

/*
 * Preresume: the engine for this table, ready to run.  Can be called again
 * after an error.
 */
int cache_engine_resume(struct cache_table *t)
{
	unsigned int noio = memalloc_noio_save();
	struct cache *suspended;
	struct resuming me;
	int r;

	r = begin_resume(t, &me, &suspended);
	if (!r)
		r = resume_with(t, &me, suspended);
	if (!r)
		keep_engine(t, NULL);
	else if (suspended && cache_alone_knows(suspended))
		keep_engine(t, suspended);
	if (suspended)
		kref_put(&suspended->life.ref, destroy_engine);
	memalloc_noio_restore(noio);
	return r;
}

/* Resume: I/O and background work may start. */
void cache_engine_run(struct cache *c)
{
	WRITE_ONCE(c->life.quiescing, false);
	WRITE_ONCE(c->tick.last_io, jiffies);
	/* The devices' own tables may have changed meanwhile. */
	cache_flushes_forget(&c->flushes);
	/* Said only now, because before the table was not among those that are told. */
	if (c->checked.untold)
		tell_tables(c);
	c->checked.untold = false;
	cache_tick_starts(c);
	cache_kick_writeback(c);
	/* A log that was recovered is draining until its worker has looked at it. */
	if (c->log)
		cache_log_kick(c->log);
}

static bool runs_alone(struct cache_table *t)
{
	lockdep_assert_held(&engines_lock);
	return list_is_singular(&t->cache->life.tables) &&
	       !list_empty(&t->running);
}

/* Presuspend: start nothing new in the background. */
void cache_engine_quiesce(struct cache_table *t)
{
	struct cache *c = t->cache;

	mutex_lock(&engines_lock);
	if (runs_alone(t)) {
		WRITE_ONCE(c->life.quiescing, true);
		wake_up_all(&c->wait.migrations);
		/*
		 * If the log's ring has failed, bios may wait that end only when
		 * its worker runs.
		 */
		if (c->log)
			cache_log_kick(c->log);
	}
	mutex_unlock(&engines_lock);
	if (!t->suspending) {
		cache_suspend_begins(c);
		cache_yield_suspend_begins(c);
	}
	t->suspending = true;
}

static void end_suspending(struct cache_table *t)
{
	if (t->suspending) {
		cache_yield_suspend_ends(t->cache);
		cache_suspend_ends(t->cache);
	}
	t->suspending = false;
}

/* The suspend is called off. */
void cache_engine_unquiesce(struct cache_table *t)
{
	end_suspending(t);
	cache_engine_run(t->cache);
}

static void drain_work(struct cache *c)
{
	cancel_delayed_work_sync(&c->tick.work);
	/*
	 * A worker that read "quiescing" before it was set may still begin migrations.
	 * So all workers end before the migrations are awaited.  A worker that is queued
	 * later begins none.
	 */
	flush_workqueue(c->wq.bg);
	/* No change begins to linger any more: the cache is quiescing. */
	cache_commit_kick_lingering(c);
	wait_event(c->wait.migrations, !atomic_read(&c->wait.nr_migrations));
	/* The end of a migration may have queued a worker. */
	flush_workqueue(c->wq.bg);
	flush_workqueue(c->wq.main);
	flush_delayed_work(&c->commit.work);
	flush_workqueue(c->wq.commit);
}

/*
 * Take the table off its engine.  True if it is the last: it stays listed, and the
 * caller stops the engine.
 */
static bool leave_engine(struct cache_table *t)
{
	struct cache *c = t->cache;
	bool last;

	mutex_lock(&engines_lock);
	last = runs_alone(t);
	if (last)
		c->life.stopping = true;
	else
		list_del_init(&t->running);
	mutex_unlock(&engines_lock);
	return last;
}

static void stop_engine(struct cache_table *t)
{
	struct cache *c = t->cache;

	WRITE_ONCE(c->life.quiescing, true);
	wake_up_all(&c->wait.migrations);
	drain_work(c);
	cache_log_stop(c);
	cache_store(c);
	/*
	 * A failure that storing has found is acted on while this engine is still
	 * the only one.
	 */
	flush_work(&c->degrade.work);

	mutex_lock(&engines_lock);
	list_del_init(&t->running);
	c->life.stopping = false;
	mutex_unlock(&engines_lock);
}

/*
 * A message that comes now finds the device suspended.  Device-mapper itself waits for
 * messages in a suspend, but not when it removes a device that was not suspended.
 */
static void wait_for_messages(struct cache_table *t)
{
	down_write(&t->messages);
	up_write(&t->messages);
}

/* Postsuspend: no user I/O is in flight any more. */
void cache_engine_suspend(struct cache_table *t)
{
	unsigned int noio = memalloc_noio_save();

	wait_for_messages(t);
	if (!list_empty(&t->running) && leave_engine(t))
		stop_engine(t);
	end_suspending(t);
	memalloc_noio_restore(noio);
}

/* ---- Removal ---- */

/* Does the table hold the engine's devices open? */
static bool has_devices(const struct cache *c, const struct cache_table *t)
{
	return c->dev.origin == t->origin->bdev &&
	       c->dev.fast == t->fast->bdev &&
	       c->dev.metadata == t->metadata->bdev;
}

/*
 * Is the device being removed, and the table the last user of the engine that it has just
 * stopped?  Then nobody else resumes on its metadata until end_removal().
 *
 * Where another table takes this one's place, a linear one on the origin, say, users write
 * the origin already, so nothing may go home.  Device-mapper says "post-suspending" to a
 * destructor only when a device is removed that was not suspended before.
 */
static bool begin_removal(struct cache_table *t, struct resuming *me)
{
	struct cache *c = t->cache;
	bool last;

	mutex_lock(&engines_lock);
	last = c && dm_post_suspending(t->ti) && list_empty(&t->running) &&
	       list_empty(&c->life.tables) && kref_read(&c->life.ref) == 1 &&
	       find_engine(c->dev.metadata_dev) == c && has_devices(c, t) &&
	       !is_claimed(c->dev.metadata_dev);
	if (last) {
		me->dev = c->dev.metadata_dev;
		me->shares = false;
		list_add(&me->list, &resumings);
	}
	mutex_unlock(&engines_lock);
	return last;
}

static void end_removal(struct resuming *me)
{
	mutex_lock(&engines_lock);
	list_del(&me->list);
	mutex_unlock(&engines_lock);
}

/*
 * Only hearth can open a cache that has something in its write log, so as much as
 * possible goes home.
 */
static void settle_log(struct cache_table *t)
{
	unsigned int noio;
	struct resuming me;

	if (!begin_removal(t, &me))
		return;
	noio = memalloc_noio_save();
	if (cache_log_leave(t->cache))
		cache_store(t->cache);
	memalloc_noio_restore(noio);
	end_removal(&me);
}

/* The table goes; its engine with the last reference to it. */
void cache_engine_put(struct cache_table *t)
{
	/* Device-mapper did not suspend it if another of its targets did not resume. */
	cache_engine_suspend(t);
	settle_log(t);
	keep_engine(t, NULL);
	if (t->cache)
		kref_put(&t->cache->life.ref, destroy_engine);
}

struct cache *cache_engine_borrow(struct cache_table *t)
{
	struct cache *c;

	mutex_lock(&engines_lock);
	c = t->cache;
	if (c)
		kref_get(&c->life.ref);
	mutex_unlock(&engines_lock);
	return c;
}

void cache_engine_return(struct cache *c)
{
	kref_put(&c->life.ref, destroy_engine);
}
