/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cache as its target describes it: the status line, the table and the
 * counters, parsed; and how a user names one.
 */
#ifndef HEARTH_PLUGIN_CACHE_INFO_H
#define HEARTH_PLUGIN_CACHE_INFO_H

#include "../dm-target/cache-counters.h"
#include "dm.h"

/* All that only ever grow while a cache is loaded. */
#define COUNTER_SYMBOL(symbol, name, help)	symbol,
enum counter {
	/* The target's own, in the order of its message; the kernel's knows the first six. */
	CACHE_COUNTERS(COUNTER_SYMBOL, COUNTER_SYMBOL)
	/* The kernel's, for the cached volume, since the device exists. */
	IO_READS, IO_READ_SECTORS, IO_READ_MS,
	IO_WRITES, IO_WRITE_SECTORS, IO_WRITE_MS,
	/* The same for the devices below it. */
	FAST_READS, FAST_READ_SECTORS, FAST_READ_MS,
	FAST_WRITES, FAST_WRITE_SECTORS, FAST_WRITE_MS,
	ORIGIN_READS, ORIGIN_READ_SECTORS, ORIGIN_READ_MS,
	ORIGIN_WRITES, ORIGIN_WRITE_SECTORS, ORIGIN_WRITE_MS,
	NR_COUNTERS
};

/* From IO_READS, FAST_READS or ORIGIN_READS to the others of its six. */
#define NR_IO_COUNTERS		6
#define READS_TO_READ_MS	2
#define READS_TO_WRITES		3
#define READS_TO_WRITE_MS	5
/* From TIMED_READ_HITS or one of its three fellows to its nanoseconds. */
#define TIMED_TO_NS		4

#define FIRST_OWN	WRITEBACKS
#define FIRST_BYPASS	BYPASS_COLD
#define LAST_BYPASS	BYPASS_RACE
#define FIRST_IO	IO_READS

/* As the message stats spells them. */
extern const char * const counter_names[NR_COUNTERS];

#define MAX_SETTINGS	48

struct setting {
	char *key, *value;
};

struct device {
	uint32_t major, minor;
};

struct cache_info {
	const struct dm_device *dm;
	char name[2 * DM_NAME_MAX];	/* VG/LV, or the device-mapper name */
	char vg[DM_NAME_MAX], lv[DM_NAME_MAX];	/* of LVM; else empty */

	struct device metadata, fast, origin;
	uint32_t block_sectors;
	uint64_t used, total, dirty;	/* blocks */
	uint64_t metadata_used, metadata_total;
	uint32_t metadata_block_sectors;

	bool own;		/* hearth's target; else the kernel's */
	bool failed_line;	/* the status says Fail or Error, and no more */
	bool read_only, needs_check;
	char format;		/* of the metadata: 1 or 2 */
	char table_mode[16], mode[16];	/* as the table says; in effect */
	char policy[32], health[32];
	uint64_t count[NR_COUNTERS];
	uint64_t intents_held;

	struct setting settings[MAX_SETTINGS];	/* in effect */
	unsigned int nr_settings;
	struct setting in_table[MAX_SETTINGS];	/* of those, given by the table */
	unsigned int nr_in_table;

	char *words[3];		/* what the strings above point into */
};

struct caches {
	struct dm_device *devices;
	struct cache_info *all;
	unsigned int nr;
};

/*
 * The target's words; they are cut up, and must stay while @c is used.  False if
 * there are too few.
 */
bool cache_parse_status(struct cache_info *c, char *words);
bool cache_parse_table(struct cache_info *c, char *words);
/* What the message stats answers; after the status line. */
void cache_parse_stats(struct cache_info *c, char *words);
/* What the kernel counts of @c's volume and devices; @c->dm tells the volume. */
void cache_read_io(struct cache_info *c);
/* Name, volume group and volume. */
void cache_set_name(struct cache_info *c, const char *dm_name, const char *uuid);

/* Read all caches.  Prints what is wrong and returns an exit code. */
int caches_read(struct caches *cs);
/* The same; but in a kernel without device-mapper there are none, and *no_dm. */
int caches_read_if_any(struct caches *cs, bool *no_dm);
void caches_free(struct caches *cs);

/* The one that a user calls @name, or NULL. */
struct cache_info *caches_find(const struct caches *cs, const char *name);

/*
 * Read all and find @name.  If it is none, print why: unknown, not active,
 * not cached.  Returns an exit code.
 */
int caches_get(struct caches *cs, const char *name, struct cache_info **c);

bool is_cache_mode(const char *w);
const char *cache_setting(const struct setting *s, unsigned int nr,
			  const char *key);
uint64_t cache_block_bytes(const struct cache_info *c);
uint64_t cache_bypasses(const struct cache_info *c);
bool cache_writes_back(const struct cache_info *c);	/* blocks may become dirty */
bool cache_healthy(const struct cache_info *c);

#endif
