// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log's index: the extents of each block, and the segments' counts.
 * See log-index.h for what it owns, for its words and for its locks.
 *
 * All changes of extents are made of two steps: clear_flag() takes SEEN or RING
 * off a range of sectors, splitting extents at its borders, and add_extent()
 * puts one in. tidy() joins what may be one extent again.
 */
#include "log-index.h"

/*
 * Extents that one write may add to its block. When it is seen: itself, and one
 * more at each of its borders; later, because it hides the middle of an unlogged
 * one, one more when that is recorded. When it is recorded: itself, one more
 * where it splits a run, and one at each of its borders that lies inside a
 * lengthened extent.
 */
#define WRITE_ROOM	8
/* A run that leaves may be split off at both ends, in the ring and the index. */
#define LEAVE_ROOM	4
/* Runs that can leave a block at a time, however many writes it has. */
#define LEAVE_RUNS	16
/* A record that is played back: itself, and the other half of what it splits. */
#define REPLAY_ROOM	3

/* The sizes in which the kernel's allocator hands out memory. */
static const u16 class_bytes[] = {
	64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192
};

/* Extents in a block of this class. */
static u32 class_room(u8 class)
{
	return (class_bytes[class] - sizeof(struct log_block)) /
	       sizeof(struct log_extent);
}

static u32 most_room(void)
{
	return class_room(ARRAY_SIZE(class_bytes) - 1);
}

/* The least class from @class on that has room for @nr extents; or -EFBIG. */
static int class_for(u32 nr, u8 class)
{
	for (; class < ARRAY_SIZE(class_bytes); class++)
		if (class_room(class) >= nr)
			return class;
	return -EFBIG;
}

/* ---- Memory ---- */

static void *index_alloc(struct log_index *ix, size_t bytes, bool nowait,
			 bool bounded, int *error)
{
	void *p;

	*error = -ENOSPC;
	if (atomic64_add_return(bytes, &ix->bytes) > ix->max_bytes && bounded)
		goto none;
	*error = -ENOMEM;
	p = ix->ops->alloc(ix->ctx, bytes, nowait);
	if (p)
		return p;
none:
	atomic64_sub(bytes, &ix->bytes);
	return NULL;
}

static void index_free(struct log_index *ix, void *p, size_t bytes)
{
	ix->ops->free(ix->ctx, p, bytes);
	atomic64_sub(bytes, &ix->bytes);
}

/* Buckets for so many bytes of blocks: 2 to 4 blocks of the least class each. */
static unsigned int bits_for(u64 max_bytes, u32 bytes_each)
{
	u64 nr = div_u64(max_bytes, bytes_each);

	return clamp(nr ? ilog2(nr) : 0, 4, 24);
}

int log_index_init(struct log_index *ix, const struct log_index_ops *ops,
		   void *ctx, u32 block_sectors, u64 max_bytes)
{
	u32 i;

	memset(ix, 0, sizeof(*ix));
	if (!block_sectors || block_sectors > LOG_MAX_BLOCK ||
	    max_bytes > S64_MAX)
		return -EINVAL;

	ix->ops = ops;
	ix->ctx = ctx;
	ix->block_sectors = block_sectors;
	ix->max_bytes = max_bytes;
	ix->bucket_bits = bits_for(max_bytes, 2 * class_bytes[0]);
	ix->segment_bits = bits_for(max_bytes, 64 * class_bytes[0]);
	ix->buckets = os_zalloc(sizeof(*ix->buckets) << ix->bucket_bits);
	ix->segments = os_zalloc(sizeof(*ix->segments) << ix->segment_bits);
	if (!ix->buckets || !ix->segments) {
		os_free(ix->buckets);
		os_free(ix->segments);
		/* The caller looks at it to see whether there is an index. */
		ix->buckets = NULL;
		return -ENOMEM;
	}
	atomic64_set(&ix->bytes, (sizeof(*ix->buckets) << ix->bucket_bits) +
		     (sizeof(*ix->segments) << ix->segment_bits));
	for (i = 0; i < LOG_NR_LOCKS; i++)
		spin_lock_init(&ix->locks[i]);
	for (i = 0; i < LOG_NR_SEGMENT_LOCKS; i++)
		spin_lock_init(&ix->segment_locks[i]);
	spin_lock_init(&ix->round_lock);
	INIT_LIST_HEAD(&ix->round);
	spin_lock_init(&ix->unlogged_lock);
	return 0;
}

static void free_block(struct log_index *ix, struct log_block *b)
{
	index_free(ix, b, class_bytes[b->class]);
}

static void free_write(struct log_index *ix, struct log_write *w)
{
	index_free(ix, w, sizeof(*w));
}

static void free_chains(struct log_index *ix)
{
	struct log_segment *s;
	struct log_block *b;
	u32 i;

	for (i = 0; i < 1U << ix->bucket_bits; i++)
		while ((b = ix->buckets[i])) {
			ix->buckets[i] = b->next;
			free_block(ix, b);
		}
	for (i = 0; i < 1U << ix->segment_bits; i++)
		while ((s = ix->segments[i])) {
			ix->segments[i] = s->next;
			index_free(ix, s, sizeof(*s));
		}
}

void log_index_exit(struct log_index *ix)
{
	struct log_write *w;

	while ((w = ix->unlogged)) {
		ix->unlogged = w->next;
		free_write(ix, w);
	}
	free_chains(ix);
	os_free(ix->buckets);
	os_free(ix->segments);
	memset(ix, 0, sizeof(*ix));
}

/* ---- Segments ---- */

static u32 segment_bucket(const struct log_index *ix, u32 slot)
{
	return hash_64(slot, ix->segment_bits);
}

static spinlock_t *segment_lock(struct log_index *ix, u32 slot)
{
	return &ix->segment_locks[segment_bucket(ix, slot) %
				  LOG_NR_SEGMENT_LOCKS];
}

static struct log_segment **find_segment(struct log_index *ix, u32 slot)
{
	struct log_segment **link = &ix->segments[segment_bucket(ix, slot)];

	lockdep_assert_held(segment_lock(ix, slot));
	while (*link && (*link)->slot != slot)
		link = &(*link)->next;
	return link;
}

static int open_segment(struct log_index *ix, u32 slot, bool nowait,
			bool bounded)
{
	struct log_segment *s, **link;
	unsigned long flags;
	int r;

	s = index_alloc(ix, sizeof(*s), nowait, bounded, &r);
	if (!s)
		return r;
	memset(s, 0, sizeof(*s));
	s->slot = slot;
	spin_lock_irqsave(segment_lock(ix, slot), flags);
	link = find_segment(ix, slot);
	r = *link ? -EEXIST : 0;
	if (!r)
		*link = s;
	spin_unlock_irqrestore(segment_lock(ix, slot), flags);
	if (r)
		index_free(ix, s, sizeof(*s));
	return r;
}

int log_segment_open(struct log_index *ix, u32 slot, bool nowait)
{
	return open_segment(ix, slot, nowait, true);
}

/* W6: nobody reads the segment, and no recovery would. */
static bool segment_is_idle(struct log_index *ix, const struct log_segment *s,
			    bool mapped)
{
	if (s->seen || s->writes)
		return false;
	if (s->unlogged && log_keeps(W6_UNLOGGED))
		return false;
	if (s->ring && log_keeps(W6_RING))
		return false;
	if (s->released)
		return false;
	/*
	 * A superseded run leaves by its place. If the place were written again
	 * before that, a newer extent would leave with it.
	 */
	if (s->leaving && log_keeps(W6_LEAVING))
		return false;
	return mapped || !ix->ops->pinned(ix->ctx, s->slot) ||
	       !log_keeps(W6_PIN);
}

int log_segment_close(struct log_index *ix, u32 slot, bool mapped)
{
	struct log_segment *s, **link;
	unsigned long flags;
	int r = -ENOENT;

	spin_lock_irqsave(segment_lock(ix, slot), flags);
	link = find_segment(ix, slot);
	s = *link;
	if (s)
		r = segment_is_idle(ix, s, mapped) ? 0 : -EBUSY;
	if (!r)
		*link = s->next;
	spin_unlock_irqrestore(segment_lock(ix, slot), flags);
	if (!r)
		index_free(ix, s, sizeof(*s));
	return r;
}

bool log_segment_get(struct log_index *ix, u32 slot, struct log_segment *out)
{
	struct log_segment *s;
	unsigned long flags;

	spin_lock_irqsave(segment_lock(ix, slot), flags);
	s = *find_segment(ix, slot);
	if (s)
		*out = *s;
	spin_unlock_irqrestore(segment_lock(ix, slot), flags);
	return s;
}

bool log_segment_free(struct log_index *ix, u32 slot)
{
	struct log_segment s;

	return log_segment_get(ix, slot, &s) && !s.writes && !s.unlogged &&
	       !s.ring;
}

/* The numbers are added to a segment's counts of sectors; they may be negative. */
struct change {
	int seen, unlogged, ring, writes, leaving;
};

static void count_in_segment(struct log_index *ix, u32 slot, struct change c)
{
	struct log_segment *s;
	unsigned long flags;

	spin_lock_irqsave(segment_lock(ix, slot), flags);
	s = *find_segment(ix, slot);
	/* A mutant of the tests may have given the segment back. */
	if (s) {
		s->seen += c.seen;
		s->unlogged += c.unlogged;
		s->ring += c.ring;
		s->writes += c.writes;
		s->leaving += c.leaving;
	}
	spin_unlock_irqrestore(segment_lock(ix, slot), flags);
}

/* Its record is superseded in a block that is not durable yet. */
static void release_in_segment(struct log_index *ix, u32 slot, u32 sectors)
{
	struct log_segment *s;
	unsigned long flags;

	spin_lock_irqsave(segment_lock(ix, slot), flags);
	s = *find_segment(ix, slot);
	if (s) {
		s->ring -= sectors;
		if (!s->released) {
			s->next_released = ix->released;
			ix->released = s;
		}
		s->released += sectors;
	}
	spin_unlock_irqrestore(segment_lock(ix, slot), flags);
}

void log_index_settle(struct log_index *ix)
{
	struct log_segment *s, *next;
	unsigned long flags;

	for (s = ix->released; s; s = next) {
		spinlock_t *lock = segment_lock(ix, s->slot);

		spin_lock_irqsave(lock, flags);
		next = s->next_released;
		s->released = 0;
		spin_unlock_irqrestore(lock, flags);
	}
	ix->released = NULL;
}

/* ---- Blocks ---- */

u32 log_index_bucket(const struct log_index *ix, u64 block)
{
	return hash_64(block, ix->bucket_bits);
}

static spinlock_t *block_lock(struct log_index *ix, u64 block)
{
	return &ix->locks[log_index_bucket(ix, block) % LOG_NR_LOCKS];
}

static struct log_block **find_block(struct log_index *ix, u64 block)
{
	struct log_block **link = &ix->buckets[log_index_bucket(ix, block)];

	lockdep_assert_held(block_lock(ix, block));
	while (*link && (*link)->block != block)
		link = &(*link)->next;
	return link;
}

/* Put @new, which has another class, in the place of *@link. */
static void replace_block(struct log_index *ix, struct log_block **link,
			  struct log_block *new, u8 class)
{
	struct log_block *old = *link;
	unsigned long flags;

	spin_lock_irqsave(&ix->round_lock, flags);
	memcpy(new, old, sizeof(*old) + old->nr * sizeof(old->extents[0]));
	new->class = class;
	INIT_LIST_HEAD(&new->round);
	if (!list_empty(&old->round)) {
		/* Its place, because it may be next. */
		list_add_tail(&new->round, &old->round);
		list_del_init(&old->round);
	}
	spin_unlock_irqrestore(&ix->round_lock, flags);
	*link = new;
	free_block(ix, old);
}

static void init_block(struct log_block *b, u64 block, u8 class)
{
	memset(b, 0, sizeof(*b));
	b->block = block;
	b->class = class;
	INIT_LIST_HEAD(&b->round);
}

/* Room for the block's extents and @more. */
static u32 room_needed(struct log_index *ix, const struct log_block *b, u32 more)
{
	/* The first write to a block meets nobody. */
	if (!b || (!b->nr && !b->reserved && more == WRITE_ROOM))
		return more ? 1 : 0;
	/* A sector is SEEN in one extent at most, and RING in one. */
	return min(b->nr + b->reserved + more, 2 * ix->block_sectors);
}

/* The class that has room for @more extents: the block's own, if it has; or -EFBIG. */
static int class_needed(struct log_index *ix, const struct log_block *b, u32 more)
{
	u32 room = room_needed(ix, b, more);

	if (!b)
		return class_for(room, 0);
	if (b->reserved + more > U16_MAX)
		return -EFBIG;
	return class_for(room, b->class);
}

/* Put the block of *@link, or @block if there is none, into this memory. */
static void move_block(struct log_index *ix, struct log_block **link, u64 block,
		       struct log_block *new, u8 class)
{
	if (*link) {
		replace_block(ix, link, new, class);
		return;
	}
	init_block(new, block, class);
	*link = new;
	atomic64_add(1, &ix->nr_blocks);
}

/*
 * Lock @block, and have it exist with room for @more extents, which are
 * reserved. *@link is where it hangs. On an error nothing is locked.
 */
static int lock_with_room(struct log_index *ix, u64 block, u32 more,
			  bool nowait, bool bounded, struct log_block ***link,
			  unsigned long *flags)
{
	struct log_block *new = NULL;
	int class, have = -1, r;

	for (;;) {
		spin_lock_irqsave(block_lock(ix, block), *flags);
		*link = find_block(ix, block);
		class = class_needed(ix, **link, more);
		r = min(class, 0);
		if (r || (**link && (**link)->class >= class))
			break;
		/* Without sleep, so the lock may be held. */
		if (nowait) {
			have = class;
			new = index_alloc(ix, class_bytes[class], true, bounded, &r);
		}
		if (nowait && !new)
			break;
		if (new && have >= class) {
			move_block(ix, *link, block, new, have);
			new = NULL;
			r = 0;
			break;
		}
		spin_unlock_irqrestore(block_lock(ix, block), *flags);

		if (new)
			index_free(ix, new, class_bytes[have]);
		have = class;
		new = index_alloc(ix, class_bytes[class], false, bounded, &r);
		if (!new)
			return r;
	}
	if (!r)
		(**link)->reserved += more;
	else
		spin_unlock_irqrestore(block_lock(ix, block), *flags);
	if (new)
		index_free(ix, new, class_bytes[have]);
	return r;
}

static bool is_unused(const struct log_block *b)
{
	return !b->nr && !b->reserved && !b->writes && !b->closed;
}

/* Give memory back that the block needs no more: all of it, or a part. */
static void shrink_block(struct log_index *ix, struct log_block **link)
{
	struct log_block *b = *link, *new;
	int class, r;

	if (is_unused(b)) {
		*link = b->next;
		free_block(ix, b);
		atomic64_sub(1, &ix->nr_blocks);
		return;
	}
	class = class_for(room_needed(ix, b, 0), 0);
	if (b->reserved || class >= b->class)
		return;
	new = index_alloc(ix, class_bytes[class], true, false, &r);
	if (new)
		replace_block(ix, link, new, class);
}

/* ---- Extents ---- */

static u32 end_of(const struct log_extent *e)
{
	return e->sector + e->last + 1;
}

/* Does the extent lie where @run has it? */
static bool same_place(const struct log_extent *e, const struct log_run *run)
{
	return e->slot == run->slot &&
	       e->at - e->sector == run->at - run->sector;
}

static bool adjoin(const struct log_extent *a, const struct log_extent *b)
{
	return a->slot == b->slot && end_of(a) == b->sector &&
	       a->at + a->last + 1 == b->at;
}

/* Returns where it is in the block. */
static u32 add_extent(struct log_block *b, struct log_extent e)
{
	u32 i = b->nr;

	if (WARN_ON_ONCE(b->nr >= class_room(b->class)))
		return 0;
	while (i && b->extents[i - 1].sector > e.sector) {
		b->extents[i] = b->extents[i - 1];
		i--;
	}
	b->extents[i] = e;
	b->nr++;
	return i;
}

/* Keep the extents of which keep is set. */
static void drop_extents(struct log_block *b)
{
	u32 i, n = 0;

	for (i = 0; i < b->nr; i++)
		if (b->extents[i].flags & (LOG_SEEN | LOG_RING))
			b->extents[n++] = b->extents[i];
	b->nr = n;
}

/*
 * Split the extent with @flag (and at this place, if there is one) that has the
 * border inside. There is at most one.
 */
static void split_at(struct log_block *b, u32 border, u16 flag,
		     const struct log_run *place)
{
	struct log_extent *e, half;
	u32 i;

	for (i = 0; i < b->nr && b->extents[i].sector < border; i++) {
		e = &b->extents[i];
		if (!(e->flags & flag) || end_of(e) <= border ||
		    (place && !same_place(e, place)))
			continue;
		half = *e;
		half.sector = border;
		half.at += border - e->sector;
		half.last -= border - e->sector;
		e->last = border - e->sector - 1;
		add_extent(b, half);
		return;
	}
}

/* Has any extent with @flag one of these sectors? */
static bool has_flag(const struct log_block *b, const struct log_run *range,
		     u16 flag)
{
	u32 end = range->sector + range->sectors, i;

	for (i = 0; i < b->nr && b->extents[i].sector < end; i++)
		if ((b->extents[i].flags & flag) &&
		    end_of(&b->extents[i]) > range->sector)
			return true;
	return false;
}

/*
 * Take a flag off what a range of sectors has at this place, or at any. Returns
 * false if no extent has changed, as with most writes.
 */
static bool clear_flag(struct log_index *ix, struct log_block *b,
		       const struct log_run *range, u16 flag,
		       const struct log_run *place)
{
	u32 end = range->sector + range->sectors, i;

	if (!has_flag(b, range, flag))
		return false;
	split_at(b, range->sector, flag, place);
	split_at(b, end, flag, place);
	for (i = 0; i < b->nr && b->extents[i].sector < end; i++) {
		struct log_extent *e = &b->extents[i];

		if (!(e->flags & flag) || e->sector < range->sector ||
		    (place && !same_place(e, place)))
			continue;
		if (flag == LOG_SEEN) {
			count_in_segment(ix, e->slot, (struct change) {
				.seen = -(e->last + 1) });
		} else {
			release_in_segment(ix, e->slot, e->last + 1);
			e->flags &= ~LOG_ROUND;
		}
		e->flags &= ~flag;
	}
	drop_extents(b);
	return true;
}

/* May these neighbours be one extent? */
static bool may_join(const struct log_extent *a, const struct log_extent *b)
{
	return a->flags == b->flags && adjoin(a, b);
}

/* Join neighbours of which the one continues the other. */
static void tidy(struct log_block *b)
{
	u32 i, n = 0;

	for (i = 1; i < b->nr; i++) {
		struct log_extent *last = &b->extents[n], *e = &b->extents[i];

		if (may_join(last, e))
			last->last += e->last + 1;
		else if (++n < i)
			b->extents[n] = *e;
	}
	if (b->nr)
		b->nr = n + 1;
}

/* As tidy(), if only extent @i has changed. */
static void tidy_at(struct log_block *b, u32 i)
{
	const struct log_extent *e = &b->extents[i];

	if ((i && may_join(e - 1, e)) || (i + 1 < b->nr && may_join(e, e + 1)))
		tidy(b);
}

/* ---- Runs of the ring ---- */

/* The RING extent after @i, or the block's end. */
static u32 next_in_ring(const struct log_block *b, u32 i)
{
	do {
		i++;
	} while (i < b->nr && !(b->extents[i].flags & LOG_RING));
	return i;
}

static bool same_run(const struct log_extent *a, const struct log_extent *b)
{
	return adjoin(a, b) && (a->flags & LOG_ROUND) == (b->flags & LOG_ROUND);
}

struct runs {
	u32 nr, old;
};

static struct runs count_runs(const struct log_index *ix,
			      const struct log_block *b)
{
	const struct log_extent *before = NULL, *e;
	struct runs runs = { 0 };

	for (e = b->extents; e < b->extents + b->nr; e++) {
		if (!(e->flags & LOG_RING))
			continue;
		if (!before || !same_run(before, e)) {
			runs.nr++;
			runs.old += (e->flags & LOG_ROUND) != ix->parity;
		}
		before = e;
	}
	return runs;
}

/*
 * The block had runs as @before says. The sums change in one step, because
 * log_ring_admits() reads nr_ring meanwhile, and a sum without the block's runs
 * would admit writes for which there is no room.
 */
static void recount_runs(struct log_index *ix, const struct log_block *b,
			 struct runs before)
{
	struct runs now = count_runs(ix, b);

	WRITE_ONCE(ix->nr_ring, ix->nr_ring + now.nr - before.nr);
	ix->nr_old += now.old;
	ix->nr_old -= before.old;
}

/* A block with RING is in the list of the round, others are not. */
static void list_for_round(struct log_index *ix, struct log_block *b)
{
	bool has_ring = next_in_ring(b, -1) < b->nr;
	unsigned long flags;

	spin_lock_irqsave(&ix->round_lock, flags);
	if (has_ring && list_empty(&b->round))
		list_add_tail(&b->round, &ix->round);
	else if (!has_ring && !list_empty(&b->round))
		list_del_init(&b->round);
	spin_unlock_irqrestore(&ix->round_lock, flags);
}

static void ring_changed(struct log_index *ix, struct log_block **link,
			 struct runs before)
{
	tidy(*link);
	recount_runs(ix, *link, before);
	list_for_round(ix, *link);
	shrink_block(ix, link);
}

/* How many of the block's @n runs can leave at a time: room limits it. */
static u32 may_leave(const struct log_index *ix, const struct log_block *b,
		     u32 n)
{
	u32 used = b->nr + b->reserved, left = U16_MAX - b->reserved;

	if (2 * ix->block_sectors > most_room())
		left = min(left, used < most_room() ? most_room() - used : 0);
	return min(n, left / LEAVE_ROOM);
}

/* ---- Writes ---- */

/*
 * May the block take the write for which room was just reserved? Writes that
 * filled it would keep it from ever being emptied.
 */
static int takes_write(const struct log_index *ix, const struct log_block *b)
{
	if (b->closed)
		return -EBUSY;
	return may_leave(ix, b, LEAVE_RUNS) < LEAVE_RUNS ? -EFBIG : 0;
}

struct log_write *log_index_reserve(struct log_index *ix, u64 block, u16 sector,
				    u32 sectors, bool nowait)
{
	struct log_block **link;
	struct log_write *w;
	unsigned long flags;
	int r;

	if (WARN_ON_ONCE(!sectors || sector + sectors > ix->block_sectors))
		return ERR_PTR(-EINVAL);
	w = index_alloc(ix, sizeof(*w), nowait, true, &r);
	if (!w)
		return ERR_PTR(r);
	w->run = (struct log_run) {
		.block = block, .slot = LOG_NO_SLOT,
		.sector = sector, .sectors = sectors,
	};
	w->keep = LOG_KEEP_NOT;
	r = lock_with_room(ix, block, WRITE_ROOM, nowait, true, &link, &flags);
	if (r)
		goto bad;
	r = takes_write(ix, *link);
	if (r) {
		(*link)->reserved -= WRITE_ROOM;
		shrink_block(ix, link);
	} else {
		(*link)->writes++;
		atomic64_add(1, &ix->nr_unlogged);
	}
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	if (!r)
		return w;
bad:
	free_write(ix, w);
	return ERR_PTR(r);
}

void log_write_place(struct log_index *ix, struct log_write *w, u32 slot,
		     u16 at)
{
	w->run.slot = slot;
	w->run.at = at;
	count_in_segment(ix, slot, (struct change) { .writes = 1 });
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

/* List the write, or lengthen the last one: then return true. */
static bool list_unlogged(struct log_index *ix, struct log_write *w)
{
	struct log_write *longer;
	unsigned long flags;

	spin_lock_irqsave(&ix->unlogged_lock, flags);
	longer = lengthened_by(ix, &w->run);
	if (longer) {
		longer->run.sectors += w->run.sectors;
	} else {
		w->next = NULL;
		if (ix->newest)
			ix->newest->next = w;
		else
			ix->unlogged = w;
		ix->newest = w;
	}
	spin_unlock_irqrestore(&ix->unlogged_lock, flags);
	return longer;
}

void log_index_seen(struct log_index *ix, struct log_write *w)
{
	const struct log_run run = w->run;
	const enum log_keep keep = w->keep;
	bool lengthens, superseded;
	struct log_block *b;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(block_lock(ix, run.block), flags);
	b = *find_block(ix, run.block);
	b->writes--;
	b->kept = max_t(u8, b->kept, keep);
	count_in_segment(ix, run.slot, (struct change) {
		.writes = -1, .unlogged = run.sectors, .seen = run.sectors });
	/*
	 * Listed before a reader can find it (W8); both under the lock, so that
	 * the list has the order of being seen. The write is the ring's then.
	 */
	lengthens = list_unlogged(ix, w);
	if (lengthens)
		b->reserved -= WRITE_ROOM;
	superseded = clear_flag(ix, b, &run, LOG_SEEN, NULL);
	i = add_extent(b, (struct log_extent) {
		.slot = run.slot, .sector = run.sector, .last = run.sectors - 1,
		.at = run.at, .flags = LOG_SEEN });
	if (superseded)
		tidy(b);
	else
		tidy_at(b, i);
	spin_unlock_irqrestore(block_lock(ix, run.block), flags);
	if (lengthens) {
		atomic64_sub(1, &ix->nr_unlogged);
		free_write(ix, w);
	}
}

void log_index_cancel(struct log_index *ix, struct log_write *w)
{
	struct log_block **link;
	unsigned long flags;

	if (w->run.slot != LOG_NO_SLOT)
		count_in_segment(ix, w->run.slot, (struct change) {
			.writes = -1 });
	spin_lock_irqsave(block_lock(ix, w->run.block), flags);
	link = find_block(ix, w->run.block);
	(*link)->writes--;
	(*link)->reserved -= WRITE_ROOM;
	shrink_block(ix, link);
	spin_unlock_irqrestore(block_lock(ix, w->run.block), flags);
	atomic64_sub(1, &ix->nr_unlogged);
	free_write(ix, w);
}

/* ---- Readers ---- */

static void set_run(struct log_run *run, u64 block, const struct log_extent *e)
{
	*run = (struct log_run) {
		.block = block, .slot = e->slot, .sector = e->sector,
		.sectors = e->last + 1, .at = e->at,
	};
}

/* Lengthen @run by @e if it goes on there. */
static bool extend_run(struct log_run *run, const struct log_extent *e)
{
	if (e->slot != run->slot || e->sector != run->sector + run->sectors ||
	    e->at != run->at + run->sectors)
		return false;
	run->sectors += e->last + 1;
	return true;
}

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
	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	for (i = 0; b && i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		if (!(e->flags & LOG_SEEN) || end_of(e) <= sector)
			continue;
		if (e->sector >= end)
			break;
		if (found && extend_run(run, e))
			continue;
		if (found)
			break;
		if (e->sector > sector) {
			run->sectors = e->sector - sector;
			break;
		}
		set_run(run, block, e);
		found = true;
	}
	if (found) {
		/* Clip what lies outside the range. */
		run->sectors = min(end, run->sector + run->sectors) - sector;
		run->at += sector - run->sector;
		run->sector = sector;
		/* Before the lock is let go: then the segment stays (W6). */
		ix->ops->pin(ix->ctx, run->slot);
	}
	spin_unlock_irqrestore(block_lock(ix, block), flags);
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

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	has = b && (b->writes || has_seen(b));
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return has;
}

/* ---- Going home, and into the cache ---- */

/* The runs of SEEN extents; returns how many, of which @runs gets @max. */
static u32 seen_runs(const struct log_block *b, struct log_run *runs, u32 max)
{
	struct log_run run = { .slot = LOG_NO_SLOT };
	u32 i, n = 0;

	for (i = 0; i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		if (!(e->flags & LOG_SEEN) || extend_run(&run, e))
			continue;
		if (run.slot != LOG_NO_SLOT && n++ < max)
			runs[n - 1] = run;
		set_run(&run, b->block, e);
	}
	if (run.slot != LOG_NO_SLOT && n++ < max)
		runs[n - 1] = run;
	return n;
}

/* Pin the first @n of the runs that readers find; how many there are. */
static u32 collect_and_pin(struct log_index *ix, const struct log_block *b,
			   struct log_run *runs, u32 n)
{
	u32 i;

	n = min(n, seen_runs(b, runs, n));
	for (i = 0; i < n; i++)
		ix->ops->pin(ix->ctx, runs[i].slot);
	return n;
}

/* How many runs can leave, at most @max; -EFBIG if it has runs and none can. */
static int count_to_leave(struct log_index *ix, u64 block, u32 max)
{
	const struct log_block *b;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	if (b && has_seen(b)) {
		n = may_leave(ix, b, min(max, seen_runs(b, NULL, 0)));
		n = n ? n : -EFBIG;
	}
	spin_unlock_irqrestore(block_lock(ix, block), flags);
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
	r = lock_with_room(ix, block, room * LEAVE_ROOM, false, false, &link,
			   &flags);
	if (r)
		return r;
	/* There may be fewer runs by now. */
	n = collect_and_pin(ix, *link, runs, room);
	for (i = 0; i < n; i++)
		count_in_segment(ix, runs[i].slot, (struct change) {
			.leaving = 1 });
	(*link)->reserved -= (room - n) * LEAVE_ROOM;
	shrink_block(ix, link);
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return n;
}

static int collect_all(struct log_index *ix, u64 block, struct log_run *runs,
		       u32 max)
{
	const struct log_block *b;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	if (b && seen_runs(b, NULL, 0) > max)
		n = -E2BIG;
	else if (b)
		n = collect_and_pin(ix, b, runs, max);
	spin_unlock_irqrestore(block_lock(ix, block), flags);
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

	r = lock_with_room(ix, block, 0, false, true, &link, &flags);
	if (r)
		return r;
	(*link)->closed++;
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return 0;
}

void log_index_open(struct log_index *ix, u64 block)
{
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(block_lock(ix, block), flags);
	link = find_block(ix, block);
	(*link)->closed--;
	shrink_block(ix, link);
	spin_unlock_irqrestore(block_lock(ix, block), flags);
}

u32 log_index_writes(struct log_index *ix, u64 block)
{
	const struct log_block *b;
	unsigned long flags;
	u32 writes;

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	writes = b ? b->writes : 0;
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return writes;
}

bool log_index_keep(struct log_index *ix, u64 block, enum log_keep keep)
{
	struct log_block *b;
	unsigned long flags;

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	if (b)
		b->kept = keep ? max_t(u8, b->kept, keep) : keep;
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return b;
}

enum log_keep log_index_kept(struct log_index *ix, u64 block)
{
	enum log_keep kept;
	const struct log_block *b;
	unsigned long flags;

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	kept = b && has_seen(b) ? b->kept : LOG_KEEP_NOT;
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return kept;
}

bool log_index_covers(struct log_index *ix, u64 block)
{
	const struct log_block *b;
	unsigned long flags;
	u32 sectors = 0, i;

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	for (i = 0; b && i < b->nr; i++)
		if (b->extents[i].flags & LOG_SEEN)
			sectors += b->extents[i].last + 1;
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return sectors == ix->block_sectors;
}

void log_index_leave(struct log_index *ix, const struct log_run *run)
{
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(block_lock(ix, run->block), flags);
	link = find_block(ix, run->block);
	clear_flag(ix, *link, run, LOG_SEEN, run);
	(*link)->reserved -= LEAVE_ROOM;
	count_in_segment(ix, run->slot, (struct change) { .leaving = -1 });
	tidy(*link);
	shrink_block(ix, link);
	spin_unlock_irqrestore(block_lock(ix, run->block), flags);
}

void log_index_stay(struct log_index *ix, const struct log_run *run)
{
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(block_lock(ix, run->block), flags);
	link = find_block(ix, run->block);
	(*link)->reserved -= LEAVE_ROOM;
	count_in_segment(ix, run->slot, (struct change) { .leaving = -1 });
	shrink_block(ix, link);
	spin_unlock_irqrestore(block_lock(ix, run->block), flags);
}

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

/* The extent that is this run and nothing else, if readers find it. */
static struct log_extent *find_seen(struct log_block *b,
				    const struct log_run *run)
{
	u32 i;

	for (i = 0; i < b->nr && b->extents[i].sector <= run->sector; i++) {
		struct log_extent *e = &b->extents[i];

		if ((e->flags & LOG_SEEN) && e->sector == run->sector &&
		    end_of(e) == run->sector + run->sectors && same_place(e, run))
			return e;
	}
	return NULL;
}

/* Set RING on the run's sectors, which have no RING. */
static void set_ring(struct log_index *ix, struct log_block *b,
		     const struct log_run *run)
{
	u32 end = run->sector + run->sectors, next = run->sector, i;

	/* Extents that readers find come first. */
	split_at(b, run->sector, LOG_SEEN, run);
	split_at(b, end, LOG_SEEN, run);
	for (i = 0; i < b->nr; i++) {
		struct log_extent *e = &b->extents[i], gap;

		if (!(e->flags & LOG_SEEN) || !same_place(e, run) ||
		    e->sector < run->sector || e->sector >= end)
			continue;
		e->flags |= LOG_RING | ix->parity;
		if (e->sector == next) {
			next = end_of(e);
			continue;
		}
		/* The gap was superseded meanwhile, so it is in the ring only. */
		gap = *e;
		gap.sector = next;
		gap.at = run->at + next - run->sector;
		gap.last = e->sector - next - 1;
		gap.flags = LOG_RING | ix->parity;
		next = end_of(e);
		add_extent(b, gap);
		i++;
	}
	if (next < end)
		add_extent(b, (struct log_extent) {
			.slot = run->slot, .sector = next,
			.last = end - next - 1,
			.at = run->at + next - run->sector,
			.flags = LOG_RING | ix->parity });
}

/*
 * The same for one extent, whose sectors have no RING. Runs on either side of it were
 * two, and may be one with it now. It is of this round.
 */
static void set_ring_of(struct log_index *ix, struct log_block *b,
			struct log_extent *e)
{
	u32 i = e - b->extents, before = i, next = next_in_ring(b, i), joins = 0;

	e->flags |= LOG_RING | ix->parity;
	while (before && !(b->extents[before - 1].flags & LOG_RING))
		before--;
	if (before)
		joins += same_run(&b->extents[before - 1], e);
	if (next < b->nr)
		joins += same_run(e, &b->extents[next]);
	WRITE_ONCE(ix->nr_ring, ix->nr_ring + 1 - joins);
	tidy_at(b, i);
}

void log_index_put(struct log_index *ix, struct log_write *w)
{
	const struct log_run run = w->run;
	struct log_extent *seen;
	struct log_block **link;
	unsigned long flags;
	struct runs before;

	spin_lock_irqsave(block_lock(ix, run.block), flags);
	link = find_block(ix, run.block);
	(*link)->reserved -= WRITE_ROOM;
	count_in_segment(ix, run.slot, (struct change) {
		.unlogged = -run.sectors, .ring = run.sectors });
	seen = find_seen(*link, &run);
	if (seen && !has_flag(*link, &run, LOG_RING)) {
		set_ring_of(ix, *link, seen);
		list_for_round(ix, *link);
		shrink_block(ix, link);
	} else {
		before = count_runs(ix, *link);
		clear_flag(ix, *link, &run, LOG_RING, NULL);
		set_ring(ix, *link, &run);
		ring_changed(ix, link, before);
	}
	spin_unlock_irqrestore(block_lock(ix, run.block), flags);
	atomic64_sub(1, &ix->nr_unlogged);
	free_write(ix, w);
}

void log_index_put_gone(struct log_index *ix, const struct log_run *run)
{
	const struct log_run *place = log_keeps(GONE_OF_PLACE) ? run : NULL;
	struct log_block **link;
	unsigned long flags;
	struct runs before;

	spin_lock_irqsave(block_lock(ix, run->block), flags);
	link = find_block(ix, run->block);
	before = count_runs(ix, *link);
	clear_flag(ix, *link, run, LOG_RING, place);
	ring_changed(ix, link, before);
	spin_unlock_irqrestore(block_lock(ix, run->block), flags);
}

void log_index_forget(struct log_index *ix, struct log_write *w)
{
	free_write(ix, w);
}

void log_index_begin_round(struct log_index *ix)
{
	WARN_ON_ONCE(ix->nr_old);
	ix->parity ^= LOG_ROUND;
	ix->nr_old = ix->nr_ring;
}

/* The block to look at next; it goes to the end of the list if @done. */
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

/* The first run that is to be repeated; it counts as recorded. */
static bool repeat_in_block(struct log_index *ix, struct log_block *b,
			    struct log_run *run)
{
	struct runs before = count_runs(ix, b);
	bool found = false, seen = false;
	u32 i;

	for (i = next_in_ring(b, -1); i < b->nr; i = next_in_ring(b, i)) {
		struct log_extent *e = &b->extents[i];

		if ((e->flags & LOG_ROUND) == ix->parity) {
			if (found)
				break;
			continue;
		}
		if (!found)
			set_run(run, b->block, e);
		else if (!extend_run(run, e))
			break;
		found = true;
		seen |= e->flags & LOG_SEEN;
		e->flags ^= LOG_ROUND;
	}
	if (found)
		tidy(b);
	recount_runs(ix, b, before);
	return found && (seen || log_keeps(ROUND_OF_RING));
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
		spin_lock_irqsave(block_lock(ix, block), flags);
		b = *find_block(ix, block);
		found = b && repeat_in_block(ix, b, run);
		spin_unlock_irqrestore(block_lock(ix, block), flags);
		done = true;
	}
	return found;
}

/* ---- Recovery ---- */

int log_index_replay_valid(struct log_index *ix, const struct log_run *run)
{
	struct log_block **link;
	unsigned long flags;
	struct runs before;
	int r;

	r = open_segment(ix, run->slot, false, false);
	if (r && r != -EEXIST)
		return r;
	r = lock_with_room(ix, run->block, REPLAY_ROOM, false, false, &link,
			   &flags);
	if (r)
		return r;
	(*link)->reserved -= REPLAY_ROOM;
	before = count_runs(ix, *link);
	clear_flag(ix, *link, run, LOG_SEEN, NULL);
	clear_flag(ix, *link, run, LOG_RING, NULL);
	add_extent(*link, (struct log_extent) {
		.slot = run->slot, .sector = run->sector,
		.last = run->sectors - 1, .at = run->at,
		.flags = LOG_SEEN | LOG_RING | ix->parity });
	count_in_segment(ix, run->slot, (struct change) {
		.seen = run->sectors, .ring = run->sectors });
	tidy(*link);
	recount_runs(ix, *link, before);
	list_for_round(ix, *link);
	spin_unlock_irqrestore(block_lock(ix, run->block), flags);
	return 0;
}

int log_index_replay_gone(struct log_index *ix, const struct log_run *run)
{
	const struct log_run *place = log_keeps(GONE_OF_PLACE) ? run : NULL;
	struct log_block **link;
	unsigned long flags;
	struct runs before;
	int r;

	r = lock_with_room(ix, run->block, LEAVE_ROOM, false, false, &link,
			   &flags);
	if (r)
		return r;
	(*link)->reserved -= LEAVE_ROOM;
	before = count_runs(ix, *link);
	clear_flag(ix, *link, run, LOG_SEEN, place);
	clear_flag(ix, *link, run, LOG_RING, place);
	ring_changed(ix, link, before);
	spin_unlock_irqrestore(block_lock(ix, run->block), flags);
	return r;
}

u32 log_index_in_place(struct log_index *ix, u64 block, u32 slot)
{
	const struct log_block *b;
	unsigned long flags;
	u32 sectors = 0, i;

	spin_lock_irqsave(block_lock(ix, block), flags);
	b = *find_block(ix, block);
	for (i = 0; b && i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		if (e->flags & LOG_SEEN && e->slot == slot && e->at == e->sector)
			sectors += e->last + 1;
	}
	spin_unlock_irqrestore(block_lock(ix, block), flags);
	return sectors;
}

void log_index_replayed(struct log_index *ix)
{
	struct log_block **link;
	unsigned long flags;
	u32 i;

	for (i = 0; i < 1U << ix->bucket_bits; i++) {
		spinlock_t *lock = &ix->locks[i % LOG_NR_LOCKS];

		spin_lock_irqsave(lock, flags);
		for (link = &ix->buckets[i]; *link;) {
			u64 block = (*link)->block;

			shrink_block(ix, link);
			if (*link && (*link)->block == block)
				link = &(*link)->next;
		}
		spin_unlock_irqrestore(lock, flags);
	}
	log_index_settle(ix);
}

static int visit_bucket(struct log_index *ix,
			int (*fn)(void *ctx, const struct log_run *run),
			void *ctx, u32 bucket)
{
	spinlock_t *lock = &ix->locks[bucket % LOG_NR_LOCKS];
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
			set_run(&run, b->block, &b->extents[k]);
			r = fn(ctx, &run);
		}
	spin_unlock_irqrestore(lock, flags);
	return r;
}

int log_index_visit_from(struct log_index *ix,
			 int (*fn)(void *ctx, const struct log_run *run),
			 void *ctx, u32 first)
{
	u32 nr = 1U << ix->bucket_bits, i;
	int r = 0;

	for (i = 0; i < nr && !r; i++)
		r = visit_bucket(ix, fn, ctx, (first + i) & (nr - 1));
	return r;
}

int log_index_for_each(struct log_index *ix,
		       int (*fn)(void *ctx, const struct log_run *run),
		       void *ctx)
{
	return log_index_visit_from(ix, fn, ctx, 0);
}

#ifndef __KERNEL__
/* ---- For tests: one thread ---- */

static void check_block(struct log_index *ix, const struct log_block *b)
{
	u32 seen_end = 0, ring_end = 0, i;

	WARN_ON_ONCE(is_unused(b));
	WARN_ON_ONCE(b->nr > class_room(b->class));
	WARN_ON_ONCE((next_in_ring(b, -1) < b->nr) == list_empty(&b->round));
	for (i = 0; i < b->nr; i++) {
		const struct log_extent *e = &b->extents[i];

		WARN_ON_ONCE(!(e->flags & (LOG_SEEN | LOG_RING)));
		WARN_ON_ONCE(!(e->flags & LOG_RING) && e->flags & LOG_ROUND);
		WARN_ON_ONCE(i && e->sector < e[-1].sector);
		WARN_ON_ONCE(end_of(e) > ix->block_sectors);
		WARN_ON_ONCE(!log_segment_get(ix, e->slot,
					      &(struct log_segment) { 0 }));
		if (e->flags & LOG_SEEN) {
			WARN_ON_ONCE(e->sector < seen_end);
			seen_end = end_of(e);
		}
		if (e->flags & LOG_RING) {
			WARN_ON_ONCE(e->sector < ring_end);
			ring_end = end_of(e);
		}
	}
}

static void check_segment(struct log_index *ix, const struct log_segment *s)
{
	u32 seen = 0, ring = 0, i, k;
	const struct log_block *b;

	for (i = 0; i < 1U << ix->bucket_bits; i++)
		for (b = ix->buckets[i]; b; b = b->next)
			for (k = 0; k < b->nr; k++) {
				const struct log_extent *e = &b->extents[k];

				if (e->slot != s->slot)
					continue;
				seen += e->flags & LOG_SEEN ? e->last + 1 : 0;
				ring += e->flags & LOG_RING ? e->last + 1 : 0;
			}
	WARN_ON_ONCE(seen != s->seen || ring != s->ring);
}

void log_index_check(struct log_index *ix)
{
	u64 nr_ring = 0, nr_old = 0, blocks = 0;
	const struct log_segment *s;
	struct log_block *b;
	unsigned long flags;
	struct runs runs;
	u32 i;

	for (i = 0; i < 1U << ix->bucket_bits; i++)
		for (b = ix->buckets[i]; b; b = b->next) {
			spin_lock_irqsave(block_lock(ix, b->block), flags);
			check_block(ix, b);
			runs = count_runs(ix, b);
			spin_unlock_irqrestore(block_lock(ix, b->block), flags);
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
