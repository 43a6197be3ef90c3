// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth: finds the subcommand, and gives its options to argp, as the table in
 * subcommands.c describes them.
 *
 * It must not know what a subcommand does.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define MAX_ROWS	32	/* of a subcommand, with hidden names and argp_rows()'s four */
#define HELP		'h'
#define VERSION		'V'
#define FIRST_ROW	256	/* argp's key of row 0, if it has no letter */
#define USAGE		(FIRST_ROW + MAX_ROWS)

static void print_version(void)
{
	puts("hearth " HEARTH_VERSION);
}

/* ---- One subcommand ---- */

/* The parser fills this in. */
struct parsing {
	const struct subcommand *s;
	struct options *o;
	int result;
};

static int key_of(const struct subcommand *s, const struct row *row)
{
	return row->letter ?: FIRST_ROW + (int)(row - s->options);
}

static const struct row *row_of(const struct subcommand *s, int key)
{
	const struct row *row;

	for (row = s->options; row->name; row++)
		if (key_of(s, row) == key)
			return row;
	return NULL;
}

static bool number(const struct row *row, const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end != text && !*end && *value >= row->min && *value <= row->max)
		return true;
	complain("--%s %s: must be a number from %g to %g", row->name, text,
		 row->min, row->max);
	return false;
}

/* Stores one option's value.  False, after a complaint, if the value makes no sense. */
static bool take(struct options *o, const struct row *row, char *text)
{
	void *to = (char *)o + row->to;
	double value = 0;

	if (row->kind >= REAL && !number(row, text, &value))
		return false;
	switch (row->kind) {
	case FLAG:
		*(bool *)to = true;
		break;
	case WORD:
		*(char **)to = text;
		break;
	case REAL:
		*(double *)to = value;
		break;
	case COUNT:
		*(unsigned long *)to = value;
		break;
	case BLOCKS:
		*(unsigned int *)to = value;
		break;
	}
	return true;
}

/* Ends the parsing with this exit code. */
static error_t done(struct parsing *p, int result)
{
	p->result = result;
	return ECANCELED;
}

static error_t arguments(struct parsing *p, struct argp_state *state)
{
	p->o->args = state->argv + state->next;
	p->o->nr_args = state->argc - state->next;
	state->next = state->argc;
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct parsing *p = state->input;
	const struct row *row;

	switch (key) {
	case HELP:
		argp_state_help(state, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG |
				ARGP_HELP_DOC);
		if (p->s->more_help)
			p->s->more_help(stdout);
		return done(p, EXIT_OK);
	case USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE);
		return done(p, EXIT_OK);
	case VERSION:
		print_version();
		return done(p, EXIT_OK);
	case ARGP_KEY_ARGS:
		return arguments(p, state);
	case ARGP_KEY_SUCCESS:
		if (p->o->nr_args < p->s->min_args ||
		    p->o->nr_args > p->s->max_args)
			argp_usage(state);
		return 0;
	}
	row = row_of(p->s, key);
	if (!row)
		return ARGP_ERR_UNKNOWN;
	return take(p->o, row, text) ? 0 : done(p, EXIT_USAGE);
}

/* Fills @to, for argp, with the options of @s and those that all subcommands have. */
static void argp_rows(const struct subcommand *s, struct argp_option *to)
{
	const struct row *row;

	for (row = s->options; row->name; row++) {
		*to++ = (struct argp_option){ row->name, key_of(s, row),
					      row->value, 0, row->help };
		if (row->hidden)
			*to++ = (struct argp_option){ row->hidden,
						      .flags = OPTION_ALIAS | OPTION_HIDDEN };
	}
	*to++ = (struct argp_option){ "help", HELP, NULL, 0,
				      "print this text", -1 };
	*to++ = (struct argp_option){ "usage", USAGE, NULL, 0,
				      "print the options alone", -1 };
	*to++ = (struct argp_option){ "version", VERSION, NULL, 0,
				      "print hearth's version", -1 };
	*to = (struct argp_option){ 0 };
}

static int run(const struct subcommand *s, int argc, char **argv)
{
	struct options o = { .interval = 2, .minutes = 10 };
	struct parsing p = { .s = s, .o = &o };
	struct argp_option rows[MAX_ROWS];
	char name[32], doc[256];
	struct argp argp = { .options = rows, .parser = parse,
			     .args_doc = s->args, .doc = doc };

	argp_rows(s, rows);
	/* argp begins its complaints and texts with this name. */
	snprintf(name, sizeof(name), "hearth %s", s->name);
	argv[0] = name;
	snprintf(doc, sizeof(doc), "%c%s.", s->what[0] - 'a' + 'A', s->what + 1);
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p))
		return p.result;
	return s->run(&o);
}

/* ---- Which one ---- */

#define ARGS_WIDTH	20

static void help_all(FILE *out)
{
	const struct subcommand *s;

	fputs("Usage: hearth SUBCOMMAND [OPTION...] [ARGUMENT...]\n", out);
	for (s = subcommands; s->name; s++)
		fprintf(out, "  %-11s %-*s %s\n", s->name, ARGS_WIDTH, s->args, s->what);
	/* This text and the shell's prompt just fit a terminal of 24 lines. */
	fputs("\nCACHE: VG/LV or a device-mapper name. See hearth SUBCOMMAND --help, hearth(8).\n",
	      out);
}

static bool is(const char *word, const char *brief, const char *full)
{
	return !strcmp(word, brief) || !strcmp(word, full);
}

static int command(int argc, char **argv)
{
	bool help = is(argv[1], "help", "--help") || is(argv[1], "-h", "-?");
	char *help_argv[] = { argv[0], "--help", NULL };
	const struct subcommand *s;

	if (help && argc == 2) {
		help_all(stdout);
		return EXIT_OK;
	}
	if (is(argv[1], "-V", "--version")) {
		print_version();
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "__complete"))
		return complete(argc - 2, argv + 2);
	s = subcommand_find(argv[1 + help]);
	if (!s) {
		complain("no subcommand '%s'; see hearth --help",
			 argv[1 + help]);
		return EXIT_USAGE;
	}
	return help ? run(s, 2, help_argv) : run(s, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int r;

	if (argc < 2) {
		help_all(stderr);
		return EXIT_USAGE;
	}
	r = command(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		complain("standard output: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return r;
}
