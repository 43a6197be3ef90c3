/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of the subcommands and their options.  --help, the parser and the
 * completion of the shells are made from it.
 */
#ifndef HEARTH_PLUGIN_OPTIONS_H
#define HEARTH_PLUGIN_OPTIONS_H

#include <stddef.h>

#include "hearth.h"

/* The type of the member of struct options that an option sets. */
enum kind {
	FLAG,		/* bool; the option takes no value */
	WORD,		/* char * */
	REAL,		/* double; this and the next are numbers */
	COUNT,		/* unsigned long */
	BLOCKS,		/* unsigned int */
};

/* The words that a shell offers for an option's value, or for an argument. */
enum offer {
	OFFER_NOTHING,
	OFFER_CACHES,
	OFFER_FILES,
	OFFER_KEYS,	/* of settings */
	OFFER_PAIRS,	/* KEY=VALUE of hearth set */
	OFFER_PRESETS,
	OFFER_POLICIES,	/* of hearth advise */
	OFFER_FORMATS,	/* of traces */
	OFFER_COLUMNS,	/* of hearth top */
	OFFER_MODES,
	OFFER_MARKS,	/* of hearth mark */
	OFFER_FIELDS,	/* columns of a report, with commas */
	OFFER_UNITS,	/* of sizes in it */
	OFFER_REPORTS,	/* formats of it */
	OFFER_STAMPS,	/* times before it */
	OFFER_SIDES,	/* of hearth origin */
};

struct dm_report_field_type;

/* One option of one subcommand. */
struct row {
	const char *name;
	char letter;		/* 0: it has no short form */
	const char *value;	/* its name in --help; NULL for a FLAG */
	enum kind kind;
	size_t to;		/* offset in struct options */
	double min, max;	/* limits of a number */
	enum offer offer;	/* for its value */
	const char *help;
	const char *hidden;	/* another name of it, which nothing shows; or NULL */
};

struct subcommand {
	const char *name;
	int (*run)(const struct options *o);
	const char *args;	/* as --help prints them */
	int min_args, max_args;
	enum offer offers[2];	/* for the first argument, and for those after it */
	const char *what;
	const struct row *options;	/* the last one has no name */
	void (*more_help)(FILE *out);	/* printed after the options; or NULL */
	const struct dm_report_field_type *fields;	/* that OFFER_FIELDS offers */
};

/* The columns of hearth top, with one space between two. */
extern const char top_columns[];

extern const struct subcommand subcommands[];	/* the last one has no name */

/**
 * subcommand_find() - a subcommand by its name
 * @name: in full; case counts
 *
 * Return: one of subcommands; NULL, without a complaint, if there is no such one.
 */
const struct subcommand *subcommand_find(const char *name);

/**
 * subcommand_field() - go through the columns of a subcommand's reports
 * @s: the subcommand, which may have no report
 * @i: from 0 on
 * @what: receives the explanation of the column, constant
 *
 * Return: the name of the @i-th column, constant; NULL after the last.
 */
const char *subcommand_field(const struct subcommand *s, unsigned int i, const char **what);

/**
 * complete() - print the words that may stand in the place of the last one
 * @nr: how many words there are
 * @words: those after "hearth"; of the last one there is only what has been typed
 *
 * Prints one a line on stdout, with a tab and an explanation if there is one. The line
 * ":files" asks the shell for names of files.
 *
 * Return: EXIT_OK.
 */
int complete(int nr, char **words);

#endif
