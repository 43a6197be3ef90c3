/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exit codes, options, and one function for each subcommand.  It must not know how a
 * subcommand does its work.
 */
#ifndef HEARTH_PLUGIN_HEARTH_H
#define HEARTH_PLUGIN_HEARTH_H

#include <stdbool.h>
#include <stdio.h>

#include "util.h"

/* hearth(8) lists them. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* the command tried, and did not succeed */
	EXIT_USAGE = 2,
	EXIT_NO_CACHE = 3,	/* no such volume, not cached, not active */
	EXIT_NO_DM = 4,		/* no device-mapper, or no permission */
	EXIT_OLD_TARGET = 5,	/* the kernel's own target cannot do this */
	EXIT_FINDINGS = 6,	/* doctor found something to do */
	EXIT_INTERRUPTED = 130,
};

/*
 * The command line of a subcommand.  A member that no option sets is zero, but for interval
 * and minutes, for which main.c has defaults.
 */
struct options {
	bool json, stay, batch, solid, force, fix, yes, nagios;
	bool dry;		/* --dry-run */
	bool all;		/* --all of settle */
	bool remove;		/* --delete of mark */
	bool enlist, unregister, quiet;	/* enlist: --register */
	bool repair;
	double interval;	/* seconds between two tables */
	unsigned long count;	/* number of tables; 0: no end */
	double minutes;		/* length of a recording, or the most that a pass of bench takes */
	double live_minutes;	/* --live of report: length of a recording; 0: not given */
	double size;		/* of a cache, in GiB; 0: not given */
	double block;		/* size of a cache's blocks, in KiB; 0: not given */
	unsigned int sample;	/* number of blocks; 0: not given */
	char *preset, *file;
	char *cache, *live;	/* names; live: the volume to record */
	char *keep;		/* --keep of origin: "cache" or "origin" */
	char *policy, *format, *svg;
	/* The options of libdevmapper's reports, as lvs has them; NULL: not given. */
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

/*
 * One function for each subcommand.  It prints its result on stdout, as JSON if the command
 * line says so, and complains on stderr.  main.c has checked the number of arguments.  A
 * function that reads caches may also return EXIT_NO_CACHE or EXIT_NO_DM.  A function whose
 * options or arguments may make no sense may also return EXIT_USAGE.
 */

/**
 * hearth_status() - show how a cache is doing, or all of them
 * @o: json, since, the options of a report; the argument is a cache
 *
 * Adds the present counters to the history in /run and to the record in /var.
 *
 * Return: EXIT_OK; EXIT_FAILED if the counters of one of the caches since the mark are not known.
 */
int hearth_status(const struct options *o);

/**
 * hearth_mark() - remember the counters of caches under a name, list marks, or forget one
 * @o: json, remove; the arguments are the mark and a cache
 *
 * Return: EXIT_OK; EXIT_FAILED if the mark cannot be written or is not there.
 */
int hearth_mark(const struct options *o);

/**
 * hearth_iostat() - print the rates of caches since their activation, and of intervals
 * @o: json, script, exact, skip_first, stamp, the options of a report; the arguments are those
 *	of intervals.h
 *
 * Return: EXIT_OK, after Ctrl-C, too.
 */
int hearth_iostat(const struct options *o);

/**
 * hearth_top() - show what caches do, live
 * @o: json, batch, interval, count, sort, stamp; the arguments are those of intervals.h
 *
 * Takes the screen, unless stdin or stdout is no terminal, or json or batch is set. Adds the
 * present counters to the history in /run.
 *
 * Return: EXIT_OK, after Ctrl-C, too.
 */
int hearth_top(const struct options *o);

/**
 * hearth_get() - show mode, policy and settings of a cache
 * @o: json, the options of a report; the arguments are the cache and keys
 *
 * Return: EXIT_OK; EXIT_FAILED if the cache has no such key.
 */
int hearth_get(const struct options *o);

/**
 * hearth_set() - change mode, policy and settings of a cache
 * @o: json, preset, dry; the arguments are the cache and KEY=VALUE. Other subcommands call
 *	this with options of their own
 *
 * If the target or LVM refuses a change, this takes back the changes that it made before.
 *
 * Return: EXIT_OK; EXIT_FAILED; EXIT_OLD_TARGET if the kernel's own target cannot do it.
 */
int hearth_set(const struct options *o);

/**
 * hearth_drain() - write all dirty blocks of a cache back
 * @o: json, stay; the argument is the cache
 *
 * Shows progress on stderr, unless json is set.
 *
 * Return: EXIT_OK; EXIT_FAILED; EXIT_INTERRUPTED.
 */
int hearth_drain(const struct options *o);

/**
 * hearth_settle() - empty the write log of a cache, or of all of them
 * @o: json, all; the argument is the cache
 *
 * Turns absorb off, so that the log stays empty. Shows progress on stderr, unless json is set.
 *
 * Return: EXIT_OK; EXIT_FAILED, also if the cache does not tell any longer whether its log is
 * empty, and with all also if a stopped cache has a log in use, or lvs fails;
 * EXIT_INTERRUPTED; an error of hearth_set().
 */
int hearth_settle(const struct options *o);

/**
 * hearth_split() - write back the dirty blocks of a cache of LVM's, and detach and keep it
 * @o: json; the argument is the cache
 *
 * Return: EXIT_OK; EXIT_FAILED; EXIT_INTERRUPTED.
 */
int hearth_split(const struct options *o);

/**
 * hearth_uncache() - write back the dirty blocks of a cache of LVM's, and remove it
 * @o: json; the argument is the cache
 *
 * Return: EXIT_OK; EXIT_FAILED; EXIT_INTERRUPTED.
 */
int hearth_uncache(const struct options *o);

/**
 * hearth_cache() - make a cache for a volume on a bare SSD
 * @o: json, size, block, mode, preset, force, dry; the arguments are the volume and the device
 *
 * Return: EXIT_OK, also if an earlier run has made the cache; EXIT_FAILED; EXIT_INTERRUPTED; an
 * error of hearth_set(), which sets mode and preset.
 */
int hearth_cache(const struct options *o);

/**
 * hearth_replace() - put the same cache on another device
 * @o: json, size, force; the arguments are the volume and the device
 *
 * Keeps a plan on disk, so that a later run can go on. After a failure it complains, and says
 * by which device the volume is cached now, or that it is not cached.
 *
 * Return: EXIT_OK; EXIT_FAILED; EXIT_INTERRUPTED; an error of hearth_set(), which restores the
 * settings.
 */
int hearth_replace(const struct options *o);

/**
 * hearth_origin() - say which is right: a cache or its origin
 * @o: json, keep, yes; the argument is the cache
 *
 * Without keep, prints what the comparison at activation has found. With keep, asks on stderr
 * before it gives the answer to the target. No answer on stdin means no.
 *
 * Return: EXIT_OK; EXIT_FAILED, also if the user says no; EXIT_OLD_TARGET; EXIT_INTERRUPTED, and
 * the target does not have the answer any more then.
 */
int hearth_origin(const struct options *o);

/**
 * hearth_verify() - compare all clean blocks of a cache with the origin
 * @o: json, sample, repair; the argument is the cache
 *
 * Shows progress on stderr, unless json is set.
 *
 * Return: EXIT_OK; EXIT_FINDINGS if blocks differ that are still in the cache; EXIT_FAILED;
 * EXIT_OLD_TARGET; EXIT_INTERRUPTED.
 */
int hearth_verify(const struct options *o);

/**
 * hearth_monitor() - have dmeventd watch caches, or end that, or show which it watches
 * @o: json, enlist, unregister, quiet; the argument is a cache, or with quiet a device-mapper
 *	name
 *
 * Return: EXIT_OK; EXIT_FAILED.
 */
int hearth_monitor(const struct options *o);

/**
 * hearth_report() - write a page with pictures, for a browser
 * @o: file, trace, live_minutes; the argument is a cache
 *
 * Return: EXIT_OK, also if another subcommand has no data for the page; EXIT_FAILED if the page
 * cannot be written, or if hearth advise makes nothing of trace.
 */
int hearth_report(const struct options *o);

/**
 * hearth_export() - print all counters in Prometheus' format
 * @o: file; no argument
 *
 * Adds the present counters to the history in /run and to the record in /var.
 *
 * Return: EXIT_OK; EXIT_FAILED if the file cannot be written.
 */
int hearth_export(const struct options *o);

/**
 * hearth_doctor() - find faults of this machine's caches, and mend some of them
 * @o: json, fix, yes, nagios, kernel, quiet; no argument
 *
 * With fix, asks on stderr before each repair. No answer on stdin means no.
 *
 * Return: EXIT_OK; EXIT_FINDINGS; EXIT_FAILED if a repair failed. With nagios, 0 to 3, the exit
 * codes of a plugin of Nagios.
 */
int hearth_doctor(const struct options *o);

/**
 * hearth_advise() - compute a size for the SSD from a recording
 * @o: json, cache, live, minutes, size, format, block, policy, solid, sample, svg; the argument
 *	is the recording, unless live names a volume
 *
 * Return: EXIT_OK; EXIT_FAILED.
 */
int hearth_advise(const struct options *o);

/**
 * hearth_bench() - replay a recording on a scratch volume, without and with a cache
 * @o: json, size, block, mode, minutes, format, dry; the arguments are the volume that the user
 *	asks about, the recording and a device for the cache
 *
 * Removes the volumes that it has made. If it is killed, the next run removes them.
 *
 * Return: EXIT_OK; EXIT_FAILED; EXIT_INTERRUPTED.
 */
int hearth_bench(const struct options *o);

/**
 * hearth_set_help() - print the modes, policies, presets and settings for hearth set --help
 * @out: the stream that receives them
 */
void hearth_set_help(FILE *out);

#endif
