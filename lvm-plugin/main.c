// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth: the table of subcommands, their options, and signals.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hearth.h"

enum {
	OPT_HELP = 256, OPT_VERSION, OPT_JSON, OPT_STAY, OPT_BATCH, OPT_PRESET,
	OPT_INTERVAL, OPT_COUNT, OPT_FILE, OPT_LISTEN, OPT_CACHE, OPT_SIZE,
	OPT_BLOCK, OPT_POLICY, OPT_SOLID, OPT_SAMPLE, OPT_SVG, OPT_FORMAT,
	OPT_REGISTER, OPT_UNREGISTER, OPT_QUIET, OPT_FORCE,
	OPT_LIVE, OPT_MINUTES, OPT_FIX, OPT_YES
};

static const struct subcommand {
	const char *name;
	int (*run)(const struct options *o);
	const char *args;	/* as --help prints them */
	int min_args, max_args;
	const char *what;
	const char *options;	/* that it takes: letters of the table below */
} subcommands[] = {
	{ "status", hearth_status, "[CACHE]", 0, 1,
	  "how a cache is doing, or all of them", "j" },
	{ "top", hearth_top, "", 0, 0,
	  "what all caches do, live", "jbin" },
	{ "set", hearth_set, "CACHE [KEY=VALUE]...", 1, 64,
	  "change mode, policy and settings", "jp" },
	{ "drain", hearth_drain, "CACHE", 1, 1,
	  "write all dirty blocks back", "js" },
	{ "split", hearth_split, "VG/LV", 1, 1,
	  "write back, and detach the cache but keep it", "j" },
	{ "uncache", hearth_uncache, "VG/LV", 1, 1,
	  "write back and remove the cache", "j" },
	{ "replace-ssd", hearth_replace, "VG/LV DEVICE", 2, 2,
	  "the same cache on another device", "jzo" },
	{ "export", hearth_export, "", 0, 0,
	  "print all counters in Prometheus' format", "fl" },
	{ "monitor", hearth_monitor, "[CACHE]", 0, 1,
	  "have dmeventd watch caches, and tell the log", "jruq" },
	{ "doctor", hearth_doctor, "", 0, 0,
	  "what is wrong with this machine's caches", "jxa" },
	{ "advise", hearth_advise, "[TRACE]", 0, 1,
	  "how large the SSD should be, from a recording", "jtcwmZkydgv" },
};

/* One letter stands for an option in the table above. */
static const struct option_help {
	char letter;
	struct option option;
	const char *value, *what;
} option_table[] = {
	{ 'j', { "json", no_argument, NULL, OPT_JSON }, "",
	  "print JSON" },
	{ 'b', { "batch", no_argument, NULL, OPT_BATCH }, "",
	  "print one table after the other" },
	{ 'i', { "interval", required_argument, NULL, OPT_INTERVAL }, "SECONDS",
	  "from one to the next (default 2)" },
	{ 'n', { "count", required_argument, NULL, OPT_COUNT }, "N",
	  "end after so many (default: never)" },
	{ 'p', { "preset", required_argument, NULL, OPT_PRESET }, "NAME",
	  "general, database, read-mostly, streaming or low-wear" },
	{ 'f', { "file", required_argument, NULL, OPT_FILE }, "FILE",
	  "replace this file instead, as a whole" },
	{ 'l', { "listen", required_argument, NULL, OPT_LISTEN }, "PORT",
	  "serve them at http://127.0.0.1:PORT/metrics" },
	{ 'c', { "cache", required_argument, NULL, OPT_CACHE }, "CACHE",
	  "take size, volume and block size from this one" },
	{ 'w', { "live", required_argument, NULL, OPT_LIVE }, "VG/LV",
	  "record the requests to this volume now" },
	{ 'm', { "minutes", required_argument, NULL, OPT_MINUTES }, "N",
	  "for so long (default 10)" },
	{ 'z', { "size", required_argument, NULL, OPT_SIZE }, "GIB",
	  "of the new cache (default: that of the old one)" },
	{ 'Z', { "size", required_argument, NULL, OPT_SIZE }, "GIB",
	  "of the cache (default: a tenth of what is touched)" },
	{ 't', { "format", required_argument, NULL, OPT_FORMAT }, "FORMAT",
	  "blkparse, fio, fiolog, spc, msr or bin" },
	{ 'k', { "block", required_argument, NULL, OPT_BLOCK }, "KIB",
	  "size of the cache's blocks (default 64)" },
	{ 'y', { "policy", required_argument, NULL, OPT_POLICY }, "NAME",
	  "heat (default), lru or nhit" },
	{ 'd', { "solid", no_argument, NULL, OPT_SOLID }, "",
	  "the origin is no rotating disk" },
	{ 'g', { "sample", required_argument, NULL, OPT_SAMPLE }, "BLOCKS",
	  "look at about so many blocks (default 32768)" },
	{ 'v', { "svg", required_argument, NULL, OPT_SVG }, "FILE",
	  "draw misses and disk time over the SSD's size" },
	{ 'r', { "register", no_argument, NULL, OPT_REGISTER }, "",
	  "watch from now on, until it is deactivated" },
	{ 'u', { "unregister", no_argument, NULL, OPT_UNREGISTER }, "",
	  "watch no more" },
	{ 'q', { "quiet", no_argument, NULL, OPT_QUIET }, "",
	  "with --register: for udev's rule" },
	{ 'o', { "force", no_argument, NULL, OPT_FORCE }, "",
	  "take a rotating disk; give up a missing SSD's data" },
	{ 'x', { "fix", no_argument, NULL, OPT_FIX }, "",
	  "mend what can be without risk; asks before each" },
	{ 'a', { "yes", no_argument, NULL, OPT_YES }, "",
	  "with --fix: do not ask" },
	{ 's', { "stay", no_argument, NULL, OPT_STAY }, "",
	  "stay in writethrough mode, so that nothing gets dirty" },
};

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* ---- Shared with the subcommands ---- */

volatile int interrupted;

void complain(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("hearth: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

bool pause_for(double seconds)
{
	struct timespec t = { .tv_sec = seconds };

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	if (!interrupted)
		nanosleep(&t, NULL);
	return interrupted;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- Help ---- */

static void print_option(FILE *out, const struct option_help *h)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s%s", h->option.name,
		 h->value[0] ? " " : "", h->value);
	fprintf(out, "  --%-22s %s\n", text, h->what);
}

static void help_one(FILE *out, const struct subcommand *s)
{
	size_t i;

	fprintf(out, "Usage: hearth %s%s %s\n%c%s.\n", s->name,
		s->options[0] ? " [OPTION]..." : "", s->args,
		s->what[0] - 'a' + 'A', s->what + 1);
	if (s->options[0])
		fputc('\n', out);
	for (i = 0; i < NR(option_table); i++)
		if (strchr(s->options, option_table[i].letter))
			print_option(out, &option_table[i]);
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

/* The long options that @s takes, and --help. */
static void options_of(const struct subcommand *s, struct option *options)
{
	size_t i, nr = 0;

	for (i = 0; i < NR(option_table); i++)
		if (strchr(s->options, option_table[i].letter))
			options[nr++] = option_table[i].option;
	options[nr++] = (struct option){ "help", no_argument, NULL, OPT_HELP };
	options[nr] = (struct option){ 0 };
}

static bool number(const char *name, double min, double max, double *value)
{
	char *end;

	*value = strtod(optarg, &end);
	if (end != optarg && !*end && *value >= min && *value <= max)
		return true;
	complain("--%s %s: must be a number from %g to %g", name, optarg, min,
		 max);
	return false;
}

static bool take(struct options *o, int opt)
{
	double value;

	switch (opt) {
	case OPT_JSON:
		o->json = true;
		return true;
	case OPT_BATCH:
		o->batch = true;
		return true;
	case OPT_STAY:
		o->stay = true;
		return true;
	case OPT_REGISTER:
		o->enlist = true;
		return true;
	case OPT_UNREGISTER:
		o->unregister = true;
		return true;
	case OPT_FORCE:
		o->force = true;
		return true;
	case OPT_FIX:
		o->fix = true;
		return true;
	case OPT_YES:
		o->yes = true;
		return true;
	case OPT_QUIET:
		o->quiet = true;
		return true;
	case OPT_PRESET:
		o->preset = optarg;
		return true;
	case OPT_FILE:
		o->file = optarg;
		return true;
	case OPT_LISTEN:
		o->listen = optarg;
		return true;
	case OPT_CACHE:
		o->cache = optarg;
		return true;
	case OPT_LIVE:
		o->live = optarg;
		return true;
	case OPT_MINUTES:
		return number("minutes", 0.01, 10080, &o->minutes);
	case OPT_POLICY:
		o->policy = optarg;
		return true;
	case OPT_SOLID:
		o->solid = true;
		return true;
	case OPT_FORMAT:
		o->format = optarg;
		return true;
	case OPT_SVG:
		o->svg = optarg;
		return true;
	case OPT_SIZE:
		return number("size", 0.001, 1e9, &o->size);
	case OPT_BLOCK:
		return number("block", 32, 1 << 20, &o->block);
	case OPT_SAMPLE:
		if (!number("sample", 1024, 4e9, &value))
			return false;
		o->sample = value;
		return true;
	case OPT_INTERVAL:
		return number("interval", 0.1, 86400, &o->interval);
	case OPT_COUNT:
		if (!number("count", 1, 1e9, &value))
			return false;
		o->count = value;
		return true;
	}
	return false;
}

static int run(const struct subcommand *s, int argc, char **argv)
{
	struct option options[NR(option_table) + 2];
	struct options o = { .interval = 2, .minutes = 10 };
	char name[32];
	int opt;

	options_of(s, options);
	/* What getopt's complaints begin with. */
	snprintf(name, sizeof(name), "hearth %s", s->name);
	argv[0] = name;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == OPT_HELP || opt == 'h') {
			help_one(stdout, s);
			return EXIT_OK;
		}
		if (opt == '?') {
			help_one(stderr, s);
			return EXIT_USAGE;
		}
		if (!take(&o, opt))
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
