// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group commit.  While I/O runs, mappings and dirty bits are changed only here, and the
 * metadata is committed only here, unless cache-degrade.c acts on a failure.
 *
 * It owns the order of things: the devices are flushed before a mapping or a
 * cleared dirty bit that relies on their content, and the commit is durable
 * before a bio that waited for it goes on.  Changes are applied in the order of
 * queueing.  While one group is being written the next one gathers.
 * docs/architecture.md has the steps, and the invariants I1 to I3.
 *
 * Changes for which no bio waits (blocks that were promoted or went home) may
 * linger until there are enough for a group, because each commit flushes the
 * disk.
 *
 * cache-intents.c says which intents are set and taken back with a group.  This
 * file must not know why a change was queued, nor what its done() does.
 */
#include "cache-trace.h"

#include <linux/completion.h>
#include <linux/sched/mm.h>

/*
 * Changes for which no bio waits share a commit, because it flushes both devices.
 * At most 20 commits a second are for such changes alone, unless LINGER_OPS of them
 * come sooner.  No bio waits for these changes.  But a commit takes 200 us of a CPU, and if
 * there were twice as many, nearly 1 % of the hits at depth 16 would wait for one.
 * LINGER_OPS was not chosen by measurement.
 */
#define LINGER_MS		50
#define LINGER_OPS		64
/*
 * The changes of one group, at most.  Others wait for the next commit, because a
 * first write waits for its whole group: a commit without a bound once had 546,506
 * unmappings.  The value was not chosen by measurement.  UNMAPS_MAX has to be below
 * it, so that a group has room for other changes.
 */
#define GROUP_OPS		4096
/*
 * Blocks are mapped many at a time, because neighbouring slots share a block of the metadata.
 * With 32, their array takes 512 bytes of the stack.  Not chosen by measurement.
 */
#define MAPS_MAX		32

struct group {
	struct list_head ops;
	unsigned int nr_ops;
	unsigned int nr_intents;
	unsigned int nr_swept;
	unsigned int nr_ahead;
	unsigned int needs_flush;	/* FLUSH_* */
};

/* ---- One group ---- */

/* I1, I2: the devices to flush before, because the change relies on their content. */
static unsigned int relies_on(enum commit_kind kind)
{
	switch (kind) {
	case COMMIT_CLEAR_DIRTY:
	case COMMIT_MAP_CLEAN:
	case COMMIT_MAP_DIRTY:
		return FLUSH_BOTH;
	case COMMIT_HOME:
		return FLUSH_ORIGIN;
	case COMMIT_SET_DIRTY:
	case COMMIT_UNMAP:
	case COMMIT_BARRIER:
		break;
	}
	return 0;
}

/*
 * Changes for which the group has no room are left for the next one.  The worker is
 * kicked for them, so none of them lingers any longer.
 */
static void gather_group(struct cache *c, struct group *g)
{
	struct commit_op *op;

	INIT_LIST_HEAD(&g->ops);
	spin_lock_irq(&c->commit.lock);
	for (; g->nr_ops < GROUP_OPS && !list_empty(&c->commit.ops);
	     g->nr_ops++)
		list_move_tail(c->commit.ops.next, &g->ops);
	WRITE_ONCE(c->commit.nr_lingering, 0);
	c->commit.kicked = false;
	if (!list_empty(&c->commit.ops))
		cache_commit_kick_locked(c);
	spin_unlock_irq(&c->commit.lock);

	list_for_each_entry(op, &g->ops, list) {
		g->needs_flush |= relies_on(op->kind);
		g->nr_intents += op->kind == COMMIT_SET_DIRTY;
	}
	if (g->nr_intents)
		cache_intents_wanted(c);
}

static bool is_map(enum commit_kind kind)
{
	return kind == COMMIT_MAP_CLEAN || kind == COMMIT_MAP_DIRTY;
}

static int apply_op(struct cache *c, struct commit_op *op)
{
	lockdep_assert_held(&c->md.lock);
	switch (op->kind) {
	case COMMIT_SET_DIRTY:
		return cmd_set_dirty(c->md.cmd, op->slot, true);
	case COMMIT_CLEAR_DIRTY:
		return cmd_set_dirty(c->md.cmd, op->slot, false);
	case COMMIT_UNMAP:
		return cmd_remove(c->md.cmd, op->slot);
	case COMMIT_MAP_CLEAN:
	case COMMIT_MAP_DIRTY:
		/* apply_ops() has given them to add_map(). */
		WARN_ON_ONCE(1);
		return -EINVAL;
	case COMMIT_HOME:
	case COMMIT_BARRIER:
		break;
	}
	return 0;
}

/* Changes that map blocks and are still to be applied, in their order. */
struct maps {
	struct cmd_mapping all[MAPS_MAX];
	u32 nr;
};

static int apply_maps(struct cache *c, struct maps *maps)
{
	u32 nr = maps->nr;

	lockdep_assert_held(&c->md.lock);
	maps->nr = 0;
	return nr ? cmd_insert_many(c->md.cmd, maps->all, nr) : 0;
}

static int add_map(struct cache *c, struct maps *maps, const struct commit_op *op)
{
	maps->all[maps->nr++] = (struct cmd_mapping) {
		.oblock = op->block,
		.cblock = op->slot,
		.dirty = op->kind == COMMIT_MAP_DIRTY,
	};
	return maps->nr == MAPS_MAX ? apply_maps(c, maps) : 0;
}

static int apply_ops(struct cache *c, const struct list_head *ops)
{
	struct maps maps;
	struct commit_op *op;
	int r;

	maps.nr = 0;
	list_for_each_entry(op, ops, list) {
		if (is_map(op->kind)) {
			r = add_map(c, &maps, op);
		} else {
			r = apply_maps(c, &maps);
			if (!r)
				r = apply_op(c, op);
		}
		if (r)
			return r;
	}
	return apply_maps(c, &maps);
}

static int apply_group(struct cache *c, void *arg)
{
	struct group *g = arg;
	int r;

	lockdep_assert_held(&c->md.lock);
	r = cache_intents_clear(c, g->nr_swept);
	if (r)
		return r;
	r = apply_ops(c, &g->ops);
	if (r)
		return r;
	return cache_intents_set_ahead(c, g->nr_ahead);
}

/*
 * On return the change is durable, or cache_metadata_failed() has decided what its
 * failure means for the engine.
 */
static int change_metadata(struct cache *c, const char *what,
			   int (*change)(struct cache *c, void *arg), void *arg)
{
	unsigned int noio;
	int r;

	mutex_lock(&c->md.lock);
	noio = memalloc_noio_save();
	r = cache_writable(c) ? 0 : -EROFS;
	if (!r) {
		r = change(c, arg);
		if (!r)
			r = cmd_commit(c->md.cmd, true);
		if (r)
			cache_metadata_failed(c, what, r);
	}
	memalloc_noio_restore(noio);
	mutex_unlock(&c->md.lock);
	return r;
}

struct change_work {
	struct work_struct work;
	struct cache *c;
	const char *what;
	int (*change)(struct cache *c, void *arg);
	void *arg;
	int error;
};

static void change_work(struct work_struct *work)
{
	struct change_work *w = container_of(work, struct change_work, work);

	w->error = change_metadata(w->c, w->what, w->change, w->arg);
}

int cache_commit_change(struct cache *c, const char *what,
			int (*change)(struct cache *c, void *arg), void *arg)
{
	struct change_work w = {
		.c = c, .what = what, .change = change, .arg = arg
	};

	/*
	 * On wq.commit, so never beside a group's done() calls.  These make slots dirty
	 * without a look at the mode, and stop_dirtying() would not see that.
	 */
	INIT_WORK_ONSTACK(&w.work, change_work);
	queue_work(c->wq.commit, &w.work);
	flush_work(&w.work);
	destroy_work_on_stack(&w.work);
	return w.error;
}

static int commit_group(struct cache *c, struct group *g)
{
	int r = change_metadata(c, "commit", apply_group, g);

	cache_stat_inc(c, STAT_COMMITS);
	return r;
}

static void complete_ops(struct cache *c, struct list_head *ops, int error)
{
	struct commit_op *op, *next;

	list_for_each_entry_safe(op, next, ops, list) {
		list_del(&op->list);
		op->done(c, op, error);
	}
}

/* I2: a device did not flush, so changes that rely on its content fail. */
static void fail_unflushed(struct cache *c, struct group *g)
{
	unsigned int devices = cache_unflushed(c);
	struct commit_op *op, *next;
	LIST_HEAD(failed);

	list_for_each_entry_safe(op, next, &g->ops, list)
		if (relies_on(op->kind) & devices)
			list_move_tail(&op->list, &failed);
	if (!devices || (list_empty(&failed) && !g->nr_swept))
		return;
	DMERR_LIMIT("flush of the %s device failed",
		    devices & FLUSH_FAST ? "cache" : "origin");
	cache_intents_give_back(c, g->nr_swept);
	g->nr_swept = 0;
	complete_ops(c, &failed, -EIO);
}

/*
 * I2: the blocks of COMMIT_HOME are on the origin, durably.  The disk still calls
 * them dirty, so they need no commit, and a commit that fails does not undo it.
 */
static void end_home(struct cache *c, struct group *g)
{
	struct commit_op *op, *next;
	LIST_HEAD(home);

	list_for_each_entry_safe(op, next, &g->ops, list)
		if (op->kind == COMMIT_HOME)
			list_move_tail(&op->list, &home);
	complete_ops(c, &home, 0);
}

/* I1, I2: flush, apply, commit, and only then done(), in this order. */
void cache_commit_work(struct work_struct *work)
{
	struct cache *c =
		container_of(to_delayed_work(work), struct cache, commit.work);
	ktime_t began = trace_dm_cache_commit_enabled() ? ktime_get() : 0;
	struct group g = {};
	int r;

	gather_group(c, &g);
	if (cache_writable(c))
		g.nr_swept = cache_intents_take(c, g.nr_intents);
	if (g.needs_flush || g.nr_swept) {
		cache_flush_some(c, g.nr_swept ? FLUSH_BOTH : g.needs_flush);
		fail_unflushed(c, &g);
	}
	end_home(c, &g);
	if (list_empty(&g.ops) && !g.nr_swept)
		return;
	/*
	 * A group that has swept sets no intents ahead, because these would undo
	 * the sweep.
	 */
	if (g.nr_intents && !g.nr_swept && !cache_flush_failed(c))
		g.nr_ahead = cache_intents_choose_ahead(c, &g.ops,
							g.nr_intents);
	r = commit_group(c, &g);
	trace_dm_cache_commit(c, g.nr_ops, g.nr_intents, began, r);
	if (!r)
		cache_intents_ahead_durable(c, g.nr_ahead);
	complete_ops(c, &g.ops, r);
}

/*
 * ---- Queueing ----
 *
 * The worker is kicked before the lock is released.  Afterwards it may be done with
 * the change at any time, and then nothing may keep the engine any more.
 */

void cache_commit_queue(struct cache *c, struct commit_op *op)
{
	unsigned long flags;

	spin_lock_irqsave(&c->commit.lock, flags);
	list_add_tail(&op->list, &c->commit.ops);
	cache_commit_kick_locked(c);
	spin_unlock_irqrestore(&c->commit.lock, flags);
}

/* Is it worth while to wait for more changes? */
static bool may_linger(struct cache *c, const struct commit_op *op)
{
	u32 nr = c->commit.nr_lingering;

	lockdep_assert_held(&c->commit.lock);
	/* A bio that parks afterwards, or a suspend, sees that something lingers. */
	smp_mb();
	if (READ_ONCE(c->life.quiescing) || nr >= LINGER_OPS)
		return false;
	if ((op->kind == COMMIT_CLEAR_DIRTY || op->kind == COMMIT_HOME) &&
	    (nr >= atomic_read(&c->nr.dirty) ||
	     cache_reserve_is_short(c)))
		return false;
	return !(slot_word(slot_at(&c->map, op->slot)) & SLOT_WAITERS);
}

static void linger_locked(struct cache *c, struct commit_op *op)
{
	lockdep_assert_held(&c->commit.lock);
	list_add_tail(&op->list, &c->commit.ops);
	WRITE_ONCE(c->commit.nr_lingering, c->commit.nr_lingering + 1);
	if (may_linger(c, op))
		queue_delayed_work(c->wq.commit, &c->commit.work,
				   msecs_to_jiffies(LINGER_MS));
	else
		cache_commit_kick_locked(c);
}

void cache_commit_linger(struct cache *c, struct commit_op *op)
{
	unsigned long flags;

	spin_lock_irqsave(&c->commit.lock, flags);
	linger_locked(c, op);
	spin_unlock_irqrestore(&c->commit.lock, flags);
}

/*
 * A writer that no longer finds what @change took away queues a change of its own.
 * That takes the same lock, so it comes after this one.
 */
bool cache_commit_linger_if(struct cache *c, struct commit_op *op,
			    bool (*change)(struct cache *c, u32 slot))
{
	unsigned long flags;
	bool changed;

	spin_lock_irqsave(&c->commit.lock, flags);
	changed = change(c, op->slot);
	if (changed)
		linger_locked(c, op);
	spin_unlock_irqrestore(&c->commit.lock, flags);
	return changed;
}

/* ---- Waiting for a commit ---- */

struct commit_wait {
	struct commit_op op;
	struct completion done;
	int error;
};

static void commit_wait_done(struct cache *c, struct commit_op *op, int error)
{
	struct commit_wait *cw = container_of(op, struct commit_wait, op);

	cw->error = error;
	complete(&cw->done);
}

int cache_commit_sync(struct cache *c)
{
	struct commit_wait cw = {
		.op.kind = COMMIT_BARRIER,
		.op.done = commit_wait_done,
	};

	init_completion(&cw.done);
	cache_commit_queue(c, &cw.op);
	wait_for_completion(&cw.done);
	return cw.error;
}
