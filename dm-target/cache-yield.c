// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users yield to a drain: while everything dirty has to go home, because the policy
 * says so, requests for the origin wait for their turn.  If only the mode says so,
 * they do not wait, because nobody waits for the blocks that a power cut left in
 * writethrough, or for the rest of a cache that has failed.
 *
 * A disk serves its requests in turn.  Many users would leave next to nothing of
 * it to write-back, and a drain would take as many times longer as there are
 * users.  So blocks that went home give turns, and each turn lets one request
 * go on.  This works for any device, however many requests it serves at once.
 *
 * It owns the list of the requests that wait.  It must not know which requests
 * are for the origin, nor what else they need.
 */
#include "cache-bio.h"

/*
 * The blocks that have to go home for one turn.  With fewer, a drain takes longer.  With
 * more, users wait longer.  Not chosen by measurement.
 */
#define TURN_BLOCKS	4U
/*
 * If TURN_BLOCKS blocks have more sectors than this, there is a turn for so many sectors,
 * because a disk takes as long for 1 MiB as for a seek.
 */
#define TURN_SECTORS	(SZ_1M >> SECTOR_SHIFT)

void cache_yield_init(struct cache *c)
{
	struct cache_yield *y = &c->yield;

	spin_lock_init(&y->lock);
	bio_list_init(&y->bios[READ]);
	bio_list_init(&y->bios[WRITE]);
	y->last = WRITE;
	y->sectors = 0;
	y->nr_ended = 0;
	y->ended_seen = 0;
	y->stalled = false;
	y->nr_suspending = 0;
}

bool cache_yield(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);
	struct cache_yield *y = &c->yield;
	unsigned long flags;
	bool waits;

	if (cb->yielded)
		return false;

	spin_lock_irqsave(&y->lock, flags);
	/*
	 * Asked again under the lock.  If it is still so, the end of a block that
	 * is on its way will take the lock, and find the bio.
	 */
	waits = cache_drains(c) && !y->stalled && !y->nr_suspending;
	if (waits) {
		cache_leave_submitter(bio);
		cb->yielded = true;
		bio_list_add(&y->bios[bio_data_dir(bio)], bio);
	}
	spin_unlock_irqrestore(&y->lock, flags);
	return waits;
}

/*
 * Reads and writes alternate, because a program waits for a read, and a file system
 * may have thousands of writes under way.  NULL if no bio waits.
 */
static struct bio *next_bio(struct cache_yield *y)
{
	struct bio *bio;

	lockdep_assert_held(&y->lock);
	y->last = y->last == READ ? WRITE : READ;
	bio = bio_list_pop(&y->bios[y->last]);
	if (bio)
		return bio;
	y->last = y->last == READ ? WRITE : READ;
	return bio_list_pop(&y->bios[y->last]);
}

/* The turns that a block gives that has just gone home. */
static u32 turns_of_block(struct cache *c, struct cache_yield *y)
{
	u32 turn = min(TURN_BLOCKS * c->geo.block_sectors, TURN_SECTORS);
	u32 turns;

	lockdep_assert_held(&y->lock);
	y->sectors += c->geo.block_sectors;
	turns = y->sectors / turn;
	y->sectors %= turn;
	return turns;
}

/* Move the next bios, as many as there are @turns, to @go. */
static void take_turns(struct cache_yield *y, u32 turns, struct bio_list *go)
{
	struct bio *bio;

	lockdep_assert_held(&y->lock);
	while (turns-- && (bio = next_bio(y)))
		bio_list_add(go, bio);
}

static void let_go(struct cache *c, struct bio_list *go)
{
	struct bio *bio;

	while ((bio = bio_list_pop(go)))
		cache_defer_bio(c, bio, STEP_MAP);
}

/*
 * When no block is on its way any more, all bios go on, because only a block that ends
 * gives turns, and the drain may begin no other.
 */
void cache_yield_turns(struct cache *c)
{
	struct cache_yield *y = &c->yield;
	struct bio_list go = BIO_EMPTY_LIST;
	unsigned long flags;

	spin_lock_irqsave(&y->lock, flags);
	y->nr_ended++;
	y->stalled = false;
	take_turns(y, cache_drains(c) ? turns_of_block(c, y) : U32_MAX, &go);
	spin_unlock_irqrestore(&y->lock, flags);
	let_go(c, &go);
}

/*
 * A block may stay on its way for long, because a device does not answer.  Then no
 * request waits until a block has ended again.
 */
void cache_yield_tick(struct cache *c)
{
	struct cache_yield *y = &c->yield;
	struct bio_list go = BIO_EMPTY_LIST;
	unsigned long flags;

	spin_lock_irqsave(&y->lock, flags);
	y->stalled = y->nr_ended == y->ended_seen;
	y->ended_seen = y->nr_ended;
	if (y->stalled)
		take_turns(y, U32_MAX, &go);
	spin_unlock_irqrestore(&y->lock, flags);
	let_go(c, &go);
}

/*
 * A bio does not say of which table it is, so the bios of all tables go.  A file
 * system that is frozen for the suspend still writes: these bios do not wait.
 */
void cache_yield_suspend_begins(struct cache *c)
{
	struct cache_yield *y = &c->yield;
	struct bio_list go = BIO_EMPTY_LIST;

	spin_lock_irq(&y->lock);
	y->nr_suspending++;
	take_turns(y, U32_MAX, &go);
	spin_unlock_irq(&y->lock);
	let_go(c, &go);
}

void cache_yield_suspend_ends(struct cache *c)
{
	spin_lock_irq(&c->yield.lock);
	c->yield.nr_suspending--;
	spin_unlock_irq(&c->yield.lock);
}
