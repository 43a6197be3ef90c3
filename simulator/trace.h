/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traces: requests read from files in several formats, and the same requests cut into
 * accesses to blocks, as the cache engine would cut them. This part owns the formats and
 * the detection of streams; it must not know of caches.
 */
#ifndef HEARTH_SIMULATOR_TRACE_H
#define HEARTH_SIMULATOR_TRACE_H

#include "cache-policy.h"

struct request {
	u64 time_us;
	u64 offset;		/* bytes */
	u32 length;		/* bytes */
	u8 write;
	u8 source;		/* index of its trace in a mix; else 0 */
};

struct trace {
	char name[64];
	struct request *requests;
	size_t nr, room;
	unsigned int nr_sources;
	char sources[16][64];
};

/**
 * trace_read() - read a trace from a file, which may be compressed
 * @t: receives the trace; trace_free() frees it
 * @path: the file; "-" is standard input
 * @format: bin, msr, spc, blkparse, bpftrace, fio or fiolog; NULL to tell it from
 *	the name and the first line
 *
 * Return: 0; or -1, after a message on standard error.
 */
int trace_read(struct trace *t, const char *path, const char *format);

/**
 * trace_format_known() - whether trace_read() knows a format
 * @format: its name
 *
 * Return: true if it does.
 */
bool trace_format_known(const char *format);

/** trace_formats() - the names of all formats, for people. Return: a static text. */
const char *trace_formats(void);

/**
 * trace_add() - append a request to a trace
 * @t: the trace
 * @r: the request, which is copied
 *
 * Aborts without memory.
 */
void trace_add(struct trace *t, const struct request *r);

/**
 * trace_mix() - interleave traces
 * @t: receives the mix, in which each trace is spread evenly over the whole and
 *	has an address space of its own
 * @parts: the traces
 * @nr: how many, 16 at most
 */
void trace_mix(struct trace *t, const struct trace *parts, unsigned int nr);

/**
 * trace_free() - free the requests of a trace
 * @t: the trace
 */
void trace_free(struct trace *t);

/* The part of one request that lies in one block. */
struct access {
	u32 id;			/* of the block: dense, in order of appearance */
	u32 first;		/* its first sector within the block */
	u32 sectors;
	u32 stream_sectors;
	u8 op;			/* enum cache_op */
	u8 flags;		/* CACHE_IO_FULL_BLOCK, CACHE_IO_STREAM */
	u8 source;
	bool large;		/* of a stream of large requests */
};

/*
 * A part of this many bytes makes its stream one of large requests, and so does
 * the part before it, because a block's border may cut a large request anywhere.
 * The write log leaves such streams to the disk, which takes them without seeks.
 */
#define LARGE_PART	(32 * 1024)

#define NEVER	U32_MAX

struct accesses {
	struct access *all;
	u32 nr;
	u64 *blocks;		/* by id: the number of the block */
	u32 nr_blocks;
	u32 *next;		/* by access: index of the next access to its block, or NEVER */
	u32 block_sectors;
};

/**
 * accesses_cut() - cut the requests of a trace into accesses to blocks
 * @a: receives the accesses; accesses_free() frees them
 * @t: the trace
 * @block_size: in bytes, a multiple of 512
 *
 * Aborts without memory.
 */
void accesses_cut(struct accesses *a, const struct trace *t, u32 block_size);

/**
 * accesses_free() - free what accesses_cut() has made
 * @a: the accesses
 */
void accesses_free(struct accesses *a);

#endif
