/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cache as its target describes it, by the status line, the table and the counters; and
 * the search for the cache that a user names.  It must not change a cache.
 */
#ifndef HEARTH_PLUGIN_CACHE_INFO_H
#define HEARTH_PLUGIN_CACHE_INFO_H

#include "../dm-target/cache-counters.h"
#include "../dm-target/cache-latency.h"
#include "dm.h"

/* All numbers that only ever grow while a cache is loaded. */
#define COUNTER_SYMBOL(symbol, name, help, ...)	symbol,
enum counter {
	/* The target counts these; the kernel's own target has only the first six. */
	CACHE_COUNTERS(COUNTER_SYMBOL, COUNTER_SYMBOL)
	/* The kernel counts these for the cached volume, since it made the device. */
	IO_READS, IO_READ_SECTORS, IO_READ_MS,
	IO_WRITES, IO_WRITE_SECTORS, IO_WRITE_MS,
	IO_BUSY_MS, IO_QUEUE_MS,	/* ms with requests under way; once for each request */
	/* The kernel counts the same for the cache device (FAST) and the origin. */
	FAST_READS, FAST_READ_SECTORS, FAST_READ_MS,
	FAST_WRITES, FAST_WRITE_SECTORS, FAST_WRITE_MS,
	FAST_BUSY_MS, FAST_QUEUE_MS,
	ORIGIN_READS, ORIGIN_READ_SECTORS, ORIGIN_READ_MS,
	ORIGIN_WRITES, ORIGIN_WRITE_SECTORS, ORIGIN_WRITE_MS,
	ORIGIN_BUSY_MS, ORIGIN_QUEUE_MS,
	/* The buckets of the target's histograms of times, one histogram after the other. */
	FIRST_BUCKET,
	NR_COUNTERS = FIRST_BUCKET + NR_CACHE_LATENCIES * CACHE_LATENCY_BUCKETS
};

/* Distances from IO_READS, FAST_READS or ORIGIN_READS to the seven counters behind it. */
#define NR_IO_COUNTERS		8
#define READS_TO_READ_SECTORS	1
#define READS_TO_READ_MS	2
#define READS_TO_WRITES		3
#define READS_TO_WRITE_SECTORS	4
#define READS_TO_WRITE_MS	5
#define READS_TO_BUSY_MS	6
#define READS_TO_QUEUE_MS	7

/* The devices that have these counters, by their names in export and report. */
#define NR_ROLES		3
extern const struct role {
	const char *name;
	enum counter reads;
} roles[NR_ROLES];

#define FIRST_OWN	WRITEBACKS
#define FIRST_BYPASS	BYPASS_COLD
#define LAST_BYPASS	BYPASS_RACE
#define FIRST_IO	IO_READS

/*
 * The names of the counters: the target's as the message stats prints them, and those of a
 * device, which are the same for all three devices.
 */
extern const char * const counter_names[FIRST_BUCKET];
/* The names of the histograms, each of CACHE_LATENCY_BUCKETS counters. */
extern const char * const latency_names[NR_CACHE_LATENCIES];

/* More than twice what the target and heat have together; more are left out. */
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
	char vg[DM_NAME_MAX], lv[DM_NAME_MAX];	/* "" if the cache is not LVM's */
	char pool[DM_NAME_MAX];	/* LVM's pool or volume on the SSD; "" if there is none */

	struct device metadata, cache_device, origin;
	uint32_t block_sectors;		/* sectors of 512 bytes in a block */
	uint64_t used, total, dirty;	/* blocks */
	uint64_t metadata_used, metadata_total;	/* metadata blocks */
	uint32_t metadata_block_sectors;	/* sectors in a metadata block */

	bool own;		/* hearth's target, not the kernel's own */
	char version[32];	/* of hearth, or of the kernel's own target */
	bool failed_line;	/* the status line is "Fail" or "Error" */
	bool read_only, needs_check;
	char format;		/* of the metadata: 1 or 2 */
	char table_mode[16];	/* the table's mode */
	char mode[16];		/* the mode in effect */
	char policy[32], health[32];
	struct device lost;	/* a device that lost_below() found gone; 0:0: none, or not asked */
	char origin_state[16];	/* the result of the origin check; "" if there is none */
	uint64_t count[NR_COUNTERS];
	uint64_t intents_held;	/* blocks */
	uint64_t data_slots;	/* blocks that may hold data; 0: the target does not say */
	char log[16];		/* the state of the write log; "": the target does not say */
	uint64_t log_segments;	/* blocks of the cache device that the log has */

	struct setting settings[MAX_SETTINGS];	/* the settings in effect */
	unsigned int nr_settings;
	struct setting in_table[MAX_SETTINGS];	/* the settings that the table gives */
	unsigned int nr_in_table;

	char *words[3];		/* status, table, stats; the settings point into the first two */
};

/* ---- parse.c: the target's words become a struct cache_info; also in dmeventd's plugin ---- */

/**
 * cache_parse_status() - read the words of the status line
 * @c: zeroed, but for members that the caller has set; receives the others
 * @words: is cut up. The settings of @c point into it, so the caller frees it only when @c is
 *	no longer used
 *
 * If the line is "Fail" or "Error", only the health is set. Prints nothing.
 *
 * Return: true; false if a word is missing or is no number, and then @c has only a part of the
 * line.
 */
bool cache_parse_status(struct cache_info *c, char *words);

/**
 * cache_parse_table() - read the words of the table
 * @c: receives what the table says
 * @words: as of cache_parse_status()
 *
 * The caller reads the status line before the table, because the policy of the status line
 * counts. If the mode in effect matters, it reads the stats after the table, because this sets
 * the mode in effect to the table's mode. Prints nothing.
 *
 * Return: true; false if a word is missing or is no number, and then @c has only a part of the
 * table.
 */
bool cache_parse_table(struct cache_info *c, char *words);

/**
 * cache_parse_stats() - read the answer to the message stats
 * @c: after cache_parse_status(), whose 32-bit counters it replaces
 * @words: lines of "name value"; is cut up, and @c does not point into it
 *
 * Skips lines that it does not know. Prints nothing.
 */
void cache_parse_stats(struct cache_info *c, char *words);

/**
 * lvm_split_name() - cut a device-mapper name of LVM's in two
 * @dm_name: the name, in which LVM doubles the hyphens of its own names
 * @uuid: the device's; "" if it has none
 * @vg: of DM_NAME_MAX bytes; receives the volume group
 * @lv: of DM_NAME_MAX bytes; receives the volume
 *
 * Prints nothing.
 *
 * Return: true; false, and @vg and @lv are "", if the device is not LVM's, or without memory.
 */
bool lvm_split_name(const char *dm_name, const char *uuid, char *vg, char *lv);

/**
 * cache_set_name() - set the name, the volume group and the volume of a cache
 * @c: receives them: its name is VG/LV, or @dm_name if the cache is not LVM's
 * @dm_name: its device-mapper name
 * @uuid: the device's; "" if it has none
 */
void cache_set_name(struct cache_info *c, const char *dm_name, const char *uuid);

/* Ends with NULL. */
extern const char * const cache_modes[];

/**
 * is_cache_mode() - is this word a mode?
 * @w: the word; case counts
 *
 * Return: true if @w is one of cache_modes.
 */
bool is_cache_mode(const char *w);

/**
 * cache_setting() - the value of a setting
 * @s: the settings in effect, or those of the table
 * @nr: how many settings @s has
 * @key: the setting; case does not count
 *
 * Return: its value as the target prints it, a part of @s; NULL if @s does not have it.
 */
const char *cache_setting(const struct setting *s, unsigned int nr,
			  const char *key);

/**
 * cache_block_bytes() - the bytes of a block
 * @c: the cache
 *
 * Return: bytes; 0 if neither the status line nor the table was understood.
 */
uint64_t cache_block_bytes(const struct cache_info *c);

/**
 * cache_policy_code() - the name of the code that runs as the cache's policy
 * @c: the cache
 *
 * Hearth's heat also has the names smq and mq, so that the kernel's own target can open the
 * volume.
 *
 * Return: the name, which is a part of @c, or constant.
 */
const char *cache_policy_code(const struct cache_info *c);

/**
 * cache_writes_back() - may blocks become dirty?
 * @c: the cache
 *
 * Return: true if the table's mode lets blocks become dirty, whatever the mode in effect is.
 */
bool cache_writes_back(const struct cache_info *c);

/**
 * cache_healthy() - is the health good, and need the metadata no check?
 * @c: the cache
 *
 * Return: true if so; false also if the status line was not understood.
 */
bool cache_healthy(const struct cache_info *c);

/**
 * cache_log_in_use() - are data in the write log, or may a write go there?
 * @c: the cache, with its stats
 *
 * Return: true if so, and then only hearth opens the volume.
 */
bool cache_log_in_use(const struct cache_info *c);

/**
 * cache_log_bytes() - the part of the cache device that the write log has
 * @c: the cache, with its stats
 *
 * Return: bytes, in whole blocks; 0 without a write log.
 */
uint64_t cache_log_bytes(const struct cache_info *c);

/* ---- io.c; also in dmeventd's plugin ---- */

/**
 * cache_read_io() - read the kernel's counters of a cache's devices from /sys
 * @c: its dm has the number of the volume; receives the counters IO_READS to ORIGIN_QUEUE_MS:
 *	requests, sectors of 512 bytes, and milliseconds
 *
 * If /sys does not have one of the devices, its counters stay as they are. Prints nothing.
 */
void cache_read_io(struct cache_info *c);

/* ---- cache-info.c: the caches that are active ---- */

/**
 * cache_understood() - did the words of a cache's status and table make sense?
 * @c: the cache, of caches_read()
 *
 * Return: true if so; else only its names and its dm count, and its health is "unknown".
 */
bool cache_understood(const struct cache_info *c);

struct caches {
	struct dm_device *devices;
	unsigned int nr_devices;
	struct cache_info *all;
	unsigned int nr;
};

/**
 * caches_read() - read all caches that are active
 * @cs: receives them; after EXIT_OK the caller calls caches_free()
 *
 * Asks hearth's target for its stats as well. If the words of a cache make no sense, complains,
 * and gives the cache the health "unknown".
 *
 * Return: EXIT_OK, also if there is no cache; EXIT_NO_DM after a complaint.
 */
int caches_read(struct caches *cs);

/**
 * caches_read_if_any() - caches_read() for a machine that may have no device-mapper
 * @cs: as of caches_read()
 * @no_dm: becomes true if the kernel has no device-mapper, which is no error: @cs is empty
 *	then
 *
 * Return: EXIT_OK; EXIT_NO_DM after a complaint, if the user is not root, say.
 */
int caches_read_if_any(struct caches *cs, bool *no_dm);

/**
 * caches_explain() - complain that device-mapper cannot be asked
 * @error: of a function of dm.h, negative
 *
 * Return: EXIT_NO_DM.
 */
int caches_explain(int error);

/**
 * caches_free() - free all that caches_read() and the like have read
 * @cs: is empty afterwards, and may be freed again
 */
void caches_free(struct caches *cs);

/**
 * bare_name() - a name without "/dev/" or "/dev/mapper/" before it
 * @name: as the user gave it
 *
 * Return: a part of @name.
 */
const char *bare_name(const char *name);

/**
 * caches_find() - find a cache by the name that a user gives
 * @cs: all caches
 * @name: VG/LV or a device-mapper name, with or without "/dev/" before it; or a volume group
 *	or the pool VG/POOL that only one cache belongs to; or a thin pool whose data are cached
 *
 * Return: one of @cs; NULL, without a complaint, if no cache, or more than one, has the name.
 */
struct cache_info *caches_find(const struct caches *cs, const char *name);

/**
 * caches_select() - read all caches, and keep those that a name stands for
 * @cs: receives them; after EXIT_OK the caller calls caches_free()
 * @name: as of caches_find(), but several caches may belong to a volume group; NULL keeps all
 *	caches, also if there is none
 *
 * Return: EXIT_OK; EXIT_NO_CACHE or EXIT_NO_DM after a complaint.
 */
int caches_select(struct caches *cs, const char *name);

/**
 * caches_get() - read all caches, and find one
 * @cs: receives them; after EXIT_OK the caller calls caches_free()
 * @name: as of caches_find()
 * @c: receives it; it is a part of @cs
 *
 * If there is none, asks LVM what the volume is, for the complaint.
 *
 * Return: EXIT_OK; EXIT_NO_CACHE or EXIT_NO_DM after a complaint.
 */
int caches_get(struct caches *cs, const char *name, struct cache_info **c);

#endif
