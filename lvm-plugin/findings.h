/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Findings of hearth doctor and warnings of hearth advise: a list, and how it is
 * printed.  Knows no checks and no repairs: doctor-*.c look, doctor-fix.c mends.
 */
#ifndef HEARTH_PLUGIN_FINDINGS_H
#define HEARTH_PLUGIN_FINDINGS_H

#include <stdbool.h>

enum level {
	FINE,		/* was looked at, and is in order */
	NOTE,		/* worth knowing; nothing has to be done */
	WARNING,	/* may do harm some day */
	PROBLEM,	/* does harm now, or will at the next start */
};

/* The repair that --fix knows for a finding. */
struct fix {
	const char *what;	/* as it is shown and asked for */
	int (*run)(const char *subject);	/* returns an exit code */
};

struct finding {
	enum level level;
	const char *id;		/* stays the same from version to version */
	char *subject;		/* a cache's name, "system" or "advice" */
	char *text, *remedy;	/* remedy: NULL if nothing has to be done */
	const struct fix *fix;	/* NULL: there is none that is safe */
};

/* There is one list, in a static variable. */

/**
 * found() - add a finding to the list
 * @level: how bad it is
 * @id: as of struct finding; must last as long as the list
 * @subject: as of struct finding; is copied
 * @remedy: is copied, with @subject in the place of each CACHE; NULL if nothing has to be
 *	done. Commands stand in single quotes, whole, because they are pasted.
 * @format: as of printf(): the text
 *
 * Prints nothing. Aborts without memory.
 */
__attribute__((format(printf, 5, 6)))
void found(enum level level, const char *id, const char *subject,
	   const char *remedy, const char *format, ...);
/**
 * fixable() - name the repair that --fix may do about the finding that was added last
 * @fix: the repair; must last as long as the list
 */
void fixable(const struct fix *fix);

/** forget_findings() - empty the list, and free it */
void forget_findings(void);

/**
 * finding_at() - go through the list, in the order of found()
 * @i: from 0 on
 *
 * Return: the @i-th, until the list changes; NULL at the end.
 */
const struct finding *finding_at(unsigned int i);

/**
 * any_finding() - is there a finding so bad, or worse?
 * @least: the level
 *
 * Return: true if there is one.
 */
bool any_finding(enum level least);

/**
 * was_found() - is there this finding of a subject?
 * @id: as of struct finding
 * @subject: as of struct finding
 *
 * Return: true if there is, at any level.
 */
bool was_found(const char *id, const char *subject);

/**
 * print_findings() - print the list on stdout, the worst first
 * @least: those of this level and worse
 */
void print_findings(enum level least);

/**
 * json_findings() - print the list as an array of JSON, the worst first
 * @key: the array's key; NULL outside of an object
 * @least: those of this level and worse
 */
void json_findings(const char *key, enum level least);

#endif
