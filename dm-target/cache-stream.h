/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequential stream detection: how far has the stream run that this request
 * continues?
 *
 * Each CPU remembers the ends of its recent streams in a small hash table, by
 * the region that they lie in.  There is no lock and no sharing: a stream that
 * hops to another CPU starts again there, a race with an interrupt loses one
 * update, and of two streams that meet in one place the younger stays.  All of
 * that costs precision, never safety.
 */
#ifndef HEARTH_CACHE_STREAM_H
#define HEARTH_CACHE_STREAM_H

#include <linux/hash.h>
#include <linux/types.h>

#define STREAM_BITS	6	/* streams per CPU, log2 */
#define STREAM_REGION	1024	/* sectors, a power of 2 */
#define STREAM_GAP	128	/* sectors that a stream may skip */

struct stream {
	u64 next;		/* sector after its last request */
	u32 sectors;		/* transferred so far, saturating; 0: no stream */
};

struct stream_cpu {
	struct stream stream[1 << STREAM_BITS];	/* by the region of @next */
};

static inline struct stream *stream_ending_by(struct stream_cpu *cpu, u64 sector)
{
	return &cpu->stream[hash_64(sector / STREAM_REGION, STREAM_BITS)];
}

static inline bool stream_goes_on(const struct stream *st, u64 sector)
{
	return sector - st->next <= STREAM_GAP && st->sectors;
}

/*
 * Account a request of @sectors at @sector.  Returns the sectors that its
 * stream had transferred before it, 0 if it begins one.
 */
static inline u32 stream_account(struct stream_cpu *cpu, u64 sector, u32 sectors)
{
	struct stream *st = stream_ending_by(cpu, sector);
	u64 next = sector + sectors;
	u32 before = 0;

	/* Its end may lie in the region before, within the gap. */
	if (!stream_goes_on(st, sector) && sector % STREAM_REGION < STREAM_GAP)
		st = stream_ending_by(cpu, sector - STREAM_GAP);
	if (stream_goes_on(st, sector)) {
		before = st->sectors;
		st->sectors = 0;
	}

	st = stream_ending_by(cpu, next);
	st->next = next;
	st->sectors = before + sectors < before ? U32_MAX : before + sectors;
	return before;
}

#endif
