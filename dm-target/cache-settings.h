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
	bool own;			/* hearth has promoted all that is mapped */
	/* Blocks that the disk calls dirty have only intents: the origin is as new. */
	bool through;
};

/* The engine's own settings, ended by a NULL key; offsets into struct cache. */
extern const struct cache_tunable cache_core_tunables[];

/**
 * cache_setting_find() - the row of a setting of the engine or of its policy
 * @c: the engine
 * @key: name of the setting
 * @base: receives what cache_tunable_set() needs
 *
 * Context: the policy must not be switched meanwhile.  Return: the row, or NULL.
 */
const struct cache_tunable *cache_setting_find(struct cache *c, const char *key,
					       void **base);

/**
 * cache_settings_load() - read the record from the metadata
 * @c: the engine; has no settings and session 0 if there is no record
 *
 * Context: under md.lock; no I/O runs.
 */
void cache_settings_load(struct cache *c);

/**
 * cache_settings_note_own() - the mapping is empty, or only hearth has filled it
 * @c: the engine
 *
 * The next commit keeps that, if the record has room.  A session of the stock target
 * voids the record, and with it this note.  Context: under md.lock; no I/O runs.
 * Return: 0 or an error of the metadata.
 */
int cache_settings_note_own(struct cache *c);

/**
 * cache_settings_note_through() - are the dirty bits of this session only intents?
 * @c: the engine, whose session was drawn already
 * @through: that is so until this is called again
 *
 * The next commit keeps that.  The note is bound to the session, because an older
 * module would keep it and not know it.  Without room there is none.  Context: under
 * md.lock; no I/O runs.  Return: 0 or an error of the metadata.
 */
int cache_settings_note_through(struct cache *c, bool through);

/**
 * cache_settings_new_session() - give the metadata's next commit its own session
 * @c: the engine
 *
 * Context: under md.lock; no I/O runs.  Return: 0 or an error of the metadata.
 */
int cache_settings_new_session(struct cache *c);

/**
 * cache_settings_apply() - give all settings their values
 * @c: the engine; no I/O runs
 * @t: its table
 *
 * The defaults, then the record's where the table is silent, then the table's.
 */
void cache_settings_apply(struct cache *c, struct cache_table *t);

/**
 * cache_setting_save() - keep a setting in the metadata
 * @c: the engine
 * @key: name of the setting
 * @value: its value; NULL: forget it
 *
 * Durable on return.  Context: process, sleeps; takes settings.lock and, under it,
 * md.lock; waits for a commit.
 *
 * Return: 0; -ENOSPC if the record has no room; -EINVAL if @value has more than one
 * line; or an error of the metadata.  After an error the record is as it was in
 * memory.
 */
int cache_setting_save(struct cache *c, const char *key, const char *value);

/**
 * cache_set_mode() - the message "mode"
 * @t: a table that has its engine
 * @name: of the mode
 *
 * Context: as cache_setting_save().
 *
 * Return: 0; -EINVAL if @name does not go with the table's mode; -EROFS if the cache
 * has failed; or an error of cache_setting_save().
 */
int cache_set_mode(struct cache_table *t, const char *name);

#endif
