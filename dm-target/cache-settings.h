/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings that outlive the table, see cache-settings.c.  All may sleep. */
#ifndef HEARTH_CACHE_SETTINGS_H
#define HEARTH_CACHE_SETTINGS_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "../metadata/cache-metadata.h"
#include "cache-policy.h"
#include "cache-setting-list.h"

struct cache;
struct cache_table;

/* Given by table or message; members and units: cache-setting-list.h. */
struct cache_limits {
	CACHE_SETTINGS(CACHE_SETTING_MEMBER)
};

/* The settings that the superblock keeps, as text. */
struct cache_record {
	struct mutex lock;		/* guards record */
	char record[CMD_RECORD_MAX + 1];
	u64 session;			/* random; 0: none */
};

/* The engine's own settings, ended by a NULL key; offsets into struct cache. */
extern const struct cache_tunable cache_core_tunables[];

/* Find a setting of the engine (with @c as its base) or of the policy. */
const struct cache_tunable *cache_setting_find(struct cache *c, const char *key,
					       void **base);
/* Read the record from the metadata; under md_lock. */
void cache_settings_load(struct cache *c);
/* Give the metadata's next commit a session of its own; under md_lock. */
int cache_settings_new_session(struct cache *c);
/*
 * Give all settings their values: the defaults, then the record's where the
 * table is silent, then the table's.  No I/O runs.
 */
void cache_settings_apply(struct cache *c, struct cache_table *t);
/*
 * Keep a setting in the metadata (NULL: forget it); durable on return.  -ENOSPC
 * if the record has no room, or an error of the metadata.  Takes settings.lock.
 */
int cache_setting_save(struct cache *c, const char *key, const char *value);
/* The message "mode": -EINVAL if @name does not go with the table's mode. */
int cache_set_mode(struct cache_table *t, const char *name);

#endif
