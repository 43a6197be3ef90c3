/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequential stream detection: how far has the stream run that this request
 * continues?
 *
 * Each CPU watches the ends of its most recent streams.  There is no lock and
 * no sharing: a stream that hops to another CPU starts again there, a race
 * with an interrupt loses one update.  Both cost precision, never safety.
 */
#ifndef HEARTH_CACHE_STREAM_H
#define HEARTH_CACHE_STREAM_H

#include <linux/types.h>

#define STREAMS_PER_CPU	8
#define STREAM_GAP	128	/* sectors that a stream may skip */

struct stream {
	u64 next;		/* sector after its last request */
	u32 sectors;		/* transferred so far, saturating */
};

struct stream_cpu {
	struct stream stream[STREAMS_PER_CPU];
	u32 clock;		/* next to be replaced */
};

/*
 * Account a request of @sectors at @sector.  Returns the sectors that its
 * stream had transferred before it, 0 if it begins one.
 */
static inline u32 stream_account(struct stream_cpu *cpu, u64 sector, u32 sectors)
{
	struct stream *st;
	u32 before, i;

#pragma GCC unroll 8
	for (i = 0; i < STREAMS_PER_CPU; i++) {
		st = &cpu->stream[i];
		if (sector - st->next > STREAM_GAP || !st->sectors)
			continue;
		before = st->sectors;
		st->next = sector + sectors;
		st->sectors = before + sectors < before ? U32_MAX : before + sectors;
		return before;
	}

	st = &cpu->stream[cpu->clock++ % STREAMS_PER_CPU];
	st->next = sector + sectors;
	st->sectors = sectors;
	return 0;
}

#endif
