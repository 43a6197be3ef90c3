/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conditions of a cache that an administrator should hear of.  The caller looks at the cache
 * now and then, and gives the time of the look.  These functions read the configuration, and
 * ask the system nothing else, so that tests can let days go by.
 */
#ifndef HEARTH_PLUGIN_MONITOR_H
#define HEARTH_PLUGIN_MONITOR_H

#include "cache-info.h"

#define MONITOR_CONF	"/etc/hearth/monitor.conf"

/* The limits, as hearth(8) describes them.  A percent of 0 turns its rule off. */
struct monitor_conf {
	unsigned int interval;		/* seconds from one look to the next */
	unsigned int metadata_percent;	/* of the metadata device are used */
	unsigned int dirty_percent;	/* of the cache's blocks are dirty */
	unsigned int dirty_seconds;	/* for so long */
	unsigned int hits_percent;	/* the hit ratio is below this part of the usual one */
	unsigned int hits_seconds;	/* length of a period, which has one hit ratio */
	char command[128];		/* the path of a program; "": none */
};

enum condition {
	COND_HEALTH, COND_NEEDS_CHECK, COND_CACHE_DEVICE, COND_ORIGIN,
	COND_METADATA, COND_DIRTY, COND_HITS, COND_CHANGED, COND_GONE, NR_CONDITIONS
};

/* The memory of one cache from one look to the next; zeroed before the first. */
struct monitor {
	bool begun;			/* there was a look */
	bool raised[NR_CONDITIONS];	/* the condition has begun, and is not over */
	char health[32];		/* at the last look */
	uint64_t errors[2];		/* of cache device and origin, at the last look */
	double errors_at[2];		/* time when they grew last; seconds */
	double dirty_since;		/* seconds; 0: below the limit */
	double period_began;		/* seconds */
	uint64_t hits, accesses;	/* when the period began */
	double usual;			/* the usual hit ratio, 0 to 1 */
	unsigned int periods;		/* number of periods in the mean, 12 at most */
};

struct notice {
	enum condition condition;
	bool over;			/* false: the condition begins */
	char text[256];
};

/**
 * monitor_read_conf() - set the limits to their defaults, and then to those of a file
 * @conf: receives them
 * @path: the file, which may be missing
 *
 * Prints nothing.
 *
 * Return: the number of the first line that makes no sense; the other lines count all the same.
 * 0 if all lines make sense, or the file cannot be read.
 */
unsigned int monitor_read_conf(struct monitor_conf *conf, const char *path);

/**
 * monitor_read_the_conf() - monitor_read_conf() with MONITOR_CONF, below dm_root()
 * @conf: receives the limits
 *
 * Return: as of monitor_read_conf().
 */
unsigned int monitor_read_the_conf(struct monitor_conf *conf);

/**
 * condition_name() - the word for a condition in messages
 * @c: the condition
 *
 * Return: the word, "health" say; constant.
 */
const char *condition_name(enum condition c);

/**
 * monitor_look() - one look at a cache: which conditions have begun, or are over?
 * @m: the memory of this cache from the look before; zeroed before the first
 * @conf: the limits
 * @c: the cache; the caller has set its lost by lost_below()
 * @when: the time of the look, in seconds as of now()
 * @notices: receives a notice for each condition that has changed, NR_CONDITIONS at most
 *
 * Asks the system nothing, and prints nothing.
 *
 * Return: the number of notices.
 */
unsigned int monitor_look(struct monitor *m, const struct monitor_conf *conf,
			  const struct cache_info *c, double when,
			  struct notice *notices);

#endif
