/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Named sets of settings for hearth set --preset.  It must not set anything.
 */
#ifndef HEARTH_PLUGIN_PRESETS_H
#define HEARTH_PLUGIN_PRESETS_H

#include "cache-info.h"

struct preset {
	const char *name;
	const char *pairs[10];	/* KEY=VALUE of hearth set; ends with NULL */
};

/**
 * preset_find() - a preset by its name
 * @name: case counts
 *
 * Return: the preset, constant; NULL, without a complaint, if there is no such one.
 */
const struct preset *preset_find(const char *name);

/**
 * preset_name() - go through the names of all presets
 * @i: from 0 on
 *
 * Return: the name of the @i-th preset, constant; NULL after the last.
 */
const char *preset_name(unsigned int i);

/**
 * preset_in_effect() - the preset of which the mode and all settings are in effect
 * @c: the cache
 *
 * Return: its name, constant; NULL if there is no such preset.
 */
const char *preset_in_effect(const struct cache_info *c);

/**
 * preset_pair() - a pair of a preset, with the value for a cache
 * @pair: KEY=VALUE; the value "auto" becomes the number that suits the origin
 * @c: the cache; /sys tells whether its origin is a rotating disk
 * @buf: receives the pair, if its value is "auto"
 * @len: how many bytes @buf has; 64 are enough
 *
 * Return: @pair or @buf.
 */
const char *preset_pair(const char *pair, const struct cache_info *c, char *buf,
			unsigned int len);

#endif
