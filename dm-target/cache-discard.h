/* SPDX-License-Identifier: GPL-2.0-only */
/* Discards, see cache-discard.c. */
#ifndef HEARTH_CACHE_DISCARD_H
#define HEARTH_CACHE_DISCARD_H

#include <linux/bio.h>
#include <linux/list.h>

struct cache;
struct cache_bio;

/* A discard under way; it is kept with its bio.  All numbers are blocks of the origin. */
struct cache_discard {
	struct list_head list;	/* gate.discards */
	u64 first, last;	/* the whole blocks that it covers: [first, last) */
	u64 cursor;		/* all blocks before it are unmapped, or left the log */
	u64 ahead;		/* the unmapping of all blocks before it has begun */
	bool registered;	/* it is on @list, and the members here are set */
	bool left_log;		/* what the write log had of it has left, durably */
	bool refused;		/* the log cannot give its blocks up: the bio fails */
};

/**
 * cache_process_discard() - begin a discard, or go on with one
 * @c: the engine
 * @bio: the discard; on return it was passed down, has ended, or waits
 * @cb: what is kept with it; @cb->discard says how far it has come
 *
 * The bio ends with BLK_STS_NOTSUPP if the metadata cannot be changed, or if the write
 * log cannot give up the blocks.
 *
 * Context: the worker of deferred bios; may sleep.
 */
void cache_process_discard(struct cache *c, struct bio *bio,
			   struct cache_bio *cb);

#endif
