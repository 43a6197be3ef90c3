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

	struct list_head running;	/* on cache->tables while resumed */
	/*
	 * From the first resume on.  A resume may replace it, under engines_lock:
	 * calls that may come meanwhile borrow it.
	 */
	struct cache *cache;
	struct cache *kept;		/* another's; see keep_engine() */
	bool suspending;		/* from presuspend to postsuspend */
};

extern const char * const cache_mode_names[];
/* The engine's own settings, ended by a NULL key; offsets into struct cache. */
extern const struct cache_tunable cache_core_tunables[];

/* For the constructor: log, and say to device-mapper, why it is refused. */
void cache_table_refuse_metadata(struct cache_table *t, const char *why);
int cache_table_parse(struct dm_target *ti, unsigned int argc, char **argv,
		      struct cache_table **result);
void cache_table_free(struct cache_table *t);
/* Are discards to be passed to the origin?  Any context. */
bool cache_passes_discards(const struct cache_table *t);

/* cache-engine.c; all may sleep, all are serialised by device-mapper per table */
int cache_check_metadata(struct cache_table *t, const char **why);
int cache_engine_resume(struct cache_table *t);
void cache_engine_run(struct cache *c);
void cache_engine_quiesce(struct cache_table *t);
void cache_engine_unquiesce(struct cache_table *t);
void cache_engine_suspend(struct cache_table *t);
void cache_engine_put(struct cache_table *t);
/* The table's engine, or NULL; it stays until it is returned.  Any time. */
struct cache *cache_engine_borrow(struct cache_table *t);
void cache_engine_return(struct cache *c);

/* cache-settings.c; may sleep */
/* Find a setting of the engine (with @c as its base) or of the policy. */
const struct cache_tunable *cache_setting_find(struct cache *c, const char *key,
					       void **base);
void cache_settings_load(struct cache *c);
/* Give the metadata's next commit a session of its own; under md_lock. */
int cache_settings_new_session(struct cache *c);
void cache_settings_apply(struct cache *c, struct cache_table *t);
/* Keep a setting in the metadata (NULL: forget it); durable on return. */
int cache_setting_save(struct cache *c, const char *key, const char *value);
int cache_set_mode(struct cache_table *t, const char *name);

/* cache-status.c */
void cache_status(struct dm_target *ti, status_type_t type,
		  unsigned int flags, char *result, unsigned int maxlen);
int cache_message(struct dm_target *ti, unsigned int argc, char **argv,
		  char *result, unsigned int maxlen);

#endif
