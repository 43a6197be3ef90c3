/* SPDX-License-Identifier: GPL-2.0-only */
/* Does the cache still belong to this origin?  See cache-origin.c. */
#ifndef HEARTH_CACHE_ORIGIN_H
#define HEARTH_CACHE_ORIGIN_H

#include <linux/types.h>

struct cache;

enum origin_state {
	ORIGIN_UNCHECKED,	/* nothing was compared */
	ORIGIN_SAME,
	ORIGIN_CHANGED,		/* it was written without the cache, which began empty */
	ORIGIN_CACHE_KEPT,	/* the administrator had the cache written over it */
	ORIGIN_KEPT,		/* the administrator had the cache emptied */
};

/* So many blocks may differ although nobody wrote the origin; see may_differ(). */
#define ORIGIN_ODD_MAX	2U

/* Set while the engine is brought up; constant while I/O runs. */
struct cache_origin {
	enum origin_state state;
	/* An engine of the same session and origin was suspended just before. */
	bool followed;
	/*
	 * Nothing was compared, because the mode was passthrough and no request hit.
	 * A table with another mode needs an engine that is built anew.
	 */
	bool put_off;
	bool was_put_off;	/* by the engine that was suspended just before */
	bool untold;		/* the event of @state is still to be raised */
};

/* The outcome of a comparison; @first means nothing if none differ. */
struct origin_result {
	u32 nr_compared, nr_differ;	/* blocks */
	u64 first;			/* block that differs, the lowest */
	u32 odd[ORIGIN_ODD_MAX];	/* slots of the first blocks that differ */
};

/**
 * cache_origin_compare() - compare some clean blocks with the origin
 * @c: loaded from disk; no I/O runs
 * @result: receives what was found
 *
 * As many as the setting origin_check says, of each at most 64 KiB.  A block that
 * one of the devices cannot read is left out.  Context: process, sleeps, reads both
 * devices.
 *
 * Return: 0 or -ENOMEM.
 */
int cache_origin_compare(struct cache *c, struct origin_result *result);

/**
 * cache_origin_is_another() - has somebody written the origin without the cache?
 * @result: of cache_origin_compare(); at least one block differs
 *
 * Return: false if so few differ that no more than those in @result->odd are in
 * doubt.
 */
bool cache_origin_is_another(const struct origin_result *result);

#endif
