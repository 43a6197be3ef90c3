// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: is this machine sound?  Findings are collected here and printed,
 * the worst first.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "hearth.h"
#include "text.h"

#define MAX_FINDINGS	256

static struct finding {
	enum level level;
	const char *id;
	char subject[2 * DM_NAME_MAX];
	char *text, *remedy;
	const struct fix *fix;	/* NULL: none that is safe */
} findings[MAX_FINDINGS];
static unsigned int nr_findings;

/* A remedy that can be pasted: what it calls CACHE is named. */
static char *with_name(const char *remedy, const char *cache)
{
	const char *word = strstr(remedy, "CACHE");
	char *text;

	if (!word)
		return strdup(remedy);
	if (asprintf(&text, "%.*s%s%s", (int)(word - remedy), remedy, cache,
		     word + strlen("CACHE")) < 0)
		abort();
	return text;
}

void found(enum level level, const char *id, const char *subject,
	   const char *remedy, const char *format, ...)
{
	struct finding *f = &findings[nr_findings];
	va_list ap;

	if (nr_findings == MAX_FINDINGS)
		return;
	nr_findings++;
	f->level = level;
	f->id = id;
	snprintf(f->subject, sizeof(f->subject), "%s", subject);
	f->remedy = remedy ? with_name(remedy, subject) : NULL;
	f->fix = NULL;
	va_start(ap, format);
	if (vasprintf(&f->text, format, ap) < 0)
		abort();
	va_end(ap);
}

void fixable(enum fix_id fix)
{
	findings[nr_findings - 1].fix = fix_of(fix);
}

static const char * const level_names[] = {
	[FINE] = "fine", [NOTE] = "note", [WARNING] = "warning",
	[PROBLEM] = "problem",
};

/* Breaks at spaces. */
static void print_wrapped(const char *text, unsigned int indent,
			  unsigned int width)
{
	unsigned int column = indent, len;

	while (*text) {
		len = strcspn(text, " ");
		if (column > indent && column + 1 + len > width) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", len, text);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_one(const struct finding *f)
{
	static const enum colour colours[] = { GOOD, PLAIN, WARN, BAD };
	char *text;

	printf("%s%-8s%s ", colour(colours[f->level]), level_names[f->level],
	       colour(PLAIN));
	if (asprintf(&text, "%s: %s", f->subject, f->text) < 0)
		abort();
	print_wrapped(text, 9, 79);
	free(text);
	if (!f->remedy)
		return;
	printf("%9s", "");
	if (asprintf(&text, "-> %s", f->remedy) < 0)
		abort();
	print_wrapped(text, 9, 79);
	free(text);
}

static void json_one(const struct finding *f)
{
	json_begin(NULL, '{');
	json_string("level", level_names[f->level]);
	json_string("id", f->id);
	json_string("subject", f->subject);
	json_string("text", f->text);
	json_string("remedy", f->remedy ?: "");
	json_string("fix", f->fix ? f->fix->what : "");
	json_end();
}

bool any_finding(enum level least)
{
	unsigned int i;

	for (i = 0; i < nr_findings; i++)
		if (findings[i].level >= least)
			return true;
	return false;
}

static void each_finding(enum level least, void (*put)(const struct finding *))
{
	unsigned int i;
	int level;

	for (level = PROBLEM; level >= (int)least; level--)
		for (i = 0; i < nr_findings; i++)
			if (findings[i].level == (enum level)level)
				put(&findings[i]);
}

void print_findings(enum level least)
{
	each_finding(least, print_one);
}

void json_findings(const char *key, enum level least)
{
	json_begin(key, '[');
	each_finding(least, json_one);
	json_end();
}

static void print_all(bool json)
{
	if (!json) {
		print_findings(FINE);
		return;
	}
	json_begin(NULL, '{');
	json_findings("findings", FINE);
	json_end();
}

/* ---- --fix ---- */

/* No answer, from a script's empty input say, is no. */
static bool agreed(const struct finding *f, const struct options *o)
{
	char answer[16];

	fprintf(stderr, "%s: %s\n%s: ", f->subject, f->text, f->fix->what);
	if (o->yes) {
		fputs("yes\n", stderr);
		return true;
	}
	fputs("do this? [y/N] ", stderr);
	fflush(stderr);
	if (fgets(answer, sizeof(answer), stdin))
		return answer[0] == 'y' || answer[0] == 'Y';
	fputc('\n', stderr);
	return false;
}

/* Has anything been done?  @code becomes nonzero if that failed. */
static bool fix_what_can_be(const struct options *o, int *code)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr_findings; i++) {
		const struct finding *f = &findings[i];

		if (!f->fix || !agreed(f, o))
			continue;
		any = true;
		*code = f->fix->run(f->subject) ?: *code;
	}
	return any;
}

/* ---- ---- */

static void forget(void)
{
	while (nr_findings) {
		nr_findings--;
		free(findings[nr_findings].text);
		free(findings[nr_findings].remedy);
	}
}

static int examine(void)
{
	struct caches cs;
	unsigned int i;
	bool no_dm;
	int r = caches_read_if_any(&cs, &no_dm);

	if (r)
		return r;
	forget();
	if (no_dm)
		found(WARNING, "device-mapper", "system",
		      "'modprobe dm-mod'; LVM does it when it needs to",
		      "this kernel has no device-mapper: no volume of LVM is active");
	examine_system(&cs);
	for (i = 0; i < cs.nr; i++)
		examine_cache(&cs.all[i]);
	caches_free(&cs);
	return EXIT_OK;
}

int hearth_doctor(const struct options *o)
{
	int r, failed = EXIT_OK;

	if (o->yes && !o->fix) {
		complain("--yes goes with --fix");
		return EXIT_USAGE;
	}
	r = examine();
	if (r)
		return r;
	/* Then what is left is what counts. */
	if (o->fix && fix_what_can_be(o, &failed))
		r = examine();
	if (r)
		return r;
	print_all(o->json);
	if (failed)
		return failed;
	return any_finding(WARNING) ? EXIT_FINDINGS : EXIT_OK;
}
