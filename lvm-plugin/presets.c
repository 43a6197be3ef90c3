// SPDX-License-Identifier: GPL-2.0-only
/*
 * The presets.  Each names every key that any preset changes, so that one preset takes back
 * the changes of another.  No preset changes the policy, because the kernel's own target
 * must be able to open the volume.  hearth(8) describes the presets.
 *
 * It must not set anything: set.c does.
 */
#include <stdio.h>
#include <string.h>

#include "presets.h"
#include "sysfs.h"

static const struct preset presets[] = {
	{ "general", {
		"mode=writethrough", "read_level=2", "write_level=2",
		"full_write_level=2", "seq_cutoff=auto", "seq_again=1",
		"max_promote_share=50", "promote_ahead=384" } },
	{ "database", {
		"mode=writeback", "read_level=1", "write_level=1",
		"full_write_level=2", "seq_cutoff=auto", "seq_again=1",
		"max_promote_share=50", "promote_ahead=384" } },
	{ "read-mostly", {
		"mode=writearound", "read_level=1", "write_level=2",
		"full_write_level=2", "seq_cutoff=auto", "seq_again=1",
		"max_promote_share=50", "promote_ahead=384" } },
	{ "streaming", {
		"mode=writearound", "read_level=2", "write_level=2",
		"full_write_level=2", "seq_cutoff=0", "seq_again=1",
		"max_promote_share=50", "promote_ahead=384" } },
	{ "low-wear", {
		"mode=writethrough", "read_level=3", "write_level=3",
		"full_write_level=3", "seq_cutoff=auto", "seq_again=0",
		"max_promote_share=25", "promote_ahead=0" } },
};

#define NR	(sizeof(presets) / sizeof(presets[0]))

const struct preset *preset_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR; i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}

const char *preset_name(unsigned int i)
{
	return i < NR ? presets[i].name : NULL;
}

/*
 * The value "auto" of seq_cutoff depends on this, as the policy's own default does, because
 * streams cost only a rotating disk less than other requests.
 */
static bool origin_is_rotational(const struct cache_info *c)
{
	return sys_number(c->origin, "queue/rotational", 1);
}

const char *preset_pair(const char *pair, const struct cache_info *c, char *buf,
			unsigned int len)
{
	const char *equals = strchr(pair, '=');

	if (strcmp(equals, "=auto"))
		return pair;
	snprintf(buf, len, "%.*s=%d", (int)(equals - pair), pair,
		 origin_is_rotational(c) ? 64 : 0);
	return buf;
}

static bool holds(const struct cache_info *c, const char *pair)
{
	const char *equals = strchr(pair, '='), *value = c->mode;
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
	if (strcmp(key, "mode"))
		value = cache_setting(c->settings, c->nr_settings, key);
	return value && !strcmp(value, equals + 1);
}

const char *preset_in_effect(const struct cache_info *c)
{
	char buf[64];
	size_t i;
	int j;

	for (i = 0; i < NR; i++) {
		for (j = 0; presets[i].pairs[j]; j++)
			if (!holds(c, preset_pair(presets[i].pairs[j], c, buf,
						  sizeof(buf))))
				break;
		if (!presets[i].pairs[j])
			return presets[i].name;
	}
	return NULL;
}
