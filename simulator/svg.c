// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plotting; see svg.h. The x axis is logarithmic, both y axes go from 0 to 1.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "svg.h"

#define WIDTH	380
#define HEIGHT	300
#define LEFT	64
#define LETTER	6.5	/* wide, at most of them */
#define TOP	40

static const char * const colours[] = {
	"#0b6e99", "#d1495b", "#edae49", "#30638e", "#6a994e", "#7b2d8b",
	"#444444", "#c77dff", "#00a896", "#b5651d",
};

struct panel {
	FILE *f;
	double x0;		/* of the panel's left edge */
	double lo, hi;		/* of the sizes, logarithms */
};

static double px(const struct panel *p, double x)
{
	return p->x0 + (log(x) - p->lo) / (p->hi - p->lo) * WIDTH;
}

static double py(double y)
{
	return TOP + HEIGHT * (1 - y);
}

void curve_add(struct curve *c, double x, double misses, double time)
{
	if (c->nr == sizeof(c->x) / sizeof(c->x[0]))
		return;
	c->x[c->nr] = x;
	c->misses[c->nr] = misses;
	c->time[c->nr++] = time;
}

static const char *size_label(char *buf, size_t len, double x,
			      enum svg_sizes sizes)
{
	static const char * const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB"
	};
	unsigned int i = 0;

	if (sizes != SVG_BYTES) {
		snprintf(buf, len, "%g%s", x, sizes == SVG_PERCENT ? "%" : "");
		return buf;
	}
	for (; x >= 1024 && i < 5; i++)
		x /= 1024;
	snprintf(buf, len, "%.3g %s", x, units[i]);
	return buf;
}

/* Mark a size, such as the advised one, by a line over the whole height. */
static void mark(const struct panel *p, const struct svg_look *look)
{
	if (!look->mark)
		return;
	fprintf(p->f, "<path d=\"M%g %dv%d\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\n",
		px(p, look->mark), TOP, HEIGHT);
	fprintf(p->f, "<text x=\"%g\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%s</text>\n",
		px(p, look->mark), TOP + HEIGHT + 34, look->mark_name);
}

static void frame(const struct panel *p, const struct curve *c,
		  const char *title, const struct svg_look *look)
{
	char label[32];
	unsigned int i;

	fprintf(p->f, "<text x=\"%g\" y=\"24\" font-size=\"14\">%s</text>\n",
		p->x0, title);
	for (i = 0; i <= 5; i++) {
		fprintf(p->f, "<path d=\"M%g %gh%d\" stroke=\"#ddd\"/>\n",
			p->x0, py(i / 5.), WIDTH);
		fprintf(p->f, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.1f</text>\n",
			p->x0 - 6, py(i / 5.) + 4, i / 5.);
	}
	for (i = 0; i < c->nr; i++)
		fprintf(p->f, "<text x=\"%g\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			px(p, c->x[i]), TOP + HEIGHT + 18,
			size_label(label, sizeof(label), c->x[i], look->sizes));
	mark(p, look);
}

static void plot(const struct panel *p, const struct curve *c, const double *y,
		 const char *colour)
{
	unsigned int i;

	if (!isfinite(y[0]))
		return;
	fprintf(p->f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
		colour);
	for (i = 0; i < c->nr; i++)
		if (isfinite(y[i]))
			fprintf(p->f, "%g,%g ", px(p, c->x[i]), py(y[i]));
	fprintf(p->f, "\"/>\n");
}

static void legend(const struct panel *p, const char *name, unsigned int i,
		   const char *colour)
{
	double y = TOP + 14 * i + 8;

	fprintf(p->f, "<path d=\"M%g %gh18\" stroke=\"%s\" stroke-width=\"2\"/>\n",
		p->x0 + WIDTH + 12, y, colour);
	fprintf(p->f, "<text x=\"%g\" y=\"%g\">%s</text>\n",
		p->x0 + WIDTH + 36, y + 4, name);
}

int svg_write(const char *path, const struct curve *curves, unsigned int nr,
	      const struct svg_look *look)
{
	FILE *f = fopen(path, "w");
	struct panel p = { .f = f };
	unsigned int i, side;
	size_t longest = 0;

	if (!f)
		return -1;
	for (i = 0; i < nr; i++)
		if (strlen(curves[i].name) > longest)
			longest = strlen(curves[i].name);
	p.lo = log(curves[0].x[0]);
	p.hi = log(curves[0].x[curves[0].nr - 1]);
	if (p.hi <= p.lo)
		p.hi = p.lo + 1;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n",
		(int)(2 * (WIDTH + LEFT) + 48 + LETTER * longest),
		HEIGHT + TOP + 48);
	fprintf(f, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
	for (side = 0; side < 2; side++) {
		p.x0 = LEFT + side * (WIDTH + LEFT);
		frame(&p, &curves[0], side ? "origin time not saved (fetching), by cache size" :
		      "miss ratio, by cache size", look);
		for (i = 0; i < nr; i++)
			plot(&p, &curves[i], side ? curves[i].time :
			     curves[i].misses, colours[i % 10]);
	}
	for (i = 0; i < nr; i++)
		legend(&p, curves[i].name, i, colours[i % 10]);
	fprintf(f, "</svg>\n");
	return fclose(f) ? -1 : 0;
}
