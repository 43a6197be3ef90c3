/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings that hearth's target and policies have, from their own lists, and
 * their values as people write them.
 */
#ifndef HEARTH_PLUGIN_SETTINGS_H
#define HEARTH_PLUGIN_SETTINGS_H

#include "cache-info.h"

/**
 * settings_json() - print a cache's settings as hearth get and set do with --json
 * @c: the cache
 *
 * The outermost value of JSON: mode, policy, preset and settings.
 */
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

/**
 * setting_find() - what hearth knows of a setting
 * @c: the cache: the target's settings come first, then those of its policy, then those of
 *	any other policy
 * @key: the setting; case counts
 * @k: receives unit, limits and the rest
 *
 * Return: false if hearth has none of that name; a policy of others may have it.
 */
bool setting_find(const struct cache_info *c, const char *key, struct known_setting *k);

/**
 * setting_nth() - go through all settings that hearth has; no key comes twice
 * @i: from 0 on
 * @k: receives the @i-th
 *
 * Return: false after the last.
 */
bool setting_nth(unsigned int i, struct known_setting *k);

/**
 * setting_default() - the value of a cache for which nothing has been set
 * @k: the setting
 * @c: the cache; its origin may be a disk or not, on which defaults depend
 * @value: receives it, in the setting's own unit
 *
 * Return: false if only the engine knows it, or without memory.
 */
bool setting_default(const struct known_setting *k, const struct cache_info *c,
		     uint64_t *value);

/**
 * setting_is_default() - has a setting the value of a cache for which nothing has been set?
 * @c: the cache
 * @s: one of its settings
 *
 * Return: false as well if hearth does not know the default.
 */
bool setting_is_default(const struct cache_info *c, const struct setting *s);

/**
 * setting_number() - the number that the target takes for what the user wrote
 * @k: NULL if the setting is not known
 * @c: the cache, whose blocks may be the unit
 * @text: a whole number in the setting's unit, or one with another unit, or "default"
 * @number: of NUMBER_LEN bytes
 *
 * Limits are left to the target.
 *
 * Return: NULL, or why @text makes no sense, which is constant.
 */
const char *setting_number(const struct known_setting *k, const struct cache_info *c,
			   const char *text, char *number);

#endif
