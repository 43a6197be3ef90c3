/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hearth status with a line for each cache.  It must not change a cache.
 */
#ifndef HEARTH_PLUGIN_STATUS_REPORT_H
#define HEARTH_PLUGIN_STATUS_REPORT_H

#include "cache-info.h"
#include "hearth.h"
#include "windows.h"

/* A cache, and the growth of its counters in the last spans of time. */
struct look {
	struct cache_info *c;
	struct windows w;
	/* The value of --since, or NULL.  With --since the counters of @c are those since then. */
	const char *since;
	double seconds;		/* from that moment to now */
};

/**
 * status_report() - print a line for each cache, with the columns of the command line
 * @o: the command line
 * @all: the looks at the caches
 * @nr: how many looks there are; may be 0
 *
 * Aborts without memory.
 *
 * Return: EXIT_OK; EXIT_USAGE after a complaint, if an option of the report makes no sense.
 */
int status_report(const struct options *o, const struct look *all, unsigned int nr);

#endif
