/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of the subcommands and their options.  main.c makes --help and the parser from
 * it, complete.c the words that the shells complete.
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
	OFFER_PAIRS,	/* KEY=VALUE, for hearth set */
	OFFER_PRESETS,
	OFFER_POLICIES,	/* those that are linked in, for hearth advise */
	OFFER_FORMATS,	/* of traces */
	OFFER_COLUMNS,	/* of hearth top */
	OFFER_MODES,
	OFFER_MARKS,	/* that hearth mark has made */
	OFFER_FIELDS,	/* columns of a report, with commas */
	OFFER_UNITS,	/* of the amounts of bytes in a report */
	OFFER_REPORTS,	/* formats of a report */
	OFFER_STAMPS,	/* forms of the time before a look: d and u */
	OFFER_SIDES,	/* cache and origin, for hearth origin */
};

struct dm_report_field_type;

/* One option of one subcommand. */
struct row {
	const char *name;
	char letter;		/* 0: the option has no short form */
	const char *value;	/* the name of the value in --help; NULL for a FLAG */
	enum kind kind;
	size_t to;		/* offset in struct options */
	double min, max;	/* limits of a number */
	enum offer offer;	/* for the value */
	const char *help;
	const char *hidden;	/* another name, which the help does not show; or NULL */
};

struct subcommand {
	const char *name;
	int (*run)(const struct options *o);
	const char *args;	/* as --help prints them */
	int min_args, max_args;
	enum offer offers[2];	/* for the first argument, and for those after it */
	const char *what;
	const struct row *options;	/* the last one has no name */
	void (*more_help)(FILE *out);	/* prints more help after the options; or NULL */
	const struct dm_report_field_type *fields;	/* OFFER_FIELDS offers these columns */
};

/* The columns of hearth top, with one space between two. */
extern const char top_columns[];

extern const struct subcommand subcommands[];	/* the last one has no name */

/**
 * subcommand_find() - a subcommand by its name
 * @name: the name in full; case counts
 *
 * Return: one of subcommands; NULL, without a complaint, if there is no such one.
 */
const struct subcommand *subcommand_find(const char *name);

/**
 * subcommand_field() - go through the columns of a subcommand's reports
 * @s: the subcommand, which may have no report
 * @i: from 0 on
 * @what: receives the explanation of the column, constant; stays as it is after the last
 *
 * Return: the name of the @i-th column, constant; NULL after the last.
 */
const char *subcommand_field(const struct subcommand *s, unsigned int i, const char **what);

/**
 * complete() - print the words that may stand in the place of the last word
 * @nr: how many words there are
 * @words: the words after "hearth"; the last one is as far as the user has typed it
 *
 * Prints one word a line on stdout. A tab and an explanation may follow the word. The line
 * ":files" tells the shell to offer names of files.
 *
 * Return: EXIT_OK.
 */
int complete(int nr, char **words);

#endif
