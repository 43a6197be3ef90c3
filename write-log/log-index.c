// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log's index, as writes, readers and moves use it. See log-index.h for
 * what it owns, for its words and for its locks. log-record.c has the side that the
 * ring's writer and recovery use.
 */
#include "log-index-internal.h"

/*
 * Runs that can leave a block at a time, however many writes it has. With fewer, a full
 * block would need more passes to be empty. With more, a block would take fewer writes.
 * Not chosen by measurement.
 */
#define LEAVE_RUNS	16

/* ---- Writes ---- */

/*
 * May the block take the write for which room was just reserved? Writes that
 * filled it would keep it from ever being emptied.
 */
static int takes_write(const struct log_index *ix, const struct log_block *b)
{
	if (b->closed)
		return -EBUSY;
	return log_may_leave(ix, b, LEAVE_RUNS) < LEAVE_RUNS ? -EFBIG : 0;
}

/*
 * A block that is written whole leaves the log soon.  With memory to spare it has the room for
 * that at once, so that it is not copied to get it.
 */
static u32 room_for_write(const struct log_index *ix, u32 sectors)
{
	return sectors == ix->block_sectors && log_index_is_roomy(ix) ?
		LOG_WRITE_ROOM + LOG_LEAVE_ROOM : LOG_WRITE_ROOM;
}

/* Count the write in, for which room was just reserved, or give the room back. */
static inline int count_write(struct log_index *ix, struct log_block *b, struct log_write *w)
{
	int r = takes_write(ix, b);

	if (r) {
		b->reserved -= LOG_WRITE_ROOM;
		return r;
	}
	w->keep = b->kept;
	b->writes++;
	atomic64_add(1, &ix->nr_unlogged);
	return 0;
}

/* Count the write in if its block exists and has the room, as most do. Or return false. */
static bool reserve_at_once(struct log_index *ix, struct log_write *w)
{
	u32 bucket = log_index_bucket(ix, w->run.block);
	spinlock_t *lock = log_bucket_lock(ix, bucket);
	struct log_block *b;
	unsigned long flags;
	bool done;

	spin_lock_irqsave(lock, flags);
	b = *log_bucket_find(ix, bucket, w->run.block);
	done = b && log_block_has_room(b, LOG_WRITE_ROOM);
	if (done) {
		b->reserved += LOG_WRITE_ROOM;
		done = !count_write(ix, b, w);
	}
	spin_unlock_irqrestore(lock, flags);
	return done;
}

/* Count the write in, and make the room. Returns 0, or an error as log_index_reserve(). */
static noinline int reserve_room(struct log_index *ix, struct log_write *w, bool nowait)
{
	u32 room = room_for_write(ix, w->run.sectors);
	struct log_block **link;
	unsigned long flags;
	int r;

	r = log_block_lock_room(ix, w->run.block, room, nowait, true, &link, &flags);
	if (r)
		return r;
	/* The memory for more is there now; the write itself needs no more than any other. */
	(*link)->reserved -= room - LOG_WRITE_ROOM;
	r = count_write(ix, *link, w);
	if (r)
		log_block_shrink(ix, link);
	spin_unlock_irqrestore(log_block_lock(ix, w->run.block), flags);
	return r;
}

struct log_write *log_index_reserve(struct log_index *ix, u64 block, u16 sector,
				    u32 sectors, bool nowait)
{
	struct log_write *w;
	int r;

	if (WARN_ON_ONCE(!sectors || sector + sectors > ix->block_sectors))
		return ERR_PTR(-EINVAL);
	w = log_write_alloc(ix, nowait);
	if (IS_ERR(w))
		return w;
	w->run = (struct log_run) {
		.block = block, .slot = LOG_NO_SLOT,
		.sector = sector, .sectors = sectors,
	};
	w->durable = false;
	w->nr = 1;
	if (sectors < ix->block_sectors && reserve_at_once(ix, w))
		return w;
	r = reserve_room(ix, w, nowait);
	if (!r)
		return w;
	log_index_free(ix, w, sizeof(*w));
	return ERR_PTR(r);
}

void log_write_place(struct log_index *ix, struct log_write *w, u32 slot,
		     u16 at)
{
	log_write_place_held(w, slot, at);
	log_count_in_segment(ix, slot, (struct log_change) {
		.seen = w->run.sectors, .ring = w->run.sectors });
}

static bool continues(const struct log_run *run, const struct log_run *next)
{
	return next->block == run->block && next->slot == run->slot &&
	       next->sector == run->sector + run->sectors &&
	       next->at == run->at + run->sectors;
}

/*
 * The unlogged write that @run lengthens, or NULL. It is the one seen last,
 * because its record must not come before what was seen since (W12).
 */
static struct log_write *lengthened_by(struct log_index *ix,
				       const struct log_run *run)
{
	struct log_write *w = log_keeps(W12_NEWEST) ? ix->newest : ix->unlogged;

	lockdep_assert_held(&ix->unlogged_lock);
	while (w && !continues(&w->run, run))
		w = w->next;
	return w;
}

/* List the write. Returns true if it lengthens the one that was seen last instead. */
static bool list_unlogged(struct log_index *ix, struct log_write *w)
{
	struct log_write *longer;

	/* Interrupts are off, because the caller holds the block's lock. */
	spin_lock(&ix->unlogged_lock);
	longer = lengthened_by(ix, &w->run);
	if (longer) {
		longer->run.sectors += w->run.sectors;
		longer->durable &= w->durable;
		longer->nr = min_t(u32, longer->nr + w->nr, U16_MAX);
	} else {
		w->next = NULL;
		if (ix->newest)
			ix->newest->next = w;
		else
			ix->unlogged = w;
		ix->newest = w;
	}
	spin_unlock(&ix->unlogged_lock);
	return longer;
}

void log_index_seen(struct log_index *ix, struct log_write *w)
{
	u32 bucket = log_index_bucket(ix, w->run.block);
	spinlock_t *lock = log_bucket_lock(ix, bucket);
	struct log_block *b;
	unsigned long flags;
	bool lengthens;

	spin_lock_irqsave(lock, flags);
	b = *log_bucket_find(ix, bucket, w->run.block);
	b->writes--;
	b->kept = max_t(u8, b->kept, w->keep);
	if (LOG_RULES_CAN_BREAK)
		log_count_under_block(ix, w->run.slot, (struct log_change) {
			.unlogged = w->run.sectors });
	/*
	 * Listed before a reader can find it (W8); both under the lock, so that
	 * the list has the order of being seen. The write is the ring's then, and
	 * stays as it is while the lock is held.
	 */
	lengthens = list_unlogged(ix, w);
	if (lengthens)
		b->reserved -= LOG_WRITE_ROOM;
	log_show_run(ix, b, &w->run);
	spin_unlock_irqrestore(lock, flags);
	if (lengthens) {
		atomic64_sub(1, &ix->nr_unlogged);
		log_index_free(ix, w, sizeof(*w));
	}
}

void log_index_cancel(struct log_index *ix, struct log_write *w)
{
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(log_block_lock(ix, w->run.block), flags);
	if (w->run.slot != LOG_NO_SLOT)
		log_count_under_block(ix, w->run.slot, (struct log_change) {
			.seen = -w->run.sectors, .ring = -w->run.sectors });
	link = log_block_find(ix, w->run.block);
	(*link)->writes--;
	(*link)->reserved -= LOG_WRITE_ROOM;
	log_block_shrink(ix, link);
	spin_unlock_irqrestore(log_block_lock(ix, w->run.block), flags);
	atomic64_sub(1, &ix->nr_unlogged);
	log_index_free(ix, w, sizeof(*w));
}

/* ---- Readers ---- */

void log_index_lookup(struct log_index *ix, u64 block, u16 sector, u32 sectors,
		      struct log_run *run)
{
	u32 end = sector + sectors, i;
	const struct log_block *b;
	unsigned long flags;
	bool found = false;

	*run = (struct log_run) {
		.block = block, .slot = LOG_NO_SLOT, .sector = sector,
		.sectors = sectors,
	};
	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	for (i = 0; b && i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		if (!(e->flags & LOG_SEEN) || log_end_of(e) <= sector)
			continue;
		if (e->sector >= end)
			break;
		if (found && log_extend_run(run, e))
			continue;
		if (found)
			break;
		if (e->sector > sector) {
			run->sectors = e->sector - sector;
			break;
		}
		log_set_run(run, block, e);
		found = true;
	}
	if (found) {
		/* Clip what lies outside the range. */
		run->sectors = min(end, run->sector + run->sectors) - sector;
		run->at += sector - run->sector;
		run->sector = sector;
		/*
		 * Pinned before the lock is released, so that the segment stays
		 * (W6).
		 */
		ix->ops->pin(ix->ctx, run->slot);
	}
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
}

static bool has_seen(const struct log_block *b)
{
	u32 i;

	for (i = 0; i < b->nr; i++)
		if (b->extents[i].flags & LOG_SEEN)
			return true;
	return false;
}

bool log_index_has(struct log_index *ix, u64 block)
{
	const struct log_block *b;
	unsigned long flags;
	bool has;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	has = b && (b->writes || has_seen(b));
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return has;
}

/* ---- Going home, and into the cache ---- */

/* The runs of SEEN extents. Returns how many there are; @runs gets the first @max. */
static u32 seen_runs(const struct log_block *b, struct log_run *runs, u32 max)
{
	struct log_run run = { .slot = LOG_NO_SLOT };
	u32 i, n = 0;

	for (i = 0; i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		if (!(e->flags & LOG_SEEN) || log_extend_run(&run, e))
			continue;
		if (run.slot != LOG_NO_SLOT && n++ < max)
			runs[n - 1] = run;
		log_set_run(&run, b->block, e);
	}
	if (run.slot != LOG_NO_SLOT && n++ < max)
		runs[n - 1] = run;
	return n;
}

/* Pin the first @n of the runs that readers find. Returns how many were pinned. */
static u32 collect_and_pin(struct log_index *ix, const struct log_block *b,
			   struct log_run *runs, u32 n)
{
	u32 i;

	n = min(n, seen_runs(b, runs, n));
	for (i = 0; i < n; i++)
		ix->ops->pin(ix->ctx, runs[i].slot);
	return n;
}

/* How many runs can leave, at most @max; -EFBIG if the block has runs and none can. */
static int count_to_leave(struct log_index *ix, u64 block, u32 max)
{
	const struct log_block *b;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	if (b && has_seen(b)) {
		n = log_may_leave(ix, b, min(max, seen_runs(b, NULL, 0)));
		n = n ? n : -EFBIG;
	}
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return n;
}

static int collect_leaving(struct log_index *ix, u64 block,
			   struct log_run *runs, u32 max)
{
	int room = count_to_leave(ix, block, max), r;
	struct log_block **link;
	unsigned long flags;
	u32 n, i;

	if (room <= 0)
		return room;
	r = log_block_lock_room(ix, block, room * LOG_LEAVE_ROOM, false, false, &link,
				&flags);
	if (r)
		return r;
	/* There may be fewer runs by now. */
	n = collect_and_pin(ix, *link, runs, room);
	for (i = 0; i < n; i++)
		log_count_under_block(ix, runs[i].slot, (struct log_change) {
			.leaving = 1 });
	(*link)->reserved -= (room - n) * LOG_LEAVE_ROOM;
	log_block_shrink(ix, link);
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return n;
}

u32 log_index_whole(struct log_index *ix, u64 block)
{
	const struct log_block *b;
	unsigned long flags;
	struct log_run run;
	bool whole;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	whole = b && seen_runs(b, &run, 1) == 1 && run.sectors == ix->block_sectors;
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return whole ? run.slot : LOG_NO_SLOT;
}

static int collect_all(struct log_index *ix, u64 block, struct log_run *runs,
		       u32 max)
{
	const struct log_block *b;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	if (b && seen_runs(b, NULL, 0) > max)
		n = -E2BIG;
	else if (b)
		n = collect_and_pin(ix, b, runs, max);
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return n;
}

int log_index_collect(struct log_index *ix, u64 block, struct log_run *runs,
		      u32 max, bool leaving)
{
	return leaving ? collect_leaving(ix, block, runs, max) :
			 collect_all(ix, block, runs, max);
}

int log_index_close(struct log_index *ix, u64 block)
{
	struct log_block **link;
	unsigned long flags;
	int r;

	r = log_block_lock_room(ix, block, 0, false, true, &link, &flags);
	if (r)
		return r;
	(*link)->closed++;
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return 0;
}

void log_index_open(struct log_index *ix, u64 block)
{
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	link = log_block_find(ix, block);
	(*link)->closed--;
	log_block_shrink(ix, link);
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
}

u32 log_index_writes(struct log_index *ix, u64 block)
{
	const struct log_block *b;
	unsigned long flags;
	u32 writes;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	writes = b ? b->writes : 0;
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return writes;
}

bool log_index_keep(struct log_index *ix, u64 block, enum log_keep keep)
{
	struct log_block *b;
	unsigned long flags;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	if (b)
		b->kept = keep ? max_t(u8, b->kept, keep) : keep;
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return b;
}

enum log_keep log_index_kept(struct log_index *ix, u64 block)
{
	enum log_keep kept;
	const struct log_block *b;
	unsigned long flags;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	kept = b && has_seen(b) ? b->kept : LOG_KEEP_NOT;
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return kept;
}

bool log_index_covers(struct log_index *ix, u64 block)
{
	const struct log_block *b;
	unsigned long flags;
	u32 sectors = 0, i;

	spin_lock_irqsave(log_block_lock(ix, block), flags);
	b = *log_block_find(ix, block);
	for (i = 0; b && i < b->nr; i++)
		if (b->extents[i].flags & LOG_SEEN)
			sectors += b->extents[i].last + 1;
	spin_unlock_irqrestore(log_block_lock(ix, block), flags);
	return sectors == ix->block_sectors;
}

void log_index_leave(struct log_index *ix, const struct log_run *run)
{
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(log_block_lock(ix, run->block), flags);
	link = log_block_find(ix, run->block);
	log_clear_flag(ix, *link, run, LOG_SEEN, run);
	(*link)->reserved -= LOG_LEAVE_ROOM;
	log_count_under_block(ix, run->slot, (struct log_change) { .leaving = -1 });
	log_tidy(*link);
	log_block_shrink(ix, link);
	spin_unlock_irqrestore(log_block_lock(ix, run->block), flags);
}

void log_index_stay(struct log_index *ix, const struct log_run *run)
{
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(log_block_lock(ix, run->block), flags);
	link = log_block_find(ix, run->block);
	(*link)->reserved -= LOG_LEAVE_ROOM;
	log_count_under_block(ix, run->slot, (struct log_change) { .leaving = -1 });
	log_block_shrink(ix, link);
	spin_unlock_irqrestore(log_block_lock(ix, run->block), flags);
}

#ifndef __KERNEL__
/* ---- For tests: one thread ---- */

static void check_block(struct log_index *ix, const struct log_block *b)
{
	u32 seen_end = 0, ring_end = 0, need, i;

	WARN_ON_ONCE(log_block_is_unused(ix, b));
	WARN_ON_ONCE(b->nr > log_class_rooms[b->class]);
	/*
	 * There is room for what may still come: all that was reserved for writes in flight, and
	 * half of what was reserved for others, which have used the rest.  The first write to a
	 * block needs one extent only.
	 */
	need = b->nr + (b->reserved + LOG_WRITE_ROOM * b->writes) / 2;
	WARN_ON_ONCE(min_t(u32, need, 2 * ix->block_sectors) > log_class_rooms[b->class] &&
		     (b->nr > 1 || b->reserved > LOG_WRITE_ROOM));
	WARN_ON_ONCE((log_next_in_ring(b, -1) < b->nr) == list_empty(&b->round));
	for (i = 0; i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		WARN_ON_ONCE(!(e->flags & (LOG_SEEN | LOG_RING)));
		WARN_ON_ONCE(!(e->flags & LOG_RING) && e->flags & LOG_ROUND);
		WARN_ON_ONCE(i && e->sector < e[-1].sector);
		/* log_tidy_at() and log_tidy_near() have left nothing to join. */
		WARN_ON_ONCE(i && log_may_join(&e[-1], e));
		WARN_ON_ONCE(log_end_of(e) > ix->block_sectors);
		WARN_ON_ONCE(!log_segment_get(ix, e->slot,
					      &(struct log_segment) { 0 }));
		if (e->flags & LOG_SEEN) {
			WARN_ON_ONCE(e->sector < seen_end);
			seen_end = log_end_of(e);
		}
		if (e->flags & LOG_RING) {
			WARN_ON_ONCE(e->sector < ring_end);
			ring_end = log_end_of(e);
		}
	}
}

static void check_segment(struct log_index *ix, const struct log_segment *s)
{
	u32 seen = 0, ring = 0, in_flight = 0, i, k;
	const struct log_block *b;

	for (i = 0; i < 1U << ix->bucket_bits; i++)
		for (b = ix->buckets[i]; b; b = b->next) {
			in_flight += b->writes;
			for (k = 0; k < b->nr; k++) {
				const struct log_extent *e = &b->extents[k];

				if (e->slot != s->slot)
					continue;
				seen += e->flags & LOG_SEEN ? e->last + 1 : 0;
				ring += e->flags & LOG_RING ? e->last + 1 : 0;
			}
		}
	/* The writes in flight count in both. */
	WARN_ON_ONCE(s->seen - seen != s->ring - ring - s->unlogged);
	WARN_ON_ONCE(!s->held && (in_flight ? s->seen < seen : s->seen != seen));
}

void log_index_check(struct log_index *ix)
{
	u64 nr_ring = 0, nr_old = 0, blocks = 0;
	const struct log_segment *s;
	struct log_block *b;
	unsigned long flags;
	struct log_runs runs;
	u32 i;

	for (i = 0; i < 1U << ix->bucket_bits; i++)
		WARN_ON_ONCE((ix->used[i / 64] >> i % 64 & 1) != !!ix->buckets[i]);
	for (i = 0; i < 1U << ix->bucket_bits; i++)
		for (b = ix->buckets[i]; b; b = b->next) {
			spin_lock_irqsave(log_block_lock(ix, b->block), flags);
			check_block(ix, b);
			runs = log_count_runs(ix, b);
			spin_unlock_irqrestore(log_block_lock(ix, b->block), flags);
			nr_ring += runs.nr;
			nr_old += runs.old;
			blocks++;
		}
	WARN_ON_ONCE(ix->nr_ring != nr_ring || ix->nr_old != nr_old);
	WARN_ON_ONCE(blocks != (u64)atomic64_read(&ix->nr_blocks));
	for (i = 0; i < 1U << ix->segment_bits; i++)
		for (s = ix->segments[i]; s; s = s->next)
			check_segment(ix, s);
}
#endif
