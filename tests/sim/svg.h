/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Curves over the cache size, as one SVG file: misses on the left, origin time
 * not saved on the right.
 */
#ifndef HEARTH_SIM_SVG_H
#define HEARTH_SIM_SVG_H

#include <stdbool.h>

struct curve {
	const char *name;
	unsigned int nr;
	double x[64], misses[64], time[64];
};

void curve_add(struct curve *c, double x, double misses, double time);
int svg_write(const char *path, const struct curve *curves, unsigned int nr,
	      bool percent);

#endif
