/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Curves over the cache size, as one SVG file: misses on the left, origin time
 * not saved on the right.
 */
#ifndef HEARTH_SIMULATOR_SVG_H
#define HEARTH_SIMULATOR_SVG_H

/* What the sizes are, for the labels below the x axis. */
enum svg_sizes { SVG_NUMBERS, SVG_PERCENT, SVG_BYTES };

struct svg_look {
	enum svg_sizes sizes;
	double mark;		/* a size to be marked; 0: none */
	const char *mark_name;
};

struct curve {
	const char *name;
	unsigned int nr;
	double x[64], misses[64], time[64];
};

/* What is NAN is not drawn. */
void curve_add(struct curve *c, double x, double misses, double time);
/* -1 with errno if @path cannot be written. */
int svg_write(const char *path, const struct curve *curves, unsigned int nr,
	      const struct svg_look *look);

#endif
