/* SPDX-License-Identifier: GPL-2.0-only */
/* Discards, see cache-discard.c. */
#ifndef HEARTH_CACHE_DISCARD_H
#define HEARTH_CACHE_DISCARD_H

#include <linux/bio.h>
#include <linux/list.h>

struct cache;
struct cache_bio;

/* A discard under way, in its bio's data.  Blocks. */
struct cache_discard {
	struct list_head list;
	u64 first, last;	/* blocks, [first, last) */
	u64 cursor;		/* all before it is unmapped */
	u64 ahead;		/* the unmapping of all before it has begun */
	bool registered;
	bool left_log;		/* nothing that came before it is in the write log */
	bool refused;		/* and that could not be brought about */
};

/**
 * cache_process_discard() - go on with a discard
 * @c: the engine
 * @bio: the discard; passed down, ended or parked when this returns
 * @cb: what is kept with it; @cb->discard is where it stands, in blocks
 *
 * Context: the worker of deferred bios; may sleep.  Any error ends the bio.
 */
void cache_process_discard(struct cache *c, struct bio *bio,
			   struct cache_bio *cb);

#endif
