/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A parsed table line.  It owns the devices that it opened, and a reference to its
 * policy's module.  From its first resume on it has a reference to an engine, too.
 */
#ifndef HEARTH_CACHE_TABLE_H
#define HEARTH_CACHE_TABLE_H

#include "cache.h"

#define CACHE_MAX_SETTINGS	CACHE_MAX_TUNABLES	/* of a table line, at most */
#define CACHE_WHY_LEN		128	/* bytes of a text that says what is wrong */

/* A setting that the table gives. */
struct cache_setting {
	const struct cache_tunable *tunable;	/* the policy's row, or the engine's */
	u64 value;
};

struct cache_table {
	struct dm_target *ti;
	struct dm_dev *metadata;
	struct dm_dev *fast;		/* the cache device */
	struct dm_dev *origin;
	u32 block_sectors;		/* sectors of a block */
	u32 nr_slots;			/* whole blocks of the cache device */

	enum dm_cache_mode mode;
	unsigned int format;		/* 1 or 2: of metadata that is to be formatted */
	bool no_discard_passdown;

	char policy_name[CACHE_POLICY_NAME_LEN];	/* as the table gives it */
	const struct cache_policy_ops *policy_ops;
	unsigned int nr_settings;
	struct cache_setting settings[CACHE_MAX_SETTINGS];

	/* The words of the line from the block size on, for STATUSTYPE_TABLE. */
	unsigned int argc;
	char **argv;
	char why[CACHE_WHY_LEN];	/* why the table is refused, for the kernel log */

	struct list_head running;	/* in life.tables from a resume to a suspend */
	/*
	 * NULL before the first resume.  A resume may replace it, under engines_lock,
	 * so a call that may come meanwhile uses cache_engine_borrow().
	 */
	struct cache *cache;
	struct cache *kept;		/* the engine of another table; see keep_engine() */
	bool suspending;		/* set from presuspend to postsuspend */
	struct rw_semaphore messages;	/* read: a message is under way; write: a suspend */
};

/**
 * cache_table_refuse_metadata() - say in the kernel log why a table is refused
 * @t: a table that is being constructed; ti->error refers to the kernel log
 * @why: what is wrong with its metadata, as cache_check_metadata() says it
 *
 * Context: process.
 */
void cache_table_refuse_metadata(struct cache_table *t, const char *why);

/**
 * cache_table_parse() - parse a table, open its devices and get its policy
 * @ti: the target; after an error the kernel log says why, and ti->error refers to it
 * @argc: the number of words
 * @argv: the words, from the metadata device on
 * @result: receives the table
 *
 * Context: process, sleeps; may wait for modprobe; takes registry_lock.
 *
 * Return: 0; -EINVAL if the words are refused; -ENOMEM; or the error of opening a
 * device.
 */
int cache_table_parse(struct dm_target *ti, unsigned int argc, char **argv,
		      struct cache_table **result);

/**
 * cache_table_free() - undo cache_table_parse()
 * @t: the table; nothing may run on it, and cache_engine_put() was called if it has an
 *	engine
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
