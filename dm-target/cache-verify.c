// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clean blocks are compared with the origin while I/O runs.
 *
 * Nothing holds up users: a block is read without a lock, and if it does not differ
 * that was enough.  A difference may be a write under way.  So a piece that differs
 * is compared again while writes to both devices are kept from its slot, and the
 * slot must not have become dirty meanwhile.
 *
 * This file owns what counts as a difference then, and how much one call does,
 * because a suspend waits for the call.  It must not know who asks, nor how fast it
 * goes on.
 */
#include "cache-compare.h"
#include "cache-verify.h"
#include "cache-bio.h"

#include <linux/delay.h>

/*
 * A call goes on to no other slot after so many pieces of 64 KiB, because a suspend waits
 * for the call.  Not chosen by measurement.
 */
#define PIECES_MAX	8U
/*
 * A call looks at so many slots at most, because a suspend waits for it even if all of
 * them are free.  Not chosen by measurement.
 */
#define SLOTS_MAX	65536U
/*
 * If a write-back begins and ends within a comparison, the copies seem to differ,
 * and nothing shows why.  So they count as different only if three comparisons in a
 * row say so.  Not chosen by measurement.
 */
#define CONFIRMATIONS	3
/*
 * Tries, 10 ms apart, while writes to the slot have to end.  After a second the slot is
 * skipped, because it may be written all the time.  Not chosen by measurement.
 */
#define CLAIM_TRIES	100
#define CLAIM_MSECS	10

enum finding {
	FOUND_EQUAL,
	FOUND_SKIPPED,
	FOUND_UNREADABLE,
	FOUND_DIFFERENT,
};

/* Is the block clean (I2), with no write under way? */
static bool is_clean(u32 word)
{
	return slot_state(word) == SLOT_VALID &&
	       !(word & (SLOT_DIRTY | SLOT_UNWRITTEN | SLOT_WRITER_MASK));
}

static bool still_has(struct cache *c, const struct cache_piece *p)
{
	struct slot *s = slot_at(&c->map, p->slot);

	return is_clean(slot_word(s)) && slot_block(s) == p->block;
}

/* Compare a piece, and make sure that its slot had the block all the time. */
static int look(struct cache *c, struct cache_piece *p, enum finding *found)
{
	int r = cache_compare(c, p, 1);

	if (!still_has(c, p))
		*found = FOUND_SKIPPED;
	else if (p->failed)
		*found = FOUND_UNREADABLE;
	else
		*found = p->differs ? FOUND_DIFFERENT : FOUND_EQUAL;
	return r;
}

/* No write to both devices begins before the units are returned. */
static bool claim_units(struct cache *c, struct cache_bio *cb)
{
	int tries;

	for (tries = 0; tries < CLAIM_TRIES; tries++) {
		if (cache_claim_all_units(c, cb))
			return true;
		if (READ_ONCE(c->life.quiescing))
			return false;
		msleep(CLAIM_MSECS);
	}
	return false;
}

static int confirm(struct cache *c, struct cache_piece *p, enum finding *found)
{
	struct cache_bio *cb = kzalloc(sizeof(*cb), GFP_KERNEL);
	int r = 0, i;

	if (!cb)
		return -ENOMEM;
	cb->slot = p->slot;
	*found = FOUND_SKIPPED;
	if (claim_units(c, cb)) {
		*found = FOUND_DIFFERENT;
		for (i = 0; !r && i < CONFIRMATIONS; i++) {
			r = look(c, p, found);
			if (*found != FOUND_DIFFERENT)
				break;
		}
		cache_return_units(c, cb);
	}
	kfree(cb);
	return r;
}

/* Compare all of a slot; @pieces counts what was read. */
static int verify_slot(struct cache *c, u32 slot, u32 *pieces,
		       struct cache_piece *p, enum finding *found)
{
	struct slot *s = slot_at(&c->map, slot);
	u32 sectors;
	int r = 0;

	*found = is_clean(slot_word(s)) ? FOUND_EQUAL : FOUND_SKIPPED;
	*p = (struct cache_piece) {
		.slot = slot,
		.block = slot_block(s),
		/* The kernel's own target leaves a discarded block in its cache. */
		.zeros_excused = !c->settings.own,
	};
	for (sectors = c->geo.block_sectors;
	     sectors && *found == FOUND_EQUAL && !r;
	     sectors -= p->sectors, p->offset += p->sectors) {
		if (READ_ONCE(c->life.quiescing))
			*found = FOUND_SKIPPED;
		p->sectors = min(sectors, COMPARE_SECTORS);
		if (*found == FOUND_EQUAL)
			r = look(c, p, found);
		if (!r && *found == FOUND_DIFFERENT)
			r = confirm(c, p, found);
		(*pieces)++;
	}
	return r;
}

/*
 * Tried more than once, because the slot of a block that differs may be in use just
 * now.
 */
static int drop(struct cache *c, const struct cache_piece *p,
		struct verify_result *result)
{
	int tries;

	for (tries = 0; tries < CLAIM_TRIES && still_has(c, p); tries++) {
		if (cache_begin_unmap(c, p->slot, p->block, false,
				      CACHE_REMOVED_INVALID)) {
			result->nr_dropped++;
			return cache_commit_sync(c);
		}
		msleep(CLAIM_MSECS);
	}
	return 0;
}

static int count(struct cache *c, const struct cache_piece *p, enum finding found,
		 bool may_drop, struct verify_result *result)
{
	switch (found) {
	case FOUND_EQUAL:
		result->nr_equal++;
		break;
	case FOUND_SKIPPED:
		result->nr_skipped++;
		break;
	case FOUND_UNREADABLE:
		result->nr_unreadable++;
		break;
	case FOUND_DIFFERENT:
		result->nr_differ++;
		result->slot = p->slot;
		result->block = p->block;
		DMWARN("verify: origin block %llu differs from its clean copy in cache block %u",
		       p->block, p->slot);
		return may_drop ? drop(c, p, result) : 0;
	}
	return 0;
}

int cache_verify(struct cache *c, u32 first, bool may_drop,
		 struct verify_result *result)
{
	u32 pieces = 0, end = min(c->map.nr_slots - first, SLOTS_MAX) + first;
	enum finding found;
	struct cache_piece p;
	int r = 0;

	*result = (struct verify_result) { .next = first, .slot = SLOT_NONE };
	while (!r && result->next < end && pieces < PIECES_MAX &&
	       !result->nr_differ && !READ_ONCE(c->life.quiescing)) {
		slot_scan_step(result->next);
		r = verify_slot(c, result->next, &pieces, &p, &found);
		if (r || READ_ONCE(c->life.quiescing))
			break;
		r = count(c, &p, found, may_drop, result);
		result->next++;
	}
	return r;
}
