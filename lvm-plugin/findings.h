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

/*
 * Adds a finding; the list grows as it must.  @id and @subject are described
 * above.  CACHE in @remedy stands for @subject.
 */
__attribute__((format(printf, 5, 6)))
void found(enum level level, const char *id, const char *subject,
	   const char *remedy, const char *format, ...);
/* --fix may do this about the finding that was added last. */
void fixable(const struct fix *fix);
/* Empties the list. */
void forget_findings(void);

/* The finding number @i from 0 on, in the order of found(); NULL at the end. */
const struct finding *finding_at(unsigned int i);
bool any_finding(enum level least);
bool was_found(const char *id, const char *subject);
/* Prints those of level @least and worse, the worst first. */
void print_findings(enum level least);
/* The same as a JSON array; @key is NULL outside of an object. */
void json_findings(const char *key, enum level least);

#endif
