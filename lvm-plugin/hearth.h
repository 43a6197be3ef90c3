/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every subcommand shares: exit codes, options, complaints.
 */
#ifndef HEARTH_H
#define HEARTH_H

#include <stdbool.h>
#include <stdio.h>


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

struct options {
	bool json, stay, batch, solid;
	bool enlist, unregister, quiet, force;	/* enlist: --register */
	bool fix, yes;
	double interval;	/* seconds */
	unsigned long count;	/* rounds; 0: no end */
	const char *preset, *file, *listen;
	const char *live;	/* volume to record */
	double minutes;
	const char *cache, *policy, *format, *svg;
	double size, block;	/* GiB, KiB; 0: not given */
	unsigned int sample;	/* blocks; 0: not given */
	char **args;
	int nr_args;
};

int hearth_status(const struct options *o);
int hearth_top(const struct options *o);
int hearth_set(const struct options *o);
int hearth_drain(const struct options *o);
int hearth_split(const struct options *o);
int hearth_uncache(const struct options *o);
int hearth_replace(const struct options *o);
int hearth_monitor(const struct options *o);
int hearth_export(const struct options *o);
int hearth_doctor(const struct options *o);
int hearth_advise(const struct options *o);
/* One line on stderr, "hearth: " before it. */
__attribute__((format(printf, 1, 2)))
void complain(const char *format, ...);

/* Set by SIGINT, SIGTERM and SIGHUP once catch_signals() was called. */
extern volatile int interrupted;
void catch_signals(void);
/* Sleeps; true if it was interrupted. */
bool pause_for(double seconds);
double now(void);		/* seconds since boot */

#endif
