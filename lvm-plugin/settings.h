/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings that hearth's target and policies have, from their own lists, and their
 * values as people write them.  It must not change a cache.
 */
#ifndef HEARTH_PLUGIN_SETTINGS_H
#define HEARTH_PLUGIN_SETTINGS_H

#include "cache-info.h"

/**
 * settings_json() - print a cache's settings as hearth get and set do with --json
 * @c: the cache
 *
 * Prints name, mode, policy, preset and settings, as one outermost value of JSON.
 */
void settings_json(const struct cache_info *c);

struct cache_policy_ops;
struct cache_tunable;

struct known_setting {
	const char *key, *unit, *help;
	uint64_t min, max;
	uint64_t otherwise;		/* the default, for a setting of the target */
	const struct cache_policy_ops *policy;	/* the policy that has it; NULL: the target */
	const struct cache_tunable *tunable;	/* of that policy; NULL for the target */
};

#define NUMBER_LEN	24

/**
 * setting_find() - all that hearth knows of a setting
 * @c: the cache
 * @key: the setting; case counts
 * @k: receives unit, limits and the rest
 *
 * Looks for @key among the target's settings first, then among those of the cache's policy, then
 * among those of the other policies.
 *
 * Return: true; false if hearth has no setting of that name. A policy that is not hearth's may
 * have it.
 */
bool setting_find(const struct cache_info *c, const char *key, struct known_setting *k);

/**
 * setting_nth() - go through all settings that hearth has; no key comes twice
 * @i: from 0 on
 * @k: receives the @i-th setting
 *
 * Return: true; false after the last setting.
 */
bool setting_nth(unsigned int i, struct known_setting *k);

/**
 * setting_default() - the value of a setting on a cache for which nobody has set it
 * @k: the setting
 * @c: the cache; some defaults depend on whether its origin is a rotating disk
 * @value: receives it, in the setting's own unit
 *
 * Return: true; false if only the engine can compute the default, or without memory.
 */
bool setting_default(const struct known_setting *k, const struct cache_info *c,
		     uint64_t *value);

/**
 * setting_is_default() - has a setting its default?
 * @c: the cache
 * @s: one of its settings
 *
 * Return: true if so; false also if hearth does not know the default.
 */
bool setting_is_default(const struct cache_info *c, const struct setting *s);

/**
 * setting_number() - the number for the target, from the text that the user wrote
 * @k: the setting; NULL if hearth does not know it
 * @c: the cache; the setting's unit may be its blocks
 * @text: a whole number in the setting's unit; a number with another unit; "default"; for a
 *	setting of 0 or 1 also "on" and "off"
 * @number: of NUMBER_LEN bytes; receives the number as text
 *
 * Does not look at the limits, because the target does.
 *
 * Return: NULL; or the reason why @text makes no sense, constant.
 */
const char *setting_number(const struct known_setting *k, const struct cache_info *c,
			   const char *text, char *number);

#endif
