// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth: the subcommands, and the options of each.  An option is one row of a
 * table; its value goes to a member of struct options.
 *
 * It must not know what a subcommand does.
 */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "hearth.h"

/* The type of the member of struct options that an option sets. */
enum kind {
	FLAG,		/* bool; the option takes no value */
	WORD,		/* char * */
	REAL,		/* double; this and the next are numbers */
	COUNT,		/* unsigned long */
	BLOCKS,		/* unsigned int */
};

/* One option of one subcommand. */
struct row {
	const char *name;
	const char *value;	/* its name in --help; "" for a FLAG */
	enum kind kind;
	size_t to;		/* offset in struct options */
	double min, max;	/* limits of a number */
	const char *help;
};

#define TO(member)	offsetof(struct options, member)
#define JSON		{ "json", "", FLAG, TO(json), 0, 0, "print JSON" }
#define END		{ NULL }

static const struct subcommand {
	const char *name;
	int (*run)(const struct options *o);
	const char *args;	/* as --help prints them */
	int min_args, max_args;
	const char *what;
	const struct row *options;
	void (*more_help)(FILE *out);	/* or NULL */
} subcommands[] = {
	{ "status", hearth_status, "[CACHE]", 0, 1,
	  "show how a cache is doing, or all of them",
	  (const struct row[]){ JSON, END } },
	{ "top", hearth_top, "", 0, 0,
	  "show what all caches do, live",
	  (const struct row[]){
		JSON,
		{ "batch", "", FLAG, TO(batch), 0, 0,
		  "print one table after the other" },
		{ "interval", "SECONDS", REAL, TO(interval), .1, 86400,
		  "seconds between two tables (default 2)" },
		{ "count", "N", COUNT, TO(count), 1, 1e9,
		  "end after N tables (default: do not end)" },
		END } },
	{ "set", hearth_set, "CACHE [KEY=VALUE]...", 1, 64,
	  "change mode, policy and settings",
	  (const struct row[]){
		JSON,
		{ "preset", "NAME", WORD, TO(preset), 0, 0,
		  "set what the preset has; hearth(8) describes each" },
		END }, hearth_set_help },
	{ "drain", hearth_drain, "CACHE", 1, 1,
	  "write all dirty blocks back",
	  (const struct row[]){
		JSON,
		{ "stay", "", FLAG, TO(stay), 0, 0,
		  "stay in writethrough mode, so that nothing gets dirty" },
		END } },
	{ "split", hearth_split, "VG/LV", 1, 1,
	  "write back, and detach the cache but keep it",
	  (const struct row[]){ JSON, END } },
	{ "uncache", hearth_uncache, "VG/LV", 1, 1,
	  "write back and remove the cache",
	  (const struct row[]){ JSON, END } },
	{ "replace-ssd", hearth_replace, "VG/LV DEVICE", 2, 2,
	  "put the same cache on another device",
	  (const struct row[]){
		JSON,
		{ "size", "GIB", REAL, TO(size), .001, 1e9,
		  "size of the new cache (default: that of the old one)" },
		{ "force", "", FLAG, TO(force), 0, 0,
		  "take a rotating disk; give up a missing SSD's data" },
		END } },
	{ "export", hearth_export, "", 0, 0,
	  "print all counters in Prometheus' format",
	  (const struct row[]){
		{ "file", "FILE", WORD, TO(file), 0, 0,
		  "write them to FILE, which is replaced as a whole" },
		{ "listen", "PORT", WORD, TO(listen), 0, 0,
		  "serve them at http://127.0.0.1:PORT/metrics" },
		END } },
	{ "monitor", hearth_monitor, "[CACHE]", 0, 1,
	  "have dmeventd watch caches and log",
	  (const struct row[]){
		JSON,
		{ "register", "", FLAG, TO(enlist), 0, 0,
		  "watch from now on, until the cache is deactivated" },
		{ "unregister", "", FLAG, TO(unregister), 0, 0,
		  "do not watch any longer" },
		{ "quiet", "", FLAG, TO(quiet), 0, 0,
		  "with --register: print nothing but failures, for udev" },
		END } },
	{ "doctor", hearth_doctor, "", 0, 0,
	  "find what is wrong with this machine's caches",
	  (const struct row[]){
		JSON,
		{ "fix", "", FLAG, TO(fix), 0, 0,
		  "mend what can be mended without risk; ask before each" },
		{ "yes", "", FLAG, TO(yes), 0, 0,
		  "with --fix: do not ask" },
		END } },
	{ "advise", hearth_advise, "[TRACE]", 0, 1,
	  "compute a size for the SSD from a recording",
	  (const struct row[]){
		JSON,
		{ "cache", "CACHE", WORD, TO(cache), 0, 0,
		  "take the sizes that are not given from this cache" },
		{ "live", "VG/LV", WORD, TO(live), 0, 0,
		  "record the requests to this volume now" },
		{ "minutes", "N", REAL, TO(minutes), .01, 10080,
		  "with --live: how long to record (default 10)" },
		{ "size", "GIB", REAL, TO(size), .001, 1e9,
		  "SSD's size (default: a tenth of the bytes touched)" },
		{ "format", "FORMAT", WORD, TO(format), 0, 0,
		  "of TRACE: blkparse, fio, fiolog, spc, msr or bin" },
		{ "block", "KIB", REAL, TO(block), 32, 1 << 20,
		  "size of the cache's blocks (default 64)" },
		{ "policy", "NAME", WORD, TO(policy), 0, 0,
		  "heat (default) or another; see hearth set --help" },
		{ "solid", "", FLAG, TO(solid), 0, 0,
		  "the origin is no rotating disk" },
		{ "sample", "BLOCKS", BLOCKS, TO(sample), 1024, 4e9,
		  "number of blocks to look at (default 32768)" },
		{ "svg", "FILE", WORD, TO(svg), 0, 0,
		  "draw misses and disk time over the SSD's size" },
		END } },
};

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* ---- Help ---- */

static void print_option(FILE *out, const struct row *row)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s%s", row->name,
		 row->value[0] ? " " : "", row->value);
	fprintf(out, "  --%-22s %s\n", text, row->help);
}

static void help_one(FILE *out, const struct subcommand *s)
{
	const struct row *row;

	fprintf(out, "Usage: hearth %s [OPTION]... %s\n%c%s.\n\n", s->name,
		s->args, s->what[0] - 'a' + 'A', s->what + 1);
	for (row = s->options; row->name; row++)
		print_option(out, row);
	if (s->more_help)
		s->more_help(out);
}

static void help_all(FILE *out)
{
	size_t i;

	fputs("Usage: hearth SUBCOMMAND [OPTION]... [ARGUMENT]...\n\n", out);
	for (i = 0; i < NR(subcommands); i++)
		fprintf(out, "  %-11s %-20s %s\n", subcommands[i].name,
			subcommands[i].args, subcommands[i].what);
	fputs("\nA CACHE is VG/LV or a device-mapper name. 'hearth SUBCOMMAND --help' lists\n"
	      "options; hearth(8) explains everything. LVM makes a cache: see EXAMPLES there.\n",
	      out);
}

/* ---- The command line ---- */

static const struct subcommand *find(const char *name)
{
	size_t i;

	for (i = 0; i < NR(subcommands); i++)
		if (!strcmp(subcommands[i].name, name))
			return &subcommands[i];
	return NULL;
}

#define MAX_ROWS	16	/* of a subcommand */
#define HELP		'h'
#define FIRST_ROW	256	/* getopt_long() returns this for row 0 */

/* For getopt_long(): the options of @s, and --help. */
static void long_options(const struct subcommand *s, struct option *options)
{
	const struct row *row;

	for (row = s->options; row->name; row++)
		*options++ = (struct option){
			row->name,
			row->kind == FLAG ? no_argument : required_argument,
			NULL, FIRST_ROW + (row - s->options)
		};
	*options++ = (struct option){ "help", no_argument, NULL, HELP };
	*options = (struct option){ 0 };
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

/* Stores one option's value.  False, and a complaint, if it makes no sense. */
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

static int run(const struct subcommand *s, int argc, char **argv)
{
	struct options o = { .interval = 2, .minutes = 10 };
	struct option options[MAX_ROWS + 2];
	char name[32];
	int opt;

	long_options(s, options);
	/* getopt_long() begins its complaints with this. */
	snprintf(name, sizeof(name), "hearth %s", s->name);
	argv[0] = name;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == HELP) {
			help_one(stdout, s);
			return EXIT_OK;
		}
		if (opt == '?') {
			help_one(stderr, s);
			return EXIT_USAGE;
		}
		if (!take(&o, &s->options[opt - FIRST_ROW], optarg))
			return EXIT_USAGE;
	}
	o.args = argv + optind;
	o.nr_args = argc - optind;
	if (o.nr_args < s->min_args || o.nr_args > s->max_args) {
		help_one(stderr, s);
		return EXIT_USAGE;
	}
	return s->run(&o);
}

static bool is(const char *word, const char *brief, const char *full)
{
	return !strcmp(word, brief) || !strcmp(word, full);
}

static int command(int argc, char **argv)
{
	bool help = is(argv[1], "help", "--help") || !strcmp(argv[1], "-h");
	const struct subcommand *s;

	if (help && argc == 2) {
		help_all(stdout);
		return EXIT_OK;
	}
	if (is(argv[1], "-V", "--version")) {
		puts("hearth " HEARTH_VERSION);
		return EXIT_OK;
	}
	s = find(argv[1 + help]);
	if (!s) {
		complain("no subcommand '%s'; see hearth --help",
			 argv[1 + help]);
		return EXIT_USAGE;
	}
	if (!help)
		return run(s, argc - 1, argv + 1);
	help_one(stdout, s);
	return EXIT_OK;
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
