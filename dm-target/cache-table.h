/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A parsed table line.  It owns the devices that it opened and a reference to
 * its policy's module; the engine under it is only borrowed from when it is
 * resumed.
 */
#ifndef HEARTH_CACHE_TABLE_H
#define HEARTH_CACHE_TABLE_H

#include "cache.h"

#define CACHE_MAX_SETTINGS	CACHE_MAX_TUNABLES
#define CACHE_WHY_LEN		128

struct cache_setting {
	const struct cache_tunable *tunable;	/* the policy's, or a core one */
	u64 value;
};

struct cache_table {
	struct dm_target *ti;
	struct dm_dev *metadata;
	struct dm_dev *fast;
	struct dm_dev *origin;
	u32 block_sectors;
	u32 nr_slots;

	enum dm_cache_mode mode;
	unsigned int format;		/* for metadata that is to be formatted */
	bool no_discard_passdown;

	char policy_name[CACHE_POLICY_NAME_LEN];
	const struct cache_policy_ops *policy_ops;
	unsigned int nr_settings;
	struct cache_setting settings[CACHE_MAX_SETTINGS];

	/* The words as given, from the block size on, for STATUSTYPE_TABLE. */
	unsigned int argc;
	char **argv;
	char why[CACHE_WHY_LEN];	/* what ti->error points to */

	struct list_head running;	/* on life.tables while resumed */
	/*
	 * Set from the first resume on.  A resume may replace it, under
	 * engines_lock, so a call that may come meanwhile borrows it.
	 */
	struct cache *cache;
	struct cache *kept;		/* of another table; see keep_engine() */
	bool suspending;		/* from presuspend to postsuspend */
};

/**
 * cache_table_refuse_metadata() - say why a table's metadata is refused
 * @t: a table that is being constructed
 * @why: what is wrong, as cache_check_metadata() says it
 *
 * To the log and, by ti->error, to device-mapper.
 */
void cache_table_refuse_metadata(struct cache_table *t, const char *why);

/**
 * cache_table_parse() - parse a table, open its devices and get its policy
 * @ti: the target; on an error ti->error says why
 * @argc: how many words
 * @argv: the words, from the metadata device on
 * @result: receives the table
 *
 * Context: process, sleeps; may wait for modprobe.
 *
 * Return: 0; -EINVAL for words that are refused; -ENOMEM; or the error of opening a
 * device.
 */
int cache_table_parse(struct dm_target *ti, unsigned int argc, char **argv,
		      struct cache_table **result);

/**
 * cache_table_free() - undo cache_table_parse()
 * @t: nothing may run on it
 *
 * Context: process, sleeps.
 */
void cache_table_free(struct cache_table *t);

/**
 * cache_passes_discards() - whether discards are to be passed to the origin
 * @t: the table
 *
 * Context: any, never sleeps.
 */
bool cache_passes_discards(const struct cache_table *t);

#endif
