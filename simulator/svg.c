// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plotting by gnuplot; see svg.h. The x axis is logarithmic, both y axes go from 0 to 1.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "svg.h"

#define GNUPLOT	"gnuplot"
#define WIDER	1.05	/* so that the first and the last size are within the picture */

static const char head[] =
	"set terminal svg size 1000,380 noenhanced font 'sans-serif,11' background 'white'\n"
	"set multiplot layout 1,2 margins .05,.81,.15,.91 spacing .06\n"
	"set logscale x\n"
	"set yrange [0:1]\n"
	"set grid ytics\n"
	"set datafile missing 'nan'\n";

void curve_add(struct curve *c, double x, double misses, double time)
{
	if (c->nr == sizeof(c->x) / sizeof(c->x[0]))
		return;
	c->x[c->nr] = x;
	c->misses[c->nr] = misses;
	c->time[c->nr++] = time;
}

/* The sizes below the axis, and a line over the whole height at the one to be marked. */
static void put_axis(FILE *f, const struct curve *c, const struct svg_look *look)
{
	static const char * const formats[] = {
		[SVG_NUMBERS] = "%g", [SVG_PERCENT] = "%g%%", [SVG_BYTES] = "%.1b %BB",
	};
	unsigned int i;

	fprintf(f, "set format x '%s'\nset xrange [%.17g:%.17g]\nset xtics (",
		formats[look->sizes], c->x[0] / WIDER, c->x[c->nr - 1] * WIDER);
	for (i = 0; i < c->nr; i++)
		fprintf(f, "%s%.17g", i ? ", " : "", c->x[i]);
	fputs(")\n", f);
	if (look->mark)
		fprintf(f, "set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead dashtype 2\n"
			"set label '%s' at first %.17g, graph -.12 center\n",
			look->mark, look->mark, look->mark_name, look->mark);
}

static void put_points(FILE *f, const struct curve *c, unsigned int i)
{
	unsigned int p;

	fprintf(f, "$curve%u << end\n", i);
	for (p = 0; p < c->nr; p++)
		fprintf(f, "%.17g %g %g\n", c->x[p], c->misses[p], c->time[p]);
	fputs("end\n", f);
}

/* @column: of put_points().  A curve that has no values there is left out. */
static void put_plot(FILE *f, const struct curve *curves, unsigned int nr,
		     const char *title, const char *key, unsigned int column)
{
	unsigned int i;

	fprintf(f, "set title '%s'\n%s\nplot NaN notitle", title, key);
	for (i = 0; i < nr; i++)
		if (isfinite(column == 2 ? curves[i].misses[0] : curves[i].time[0]))
			fprintf(f, ", $curve%u using 1:%u with lines linetype %u linewidth 2 title '%s'",
				i, column, i + 1, curves[i].name);
	fputc('\n', f);
}

static void put_script(FILE *f, const struct curve *curves, unsigned int nr,
		       const struct svg_look *look)
{
	unsigned int i;

	fputs(head, f);
	put_axis(f, &curves[0], look);
	for (i = 0; i < nr; i++)
		put_points(f, &curves[i], i);
	put_plot(f, curves, nr, "miss ratio, by cache size",
		 "set key at screen .995,.91", 2);
	put_plot(f, curves, nr, "origin time not saved (fetching), by cache size",
		 "unset key", 3);
}

const char *svg_write(const char *path, const struct curve *curves, unsigned int nr,
		      const struct svg_look *look)
{
	FILE *svg = fopen(path, "w"), *script;
	char command[64];
	int status = -1;

	if (!svg)
		return path;
	/* No pipe, because gnuplot may end before it has read all. */
	script = tmpfile();
	if (script) {
		put_script(script, curves, nr, look);
		fflush(script);
		snprintf(command, sizeof(command), "exec " GNUPLOT " -d /dev/fd/%d >/dev/fd/%d",
			 fileno(script), fileno(svg));
		status = system(command);
		fclose(script);
	}
	fclose(svg);
	errno = WIFEXITED(status) && WEXITSTATUS(status) == 127 ? ENOENT : EIO;
	return status ? GNUPLOT : NULL;
}
