/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hearth status as a line a cache.
 */
#ifndef HEARTH_PLUGIN_STATUS_REPORT_H
#define HEARTH_PLUGIN_STATUS_REPORT_H

#include "cache-info.h"
#include "hearth.h"
#include "windows.h"

/* A cache and what it did of late. */
struct look {
	struct cache_info *c;
	struct windows w;
	/* With --since, the start of the counters of @c; otherwise NULL. */
	const char *since;
	double seconds;		/* from then to now */
};

/**
 * status_report() - print a line a cache, with the columns that the command line asks for
 * @o: the command line
 * @all: the caches, and what they did of late
 * @nr: how many they are; may be 0
 *
 * Aborts without memory.
 *
 * Return: EXIT_OK; EXIT_USAGE after a complaint, if an option of the report makes no sense.
 */
int status_report(const struct options *o, const struct look *all, unsigned int nr);

#endif
