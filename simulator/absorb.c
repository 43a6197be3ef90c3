// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log of a simulated cache; see absorb.h. An extent is not kept as
 * such: each sector of a block knows the segment that has its newest data.
 */
#include "absorb.h"

#define NONE		U32_MAX

/* A batch is the oldest eighth of the segments, so that the rest stays. */
#define BATCHES		8

struct segment {
	u64 lent;		/* higher is later; 0 is not lent */
	u32 slot;
	u32 used, live;		/* sectors */
	u32 *ids;		/* of the blocks that were written here */
	u32 nr_ids;
};

struct block {
	struct absorbed left;	/* all but first, end and whole */
	u32 covered;
	u32 segment_of[];	/* of a sector */
};

struct absorb {
	const struct accesses *accesses;
	u32 most;
	struct segment *segments;
	u32 *unused, nr_unused;	/* segments */
	u32 *idle, nr_idle;	/* segments in which nothing is live */
	u32 open;		/* NONE before the first */
	u64 lent;
	struct block **blocks;	/* of an id; NULL if it has no extents */
	struct absorbed *batch;
	u32 nr_batch, batch_room;
};

static void *allocate(size_t nr, size_t size)
{
	void *p = calloc(max_t(size_t, nr, 1), size);

	if (!p)
		abort();
	return p;
}

struct absorb *absorb_create(const struct accesses *accesses, u32 most)
{
	struct absorb *log = allocate(1, sizeof(*log));
	u32 i;

	log->accesses = accesses;
	log->most = most;
	log->segments = allocate(most, sizeof(*log->segments));
	log->unused = allocate(most, sizeof(*log->unused));
	log->idle = allocate(most, sizeof(*log->idle));
	log->blocks = allocate(accesses->nr_blocks, sizeof(*log->blocks));
	log->open = NONE;
	for (i = 0; i < most; i++)
		log->unused[log->nr_unused++] = i;
	return log;
}

void absorb_destroy(struct absorb *log)
{
	u32 i;

	if (!log)
		return;
	for (i = 0; i < log->most; i++)
		free(log->segments[i].ids);
	for (i = 0; i < log->accesses->nr_blocks; i++)
		free(log->blocks[i]);
	free(log->segments);
	free(log->unused);
	free(log->idle);
	free(log->blocks);
	free(log->batch);
	free(log);
}

/* ---- Looking things up ---- */

/* A request that begins within a sector may touch one sector more than it is long. */
static u32 end_of(const struct absorb *log, const struct access *a)
{
	return min(a->first + a->sectors, log->accesses->block_sectors);
}

bool absorb_has(const struct absorb *log, u32 id)
{
	return log->blocks[id];
}

bool absorb_keeps(const struct absorb *log, u32 id)
{
	return log->blocks[id] && log->blocks[id]->left.keep;
}

bool absorb_covers(const struct absorb *log, const struct access *a)
{
	const struct block *b = log->blocks[a->id];
	u32 i;

	for (i = a->first; b && i < end_of(log, a); i++)
		if (b->segment_of[i] == NONE)
			return false;
	return b;
}

bool absorb_fits(const struct absorb *log, const struct access *a)
{
	return log->open != NONE &&
	       log->segments[log->open].used + a->sectors <=
	       log->accesses->block_sectors;
}

bool absorb_is_full(const struct absorb *log)
{
	return !log->nr_unused;
}

/* ---- Segments ---- */

static void becomes_idle(struct absorb *log, u32 segment)
{
	log->idle[log->nr_idle++] = segment;
}

static void close_segment(struct absorb *log)
{
	u32 segment = log->open;

	log->open = NONE;
	if (segment != NONE && !log->segments[segment].live)
		becomes_idle(log, segment);
}

void absorb_lend(struct absorb *log, u32 slot)
{
	struct segment *s;

	close_segment(log);
	log->open = log->unused[--log->nr_unused];
	s = &log->segments[log->open];
	s->lent = ++log->lent;
	s->slot = slot;
	s->used = s->live = s->nr_ids = 0;
	if (!s->ids)
		s->ids = allocate(log->accesses->block_sectors, sizeof(*s->ids));
}

bool absorb_take_back(struct absorb *log, u32 *slot)
{
	u32 segment;

	if (!log->nr_idle)
		return false;
	segment = log->idle[--log->nr_idle];
	*slot = log->segments[segment].slot;
	log->segments[segment].lent = 0;
	log->unused[log->nr_unused++] = segment;
	return true;
}

/* ---- Sectors ---- */

static void supersede(struct absorb *log, struct block *b, u32 sector)
{
	u32 segment = b->segment_of[sector];

	if (segment == NONE)
		return;
	b->segment_of[sector] = NONE;
	b->covered--;
	if (!--log->segments[segment].live && segment != log->open)
		becomes_idle(log, segment);
}

static struct block *block_make(struct absorb *log, const struct access *a)
{
	u32 nr = log->accesses->block_sectors;
	struct block *b = allocate(1, sizeof(*b) + nr * sizeof(*b->segment_of));

	memset(b->segment_of, 0xff, nr * sizeof(*b->segment_of));
	b->left.id = a->id;
	b->left.source = a->source;
	log->blocks[a->id] = b;
	return b;
}

void absorb_write(struct absorb *log, const struct access *a)
{
	struct segment *s = &log->segments[log->open];
	struct block *b = log->blocks[a->id] ?: block_make(log, a);
	u32 i;

	for (i = a->first; i < end_of(log, a); i++) {
		supersede(log, b, i);
		b->segment_of[i] = log->open;
		b->covered++;
		s->live++;
	}
	s->used += a->sectors;
	s->ids[s->nr_ids++] = a->id;
}

void absorb_keep(struct absorb *log, u32 id, u8 why)
{
	log->blocks[id]->left.keep = true;
	log->blocks[id]->left.why = why;
}

void absorb_remove(struct absorb *log, u32 id, struct absorbed *left)
{
	u32 nr = log->accesses->block_sectors, i;
	struct block *b = log->blocks[id];

	*left = b->left;
	left->whole = b->covered == nr;
	left->first = nr;
	left->end = 0;
	for (i = 0; i < nr; i++) {
		if (b->segment_of[i] == NONE)
			continue;
		left->first = min(left->first, i);
		left->end = i + 1;
		supersede(log, b, i);
	}
	log->blocks[id] = NULL;
	free(b);
}

/* ---- Batches ---- */

/* The comparisons of qsort() look at this, because qsort() passes them no argument. */
static const struct absorb *sorted;

static int by_age(const void *a, const void *b)
{
	u64 x = sorted->segments[*(const u32 *)a].lent;
	u64 y = sorted->segments[*(const u32 *)b].lent;

	return x < y ? -1 : x > y;
}

static int by_place(const void *a, const void *b)
{
	u64 x = sorted->accesses->blocks[((const struct absorbed *)a)->id];
	u64 y = sorted->accesses->blocks[((const struct absorbed *)b)->id];

	return x < y ? -1 : x > y;
}

static bool lies_in(const struct absorb *log, u32 id, u32 segment)
{
	const struct block *b = log->blocks[id];
	u32 i;

	for (i = 0; b && i < log->accesses->block_sectors; i++)
		if (b->segment_of[i] == segment)
			return true;
	return false;
}

static void batch_add(struct absorb *log, u32 id)
{
	if (log->nr_batch == log->batch_room) {
		log->batch_room = 2 * log->batch_room + 64;
		log->batch = realloc(log->batch, log->batch_room *
						 sizeof(*log->batch));
		if (!log->batch)
			abort();
	}
	absorb_remove(log, id, &log->batch[log->nr_batch++]);
}

static void batch_add_segment(struct absorb *log, u32 segment)
{
	const struct segment *s = &log->segments[segment];
	u32 i;

	for (i = 0; i < s->nr_ids; i++)
		if (lies_in(log, s->ids[i], segment))
			batch_add(log, s->ids[i]);
}

const struct absorbed *absorb_oldest(struct absorb *log, u32 *nr, bool all)
{
	u32 *order = allocate(log->most, sizeof(*order));
	u32 lent = 0, i;

	close_segment(log);
	for (i = 0; i < log->most; i++)
		if (log->segments[i].lent)
			order[lent++] = i;
	sorted = log;
	qsort(order, lent, sizeof(*order), by_age);
	log->nr_batch = 0;
	for (i = 0; i < (all ? lent : DIV_ROUND_UP(lent, BATCHES)); i++)
		batch_add_segment(log, order[i]);
	free(order);
	if (log->nr_batch)
		qsort(log->batch, log->nr_batch, sizeof(*log->batch), by_place);
	*nr = log->nr_batch;
	return log->batch;
}
