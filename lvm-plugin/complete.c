// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words that the shells offer when the user presses Tab.  The scripts in
 * completion/ ask "hearth __complete WORD...", so that all shells offer the same.
 * It takes settings and policies from the lists and tables that are linked in, and
 * must not name any of them.
 *
 * Its only complaint is that of a function that it calls, if the user may not ask
 * device-mapper.  The scripts drop it.
 */
#include <stdlib.h>
#include <string.h>

#include "registry.h"
#include "cache-info.h"
#include "marks.h"
#include "options.h"
#include "presets.h"
#include "settings.h"

#define FORMATS		"blkparse bpftrace fio fiolog spc msr bin"

/* The word that is being completed. */
struct wanted {
	const char *given;	/* the part that the user has typed */
	const char *before;	/* "--option=" or "key=" before that part; or "" */
	int before_len;
};

static void offer(const struct wanted *w, const char *word, const char *help)
{
	if (strncmp(word, w->given, strlen(w->given)))
		return;
	printf("%.*s%s%s%s\n", w->before_len, w->before, word, help ? "\t" : "",
	       help ?: "");
}

static void offer_words(const struct wanted *w, const char *words)
{
	char *copy = strdup(words), *rest = copy, *word;

	if (!copy)
		abort();
	while ((word = strsep(&rest, ", ")))
		if (*word)
			offer(w, word, NULL);
	free(copy);
}

static void offer_caches(const struct wanted *w)
{
	struct caches cs;
	unsigned int i;
	bool no_dm;

	if (caches_read_if_any(&cs, &no_dm) || no_dm)
		return;
	for (i = 0; i < cs.nr; i++)
		offer(w, cs.all[i].name, cs.all[i].mode);
	caches_free(&cs);
}

static void offer_modes(const struct wanted *w)
{
	unsigned int i;

	for (i = 0; cache_modes[i]; i++)
		offer(w, cache_modes[i], NULL);
}

static void offer_policies(const struct wanted *w)
{
	const struct cache_policy_ops *ops;
	const char * const *alias;
	unsigned int i;

	for (i = 0; (ops = policy_nth(i)); i++) {
		offer(w, ops->name, NULL);
		for (alias = ops->aliases; alias && *alias; alias++)
			offer(w, *alias, NULL);
	}
}

static void offer_presets(const struct wanted *w)
{
	unsigned int i;

	for (i = 0; preset_name(i); i++)
		offer(w, preset_name(i), NULL);
}

static void offer_marks(const struct wanted *w)
{
	char *names = mark_names();

	offer_words(w, names);
	free(names);
}

/*
 * Only the last word of a list with commas is completed.  A +, - or # before that word
 * stays as it is.
 */
static void offer_fields(struct wanted *w, const struct subcommand *s)
{
	const char *comma = strrchr(w->given, ','), *last = comma ? comma + 1 : w->given;
	const char *name, *what;
	unsigned int i;

	last += strspn(last, "+-#");
	if (!w->before_len)
		w->before = w->given;
	w->before_len += last - w->given;
	w->given = last;
	for (i = 0; (name = subcommand_field(s, i, &what)); i++)
		offer(w, name, what);
}

/* ---- KEY=VALUE ---- */

static void offer_key(const struct wanted *w, const char *key, const char *end,
		      const char *help)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s", key, end);
	offer(w, text, help);
}

/* Offers all keys, each with @end behind it. */
static void offer_keys(const struct wanted *w, const char *end)
{
	struct known_setting k;
	unsigned int i;

	offer_key(w, "mode", end, NULL);
	offer_key(w, "policy", end, NULL);
	for (i = 0; setting_nth(i, &k); i++)
		offer_key(w, k.key, end, k.help);
}

/*
 * From here on, the part after "=" is the word that is completed, and the part before it
 * stays as it is.  False if there is no "=".
 */
static bool cut(struct wanted *w)
{
	const char *equals = strchr(w->given, '=');

	if (!equals)
		return false;
	w->before = w->given;
	w->before_len = equals + 1 - w->given;
	w->given = equals + 1;
	return true;
}

static void offer_pairs(struct wanted *w)
{
	if (!cut(w))
		offer_keys(w, "=");
	else if (!strncmp(w->before, "mode=", w->before_len))
		offer_modes(w);
	else if (!strncmp(w->before, "policy=", w->before_len))
		offer_policies(w);
	else
		offer_words(w, "default");
}

/* ---- Options and arguments ---- */

static void offer_for(struct wanted *w, const struct subcommand *s, enum offer what)
{
	switch (what) {
	case OFFER_NOTHING:
		break;
	case OFFER_CACHES:
		offer_caches(w);
		break;
	case OFFER_FILES:
		puts(":files");
		break;
	case OFFER_KEYS:
		offer_keys(w, "");
		offer(w, "preset", NULL);
		break;
	case OFFER_PAIRS:
		offer_pairs(w);
		break;
	case OFFER_PRESETS:
		offer_presets(w);
		break;
	case OFFER_POLICIES:
		offer_policies(w);
		break;
	case OFFER_FORMATS:
		offer_words(w, FORMATS);
		break;
	case OFFER_MODES:
		offer_modes(w);
		break;
	case OFFER_MARKS:
		offer_marks(w);
		break;
	case OFFER_COLUMNS:
		offer_words(w, top_columns);
		break;
	case OFFER_FIELDS:
		offer_fields(w, s);
		break;
	case OFFER_UNITS:
		offer_words(w, "h b s k m g t p e");
		break;
	case OFFER_REPORTS:
		offer_words(w, "basic json");
		break;
	case OFFER_STAMPS:
		offer_words(w, "d u");
		break;
	case OFFER_SIDES:
		offer_words(w, "cache origin");
		break;
	}
}

/* Is @word the long option @name?  A "=VALUE" behind it does not count. */
static bool is_long(const char *word, const char *name)
{
	size_t len = strcspn(word, "=");

	return name && len == strlen(name) + 2 && !strncmp(word + 2, name, len - 2);
}

/* The row of the option that @word names, with or without "=VALUE"; NULL if it names none. */
static const struct row *option(const struct subcommand *s, const char *word)
{
	const struct row *row;

	if (word[0] != '-' || !word[1])
		return NULL;
	for (row = s->options; row->name; row++)
		if (word[1] == '-' ? is_long(word, row->name) || is_long(word, row->hidden) :
				     word[1] == row->letter && !word[2])
			return row;
	return NULL;
}

static bool takes_next(const struct row *row, const char *word)
{
	return row && row->kind != FLAG && !strchr(word, '=');
}

static void offer_options(const struct wanted *w, const struct subcommand *s)
{
	const struct row *row;
	char text[64];

	for (row = s->options; row->name; row++) {
		snprintf(text, sizeof(text), "--%s", row->name);
		offer(w, text, row->help);
	}
	offer_words(w, "--help --usage --version");
}

/* The number of @words that are arguments. */
static int arguments(const struct subcommand *s, int nr, char **words)
{
	int i, found = 0;

	for (i = 0; i < nr; i++) {
		if (words[i][0] != '-')
			found++;
		else if (takes_next(option(s, words[i]), words[i]))
			i++;
	}
	return found;
}

/* Completes the last of @words, which are the words after the subcommand. */
static void in_subcommand(const struct subcommand *s, int nr, char **words)
{
	struct wanted w = { .given = words[nr - 1], .before = "" };
	const char *last = nr > 1 ? words[nr - 2] : "";
	const struct row *row = option(s, last);

	if (takes_next(row, last)) {
		offer_for(&w, s, row->offer);
		return;
	}
	if (w.given[0] == '-') {
		row = option(s, w.given);
		if (row && cut(&w))
			offer_for(&w, s, row->offer);
		else
			offer_options(&w, s);
		return;
	}
	nr = arguments(s, nr - 1, words);
	if (nr < s->max_args)
		offer_for(&w, s, s->offers[nr > 0]);
}

static void offer_subcommands(const struct wanted *w)
{
	const struct subcommand *s;

	for (s = subcommands; s->name; s++)
		offer(w, s->name, s->what);
}

int complete(int nr, char **words)
{
	const struct subcommand *s = nr ? subcommand_find(words[0]) : NULL;
	struct wanted w = { .given = nr ? words[nr - 1] : "", .before = "" };

	if (nr == 1) {
		offer_subcommands(&w);
		offer_words(&w, "help --help --version");
	} else if (nr == 2 && !strcmp(words[0], "help")) {
		offer_subcommands(&w);
	} else if (nr > 1 && s) {
		in_subcommand(s, nr - 1, words + 1);
	}
	return EXIT_OK;
}
