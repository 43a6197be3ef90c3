// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings that were given by message and outlive the table: the record in the
 * superblock.
 *
 * A session of the kernel's own target voids the record.  Then the table's settings
 * and the defaults hold, so no safety may depend on the record.  A key that the table
 * names wins over the record.
 *
 * It owns the record's text in memory and the order in which table, record and
 * defaults win.  It must not know how the record lies in the superblock, nor what a
 * setting does, except for the mode and the default of max_intents.
 */
#include "../metadata/cache-record.h"
#include "cache-table.h"

const char * const cache_mode_names[MODE_WRITEONLY + 1] = {
	[MODE_WRITETHROUGH] = "writethrough",
	[MODE_WRITEBACK] = "writeback",
	[MODE_PASSTHROUGH] = "passthrough",
	[MODE_WRITEAROUND] = "writearound",
	[MODE_WRITEONLY] = "writeonly",
};

#define LINE_MAX_LEN	64	/* longer than a mode, a session, a number */
#define SESSION_LEN	17	/* a u64 in hex */
#define THROUGH_LEN	9	/* a u32 in hex */
/*
 * Default of max_intents: the largest of these.  So many clean blocks may be copied
 * home after a power cut.  In a mode where the origin alone must be enough, few
 * blocks are to depend on the cache device: a share of it, because then the copying
 * grows no faster than the cache.  INTENTS_MIN leaves a small cache room for the
 * neighbours of a few first writes (AHEAD_SLOTS).  None of the three was chosen by
 * measurement.
 */
#define INTENTS_MIN	4096U
#define INTENTS_PERCENT	2
#define INTENTS_SECTORS	(1U << 22)	/* 2 GiB, if dirty blocks are kept */

/* Write the record; durable on return.  May sleep. */
static int save_record(struct cache *c)
{
	int r;

	mutex_lock(&c->md.lock);
	r = cmd_record_set(c->md.cmd, c->settings.record,
			   strlen(c->settings.record));
	mutex_unlock(&c->md.lock);
	return r ? r : cache_commit_sync(c);
}

int cache_setting_save(struct cache *c, const char *key, const char *value)
{
	char before[sizeof(c->settings.record)];
	int r;

	mutex_lock(&c->settings.lock);
	strscpy(before, c->settings.record, sizeof(before));
	r = cache_record_put(c->settings.record, key, value);
	if (!r)
		r = save_record(c);
	if (r) {
		strscpy(c->settings.record, before, sizeof(c->settings.record));
		DMERR("setting %s could not be stored: error %d", key, r);
	}
	mutex_unlock(&c->settings.lock);
	return r;
}

void cache_settings_load(struct cache *c)
{
	char session[SESSION_LEN], through[THROUGH_LEN], own[2];
	int len;
	u32 of;

	lockdep_assert_held(&c->md.lock);
	len = cmd_record_get(c->md.cmd, c->settings.record,
			     sizeof(c->settings.record) - 1);
	cache_record_take(c->settings.record, len);
	if (!cache_record_get(c->settings.record, "session", session,
			      sizeof(session)) ||
	    kstrtou64(session, 16, &c->settings.session))
		c->settings.session = 0;
	c->settings.own = cache_record_get(c->settings.record, "own", own,
					   sizeof(own));
	c->settings.through = c->settings.session &&
		cache_record_get(c->settings.record, "through", through,
				 sizeof(through)) &&
		!kstrtou32(through, 16, &of) &&
		of == lower_32_bits(c->settings.session);
}

int cache_settings_note_own(struct cache *c)
{
	lockdep_assert_held(&c->md.lock);
	c->settings.own = true;
	/*
	 * If the record has no room, the next load does not know this, and
	 * overlooks more differences.
	 */
	if (cache_record_put(c->settings.record, "own", "1"))
		return 0;
	return cmd_record_set(c->md.cmd, c->settings.record,
			      strlen(c->settings.record));
}

int cache_settings_note_through(struct cache *c, bool through)
{
	char of[THROUGH_LEN];

	lockdep_assert_held(&c->md.lock);
	snprintf(of, sizeof(of), "%08x", lower_32_bits(c->settings.session));
	c->settings.through = through && c->settings.session &&
			      !cache_record_put(c->settings.record, "through", of);
	if (!c->settings.through)
		cache_record_put(c->settings.record, "through", NULL);
	return cmd_record_set(c->md.cmd, c->settings.record,
			      strlen(c->settings.record));
}

int cache_settings_new_session(struct cache *c)
{
	char session[SESSION_LEN];

	lockdep_assert_held(&c->md.lock);
	c->settings.session = get_random_u64();
	snprintf(session, sizeof(session), "%016llx", c->settings.session);
	/* If the record has no room for it, the cache only loses a safeguard. */
	if (cache_record_put(c->settings.record, "session", session)) {
		cache_record_put(c->settings.record, "session", NULL);
		c->settings.session = 0;
	}
	return cmd_record_set(c->md.cmd, c->settings.record,
			      strlen(c->settings.record));
}

/* ---- Mode ---- */

/*
 * lvm2 knows three modes.  Two more live on top of the table's: they only
 * differ from it in what they promote, so that they can be set while I/O runs.
 */
static int overlay_mode(enum dm_cache_mode table, const char *name,
			enum dm_cache_mode *mode)
{
	*mode = table;
	if (!strcasecmp(name, "table"))
		return 0;
	if (table == MODE_WRITETHROUGH && !strcasecmp(name, "writearound"))
		*mode = MODE_WRITEAROUND;
	else if (table == MODE_WRITEBACK && !strcasecmp(name, "writeonly"))
		*mode = MODE_WRITEONLY;
	else
		return -EINVAL;
	return 0;
}

int cache_set_mode(struct cache_table *t, const char *name)
{
	struct cache *c = t->cache;
	enum dm_cache_mode mode;
	int r;

	if (overlay_mode(t->mode, name, &mode)) {
		DMERR("mode: '%s' is not possible over %s; writearound goes with writethrough, writeonly with writeback, and 'table' takes either back",
		      name, cache_mode_names[t->mode]);
		return -EINVAL;
	}
	r = cache_setting_save(c, "mode", mode == t->mode ? NULL : name);
	if (r)
		return r;

	/* A cache that has failed keeps the mode that its failure gave it. */
	mutex_lock(&c->md.lock);
	if (!cache_writable(c) || c->degrade.fast_dead)
		r = -EROFS;
	else
		WRITE_ONCE(c->state.mode, mode);
	mutex_unlock(&c->md.lock);
	return r;
}

/* ---- The engine's own ---- */

#define CORE_ROW(key, unit, def, min, max, help) \
	CACHE_SETTING_ROW(struct cache, limits.key, key, unit, min, max, help)
const struct cache_tunable cache_core_tunables[] = {
	CACHE_SETTINGS(CORE_ROW)
	{ NULL }
};

const struct cache_tunable *cache_setting_find(struct cache *c, const char *key,
					       void **base)
{
	const struct cache_tunable *tn;

	*base = c;
	tn = cache_tunable_find(cache_core_tunables, key);
	if (tn)
		return tn;
	*base = c->policy.p;
	return cache_tunable_find(c->policy.ops->tunables, key);
}

/* ---- At resume ---- */

static bool in_table(struct cache_table *t, const struct cache_tunable *tn)
{
	unsigned int i;

	for (i = 0; i < t->nr_settings; i++)
		if (t->settings[i].tunable == tn)
			return true;
	return false;
}

#define SET_DEFAULT(key, unit, def, min, max, help) c->limits.key = def;
static void reset_tunables(struct cache *c)
{
	const struct cache_tunable *tn = c->policy.ops->tunables;
	unsigned int i;

	CACHE_SETTINGS(SET_DEFAULT)
	c->limits.max_intents = max_t(u64, INTENTS_MIN, (u64)c->map.nr_slots *
				      INTENTS_PERCENT / 100);
	if (cache_keeps_dirty(c))
		c->limits.max_intents =
			max_t(u64, c->limits.max_intents,
			      INTENTS_SECTORS / c->geo.block_sectors);
	for (i = 0; tn && tn[i].key && i < CACHE_MAX_TUNABLES; i++)
		cache_tunable_set(c->policy.p, &tn[i], c->policy.defaults[i]);
}

static void apply_record(struct cache *c, struct cache_table *t,
			 const struct cache_tunable *table, void *base)
{
	char value[LINE_MAX_LEN], why[CACHE_WHY_LEN];
	const struct cache_tunable *tn;
	u64 v;

	for (tn = table; tn && tn->key; tn++)
		if (!in_table(t, tn) &&
		    cache_record_get(c->settings.record, tn->key, value,
				     sizeof(value)) &&
		    !cache_tunable_parse(tn, value, &v, why, sizeof(why)))
			cache_tunable_set(base, tn, v);
}

/*
 * The defaults, then the record's settings where the table is silent, then the
 * table's.
 */
void cache_settings_apply(struct cache *c, struct cache_table *t)
{
	char value[LINE_MAX_LEN];
	enum dm_cache_mode mode;
	unsigned int i;
	void *base;

	if (cache_record_get(c->settings.record, "mode", value,
			     sizeof(value)) &&
	    !overlay_mode(t->mode, value, &mode))
		WRITE_ONCE(c->state.mode, mode);

	reset_tunables(c);
	apply_record(c, t, cache_core_tunables, c);
	apply_record(c, t, c->policy.ops->tunables, c->policy.p);
	for (i = 0; i < t->nr_settings; i++) {
		cache_setting_find(c, t->settings[i].tunable->key, &base);
		cache_tunable_set(base, t->settings[i].tunable,
				  t->settings[i].value);
	}
}
