/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Named sets of settings for hearth set --preset.
 */
#ifndef HEARTH_PLUGIN_PRESETS_H
#define HEARTH_PLUGIN_PRESETS_H

#include "cache-info.h"

struct preset {
	const char *name;
	const char *pairs[10];	/* as hearth set takes them; ends with NULL */
};

const struct preset *preset_find(const char *name);
const char *preset_names(void);

/* @pair, or what it stands for with this cache: a value "auto" becomes one. */
const char *preset_pair(const char *pair, const struct cache_info *c, char *buf,
			unsigned int len);

#endif
