/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is worth telling the administrator about a cache that is looked at now
 * and then.  Nothing here asks the system, so that tests can let days go by.
 */
#ifndef HEARTH_PLUGIN_MONITOR_H
#define HEARTH_PLUGIN_MONITOR_H

#include "cache-info.h"

#define MONITOR_CONF	"/etc/hearth/monitor.conf"

/* As hearth(8) describes them; a share of 0 turns the rule off. */
struct monitor_conf {
	unsigned int interval;		/* seconds from one look to the next */
	unsigned int metadata_percent;	/* of the metadata device */
	unsigned int dirty_percent;	/* of the cache */
	unsigned int dirty_seconds;	/* for so long */
	unsigned int hits_percent;	/* of the usual hit ratio */
	unsigned int hits_seconds;	/* that a hit ratio is taken over */
	char command[256];		/* empty: none */
};

enum condition {
	COND_HEALTH, COND_NEEDS_CHECK, COND_CACHE_DEVICE, COND_ORIGIN,
	COND_METADATA, COND_DIRTY, COND_HITS, NR_CONDITIONS
};

/* What is known of one cache from one look to the next; zeroed at first. */
struct monitor {
	bool begun;
	bool raised[NR_CONDITIONS];
	char health[32];		/* reported last */
	uint64_t errors[2];		/* cache device, origin */
	double errors_at[2];		/* when they grew last; seconds */
	double dirty_since;		/* 0: is not */
	/* The present period, and what is usual: shares. */
	double period_began;
	uint64_t hits, accesses;	/* at its begin */
	double usual;
	unsigned int periods;		/* that usual comes from */
};

struct notice {
	enum condition condition;
	bool over;
	char text[256];
};

void monitor_defaults(struct monitor_conf *conf);
/*
 * Defaults, then what @path says.  A missing file is fine; else the number of
 * the first line that makes no sense (the others count), or 0.
 */
unsigned int monitor_read_conf(struct monitor_conf *conf, const char *path);
/* The same of the one that the administrator writes. */
unsigned int monitor_read_the_conf(struct monitor_conf *conf);

/* As "health" or "dirty". */
const char *condition_name(enum condition c);

/* Fills in @notices, at most NR_CONDITIONS; returns how many there are. */
unsigned int monitor_look(struct monitor *m, const struct monitor_conf *conf,
			  const struct cache_info *c, double when,
			  struct notice *notices);

#endif
