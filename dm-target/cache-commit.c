// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group commit: the one place where the metadata is changed while I/O runs.
 *
 * It owns the order of things: the devices are flushed before a mapping or a
 * cleared dirty bit that relies on their content, the commit is durable before
 * anybody who waited for it goes on.  Operations are applied in the order of
 * queueing.  While one group is being written the next one gathers.
 *
 * What nobody waits for, blocks that were promoted or went home, may linger
 * until there is a group's worth of it: each commit flushes the disk.
 *
 * It also takes back intents: dirty bits on disk of slots that are not dirty
 * (writethrough).  They are cleared in batches, when there are more than the
 * bound that limits what a power cut costs, or when writes have paused.
 */
#include "cache-trace.h"

#include <linux/completion.h>
#include <linux/sched/mm.h>

#define INTENT_IDLE_SECONDS	5
#define LINGER_MS		25
#define LINGER_OPS		64
#define AHEAD_SLOTS		1024	/* around a first write */
#define GROUP_OPS		4096	/* whoever queues more waits for more commits */

/* ---- Flushing the devices, at the same time ---- */

#define FLUSH_ORIGIN	BIT(0)
#define FLUSH_FAST	BIT(1)
#define FLUSH_BOTH	(FLUSH_ORIGIN | FLUSH_FAST)

struct flush_wait {
	atomic_t pending;
	struct completion done;
};

struct flush_leg {
	struct bio bio;
	bool *failed;
	struct flush_wait *fw;
};

static void flush_end_io(struct bio *bio)
{
	struct flush_leg *leg = container_of(bio, struct flush_leg, bio);
	struct flush_wait *fw = leg->fw;

	/* At once: a flush from above may be the next that the device does. */
	if (bio->bi_status)
		WRITE_ONCE(*leg->failed, true);
	bio_uninit(bio);
	if (atomic_dec_and_test(&fw->pending))
		complete(&fw->done);
}

static void submit_flush(struct flush_leg *leg, struct block_device *bdev,
			 bool *failed, struct flush_wait *fw)
{
	leg->failed = failed;
	leg->fw = fw;
	atomic_inc(&fw->pending);
	bio_init(&leg->bio, bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH);
	leg->bio.bi_end_io = flush_end_io;
	submit_bio(&leg->bio);
}

/* The devices that could not flush, and so have lost something. */
static unsigned int unflushed(const struct cache *c)
{
	return (READ_ONCE(c->origin_flush_failed) ? FLUSH_ORIGIN : 0) |
	       (READ_ONCE(c->fast_flush_failed) ? FLUSH_FAST : 0);
}

/* Flush those of @devices that could flush so far.  unflushed() is the result. */
static void flush(struct cache *c, unsigned int devices)
{
	struct flush_wait fw = { .pending = ATOMIC_INIT(1) };
	unsigned int before = unflushed(c);
	struct flush_leg origin, fast;

	init_completion(&fw.done);
	devices &= ~before;
	if (devices & FLUSH_ORIGIN)
		submit_flush(&origin, c->origin, &c->origin_flush_failed, &fw);
	if (devices & FLUSH_FAST)
		submit_flush(&fast, c->fast, &c->fast_flush_failed, &fw);
	if (!atomic_dec_and_test(&fw.pending))
		wait_for_completion_io(&fw.done);
	if (~before & unflushed(c) & FLUSH_FAST)
		queue_work(c->commit_wq, &c->degrade_work);
}

int cache_flush_devices(struct cache *c)
{
	flush(c, FLUSH_BOTH);
	return unflushed(c) ? -EIO : 0;
}

/* ---- Intents that nobody needs any more ---- */

static u32 spare_intents(struct cache *c)
{
	int n = atomic_read(&c->nr_intents) - atomic_read(&c->nr_dirty);

	return max(n, 0);
}

static bool take_intent(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 word = slot_word(s);

	if (slot_state(word) != SLOT_VALID || !(word & SLOT_INTENT) ||
	    (word & (SLOT_DIRTY | SLOT_WRITER_MASK)))
		return false;
	if (!slot_try_change(s, &word, word & ~SLOT_INTENT))
		return false;
	atomic_dec(&c->nr_intents);
	return true;
}

/* Take the intents of up to a batch of slots away; their bits are still set. */
static unsigned int sweep_collect(struct cache *c)
{
	unsigned int nr = 0;
	u32 seen;

	for (seen = 0; seen < c->map.nr_slots && nr < INTENT_SWEEP_BATCH; seen++) {
		u32 slot = c->sweep_cursor;

		if (!(seen % 4096))
			cond_resched();
		c->sweep_cursor = slot + 1 < c->map.nr_slots ? slot + 1 : 0;
		if (take_intent(c, slot))
			c->sweep_slots[nr++] = slot;
	}
	return nr;
}

static bool sweep_forbidden(struct cache *c)
{
	return cache_flush_failed(c) || atomic_read(&c->nr_suspects);
}

/* The bits were not cleared after all. */
static void sweep_give_back(struct cache *c, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct slot *s = slot_at(&c->map, c->sweep_slots[i]);

		/* Only a commit, by this worker, takes the slot's block away. */
		if (!(atomic_fetch_or(SLOT_INTENT, &s->word) & SLOT_INTENT))
			atomic_inc(&c->nr_intents);
	}
}

static bool sweep_due(struct cache *c, unsigned int nr_new)
{
	u32 spare = spare_intents(c);

	if (!spare || sweep_forbidden(c))
		return false;
	if (spare + nr_new > READ_ONCE(c->max_intents))
		return true;
	return time_after(jiffies, READ_ONCE(c->last_intent) +
			  INTENT_IDLE_SECONDS * HZ);
}

/* As long as writes hit, their intents are worth keeping. */
void cache_commit_tick(struct cache *c)
{
	u64 hits = cache_stat_sum(c, STAT_WRITE_HITS);

	if (hits == c->write_hits_seen)
		return;
	c->write_hits_seen = hits;
	WRITE_ONCE(c->last_intent, jiffies);
}

static int sweep_apply(struct cache *c, unsigned int nr)
{
	unsigned int i;
	int r;

	lockdep_assert_held(&c->md_lock);
	for (i = 0; i < nr; i++) {
		r = cmd_set_dirty(c->cmd, c->sweep_slots[i], false);
		if (r && r != -ENODATA)
			return r;
	}
	return 0;
}

struct group {
	struct list_head ops;
	unsigned int nr_ops;
	unsigned int nr_intents;
	unsigned int nr_swept;
	unsigned int nr_ahead;
	unsigned int needs_flush;	/* of these devices */
};

/* ---- Intents set ahead ---- */

/*
 * The dirty bits of 64 slots are one word on disk (in format 2), with others in
 * the same block: setting them all costs little more than setting one, and
 * spares the neighbours' first writes the wait for a commit.  What a power cut
 * costs stays within the bound.
 */
static u32 ahead_room(struct cache *c, unsigned int nr_new)
{
	u32 spare = spare_intents(c) + nr_new;
	u32 bound = min_t(u64, READ_ONCE(c->max_intents), U32_MAX);
	u32 most = bound - bound / 8;

	/* Beyond that, real ones would have the rest swept soon. */
	if (c->map.nr_slots <= bound)
		most = c->map.nr_slots;
	return most - min(spare, most);
}

static bool ahead_possible(struct cache *c, u32 slot)
{
	u32 word = slot_word(slot_at(&c->map, slot));

	return slot_state(word) == SLOT_VALID && !(word & SLOT_INTENT);
}

static u64 ahead_mask(struct cache *c, u32 first)
{
	u32 i, nr = min(c->map.nr_slots - first, 64U);
	u64 mask = 0;

	for (i = 0; i < nr; i++)
		if (ahead_possible(c, first + i))
			mask |= BIT_ULL(i);
	return mask;
}

static bool ahead_has(struct cache *c, unsigned int nr, u32 first)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (c->ahead[i].first == first)
			return true;
	return false;
}

static bool ahead_add(struct cache *c, unsigned int nr, u32 first, u32 *room)
{
	if (nr == CACHE_NR_AHEAD || *room < 64 || first >= c->map.nr_slots ||
	    ahead_has(c, nr, first))
		return false;
	c->ahead[nr].first = first;
	c->ahead[nr].mask = ahead_mask(c, first);
	*room -= hweight64(c->ahead[nr].mask);
	return true;
}

/* Choose the neighbours of the slots whose intents the group asks for. */
static unsigned int ahead_collect(struct cache *c, const struct group *g)
{
	u32 room = ahead_room(c, g->nr_intents);
	struct commit_op *op;
	unsigned int nr = 0;
	u32 first, i;

	list_for_each_entry(op, &g->ops, list) {
		if (op->kind != COMMIT_SET_DIRTY)
			continue;
		first = round_down(op->slot, AHEAD_SLOTS);
		for (i = 0; i < AHEAD_SLOTS; i += 64)
			nr += ahead_add(c, nr, first + i, &room);
	}
	return nr;
}

static int ahead_apply(struct cache *c, unsigned int nr)
{
	unsigned int i;
	int r = 0;

	lockdep_assert_held(&c->md_lock);
	for (i = 0; i < nr && !r; i++)
		r = cmd_set_dirty_many(c->cmd, c->ahead[i].first,
				       c->ahead[i].mask);
	return r;
}

/*
 * The slot was VALID when its bit was chosen, and only a commit, by this
 * worker, takes its block away: it is the same block still.
 */
static void ahead_mark(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 old = slot_word(s);

	do {
		if (old & SLOT_INTENT || (slot_state(old) != SLOT_VALID &&
					  slot_state(old) != SLOT_WRITEBACK))
			return;
	} while (!slot_try_change(s, &old, old | SLOT_INTENT));
	atomic_inc(&c->nr_intents);
}

/* The bits are durable: writes need not wait for them any more. */
static void ahead_durable(struct cache *c, unsigned int nr)
{
	unsigned int i;
	u64 mask;

	for (i = 0; i < nr; i++)
		for (mask = c->ahead[i].mask; mask; mask &= mask - 1)
			ahead_mark(c, c->ahead[i].first + __ffs64(mask));
}

/* ---- One group ---- */

/* The devices whose content it relies on, which have to be flushed before. */
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
 * What a group has no room for comes with the next one, at once: to all that
 * follows it is as if it were queued only now.  None of it lingers any more.
 */
static void gather(struct cache *c, struct group *g)
{
	struct commit_op *op;

	INIT_LIST_HEAD(&g->ops);
	spin_lock_irq(&c->commit_lock);
	for (; g->nr_ops < GROUP_OPS && !list_empty(&c->commit_ops); g->nr_ops++)
		list_move_tail(c->commit_ops.next, &g->ops);
	WRITE_ONCE(c->nr_lingering, 0);
	c->commit_kicked = false;
	if (!list_empty(&c->commit_ops))
		cache_commit_kick_locked(c);
	spin_unlock_irq(&c->commit_lock);

	list_for_each_entry(op, &g->ops, list) {
		g->needs_flush |= relies_on(op->kind);
		g->nr_intents += op->kind == COMMIT_SET_DIRTY;
	}
	if (g->nr_intents)
		WRITE_ONCE(c->last_intent, jiffies);
}

static int apply_op(struct cache *c, struct commit_op *op)
{
	switch (op->kind) {
	case COMMIT_SET_DIRTY:
		return cmd_set_dirty(c->cmd, op->slot, true);
	case COMMIT_CLEAR_DIRTY:
		return cmd_set_dirty(c->cmd, op->slot, false);
	case COMMIT_MAP_CLEAN:
		return cmd_insert(c->cmd, op->slot, op->block, false);
	case COMMIT_MAP_DIRTY:
		return cmd_insert(c->cmd, op->slot, op->block, true);
	case COMMIT_UNMAP:
		return cmd_remove(c->cmd, op->slot);
	case COMMIT_HOME:
	case COMMIT_BARRIER:
		break;
	}
	return 0;
}

static int apply_group(struct cache *c, struct group *g)
{
	struct commit_op *op;
	int r;

	r = sweep_apply(c, g->nr_swept);
	if (r)
		return r;
	list_for_each_entry(op, &g->ops, list) {
		r = apply_op(c, op);
		if (r)
			return r;
	}
	return ahead_apply(c, g->nr_ahead);
}

static int commit_group(struct cache *c, struct group *g)
{
	unsigned int noio;
	int r;

	mutex_lock(&c->md_lock);
	noio = memalloc_noio_save();
	r = cache_writable(c) ? 0 : -EROFS;
	if (!r) {
		r = apply_group(c, g);
		if (!r)
			r = cmd_commit(c->cmd, true);
		if (r)
			cache_metadata_failed(c, "commit", r);
	}
	memalloc_noio_restore(noio);
	mutex_unlock(&c->md_lock);
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

/* A device would not flush: what relies on its content must not be said. */
static void fail_unflushed(struct cache *c, struct group *g)
{
	unsigned int devices = unflushed(c);
	struct commit_op *op, *next;
	LIST_HEAD(failed);

	list_for_each_entry_safe(op, next, &g->ops, list)
		if (relies_on(op->kind) & devices)
			list_move_tail(&op->list, &failed);
	if (!devices || (list_empty(&failed) && !g->nr_swept))
		return;
	DMERR_LIMIT("flush of the %s device failed",
		    devices & FLUSH_FAST ? "cache" : "origin");
	sweep_give_back(c, g->nr_swept);
	g->nr_swept = 0;
	complete_ops(c, &failed, -EIO);
}

/*
 * Their blocks are on the origin, durably.  The disk goes on to call them dirty,
 * so that they need no commit, and none that fails can undo it.
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

void cache_commit_work(struct work_struct *work)
{
	struct cache *c = container_of(to_delayed_work(work), struct cache,
				       commit_work);
	ktime_t began = trace_dm_cache_commit_enabled() ? ktime_get() : 0;
	struct group g = {};
	int r;

	gather(c, &g);
	if (cache_writable(c) && sweep_due(c, g.nr_intents))
		g.nr_swept = sweep_collect(c);
	/* A slot became suspect before its writer left, so this sees it. */
	smp_mb();
	if (g.nr_swept && sweep_forbidden(c)) {
		sweep_give_back(c, g.nr_swept);
		g.nr_swept = 0;
	}
	if (g.needs_flush || g.nr_swept) {
		flush(c, g.nr_swept ? FLUSH_BOTH : g.needs_flush);
		fail_unflushed(c, &g);
	}
	end_home(c, &g);
	if (list_empty(&g.ops) && !g.nr_swept)
		return;
	/* No more than was swept comes back at once. */
	if (g.nr_intents && !g.nr_swept && !cache_flush_failed(c))
		g.nr_ahead = ahead_collect(c, &g);
	r = commit_group(c, &g);
	trace_dm_cache_commit(c, g.nr_ops, g.nr_intents, began, r);
	if (!r)
		ahead_durable(c, g.nr_ahead);
	complete_ops(c, &g.ops, r);
}

/*
 * ---- Queueing ----
 *
 * The worker is kicked before the lock is released: an operation that is not on
 * the list any more may have been the last thing that kept the engine.
 */

void cache_commit_queue(struct cache *c, struct commit_op *op)
{
	unsigned long flags;

	spin_lock_irqsave(&c->commit_lock, flags);
	list_add_tail(&op->list, &c->commit_ops);
	cache_commit_kick_locked(c);
	spin_unlock_irqrestore(&c->commit_lock, flags);
}

/* Is it worth while to wait for more of the kind? */
static bool may_linger(struct cache *c, const struct commit_op *op)
{
	u32 nr = c->nr_lingering;

	lockdep_assert_held(&c->commit_lock);
	/* Who parks or quiesces afterwards sees that something lingers. */
	smp_mb();
	if (READ_ONCE(c->quiescing) || nr >= LINGER_OPS)
		return false;
	if ((op->kind == COMMIT_CLEAR_DIRTY || op->kind == COMMIT_HOME) &&
	    (nr >= atomic_read(&c->nr_dirty) ||
	     READ_ONCE(c->map.nr_free) < c->reserve))
		return false;
	return !(slot_word(slot_at(&c->map, op->slot)) & SLOT_WAITERS);
}

static void linger(struct cache *c, struct commit_op *op)
{
	lockdep_assert_held(&c->commit_lock);
	list_add_tail(&op->list, &c->commit_ops);
	WRITE_ONCE(c->nr_lingering, c->nr_lingering + 1);
	if (may_linger(c, op))
		queue_delayed_work(c->commit_wq, &c->commit_work,
				   msecs_to_jiffies(LINGER_MS));
	else
		cache_commit_kick_locked(c);
}

void cache_commit_linger(struct cache *c, struct commit_op *op)
{
	unsigned long flags;

	spin_lock_irqsave(&c->commit_lock, flags);
	linger(c, op);
	spin_unlock_irqrestore(&c->commit_lock, flags);
}

/*
 * A writer that misses what @change took away queues its own operation, which
 * takes the same lock: it comes after this one.
 */
bool cache_commit_linger_if(struct cache *c, struct commit_op *op,
			    bool (*change)(struct cache *c, u32 slot))
{
	unsigned long flags;
	bool changed;

	spin_lock_irqsave(&c->commit_lock, flags);
	changed = change(c, op->slot);
	if (changed)
		linger(c, op);
	spin_unlock_irqrestore(&c->commit_lock, flags);
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

/* Wait until all that is queued now is durable.  May sleep. */
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

/* Suspended: nothing writes, so that all spare intents can go. */
int cache_sweep_all_intents(struct cache *c)
{
	unsigned int nr;
	int r = 0;

	while (!r && (nr = sweep_collect(c))) {
		mutex_lock(&c->md_lock);
		r = sweep_apply(c, nr);
		mutex_unlock(&c->md_lock);
	}
	return r;
}
