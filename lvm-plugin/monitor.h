/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conditions of a cache that an administrator should hear of.  The caller looks at
 * the cache now and then; nothing here asks the system, so that tests can let days
 * go by.
 */
#ifndef HEARTH_PLUGIN_MONITOR_H
#define HEARTH_PLUGIN_MONITOR_H

#include "cache-info.h"

#define MONITOR_CONF	"/etc/hearth/monitor.conf"

/* The limits, as hearth(8) describes them; a share of 0 turns a rule off. */
struct monitor_conf {
	unsigned int interval;		/* seconds from one look to the next */
	unsigned int metadata_percent;	/* of the metadata device */
	unsigned int dirty_percent;	/* of the cache's blocks */
	unsigned int dirty_seconds;	/* during which that many are dirty */
	unsigned int hits_percent;	/* of the usual hit ratio */
	unsigned int hits_seconds;	/* that a hit ratio is taken over */
	char command[128];		/* empty: none */
};

enum condition {
	COND_HEALTH, COND_NEEDS_CHECK, COND_CACHE_DEVICE, COND_ORIGIN,
	COND_METADATA, COND_DIRTY, COND_HITS, COND_CHANGED, COND_GONE, NR_CONDITIONS
};

/* Memory of one cache from one look to the next; zeroed at first. */
struct monitor {
	bool begun;
	bool raised[NR_CONDITIONS];
	char health[32];		/* reported last */
	uint64_t errors[2];		/* cache device, origin */
	double errors_at[2];		/* when they grew last; seconds */
	double dirty_since;		/* seconds; 0: below the limit */
	/* The present period, and the usual hit ratio, a share. */
	double period_began;
	uint64_t hits, accesses;	/* when it began */
	double usual;
	unsigned int periods;		/* that @usual is the mean of */
};

struct notice {
	enum condition condition;
	bool over;
	char text[256];
};

/**
 * monitor_read_conf() - set the limits: the defaults, then those of a file
 * @conf: receives them
 * @path: the file, which may be missing
 *
 * Prints nothing.
 *
 * Return: the number of the first line that makes no sense, or 0; all other lines count.
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
 * Return: "health" say; constant.
 */
const char *condition_name(enum condition c);

/**
 * monitor_look() - one look at a cache: which conditions have begun, or are over?
 * @m: the memory of this cache from the look before; zeroed at first
 * @conf: the limits
 * @c: the cache; its lost is set by the caller
 * @when: the time of the look, in seconds as of now()
 * @notices: receives one for each of these, NR_CONDITIONS at most
 *
 * Asks the system nothing, and prints nothing.
 *
 * Return: how many there are.
 */
unsigned int monitor_look(struct monitor *m, const struct monitor_conf *conf,
			  const struct cache_info *c, double when,
			  struct notice *notices);

#endif
