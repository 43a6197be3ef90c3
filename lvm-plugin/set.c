// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth set: changes mode, policy and settings so that they survive a restart.
 *
 * For a volume of LVM's, lvm2 sets the mode, the policy, migration_threshold, and each
 * setting that the table has already, because lvm2 would otherwise put the old value there
 * again.  For a cache made by hand, a new table has the mode and the policy.  All other
 * settings go to the target by message.  The target keeps them in the metadata's record,
 * which the kernel's own target ignores.
 *
 * It must not know the limits of a setting: the target has them, and refuses.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot-needs.h"
#include "cache-info.h"
#include "hearth.h"
#include "kernel-log.h"
#include "lvm.h"
#include "policies.h"
#include "presets.h"
#include "settings.h"
#include "sysfs.h"
#include "table.h"

struct wish {
	char *key, *value;
	bool by_table;		/* lvm2 sets it, by the table */
};

struct wishes {
	struct wish all[MAX_SETTINGS];
	unsigned int nr;
	const char *mode, *policy;	/* NULL: no change */
	bool dry;			/* print the commands, and change nothing */
};

/* ---- The wishes ---- */

static int wrong(const char *pair, const char *why)
{
	complain("'%s': %s", pair, why);
	return EXIT_USAGE;
}

static bool is_word(const char *s)
{
	size_t len = strlen(s);

	return len && len < 32 && strspn(s, "abcdefghijklmnopqrstuvwxyz"
				       "0123456789_-") == len && s[0] != '-';
}

static int add_wish(struct wishes *w, const struct cache_info *c, const char *pair)
{
	char *key = strdup(pair), *value, *number;
	struct known_setting k;
	const char *why;
	unsigned int i;

	if (!key)
		abort();
	value = strchr(key, '=');
	if (!value)
		return wrong(pair, "not KEY=VALUE");
	*value++ = '\0';
	if (!is_word(key))
		return wrong(pair, "no such key");
	if (!strcmp(key, "mode")) {
		w->mode = strcmp(value, "default") ? value : "writethrough";
		value = (char *)w->mode;
		return is_cache_mode(value) ? EXIT_OK :
		       wrong(pair, "no such mode; 'hearth set --help' lists them");
	}
	if (!strcmp(key, "policy")) {
		w->policy = value;
		return is_word(value) ? EXIT_OK : wrong(pair, "no such policy");
	}
	number = malloc(NUMBER_LEN);
	if (!number)
		abort();
	why = setting_number(setting_find(c, key, &k) ? &k : NULL, c, value, number);
	if (why)
		return wrong(pair, why);
	/* A later value replaces an earlier one. */
	for (i = 0; i < w->nr && strcmp(w->all[i].key, key); i++)
		;
	if (i == MAX_SETTINGS)
		return wrong(pair, "too many settings");
	w->all[i] = (struct wish){ .key = key, .value = number };
	w->nr += i == w->nr;
	return EXIT_OK;
}

static int collect(struct wishes *w, const struct cache_info *c,
		   const struct options *o)
{
	const struct preset *p;
	char pair[64];
	int i, r = EXIT_OK;

	if (o->preset) {
		p = preset_find(o->preset);
		if (!p) {
			complain("no preset '%s'; 'hearth set --help' lists them",
				 o->preset);
			return EXIT_USAGE;
		}
		for (i = 0; !r && p->pairs[i]; i++)
			r = add_wish(w, c, preset_pair(p->pairs[i], c, pair,
						    sizeof(pair)));
	}
	/* The arguments come after the pairs of the preset, so they replace those. */
	for (i = 1; !r && i < o->nr_args; i++)
		r = add_wish(w, c, o->args[i]);
	return r;
}

/*
 * The mode that the table has for @mode.  writearound and writeonly are not in tables,
 * because the kernel's own target does not know them.
 */
static const char *mode_in_table(const char *mode)
{
	if (!strcmp(mode, "writearound"))
		return "writethrough";
	return strcmp(mode, "writeonly") ? mode : "writeback";
}

/* ---- Messages ---- */

/*
 * Is this line of the target's about a setting?  The target names the setting in each reason
 * for which it refuses one, and not always the cache.  The last form is that of the kernel's
 * own target.
 */
static bool is_about(const char *text, const char *key)
{
	size_t len = strlen(key);
	char quoted[64], stored[64], bad[64];

	snprintf(quoted, sizeof(quoted), "'%s'", key);
	snprintf(stored, sizeof(stored), "setting %s ", key);
	snprintf(bad, sizeof(bad), "bad config value for %s:", key);
	return (!strncmp(text, key, len) && text[len] == ':') || strstr(text, quoted) ||
	       !strncmp(text, stored, strlen(stored)) || !strncmp(text, bad, strlen(bad));
}

/* The reason for which the target refused a setting. */
struct reason {
	const char *key;
	char text[512];
};

/* Keeps the last line about the setting. */
static void take_reason(void *ctx, char *line)
{
	static const char target[] = "device-mapper: cache: ";
	struct reason *why = ctx;
	const char *text = strstr(line, target);

	if (text && is_about(text + strlen(target), why->key))
		snprintf(why->text, sizeof(why->text), "%s", text + strlen(target));
}

static int message(const struct cache_info *c, const struct wishes *w, const char *key,
		   const char *value)
{
	struct reason why = { .key = key };
	char text[128];
	int log, r;

	if (w->dry) {
		printf("dmsetup message %s 0 %s %s\n", c->dm->name, key, value);
		return EXIT_OK;
	}
	log = kernel_log_open(SEEK_END);
	snprintf(text, sizeof(text), "%s %s", key, value);
	r = dm_send(c->dm, text, NULL);
	if (log >= 0) {
		if (r)
			kernel_log_read(log, take_reason, &why);
		close(log);
	}
	if (!r)
		return EXIT_OK;
	complain("%s: %s=%s was refused: %s", c->name, key, value,
		 why.text[0] ? why.text : strerror(-r));
	return EXIT_FAILED;
}

/*
 * If a message has set a mode that the table does not have, takes it back, because the target
 * would use it with the next table, too.
 */
static int drop_own_mode(const struct cache_info *c, const struct wishes *w)
{
	if (!w->mode || !strcmp(c->mode, c->table_mode) ||
	    strcmp(w->mode, mode_in_table(w->mode)))
		return EXIT_OK;
	return message(c, w, "mode", "table");
}

static int set_own_mode(const struct cache_info *c, const struct wishes *w)
{
	if (!w->mode || !strcmp(w->mode, mode_in_table(w->mode)))
		return EXIT_OK;
	if (!strcmp(w->mode, c->table_mode))
		return EXIT_OK;
	return message(c, w, "mode", w->mode);
}

static int send_all(const struct cache_info *c, const struct wishes *w)
{
	unsigned int i;
	int r = EXIT_OK;

	for (i = 0; i < w->nr && !r; i++)
		if (!w->all[i].by_table)
			r = message(c, w, w->all[i].key, w->all[i].value);
	return r;
}

/* ---- lvm2 ---- */

static bool table_changes(const struct cache_info *c, const struct wishes *w)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++)
		if (w->all[i].by_table)
			return true;
	return (w->policy && strcmp(w->policy, c->policy)) ||
	       (w->mode && strcmp(mode_in_table(w->mode), c->table_mode) &&
		strcmp(w->mode, c->table_mode));
}

static void print_command(const char *const *argv)
{
	for (; *argv; argv++)
		printf("%s%s", *argv, argv[1] ? " " : "\n");
}

static int change_lv(const struct cache_info *c, const struct wishes *w)
{
	const char *argv[16 + 2 * MAX_SETTINGS] = { "lvchange", "-qq", "-y" };
	unsigned int i, n = 3;
	char *pair;

	if (w->policy && strcmp(w->policy, c->policy)) {
		argv[n++] = "--cachepolicy";
		argv[n++] = w->policy;
	}
	if (w->mode && strcmp(mode_in_table(w->mode), c->table_mode)) {
		argv[n++] = "--cachemode";
		argv[n++] = mode_in_table(w->mode);
	}
	for (i = 0; i < w->nr; i++) {
		if (!w->all[i].by_table)
			continue;
		if (asprintf(&pair, "%s=%s", w->all[i].key,
			     w->all[i].value) < 0)
			abort();
		argv[n++] = "--cachesettings";
		argv[n++] = pair;
	}
	argv[n++] = "--";
	argv[n] = c->name;
	if (w->dry) {
		print_command(argv);
		return EXIT_OK;
	}
	return lvm_run(argv) ? EXIT_FAILED : EXIT_OK;
}

static void warn_of_policy(const struct wishes *w)
{
	static const char * const stock[] = {
		"smq", "mq", "default", "cleaner"
	};
	unsigned int i;

	for (i = 0; w->policy && i < 4; i++)
		if (!strcmp(w->policy, stock[i]))
			return;
	if (w->policy)
		complain("note: without hearth's modules no kernel will open a volume whose policy is %s",
			 w->policy);
}

/* Decides which wishes go into the table.  For these a message would not last. */
static void assign(const struct cache_info *c, struct wishes *w)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		struct wish *x = &w->all[i];

		x->by_table = c->vg[0] &&
			(!strcmp(x->key, "migration_threshold") ||
			 cache_setting(c->in_table, c->nr_in_table, x->key));
		if (!c->vg[0] && cache_setting(c->in_table, c->nr_in_table,
					       x->key))
			complain("note: %s is in the table too, and the table wins when it is loaded again",
				 x->key);
	}
}

/* ---- Made by hand ---- */

static int change_table(const struct cache_info *c, const struct wishes *w)
{
	const char *mode = w->mode;
	char *table;
	int r;

	/* The table keeps its mode if a message can set the wanted mode over it. */
	if (mode && !strcmp(mode_in_table(mode), c->table_mode))
		mode = NULL;
	else if (mode)
		mode = mode_in_table(mode);
	table = table_with(c, mode, w->policy);
	if (w->dry)
		printf("dmsetup reload %s --table '%ju %ju cache %s'\ndmsetup suspend %s\ndmsetup resume %s\n",
		       c->dm->name, c->dm->start, c->dm->length, table,
		       c->dm->name, c->dm->name);
	r = w->dry ? EXIT_OK : table_load(c, table);
	if (!r && !w->dry)
		complain("note: the script or unit that makes %s at boot still has the former table; the new one is: %s",
			 c->name, table);
	free(table);
	return r;
}

/* ---- Afterwards ---- */

static bool same_policy(const char *a, const char *b)
{
	static const char * const heat[] = { "smq", "mq", "default", "heat" };
	bool a_is = false, b_is = false;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		a_is |= !strcmp(a, heat[i]);
		b_is |= !strcmp(b, heat[i]);
	}
	return !strcmp(a, b) || (a_is && b_is);
}

/* Have all wishes taken effect?  lvm2 may accept a value and not pass it on.  An exit code. */
static int verify(const struct cache_info *c, const struct wishes *w)
{
	const char *value;
	unsigned int i;

	if (w->policy && !same_policy(w->policy, c->policy)) {
		complain("%s: the policy is still %s; lvm2 before 2.03.40 cannot change that of a volume cached by --cachevol",
			 c->name, c->policy);
		return EXIT_FAILED;
	}
	if (w->mode && strcmp(w->mode, c->mode)) {
		complain("%s: the mode is %s", c->name, c->mode);
		return EXIT_FAILED;
	}
	for (i = 0; i < w->nr; i++) {
		value = cache_setting(c->settings, c->nr_settings,
				      w->all[i].key);
		if (value && strtoull(value, NULL, 10) ==
		    strtoull(w->all[i].value, NULL, 10))
			continue;
		complain("%s: %s is %s%s", c->name, w->all[i].key,
			 value ?: "not a setting of the policy ",
			 value ? "" : c->policy);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/*
 * Sets the settings before the mode, because the target may refuse a setting, and a change
 * of mode may take long.  If the policy changes, it is set before its settings.
 */
static int change(const struct cache_info *c, const struct wishes *w)
{
	bool settings_first = !w->policy || !strcmp(w->policy, c->policy);
	int r = settings_first ? send_all(c, w) : EXIT_OK;

	r = r ?: drop_own_mode(c, w);
	if (!r && table_changes(c, w))
		r = c->vg[0] ? change_lv(c, w) : change_table(c, w);
	r = r ?: set_own_mode(c, w);
	if (!r && !settings_first)
		r = send_all(c, w);
	return r;
}

/* ---- All or nothing ---- */

/* @w becomes the wishes that turn @now into @before.  True if there are any. */
static bool differences(const struct cache_info *before, const struct cache_info *now,
			struct wishes *w)
{
	const struct setting *s;
	const char *value;
	unsigned int i;

	if (!same_policy(before->policy, now->policy))
		w->policy = before->policy;
	if (strcmp(before->mode, now->mode))
		w->mode = before->mode;
	for (i = 0; i < before->nr_settings; i++) {
		s = &before->settings[i];
		value = cache_setting(now->settings, now->nr_settings, s->key);
		if (!value || strcmp(value, s->value))
			w->all[w->nr++] = (struct wish){
				.key = s->key, .value = s->value
			};
	}
	return w->policy || w->mode || w->nr;
}

/* Takes back all changes that were made before a refusal. */
static void put_back(const struct cache_info *before, const char *name)
{
	struct wishes w = { 0 };
	struct caches cs;
	struct cache_info *now;
	int r = caches_get(&cs, name, &now);

	if (!r && differences(before, now, &w)) {
		assign(now, &w);
		r = change(now, &w);
	}
	if (r)
		complain("%s: not all of the changes before that could be put back; see 'hearth status %s'",
			 before->name, name);
	caches_free(&cs);
}

/* ---- Beforehand ---- */

/*
 * Refuses a setting that the policy does not have, before any setting is changed.  An exit
 * code.
 */
static int check_keys(const struct cache_info *c, const struct wishes *w)
{
	unsigned int i;

	/* The settings of another policy are known only when that policy runs. */
	if (!c->own || (w->policy && strcmp(w->policy, c->policy)))
		return EXIT_OK;
	for (i = 0; i < w->nr; i++) {
		if (cache_setting(c->settings, c->nr_settings, w->all[i].key))
			continue;
		complain("%s: %s is not a setting of the policy %s; 'hearth set --help' lists them",
			 c->name, w->all[i].key, c->policy);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int check_policy(const struct cache_info *c, const struct wishes *w)
{
	char names[512];

	if (!w->policy || !strcmp(w->policy, c->policy) ||
	    policy_exists(w->policy, names, sizeof(names)))
		return EXIT_OK;
	complain("no policy '%s'; there are: %s", w->policy, names);
	return EXIT_USAGE;
}

/* Refuses what the kernel's own target cannot do: its one message is migration_threshold. */
static int check_target(const struct cache_info *c, const struct wishes *w)
{
	unsigned int i;

	if (c->own)
		return EXIT_OK;
	for (i = 0; i < w->nr; i++)
		if (strcmp(w->all[i].key, "migration_threshold"))
			break;
	if (i == w->nr && (!w->mode ||
			   !strcmp(w->mode, mode_in_table(w->mode))))
		return EXIT_OK;
	complain("%s: the kernel's own target is loaded, which does not know %s; see hearth doctor",
		 c->name, i < w->nr ? w->all[i].key : w->mode);
	return EXIT_OLD_TARGET;
}

/* Reads the cache again, verifies the wishes, and prints JSON if the user wants it. */
static int look_again(const struct options *o, const struct wishes *w)
{
	struct caches cs;
	struct cache_info *c;
	int r = caches_get(&cs, o->args[0], &c);

	if (r)
		return r;
	r = verify(c, w);
	if (!r && o->json)
		settings_json(c);
	caches_free(&cs);
	return r;
}

static bool keeps_dirty(const char *mode)
{
	return !strcmp(mode, "writeback") || !strcmp(mode, "writeonly");
}

static void warn_of_single_ssd(const struct cache_info *c, const struct wishes *w)
{
	if (w->mode && keeps_dirty(w->mode) && !keeps_dirty(c->mode) &&
	    !is_redundant(c->cache_device))
		complain("warning: blocks will be dirty on a cache device that is not mirrored; if it is lost, so is their content (a pool on RAID 1: hearth(8), EXAMPLES)");
}

/* ---- The write log ---- */

static const char *wished(const struct wishes *w, const char *key)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++)
		if (!strcmp(w->all[i].key, key))
			return w->all[i].value;
	return NULL;
}

static int turn_off(struct wishes *w, const struct cache_info *c)
{
	complain("note: %s: the write log is turned off as well (absorb=off), because this mode has none",
		 c->name);
	return add_wish(w, c, "absorb=off");
}

/*
 * Wishes for absorb=on, unless the machine needs the volume to start, because it would not
 * start with a kernel without hearth then.
 */
static int turn_on(struct wishes *w, const struct cache_info *c)
{
	char what[NEED_LEN];

	if (!boot_needs(c, what))
		return add_wish(w, c, "absorb=on");
	complain("note: %s: small writes that miss wait for the disk, because absorb stays off: this machine needs the volume to start (%s), and a kernel without hearth would refuse it; 'hearth set %s absorb=on' turns absorb on all the same",
		 c->name, what, c->name);
	return EXIT_OK;
}

/* A new mode decides on the write log as well, unless the user sets absorb. */
static int decide_absorb(struct wishes *w, const struct cache_info *c)
{
	const char *now = cache_setting(c->settings, c->nr_settings, "absorb");
	bool is_on = now && strcmp(now, "0");

	if (!c->own || !now || !w->mode || wished(w, "absorb"))
		return EXIT_OK;
	if (is_on && !keeps_dirty(w->mode))
		return turn_off(w, c);
	if (!is_on && !strcmp(w->mode, "writeback"))
		return turn_on(w, c);
	return EXIT_OK;
}

/* Warns that the kernel's own target refuses a volume whose write log is in use. */
static void warn_of_log(const struct cache_info *c, const struct wishes *w)
{
	const char *absorb = wished(w, "absorb");

	if (absorb && strcmp(absorb, "0"))
		complain("note: %s: small writes that miss go to the SSD (absorb=on), and 'hearth set %s absorb=off' ends that; stock dm-cache refuses the volume until 'hearth settle %s' has emptied the write log",
			 c->name, c->name, c->name);
}

int hearth_set(const struct options *o)
{
	struct wishes w = { .dry = o->dry };
	struct caches cs;
	struct cache_info *c;
	int r;

	if (o->nr_args < 2 && !o->preset) {
		complain("give KEY=VALUE or --preset NAME to set");
		return EXIT_USAGE;
	}
	r = caches_get(&cs, o->args[0], &c);
	if (r)
		return r;
	r = collect(&w, c, o) ?: check_target(c, &w) ?: check_policy(c, &w) ?:
	    check_keys(c, &w) ?: decide_absorb(&w, c);
	if (!r) {
		assign(c, &w);
		warn_of_policy(&w);
		warn_of_single_ssd(c, &w);
		warn_of_log(c, &w);
		r = change(c, &w);
		if (!o->dry)
			r = r ?: look_again(o, &w);
		if (r && !o->dry)
			put_back(c, o->args[0]);
	}
	caches_free(&cs);
	return r;
}
