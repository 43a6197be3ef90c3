/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Curves over the cache size, as one SVG file: misses on the left, origin time
 * not saved on the right. gnuplot draws. It must not know what made the curves.
 */
#ifndef HEARTH_SIMULATOR_SVG_H
#define HEARTH_SIMULATOR_SVG_H

/* The unit of the cache's sizes, for the labels below the x axis. */
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

/**
 * curve_add() - add a point to a curve
 * @c: the curve; has room for 64 points, more are left out
 * @x: the cache's size
 * @misses: misses per access; not drawn if NAN
 * @time: share of the origin's time that is not saved; not drawn if NAN
 */
void curve_add(struct curve *c, double x, double misses, double time);

/**
 * svg_write() - plot curves into a file
 * @path: the file, which is replaced
 * @curves: the curves
 * @nr: how many curves
 * @look: labels, and a size to be marked
 *
 * Return: NULL; or the name of what has failed, @path or the program, and errno says why.
 */
const char *svg_write(const char *path, const struct curve *curves, unsigned int nr,
		      const struct svg_look *look);

#endif
