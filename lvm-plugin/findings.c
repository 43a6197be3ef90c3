// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of findings, and how it is printed.  There is one list, because a
 * command makes one report.
 *
 * It must not know any check or repair.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "text.h"

static struct finding *findings;
static unsigned int nr_findings;

#define WORD	"CACHE"

static bool is_in_name(char c)
{
	return c && (isalnum((unsigned char)c) || strchr("+-./_", c));
}

/* Is the text at @at a word, and no part of a name, such as "vg-CACHE"?  It is in @text. */
static bool is_word(const char *text, const char *at)
{
	const char *end = at + strlen(WORD);

	if (at > text && is_in_name(at[-1]))
		return false;
	/* A full stop behind the word may end the sentence. */
	return !is_in_name(*end) || (*end == '.' && !is_in_name(end[1]));
}

/* @remedy, allocated, with the name in the place of each CACHE, so that users can paste it. */
static char *with_name(const char *remedy, const char *cache)
{
	const char *rest = remedy, *word;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	while ((word = strstr(rest, WORD))) {
		fprintf(out, "%.*s%s", (int)(word - rest), rest,
			is_word(remedy, word) ? cache : WORD);
		rest = word + strlen(WORD);
	}
	fputs(rest, out);
	if (fclose(out))
		abort();
	return text;
}

void found(enum level level, const char *id, const char *subject,
	   const char *remedy, const char *format, ...)
{
	struct finding *f;
	va_list ap;

	findings = realloc(findings, (nr_findings + 1) * sizeof(*findings));
	if (!findings)
		abort();
	f = &findings[nr_findings++];
	f->level = level;
	f->id = id;
	f->subject = strdup(subject);
	f->remedy = remedy ? with_name(remedy, subject) : NULL;
	f->fix = NULL;
	va_start(ap, format);
	if (!f->subject || vasprintf(&f->text, format, ap) < 0)
		abort();
	va_end(ap);
}

void fixable(const struct fix *fix)
{
	findings[nr_findings - 1].fix = fix;
}

void forget_findings(void)
{
	while (nr_findings) {
		nr_findings--;
		free(findings[nr_findings].subject);
		free(findings[nr_findings].text);
		free(findings[nr_findings].remedy);
	}
	free(findings);
	findings = NULL;
}

const struct finding *finding_at(unsigned int i)
{
	return i < nr_findings ? &findings[i] : NULL;
}

bool any_finding(enum level least)
{
	unsigned int i;

	for (i = 0; i < nr_findings; i++)
		if (findings[i].level >= least)
			return true;
	return false;
}

bool was_found(const char *id, const char *subject)
{
	unsigned int i;

	for (i = 0; i < nr_findings; i++)
		if (!strcmp(findings[i].id, id) && !strcmp(findings[i].subject, subject))
			return true;
	return false;
}

/* ---- Printing ---- */

static const char * const level_names[] = {
	[FINE] = "fine", [NOTE] = "note", [WARNING] = "warning",
	[PROBLEM] = "problem",
};

/* If @text begins with a command in quotes, the closing quote; else @text itself. */
static const char *command_end(const char *text)
{
	const char *end = *text == '\'' ? strchr(text + 1, '\'') : NULL;

	/* A quote within a word, as in "LVM's", does not end the command. */
	while (end && isalnum((unsigned char)end[1]))
		end = strchr(end + 1, '\'');
	return end ?: text;
}

/*
 * The length of a word, or of a whole command with the word that its closing quote is a part
 * of.  A line break within a command would spoil it for pasting.
 */
static unsigned int piece(const char *text)
{
	const char *end = command_end(text);

	return end - text + strcspn(end, " ");
}

/* Prints @text from the column @indent on, and breaks lines at spaces. */
static void print_wrapped(const char *text, unsigned int indent,
			  unsigned int width)
{
	unsigned int column = indent, len;

	while (*text) {
		len = piece(text);
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
