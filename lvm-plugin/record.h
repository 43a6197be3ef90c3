/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of a cache over a day and longer, added up over restarts and
 * activations, where the target's and the kernel's own counters begin at zero.
 */
#ifndef HEARTH_PLUGIN_RECORD_H
#define HEARTH_PLUGIN_RECORD_H

#include "cache-info.h"
#include "history.h"

/* The counters at one moment, as they grew since the record began. */
struct sums {
	double when;		/* seconds since 1970 */
	uint64_t used, dirty;	/* blocks, then */
	uint64_t count[NR_COUNTERS];
};

struct record {
	double began;		/* seconds since 1970; tells it from another record */
	struct sums *sums;	/* oldest first; the last one is of now */
	unsigned int nr;
};

/**
 * record_keep() - add the present counters of a cache to its record on disk
 * @c: the cache, whose dm has its name and UUID
 *
 * Does nothing if the last ones are younger than five minutes, or if the counters of
 * @c are not known. Prints nothing; without a directory below /var to write to, nothing is
 * kept. Dmeventd's plugin calls this, too.
 */
void record_keep(const struct cache_info *c);

/**
 * record_read() - read the record of a cache, and add the present counters to what was read
 * @r: receives it; record_free() frees it, and may be called after false as well
 * @c: the cache, whose dm has its name and UUID
 *
 * Writes nothing but missing directories, and prints nothing.
 *
 * Return: false, and @r is empty, if there is none, or if the counters of @c are not known.
 */
bool record_read(struct record *r, const struct cache_info *c);

/**
 * record_free() - free what record_read() made
 * @r: is empty afterwards
 */
void record_free(struct record *r);

/**
 * record_window() - by how much the counters grew of late, as history_window()
 * @r: the record, which may be empty
 * @seconds: how far to look back
 *
 * Return: the window to the last sums; its seconds are 0 if no sums are between half and one
 * and a half times as old.
 */
struct window record_window(const struct record *r, double seconds);

/**
 * record_since() - by how much the counters grew since a moment
 * @r: the record, which is not empty
 * @from: the sums at that moment, of the same record
 *
 * Return: the window from there to the last sums.
 */
struct window record_since(const struct record *r, const struct sums *from);

#endif
