/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Findings of hearth doctor and warnings of hearth advise: a list, and how it is
 * printed.  It must not know a check or a repair: doctor-*.c look, doctor-fix.c mends.
 */
#ifndef HEARTH_PLUGIN_FINDINGS_H
#define HEARTH_PLUGIN_FINDINGS_H

#include <stdbool.h>

enum level {
	FINE,		/* a check has found it in order */
	NOTE,		/* worth knowing; nothing has to be done */
	WARNING,	/* may do harm some day */
	PROBLEM,	/* does harm now, or will at the next start */
};

/* The repair that --fix knows for a finding. */
struct fix {
	const char *what;	/* the words by which the user is shown it and asked */
	int (*run)(const char *subject);	/* of the finding; returns an exit code */
};

struct finding {
	enum level level;
	const char *id;		/* stays the same from version to version */
	/* The name of a cache or of a volume group, the release of a kernel, "system", "advice". */
	char *subject;
	char *text, *remedy;	/* remedy: NULL if nothing has to be done, or can be */
	const struct fix *fix;	/* NULL: there is no repair that is safe */
};

/* There is one list, in a static variable. */

/**
 * found() - add a finding to the list
 * @level: how bad it is
 * @id: as of struct finding; must last as long as the list
 * @subject: as of struct finding; is copied
 * @remedy: is copied, with @subject in the place of each word CACHE; NULL if there is none. A whole
 *	command stands in single quotes, because users paste it, and no line break cuts it then.
 * @format: as of printf(): the text
 *
 * Prints nothing. Aborts without memory.
 */
__attribute__((format(printf, 5, 6)))
void found(enum level level, const char *id, const char *subject,
	   const char *remedy, const char *format, ...);
/**
 * fixable() - give a repair to the finding that was added last
 * @fix: the repair, which --fix may run; must last as long as the list
 */
void fixable(const struct fix *fix);

/** forget_findings() - empty the list, and free it */
void forget_findings(void);

/**
 * finding_at() - go through the list, in the order of found()
 * @i: from 0 on
 *
 * Return: the @i-th finding, which stays until the list changes; NULL after the last.
 */
const struct finding *finding_at(unsigned int i);

/**
 * any_finding() - is there a finding of a level, or of a worse one?
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
 * print_findings() - print findings on stdout, the worst first
 * @least: the least level that is printed
 */
void print_findings(enum level least);

/**
 * json_findings() - print findings as an array of JSON, the worst first
 * @key: the array's key; NULL outside of an object
 * @least: the least level that is printed
 */
void json_findings(const char *key, enum level least);

#endif
