// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much promoting is enough: a rate in bytes and a share of the cache
 * device's time.
 *
 * It owns two accounts that fill with time and are drawn on by promotions.  A
 * promotion is refused while an account is overdrawn; the block's next miss
 * asks again.  It does not know which blocks are worth it, and no hit comes
 * here.
 */
#include "cache.h"

/* What may be saved up: a burst after a pause is what a pause is good for. */
#define SAVE_NS		(NSEC_PER_SEC / 4)

void throttle_init(struct throttle *th)
{
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
	u64 mbps = READ_ONCE(c->max_promote_mbps);
	u64 share = READ_ONCE(c->max_promote_share);

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
 * May a promotion of one block begin?  Draws the bytes if so.  Any context.
 */
enum throttle_answer throttle_ask(struct cache *c)
{
	struct throttle *th = &c->throttle;
	enum throttle_answer answer = THROTTLE_OK;
	bool limited = READ_ONCE(c->max_promote_mbps);
	unsigned long flags;
	u64 now = ktime_get_ns();

	spin_lock_irqsave(&th->lock, flags);
	/* What is promoted without a limit is no debt when one is set. */
	if (!limited)
		th->bytes = 0;
	fill_accounts(c, th, now);
	draw_busy(th, now);
	if (limited && th->bytes < 0)
		answer = THROTTLE_RATE;
	else if (READ_ONCE(c->max_promote_share) < 100 && th->busy_ns < 0)
		answer = THROTTLE_SHARE;
	else if (limited)
		th->bytes -= (s64)c->block_sectors << SECTOR_SHIFT;
	spin_unlock_irqrestore(&th->lock, flags);
	return answer;
}

/* A promotion's write to the cache device begins, or ends.  Any context. */
void throttle_write_begin(struct cache *c)
{
	struct throttle *th = &c->throttle;
	unsigned long flags;

	spin_lock_irqsave(&th->lock, flags);
	draw_busy(th, ktime_get_ns());
	th->writing++;
	spin_unlock_irqrestore(&th->lock, flags);
}

void throttle_write_end(struct cache *c)
{
	struct throttle *th = &c->throttle;
	unsigned long flags;

	spin_lock_irqsave(&th->lock, flags);
	draw_busy(th, ktime_get_ns());
	th->writing--;
	spin_unlock_irqrestore(&th->lock, flags);
}
