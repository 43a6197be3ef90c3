/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings that outlive the table: see cache-settings.c.  All functions may sleep. */
#ifndef HEARTH_CACHE_SETTINGS_H
#define HEARTH_CACHE_SETTINGS_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "../metadata/cache-metadata.h"
#include "cache-policy.h"
#include "cache-setting-list.h"

struct cache;
struct cache_table;

/*
 * The engine's own settings, as tables and messages give them.  cache-setting-list.h
 * has their names and units.
 */
struct cache_limits {
	CACHE_SETTINGS(CACHE_SETTING_MEMBER)
};

/* The settings that the superblock keeps, as text. */
struct cache_record {
	struct mutex lock;		/* guards @record */
	char record[CMD_RECORD_MAX + 1];	/* ends with a NUL */
	u64 session;			/* the session's number, random; 0: none */
	bool own;			/* hearth has promoted all that is mapped */
	/* The dirty bits on the disk are only intents: the origin has all content. */
	bool through;
};

/*
 * The rows of the engine's own settings, ended by a NULL key.  Their offsets are into
 * struct cache.
 */
extern const struct cache_tunable cache_core_tunables[];

/**
 * cache_setting_find() - the row of a setting of the engine or of its policy
 * @c: the engine
 * @key: the name of the setting
 * @base: receives the @base that cache_tunable_set() and cache_tunable_value() take
 *
 * Context: any; the policy must not be switched meanwhile.
 *
 * Return: the row, or NULL.
 */
const struct cache_tunable *cache_setting_find(struct cache *c, const char *key,
					       void **base);

/**
 * cache_settings_load() - read the record from the metadata
 * @c: the engine.  If there is no record, it is empty, and the session is 0.
 *
 * Context: under md.lock; no I/O runs.
 */
void cache_settings_load(struct cache *c);

/**
 * cache_settings_note_own() - note that the mapping is empty
 * @c: the engine
 *
 * From here on only hearth fills the mapping.  The next commit makes the note durable,
 * if the record has room.  A session of the kernel's own target voids the record, and
 * with it this note.
 *
 * Context: under md.lock; no I/O runs.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_settings_note_own(struct cache *c);

/**
 * cache_settings_note_through() - note whether the dirty bits are only intents
 * @c: the engine; cache_settings_new_session() was called
 * @through: the dirty bits are only intents, until this is called again
 *
 * The next commit makes the note durable.  The note names the session, because an older
 * module would keep the note and not obey it.  If the record has no room, there is no
 * note.
 *
 * Context: under md.lock; no I/O runs.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_settings_note_through(struct cache *c, bool through);

/**
 * cache_settings_new_session() - begin a session with a new number
 * @c: the engine
 *
 * The next commit makes the number durable.  If the record has no room, the number is
 * 0.
 *
 * Context: under md.lock; no I/O runs.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_settings_new_session(struct cache *c);

/**
 * cache_settings_apply() - give all settings their values
 * @c: the engine; no I/O runs
 * @t: its table
 *
 * A setting has the table's value; if the table does not name it, the record's; if the
 * record does not name it either, the default.
 *
 * Context: process.
 */
void cache_settings_apply(struct cache *c, struct cache_table *t);

/**
 * cache_setting_save() - keep a setting in the metadata
 * @c: the engine
 * @key: the name of the setting
 * @value: its value; NULL: the record forgets the setting
 *
 * The change is durable on return.
 *
 * Context: process, sleeps; takes settings.lock and, under it, md.lock; waits for a
 * commit.
 *
 * Return: 0; -ENOSPC if the record has no room; -EINVAL if @value has more than one
 * line; or an error of the metadata or of the commit.  After an error the record in
 * memory is as before.
 */
int cache_setting_save(struct cache *c, const char *key, const char *value);

/**
 * cache_set_mode() - act on the message "mode"
 * @t: a table that has its engine
 * @name: the name of the mode, or "table" for the table's
 *
 * Context: as cache_setting_save().
 *
 * Return: 0; -EINVAL if @name does not go with the table's mode; -EROFS if the cache
 * has failed meanwhile, so that its mode stays; or an error of cache_setting_save().
 */
int cache_set_mode(struct cache_table *t, const char *name);

#endif
