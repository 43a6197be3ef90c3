/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of a cache over a day and longer.  The target's and the kernel's own counters
 * begin at zero at a restart or an activation; the record adds them up, so that its sums go
 * on.  It must not know what a counter means.
 */
#ifndef HEARTH_PLUGIN_RECORD_H
#define HEARTH_PLUGIN_RECORD_H

#include "cache-info.h"
#include "history.h"

/* A cache at one moment. */
struct sums {
	double when;		/* seconds since 1970 */
	uint64_t used, dirty;	/* blocks at that moment */
	uint64_t count[NR_COUNTERS];	/* growth since the record began */
};

struct record {
	double began;		/* seconds since 1970; no other record of the cache has the same */
	struct sums *sums;	/* oldest first; the last one is of now */
	unsigned int nr;
};

/**
 * record_keep() - add the present counters of a cache to its record on disk
 * @c: the cache, whose dm has its name and UUID
 *
 * Does nothing if the last counters in the record are younger than five minutes, if the
 * counters of @c are not known, or if the directory below /var cannot be made. Prints nothing.
 * Dmeventd's plugin calls this, too.
 */
void record_keep(const struct cache_info *c);

/**
 * record_read() - read the record of a cache; the last sums are those of now
 * @r: receives it; record_free() frees it, and may be called after false as well
 * @c: the cache, whose dm has its name and UUID
 *
 * Makes missing directories, and writes nothing else. Prints nothing.
 *
 * Return: true; false, and @r is empty, if there is no record, or if the counters of @c are not
 * known.
 */
bool record_read(struct record *r, const struct cache_info *c);

/**
 * record_free() - free what record_read() made
 * @r: is empty afterwards
 */
void record_free(struct record *r);

/**
 * record_window() - the growth of the counters in the last hour, or in another span
 * @r: the record, which may be empty
 * @seconds: the span
 *
 * Return: the window to the last sums, as of history_window(); its seconds are 0 if no sums
 * have an age between half of @seconds and one and a half times @seconds.
 */
struct window record_window(const struct record *r, double seconds);

/**
 * record_since() - the growth of the counters since a moment
 * @r: the record, which is not empty
 * @from: the sums at that moment, of the same record
 *
 * Return: the window from there to the last sums.
 */
struct window record_since(const struct record *r, const struct sums *from);

#endif
