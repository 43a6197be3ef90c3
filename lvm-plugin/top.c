// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth top: a table of all caches, and of what they did in the last interval,
 * again and again.
 *
 * On a terminal it redraws the screen, and the user sorts, scrolls and ends by keys.
 * Elsewhere one table follows the other.  No line exceeds 80 columns.
 *
 * It must not change a cache, or run a command of LVM's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache-info.h"
#include "history.h"
#include "intervals.h"
#include "options.h"
#include "rates.h"
#include "screen.h"
#include "text.h"

/* ---- The lines, in their order ---- */

/* The caches as they were in one round. */
struct round {
	struct caches cs;
	double when;
};

/* The column that the lines are sorted by. */
enum column {
	BY_NAME, BY_USED, BY_DIRTY, BY_READS, BY_READ_HITS, BY_WRITES, BY_WRITE_HITS,
	BY_PROMOTIONS, BY_SSD, BY_MS, NR_COLUMNS
};

const char top_columns[] =
	"name used dirty reads read-hits writes write-hits promotions ssd ms";

struct view {
	enum column by;
	bool upwards;		/* the least value first; for names, the last name first */
	unsigned int first;	/* number of caches that are scrolled away */
	unsigned int shown;	/* number of caches in the last drawing */
};

struct entry {
	const struct cache_info *c;
	struct rates r;
};

static double value_of(const struct entry *row, enum column by)
{
	switch (by) {
	case BY_USED:
		return share(row->c->used, row->c->total);
	case BY_DIRTY:
		return share(row->c->dirty, row->c->used);
	case BY_READS:
		return row->r.cut_reads;
	case BY_READ_HITS:
		return row->r.read_hits;
	case BY_WRITES:
		return row->r.cut_writes;
	case BY_WRITE_HITS:
		return row->r.write_hits;
	case BY_PROMOTIONS:
		return row->r.promotions;
	case BY_SSD:
		return row->r.ssd_written;
	case BY_MS:
		return row->r.mean_ms;
	case BY_NAME:
	case NR_COLUMNS:
		break;
	}
	return 0;
}

/* The greatest value comes first, and a value that is not known last.  Names break ties. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct view *v = arg;
	double x = value_of(a, v->by), y = value_of(b, v->by);
	int sign = v->upwards ? -1 : 1;

	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (x < y || x > y)
		return x < y ? sign : -sign;
	return strcmp(((const struct entry *)a)->c->name,
		      ((const struct entry *)b)->c->name) *
	       (v->by == BY_NAME ? sign : 1);
}

static struct entry *rows_of(const struct round *r, const struct round *was,
			   const struct view *v)
{
	struct entry *rows = calloc(r->cs.nr ?: 1, sizeof(*rows));
	unsigned int i;

	if (!rows)
		abort();
	for (i = 0; i < r->cs.nr; i++) {
		const struct cache_info *c = &r->cs.all[i];

		rows[i].c = c;
		rows[i].r = rates_between(caches_find(&was->cs, c->dm->name),
					  was->when, c, r->when);
	}
	qsort_r(rows, r->cs.nr, sizeof(*rows), compare, (void *)v);
	return rows;
}

/* ---- A table ---- */

static const char *short_mode(const char *mode)
{
	static const char * const names[][2] = {
		{ "writethrough", "thru" }, { "writeback", "back" },
		{ "passthrough", "pass" }, { "writearound", "arnd" },
		{ "writeonly", "only" },
	};
	unsigned int i;

	for (i = 0; i < 5; i++)
		if (!strcmp(names[i][0], mode))
			return names[i][1];
	return "-";
}

/* The @i-th word of top_columns. */
static const char *column_name(char *buf, size_t len, unsigned int i)
{
	const char *at = top_columns;

	while (i--)
		at = strchr(at, ' ') + 1;
	snprintf(buf, len, "%.*s", (int)strcspn(at, " "), at);
	return buf;
}

static void print_header(double seconds, const struct view *v)
{
	char text[2 * SIZE_LEN], name[32];

	if (seconds > 0) {
		printf("%slast %s", colour(BOLD), duration_text(text, seconds));
		if (v->by != BY_NAME || v->upwards)
			printf(", by %s%s", column_name(name, sizeof(name), v->by),
			       v->upwards ? ", reversed" : "");
		printf("%s\n", colour(PLAIN));
	}
	printf("%-18s %-4s %5s %5s %6s %5s %6s %5s %6s %5s %5s\n", "CACHE",
	       "MODE", "USED%", "DIRT%", "READ/s", "HIT%", "WRIT/s", "HIT%",
	       "PROM/s", "SSD/s", "ms");
}

#define NAME_WIDTH	18	/* columns that the others leave to the name, of 80 */
#define NAME_HEAD	8	/* characters of a long name that stand before the "~" */

/* Keeps more of a long name's end, because names differ at their ends more often. */
static const char *short_name(char *buf, const char *name)
{
	size_t len = strlen(name);

	if (len <= NAME_WIDTH)
		return name;
	snprintf(buf, NAME_WIDTH + 1, "%.*s~%s", NAME_HEAD, name,
		 name + len - (NAME_WIDTH - NAME_HEAD - 1));
	return buf;
}

static void print_row(const struct entry *row)
{
	const struct cache_info *c = row->c;
	const struct rates *r = &row->r;
	char n[7][SIZE_LEN], name[NAME_WIDTH + 1];

	snprintf(n[6], SIZE_LEN, "%.2f", r->mean_ms);
	printf("%-18s %-4s %5.1f %5.1f %6s %5s %6s %5s %6s %5s %5.5s\n",
	       short_name(name, c->name), short_mode(c->mode), 100 * share(c->used, c->total),
	       100 * share(c->dirty, c->used), rate_text(n[0], r->cut_reads),
	       percent_text(n[1], r->read_hits), rate_text(n[2], r->cut_writes),
	       percent_text(n[3], r->write_hits), rate_text(n[4], r->promotions),
	       rate_text(n[5], r->ssd_written), isfinite(r->mean_ms) ? n[6] : "-");
	if (!cache_healthy(c))
		printf("%s  ^ %s%s%s\n", colour(BAD), c->health,
		       c->needs_check ? ", needs check" : "", colour(PLAIN));
}

/* ---- A cache alone: its devices, and the times of its requests ---- */

#define DETAIL_LINES	(1 + DEVICE_RATES_LINES + 1 + NR_CACHE_LATENCIES)

/* Prints the times of one kind.  Blanks replace the underscores of its name. */
static void print_latency(const char *name, struct latency l)
{
	char text[32], n[SIZE_LEN], t[4][SIZE_LEN], *at;

	snprintf(text, sizeof(text), "%s", name);
	while ((at = strchr(text, '_')))
		*at = ' ';
	printf("%-15s %5s %6s %6s %6s %6s\n", text, rate_text(n, l.requests), time_text(t[0], l.mean),
	       time_text(t[1], l.p50), time_text(t[2], l.p99), time_text(t[3], l.p999));
}

static void print_detail(const struct rates *r)
{
	unsigned int kind;

	putchar('\n');
	print_device_rates("", 0, r);
	printf("%-15s %5s %6s %6s %6s %6s\n", "", "timed", "mean", "p50", "p99", "p99.9");
	for (kind = 0; kind < NR_CACHE_LATENCIES; kind++)
		print_latency(latency_names[kind], r->latency[kind]);
}

static void print_rest(unsigned int above, unsigned int below)
{
	if (above && below)
		printf("and %u more above, %u below\n", above, below);
	else if (above)
		printf("and %u more above\n", above);
	else if (below)
		printf("and %u more\n", below);
}

static void print_table(const struct round *r, const struct round *was,
			struct view *v, unsigned int lines)
{
	struct entry *rows = rows_of(r, was, v);
	unsigned int i, used = was->when ? 2 : 1;	/* the header's lines */

	print_header(was->when ? r->when - was->when : 0, v);
	if (v->first >= r->cs.nr)
		v->first = r->cs.nr ? r->cs.nr - 1 : 0;
	for (i = v->first; i < r->cs.nr; i++) {
		used += cache_healthy(rows[i].c) ? 1 : 2;
		/* Two lines stay free, for "and N more" and for the cursor. */
		if (used + 2 > lines)
			break;
		print_row(&rows[i]);
	}
	v->shown = i - v->first;
	if (r->cs.nr == 1 && v->shown && rows[0].c->own && used + DETAIL_LINES + 1 <= lines)
		print_detail(&rows[0].r);
	if (!r->cs.nr)
		puts("no cache is active");
	else
		print_rest(v->first, r->cs.nr - i);
	free(rows);
}

/* ---- JSON: one object a round ---- */

static void json_row(const struct entry *row)
{
	const struct cache_info *c = row->c;
	const struct rates *r = &row->r;

	json_begin(NULL, '{');
	json_string("name", c->name);
	json_string("mode", c->mode);
	json_string("health", c->health);
	json_real("used", share(c->used, c->total));
	json_real("dirty", share(c->dirty, c->used));
	json_real("reads_per_second", r->cut_reads);
	json_real("read_hit_ratio", r->read_hits);
	json_real("writes_per_second", r->cut_writes);
	json_real("write_hit_ratio", r->write_hits);
	json_real("promotions_per_second", r->promotions);
	json_real("ssd_bytes_per_second", r->ssd_written);
	json_real("mean_ms", r->mean_ms);
	json_latencies("latency", r->latency);
	json_rates_of_devices(r);
	json_end();
}

static void json_table(const struct round *r, const struct round *was,
		       const struct view *v)
{
	struct entry *rows = rows_of(r, was, v);
	unsigned int i;

	json_one_line();
	json_begin(NULL, '{');
	json_time("time");
	json_real("seconds", was->when ? r->when - was->when : NAN);
	json_begin("caches", '[');
	for (i = 0; i < r->cs.nr; i++)
		json_row(&rows[i]);
	json_end();
	json_end();
	free(rows);
}

/* ---- Keys ---- */

static void scroll(struct view *v, int lines)
{
	if (lines < 0)
		v->first -= v->first < (unsigned int)-lines ? v->first : (unsigned int)-lines;
	else
		v->first += lines;
}

/* Changes the view as the key says.  @nr is the number of caches. */
static void obey(struct view *v, enum key key, unsigned int nr)
{
	unsigned int last = nr > v->shown ? nr - v->shown : 0;

	switch (key) {
	case KEY_UP:
		scroll(v, -1);
		break;
	case KEY_DOWN:
		scroll(v, 1);
		break;
	case KEY_PAGE_UP:
		scroll(v, -(int)v->shown);
		break;
	case KEY_PAGE_DOWN:
		scroll(v, v->shown);
		break;
	case KEY_FIRST:
		v->first = 0;
		break;
	case KEY_LAST:
		v->first = last;
		break;
	case KEY_LEFT:
		v->by = (v->by + NR_COLUMNS - 1) % NR_COLUMNS;
		break;
	case KEY_RIGHT:
		v->by = (v->by + 1) % NR_COLUMNS;
		break;
	case KEY_REVERSE:
		v->upwards = !v->upwards;
		break;
	case KEY_NONE:
	case KEY_REDRAW:
	case KEY_END:
		break;
	}
	/* The view does not scroll past the last line. */
	if ((key == KEY_DOWN || key == KEY_PAGE_DOWN) && v->first > last)
		v->first = last;
}

/* ---- The subcommand ---- */

struct task {
	const struct options *o;
	struct intervals v;
	struct view view;
	bool screen;
};

static int look(const struct task *t, struct round *r)
{
	static struct history h;
	int code = caches_select(&r->cs, t->v.cache);
	unsigned int i;

	if (code)
		return code;
	r->when = now();
	for (i = 0; i < r->cs.nr; i++)
		history_update(&h, &r->cs.all[i]);
	return 0;
}

static void show(struct task *t, const struct round *r, const struct round *was)
{
	if (t->o->json) {
		json_table(r, was, &t->view);
	} else {
		if (t->screen)
			screen_clear();
		intervals_stamp(t->o);
		print_table(r, was, &t->view,
			    t->screen ? screen_lines() - !!t->o->stamp : ~0U);
	}
	fflush(stdout);
}

/* Waits until the next round is due, and obeys keys meanwhile.  True if the user wants to end. */
static bool wait_on_screen(struct task *t, const struct round *r, const struct round *was)
{
	double until = r->when + t->v.seconds;
	enum key key;

	for (;;) {
		key = screen_key(until - now());
		if (key == KEY_END)
			return true;
		if (key == KEY_NONE)
			return false;
		obey(&t->view, key, r->cs.nr);
		show(t, r, was);
	}
}

static int rounds(struct task *t)
{
	struct round r = { 0 }, was = { 0 };
	unsigned long n;
	int code;

	/* A single table needs a look and an interval before it, because rates need two looks. */
	if (t->v.count == 1) {
		code = look(t, &was);
		if (code || pause_for(t->v.seconds)) {
			caches_free(&was.cs);
			return code;
		}
	}
	for (n = 1; ; n++) {
		code = look(t, &r);
		if (code)
			break;
		show(t, &r, &was);
		if (n == t->v.count || ferror(stdout) ||
		    (t->screen ? wait_on_screen(t, &r, &was) :
				 pause_for(t->v.seconds))) {
			caches_free(&r.cs);
			break;
		}
		caches_free(&was.cs);
		was = r;
	}
	caches_free(&was.cs);
	return code;
}

static bool take_sort(struct view *v, const char *word)
{
	char name[32];
	unsigned int i;

	for (i = 0; word && i < NR_COLUMNS; i++) {
		if (strcmp(column_name(name, sizeof(name), i), word))
			continue;
		v->by = i;
		return true;
	}
	if (word)
		complain("--sort %s: there are %s", word, top_columns);
	return !word;
}

/* If an argument and an option say different things, the argument counts. */
static bool take_arguments(struct task *t)
{
	if (!intervals_take(&t->v, t->o))
		return false;
	if (!t->v.seconds)
		t->v.seconds = t->o->interval;
	if (!t->v.count)
		t->v.count = t->o->count;
	return take_sort(&t->view, t->o->sort);
}

int hearth_top(const struct options *o)
{
	struct task t = { .o = o };
	struct caches cs;
	int code;

	if (!take_arguments(&t))
		return EXIT_USAGE;
	/* This look finds errors before screen_on(), because its screen would hide the messages. */
	code = caches_select(&cs, t.v.cache);
	if (code)
		return code;
	caches_free(&cs);
	catch_signals();
	t.screen = !o->batch && !o->json && screen_on();
	code = rounds(&t);
	if (t.screen)
		screen_off();
	return code;
}
