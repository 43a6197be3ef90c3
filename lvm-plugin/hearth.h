/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exit codes and options, which all subcommands share.
 */
#ifndef HEARTH_PLUGIN_HEARTH_H
#define HEARTH_PLUGIN_HEARTH_H

#include <stdbool.h>
#include <stdio.h>

#include "util.h"

/* hearth(8) lists them. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* it was tried and did not work */
	EXIT_USAGE = 2,
	EXIT_NO_CACHE = 3,	/* no such volume, not cached, not active */
	EXIT_NO_DM = 4,		/* no device-mapper, or no permission */
	EXIT_OLD_TARGET = 5,	/* the kernel's own target cannot do this */
	EXIT_FINDINGS = 6,	/* doctor found something to do */
	EXIT_INTERRUPTED = 130,
};

/*
 * The command line of a subcommand.  Each has its own options; a member that
 * none of them sets is zero.
 */
struct options {
	bool json, stay, batch, solid, force, fix, yes, nagios;
	bool dry;		/* --dry-run */
	bool all;		/* --all of settle */
	bool remove;		/* --delete of mark */
	bool enlist, unregister, quiet;	/* enlist: --register */
	bool repair;
	double interval;	/* seconds between two tables */
	unsigned long count;	/* tables; 0: no end */
	double minutes;		/* to record */
	double live_minutes;	/* the same, --live of report; 0: not given */
	double size;		/* of a cache, GiB; 0: not given */
	double block;		/* of a cache's block, KiB; 0: not given */
	unsigned int sample;	/* blocks; 0: not given */
	char *preset, *file;
	char *cache, *live;	/* names; live: the volume to record */
	char *keep;		/* cache or origin */
	char *policy, *format, *svg;
	/* for libdevmapper's reports, as lvs has them; NULL: not given */
	char *fields, *keys, *selection, *units, *separator, *report_format;
	bool no_headings, no_suffix;
	bool script, exact, skip_first;	/* -H, -p and -y of iostat */
	char *stamp;			/* -T of iostat */
	char *sort;			/* --sort of top */
	char *mode;			/* --mode of cache */
	char *trace;			/* --trace of report */
	char *kernel;			/* --kernel of doctor: a release */
	char *since;			/* a mark of hearth mark; see marks.h */
	char **args;
	int nr_args;
};

/* One function for each subcommand; it prints, and returns an exit code. */
int hearth_status(const struct options *o);
int hearth_mark(const struct options *o);
int hearth_iostat(const struct options *o);
int hearth_top(const struct options *o);
int hearth_get(const struct options *o);
int hearth_set(const struct options *o);
int hearth_drain(const struct options *o);
int hearth_settle(const struct options *o);
int hearth_split(const struct options *o);
int hearth_uncache(const struct options *o);
int hearth_cache(const struct options *o);
int hearth_replace(const struct options *o);
int hearth_origin(const struct options *o);
int hearth_verify(const struct options *o);
int hearth_monitor(const struct options *o);
int hearth_report(const struct options *o);
int hearth_export(const struct options *o);
int hearth_doctor(const struct options *o);
int hearth_advise(const struct options *o);
int hearth_bench(const struct options *o);

/* Prints the modes, policies, presets and settings for hearth set --help. */
void hearth_set_help(FILE *out);

#endif
