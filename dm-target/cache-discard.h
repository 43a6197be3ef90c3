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
};

/* Go on with a discard, which ends or waits here.  For the worker; may sleep. */
void cache_process_discard(struct cache *c, struct bio *bio,
			   struct cache_bio *cb);

#endif
