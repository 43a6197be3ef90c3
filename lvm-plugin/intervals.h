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

/* Takes the arguments of @o.  False, and a complaint, if they make no sense. */
bool intervals_take(struct intervals *v, const struct options *o);
/* As -T of @o asks: d prints the date on a line, u the seconds since 1970. */
void intervals_stamp(const struct options *o);

#endif
