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

/* NULL if there is no such preset. */
const struct preset *preset_find(const char *name);
/* The name of the @i-th preset; NULL after the last. */
const char *preset_name(unsigned int i);

/* The preset whose mode and settings all are in effect, or NULL. */
const char *preset_in_effect(const struct cache_info *c);

/*
 * @pair as it is to be set on this cache.  A value "auto" becomes the number that
 * suits the origin; the pair is written to @buf then.
 */
const char *preset_pair(const char *pair, const struct cache_info *c, char *buf,
			unsigned int len);

#endif
