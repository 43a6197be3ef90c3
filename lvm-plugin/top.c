// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth top: a table of all caches, and of what they did in the last interval,
 * again and again.
 *
 * On a terminal the screen is redrawn, and the key q ends it; elsewhere one table
 * follows the other.  No line exceeds 80 columns.
 *
 * It must not change a cache, or run a command of LVM's.
 */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cache-info.h"
#include "hearth.h"
#include "history.h"
#include "text.h"

#define SECTOR	512.0

/* The caches as they were in one round. */
struct round {
	struct caches cs;
	double when;
};

/* The activity of one cache between two rounds; numbers are per second. */
struct activity {
	bool known;
	double reads, writes;		/* requests, cut at blocks */
	double read_hits, write_hits;	/* shares; NAN if there were none */
	double promotions, ssd_bytes;
	double ms;			/* mean of all requests; NAN */
};

static double ratio_or_nan(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static struct activity activity(const struct cache_info *c, const struct round *was,
				double when)
{
	const struct cache_info *before = caches_find(&was->cs, c->dm->name);
	struct activity a = { 0 };
	struct sample from, to;
	struct window w;
	uint64_t *n = w.count;

	if (!before || when <= was->when)
		return a;
	from = sample_now(before);
	to = sample_now(c);
	if (!sample_difference(&from, &to, &w))
		return a;
	w.seconds = when - was->when;
	a.known = true;
	a.reads = (n[READ_HITS] + n[READ_MISSES]) / w.seconds;
	a.writes = (n[WRITE_HITS] + n[WRITE_MISSES]) / w.seconds;
	a.read_hits = ratio_or_nan(n[READ_HITS], n[READ_HITS] + n[READ_MISSES]);
	a.write_hits = ratio_or_nan(n[WRITE_HITS],
				    n[WRITE_HITS] + n[WRITE_MISSES]);
	a.promotions = n[PROMOTIONS] / w.seconds;
	a.ssd_bytes = c->own ? n[CACHE_SECTORS_WRITTEN] * SECTOR / w.seconds :
			       NAN;
	a.ms = ratio_or_nan(n[IO_READ_MS] + n[IO_WRITE_MS],
			    n[IO_READS] + n[IO_WRITES]);
	return a;
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

static const char *rate(char *buf, const struct activity *a, double n)
{
	return a->known && isfinite(n) ? short_text(buf, n) : "-";
}

static const char *percent(char *buf, const struct activity *a, double n)
{
	if (!a->known || !isfinite(n))
		return "-";
	snprintf(buf, SIZE_LEN, "%.1f", 100 * n);
	return buf;
}

static void print_header(double seconds)
{
	char text[2 * SIZE_LEN];

	if (seconds > 0)
		printf("%slast %s%s\n", colour(BOLD),
		       duration_text(text, seconds), colour(PLAIN));
	printf("%-18s %-4s %5s %5s %6s %5s %6s %5s %6s %5s %5s\n", "CACHE",
	       "MODE", "USED%", "DIRT%", "READ/s", "HIT%", "WRIT/s", "HIT%",
	       "PROM/s", "SSD/s", "ms");
}

#define NAME_WIDTH	18	/* what 80 columns leave to it */
#define NAME_HEAD	8	/* of a name that is too long; then "~" */

/* Long names differ at their ends more often than at their beginnings. */
static const char *short_name(char *buf, const char *name)
{
	size_t len = strlen(name);

	if (len <= NAME_WIDTH)
		return name;
	snprintf(buf, NAME_WIDTH + 1, "%.*s~%s", NAME_HEAD, name,
		 name + len - (NAME_WIDTH - NAME_HEAD - 1));
	return buf;
}

static void print_row(const struct cache_info *c, const struct activity *a)
{
	char n[7][SIZE_LEN], name[NAME_WIDTH + 1];

	snprintf(n[6], SIZE_LEN, "%.2f", a->ms);
	printf("%-18s %-4s %5.1f %5.1f %6s %5s %6s %5s %6s %5s %5.5s\n",
	       short_name(name, c->name), short_mode(c->mode), 100 * share(c->used, c->total),
	       100 * share(c->dirty, c->used), rate(n[0], a, a->reads),
	       percent(n[1], a, a->read_hits), rate(n[2], a, a->writes),
	       percent(n[3], a, a->write_hits), rate(n[4], a, a->promotions),
	       rate(n[5], a, a->ssd_bytes),
	       a->known && isfinite(a->ms) ? n[6] : "-");
	if (!cache_healthy(c))
		printf("%s  ^ %s%s%s\n", colour(BAD), c->health,
		       c->needs_check ? ", needs check" : "", colour(PLAIN));
}

static void print_table(const struct round *r, const struct round *was,
			unsigned int lines)
{
	unsigned int i, used = was->when ? 2 : 1;	/* the header's */

	print_header(was->when ? r->when - was->when : 0);
	for (i = 0; i < r->cs.nr; i++) {
		const struct cache_info *c = &r->cs.all[i];
		struct activity a = activity(c, was, r->when);

		used += cache_healthy(c) ? 1 : 2;
		/* Two lines stay free: for "and N more", and for the cursor. */
		if (used + 2 > lines)
			break;
		print_row(c, &a);
	}
	if (!r->cs.nr)
		puts("no cache is active");
	else if (i < r->cs.nr)
		printf("and %u more\n", r->cs.nr - i);
}

/* ---- JSON: one object a round ---- */

static void json_row(const struct cache_info *c, const struct activity *a)
{
	json_begin(NULL, '{');
	json_string("name", c->name);
	json_string("mode", c->mode);
	json_string("health", c->health);
	json_real("used", share(c->used, c->total));
	json_real("dirty", share(c->dirty, c->used));
	json_real("reads_per_second", a->known ? a->reads : NAN);
	json_real("read_hit_ratio", a->known ? a->read_hits : NAN);
	json_real("writes_per_second", a->known ? a->writes : NAN);
	json_real("write_hit_ratio", a->known ? a->write_hits : NAN);
	json_real("promotions_per_second", a->known ? a->promotions : NAN);
	json_real("ssd_bytes_per_second", a->known ? a->ssd_bytes : NAN);
	json_real("mean_ms", a->known ? a->ms : NAN);
	json_end();
}

static void json_table(const struct round *r, const struct round *was)
{
	unsigned int i;

	json_begin(NULL, '{');
	json_real("seconds", was->when ? r->when - was->when : NAN);
	json_begin("caches", '[');
	for (i = 0; i < r->cs.nr; i++) {
		struct activity a = activity(&r->cs.all[i], was, r->when);

		json_row(&r->cs.all[i], &a);
	}
	json_end();
	json_end();
}

/* ---- The terminal ---- */

static struct termios before;

static void screen_on(void)
{
	struct termios raw;

	tcgetattr(0, &before);
	raw = before;
	raw.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(0, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
}

static void screen_off(void)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(0, TCSANOW, &before);
}

static unsigned int screen_lines(void)
{
	struct winsize size;

	return ioctl(1, TIOCGWINSZ, &size) || !size.ws_row ? 24 : size.ws_row;
}

/* ---- Ctrl-Z: the shell gets its screen back ---- */

static volatile sig_atomic_t to_stop;

static void on_stop(int signal)
{
	(void)signal;
	to_stop = 1;
}

/* From here on SIGTSTP is delivered only while we wait for a key. */
static void hold_stops(sigset_t *as_it_was)
{
	struct sigaction action = { .sa_handler = on_stop };
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigprocmask(SIG_BLOCK, &stop, as_it_was);
	sigaction(SIGTSTP, &action, NULL);
}

/* Stops as Ctrl-Z does.  Returns when the shell continues us. */
static void stop(const sigset_t *as_it_was)
{
	to_stop = 0;
	screen_off();
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigprocmask(SIG_SETMASK, as_it_was, NULL);
	hold_stops(&(sigset_t){ 0 });
	screen_on();
}

/* True if the user wants to end.  Other keys and a resize return at once. */
static bool wait_for_key(double seconds, const sigset_t *as_it_was)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	struct timespec t = { .tv_sec = seconds };
	char key = 0;

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	if (ppoll(&in, 1, &t, as_it_was) > 0 && read(0, &key, 1) < 1)
		return true;
	if (to_stop)
		stop(as_it_was);
	return interrupted || key == 'q' || key == 'Q';
}

/* ---- The subcommand ---- */

static int look(struct round *r)
{
	static struct history h;
	int code = caches_read(&r->cs);
	unsigned int i;

	if (code)
		return code;
	r->when = now();
	for (i = 0; i < r->cs.nr; i++)
		history_update(&h, &r->cs.all[i]);
	return 0;
}

static void show(const struct options *o, const struct round *r,
		 const struct round *was, bool screen)
{
	if (o->json) {
		json_table(r, was);
	} else {
		if (screen)
			fputs("\033[H\033[J", stdout);
		print_table(r, was, screen ? screen_lines() : ~0U);
	}
	fflush(stdout);
}

static int rounds(const struct options *o, bool screen)
{
	struct round r = { 0 }, was = { 0 };
	sigset_t as_it_was;
	unsigned long n;
	int code;

	if (screen)
		hold_stops(&as_it_was);
	/* A single table has rates only if it is taken after an interval. */
	if (o->count == 1) {
		code = look(&was);
		if (code || pause_for(o->interval)) {
			caches_free(&was.cs);
			return code;
		}
	}
	for (n = 1; ; n++) {
		code = look(&r);
		if (code)
			break;
		show(o, &r, &was, screen);
		caches_free(&was.cs);
		was = r;
		if (n == o->count || ferror(stdout))
			break;
		if (screen ? wait_for_key(o->interval, &as_it_was) : pause_for(o->interval))
			break;
	}
	caches_free(&was.cs);
	return code;
}

int hearth_top(const struct options *o)
{
	bool screen = isatty(0) && isatty(1) && !o->batch && !o->json;
	struct caches cs;
	int code;

	/* Errors at the start are printed before the screen is switched. */
	code = caches_read(&cs);
	if (code)
		return code;
	caches_free(&cs);
	catch_signals();
	if (screen)
		screen_on();
	code = rounds(o, screen);
	if (screen)
		screen_off();
	return code;
}
