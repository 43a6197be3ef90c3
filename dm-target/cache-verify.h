/* SPDX-License-Identifier: GPL-2.0-only */
/* Clean blocks are compared with the origin while I/O runs: see cache-verify.c. */
#ifndef HEARTH_CACHE_VERIFY_H
#define HEARTH_CACHE_VERIFY_H

#include <linux/types.h>

struct cache;

/* The findings of one call.  All members but @next, @slot and @block count slots. */
struct verify_result {
	u32 next;		/* the slot with which the next call begins */
	u32 nr_equal;
	u32 nr_skipped;		/* without a clean block, or written all the time */
	u32 nr_unreadable;	/* one of the two copies could not be read */
	u32 nr_differ;
	u32 nr_dropped;		/* of @nr_differ: the block has left the cache */
	u32 slot;		/* the slot that differs, or SLOT_NONE */
	u64 block;		/* the block of @slot */
};

/**
 * cache_verify() - compare the clean blocks of some slots with the origin
 * @c: the engine, in good health
 * @first: the first slot
 * @drop: a block that differs leaves the cache, durably on return
 * @result: receives what was found, also after an error
 *
 * It ends behind the slot with which it has compared 512 KiB, behind the first slot that
 * differs, after 65536 slots, at the last slot, and when a suspend begins.
 *
 * Context: process, sleeps, reads both devices; to drop a block, it takes policy.lock
 * and waits for a commit.
 *
 * Return: 0; -ENOMEM; or an error of the commit.
 */
int cache_verify(struct cache *c, u32 first, bool drop,
		 struct verify_result *result);

#endif
