// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules for nine conditions of a cache, and the file with their limits.  A condition is
 * reported when it begins and when it is over, and never in between.
 *
 * It must not look at a cache itself, or tell anybody: dmeventd/plugin.c does both.
 */
#include <ctype.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "failures.h"
#include "monitor.h"
#include "text.h"
#include "util.h"

/* All were chosen, so that a notice is rare; none was measured. */
#define CALM		3600.0	/* so many seconds without a new error end the condition */
#define MIN_ACCESSES	1000	/* a period with fewer accesses is not judged */
#define MIN_PERIODS	3	/* so many periods pass before one is judged */
#define MEMORY		12.0	/* the newest period has the weight 1/12 in the usual ratio */
#define LONG_MEMORY	144.0	/* it has the weight 1/144 while hits-fell is raised */

static const char * const names[NR_CONDITIONS] = {
	[COND_HEALTH] = "health",
	[COND_NEEDS_CHECK] = "needs-check",
	[COND_CACHE_DEVICE] = "cache-device-errors",
	[COND_ORIGIN] = "origin-errors",
	[COND_METADATA] = "metadata-full",
	[COND_DIRTY] = "dirty",
	[COND_HITS] = "hits-fell",
	[COND_CHANGED] = "origin-changed",
	[COND_GONE] = "origin-gone",
};

const char *condition_name(enum condition c)
{
	return names[c];
}

/* ---- The file ---- */

static void monitor_defaults(struct monitor_conf *conf)
{
	*conf = (struct monitor_conf){
		.interval = 10,
		.metadata_percent = 80,
		.dirty_percent = 90,
		.dirty_seconds = 1800,
		.hits_percent = 50,
		.hits_seconds = 300,
	};
}

static bool take_number(const char *value, unsigned int min, unsigned int max,
			unsigned int *to)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (!isdigit((unsigned char)*value) || *end || n < min || n > max)
		return false;
	*to = n;
	return true;
}

static bool take_pair(struct monitor_conf *conf, const char *key,
		      const char *value)
{
	const struct {
		const char *key;
		unsigned int min, max, *to;
	} numbers[] = {
		{ "interval", 1, 3600, &conf->interval },
		{ "metadata_percent", 0, 100, &conf->metadata_percent },
		{ "dirty_percent", 0, 100, &conf->dirty_percent },
		{ "dirty_seconds", 0, 1000000, &conf->dirty_seconds },
		{ "hits_percent", 0, 100, &conf->hits_percent },
		{ "hits_seconds", 1, 86400, &conf->hits_seconds },
	};
	unsigned int i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].key))
			return take_number(value, numbers[i].min,
					   numbers[i].max, numbers[i].to);
	/* The library cuts a line at 200 bytes.  A command that long is refused here anyway. */
	if (strcmp(key, "command") || (*value && *value != '/') ||
	    strlen(value) >= sizeof(conf->command))
		return false;
	strcpy(conf->command, value);
	return true;
}

static int take_line(void *conf, const char *section, const char *key, const char *value)
{
	return !*section && take_pair(conf, key, value);
}

unsigned int monitor_read_conf(struct monitor_conf *conf, const char *path)
{
	int line;

	monitor_defaults(conf);
	line = ini_parse(path, take_line, conf);
	return line > 0 ? line : 0;
}

unsigned int monitor_read_the_conf(struct monitor_conf *conf)
{
	char *path = try_root_path(MONITOR_CONF);
	unsigned int line = 0;

	if (path)
		line = monitor_read_conf(conf, path);
	else
		monitor_defaults(conf);
	free(path);
	return line;
}

/* ---- Conditions ---- */

/* One look: its input, and the notices that are its result. */
struct look {
	struct monitor *m;
	const struct monitor_conf *conf;
	const struct cache_info *c;
	double when;
	struct notice *notices;
	unsigned int nr;
};

/* Adds a notice if the condition has begun or is over.  @is tells whether it holds now. */
__attribute__((format(printf, 4, 5)))
static void state(struct look *l, enum condition condition, bool is,
		  const char *format, ...)
{
	struct notice *n = &l->notices[l->nr];
	va_list ap;

	if (l->m->raised[condition] == is)
		return;
	l->m->raised[condition] = is;
	l->nr++;
	n->condition = condition;
	n->over = !is;
	va_start(ap, format);
	vsnprintf(n->text, sizeof(n->text), format, ap);
	va_end(ap);
}

static void look_at_health(struct look *l)
{
	const char *health = l->c->health;
	const struct failure *f = failure_find(health);
	bool good = !strcmp(health, "good");

	/* A change from one failure to another is reported as the beginning of the other. */
	if (!good && strcmp(health, l->m->health))
		l->m->raised[COND_HEALTH] = false;
	snprintf(l->m->health, sizeof(l->m->health), "%s", health);
	if (good)
		state(l, COND_HEALTH, false, "in good health again");
	else
		state(l, COND_HEALTH, true, "%s%s%s", health, f ? ": " : "",
		      f ? f->what : "");
}

static void look_at_errors(struct look *l, enum condition condition,
			   unsigned int i, uint64_t errors, const char *what)
{
	struct monitor *m = l->m;

	/* The target counts from the activation on.  So if there are fewer, all of them are new. */
	if (errors < m->errors[i])
		m->errors[i] = 0;
	if (errors > m->errors[i]) {
		m->errors_at[i] = l->when;
		state(l, condition, true, "%s: %ju so far", what, errors);
	} else if (l->when - m->errors_at[i] >= CALM) {
		state(l, condition, false, "%s: none for an hour", what);
	}
	m->errors[i] = errors;
}

static void look_at_metadata(struct look *l)
{
	double percent = 100 * share(l->c->metadata_used,
				     l->c->metadata_total);
	unsigned int limit = l->conf->metadata_percent;

	state(l, COND_METADATA, limit && percent >= limit,
	      "%.0f%% of the metadata device is used", percent);
}

static void look_at_dirty(struct look *l)
{
	double percent = 100 * share(l->c->dirty, l->c->total);
	unsigned int limit = l->conf->dirty_percent;
	struct monitor *m = l->m;

	if (!limit || !cache_writes_back(l->c) || percent < limit) {
		m->dirty_since = 0;
		state(l, COND_DIRTY, false, "%.0f%% of the cache is dirty",
		      percent);
		return;
	}
	if (!m->dirty_since)
		m->dirty_since = l->when;
	if (l->when - m->dirty_since >= l->conf->dirty_seconds)
		state(l, COND_DIRTY, true,
		      "%.0f%% of the cache is dirty, at least %u%% for %.0f s",
		      percent, limit, l->when - m->dirty_since);
}

static void begin_period(struct look *l, uint64_t hits, uint64_t accesses)
{
	l->m->period_began = l->when;
	l->m->hits = hits;
	l->m->accesses = accesses;
}

/* Judges a period with the hit ratio @ratio, and adds it to the usual ratio. */
static void judge_hits(struct look *l, double ratio)
{
	struct monitor *m = l->m;
	double limit = m->usual * l->conf->hits_percent / 100;
	bool fell = m->raised[COND_HITS];

	if (m->periods >= MIN_PERIODS && l->conf->hits_percent && !fell &&
	    ratio < limit) {
		state(l, COND_HITS, true,
		      "%.1f%% of the requests hit, where %.1f%% are usual",
		      100 * ratio, 100 * m->usual);
	} else if (fell && ratio >= (limit + m->usual) / 2) {
		state(l, COND_HITS, false,
		      "%.1f%% of the requests hit, where %.1f%% are usual",
		      100 * ratio, 100 * m->usual);
	}
	/* With periods of 300 s, a ratio that stays low for half a day becomes the usual one. */
	if (m->periods < MEMORY)
		m->periods++;
	m->usual += (ratio - m->usual) /
		    (m->raised[COND_HITS] ? LONG_MEMORY : m->periods);
}

static void look_at_hits(struct look *l)
{
	const uint64_t *n = l->c->count;
	uint64_t hits = n[READ_HITS] + n[WRITE_HITS];
	uint64_t accesses = hits + n[READ_MISSES] + n[WRITE_MISSES];
	struct monitor *m = l->m;

	if (!m->begun || hits < m->hits || accesses < m->accesses) {
		begin_period(l, hits, accesses);
		return;
	}
	if (l->when - m->period_began < l->conf->hits_seconds)
		return;
	if (accesses - m->accesses >= MIN_ACCESSES)
		judge_hits(l, share(hits - m->hits, accesses - m->accesses));
	begin_period(l, hits, accesses);
}

/* The condition is over when the cache is activated again, and its origin is the same. */
static void look_at_origin(struct look *l)
{
	bool changed = !strcmp(l->c->origin_state, "changed");

	state(l, COND_CHANGED, changed, changed ?
	      "the origin was written without the cache, which began empty" :
	      "the cache belongs to its origin");
}

/* The table keeps a device that is gone, even if it came back under another name. */
static void look_for_lost(struct look *l)
{
	const struct device *lost = &l->c->lost;

	if (lost->major || lost->minor)
		state(l, COND_GONE, true,
		      "device %u:%u of the origin is gone; if it comes back under another name, 'lvchange --refresh %s'",
		      lost->major, lost->minor, l->c->name);
	else
		state(l, COND_GONE, false, "all devices of the origin are there");
}

unsigned int monitor_look(struct monitor *m, const struct monitor_conf *conf,
			  const struct cache_info *c, double when,
			  struct notice *notices)
{
	struct look l = {
		.m = m, .conf = conf, .c = c, .when = when, .notices = notices,
	};

	look_at_health(&l);
	/* The kernel's own target prints no numbers after a failure. */
	if (c->failed_line)
		return l.nr;
	state(&l, COND_NEEDS_CHECK, c->needs_check,
	      c->needs_check ? "the metadata is marked as needing a check" :
			       "the metadata needs no check any more");
	look_at_errors(&l, COND_CACHE_DEVICE, 0,
		       c->count[CACHE_READ_ERRORS] +
		       c->count[CACHE_WRITE_ERRORS], "errors of the cache device");
	look_at_errors(&l, COND_ORIGIN, 1, c->count[ORIGIN_ERRORS],
		       "errors of the origin");
	look_at_origin(&l);
	look_for_lost(&l);
	look_at_metadata(&l);
	look_at_dirty(&l);
	look_at_hits(&l);
	m->begun = true;
	return l.nr;
}
