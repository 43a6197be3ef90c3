// SPDX-License-Identifier: GPL-2.0-only
/*
 * Admission: may a block come in?  Every question before a promotion, or at its
 * beginning, is asked here.
 *
 * A miss is judged once: by the policy, then by the engine's own limits (mode,
 * health, dirty_limit, the room for migrations, free slots, the budget).  The
 * worker asks again before it begins, because the bios of a burst are all
 * judged before the first of them has begun.
 *
 * It owns the budget of promotions: a rate in bytes and a share of the cache
 * device's time, two accounts that fill with time and are drawn on by
 * promotions.  A promotion is refused while an account is overdrawn; the
 * block's next miss asks again.  It must not know how a block is copied, and no
 * hit comes here.
 */
#include <linux/iocontext.h>
#include <linux/ioprio.h>

#include "cache-bio.h"

/*
 * An unused budget is saved up to this time.  If it were longer, promotions after a pause
 * would take all of the cache device's time for longer.  If it were shorter, bursts of
 * misses would be refused although the budget was not used.  Not chosen by measurement.
 */
#define SAVE_NS		(NSEC_PER_SEC / 4)

/*
 * The room of readers' blocks is migration_threshold times this.  It is measured: with 2,
 * which is 2 MiB, a program that read 2 MiB at a time left the last two of 32 blocks out,
 * because the blocks of its request before were still being written.
 */
#define READERS_ROOM	4

/* ---- The budget ---- */

void cache_admit_init(struct cache *c)
{
	struct throttle *th = &c->admit.throttle;

	spin_lock_init(&th->lock);
	th->filled = ktime_get_ns();
	th->bytes = 0;
	th->busy_ns = 0;
	th->writing = 0;
}

/* MB/s are bytes per microsecond. */
static s64 bytes_in(u64 ns, u64 mbps)
{
	return div_u64(ns, NSEC_PER_USEC) * mbps;
}

static s64 busy_in(u64 ns, u64 percent)
{
	return div_u64(ns * percent, 100);
}

static void fill_accounts(struct cache *c, struct throttle *th, u64 now)
{
	u64 elapsed = min_t(u64, now - th->filled, SAVE_NS);
	u64 mbps = READ_ONCE(c->limits.max_promote_mbps);
	u64 share = READ_ONCE(c->limits.max_promote_share);

	lockdep_assert_held(&th->lock);
	th->filled = now;
	th->bytes = min(th->bytes + bytes_in(elapsed, mbps),
			bytes_in(SAVE_NS, mbps));
	th->busy_ns = min(th->busy_ns + busy_in(elapsed, share),
			  busy_in(SAVE_NS, share));
}

static void draw_busy(struct throttle *th, u64 now)
{
	lockdep_assert_held(&th->lock);
	if (th->writing)
		th->busy_ns -= now - th->writing_since;
	th->writing_since = now;
}

/*
 * May a promotion of one block begin?  If so, its bytes are drawn from the account.
 * Any context.
 */
static enum throttle_answer throttle_ask(struct cache *c)
{
	struct throttle *th = &c->admit.throttle;
	enum throttle_answer answer = THROTTLE_OK;
	bool limited = READ_ONCE(c->limits.max_promote_mbps);
	unsigned long flags;
	u64 now = ktime_get_ns();

	spin_lock_irqsave(&th->lock, flags);
	/*
	 * Without a limit a debt is forgiven, so a limit that is set later starts
	 * from zero.
	 */
	if (!limited)
		th->bytes = 0;
	fill_accounts(c, th, now);
	draw_busy(th, now);
	if (limited && th->bytes < 0)
		answer = THROTTLE_RATE;
	else if (READ_ONCE(c->limits.max_promote_share) < 100 &&
		 th->busy_ns < 0)
		answer = THROTTLE_SHARE;
	else if (limited)
		th->bytes -= (s64)c->geo.block_sectors << SECTOR_SHIFT;
	spin_unlock_irqrestore(&th->lock, flags);
	return answer;
}

void cache_admit_write_begins(struct cache *c)
{
	struct throttle *th = &c->admit.throttle;
	unsigned long flags;

	spin_lock_irqsave(&th->lock, flags);
	draw_busy(th, ktime_get_ns());
	th->writing++;
	spin_unlock_irqrestore(&th->lock, flags);
}

void cache_admit_write_ends(struct cache *c)
{
	struct throttle *th = &c->admit.throttle;
	unsigned long flags;

	spin_lock_irqsave(&th->lock, flags);
	draw_busy(th, ktime_get_ns());
	th->writing--;
	spin_unlock_irqrestore(&th->lock, flags);
}

/* ---- Room ---- */

/*
 * Is there room for one more block?  The blocks of readers have more room, because a
 * reader's request goes to the origin in any case.  They take no room from other blocks.
 */
static bool migration_room(struct cache *c, bool reader)
{
	u64 threshold = READ_ONCE(c->limits.migration_threshold);

	if (reader)
		return cache_block_fits(c,
					atomic_read(&c->admit.reading_sectors),
					READERS_ROOM * threshold);
	return cache_block_fits(c, atomic_read(&c->admit.migrating_sectors),
				threshold);
}

/* @used sectors of the room for migrations, in percent of it. */
static u8 migration_share(struct cache *c, u64 used)
{
	u32 room = max_t(u32, READ_ONCE(c->limits.migration_threshold),
			 c->geo.block_sectors);

	return min_t(u64, div_u64(used * 100, room), 100);
}

static bool migrations_run(struct cache *c)
{
	return !READ_ONCE(c->life.quiescing) && !cache_flush_failed(c) &&
	       !READ_ONCE(c->degrade.fast_dead);
}

/* A write of a whole block needs no room, because nothing is copied for it. */
static bool miss_has_room(struct cache *c, const struct cache_io *io)
{
	return io->flags & CACHE_IO_NO_FETCH ||
	       migration_room(c, io->op == CACHE_OP_READ);
}

/* ---- A miss ---- */

static bool mode_promotes(enum dm_cache_mode mode, enum cache_op op)
{
	switch (mode) {
	case MODE_WRITETHROUGH:
	case MODE_WRITEBACK:
		return true;
	case MODE_WRITEAROUND:
		return op == CACHE_OP_READ;
	case MODE_WRITEONLY:
		return op == CACHE_OP_WRITE;
	case MODE_PASSTHROUGH:
		break;
	}
	return false;
}

static const enum cache_stat bypass_stat[NR_CACHE_VERDICTS] = {
	[CACHE_BYPASS_COLD] = STAT_BYPASS_COLD,
	[CACHE_BYPASS_STREAM] = STAT_BYPASS_STREAM,
	[CACHE_BYPASS_LIMIT] = STAT_BYPASS_LIMIT,
	[CACHE_BYPASS_POLICY] = STAT_BYPASS_POLICY,
};

/*
 * The policy wants the block.  Returns the counter of the limit that keeps it out,
 * or NR_CACHE_STATS if no limit does.
 */
static enum cache_stat limit_in_the_way(struct cache *c,
					const struct cache_io *io)
{
	if (!mode_promotes(READ_ONCE(c->state.mode), io->op) || !cache_writable(c))
		return STAT_BYPASS_POLICY;
	if (io->op == CACHE_OP_WRITE && cache_over_dirty_limit(c, 0)) {
		cache_kick_writeback(c);
		return STAT_BYPASS_DIRTY;
	}
	if (cache_drains(c) || !migrations_run(c) || !miss_has_room(c, io))
		return STAT_BYPASS_BUSY;
	if (!READ_ONCE(c->map.nr_free)) {
		cache_reserve_lacks(c);
		return STAT_BYPASS_NO_SLOT;
	}
	switch (throttle_ask(c)) {
	case THROTTLE_OK:
		break;
	case THROTTLE_RATE:
		return STAT_BYPASS_RATE;
	case THROTTLE_SHARE:
		return STAT_BYPASS_SHARE;
	}
	return NR_CACHE_STATS;
}

/* Inline because each miss comes here. */
static __always_inline void describe_miss(struct cache *c, struct bio *bio,
					  struct cache_io *io)
{
	u32 used = atomic_read(&c->admit.migrating_sectors) +
		   atomic_read(&c->admit.reading_sectors);

	cache_describe_bio(bio, cache_bio_op(bio),
			   cache_stream_before_miss(c, bio), io);
	if (io->op == CACHE_OP_WRITE && cache_bio_covers_block(c, bio)) {
		io->flags |= CACHE_IO_FULL_BLOCK;
		/*
		 * In other modes the origin gets the write first, and the block is
		 * then read from there.
		 */
		if (cache_keeps_dirty(c))
			io->flags |= CACHE_IO_NO_FETCH;
	}
	/* Once the cache is full, most misses find no free slot, and make no call. */
	if (unlikely(READ_ONCE(c->map.nr_free)) && cache_reserve_has_more(c))
		io->flags |= CACHE_IO_FREE_SLOTS;
	if (unlikely(used))
		io->load = migration_share(c, used);
}

/*
 * Has the program asked for the idle class (ionice -c 3), as backups, scrubs and
 * indexers do?  The bio's own class counts if it has one.  A bio that the page
 * cache makes has none, and then the class of the current task counts.  That task
 * is the program, unless the bio waited for the worker.
 */
static bool is_idle_class(const struct bio *bio)
{
	const struct io_context *program = current->io_context;
	int prio = bio->bi_ioprio;

	if (IOPRIO_PRIO_CLASS(prio) == IOPRIO_CLASS_NONE && program)
		prio = READ_ONCE(program->ioprio);
	return IOPRIO_PRIO_CLASS(prio) == IOPRIO_CLASS_IDLE;
}

/*
 * Such a program reads its data once, and nobody waits for it.  The policy is not
 * told, because it would take the second backup for a second use.
 */
static bool passes_as_idle(struct cache *c, const struct bio *bio)
{
	return unlikely(is_idle_class(bio)) &&
	       !READ_ONCE(c->limits.promote_idle);
}

void cache_admit_miss(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	enum cache_stat limit;

	describe_miss(c, bio, &cb->io);
	cache_stat_inc(c, cb->io.op == CACHE_OP_WRITE ?
		       STAT_WRITE_MISSES : STAT_READ_MISSES);
	if (passes_as_idle(c, bio)) {
		cb->verdict = CACHE_BYPASS_LIMIT;
		cache_stat_inc(c, STAT_BYPASS_IDLE);
		return;
	}
	cb->verdict = c->policy.p->ops->miss(c->policy.p, cb->block, &cb->io);
	if (!cache_wants_promotion(cb)) {
		cache_stat_inc(c, bypass_stat[cb->verdict]);
		return;
	}

	limit = limit_in_the_way(c, &cb->io);
	if (limit == NR_CACHE_STATS)
		return;
	cache_stat_inc(c, limit);
	cb->verdict = limit == STAT_BYPASS_POLICY ? CACHE_BYPASS_POLICY :
						    CACHE_BYPASS_LIMIT;
}

/*
 * Neither budget nor room is asked for, because the log takes no more than the
 * user's own write.  The rest of the block is read from the origin only if it is
 * needed when the block leaves the log, and then the disk's head is there.
 */
void cache_admit_logged(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	describe_miss(c, bio, &cb->io);
	if (cb->io.op == CACHE_OP_WRITE)
		cb->io.flags |= CACHE_IO_NO_FETCH;
	cache_stat_inc(c, cb->io.op == CACHE_OP_WRITE ?
		       STAT_WRITE_MISSES : STAT_READ_HITS);
	if (passes_as_idle(c, bio)) {
		cb->verdict = CACHE_BYPASS_LIMIT;
		return;
	}
	cb->verdict = c->policy.p->ops->miss(c->policy.p, cb->block, &cb->io);
	if (cache_wants_promotion(cb) &&
	    !mode_promotes(READ_ONCE(c->state.mode), cb->io.op))
		cb->verdict = CACHE_BYPASS_POLICY;
}

void cache_admit_wanted(struct cache *c, struct bio *bio, struct cache_bio *cb)
{
	cache_stream_before_miss(c, bio);
	cache_stat_inc(c, STAT_WRITE_MISSES);
	cb->verdict = CACHE_BYPASS_LIMIT;
}

/* ---- A promotion that begins ---- */

/* May blocks come in, as far as the state of the engine goes? */
static bool blocks_come_in(struct cache *c)
{
	return cache_writable(c) && migrations_run(c);
}

bool cache_admit_begin(struct cache *c, bool reader)
{
	return blocks_come_in(c) && migration_room(c, reader);
}

bool cache_admit_overwrite(struct cache *c)
{
	return blocks_come_in(c);
}

bool cache_admit_stands(struct cache *c)
{
	return cache_writable(c) && !READ_ONCE(c->life.quiescing);
}

/*
 * A block that no request asked for leaves three quarters of the readers' room to
 * requests, and all of the budget if max_promote_mbps limits it.
 */
bool cache_admit_ahead(struct cache *c)
{
	return READ_ONCE(c->map.nr_free) > c->map.nr_slots / CACHE_AHEAD_SPARES &&
	       cache_reserve_has_more(c) &&
	       blocks_come_in(c) &&
	       !READ_ONCE(c->limits.max_promote_mbps) &&
	       cache_block_fits(c, atomic_read(&c->admit.reading_sectors),
				READ_ONCE(c->limits.migration_threshold)) &&
	       throttle_ask(c) == THROTTLE_OK;
}

/*
 * Above dirty_low write-back would take the block home again, and the log can do
 * that itself.
 */
bool cache_admit_from_log(struct cache *c)
{
	return blocks_come_in(c) && cache_keeps_dirty(c) &&
	       !cache_drains(c) &&
	       !cache_blocks_exceed(c, cache_nr_unsaved(c),
				    READ_ONCE(c->limits.dirty_low)) &&
	       throttle_ask(c) == THROTTLE_OK;
}

/* Count the reason.  No request missed a read-ahead block, so it is not counted. */
static void count_bypass(struct cache *c, enum cache_verdict why,
			 enum cache_stat stat)
{
	if (why != CACHE_PROMOTE_AHEAD)
		cache_stat_inc(c, stat);
}

u32 cache_admit_slot(struct cache *c, enum cache_verdict why)
{
	u32 slot = slot_map_alloc(&c->map);

	cache_reserve_used(c, slot);
	if (slot == SLOT_NONE)
		count_bypass(c, why, STAT_BYPASS_NO_SLOT);
	return slot;
}

void cache_admit_raced(struct cache *c, enum cache_verdict why)
{
	count_bypass(c, why, STAT_BYPASS_RACE);
}
