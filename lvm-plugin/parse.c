// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the target's words into struct cache_info.  It asks nothing of the system
 * and prints nothing, so that dmeventd's plugin can use it.
 *
 * hearth-target(8) describes the status line.  The kernel's own target prints the same
 * words.  If a word is missing, reading fails; a word that is not known is skipped.
 */
#include <ctype.h>
#include <errno.h>
#include <libdevmapper.h>
#include <stdlib.h>
#include <string.h>

#include "cache-info.h"

#define COUNTER_NAME(symbol, name, help, ...)	[symbol] = #name,
const char * const counter_names[FIRST_BUCKET] = {
	CACHE_COUNTERS(COUNTER_NAME, COUNTER_NAME)
	[IO_READS] = "reads",
	[IO_READ_SECTORS] = "read_sectors",
	[IO_READ_MS] = "read_ms",
	[IO_WRITES] = "writes",
	[IO_WRITE_SECTORS] = "write_sectors",
	[IO_WRITE_MS] = "write_ms",
	[IO_BUSY_MS] = "busy_ms",
	[IO_QUEUE_MS] = "queue_ms",
	[FAST_READS] = "reads",
	[FAST_READ_SECTORS] = "read_sectors",
	[FAST_READ_MS] = "read_ms",
	[FAST_WRITES] = "writes",
	[FAST_WRITE_SECTORS] = "write_sectors",
	[FAST_WRITE_MS] = "write_ms",
	[FAST_BUSY_MS] = "busy_ms",
	[FAST_QUEUE_MS] = "queue_ms",
	[ORIGIN_READS] = "reads",
	[ORIGIN_READ_SECTORS] = "read_sectors",
	[ORIGIN_READ_MS] = "read_ms",
	[ORIGIN_WRITES] = "writes",
	[ORIGIN_WRITE_SECTORS] = "write_sectors",
	[ORIGIN_WRITE_MS] = "write_ms",
	[ORIGIN_BUSY_MS] = "busy_ms",
	[ORIGIN_QUEUE_MS] = "queue_ms",
};

const struct role roles[NR_ROLES] = {
	{ "volume", IO_READS }, { "ssd", FAST_READS }, { "origin", ORIGIN_READS },
};

#define LATENCY_NAME(symbol, name)	[CACHE_LATENCY_##symbol] = #name,
const char * const latency_names[NR_CACHE_LATENCIES] = {
	CACHE_LATENCIES(LATENCY_NAME)
};

/* ---- Words ---- */

/* A line that word() cuts into words. */
struct line {
	char *rest;
	bool bad;
};

static char *word(struct line *l)
{
	char *w = strtok_r(l->rest, " \n", &l->rest);

	if (w)
		return w;
	l->bad = true;
	return "";
}

static uint64_t number(struct line *l)
{
	const char *w = word(l);
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(w, &end, 10);
	if (!isdigit((unsigned char)w[0]) || *end || errno)
		l->bad = true;
	return n;
}

/* Reads "used/total". */
static void fraction(struct line *l, uint64_t *a, uint64_t *b)
{
	char dummy;

	if (sscanf(word(l), "%ju/%ju%c", a, b, &dummy) != 2)
		l->bad = true;
}

static void copy(char *to, size_t len, const char *from)
{
	snprintf(to, len, "%s", from);
}

#define COPY(array, from)	copy(array, sizeof(array), from)

/*
 * Is it a setting of the former policy mq?  Targets print these settings as 0, and they have
 * no effect.
 */
static bool is_void(const char *key)
{
	static const char * const keys[] = {
		"random_threshold", "sequential_threshold",
		"discard_promote_adjustment", "read_promote_adjustment",
		"write_promote_adjustment",
	};
	unsigned int i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

/* Reads a number of words, then so many words as keys and values.  Keeps those with an effect. */
static void pairs(struct line *l, struct setting *s, unsigned int *nr)
{
	uint64_t words = number(l), i;

	if (l->bad || words > 1000 || words % 2) {
		l->bad = true;
		return;
	}
	for (i = 0; i < words && !l->bad; i += 2) {
		struct setting pair = { .key = word(l) };

		pair.value = word(l);
		if (*nr < MAX_SETTINGS && !is_void(pair.key))
			s[(*nr)++] = pair;
	}
}

const char * const cache_modes[] = {
	"writethrough", "writeback", "passthrough", "writearound", "writeonly",
	NULL
};

bool is_cache_mode(const char *w)
{
	unsigned int i;

	for (i = 0; cache_modes[i]; i++)
		if (!strcmp(w, cache_modes[i]))
			return true;
	return false;
}

static void features(struct line *l, struct cache_info *c)
{
	uint64_t nr = number(l);

	c->format = 1;
	while (nr-- && !l->bad) {
		const char *w = word(l);

		if (!strcmp(w, "metadata2"))
			c->format = 2;
		else if (is_cache_mode(w))
			COPY(c->table_mode, w);
	}
}

/* The health by the status line, in hearth's words, for a cache without stats. */
static const char *health_by_line(const struct cache_info *c)
{
	if (c->failed_line)
		return "failed";
	return c->read_only ? "read-only" : "good";
}

bool cache_parse_status(struct cache_info *c, char *words)
{
	struct line l = { .rest = words };
	char *w;

	if (strstr(words, "Fail") || strstr(words, "Error")) {
		c->failed_line = true;
		COPY(c->health, health_by_line(c));
		return true;
	}
	c->metadata_block_sectors = number(&l);
	fraction(&l, &c->metadata_used, &c->metadata_total);
	c->block_sectors = number(&l);
	fraction(&l, &c->used, &c->total);
	c->count[READ_HITS] = number(&l);
	c->count[READ_MISSES] = number(&l);
	c->count[WRITE_HITS] = number(&l);
	c->count[WRITE_MISSES] = number(&l);
	c->count[DEMOTIONS] = number(&l);
	c->count[PROMOTIONS] = number(&l);
	c->dirty = number(&l);
	features(&l, c);
	pairs(&l, c->settings, &c->nr_settings);
	COPY(c->policy, word(&l));
	pairs(&l, c->settings, &c->nr_settings);
	c->read_only = !strcmp(word(&l), "ro");
	w = strtok_r(l.rest, " \n", &l.rest);
	c->needs_check = w && !strcmp(w, "needs_check");
	COPY(c->mode, c->table_mode);
	COPY(c->health, health_by_line(c));
	return !l.bad;
}

static struct device device(struct line *l)
{
	struct device d = { 0 };

	if (sscanf(word(l), "%u:%u", &d.major, &d.minor) != 2)
		l->bad = true;
	return d;
}

bool cache_parse_table(struct cache_info *c, char *words)
{
	struct line l = { .rest = words };
	uint64_t nr;

	c->metadata = device(&l);
	c->cache_device = device(&l);
	c->origin = device(&l);
	c->block_sectors = number(&l);
	for (nr = number(&l); nr && !l.bad; nr--) {
		const char *w = word(&l);

		if (is_cache_mode(w))
			COPY(c->table_mode, w);
	}
	if (!c->policy[0])
		COPY(c->policy, word(&l));
	else
		word(&l);
	pairs(&l, c->in_table, &c->nr_in_table);
	COPY(c->mode, c->table_mode);
	return !l.bad;
}

/* Reads a line of a histogram: @name is the word behind "latency_", @buckets has the numbers. */
static void parse_latency(struct cache_info *c, const char *name, const char *buckets)
{
	unsigned int kind, i;
	uint64_t *count;
	char *end;

	for (kind = 0; kind < NR_CACHE_LATENCIES; kind++)
		if (!strcmp(name, latency_names[kind]))
			break;
	if (kind == NR_CACHE_LATENCIES)
		return;
	count = &c->count[FIRST_BUCKET + kind * CACHE_LATENCY_BUCKETS];
	for (i = 0; i < CACHE_LATENCY_BUCKETS; i++) {
		count[i] = strtoull(buckets, &end, 10);
		buckets = end;
	}
}

void cache_parse_stats(struct cache_info *c, char *words)
{
	char *line, *save = NULL, *value;
	unsigned int i;

	for (line = strtok_r(words, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = '\0';
		if (!strcmp(line, "mode"))
			COPY(c->mode, value);
		else if (!strcmp(line, "health"))
			COPY(c->health, value);
		else if (!strcmp(line, "origin"))
			COPY(c->origin_state, value);
		else if (!strcmp(line, "intents_held"))
			c->intents_held = strtoull(value, NULL, 10);
		else if (!strcmp(line, "data_slots"))
			c->data_slots = strtoull(value, NULL, 10);
		else if (!strcmp(line, "log"))
			COPY(c->log, value);
		else if (!strcmp(line, "log_segments"))
			c->log_segments = strtoull(value, NULL, 10);
		else if (!strncmp(line, "latency_", 8))
			parse_latency(c, line + 8, value);
		for (i = 0; i < FIRST_IO; i++)
			if (!strcmp(line, counter_names[i]))
				c->count[i] = strtoull(value, NULL, 10);
	}
}

/* ---- Derived from the words ---- */

bool lvm_split_name(const char *dm_name, const char *uuid, char *vg, char *lv)
{
	char *in_vg = NULL, *in_lv = NULL, *layer = NULL;
	struct dm_pool *pool;

	vg[0] = '\0';
	lv[0] = '\0';
	if (strncmp(uuid, "LVM-", 4))
		return false;
	pool = dm_pool_create("name", 256);
	if (pool && dm_split_lvm_name(pool, dm_name, &in_vg, &in_lv, &layer) &&
	    in_vg && in_lv && in_vg[0] && in_lv[0]) {
		copy(vg, DM_NAME_MAX, in_vg);
		copy(lv, DM_NAME_MAX, in_lv);
	}
	if (pool)
		dm_pool_destroy(pool);
	return vg[0];
}

void cache_set_name(struct cache_info *c, const char *dm_name, const char *uuid)
{
	COPY(c->name, dm_name);
	if (lvm_split_name(dm_name, uuid, c->vg, c->lv))
		snprintf(c->name, sizeof(c->name), "%s/%s", c->vg, c->lv);
}

const char *cache_setting(const struct setting *s, unsigned int nr,
			  const char *key)
{
	while (nr--)
		if (!strcasecmp(s[nr].key, key))
			return s[nr].value;
	return NULL;
}

uint64_t cache_block_bytes(const struct cache_info *c)
{
	return c->block_sectors * 512ULL;
}

const char *cache_policy_code(const struct cache_info *c)
{
	bool heat = !strcmp(c->policy, "smq") || !strcmp(c->policy, "mq");

	return c->own && heat ? "heat" : c->policy;
}

bool cache_writes_back(const struct cache_info *c)
{
	return !strcmp(c->table_mode, "writeback") ||
	       !strcmp(c->table_mode, "writeonly");
}

bool cache_healthy(const struct cache_info *c)
{
	return !strcmp(c->health, "good") && !c->needs_check;
}

uint64_t cache_log_bytes(const struct cache_info *c)
{
	return c->log_segments * cache_block_bytes(c);
}

bool cache_log_in_use(const struct cache_info *c)
{
	return c->log[0] && strcmp(c->log, "off");
}
