/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings that hearth's target and policies have, from their own lists, and
 * their values as people write them.
 */
#ifndef HEARTH_PLUGIN_SETTINGS_H
#define HEARTH_PLUGIN_SETTINGS_H

#include "cache-info.h"

/* Prints mode, policy, preset and settings, as hearth get and set do with --json. */
void settings_json(const struct cache_info *c);

struct cache_policy_ops;
struct cache_tunable;

struct known_setting {
	const char *key, *unit, *help;
	uint64_t min, max;
	uint64_t otherwise;		/* the default of a setting of the target */
	const struct cache_policy_ops *policy;	/* that has it; NULL: the target */
	const struct cache_tunable *tunable;	/* of the policy */
};

#define NUMBER_LEN	24

/*
 * The setting of the target, of the policy of @c, or of any other policy.  False if
 * hearth has none of that name; a policy of others may have it.
 */
bool setting_find(const struct cache_info *c, const char *key, struct known_setting *k);
/* The @i-th; false after the last.  No key comes twice. */
bool setting_nth(unsigned int i, struct known_setting *k);

/**
 * setting_default() - the value of a cache for which nothing has been set
 *
 * Return: false if only the engine knows it.
 */
bool setting_default(const struct known_setting *k, const struct cache_info *c,
		     uint64_t *value);

/* True if @s has the value of a cache for which nothing has been set. */
bool setting_is_default(const struct cache_info *c, const struct setting *s);

/**
 * setting_number() - the number that the target takes for what the user wrote
 * @k: NULL if the setting is not known
 * @text: a whole number in the setting's unit, or one with another unit, or "default"
 * @number: of NUMBER_LEN bytes
 *
 * Return: NULL, or why @text makes no sense.  Limits are left to the target.
 */
const char *setting_number(const struct known_setting *k, const struct cache_info *c,
			   const char *text, char *number);

#endif
