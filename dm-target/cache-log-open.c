// SPDX-License-Identifier: GPL-2.0-only
/*
 * The segments of the write log that are open, and which of them takes a write.
 *
 * The log goes home in the origin's order, and a segment is free only when all of it has
 * left.  So each open segment takes the writes of one share of the origin: then it is
 * free when going home has passed that share, and not at the end of the whole sweep.
 * The shares follow the last writes.
 *
 * It owns log.room.shares.  It must not know where segments come from, nor when one
 * is free.
 */
#include "cache-bio.h"
#include "cache-log-open.h"
#include "cache-log.h"

#include <linux/sort.h>

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	if (x == y)
		return 0;
	return x < y ? -1 : 1;
}

void cache_log_sort_blocks(u64 *blocks, u32 nr)
{
	u32 i = 1;

	/* The blocks of a stream are in order, and sort() would take no less time for that. */
	while (i < nr && blocks[i - 1] <= blocks[i])
		i++;
	if (i >= nr)
		return;
	sort(blocks, nr, sizeof(*blocks), by_number, NULL);
}

static struct log_open *open_for_locked(struct cache_log *log, u64 block)
{
	struct log_open *open = log->room.shares.open;
	u32 low = 0, high = log->room.shares.nr;

	lockdep_assert_held(&log->room.lock);
	while (high - low > 1) {
		u32 middle = (low + high) / 2;

		if (open[middle].first > block)
			high = middle;
		else
			low = middle;
	}
	return &open[low];
}

/*
 * Has each share an eighth of its part of the samples, and none of them four times its part?
 * The parts differ by chance, because the shares were chosen by as few samples.
 */
static bool is_even_locked(struct cache_log *log)
{
	struct cache_log_shares *shares = &log->room.shares;
	u32 fair = LOG_NR_SAMPLED / shares->nr, nr[LOG_NR_OPEN] = { 0 }, i;

	lockdep_assert_held(&log->room.lock);
	for (i = 0; i < LOG_NR_SAMPLED; i++)
		nr[open_for_locked(log, shares->sampled[i]) - shares->open]++;
	for (i = 0; i < shares->nr; i++)
		if (nr[i] < fair / 8 || nr[i] >= 4 * fair)
			return false;
	return true;
}

/* Choose the shares anew: each had as many of the last appends as any other. */
static void choose_shares_locked(struct cache_log *log)
{
	struct cache_log_shares *shares = &log->room.shares;
	u32 i;

	lockdep_assert_held(&log->room.lock);
	cache_log_sort_blocks(shares->sampled, LOG_NR_SAMPLED);
	for (i = 1; i < shares->nr; i++)
		shares->open[i].first = shares->sampled[i * LOG_NR_SAMPLED / shares->nr];
}

/* Not inline, because then each append would have to save the registers that it needs. */
static noinline void sample_locked(struct cache_log *log, u64 block)
{
	struct cache_log_shares *shares = &log->room.shares;
	u32 mask = (1U << shares->shift) - 1, nr = shares->nr_sampled;

	lockdep_assert_held(&log->room.lock);
	shares->sampled[nr++] = block;
	/* The place in the group of 1 << shift changes, because streams may take turns. */
	shares->nr_unsampled = mask + (nr & mask) - ((nr - 1) & mask);
	if (nr == LOG_NR_SAMPLED) {
		if (!is_even_locked(log))
			choose_shares_locked(log);
		shares->shift = LOG_SAMPLE_SHIFT;
		nr = 0;
	}
	shares->nr_sampled = nr;
}

/* Place the write at the end of this segment, in one piece. */
static bool place_locked(struct cache_log *log, struct log_open *open,
			 struct log_write *w)
{
	lockdep_assert_held(&log->room.lock);
	if (open->slot == SLOT_NONE ||
	    open->fill + w->run.sectors > log->c->geo.block_sectors)
		return false;
	log_write_place_held(w, open->slot, open->fill);
	open->fill += w->run.sectors;
	return true;
}

bool cache_log_append(struct cache_log *log, struct log_write *w)
{
	lockdep_assert_held(&log->room.lock);
	if (!place_locked(log, open_for_locked(log, w->run.block), w))
		return false;
	if (!log->room.shares.nr_unsampled--)
		sample_locked(log, w->run.block);
	return true;
}

bool cache_log_append_anywhere(struct cache_log *log, struct log_write *w)
{
	u32 i;

	lockdep_assert_held(&log->room.lock);
	for (i = 0; i < log->room.shares.nr; i++)
		if (place_locked(log, &log->room.shares.open[i], w))
			return true;
	return false;
}

static void retire_locked(struct cache_log *log, struct log_open *open)
{
	lockdep_assert_held(&log->room.lock);
	if (open->slot == SLOT_NONE)
		return;
	log_segment_let_go(&log->ix, open->slot, open->fill);
	slot_list_push(&log->c->map, &log->room.full, open->slot);
	open->slot = SLOT_NONE;
}

void cache_log_open_segment(struct cache_log *log, struct log_write *w, u32 slot)
{
	struct log_open *open = open_for_locked(log, w->run.block);

	lockdep_assert_held(&log->room.lock);
	retire_locked(log, open);
	log_segment_hold(&log->ix, slot);
	open->slot = slot;
	open->fill = 0;
	cache_log_append(log, w);
}

void cache_log_retire_open(struct cache_log *log)
{
	u32 i;

	lockdep_assert_held(&log->room.lock);
	for (i = 0; i < log->room.shares.nr; i++)
		retire_locked(log, &log->room.shares.open[i]);
}

/* Few of the log's slots are open, because each may be nearly empty. */
void cache_log_init_open(struct cache_log *log, u32 most)
{
	u32 i;

	log->room.shares.nr = clamp(most / 16, 1U, LOG_NR_OPEN);
	for (i = 0; i < LOG_NR_OPEN; i++)
		log->room.shares.open[i].slot = SLOT_NONE;
}
