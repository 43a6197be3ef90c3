/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Named sets of settings for hearth set --preset.
 */
#ifndef HEARTH_PLUGIN_PRESETS_H
#define HEARTH_PLUGIN_PRESETS_H

#include "cache-info.h"

struct preset {
	const char *name;
	const char *pairs[10];	/* KEY=VALUE, as for hearth set; ends with NULL */
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
 * Return: the name of the @i-th, constant; NULL after the last.
 */
const char *preset_name(unsigned int i);

/**
 * preset_in_effect() - the preset whose mode and settings all are in effect
 * @c: the cache
 *
 * Return: its name, constant; NULL if there is none.
 */
const char *preset_in_effect(const struct cache_info *c);

/**
 * preset_pair() - a pair of a preset as it is to be set on a cache
 * @pair: KEY=VALUE; the value "auto" becomes the number that suits the origin
 * @c: the cache, of whose origin /sys is asked
 * @buf: receives the pair, if its value was "auto"
 * @len: how many bytes @buf has; 64 are enough
 *
 * Return: @pair or @buf.
 */
const char *preset_pair(const char *pair, const struct cache_info *c, char *buf,
			unsigned int len);

#endif
