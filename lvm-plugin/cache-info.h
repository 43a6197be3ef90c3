/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cache as its target describes it: the status line, the table and the
 * counters, parsed; and how a user names one.
 */
#ifndef HEARTH_PLUGIN_CACHE_INFO_H
#define HEARTH_PLUGIN_CACHE_INFO_H

#include "../dm-target/cache-counters.h"
#include "../dm-target/cache-latency.h"
#include "dm.h"

/* All numbers that only ever grow while a cache is loaded. */
#define COUNTER_SYMBOL(symbol, name, help, ...)	symbol,
enum counter {
	/* The target counts these; the kernel's own target knows the first six. */
	CACHE_COUNTERS(COUNTER_SYMBOL, COUNTER_SYMBOL)
	/* The kernel counts these for the cached volume, since it has the device. */
	IO_READS, IO_READ_SECTORS, IO_READ_MS,
	IO_WRITES, IO_WRITE_SECTORS, IO_WRITE_MS,
	IO_BUSY_MS, IO_QUEUE_MS,	/* with requests under way; the sum over these */
	/* The same for the cache device (FAST) and the origin. */
	FAST_READS, FAST_READ_SECTORS, FAST_READ_MS,
	FAST_WRITES, FAST_WRITE_SECTORS, FAST_WRITE_MS,
	FAST_BUSY_MS, FAST_QUEUE_MS,
	ORIGIN_READS, ORIGIN_READ_SECTORS, ORIGIN_READ_MS,
	ORIGIN_WRITES, ORIGIN_WRITE_SECTORS, ORIGIN_WRITE_MS,
	ORIGIN_BUSY_MS, ORIGIN_QUEUE_MS,
	/* The target's histograms of times, one after the other. */
	FIRST_BUCKET,
	NR_COUNTERS = FIRST_BUCKET + NR_CACHE_LATENCIES * CACHE_LATENCY_BUCKETS
};

/* Distances from IO_READS, FAST_READS and ORIGIN_READS to the seven that follow. */
#define NR_IO_COUNTERS		8
#define READS_TO_READ_SECTORS	1
#define READS_TO_READ_MS	2
#define READS_TO_WRITES		3
#define READS_TO_WRITE_SECTORS	4
#define READS_TO_WRITE_MS	5
#define READS_TO_BUSY_MS	6
#define READS_TO_QUEUE_MS	7

#define FIRST_OWN	WRITEBACKS
#define FIRST_BYPASS	BYPASS_COLD
#define LAST_BYPASS	BYPASS_RACE
#define FIRST_IO	IO_READS

/* The names by which the message stats prints them; those of devices as iostat's. */
extern const char * const counter_names[FIRST_BUCKET];
/* The names of the histograms, each of CACHE_LATENCY_BUCKETS counters. */
extern const char * const latency_names[NR_CACHE_LATENCIES];

/* More than twice what the target, heat and the former mq have together. */
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
	char vg[DM_NAME_MAX], lv[DM_NAME_MAX];	/* empty if it is not LVM's */
	char pool[DM_NAME_MAX];	/* LVM's pool or volume on the SSD; empty if none */

	struct device metadata, cache_device, origin;
	uint32_t block_sectors;
	uint64_t used, total, dirty;	/* blocks */
	uint64_t metadata_used, metadata_total;
	uint32_t metadata_block_sectors;

	bool own;		/* hearth's target, not the kernel's own */
	char version[32];	/* hearth's, or that of the kernel's target */
	bool failed_line;	/* the status line is "Fail" or "Error" */
	bool read_only, needs_check;
	char format;		/* of the metadata: 1 or 2 */
	char table_mode[16];	/* the table's mode */
	char mode[16];		/* the mode in effect */
	char policy[32], health[32];
	struct device lost;	/* below the origin, set by who looks for it; 0:0: none */
	char origin_state[16];	/* what the origin check found; "" if there is none */
	uint64_t count[NR_COUNTERS];
	uint64_t intents_held;
	uint64_t data_slots;	/* blocks that may hold data; 0: the target does not say */
	char log[16];		/* state of the write log; empty: there is none */
	uint64_t log_segments;	/* blocks of the cache device that the log has */

	struct setting settings[MAX_SETTINGS];	/* in effect */
	unsigned int nr_settings;
	struct setting in_table[MAX_SETTINGS];	/* those that the table gives */
	unsigned int nr_in_table;

	char *words[3];		/* the settings point into these */
};

/* ---- parse.c: from the target's words to struct cache_info ---- */

/**
 * cache_parse_status() - read the words of the status line
 * @words: is cut up; the strings of @c point into it, so it must stay while @c is
 *	used
 *
 * Return: false if a word is missing or is no number.
 */
bool cache_parse_status(struct cache_info *c, char *words);
/* The same with the words of the table; after cache_parse_status(), if both. */
bool cache_parse_table(struct cache_info *c, char *words);
/*
 * The same with the answer to the message stats, lines of "name value"; after the
 * status line, whose 32-bit counters it replaces.  Lines that are not known are
 * skipped.
 */
void cache_parse_stats(struct cache_info *c, char *words);
/*
 * Cuts a device-mapper name of LVM's into @vg and @lv, of DM_NAME_MAX bytes each.
 * False, and both empty, if the device is not LVM's.
 */
bool lvm_split_name(const char *dm_name, const char *uuid, char *vg, char *lv);
/* Sets name, vg and lv from the device-mapper's name and UUID. */
void cache_set_name(struct cache_info *c, const char *dm_name, const char *uuid);

/* Ends with NULL. */
extern const char * const cache_modes[];
bool is_cache_mode(const char *w);
/* The value of @key among the @nr settings at @s, or NULL.  Ignores case. */
const char *cache_setting(const struct setting *s, unsigned int nr,
			  const char *key);
uint64_t cache_block_bytes(const struct cache_info *c);
/*
 * The code that runs as the cache's policy: hearth's heat answers to smq and mq, so
 * that the kernel's own target can open the volume.
 */
const char *cache_policy_code(const struct cache_info *c);
/* Misses that were not promoted, for any reason. */
uint64_t cache_bypasses(const struct cache_info *c);
/* True if the table's mode lets blocks become dirty. */
bool cache_writes_back(const struct cache_info *c);
bool cache_healthy(const struct cache_info *c);
/* True if data lie in the write log, or may: then only hearth opens the volume. */
bool cache_log_in_use(const struct cache_info *c);

/* ---- io.c ---- */

/*
 * Reads from /sys the counters IO_READS to ORIGIN_QUEUE_MS: requests, sectors and
 * milliseconds of the volume, which @c->dm names, of the cache device and of the
 * origin.  The counters of a device that is not there stay as they are.
 */
void cache_read_io(struct cache_info *c);

/* ---- cache-info.c: the caches that are active ---- */

struct caches {
	struct dm_device *devices;
	unsigned int nr_devices;
	struct cache_info *all;
	unsigned int nr;
};

/*
 * Reads all of them.  Prints what is wrong, and returns an exit code; if that is
 * EXIT_OK, the caller calls caches_free().
 */
int caches_read(struct caches *cs);
/*
 * The same; but a kernel without a device-mapper is no error: there are no caches
 * then, and *@no_dm becomes true.
 */
int caches_read_if_any(struct caches *cs, bool *no_dm);
void caches_free(struct caches *cs);

/* @name without "/dev/" or "/dev/mapper/" before it. */
const char *bare_name(const char *name);

/*
 * The cache that a user calls @name, with or without "/dev/", or NULL.  The name of
 * a volume group, or of a pool, stands for the cache in it if there is only one.
 */
struct cache_info *caches_find(const struct caches *cs, const char *name);
/*
 * Reads all, and keeps those that @name stands for: one, or all of a volume group.
 * NULL keeps all.  Otherwise as caches_get().
 */
int caches_select(struct caches *cs, const char *name);

/*
 * Reads all and finds @name.  If it is no active cache, prints why, and returns
 * EXIT_NO_CACHE; else as caches_read().
 */
int caches_get(struct caches *cs, const char *name, struct cache_info **c);

#endif
