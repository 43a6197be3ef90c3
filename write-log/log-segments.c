// SPDX-License-Identifier: GPL-2.0-only
/*
 * The segments of the write log's index: what is in use in each slot that the log
 * has. It owns log_index::segments and their locks, and knows no blocks or extents.
 */
#include "log-index-internal.h"

static u32 segment_bucket(const struct log_index *ix, u32 slot)
{
	return hash_64(slot, ix->segment_bits);
}

static spinlock_t *bucket_lock(struct log_index *ix, u32 bucket)
{
	return &ix->segment_locks[bucket % LOG_NR_SEGMENT_LOCKS];
}

static spinlock_t *segment_lock(struct log_index *ix, u32 slot)
{
	return bucket_lock(ix, segment_bucket(ix, slot));
}

static struct log_segment **find_in_bucket(struct log_index *ix, u32 bucket, u32 slot)
{
	struct log_segment **link = &ix->segments[bucket];

	lockdep_assert_held(bucket_lock(ix, bucket));
	while (*link && (*link)->slot != slot)
		link = &(*link)->next;
	return link;
}

static struct log_segment **find_segment(struct log_index *ix, u32 slot)
{
	return find_in_bucket(ix, segment_bucket(ix, slot), slot);
}

int log_open_segment(struct log_index *ix, u32 slot, bool nowait,
		     bool bounded)
{
	struct log_segment *s, **link;
	unsigned long flags;
	int r;

	s = log_index_alloc(ix, sizeof(*s), nowait, bounded, &r);
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
		log_index_free(ix, s, sizeof(*s));
	return r;
}

int log_segment_open(struct log_index *ix, u32 slot, bool nowait)
{
	return log_open_segment(ix, slot, nowait, true);
}

void log_segment_hold(struct log_index *ix, u32 slot)
{
	log_count_in_segment(ix, slot, (struct log_change) { .held = 1 });
}

void log_segment_let_go(struct log_index *ix, u32 slot, u32 sectors)
{
	log_count_in_segment(ix, slot, (struct log_change) {
		.held = -1, .seen = sectors, .ring = sectors });
}

/*
 * Sectors that the ring relies on, or has yet to record.  Both are one count, because then the
 * ring's writer need not take a segment's lock for each write.  Only the tests tell them apart,
 * which break one rule at a time.
 */
static u32 needed_by_ring(const struct log_segment *s)
{
	if (!log_keeps(W6_UNLOGGED))
		return s->ring - s->unlogged;
	return log_keeps(W6_RING) ? s->ring : s->unlogged;
}

/* W6: nobody reads the segment, and no recovery would. */
static bool segment_is_idle(struct log_index *ix, const struct log_segment *s,
			    bool mapped)
{
	if (s->held || s->seen)
		return false;
	if (needed_by_ring(s))
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
		log_index_free(ix, s, sizeof(*s));
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

	return log_segment_get(ix, slot, &s) && !s.held && !s.ring;
}

static void count_locked(struct log_index *ix, u32 bucket, u32 slot, struct log_change c)
{
	struct log_segment *s = *find_in_bucket(ix, bucket, slot);

	/* A mutant of the tests may have given the segment back. */
	if (!s)
		return;
	s->seen += c.seen;
	s->ring += c.ring;
	if (LOG_RULES_CAN_BREAK)
		s->unlogged += c.unlogged;
	s->held += c.held;
	s->leaving += c.leaving;
}

void log_count_in_segment(struct log_index *ix, u32 slot, struct log_change c)
{
	u32 bucket = segment_bucket(ix, slot);
	unsigned long flags;

	spin_lock_irqsave(bucket_lock(ix, bucket), flags);
	count_locked(ix, bucket, slot, c);
	spin_unlock_irqrestore(bucket_lock(ix, bucket), flags);
}

void log_count_under_block(struct log_index *ix, u32 slot, struct log_change c)
{
	u32 bucket = segment_bucket(ix, slot);

	spin_lock(bucket_lock(ix, bucket));
	count_locked(ix, bucket, slot, c);
	spin_unlock(bucket_lock(ix, bucket));
}

void log_release_in_segment(struct log_index *ix, u32 slot, u32 sectors)
{
	struct log_segment *s;

	spin_lock(segment_lock(ix, slot));
	s = *find_segment(ix, slot);
	if (s) {
		s->ring -= sectors;
		if (!s->released) {
			s->next_released = ix->released;
			ix->released = s;
		}
		s->released += sectors;
	}
	spin_unlock(segment_lock(ix, slot));
}

void log_index_settle(struct log_index *ix)
{
	struct log_segment *s, *next;
	unsigned long flags;

	log_writes_free(ix);
	for (s = ix->released; s; s = next) {
		spinlock_t *lock = segment_lock(ix, s->slot);

		spin_lock_irqsave(lock, flags);
		next = s->next_released;
		s->released = 0;
		spin_unlock_irqrestore(lock, flags);
	}
	ix->released = NULL;
}
