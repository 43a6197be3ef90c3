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

/* The devices that have them, by the names that export and report give them. */
#define NR_ROLES		3
extern const struct role {
	const char *name;
	enum counter reads;
} roles[NR_ROLES];

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

/* ---- parse.c: from the target's words to struct cache_info; dmeventd's plugin, too ---- */

/**
 * cache_parse_status() - read the words of the status line
 * @c: zeroed, but for what the caller knows already; receives the rest
 * @words: is cut up; the strings of @c point into it, so the caller keeps it while @c is
 *	used, and frees it
 *
 * A line "Fail" or "Error" tells the health alone. Prints nothing.
 *
 * Return: false if a word is missing or is no number; @c is filled in in part then.
 */
bool cache_parse_status(struct cache_info *c, char *words);

/**
 * cache_parse_table() - read the words of the table
 * @c: after cache_parse_status(), if there is a status line, whose policy counts; before
 *	cache_parse_stats() where the mode in effect matters, because the table's mode is
 *	taken for it
 * @words: as of cache_parse_status()
 *
 * Prints nothing.
 *
 * Return: false if a word is missing or is no number; @c is filled in in part then.
 */
bool cache_parse_table(struct cache_info *c, char *words);

/**
 * cache_parse_stats() - read the answer to the message stats
 * @c: after cache_parse_status(), whose 32-bit counters it replaces
 * @words: lines of "name value"; is cut up, but @c keeps nothing of it
 *
 * Skips lines that it does not know. Prints nothing.
 */
void cache_parse_stats(struct cache_info *c, char *words);

/**
 * lvm_split_name() - cut a device-mapper name of LVM's in two
 * @dm_name: in which LVM doubles the dashes of its own names
 * @uuid: the device's; "" if it has none
 * @vg: of DM_NAME_MAX bytes; receives the volume group
 * @lv: of DM_NAME_MAX bytes; receives the volume
 *
 * Prints nothing.
 *
 * Return: false, and both are empty, if the device is not LVM's, or without memory.
 */
bool lvm_split_name(const char *dm_name, const char *uuid, char *vg, char *lv);

/**
 * cache_set_name() - set the name, the volume group and the volume of a cache
 * @c: receives them: VG/LV as its name, or @dm_name if it is not LVM's
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
 * Return: true if it is one of cache_modes.
 */
bool is_cache_mode(const char *w);

/**
 * cache_setting() - the value of a setting
 * @s: the settings in effect, or those of the table
 * @nr: how many they are
 * @key: the setting; case does not count
 *
 * Return: its value as the target prints it, which stays @s's; NULL if it is not there.
 */
const char *cache_setting(const struct setting *s, unsigned int nr,
			  const char *key);

/**
 * cache_block_bytes() - the size of a block
 * @c: the cache
 *
 * Return: bytes; 0 if neither the status line nor the table was understood.
 */
uint64_t cache_block_bytes(const struct cache_info *c);

/**
 * cache_policy_code() - the code that runs as the cache's policy
 * @c: the cache
 *
 * Hearth's heat answers to smq and mq, so that the kernel's own target can open the volume.
 *
 * Return: the name, which stays @c's, or is constant.
 */
const char *cache_policy_code(const struct cache_info *c);

/**
 * cache_writes_back() - may blocks become dirty?
 * @c: the cache
 *
 * Return: true if the table's mode lets them, whatever the mode in effect is.
 */
bool cache_writes_back(const struct cache_info *c);

/**
 * cache_healthy() - is the health good, and the metadata in no need of a check?
 * @c: the cache
 *
 * Return: false as well if the status was not understood.
 */
bool cache_healthy(const struct cache_info *c);

/**
 * cache_log_in_use() - do data lie in the write log, or may they?
 * @c: the cache, with its stats
 *
 * Return: true if so: then only hearth opens the volume.
 */
bool cache_log_in_use(const struct cache_info *c);

/* ---- io.c; dmeventd's plugin, too ---- */

/**
 * cache_read_io() - read the kernel's counters of a cache's devices from /sys
 * @c: its dm names the volume; receives the counters IO_READS to ORIGIN_QUEUE_MS:
 *	requests, sectors and milliseconds of the volume, the cache device and the origin
 *
 * The counters of a device that is not there stay as they are. Prints nothing.
 */
void cache_read_io(struct cache_info *c);

/* ---- cache-info.c: the caches that are active ---- */

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
 * Asks hearth's target for its stats as well. A cache whose words make no sense is
 * complained of, and is there with the health "unknown".
 *
 * Return: EXIT_OK, even if there is none; EXIT_NO_DM after a complaint.
 */
int caches_read(struct caches *cs);

/**
 * caches_read_if_any() - caches_read(), where there may be no device-mapper
 * @cs: as of caches_read()
 * @no_dm: becomes true if the kernel has no device-mapper: there are no caches then, and
 *	that is no error
 *
 * Return: EXIT_OK; EXIT_NO_DM after a complaint, if device-mapper may not be asked, say.
 */
int caches_read_if_any(struct caches *cs, bool *no_dm);

/**
 * caches_free() - free all that was read of caches
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
 * caches_find() - the cache that a user calls so
 * @cs: all caches
 * @name: VG/LV or a device-mapper name, with or without "/dev/"; the name of a volume
 *	group, or of a pool, stands for the cache in it if there is only one
 *
 * Return: one of @cs; NULL, without a complaint, if there is none.
 */
struct cache_info *caches_find(const struct caches *cs, const char *name);

/**
 * caches_select() - read all caches, and keep those that a name stands for
 * @cs: receives them; after EXIT_OK the caller calls caches_free()
 * @name: as of caches_find(), but a volume group may have several; NULL keeps all, which
 *	may be none
 *
 * Return: EXIT_OK; EXIT_NO_CACHE or EXIT_NO_DM after a complaint.
 */
int caches_select(struct caches *cs, const char *name);

/**
 * caches_get() - read all caches, and find one
 * @cs: receives them; after EXIT_OK the caller calls caches_free()
 * @name: as of caches_find()
 * @c: receives the one, which is @cs's
 *
 * For the complaint it asks LVM what the volume is.
 *
 * Return: EXIT_OK; EXIT_NO_CACHE or EXIT_NO_DM after a complaint.
 */
int caches_get(struct caches *cs, const char *name, struct cache_info **c);

#endif
