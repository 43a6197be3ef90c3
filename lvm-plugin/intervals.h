/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arguments [CACHE] [INTERVAL [COUNT]] of iostat and top, as iostat(1) has the last two,
 * and the time of a look.  It must not look whether there is such a cache.
 */
#ifndef HEARTH_PLUGIN_INTERVALS_H
#define HEARTH_PLUGIN_INTERVALS_H

#include "hearth.h"

struct intervals {
	const char *cache;	/* NULL: all caches */
	double seconds;		/* from one look to the next; 0: not given */
	unsigned long count;	/* number of looks; 0: no end */
};

/**
 * intervals_take() - take the arguments of a command line
 * @v: zeroed; receives them, and its cache is one of @o's words
 * @o: the command line; the value of -T is checked as well
 *
 * Return: true; false after a complaint, if an argument or -T makes no sense.
 */
bool intervals_take(struct intervals *v, const struct options *o);

/**
 * intervals_stamp() - print the time of a look, if -T asks for it
 * @o: the command line. With -T d the line on stdout is the date, with -T u the seconds since
 *	1970
 */
void intervals_stamp(const struct options *o);

#endif
