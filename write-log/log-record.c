// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log's index, as the ring's writer and recovery use it: what has to be
 * recorded, what a record says, and what a record that is played back means. See
 * log-index.h for its words and for its locks.
 */
#include "log-index-internal.h"

/*
 * Extents that a record adds when it is played back: itself, and one for each of
 * the two extents, SEEN and RING, that it may split.
 */
#define REPLAY_ROOM	3

/* ---- The ring's writer ---- */

struct log_write *log_index_take_unlogged(struct log_index *ix)
{
	struct log_write *first;
	unsigned long flags;

	spin_lock_irqsave(&ix->unlogged_lock, flags);
	first = ix->unlogged;
	ix->unlogged = NULL;
	ix->newest = NULL;
	spin_unlock_irqrestore(&ix->unlogged_lock, flags);
	return first;
}

/* Is the extent this run and nothing else? */
static inline bool is_run(const struct log_extent *e, const struct log_run *run)
{
	return e->sector == run->sector && e->last + 1U == run->sectors &&
	       log_same_place(e, run);
}

/* The extent that is this run and nothing else, if readers find it. */
static struct log_extent *find_seen(struct log_block *b,
				    const struct log_run *run)
{
	u32 i;

	for (i = log_first_from(b, run->sector);
	     i < b->nr && b->extents[i].sector == run->sector; i++) {
		struct log_extent *e = &b->extents[i];

		if ((e->flags & LOG_SEEN) && is_run(e, run))
			return e;
	}
	return NULL;
}

/* Set RING on the run's sectors, which have no RING. */
static void set_ring(struct log_index *ix, struct log_block *b,
		     const struct log_run *run)
{
	u32 end = run->sector + run->sectors, next = run->sector, i;

	/*
	 * The extents that readers find get RING, and the gaps between them become
	 * extents.
	 */
	log_split_at(b, run->sector, LOG_SEEN, run);
	log_split_at(b, end, LOG_SEEN, run);
	for (i = 0; i < b->nr; i++) {
		struct log_extent *e = &b->extents[i], gap;

		if (!(e->flags & LOG_SEEN) || !log_same_place(e, run) ||
		    e->sector < run->sector || e->sector >= end)
			continue;
		e->flags |= LOG_RING | ix->parity;
		if (e->sector == next) {
			next = log_end_of(e);
			continue;
		}
		/* The gap was superseded meanwhile, so it is in the ring only. */
		gap = *e;
		gap.sector = next;
		gap.at = run->at + next - run->sector;
		gap.last = e->sector - next - 1;
		gap.flags = LOG_RING | ix->parity;
		next = log_end_of(e);
		log_add_extent(b, gap);
		i++;
	}
	if (next < end)
		log_add_extent(b, (struct log_extent) {
			.slot = run->slot, .sector = next,
			.last = end - next - 1,
			.at = run->at + next - run->sector,
			.flags = LOG_RING | ix->parity });
}

/* The RING extents next to others: their numbers, or log_block::nr. */
struct neighbours {
	u32 before, next;
};

static inline struct neighbours find_neighbours(const struct log_block *b, u32 first, u32 last)
{
	return (struct neighbours) {
		.before = log_flag_before(b, first, LOG_RING),
		.next = log_next_in_ring(b, last),
	};
}

/* Has one of the neighbours of the extent some of its sectors? */
static inline bool neighbours_overlap(const struct log_block *b, const struct log_extent *e,
				      struct neighbours n)
{
	return (n.before < b->nr && log_end_of(&b->extents[n.before]) > e->sector) ||
	       (n.next < b->nr && b->extents[n.next].sector < log_end_of(e));
}

/* How many of the neighbours @n are one run with the extents from @first to @last? */
static inline u32 joins_of(const struct log_block *b, u32 first, u32 last, struct neighbours n)
{
	u32 joins = 0;

	if (n.before < b->nr)
		joins += log_same_run(&b->extents[n.before], &b->extents[first]);
	if (n.next < b->nr)
		joins += log_same_run(&b->extents[last], &b->extents[n.next]);
	return joins;
}

static u32 count_joins(const struct log_block *b, u32 first, u32 last)
{
	return joins_of(b, first, last, find_neighbours(b, first, last));
}

/*
 * As set_ring(), if the run is one extent that readers find, and no RING extent has some of its
 * sectors.  So it is with most writes.  It counts as recorded in this round.  The block may
 * have no other RING, and is listed then.
 */
static inline bool put_alone(struct log_index *ix, struct log_block *b, const struct log_run *run)
{
	u32 i = log_first_from(b, run->sector);
	struct log_extent *e = &b->extents[i];
	struct neighbours n;

	if (i == b->nr || e->flags != LOG_SEEN || !is_run(e, run))
		return false;
	n = find_neighbours(b, i, i);
	if (neighbours_overlap(b, e, n))
		return false;
	e->flags |= LOG_RING | ix->parity;
	WRITE_ONCE(ix->nr_ring, ix->nr_ring + 1 - joins_of(b, i, i, n));
	log_tidy_at(b, i, i);
	/* Asked here, because log_list_for_round() would look at the extents first. */
	if (list_empty(&b->round))
		log_list_for_round(ix, b);
	return true;
}

/*
 * The RING extent of the same sectors as @seen, which readers do not find, or NULL. It lies
 * next to @seen, because extents are sorted by sector, and no other RING extent has these
 * sectors.
 */
static struct log_extent *find_superseded(struct log_block *b, struct log_extent *seen)
{
	u32 i = seen - b->extents, k;

	for (k = i ? i - 1 : 1; k <= i + 1 && k < b->nr; k += 2) {
		struct log_extent *e = &b->extents[k];

		if (e->sector == seen->sector && e->last == seen->last &&
		    (e->flags & (LOG_SEEN | LOG_RING)) == LOG_RING)
			return e;
	}
	return NULL;
}

/*
 * As put_alone(), but the run of @old leaves the ring, and the block is listed already. The
 * index's sums change in one step; see log_recount_runs().
 */
static void replace_in_ring(struct log_index *ix, struct log_block *b,
			    struct log_extent *old, struct log_extent *seen)
{
	u32 o = old - b->extents, i = seen - b->extents;
	u32 parted = count_joins(b, o, o);

	log_release_in_segment(ix, old->slot, old->last + 1);
	if ((old->flags & LOG_ROUND) != ix->parity)
		ix->nr_old += (int)parted - 1;
	seen->flags |= LOG_RING | ix->parity;
	b->nr--;
	memmove(old, old + 1, (b->nr - o) * sizeof(*old));
	i -= o < i;
	WRITE_ONCE(ix->nr_ring, ix->nr_ring + parted - count_joins(b, i, i));
	log_tidy_near(b, i);
}

/* Have the ring rely on a run that has superseded something, or was superseded. */
static noinline void put_instead(struct log_index *ix, struct log_block **link,
				 const struct log_run *run)
{
	struct log_extent *seen = find_seen(*link, run), *old;
	struct log_runs before;

	old = seen ? find_superseded(*link, seen) : NULL;
	if (old) {
		replace_in_ring(ix, *link, old, seen);
		log_block_shrink(ix, link);
		return;
	}
	before = log_count_runs(ix, *link);
	log_clear_flag(ix, *link, run, LOG_RING, NULL);
	set_ring(ix, *link, run);
	log_ring_changed(ix, link, before);
}

void log_index_put(struct log_index *ix, struct log_write *w)
{
	const struct log_run *run = &w->run;
	u32 bucket = log_index_bucket(ix, run->block);
	spinlock_t *lock = log_bucket_lock(ix, bucket);
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	link = log_bucket_find(ix, bucket, run->block);
	(*link)->reserved -= LOG_WRITE_ROOM;
	if (LOG_RULES_CAN_BREAK)
		log_count_under_block(ix, run->slot, (struct log_change) {
			.unlogged = -run->sectors });
	if (put_alone(ix, *link, run))
		log_block_shrink(ix, link);
	else
		put_instead(ix, link, run);
	spin_unlock_irqrestore(lock, flags);
	atomic64_sub(1, &ix->nr_unlogged);
	log_write_free_later(ix, w);
	log_blocks_slim(ix);
}

void log_index_put_gone(struct log_index *ix, const struct log_run *run)
{
	const struct log_run *place = log_keeps(GONE_OF_PLACE) ? run : NULL;
	struct log_block **link;
	unsigned long flags;
	struct log_runs before;

	spin_lock_irqsave(log_block_lock(ix, run->block), flags);
	link = log_block_find(ix, run->block);
	before = log_count_runs(ix, *link);
	log_clear_flag(ix, *link, run, LOG_RING, place);
	log_ring_changed(ix, link, before);
	spin_unlock_irqrestore(log_block_lock(ix, run->block), flags);
}

void log_index_forget(struct log_index *ix, struct log_write *w)
{
	log_index_free(ix, w, sizeof(*w));
}

void log_index_begin_round(struct log_index *ix)
{
	WARN_ON_ONCE(ix->nr_old);
	ix->parity ^= LOG_ROUND;
	ix->nr_old = ix->nr_ring;
}

/*
 * The block to look at next. If @done, the first block goes to the end of the list
 * before that.
 */
static bool first_of_round(struct log_index *ix, u64 *block, bool done)
{
	struct log_block *b;
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&ix->round_lock, flags);
	any = !list_empty(&ix->round);
	if (any && done) {
		struct list_head *first = ix->round.next;

		list_del_init(first);
		list_add_tail(first, &ix->round);
	}
	if (any) {
		b = list_first_entry(&ix->round, struct log_block, round);
		*block = b->block;
	}
	spin_unlock_irqrestore(&ix->round_lock, flags);
	return any;
}

static bool is_old(const struct log_index *ix, const struct log_extent *e)
{
	return e->flags & LOG_RING && (e->flags & LOG_ROUND) != ix->parity;
}

/*
 * The first run that is to be repeated. It counts as recorded from here on. The
 * block's runs are not counted anew, because a ring block repeats dozens of runs.
 */
static bool repeat_in_block(struct log_index *ix, struct log_block *b,
			    struct log_run *run)
{
	struct log_extent *e = b->extents;
	u32 first = 0, next, last;
	bool seen = false;

	while (first < b->nr && !is_old(ix, &e[first]))
		first++;
	if (first == b->nr)
		return false;
	log_set_run(run, b->block, &e[first]);
	next = first;
	do {
		last = next;
		seen |= e[last].flags & LOG_SEEN;
		e[last].flags ^= LOG_ROUND;
		next = log_next_in_ring(b, last);
	} while (next < b->nr && is_old(ix, &e[next]) && log_extend_run(run, &e[next]));
	WRITE_ONCE(ix->nr_ring, ix->nr_ring - count_joins(b, first, last));
	ix->nr_old--;
	log_tidy_at(b, first, last);
	return seen || log_keeps(ROUND_OF_RING);
}

bool log_index_repeat(struct log_index *ix, struct log_run *run)
{
	bool found = false, done = false;
	unsigned long flags;
	u64 block;

	while (!found && ix->nr_old) {
		struct log_block *b;

		if (WARN_ON_ONCE(!first_of_round(ix, &block, done)))
			return false;
		spin_lock_irqsave(log_block_lock(ix, block), flags);
		b = *log_block_find(ix, block);
		found = b && repeat_in_block(ix, b, run);
		spin_unlock_irqrestore(log_block_lock(ix, block), flags);
		done = true;
	}
	return found;
}

/* ---- Recovery ---- */

int log_index_replay_valid(struct log_index *ix, const struct log_run *run)
{
	struct log_block **link;
	unsigned long flags;
	struct log_runs before;
	int r;

	r = log_open_segment(ix, run->slot, false, false);
	if (r && r != -EEXIST)
		return r;
	r = log_block_lock_room(ix, run->block, REPLAY_ROOM, false, false, &link,
				&flags);
	if (r)
		return r;
	(*link)->reserved -= REPLAY_ROOM;
	before = log_count_runs(ix, *link);
	log_clear_flag(ix, *link, run, LOG_SEEN, NULL);
	log_clear_flag(ix, *link, run, LOG_RING, NULL);
	log_add_extent(*link, (struct log_extent) {
		.slot = run->slot, .sector = run->sector,
		.last = run->sectors - 1, .at = run->at,
		.flags = LOG_SEEN | LOG_RING | ix->parity });
	log_count_under_block(ix, run->slot, (struct log_change) {
		.seen = run->sectors, .ring = run->sectors });
	log_tidy(*link);
	log_recount_runs(ix, *link, before);
	log_list_for_round(ix, *link);
	spin_unlock_irqrestore(log_block_lock(ix, run->block), flags);
	return 0;
}

int log_index_replay_gone(struct log_index *ix, const struct log_run *run)
{
	const struct log_run *place = log_keeps(GONE_OF_PLACE) ? run : NULL;
	struct log_block **link;
	unsigned long flags;
	struct log_runs before;
	int r;

	r = log_block_lock_room(ix, run->block, LOG_LEAVE_ROOM, false, false, &link,
				&flags);
	if (r)
		return r;
	(*link)->reserved -= LOG_LEAVE_ROOM;
	before = log_count_runs(ix, *link);
	log_clear_flag(ix, *link, run, LOG_SEEN, place);
	log_clear_flag(ix, *link, run, LOG_RING, place);
	log_ring_changed(ix, link, before);
	spin_unlock_irqrestore(log_block_lock(ix, run->block), flags);
	return r;
}

u32 log_index_in_place(struct log_index *ix, u64 block, u32 slot)
{
	const struct log_block *b;
	unsigned long flags;
	u32 sectors = 0, i;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	for (i = 0; b && i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		if (e->flags & LOG_SEEN && e->slot == slot && e->at == e->sector)
			sectors += e->last + 1;
	}
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return sectors;
}

void log_index_replayed(struct log_index *ix)
{
	log_blocks_slim_all(ix);
	log_index_settle(ix);
}

static int visit_bucket(struct log_index *ix,
			int (*fn)(void *ctx, const struct log_run *run),
			void *ctx, u32 bucket)
{
	spinlock_t *lock = log_bucket_lock(ix, bucket);
	const struct log_block *b;
	unsigned long flags;
	struct log_run run;
	int r = 0;
	u32 k;

	spin_lock_irqsave(lock, flags);
	for (b = ix->buckets[bucket]; b && !r; b = b->next)
		for (k = 0; k < b->nr && !r; k++) {
			if (!(b->extents[k].flags & LOG_SEEN))
				continue;
			log_set_run(&run, b->block, &b->extents[k]);
			r = fn(ctx, &run);
		}
	spin_unlock_irqrestore(lock, flags);
	return r;
}

int log_index_visit_from(struct log_index *ix,
			 int (*fn)(void *ctx, const struct log_run *run),
			 void *ctx, u32 first)
{
	u32 nr = 1U << ix->bucket_bits, i = 0;
	int r = 0;

	while (i < nr && !r) {
		u32 bucket = (first + i) & (nr - 1);
		/* Racy: a block that comes in now may be missed. */
		u64 used = READ_ONCE(ix->used[bucket / 64]) >> bucket % 64;

		i += used ? __ffs64(used) : 64 - bucket % 64;
		if (used && i < nr)
			r = visit_bucket(ix, fn, ctx, (first + i++) & (nr - 1));
	}
	return r;
}

int log_index_for_each(struct log_index *ix,
		       int (*fn)(void *ctx, const struct log_run *run),
		       void *ctx)
{
	return log_index_visit_from(ix, fn, ctx, 0);
}
