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

void monitor_defaults(struct monitor_conf *conf);
/*
 * Sets the defaults, then reads the file at @path, which may be missing.  Returns
 * the number of the first line that makes no sense, or 0; all other lines count.
 */
unsigned int monitor_read_conf(struct monitor_conf *conf, const char *path);
/* The same with the file that the administrator writes. */
unsigned int monitor_read_the_conf(struct monitor_conf *conf);

/* The word for it in messages, "health" say. */
const char *condition_name(enum condition c);

/*
 * One look, @when seconds after boot.  Fills in the notices of conditions that have
 * begun or are over, at most NR_CONDITIONS, and returns their number.
 */
unsigned int monitor_look(struct monitor *m, const struct monitor_conf *conf,
			  const struct cache_info *c, double when,
			  struct notice *notices);

#endif
