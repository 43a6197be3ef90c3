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
} findings[MAX_FINDINGS];
static unsigned int nr_findings;

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
	f->remedy = remedy ? strdup(remedy) : NULL;
	va_start(ap, format);
	if (vasprintf(&f->text, format, ap) < 0)
		abort();
	va_end(ap);
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
	json_end();
}

static void print_all(bool json)
{
	unsigned int i;
	int level;

	if (json) {
		json_begin(NULL, '{');
		json_begin("findings", '[');
	}
	for (level = PROBLEM; level >= FINE; level--)
		for (i = 0; i < nr_findings; i++)
			if (findings[i].level == (enum level)level) {
				if (json)
					json_one(&findings[i]);
				else
					print_one(&findings[i]);
			}
	if (json) {
		json_end();
		json_end();
	}
}

int hearth_doctor(const struct options *o)
{
	struct caches cs;
	unsigned int i;
	int r = caches_read(&cs);

	if (r)
		return r;
	examine_system(&cs);
	for (i = 0; i < cs.nr; i++)
		examine_cache(&cs.all[i]);
	caches_free(&cs);
	print_all(o->json);
	for (i = 0; i < nr_findings; i++)
		if (findings[i].level >= WARNING)
			return EXIT_FINDINGS;
	return EXIT_OK;
}
