// SPDX-License-Identifier: GPL-2.0-only
/*
 * /run/hearth/NAME: one line for each sample, with the time and all counters.
 *
 * Every run of status and export, every look of top, and every look of dmeventd's plugin
 * adds a sample.  The file keeps samples 5 s apart for two minutes, and samples a minute
 * apart for 90 minutes.  If two processes write at the same time, one of their samples may
 * be lost.  Nothing else is, because the file is replaced as a whole.
 *
 * It must not know what a counter means.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "state-file.h"
#include "util.h"

#define HEADER		"hearth-history 5"
#define FINE_SPAN	120.0
#define FINE_STEP	5.0
#define SPAN		(90 * 60.0)
#define STEP		60.0

struct sample sample_now(const struct cache_info *c)
{
	struct sample s = { .when = now() };

	memcpy(s.count, c->count, sizeof(s.count));
	return s;
}

bool sample_difference(const struct sample *from, const struct sample *to,
		       struct window *w)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++) {
		if (to->count[i] < from->count[i])
			return false;
		w->count[i] = to->count[i] - from->count[i];
	}
	w->seconds = to->when - from->when;
	return true;
}

static bool read_sample(FILE *f, struct sample *s)
{
	unsigned int i;

	if (fscanf(f, "%lf", &s->when) != 1)
		return false;
	for (i = 0; i < NR_COUNTERS; i++)
		if (fscanf(f, "%ju", &s->count[i]) != 1)
			return false;
	return true;
}

static void read_history(struct history *h, const char *path)
{
	FILE *f = fopen(path, "r");
	char header[32] = "";

	h->nr = 0;
	if (!f)
		return;
	if (fgets(header, sizeof(header), f) &&
	    !strncmp(header, HEADER "\n", sizeof(HEADER)))
		while (h->nr < MAX_SAMPLES - 1 &&
		       read_sample(f, &h->samples[h->nr]))
			h->nr++;
	fclose(f);
}

/* Drops samples from before a restart or a new activation, because counters began anew then. */
static void drop_stale(struct history *h, const struct sample *latest)
{
	struct window w;
	unsigned int i;

	for (i = h->nr; i--;)
		if (h->samples[i].when > latest->when ||
		    !sample_difference(&h->samples[i], latest, &w))
			break;
	i++;
	memmove(h->samples, h->samples + i, (h->nr - i) * sizeof(*h->samples));
	h->nr -= i;
}

static void thin_out(struct history *h, double when)
{
	unsigned int i, kept = 0;
	double last = -SPAN;

	for (i = 0; i < h->nr; i++) {
		double age = when - h->samples[i].when;

		if (age > SPAN || h->samples[i].when - last <
		    (age > FINE_SPAN ? STEP : FINE_STEP) - 0.5)
			continue;
		last = h->samples[i].when;
		h->samples[kept++] = h->samples[i];
	}
	h->nr = kept;
}

static void put_history(FILE *f, const void *history)
{
	const struct history *h = history;
	unsigned int i, j;

	fputs(HEADER "\n", f);
	for (i = 0; i < h->nr; i++) {
		fprintf(f, "%.3f", h->samples[i].when);
		for (j = 0; j < NR_COUNTERS; j++)
			fprintf(f, " %ju", h->samples[i].count[j]);
		fputc('\n', f);
	}
}

void history_update(struct history *h, const struct cache_info *c)
{
	struct sample latest = sample_now(c);
	char *path = NULL;

	if (state_directory(HISTORY_DIRECTORY))
		path = try_root_path(HISTORY_DIRECTORY "/%s", c->dm->name);
	h->nr = 0;
	if (path)
		read_history(h, path);
	drop_stale(h, &latest);
	thin_out(h, latest.when);
	h->samples[h->nr++] = latest;
	if (path)
		state_file_refresh(path, put_history, h);
	free(path);
}

struct window history_window(const struct history *h, double seconds)
{
	const struct sample *latest = &h->samples[h->nr - 1], *best = NULL;
	struct window w = { 0 };
	double off = seconds / 2;
	unsigned int i;

	for (i = 0; i + 1 < h->nr; i++) {
		double d = latest->when - h->samples[i].when - seconds;

		if (d < 0)
			d = -d;
		if (d > off)
			continue;
		off = d;
		best = &h->samples[i];
	}
	if (best)
		sample_difference(best, latest, &w);
	return w;
}
