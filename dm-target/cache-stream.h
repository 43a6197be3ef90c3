/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Detection of sequential streams: how many sectors has the stream transferred that a
 * request continues?
 *
 * Each CPU remembers the ends of its recent streams in a small hash table, by the
 * region that an end lies in.  It is a table of one CPU, because then a hit writes
 * nothing that CPUs share.
 *
 * A reader that moves to another CPU would begin a new stream there.  So misses leave
 * the ends of longer streams in one table that all CPUs share.  A miss that begins a
 * stream looks there for a stream that it continues.
 *
 * All functions here may be called in any context.  There is no lock.  A race loses an
 * update.  If two streams have the same entry, the younger one stays.  Both cost
 * precision, never safety.
 */
#ifndef HEARTH_CACHE_STREAM_H
#define HEARTH_CACHE_STREAM_H

#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "cache-policy.h"

/*
 * Log2 of the streams that a CPU remembers, which take 1 KiB.  With 8 streams a few
 * random requests made a CPU forget a stream, because each of them takes an entry.
 * 64 streams were not chosen by measurement.
 */
#define STREAM_BITS	6
/*
 * The sectors of a region.  They are a power of 2, because then the division is a
 * shift, and CACHE_STREAM_GAP at least, because a stream's end is looked for in two
 * regions at most.  Streams that end in one region share an entry.  In smaller regions
 * a stream takes more entries of others on its way.  Not chosen by measurement.
 */
#define STREAM_REGION	1024

struct stream {
	u64 next;		/* the sector after its last request */
	u32 sectors;		/* transferred so far, saturating; 0: no stream */
};

/*
 * Log2 of the ends that all CPUs remember together, which take 2 KiB.  With fewer, an
 * end takes the entry of another sooner, and that stream begins anew when its reader
 * moves.  Not chosen by measurement.
 */
#define STREAM_END_BITS	8
/*
 * Sectors.  Streams that are shorter are not remembered there, because then the misses
 * of short streams write nothing that CPUs share.  It is also the unit of an end.  If
 * it were larger, more would be lost by rounding down when a reader moves.  Not chosen
 * by measurement.
 */
#define STREAM_LONG	64
/*
 * The most that the low 16 bits of an end can say: 2 GiB.  The 48 bits above them are
 * enough for the sectors of 128 PiB.
 */
#define STREAM_LONGS	0xffffu

/*
 * Ends of streams of all CPUs.  The low 16 bits of an end say how much the stream has
 * transferred, in units of STREAM_LONG sectors, rounded down and saturating.  The
 * other bits are the sector after its last request.  Both share a word, because then
 * a reader never sees halves of two ends.
 */
struct stream_ends {
	u64 end[1 << STREAM_END_BITS];
};

/* The streams of one CPU. */
struct stream_cpu {
	struct stream stream[1 << STREAM_BITS];	/* by the region of @next */
};

/* All streams of an engine.  A hit uses only the streams of its CPU. */
struct cache_streams {
	struct stream_cpu __percpu *cpu;
	struct stream_ends ends;
};

/**
 * stream_hash() - the entry for the region that a sector lies in
 * @sector: the sector
 * @bits: log2 of the number of entries
 */
static inline u32 stream_hash(u64 sector, unsigned int bits)
{
	return hash_64(sector / STREAM_REGION, bits);
}

/**
 * stream_ending_by() - the entry of a stream that ends near a sector
 * @cpu: the streams of a CPU
 * @sector: the sector
 */
static inline struct stream *stream_ending_by(struct stream_cpu *cpu, u64 sector)
{
	return &cpu->stream[stream_hash(sector, STREAM_BITS)];
}

/**
 * stream_goes_on() - does a request go on with a stream?
 * @st: the stream
 * @sector: where the request begins
 */
static inline bool stream_goes_on(const struct stream *st, u64 sector)
{
	return sector - st->next <= CACHE_STREAM_GAP && st->sectors;
}

/**
 * stream_account() - account a request in its stream
 * @cpu: the streams of this CPU
 * @sector: where the request begins
 * @sectors: its length
 *
 * Return: the sectors that the stream had transferred before; 0 if the request begins a
 * stream.
 */
static inline u32 stream_account(struct stream_cpu *cpu, u64 sector, u32 sectors)
{
	struct stream *st = stream_ending_by(cpu, sector);
	u64 next = sector + sectors;
	u32 before = 0;

	/* The stream's end may lie in the region before, within the gap. */
	if (!stream_goes_on(st, sector) && sector % STREAM_REGION < CACHE_STREAM_GAP)
		st = stream_ending_by(cpu, sector - CACHE_STREAM_GAP);
	if (stream_goes_on(st, sector)) {
		before = st->sectors;
		st->sectors = 0;
		sectors = min(sectors, U32_MAX - before);
	}

	st = stream_ending_by(cpu, next);
	st->next = next;
	st->sectors = before + sectors;
	return before;
}

/**
 * stream_end_by() - the entry, in the table of all CPUs, of a stream that ends near a sector
 * @ends: the table
 * @sector: the sector
 */
static inline u64 *stream_end_by(struct stream_ends *ends, u64 sector)
{
	return &ends->end[stream_hash(sector, STREAM_END_BITS)];
}

/**
 * stream_of_end() - the sectors of a stream that ended, if it goes on
 * @e: the end, as struct stream_ends has it
 * @sector: where a request begins
 *
 * Return: the sectors; 0 if the stream does not go on there.
 */
static inline u32 stream_of_end(u64 e, u64 sector)
{
	return sector - (e >> 16) <= CACHE_STREAM_GAP ?
	       (e & STREAM_LONGS) * STREAM_LONG : 0;
}

/**
 * stream_of_another() - the sectors of a stream of any CPU that goes on
 * @ends: the table of all CPUs
 * @sector: where a request begins
 *
 * Return: the sectors; 0 if no stream goes on there.
 */
static inline u32 stream_of_another(struct stream_ends *ends, u64 sector)
{
	u32 sectors = stream_of_end(READ_ONCE(*stream_end_by(ends, sector)),
				    sector);

	if (sectors || sector % STREAM_REGION >= CACHE_STREAM_GAP)
		return sectors;
	return stream_of_end(READ_ONCE(*stream_end_by(ends, sector - CACHE_STREAM_GAP)),
			     sector);
}

/**
 * stream_account_miss() - account a miss in its stream, which may be of another CPU
 * @cpu: the streams of this CPU
 * @ends: the table of all CPUs
 * @sector: where the miss begins
 * @sectors: its length
 *
 * Return: as stream_account().
 */
static __always_inline u32 stream_account_miss(struct stream_cpu *cpu,
					       struct stream_ends *ends,
					       u64 sector, u32 sectors)
{
	u32 before = stream_account(cpu, sector, sectors);
	u64 next = sector + sectors;
	u32 longs;

	if (!before) {
		before = stream_of_another(ends, sector);
		if (before)
			stream_ending_by(cpu, next)->sectors = before + sectors;
	}
	longs = min(before / STREAM_LONG + sectors / STREAM_LONG, STREAM_LONGS);
	if (longs)
		WRITE_ONCE(*stream_end_by(ends, next), next << 16 | longs);
	return before;
}

#endif
