/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arguments [CACHE] [INTERVAL [COUNT]], as iostat(1) has them, and the times of looks.
 */
#ifndef HEARTH_PLUGIN_INTERVALS_H
#define HEARTH_PLUGIN_INTERVALS_H

#include "hearth.h"

struct intervals {
	const char *cache;	/* NULL: all */
	double seconds;		/* 0: none was given */
	unsigned long count;	/* 0: no end */
};

/**
 * intervals_take() - take the arguments of a command line
 * @v: zeroed; receives them, and its cache is one of @o's words
 * @o: the command line; looks at -T as well
 *
 * Does not look whether there is such a cache.
 *
 * Return: false after a complaint, if they make no sense.
 */
bool intervals_take(struct intervals *v, const struct options *o);

/**
 * intervals_stamp() - print the time of a look, if -T asks for it
 * @o: the command line: d prints the date on a line of stdout, u the seconds since 1970
 */
void intervals_stamp(const struct options *o);

#endif
