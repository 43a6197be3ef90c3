// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth get: prints the mode, the policy and all settings of a cache, with their units,
 * defaults and limits.
 *
 * It must not change a cache.
 */
#include <stdlib.h>
#include <string.h>

#include "cache-info.h"
#include "presets.h"
#include "report.h"
#include "settings.h"
#include "text.h"

/* One line; a member is a column. */
struct line {
	const char *name, *key, *value, *unit, *otherwise, *kept, *help;
	uint64_t min, max;
	char number[NUMBER_LEN];	/* of the default */
};

const struct dm_report_field_type get_fields[] = {
	TEXT(name, "name", "Cache", "The cache"),
	TEXT(key, "key", "Key", "Name of the setting"),
	TEXT(value, "value", "Value", "Value in effect"),
	TEXT(unit, "unit", "Unit", "Unit of value, default and limits"),
	TEXT(otherwise, "default", "Default", "Value if none is set"),
	NUMBER(min, "min", "Least", "Least value"),
	NUMBER(max, "max", "Most", "Greatest value"),
	TEXT(kept, "kept", "Kept by", "table: LVM, or a script; target: the metadata, or nothing for a default"),
	TEXT(help, "help", "Meaning", "Description of the setting"),
	{ 0 }
};

#define COLUMNS	"key,value,default,unit"

/* ---- The lines ---- */

struct lines {
	struct line all[MAX_SETTINGS + 3];
	unsigned int nr;
};

static struct line *add(struct lines *l, const struct cache_info *c, const char *key,
			const char *value)
{
	struct line *line = &l->all[l->nr++];

	*line = (struct line){ .name = c->name, .key = key, .value = value,
			       .min = UNKNOWN, .max = UNKNOWN };
	return line;
}

static void add_setting(struct lines *l, const struct cache_info *c,
			const struct setting *s)
{
	struct line *line = add(l, c, s->key, s->value);
	struct known_setting k;
	uint64_t value;

	line->kept = cache_setting(c->in_table, c->nr_in_table, s->key) ?
		     "table" : "target";
	if (!setting_find(c, s->key, &k))
		return;
	line->unit = k.unit;
	line->help = k.help;
	line->min = k.min;
	line->max = k.max;
	if (!setting_default(&k, c, &value))
		return;
	snprintf(line->number, sizeof(line->number), "%ju", value);
	line->otherwise = line->number;
}

static void add_all(struct lines *l, const struct cache_info *c)
{
	struct line *line = add(l, c, "mode", c->mode);
	unsigned int i;

	line->otherwise = "writethrough";
	line->kept = strcmp(c->mode, c->table_mode) ? "target" : "table";
	line->help = "what a write does; hearth-target(8)";
	line = add(l, c, "policy", c->policy);
	line->otherwise = "smq";
	line->kept = "table";
	line->help = "what decides on promotion; hearth-policies(7)";
	line = add(l, c, "preset", preset_in_effect(c));
	line->help = "the preset that mode and settings agree with";
	for (i = 0; i < c->nr_settings; i++)
		add_setting(l, c, &c->settings[i]);
}

/* ---- The subcommand ---- */

void settings_json(const struct cache_info *c)
{
	unsigned int i;

	json_begin(NULL, '{');
	json_string("name", c->name);
	json_string("mode", c->mode);
	json_string("policy", c->policy);
	json_string("preset", preset_in_effect(c) ?: "");
	json_begin("settings", '{');
	for (i = 0; i < c->nr_settings; i++)
		json_word(c->settings[i].key, c->settings[i].value);
	json_end();
	json_end();
}

static bool is_wanted(const struct options *o, const char *key)
{
	int i;

	for (i = 1; i < o->nr_args; i++)
		if (!strcmp(o->args[i], key))
			return true;
	return o->nr_args == 1;
}

/* Complains of the first key that the cache does not have. */
static bool has_all(const struct options *o, const struct cache_info *c,
		    const struct lines *l)
{
	unsigned int j;
	int i;

	for (i = 1; i < o->nr_args; i++) {
		for (j = 0; j < l->nr && strcmp(l->all[j].key, o->args[i]); j++)
			;
		if (j < l->nr)
			continue;
		complain("%s: %s is not a setting of the policy %s", c->name,
			 o->args[i], c->policy);
		return false;
	}
	return true;
}

static int print(const struct options *o, struct lines *l)
{
	struct report *r = report_open(o, "setting", get_fields, COLUMNS, "");
	unsigned int i;

	if (!r)
		return EXIT_USAGE;
	for (i = 0; i < l->nr; i++)
		if (is_wanted(o, l->all[i].key))
			report_add(r, &l->all[i]);
	report_show(r);
	report_close(r);
	return EXIT_OK;
}

int hearth_get(const struct options *o)
{
	struct lines l = { .nr = 0 };
	struct cache_info *c;
	struct caches cs;
	int r = caches_get(&cs, o->args[0], &c);

	if (r)
		return r;
	add_all(&l, c);
	if (!has_all(o, c, &l))
		r = EXIT_FAILED;
	else if (o->json)
		settings_json(c);
	else
		r = print(o, &l);
	caches_free(&cs);
	return r;
}
