/* SPDX-License-Identifier: GPL-2.0-only */
/* The origin check: does the cache still belong to this origin?  See cache-origin.c. */
#ifndef HEARTH_CACHE_ORIGIN_H
#define HEARTH_CACHE_ORIGIN_H

#include <linux/types.h>

struct cache;

enum origin_state {
	ORIGIN_UNCHECKED,	/* nothing was compared */
	ORIGIN_SAME,		/* blocks were compared, and the mapping was kept */
	ORIGIN_CHANGED,		/* it was written without the cache, which began empty */
	ORIGIN_CACHE_KEPT,	/* the administrator had the cache written over it */
	ORIGIN_KEPT,		/* the administrator had the cache emptied */
};

/* The most blocks that may differ although nobody wrote the origin; see may_differ(). */
#define ORIGIN_ODD_MAX	2U

/* Set while the engine is brought up.  All but @untold is constant while I/O runs. */
struct cache_origin {
	enum origin_state state;
	/*
	 * The engine that was suspended before had the same session and origin, so the
	 * origin was never without its cache.
	 */
	bool followed;
	/*
	 * Nothing was compared, because the mode was passthrough, in which no request
	 * hits.  A table with another mode needs an engine that is built anew.
	 */
	bool put_off;
	bool was_put_off;	/* @put_off of the engine that was suspended before */
	bool untold;		/* the event for @state is still to be raised */
};

/* The result of a comparison.  @first and @odd mean nothing if no block differs. */
struct origin_result {
	u32 nr_compared, nr_differ;	/* numbers of blocks */
	u64 first;			/* the lowest block that differs */
	u32 odd[ORIGIN_ODD_MAX];	/* the slots of the lowest blocks that differ */
};

/**
 * cache_origin_compare() - compare some clean blocks with the origin
 * @c: the engine, loaded from disk; no I/O runs
 * @result: receives what was found
 *
 * It compares as many blocks as the setting origin_check says, and at most 64 KiB of
 * each.  A block that one of the devices cannot read does not count.
 *
 * Context: process, sleeps, reads both devices.
 *
 * Return: 0 or -ENOMEM.
 */
int cache_origin_compare(struct cache *c, struct origin_result *result);

/**
 * cache_origin_is_another() - was the origin written without the cache?
 * @result: the result of cache_origin_compare(); at least one block differs
 *
 * Context: any.
 *
 * Return: false if so few blocks differ that this proves nothing.  Then @result->odd
 * has all of them.
 */
bool cache_origin_is_another(const struct origin_result *result);

#endif
