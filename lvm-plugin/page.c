// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth report: writes one HTML page about caches.  The page needs no other file.
 *
 * The page is report/page.html, with a plotting script and the data put in.  The data is the
 * JSON of other subcommands, the record of the last day, and the JSON of smartctl.  The
 * page's own script draws it.
 *
 * It must not change a cache, or know how the page looks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache-info.h"
#include "hearth.h"
#include "latency.h"
#include "record.h"
#include "smart.h"
#include "state-file.h"
#include "sysfs.h"
#include "text.h"

/*
 * The page and the script: the assembler copies their files into the program.  The symbols
 * are global, because -flto may put this text and its users into two objects.
 */
#define EMBED(symbol, file)						\
	asm(".pushsection .rodata, \"a\", %progbits\n"			\
	    ".globl " #symbol "\n.hidden " #symbol "\n"		\
	    ".type " #symbol ", %object\n"				\
	    #symbol ": .incbin \"" file "\"\n.byte 0\n"			\
	    ".size " #symbol ", . - " #symbol "\n.popsection\n");	\
	extern const char symbol[] __attribute__((visibility("hidden")))

EMBED(page_html, PAGE_HTML);
EMBED(plot_js, PLOT_JS);
EMBED(plot_css, PLOT_CSS);

/* ---- The output of another subcommand ---- */

/* The output of @run, allocated; NULL if its exit code is neither 0 nor EXIT_FINDINGS. */
static char *captured(int (*run)(const struct options *o), const struct options *o)
{
	FILE *real = stdout;
	char *text = NULL;
	size_t len;
	int r;

	stdout = open_memstream(&text, &len);
	if (!stdout)
		abort();
	r = run(o);
	fclose(stdout);
	stdout = real;
	if (r == EXIT_OK || r == EXIT_FINDINGS)
		return text;
	free(text);
	return NULL;
}

static void put_captured(FILE *out, const char *key, int (*run)(const struct options *o),
			 const struct options *o)
{
	char *text = captured(run, o);

	fprintf(out, ",\n\"%s\": %s", key, text ?: "null\n");
	free(text);
}

/* ---- Records ---- */

static void put_names(FILE *out)
{
	unsigned int i, j;

	for (i = 0; i < FIRST_IO; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "", counter_names[i]);
	for (i = 0; i < NR_ROLES; i++)
		for (j = 0; j < NR_IO_COUNTERS; j++)
			fprintf(out, ", \"%s_%s\"", roles[i].name,
				counter_names[roles[i].reads + j]);
}

static void put_sums(FILE *out, const struct sums *s)
{
	unsigned int i;

	fprintf(out, "[%.0f, %ju, %ju", s->when, s->used, s->dirty);
	for (i = 0; i < FIRST_BUCKET; i++)
		fprintf(out, ", %ju", s->count[i]);
	fputc(']', out);
}

/* Writes milliseconds; null if no request was timed. */
static void put_ms(FILE *out, double ms)
{
	if (isfinite(ms))
		fprintf(out, "%.4g", ms);
	else
		fputs("null", out);
}

/* Writes p50, p99 and p99.9 of each kind, for the requests between two sums. */
static void put_times(FILE *out, const struct sums *from, const struct sums *to)
{
	struct latency all[NR_CACHE_LATENCIES];
	uint64_t count[NR_COUNTERS];
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++)
		count[i] = to->count[i] - from->count[i];
	latencies_of(count, all);
	for (i = 0; i < NR_CACHE_LATENCIES; i++) {
		fputs(i ? ", [" : "[[", out);
		put_ms(out, all[i].p50);
		fputs(", ", out);
		put_ms(out, all[i].p99);
		fputs(", ", out);
		put_ms(out, all[i].p999);
		fputc(']', out);
	}
	fputc(']', out);
}

static void put_kinds(FILE *out)
{
	unsigned int i;

	for (i = 0; i < NR_CACHE_LATENCIES; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "", latency_names[i]);
}

static void put_record(FILE *out, const struct cache_info *c)
{
	struct record r;
	unsigned int i;

	record_read(&r, c);
	fputs("{\"names\": [", out);
	put_names(out);
	fputs("], \"lines\": [", out);
	for (i = 0; i < r.nr; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_sums(out, &r.sums[i]);
	}
	fputs("],\n\"kinds\": [", out);
	put_kinds(out);
	fputs("], \"times\": [", out);
	for (i = 1; i < r.nr; i++) {
		fputs(i > 1 ? ",\n" : "\n", out);
		put_times(out, &r.sums[i - 1], &r.sums[i]);
	}
	fputs("]}", out);
	record_free(&r);
}

static void put_records(FILE *out, const struct caches *cs)
{
	unsigned int i;

	fputs(",\n\"records\": {", out);
	for (i = 0; i < cs->nr; i++) {
		fputs(i ? ",\n" : "\n", out);
		json_quote(out, cs->all[i].name);
		fputs(": ", out);
		put_record(out, &cs->all[i]);
	}
	fputs("}", out);
}

/* ---- SMART ---- */

/* Writes "DISK" and smartctl's JSON about it; nothing if there is none. */
static void put_smart_of(FILE *out, const char *disk, bool *first)
{
	struct smart s;

	if (!smart_read(&s, disk))
		return;
	fputs(*first ? "\n" : ",\n", out);
	json_quote(out, disk);
	fprintf(out, ": %s", s.text);
	*first = false;
	free(s.text);
}

static void put_smart(FILE *out, const struct caches *cs)
{
	char disks[600], *rest, *disk;
	bool first = true;
	unsigned int i;

	fputs(",\n\"smart\": {", out);
	for (i = 0; i < cs->nr; i++) {
		device_disks(cs->all[i].cache_device, disks, sizeof(disks));
		rest = disks;
		while ((disk = strsep(&rest, ",")))
			if (disk[0] == '/')
				put_smart_of(out, disk, &first);
	}
	fputs("}", out);
}

/* ---- The page ---- */

static void put_head(FILE *out)
{
	char host[256] = "", when[32];
	time_t t = time(NULL);

	gethostname(host, sizeof(host) - 1);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
	fputs("{\"host\": ", out);
	json_quote(out, host);
	fprintf(out, ", \"time\": \"%s\"", when);
}

/* ---- The curve of misses ---- */

/*
 * The JSON of hearth advise, allocated, about the recording that --trace names, or about the
 * requests to @c from now on.  NULL without --trace and --live, or if hearth advise fails.
 */
static char *advice_on(const struct options *o, struct cache_info *c)
{
	struct options of_trace = { .json = true, .args = (char **)&o->trace, .nr_args = 1,
				    .cache = c->name };
	struct options of_live = { .json = true, .live = c->name, .minutes = o->live_minutes };

	if (o->trace)
		return captured(hearth_advise, &of_trace);
	if (!o->live_minutes)
		return NULL;
	if (isatty(2))
		fprintf(stderr, "%s: recording for %g minutes; Ctrl-C ends it early\n", c->name,
			o->live_minutes);
	return captured(hearth_advise, &of_live);
}

/* Writes the curve's data, and the source of it, which the page tells. */
static void put_curve(FILE *out, const struct options *o, const char *advice)
{
	fputs(",\n\"curve_from\": ", out);
	if (o->trace)
		json_quote(out, o->trace);
	else
		fputs(o->live_minutes ? "\"live\"" : "null", out);
	fprintf(out, ",\n\"advice\": %s", advice ?: "null\n");
}

static void gather(FILE *out, const struct options *o, struct caches *cs, const char *advice)
{
	struct options status = { .json = true, .args = o->args, .nr_args = o->nr_args };
	struct options doctor = { .json = true };

	put_head(out);
	put_captured(out, "status", hearth_status, &status);
	put_captured(out, "doctor", hearth_doctor, &doctor);
	put_curve(out, o, advice);
	put_records(out, cs);
	put_smart(out, cs);
	fputs("}\n", out);
}

static void put_data(FILE *out, const struct options *o, struct caches *cs, const char *advice)
{
	char *text = NULL, *s;
	size_t len;
	FILE *data = open_memstream(&text, &len);

	if (!data)
		abort();
	gather(data, o, cs, advice);
	fclose(data);
	for (s = text; *s; s++)
		/* A "<" could begin a tag that ends the page's script. */
		if (*s == '<')
			fputs("\\u003c", out);
		else
			fputc(*s, out);
	free(text);
}

#define SOURCE_MAP	"# sourceMappingURL="

/* Writes a file of Dygraphs, up to its last comment, which names a file for its developers. */
static void put_library(FILE *out, const char *text)
{
	const char *end = strstr(text, SOURCE_MAP);

	/* A comment begins with two letters, "//" or a slash and a star. */
	fwrite(text, 1, end ? end - text - 2 : (long)strlen(text), out);
	fputc('\n', out);
}

/* Writes @page up to the line @mark, and returns what is after that line. */
static const char *put_until(FILE *out, const char *page, const char *mark)
{
	const char *end = strstr(page, mark);

	fwrite(page, 1, end - page, out);
	return end + strlen(mark);
}

static void put_page(FILE *out, const struct options *o, struct caches *cs, const char *advice)
{
	const char *rest = page_html;

	rest = put_until(out, rest, "@STYLE@\n");
	put_library(out, plot_css);
	rest = put_until(out, rest, "@DATA@\n");
	put_data(out, o, cs, advice);
	rest = put_until(out, rest, "@PLOT@\n");
	put_library(out, plot_js);
	fputs(rest, out);
}

/* ---- The file ---- */

static bool write_in_place(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");
	bool ok;

	if (!out)
		return false;
	ok = fputs(text, out) >= 0;
	return !fclose(out) && ok;
}

/* A web server may read the old page only by its group, or its mode. */
static void keep_owner(const char *path, const struct stat *old)
{
	/* If the group cannot be kept, its rights are not given to another group. */
	if (chown(path, old->st_uid, old->st_gid))
		return;
	chmod(path, old->st_mode & 07777);
}

/*
 * An old page is replaced as a whole, and stays if that fails.  A link to it stays a link.  A
 * file that is no page, such as /dev/stdout, must not be replaced.
 */
static bool write_file(const char *file, const char *text)
{
	char *path = realpath(file, NULL);
	struct stat st;
	bool ok;

	if (path && !stat(path, &st) && S_ISREG(st.st_mode)) {
		ok = state_file_refresh(path, state_file_put_text, text);
		if (ok)
			keep_owner(path, &st);
	} else {
		ok = write_in_place(file, text);
	}
	free(path);
	return ok;
}

static int write_page(const struct options *o, struct caches *cs, const char *advice)
{
	char *text = NULL;
	size_t len;
	FILE *page = open_memstream(&text, &len);
	int r = EXIT_OK;

	if (!page)
		abort();
	put_page(page, o, cs, advice);
	if (fclose(page))
		abort();
	if (!write_file(o->file, text)) {
		complain("%s: %s", o->file, strerror(errno));
		r = EXIT_FAILED;
	}
	free(text);
	return r;
}

/* ---- The subcommand ---- */

static int check_options(const struct options *o)
{
	if (o->file && !(o->trace && o->live_minutes))
		return EXIT_OK;
	complain(o->file ? "give --trace or --live, not both" :
			   "report writes a page: name it by -o FILE");
	return EXIT_USAGE;
}

/*
 * Can the file be written?  This is asked before a recording, because that may take hours.
 * An old page stays as it is.
 */
static int check_file(const struct options *o)
{
	FILE *f = fopen(o->file, "ae");

	if (f && !fclose(f))
		return EXIT_OK;
	complain("%s: %s", o->file, strerror(errno));
	return EXIT_FAILED;
}

/*
 * Asks hearth advise for the curve if the options want one.  *@advice is allocated; it stays
 * as it is without a curve.
 */
static int ask_advice(const struct options *o, const char *name, char **advice)
{
	struct caches cs;
	int r;

	if (!o->trace && !o->live_minutes)
		return EXIT_OK;
	r = check_file(o) ?: caches_select(&cs, name);
	if (r)
		return r;
	if (cs.nr == 1) {
		*advice = advice_on(o, &cs.all[0]);
	} else {
		complain("%s is of one cache: name it", o->trace ? "--trace" : "--live");
		r = EXIT_USAGE;
	}
	caches_free(&cs);
	return r;
}

int hearth_report(const struct options *o)
{
	const char *name = o->nr_args ? o->args[0] : NULL;
	char *advice = NULL;
	struct caches cs;
	int r;

	r = check_options(o) ?: ask_advice(o, name, &advice);
	if (r)
		return r;
	/* The caches are read after the recording, so that the page has the counters of now. */
	r = caches_select(&cs, name);
	if (!r) {
		r = write_page(o, &cs, advice);
		caches_free(&cs);
		/* Nobody may have used the volume while --live recorded; --trace was chosen. */
		if (o->trace && !advice)
			r = EXIT_FAILED;
	}
	free(advice);
	return r;
}
