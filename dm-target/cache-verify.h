/* SPDX-License-Identifier: GPL-2.0-only */
/* Clean blocks are compared with the origin while I/O runs, see cache-verify.c. */
#ifndef HEARTH_CACHE_VERIFY_H
#define HEARTH_CACHE_VERIFY_H

#include <linux/types.h>

struct cache;

/* The findings of one call.  All but @next, @slot and @block count slots. */
struct verify_result {
	u32 next;		/* the slot where the next call goes on */
	u32 nr_equal;
	u32 nr_skipped;		/* free, dirty, or in use all the time */
	u32 nr_unreadable;	/* one of the two copies could not be read */
	u32 nr_differ;
	u32 nr_dropped;		/* of @nr_differ, because the caller wants that */
	u32 slot;		/* the last that differs; SLOT_NONE */
	u64 block;		/* that it holds */
};

/**
 * cache_verify() - compare the clean blocks of some slots with the origin
 * @c: the engine, in good health
 * @first: the first slot
 * @drop: blocks that differ leave the cache, durably on return
 * @result: receives what was found, also after an error
 *
 * It ends after some 512 KiB, at the first slot that differs, at the last slot, and
 * when a suspend begins.  Context: process, sleeps; reads both devices; takes
 * policy.lock and waits for a commit to drop a block.
 *
 * Return: 0; -ENOMEM; or an error of the commit.
 */
int cache_verify(struct cache *c, u32 first, bool drop,
		 struct verify_result *result);

#endif
