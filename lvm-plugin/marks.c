// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth mark: remembers the counters of caches under a name.
 *
 * /var/lib/hearth/marks/NAME: the first line has the format, the number of counters and the
 * time.  Each further line is about one cache: its device-mapper name, its name for users,
 * the time when its record began, and its counters as the record adds them up.
 *
 * It must not change a cache.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hearth.h"
#include "marks.h"
#include "state-file.h"
#include "text.h"

#define DIRECTORY	STATE_DIRECTORY "/marks"
#define FORMAT		"hearth-mark 1"
#define MAX_NAME	64

/* ---- Names ---- */

static bool good_name(const char *name)
{
	const char *s;

	for (s = name; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
			return false;
	return isalpha((unsigned char)name[0]) && s - name <= MAX_NAME;
}

static char *path_of(const char *name)
{
	return root_path(DIRECTORY "/%s", name);
}

static int is_mark(const struct dirent *d)
{
	return good_name(d->d_name);
}

/* The number of marks; 0 also if they cannot be listed.  @list is as of scandir(). */
static int list_marks(struct dirent ***list)
{
	char *path = path_of("");
	int nr = scandir(path, list, is_mark, alphasort);

	free(path);
	if (nr < 0)
		*list = NULL;
	return nr < 0 ? 0 : nr;
}

char *mark_names(void)
{
	struct dirent **list;
	int i, nr = list_marks(&list);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	for (i = 0; i < nr; i++) {
		fprintf(out, "%s%s", i ? " " : "", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	fclose(out);
	return text;
}

/* ---- A mark's file ---- */

struct mark {
	FILE *f;
	double when;		/* seconds since 1970 */
	/* The rest is of the line that was read last. */
	char dm_name[DM_NAME_MAX], name[2 * DM_NAME_MAX];
	double began;		/* seconds since 1970 */
	uint64_t count[NR_COUNTERS];
};

/*
 * Opens a mark and reads its first line.  The caller closes @m->f.  False if there is no
 * such mark, or it has another format or number of counters.
 */
static bool open_mark(struct mark *m, const char *name)
{
	char *path = path_of(name);
	int nr = 0;

	m->f = fopen(path, "re");
	free(path);
	if (!m->f)
		return false;
	if (fscanf(m->f, FORMAT " %d %lf", &nr, &m->when) == 2 && nr == NR_COUNTERS)
		return true;
	fclose(m->f);
	return false;
}

static bool next_cache(struct mark *m)
{
	unsigned int i;

	if (fscanf(m->f, "%127s %255s %lf", m->dm_name, m->name, &m->began) != 3)
		return false;
	for (i = 0; i < NR_COUNTERS; i++)
		if (fscanf(m->f, "%ju", &m->count[i]) != 1)
			return false;
	return true;
}

/* ---- Making one ---- */

static bool put_cache(FILE *out, const struct cache_info *c)
{
	const struct sums *last;
	struct record r;
	unsigned int i;

	record_keep(c);
	if (!record_read(&r, c)) {
		complain("%s: its counters are not kept in /var/lib/hearth/counters", c->name);
		return false;
	}
	last = &r.sums[r.nr - 1];
	fprintf(out, "%s %s %.3f", c->dm->name, c->name, r.began);
	for (i = 0; i < NR_COUNTERS; i++)
		fprintf(out, " %ju", last->count[i]);
	fputc('\n', out);
	record_free(&r);
	return true;
}

/* The text of a mark's file, allocated; NULL after a complaint. */
static char *mark_text(const struct caches *cs)
{
	char *text = NULL;
	bool ok = true;
	unsigned int i;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	fprintf(out, FORMAT " %d %jd\n", NR_COUNTERS, (intmax_t)time(NULL));
	for (i = 0; i < cs->nr && ok; i++)
		ok = put_cache(out, &cs->all[i]);
	fclose(out);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static bool make_directory(void)
{
	if (state_directory(DIRECTORY))
		return true;
	complain("%s" DIRECTORY ": %s", dm_root(), strerror(errno));
	return false;
}

/* The old mark of that name stays until the new one is whole. */
static int write_mark(const char *name, const struct caches *cs)
{
	char *text = mark_text(cs), *path;
	int r = EXIT_OK;

	if (!text)
		return EXIT_FAILED;
	path = path_of(name);
	if (!state_file_write(path, state_file_put_text, text)) {
		complain("%s: %s", path, strerror(errno));
		r = EXIT_FAILED;
	}
	free(path);
	free(text);
	return r;
}

static int make_mark(const char *name, const char *cache)
{
	struct caches cs;
	int r;

	if (!good_name(name) || !strcmp(name, MARK_BEGIN)) {
		complain("%s: a mark's name is a letter, then letters, digits, '.', '_' and '-', and not "
			 MARK_BEGIN, name);
		return EXIT_USAGE;
	}
	r = caches_select(&cs, cache);
	if (r)
		return r;
	if (!cs.nr) {
		complain("no cache is active");
		r = EXIT_NO_CACHE;
	} else {
		r = make_directory() ? write_mark(name, &cs) : EXIT_FAILED;
	}
	caches_free(&cs);
	return r;
}

/* ---- Since one ---- */

/* The seconds of a span such as 30m, 6h or 1d; 0 if the text is no span. */
static double span_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || n <= 0 || !*end || end[1])
		return 0;
	switch (*end) {
	case 'm':
		return n * 60;
	case 'h':
		return n * 3600;
	case 'd':
		return n * 86400;
	}
	return 0;
}

static bool since_mark(const char *name, const struct cache_info *c,
		       const struct record *r, struct window *w)
{
	struct mark m;
	struct sums p;
	bool found = false;

	if (!good_name(name) || !open_mark(&m, name)) {
		complain("no mark '%s'; 'hearth mark' lists those that there are", name);
		return false;
	}
	while (!found && next_cache(&m))
		found = !strcmp(m.dm_name, c->dm->name);
	fclose(m.f);
	if (!found) {
		complain("%s: mark '%s' does not have it", c->name, name);
		return false;
	}
	if (m.began != r->began) {
		complain("%s: its counters were begun anew after mark '%s'", c->name, name);
		return false;
	}
	p.when = m.when;
	memcpy(p.count, m.count, sizeof(p.count));
	*w = record_since(r, &p);
	return true;
}

bool mark_window(const char *since, const struct cache_info *c, struct window *w)
{
	struct sums began = { .when = 0 };
	struct record r;
	bool ok = true;

	record_keep(c);
	if (!record_read(&r, c)) {
		complain("%s: no counters are kept of it", c->name);
		return false;
	}
	began.when = r.began;
	if (!strcmp(since, MARK_BEGIN)) {
		*w = record_since(&r, &began);
	} else if (span_of(since)) {
		*w = record_window(&r, span_of(since));
		ok = w->seconds;
		if (!ok)
			complain("%s: no counters of that time are kept", c->name);
	} else {
		ok = since_mark(since, c, &r, w);
	}
	record_free(&r);
	return ok;
}

/* ---- The subcommand ---- */

static void print_caches(struct mark *m, bool json)
{
	while (next_cache(m)) {
		if (json)
			json_string(NULL, m->name);
		else
			printf("  %s", m->name);
	}
}

static void print_mark(const char *name, bool json)
{
	char text[32];
	struct mark m;
	time_t when;

	if (!open_mark(&m, name))
		return;
	when = m.when;
	if (json) {
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&when));
		json_begin(NULL, '{');
		json_string("name", name);
		json_string("time", text);
		json_begin("caches", '[');
	} else {
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime(&when));
		printf("%-20s %s", name, text);
	}
	print_caches(&m, json);
	if (json) {
		json_end();
		json_end();
	} else {
		putchar('\n');
	}
	fclose(m.f);
}

static void print_marks(bool json)
{
	struct dirent **list;
	int i, nr = list_marks(&list);

	if (json) {
		json_begin(NULL, '{');
		json_begin("marks", '[');
	}
	for (i = 0; i < nr; i++) {
		print_mark(list[i]->d_name, json);
		free(list[i]);
	}
	free(list);
	if (json) {
		json_end();
		json_end();
	}
}

static int delete_mark(const char *name)
{
	char *path = path_of(name);
	bool good = good_name(name), ok = good && !unlink(path);

	if (!ok && good && errno != ENOENT)
		complain("%s: %s", path, strerror(errno));
	else if (!ok)
		complain("no mark '%s'; 'hearth mark' lists those that there are", name);
	free(path);
	return ok ? EXIT_OK : EXIT_FAILED;
}

int hearth_mark(const struct options *o)
{
	int r = EXIT_OK;

	if (o->remove && o->nr_args != 1) {
		complain("--delete takes a mark, and nothing else");
		return EXIT_USAGE;
	}
	if (o->remove)
		r = delete_mark(o->args[0]);
	else if (o->nr_args)
		r = make_mark(o->args[0], o->nr_args > 1 ? o->args[1] : NULL);
	if (r == EXIT_OK && (o->json || !o->nr_args))
		print_marks(o->json);
	return r;
}
