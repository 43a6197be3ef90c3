// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth status: one screen about a cache for people, or JSON about all caches.
 * status-report.c prints a line for each cache.
 *
 * It must not change a cache, or run a command of LVM's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache-info.h"
#include "hearth.h"
#include "history.h"
#include "latency.h"
#include "marks.h"
#include "presets.h"
#include "rates.h"
#include "report.h"
#include "settings.h"
#include "status-report.h"
#include "sysfs.h"
#include "text.h"
#include "windows.h"

#define SECTOR		512.0

/* The share of hits, by the counters of a cache or of a window. */
static double hit_share(const uint64_t *n)
{
	double hits = n[READ_HITS] + n[WRITE_HITS];

	return share(hits, hits + n[READ_MISSES] + n[WRITE_MISSES]);
}

static double user_sectors(const uint64_t *n)
{
	return n[IO_READ_SECTORS] + n[IO_WRITE_SECTORS];
}

static double wear(const uint64_t *n)
{
	return share(n[CACHE_SECTORS_WRITTEN], user_sectors(n));
}

/* ---- For people ---- */

#define INDENT		14
#define WIDTH		79

static void label(const char *text)
{
	printf("  %-*s", INDENT - 2, text);
}

/* Prints one of several words after a label, on a new, indented line if it has no room. */
static void item(unsigned int *column, const char *text)
{
	unsigned int len = strlen(text);

	if (!*column) {
		*column = INDENT;
	} else if (*column + 2 + len > WIDTH) {
		printf("\n%*s", INDENT, "");
		*column = INDENT;
	} else {
		fputs("  ", stdout);
		*column += 2;
	}
	fputs(text, stdout);
	*column += len;
}

static enum colour health_colour(const struct cache_info *c)
{
	return cache_healthy(c) ? GOOD : BAD;
}

/* Prints the policy's name in the table, and the name of the code that runs if it differs. */
static void print_policy(const struct cache_info *c)
{
	const char *code = cache_policy_code(c);

	printf(", policy %s", c->policy);
	if (strcmp(code, c->policy))
		printf(" (%s)", code);
}

static void print_head(const struct cache_info *c)
{
	printf("%s%s%s  %s", colour(BOLD), c->name, colour(PLAIN), c->mode);
	if (strcmp(c->mode, c->table_mode))
		printf(" (the table says %s)", c->table_mode);
	print_policy(c);
	printf(", %s%s%s%s%s\n", colour(health_colour(c)), c->health, colour(PLAIN),
	       c->needs_check ? ", needs check" : "",
	       c->dm->suspended ? ", suspended" : "");
}

static void print_device(const char *text, struct device d)
{
	char name[NODE_LEN], disks[600];

	device_name(d, name);
	device_disks(d, disks, sizeof(disks));
	label(text);
	if (strcmp(name, disks))
		printf("%s on %s\n", name, disks);
	else
		puts(name);
}

static void print_devices(const struct cache_info *c)
{
	char node[NODE_LEN];

	device_node((struct device){ c->dm->major, c->dm->minor }, node);
	label("engine");
	printf(c->own ? "hearth %s, device %s\n" :
	       "the kernel's own dm-cache, target %s, device %s\n", c->version, node);
	print_device("SSD", c->cache_device);
	print_device("origin", c->origin);
}

static void print_space(const struct cache_info *c)
{
	char a[SIZE_LEN], b[SIZE_LEN], d[SIZE_LEN];

	label("size");
	printf("%s on the SSD for a volume of %s, blocks of %s\n",
	       size_text(a, c->total * cache_block_bytes(c)),
	       size_text(b, c->dm->length * SECTOR),
	       size_text(d, cache_block_bytes(c)));
	label("used");
	printf("%s, %.1f%%; ", size_text(a, c->used * cache_block_bytes(c)),
	       100 * share(c->used, c->total));
	if (c->data_slots)
		printf("%s may hold data; ",
		       size_text(a, c->data_slots * cache_block_bytes(c)));
	printf("metadata %.1f%%\n", 100 * share(c->metadata_used, c->metadata_total));
	label("dirty");
	printf("%s, %.1f%% of what is used\n",
	       size_text(a, c->dirty * cache_block_bytes(c)),
	       100 * share(c->dirty, c->used));
	if (!c->log[0])
		return;
	label("write log");
	printf("%s, %s on the SSD\n", c->log,
	       size_text(a, cache_log_bytes(c)));
}

static void print_ratio(const char *what, uint64_t hits, uint64_t misses)
{
	char n[SIZE_LEN];

	if (hits + misses)
		printf("%s %.1f%% of %s", what, 100 * share(hits, hits + misses),
		       short_text(n, hits + misses));
	else
		printf("%s none", what);
}

static void print_hits(const char *text, const uint64_t *n)
{
	label(text);
	print_ratio("reads", n[READ_HITS], n[READ_MISSES]);
	print_ratio(", writes", n[WRITE_HITS], n[WRITE_MISSES]);
	printf(", both %.1f%%\n", 100 * hit_share(n));
}

static void print_window(const struct window *w)
{
	char text[2 * SIZE_LEN], title[48];

	if (!w->seconds)
		return;
	snprintf(title, sizeof(title), "%s", duration_text(text, w->seconds));
	print_hits(title, w->count);
}

static void print_moves(const struct cache_info *c)
{
	char n[4][SIZE_LEN];

	label("blocks");
	printf("%s promoted, %s demoted", short_text(n[0], c->count[PROMOTIONS]),
	       short_text(n[1], c->count[DEMOTIONS]));
	if (c->own)
		printf(", %s written back, %s invalidated",
		       short_text(n[2], c->count[WRITEBACKS]),
		       short_text(n[3], c->count[INVALIDATIONS]));
	putchar('\n');
}

static void print_bypasses(const struct cache_info *c)
{
	char text[64], n[SIZE_LEN];
	unsigned int i, column = 0;

	label("passed by");
	for (i = FIRST_BYPASS; i <= LAST_BYPASS; i++) {
		if (!c->count[i])
			continue;
		snprintf(text, sizeof(text), "%s %s",
			 counter_names[i] + strlen("bypass_"),
			 short_text(n, c->count[i]));
		item(&column, text);
	}
	puts(column ? "" : "none");
}

static void print_wear(const struct cache_info *c, const struct window *hour)
{
	char n[SIZE_LEN];

	label("SSD written");
	printf("%s, %.2f bytes for each byte read or written",
	       size_text(n, c->count[CACHE_SECTORS_WRITTEN] * SECTOR),
	       wear(c->count));
	if (hour->seconds)
		printf("; %.2f lately", wear(hour->count));
	putchar('\n');
}

/* One kind of timed requests; a line shows several. */
struct timed {
	const char *what;
	enum cache_latency kind;
};

/*
 * Prints a line with the kinds in @timed of which a request was timed.  With @first it also
 * says what the numbers are.  True if it printed a line.
 */
static bool print_timed(const char *title, const struct latency *all,
			const struct timed *timed, unsigned int nr, bool first)
{
	char t[3][SIZE_LEN];
	bool printed = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct latency *l = &all[timed[i].kind];

		if (!l->requests)
			continue;
		if (!printed)
			label(title);
		printf("%s%s %s/%s/%s", printed ? "  " : "", timed[i].what,
		       time_text(t[0], l->p50), time_text(t[1], l->p99),
		       time_text(t[2], l->p999));
		printed = true;
	}
	if (printed)
		puts(first ? " (p50/p99/p99.9)" : "");
	return printed;
}

static void print_percentiles(const struct latency *all)
{
	static const struct timed hits[] = {
		{ "reads", CACHE_LATENCY_READ_HITS }, { "writes", CACHE_LATENCY_WRITE_HITS },
	}, misses[] = {
		{ "reads", CACHE_LATENCY_READ_MISSES }, { "writes", CACHE_LATENCY_WRITE_MISSES },
	}, absorbed[] = {
		{ "writes", CACHE_LATENCY_ABSORBED },
	}, flushes[] = {
		{ "SSD", CACHE_LATENCY_CACHE_FLUSHES }, { "origin", CACHE_LATENCY_ORIGIN_FLUSHES },
	};
	bool first = true;

	first = !print_timed("a hit", all, hits, 2, first) && first;
	first = !print_timed("a miss", all, misses, 2, first) && first;
	first = !print_timed("absorbed", all, absorbed, 1, first) && first;
	print_timed("a flush", all, flushes, 2, first);
}

/* The rates since --since; else of the last minute, because a mean over days says little of now. */
static struct rates rates_shown(const struct look *l)
{
	struct window since = { .seconds = l->seconds };

	if (!l->since)
		return l->w.minute.seconds ? rates_in(l->c, &l->w.minute) :
					     rates_since_activation(l->c);
	memcpy(since.count, l->c->count, sizeof(since.count));
	return rates_in(l->c, &since);
}

static void print_times(const struct look *l)
{
	const struct rates r = rates_shown(l);

	print_percentiles(r.latency);
	print_device_rates(l->since ? "  since then" :
			   l->w.minute.seconds ? "  lately" : "  on average", 4, &r);
}

static void print_errors(const struct cache_info *c)
{
	static const enum counter errors[] = {
		CACHE_READ_ERRORS, CACHE_WRITE_ERRORS, ORIGIN_ERRORS,
		RETIRED_BLOCKS
	};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (!c->count[errors[i]])
			continue;
		label("errors");
		printf("%s%s %ju%s\n", colour(BAD), counter_names[errors[i]],
		       c->count[errors[i]], colour(PLAIN));
	}
}

/*
 * Prints only the settings that differ from their defaults, because the screen has 24 lines.
 * hearth get prints all.
 */
static void print_settings(const struct cache_info *c)
{
	const char *preset = preset_in_effect(c);
	unsigned int i, column = 0;
	char text[128];

	label("settings");
	if (preset) {
		snprintf(text, sizeof(text), "preset %s", preset);
		item(&column, text);
	}
	for (i = 0; i < c->nr_settings; i++) {
		if (setting_is_default(c, &c->settings[i]))
			continue;
		snprintf(text, sizeof(text), "%s=%s", c->settings[i].key,
			 c->settings[i].value);
		item(&column, text);
	}
	puts(column ? "" : "those of a new cache");
}

static void print_windows(const struct windows *w)
{
	print_window(&w->minute);
	print_window(&w->five_minutes);
	print_window(&w->hour);
	print_window(&w->day);
}

static void print_cache(const struct look *l)
{
	const struct cache_info *c = l->c;
	const struct window none = { .seconds = 0 };
	char text[2 * SIZE_LEN];

	print_head(c);
	print_devices(c);
	if (l->since) {
		label("since");
		printf("%s, %s\n", l->since, duration_text(text, l->seconds));
	}
	if (c->failed_line)
		return;
	print_space(c);
	print_hits("hits", c->count);
	if (!l->since)
		print_windows(&l->w);
	print_moves(c);
	if (c->own) {
		print_bypasses(c);
		print_wear(c, l->since ? &none : &l->w.hour);
	}
	print_times(l);
	print_errors(c);
	print_settings(c);
}

/* ---- For programs ---- */

static void json_device_ms(const char *of, const struct device_rates *d)
{
	char key[32];

	snprintf(key, sizeof(key), "%sread_ms", of);
	json_real(key, d->read_ms);
	snprintf(key, sizeof(key), "%swrite_ms", of);
	json_real(key, d->write_ms);
}

static void json_window(const char *key, const struct cache_info *c, const struct window *w)
{
	const struct rates r = rates_in(c, w);

	json_begin(key, '{');
	json_real("seconds", w->seconds ?: NAN);
	json_real("hit_ratio", w->seconds ? hit_share(w->count) : NAN);
	json_real("read_hit_ratio", w->seconds ?
		  share(w->count[READ_HITS],
			w->count[READ_HITS] + w->count[READ_MISSES]) : NAN);
	json_real("ssd_bytes_per_user_byte", w->seconds ? wear(w->count) : NAN);
	json_device_ms("", &r.volume);
	json_real("read_hit_ms", r.latency[CACHE_LATENCY_READ_HITS].mean);
	json_real("read_miss_ms", r.latency[CACHE_LATENCY_READ_MISSES].mean);
	json_real("write_hit_ms", r.latency[CACHE_LATENCY_WRITE_HITS].mean);
	json_real("write_miss_ms", r.latency[CACHE_LATENCY_WRITE_MISSES].mean);
	json_device_ms("cache_device_", &r.ssd);
	json_device_ms("origin_", &r.origin);
	json_rates_of_devices(&r);
	json_latencies("latency", r.latency);
	json_end();
}

static void json_io(const char *key, const struct cache_info *c, enum counter reads)
{
	unsigned int i;

	json_begin(key, '{');
	for (i = reads; i < reads + NR_IO_COUNTERS; i++)
		json_uint(counter_names[i], c->count[i]);
	json_end();
}

static void json_counters(const struct cache_info *c)
{
	unsigned int i;

	json_begin("counters", '{');
	for (i = 0; i < FIRST_IO; i++)
		if (c->own || i < FIRST_OWN)
			json_uint(counter_names[i], c->count[i]);
	json_end();
	json_io("volume_io", c, IO_READS);
	json_io("cache_device_io", c, FAST_READS);
	json_io("origin_io", c, ORIGIN_READS);
}

static void json_ratios(const struct look *l)
{
	const struct cache_info *c = l->c;
	struct latency all[NR_CACHE_LATENCIES];

	json_real("hit_ratio", hit_share(c->count));
	json_real("ssd_bytes_per_user_byte", c->own ? wear(c->count) : NAN);
	latencies_of(c->count, all);
	json_latencies("latency", all);
	json_window("last_minute", c, &l->w.minute);
	json_window("last_five_minutes", c, &l->w.five_minutes);
	json_window("last_hour", c, &l->w.hour);
	json_window("last_day", c, &l->w.day);
	if (!l->since)
		return;
	json_begin("since", '{');
	json_string("mark", l->since);
	json_real("seconds", l->seconds);
	json_end();
}

static void json_settings(const struct cache_info *c)
{
	unsigned int i;

	json_begin("settings", '{');
	for (i = 0; i < c->nr_settings; i++)
		json_word(c->settings[i].key, c->settings[i].value);
	json_end();
}

static void json_device(const char *key, struct device d)
{
	char text[32];

	snprintf(text, sizeof(text), "%u:%u", d.major, d.minor);
	json_string(key, text);
}

/* Prints KEY_name, the device's name, and KEY_disks, the nodes of the disks below it. */
static void json_names(const char *key, struct device d)
{
	char name[NODE_LEN], disks[600], member[64], *rest = disks, *disk;

	device_name(d, name);
	snprintf(member, sizeof(member), "%s_name", key);
	json_string(member, name);
	device_disks(d, disks, sizeof(disks));
	snprintf(member, sizeof(member), "%s_disks", key);
	json_begin(member, '[');
	while ((disk = strsep(&rest, ",")))
		json_string(NULL, disk);
	json_end();
}

static void json_cache(const struct look *l)
{
	const struct cache_info *c = l->c;

	json_begin(NULL, '{');
	json_string("name", c->name);
	json_string("dm_name", c->dm->name);
	json_bool("lvm", c->vg[0]);
	json_string("engine", c->own ? "hearth" : "kernel");
	json_string("engine_version", c->version);
	json_string("health", c->health);
	json_bool("needs_check", c->needs_check);
	json_bool("read_only", c->read_only);
	json_bool("suspended", c->dm->suspended);
	json_string("mode", c->mode);
	json_string("table_mode", c->table_mode);
	json_string("policy", c->policy);
	json_string("policy_code", cache_policy_code(c));
	json_string("preset", preset_in_effect(c) ?: "");
	json_settings(c);
	json_uint("metadata_format", c->format);
	json_device("metadata_device", c->metadata);
	json_device("cache_device", c->cache_device);
	json_device("origin_device", c->origin);
	json_string("pool", c->pool);
	json_names("volume", (struct device){ c->dm->major, c->dm->minor });
	json_names("metadata_device", c->metadata);
	json_names("cache_device", c->cache_device);
	json_names("origin_device", c->origin);
	json_uint("volume_bytes", c->dm->length * 512);
	json_uint("block_bytes", cache_block_bytes(c));
	json_uint("total_blocks", c->total);
	if (c->data_slots)
		json_uint("data_blocks", c->data_slots);
	json_uint("used_blocks", c->used);
	json_uint("dirty_blocks", c->dirty);
	if (c->log[0]) {
		json_string("write_log", c->log);
		json_uint("write_log_bytes", cache_log_bytes(c));
	}
	json_uint("metadata_used", c->metadata_used);
	json_uint("metadata_total", c->metadata_total);
	if (c->own)
		json_uint("intents_held", c->intents_held);
	json_ratios(l);
	json_counters(c);
	json_end();
}

/* ---- The subcommand ---- */

/*
 * Looks at all caches.  With --since this replaces the counters of each cache by their growth
 * since that moment.  If the growth of a cache is not known, it is left out after a complaint.
 */
static struct look *look_at(const struct options *o, struct caches *cs, unsigned int *nr)
{
	struct look *all = calloc(cs->nr ?: 1, sizeof(*all));
	struct window since;
	unsigned int i;

	if (!all)
		abort();
	for (*nr = i = 0; i < cs->nr; i++) {
		struct look *l = &all[*nr];

		*l = (struct look){ .c = &cs->all[i], .since = o->since };
		windows_read(&l->w, l->c);
		if (o->since) {
			if (!mark_window(o->since, l->c, &since))
				continue;
			memcpy(l->c->count, since.count, sizeof(since.count));
			l->seconds = since.seconds;
		}
		++*nr;
	}
	return all;
}

static void print_all(const struct look *all, unsigned int nr, bool json)
{
	unsigned int i;

	if (json) {
		json_begin(NULL, '{');
		json_string("version", HEARTH_VERSION);
		json_time("time");
		json_begin("caches", '[');
	}
	for (i = 0; i < nr; i++) {
		if (json) {
			json_cache(&all[i]);
			continue;
		}
		if (i)
			putchar('\n');
		print_cache(&all[i]);
	}
	if (json) {
		json_end();
		json_end();
	}
}

int hearth_status(const struct options *o)
{
	struct look *all;
	struct caches cs;
	unsigned int nr;
	int r;

	if (o->json && report_wanted(o)) {
		complain("--json has all fields; --reportformat json has the columns of -o");
		return EXIT_USAGE;
	}
	r = caches_select(&cs, o->nr_args ? o->args[0] : NULL);
	if (r)
		return r;
	all = look_at(o, &cs, &nr);
	/* A screen has room for one cache, so several get a line each. */
	if (report_wanted(o) || (cs.nr > 1 && !o->json))
		r = status_report(o, all, nr);
	else
		print_all(all, nr, o->json);
	if (!cs.nr && !o->json && !report_wanted(o))
		puts("no cache is active");
	if (r == EXIT_OK && nr < cs.nr)
		r = EXIT_FAILED;
	free(all);
	caches_free(&cs);
	return r;
}
