/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traces: requests read from files in several formats, and the same cut into
 * accesses to blocks, as the cache engine would cut them.  It knows nothing of
 * caches.
 */
#ifndef HEARTH_SIMULATOR_TRACE_H
#define HEARTH_SIMULATOR_TRACE_H

#include "cache-policy.h"

struct request {
	u64 time_us;
	u64 offset;		/* bytes */
	u32 length;		/* bytes */
	u8 write;
	u8 source;		/* which of the traces of a mix */
};

struct trace {
	char name[64];
	struct request *requests;
	size_t nr, room;
	unsigned int nr_sources;
	char sources[16][64];
};

/*
 * Read @path.  @format is bin, msr, spc, blkparse, fio, fiolog, or NULL to tell
 * it from the name and the first line.  "-" is standard input.  What is compressed
 * is uncompressed on the way.  Prints what is wrong and returns -1.
 */
int trace_read(struct trace *t, const char *path, const char *format);
bool trace_format_known(const char *format);
const char *trace_formats(void);	/* for people */
/* Append a request. */
void trace_add(struct trace *t, const struct request *r);
/*
 * Interleave @nr traces, each spread evenly over the whole, in address spaces
 * of their own.
 */
void trace_mix(struct trace *t, const struct trace *parts, unsigned int nr);
void trace_free(struct trace *t);

/* One request's part in one block. */
struct access {
	u32 id;			/* of the block: dense, in order of appearance */
	u32 sectors;
	u32 stream_sectors;
	u8 op;			/* enum cache_op */
	u8 flags;		/* CACHE_IO_FULL_BLOCK, CACHE_IO_STREAM */
	u8 source;
};

#define NEVER	U32_MAX

struct accesses {
	struct access *all;
	u32 nr;
	u64 *blocks;		/* of an id */
	u32 nr_blocks;
	u32 *next;		/* index of the next access to the block, NEVER */
	u32 block_sectors;
};

int accesses_cut(struct accesses *a, const struct trace *t, u32 block_size);
void accesses_free(struct accesses *a);

#endif
