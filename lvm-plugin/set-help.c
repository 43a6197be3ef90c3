// SPDX-License-Identifier: GPL-2.0-only
/*
 * The help of hearth set: modes, policies, presets, and each setting with its unit, limits
 * and default.  It takes the settings from the target's list and from the tables of the
 * policies that are linked in, and must not name any of them.
 */
#include <string.h>

#include "registry.h"
#include "cache-info.h"
#include "cache-setting-list.h"
#include "hearth.h"
#include "presets.h"

#define COLUMNS		79	/* one less than a terminal has */
#define TEXT_COLUMN	23	/* the text begins behind the longest key */

/* The text of one setting. */
struct entry {
	const char *key, *unit, *help;
	u64 def, min, max;
};

/* Prints @text from TEXT_COLUMN on, in as many lines as it needs. */
static void print_wrapped(FILE *out, const char *text)
{
	int column = TEXT_COLUMN, len;

	while (*text) {
		len = strcspn(text, " ");
		if (column > TEXT_COLUMN && column + 1 + len > COLUMNS) {
			fprintf(out, "\n%*s", TEXT_COLUMN, "");
			column = TEXT_COLUMN;
		} else if (column > TEXT_COLUMN) {
			column += fprintf(out, " ");
		}
		column += fprintf(out, "%.*s", len, text);
		text += len + strspn(text + len, " ");
	}
	fprintf(out, "\n");
}

static void print_entry(FILE *out, const struct entry *e)
{
	/* The unit "0 or 1" is left out, because the limits say the same. */
	bool has_unit = e->unit[0] && e->unit[0] != '0';
	char text[400], def[32] = "";

	/* A default below the limits stands for a default that the engine computes. */
	if (e->def >= e->min)
		snprintf(def, sizeof(def), ", default %llu",
			 (unsigned long long)e->def);
	snprintf(text, sizeof(text), "(%s%s%llu %s %llu%s) %s",
		 has_unit ? e->unit : "", has_unit ? ", " : "",
		 (unsigned long long)e->min,
		 e->max - e->min == 1 ? "or" : "to",
		 (unsigned long long)e->max, def, e->help);
	fprintf(out, "  %s=%*s", e->key,
		(int)(TEXT_COLUMN - 3 - strlen(e->key)), "");
	print_wrapped(out, text);
}

static void help_target(FILE *out)
{
#define ENTRY(key, unit, def, min, max, help)	\
	{ #key, unit, help, def, min, max },
	static const struct entry all[] = { CACHE_SETTINGS(ENTRY) };
	size_t i;

	fputs("\nSettings of the target, with every policy:\n", out);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		print_entry(out, &all[i]);
}

static void print_names(FILE *out, const struct cache_policy_ops *ops)
{
	const char * const *alias;

	fputs(ops->name, out);
	for (alias = ops->aliases; alias && *alias; alias++)
		fprintf(out, " %s", *alias);
}

/* Prints the settings of a policy.  It makes an instance, because an instance has the defaults. */
static void help_policy(FILE *out, const struct cache_policy_ops *ops)
{
	u16 words[2] = { 0 };
	struct cache_policy_params params = {
		.nr_slots = 1, .block_sectors = 128, .origin_blocks = 1,
		.rotational = true, .words = words, .word_stride = 2,
	};
	struct cache_policy *p = policy_make(ops, &params);
	const struct cache_tunable *t;

	if (!p)
		return;
	fputs("\nSettings of the policy ", out);
	print_names(out, ops);
	fputs(":\n", out);
	for (t = ops->tunables; t->key; t++)
		print_entry(out, &(struct entry){
			t->key, t->unit, t->help, policy_get(p, t), t->min,
			t->max });
	ops->destroy(p);
}

static void print_policies(FILE *out)
{
	const struct cache_policy_ops *ops;
	unsigned int i;

	fputs("Policies:", out);
	for (i = 0; (ops = policy_nth(i)); i++) {
		fputc(' ', out);
		print_names(out, ops);
	}
	fputs("\n", out);
}

void hearth_set_help(FILE *out)
{
	const struct cache_policy_ops *ops;
	unsigned int i;

	fputs("\nModes:   ", out);
	for (i = 0; cache_modes[i]; i++)
		fprintf(out, " %s", cache_modes[i]);
	fputs("\n", out);
	print_policies(out);
	fputs("Presets: ", out);
	for (i = 0; preset_name(i); i++)
		fprintf(out, " %s", preset_name(i));
	fputs("\n\nA KEY is mode, policy or one of these.\n", out);
	help_target(out);
	for (i = 0; (ops = policy_nth(i)); i++)
		if (ops->tunables)
			help_policy(out, ops);
}
