// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings that hearth has, and their values with units.  It takes the settings from the
 * target's list and from the tables of the policies that are linked in, and must not name
 * any of them.  It must not change a cache.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"
#include "cache-setting-list.h"
#include "settings.h"
#include "sysfs.h"

#define ROW(key, unit, def, min, max, help)	{ #key, unit, help, min, max, def },

static const struct known_setting of_target[] = { CACHE_SETTINGS(ROW) };

/* ---- The list ---- */

static struct known_setting of_policy(const struct cache_policy_ops *ops,
				      const struct cache_tunable *t)
{
	return (struct known_setting){
		.key = t->key, .unit = t->unit, .help = t->help,
		.min = t->min, .max = t->max, .policy = ops, .tunable = t,
	};
}

static bool find_in_policy(const struct cache_policy_ops *ops, const char *key,
			   struct known_setting *k)
{
	const struct cache_tunable *t;

	for (t = ops ? ops->tunables : NULL; t && t->key; t++) {
		if (strcmp(t->key, key))
			continue;
		*k = of_policy(ops, t);
		return true;
	}
	return false;
}

/* Looks for a setting among those of the first @nr policies. */
static bool find_in_policies(unsigned int nr, const char *key, struct known_setting *k)
{
	const struct cache_policy_ops *ops;
	unsigned int i;

	for (i = 0; i < nr && (ops = policy_nth(i)); i++)
		if (find_in_policy(ops, key, k))
			return true;
	return false;
}

bool setting_find(const struct cache_info *c, const char *key, struct known_setting *k)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(of_target); i++) {
		if (strcmp(of_target[i].key, key))
			continue;
		*k = of_target[i];
		return true;
	}
	return find_in_policy(policy_find(c->policy), key, k) ||
	       find_in_policies(UINT_MAX, key, k);
}

bool setting_nth(unsigned int i, struct known_setting *k)
{
	const struct cache_policy_ops *ops;
	const struct cache_tunable *t;
	unsigned int j;

	if (i < ARRAY_SIZE(of_target)) {
		*k = of_target[i];
		return true;
	}
	i -= ARRAY_SIZE(of_target);
	for (j = 0; (ops = policy_nth(j)); j++) {
		for (t = ops->tunables; t && t->key; t++) {
			/* Several policies may have the same key; the first of them counts. */
			if (find_in_policies(j, t->key, k) || i--)
				continue;
			*k = of_policy(ops, t);
			return true;
		}
	}
	return false;
}

/* ---- Defaults ---- */

/* Makes an instance of the policy, because an instance has the defaults for its origin. */
static bool default_of_policy(const struct known_setting *k, const struct cache_info *c,
			      uint64_t *value)
{
	u16 words[2] = { 0 };
	struct cache_policy_params params = {
		.nr_slots = 1, .block_sectors = 128, .origin_blocks = 1,
		.rotational = sys_number(c->origin, "queue/rotational", 1),
		.words = words, .word_stride = 2,
	};
	struct cache_policy *p = policy_make(k->policy, &params);

	if (!p)
		return false;
	*value = policy_get(p, k->tunable);
	k->policy->destroy(p);
	return true;
}

bool setting_default(const struct known_setting *k, const struct cache_info *c,
		     uint64_t *value)
{
	if (k->policy)
		return default_of_policy(k, c, value);
	*value = k->otherwise;
	/* A default outside of the limits stands for a default that the engine computes. */
	return *value >= k->min && *value <= k->max;
}

bool setting_is_default(const struct cache_info *c, const struct setting *s)
{
	struct known_setting k;
	uint64_t value;
	char *end;

	return setting_find(c, s->key, &k) && setting_default(&k, c, &value) &&
	       strtoull(s->value, &end, 10) == value && !*end;
}

/* ---- Values with a unit ---- */

struct suffix {
	const char *name;
	double factor;
};

static double factor_of(const struct suffix *s, const char *name)
{
	for (; s->name; s++)
		if (!strcasecmp(s->name, name))
			return s->factor;
	return 0;
}

static double seconds_in(const char *name)
{
	static const struct suffix times[] = {
		{ "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 },
		{ "d", 86400 }, { NULL }
	};

	return factor_of(times, name);
}

/* The bytes in a unit.  As in lvm2, k and K are 1024 bytes. */
static double bytes_in(const char *name)
{
	static const struct suffix sizes[] = {
		{ "b", 1 }, { "s", 512 },
		{ "k", 1024 }, { "kib", 1024 },
		{ "m", 1048576 }, { "mib", 1048576 },
		{ "g", 1073741824 }, { "gib", 1073741824 }, { NULL }
	};

	return factor_of(sizes, name);
}

static double megabytes_in(const char *name)
{
	static const struct suffix rates[] = {
		{ "m", 1 }, { "mb", 1 }, { "mb/s", 1 },
		{ "g", 1000 }, { "gb", 1000 }, { "gb/s", 1000 }, { NULL }
	};

	return factor_of(rates, name);
}

static double percents_in(const char *name)
{
	return strcmp(name, "%") ? 0 : 1;
}

/* The number of units of @k in the unit @name; 0 if the two do not go together. */
static double scale(const struct known_setting *k, const struct cache_info *c,
		    const char *name)
{
	if (!strcmp(k->unit, "sectors"))
		return bytes_in(name) / 512;
	if (!strcmp(k->unit, "KiB"))
		return bytes_in(name) / 1024;
	if (!strcmp(k->unit, "blocks") && c->block_sectors)
		return bytes_in(name) / cache_block_bytes(c);
	if (!strcmp(k->unit, "MB/s"))
		return megabytes_in(name);
	if (!strcmp(k->unit, "seconds"))
		return seconds_in(name);
	if (!strcmp(k->unit, "percent") || !strcmp(k->unit, "%"))
		return percents_in(name);
	return 0;
}

static const char *with_unit(const struct known_setting *k, const struct cache_info *c,
			     const char *text, char *number)
{
	double value, factor;
	char *unit;

	if (k && !strcmp(k->unit, "0 or 1"))
		return "the value must be on or off, or 1 or 0";
	/* strtod() takes words as well, such as infinity. */
	if (!isdigit((unsigned char)text[0]))
		return "the value must be a whole number, or one with a unit";
	value = strtod(text, &unit);
	factor = k ? scale(k, c, unit) : 0;
	value *= factor;
	if (!factor)
		return "the value must be a whole number, or one with a unit that suits it";
	if (value >= 1e15 || value != (double)(uint64_t)value)
		return "the value is no whole number in the setting's own unit";
	snprintf(number, NUMBER_LEN, "%ju", (uint64_t)value);
	return NULL;
}

const char *setting_number(const struct known_setting *k, const struct cache_info *c,
			   const char *text, char *number)
{
	uint64_t value;

	if (!strcmp(text, "default")) {
		if (!k)
			return "hearth does not know its default";
		if (!setting_default(k, c, &value))
			return "its default depends on the cache's size, so give a number";
		snprintf(number, NUMBER_LEN, "%ju", value);
		return NULL;
	}
	if (k && !strcmp(k->unit, "0 or 1") &&
	    (!strcmp(text, "on") || !strcmp(text, "off"))) {
		strcpy(number, strcmp(text, "on") ? "0" : "1");
		return NULL;
	}
	if (!*text || text[strspn(text, "0123456789")])
		return with_unit(k, c, text, number);
	if (strlen(text) >= NUMBER_LEN)
		return "the number is too large";
	strcpy(number, text);
	return NULL;
}
