// SPDX-License-Identifier: GPL-2.0-only
/*
 * The extents of one block of the write log's index, and the runs that the ring's
 * records cover. The caller holds the block's lock.
 *
 * All changes of extents are made of two steps: log_clear_flag() takes SEEN or
 * RING off a range of sectors, splitting extents at its borders, and
 * log_add_extent() puts one in. log_tidy() joins what may be one extent again.
 */
#include "log-index-internal.h"

/* Put an extent in as number @i: all before it begin before it, and none behind it does. */
static inline void insert_extent(struct log_block *b, u32 i, struct log_extent e)
{
	if (WARN_ON_ONCE(b->nr >= log_class_rooms[b->class]))
		return;
	memmove(&b->extents[i + 1], &b->extents[i], (b->nr - i) * sizeof(e));
	b->extents[i] = e;
	b->nr++;
}

u32 log_add_extent(struct log_block *b, struct log_extent e)
{
	u32 i = log_first_from(b, e.sector);

	insert_extent(b, i, e);
	return i;
}

/* Drop the extents that have neither SEEN nor RING. */
static void drop_extents(struct log_block *b)
{
	u32 i, n = 0;

	for (i = 0; i < b->nr; i++)
		if (b->extents[i].flags & (LOG_SEEN | LOG_RING))
			b->extents[n++] = b->extents[i];
	b->nr = n;
}

/*
 * Split the extent with @flag that has the border inside; if @place is not NULL,
 * only one that lies there. There is at most one.
 */
void log_split_at(struct log_block *b, u32 border, u16 flag,
		  const struct log_run *place)
{
	struct log_extent *e, half;
	u32 i;

	for (i = 0; i < b->nr && b->extents[i].sector < border; i++) {
		e = &b->extents[i];
		if (!(e->flags & flag) || log_end_of(e) <= border ||
		    (place && !log_same_place(e, place)))
			continue;
		half = *e;
		half.sector = border;
		half.at += border - e->sector;
		half.last -= border - e->sector;
		e->last = border - e->sector - 1;
		log_add_extent(b, half);
		return;
	}
}

/*
 * The first extent with @flag that has some of these sectors, or the block's end.  @i: what
 * log_first_from() returned for the first of them.  The extents with one flag do not overlap,
 * so of those that begin before the range only the last can reach into it.
 */
static inline u32 first_in_range(const struct log_block *b, u32 i, const struct log_run *range,
				 u16 flag)
{
	u32 end = range->sector + range->sectors, before = log_flag_before(b, i, flag);

	if (before < b->nr && log_end_of(&b->extents[before]) > range->sector)
		return before;
	for (; i < b->nr && b->extents[i].sector < end; i++)
		if (b->extents[i].flags & flag)
			return i;
	return b->nr;
}

/* Do all extents with @flag that have some of these sectors lie within them? @i: the first */
static bool lie_within(const struct log_block *b, u32 i, const struct log_run *range, u16 flag)
{
	u32 end = range->sector + range->sectors;

	if (b->extents[i].sector < range->sector)
		return false;
	for (; i < b->nr && b->extents[i].sector < end; i++)
		if (b->extents[i].flags & flag && log_end_of(&b->extents[i]) > end)
			return false;
	return true;
}

static void clear_one(struct log_index *ix, struct log_extent *e, u16 flag)
{
	if (flag == LOG_SEEN) {
		log_count_under_block(ix, e->slot, (struct log_change) {
			.seen = -(e->last + 1) });
	} else {
		log_release_in_segment(ix, e->slot, e->last + 1);
		e->flags &= ~LOG_ROUND;
	}
	e->flags &= ~flag;
}

u32 log_clear_flag(struct log_index *ix, struct log_block *b, const struct log_run *range,
		   u16 flag, const struct log_run *place)
{
	u32 end = range->sector + range->sectors, changed = 0, i;
	bool drop = false;

	i = first_in_range(b, log_first_from(b, range->sector), range, flag);
	if (i == b->nr)
		return 0;
	if (!lie_within(b, i, range, flag)) {
		log_split_at(b, range->sector, flag, place);
		log_split_at(b, end, flag, place);
		changed++;
	}
	for (; i < b->nr && b->extents[i].sector < end; i++) {
		struct log_extent *e = &b->extents[i];

		if (!(e->flags & flag) || e->sector < range->sector ||
		    (place && !log_same_place(e, place)))
			continue;
		clear_one(ix, e, flag);
		drop |= !(e->flags & (LOG_SEEN | LOG_RING));
		changed++;
	}
	if (drop)
		drop_extents(b);
	return changed;
}

/* Join neighbours of which the one continues the other. */
void log_tidy(struct log_block *b)
{
	u32 i, n = 0;

	for (i = 1; i < b->nr; i++) {
		struct log_extent *last = &b->extents[n], *e = &b->extents[i];

		if (log_may_join(last, e))
			last->last += e->last + 1;
		else if (++n < i)
			b->extents[n] = *e;
	}
	if (b->nr)
		b->nr = n + 1;
}

void log_tidy_near(struct log_block *b, u32 i)
{
	const struct log_extent *e = b->extents;
	u32 last = min(i + 2, b->nr - 1U), k;

	for (k = i > 1 ? i - 1 : 1; k <= last; k++) {
		if (log_may_join(&e[k - 1], &e[k])) {
			log_tidy(b);
			return;
		}
	}
}

void log_show_run(struct log_index *ix, struct log_block *b, const struct log_run *run)
{
	const struct log_extent e = {
		.slot = run->slot, .sector = run->sector, .last = run->sectors - 1,
		.at = run->at, .flags = LOG_SEEN };
	u32 i = log_first_from(b, run->sector), superseded;

	/* Most writes supersede nothing.  The writes of a stream lengthen an extent. */
	if (first_in_range(b, i, run, LOG_SEEN) == b->nr) {
		if (i && log_may_join(&b->extents[i - 1], &e))
			b->extents[--i].last += run->sectors;
		else
			insert_extent(b, i, e);
		log_tidy_at(b, i, i);
		return;
	}
	superseded = log_clear_flag(ix, b, run, LOG_SEEN, NULL);
	i = log_add_extent(b, e);
	if (superseded > 1)
		log_tidy(b);
	else
		log_tidy_near(b, i);
}

/* ---- Runs of the ring ---- */

struct log_runs log_count_runs(const struct log_index *ix,
			       const struct log_block *b)
{
	const struct log_extent *before = NULL, *e;
	struct log_runs runs = { 0 };

	for (e = b->extents; e < b->extents + b->nr; e++) {
		if (!(e->flags & LOG_RING))
			continue;
		if (!before || !log_same_run(before, e)) {
			runs.nr++;
			runs.old += (e->flags & LOG_ROUND) != ix->parity;
		}
		before = e;
	}
	return runs;
}

/*
 * Before its change the block had the runs of @before. The sums change in one step,
 * because the ring's admission reads nr_ring meanwhile, and a sum without the block's
 * runs would admit writes for which there is no room.
 */
void log_recount_runs(struct log_index *ix, const struct log_block *b,
		      struct log_runs before)
{
	struct log_runs now = log_count_runs(ix, b);

	WRITE_ONCE(ix->nr_ring, ix->nr_ring + now.nr - before.nr);
	ix->nr_old += now.old;
	ix->nr_old -= before.old;
}

/*
 * A block with RING is in the list of the round, others are not.  Only the thread of the
 * ring's writer, or of recovery, changes which blocks are, so the lock is needed for the
 * links only.  replace_block() swaps a block under its lock, which the caller holds.
 */
void log_list_for_round(struct log_index *ix, struct log_block *b)
{
	bool has_ring = log_next_in_ring(b, -1) < b->nr;

	lockdep_assert_held(log_block_lock(ix, b->block));
	if (has_ring != list_empty(&b->round))
		return;
	spin_lock(&ix->round_lock);
	if (has_ring)
		list_add_tail(&b->round, &ix->round);
	else
		list_del_init(&b->round);
	spin_unlock(&ix->round_lock);
}

void log_ring_changed(struct log_index *ix, struct log_block **link,
		      struct log_runs before)
{
	log_tidy(*link);
	log_recount_runs(ix, *link, before);
	log_list_for_round(ix, *link);
	log_block_shrink(ix, link);
}
