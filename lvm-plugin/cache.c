// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the target's words to struct cache.
 *
 * The status line is read as hearth-target(8) lays it out; the kernel's own
 * target prints the same.  A word too few makes the cache unreadable, one that
 * is not known is skipped.
 */
#include <ctype.h>
#include <errno.h>
#include <libdevmapper.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "hearth.h"
#include "lvm.h"

const char * const counter_names[NR_COUNTERS] = {
	[READ_HITS] = "read_hits",
	[READ_MISSES] = "read_misses",
	[WRITE_HITS] = "write_hits",
	[WRITE_MISSES] = "write_misses",
	[PROMOTIONS] = "promotions",
	[DEMOTIONS] = "demotions",
	[WRITEBACKS] = "writebacks",
	[INVALIDATIONS] = "invalidations",
	[PROMOTIONS_ABORTED] = "promotions_aborted",
	[RETIRED_BLOCKS] = "retired_blocks",
	[BYPASS_COLD] = "bypass_cold",
	[BYPASS_STREAM] = "bypass_stream",
	[BYPASS_LIMIT] = "bypass_limit",
	[BYPASS_POLICY] = "bypass_policy",
	[BYPASS_BUSY] = "bypass_busy",
	[BYPASS_RATE] = "bypass_rate",
	[BYPASS_SHARE] = "bypass_share",
	[BYPASS_NO_SLOT] = "bypass_no_slot",
	[BYPASS_RACE] = "bypass_race",
	[COMMITS] = "commits",
	[INTENTS] = "intents",
	[CACHE_READ_ERRORS] = "cache_read_errors",
	[CACHE_WRITE_ERRORS] = "cache_write_errors",
	[ORIGIN_ERRORS] = "origin_errors",
	[CACHE_SECTORS_WRITTEN] = "cache_sectors_written",
	[IO_READS] = "reads",
	[IO_READ_SECTORS] = "read_sectors",
	[IO_READ_MS] = "read_ms",
	[IO_WRITES] = "writes",
	[IO_WRITE_SECTORS] = "write_sectors",
	[IO_WRITE_MS] = "write_ms",
};

/* ---- Words ---- */

/* A line being taken apart. */
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

/* "used/total" */
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

/* A count of words, then keys and values. */
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
		if (*nr < MAX_SETTINGS)
			s[(*nr)++] = pair;
	}
}

bool is_cache_mode(const char *w)
{
	return !strcmp(w, "writethrough") || !strcmp(w, "writeback") ||
	       !strcmp(w, "passthrough") || !strcmp(w, "writearound") ||
	       !strcmp(w, "writeonly");
}

static void features(struct line *l, struct cache *c)
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

static bool parse_status(struct cache *c, char *words)
{
	struct line l = { .rest = words };
	char *w;

	if (strstr(words, "Fail") || strstr(words, "Error")) {
		c->failed_line = true;
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
	return !l.bad;
}

static struct device device(struct line *l)
{
	struct device d = { 0 };

	if (sscanf(word(l), "%u:%u", &d.major, &d.minor) != 2)
		l->bad = true;
	return d;
}

static bool parse_table(struct cache *c, char *words)
{
	struct line l = { .rest = words };
	uint64_t nr;

	c->metadata = device(&l);
	c->fast = device(&l);
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
	return !l.bad;
}

/* "name value" lines; the message's 64 bits replace the line's 32. */
static void parse_stats(struct cache *c, char *words)
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
		else if (!strcmp(line, "intents_held"))
			c->intents_held = strtoull(value, NULL, 10);
		for (i = 0; i < FIRST_IO; i++)
			if (!strcmp(line, counter_names[i]))
				c->count[i] = strtoull(value, NULL, 10);
	}
}

/* ---- One cache ---- */

/* What a kernel without hearth says of the cache's state, in hearth's words. */
static const char *health_by_line(const struct cache *c)
{
	if (c->failed_line)
		return "failed";
	return c->read_only ? "read-only" : "good";
}

static void read_io(struct cache *c)
{
	uint64_t v[8] = { 0 };
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u/stat", dm_root(),
		 c->dm->major, c->dm->minor);
	f = fopen(path, "r");
	if (!f)
		return;
	if (fscanf(f, "%ju %ju %ju %ju %ju %ju %ju %ju", &v[0], &v[1], &v[2],
		   &v[3], &v[4], &v[5], &v[6], &v[7]) == 8) {
		c->count[IO_READS] = v[0];
		c->count[IO_READ_SECTORS] = v[2];
		c->count[IO_READ_MS] = v[3];
		c->count[IO_WRITES] = v[4];
		c->count[IO_WRITE_SECTORS] = v[6];
		c->count[IO_WRITE_MS] = v[7];
	}
	fclose(f);
}

static void name_it(struct cache *c)
{
	struct dm_pool *pool;
	char *vg = NULL, *lv = NULL, *layer = NULL;

	COPY(c->name, c->dm->name);
	if (strncmp(c->dm->uuid, "LVM-", 4))
		return;
	pool = dm_pool_create("name", 256);
	if (pool && dm_split_lvm_name(pool, c->dm->name, &vg, &lv, &layer) &&
	    vg && lv && vg[0] && lv[0]) {
		COPY(c->vg, vg);
		COPY(c->lv, lv);
		snprintf(c->name, sizeof(c->name), "%s/%s", c->vg, c->lv);
	}
	if (pool)
		dm_pool_destroy(pool);
}

static int cache_parse(struct cache *c, const struct dm_device *d, bool own)
{
	c->dm = d;
	c->own = own;
	name_it(c);
	c->words[0] = strdup(d->status);
	c->words[1] = strdup(d->table);
	if (!c->words[0] || !c->words[1])
		return -ENOMEM;
	if (!parse_status(c, c->words[0]) || !parse_table(c, c->words[1]))
		return -EINVAL;
	COPY(c->mode, c->table_mode);
	COPY(c->health, health_by_line(c));
	/* A table that was never resumed answers no message. */
	if (own && !dm_send(d, "stats", &c->words[2]) && c->words[2])
		parse_stats(c, c->words[2]);
	read_io(c);
	return 0;
}

const char *cache_setting(const struct setting *s, unsigned int nr,
			  const char *key)
{
	while (nr--)
		if (!strcasecmp(s[nr].key, key))
			return s[nr].value;
	return NULL;
}

uint64_t cache_bypasses(const struct cache *c)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = FIRST_BYPASS; i <= LAST_BYPASS; i++)
		sum += c->count[i];
	return sum;
}

bool cache_writes_back(const struct cache *c)
{
	return !strcmp(c->table_mode, "writeback") ||
	       !strcmp(c->table_mode, "writeonly");
}

bool cache_healthy(const struct cache *c)
{
	return !strcmp(c->health, "good") && !c->needs_check;
}

/* ---- All of them ---- */

static int explain(int r)
{
	switch (r) {
	case 0:
		return EXIT_OK;
	case -EACCES:
	case -EPERM:
		complain("only root may talk to device-mapper");
		return EXIT_NO_DM;
	case -ENODEV:
	case -ENXIO:
	case -ENOENT:
		complain("this kernel has no device-mapper; try 'modprobe dm-mod'");
		return EXIT_NO_DM;
	}
	complain("device-mapper: %s%s%s", strerror(-r), dm_error()[0] ? ": " : "",
		 dm_error());
	return EXIT_NO_DM;
}

int caches_read(struct caches *cs)
{
	uint32_t version[3] = { 0 };
	unsigned int i, nr;
	bool own;
	int r;

	memset(cs, 0, sizeof(*cs));
	r = dm_list_caches(&cs->devices, &nr);
	if (r)
		return explain(r);
	/* The kernel's target counts from 2.0 up; hearth is 2.100 and later. */
	own = !dm_cache_version(version) && version[0] == 2 && version[1] >= 100;
	cs->all = calloc(nr ?: 1, sizeof(*cs->all));
	if (!cs->all)
		return explain(-ENOMEM);
	for (i = 0; i < nr; i++) {
		struct cache *c = &cs->all[cs->nr++];

		r = cache_parse(c, &cs->devices[i], own);
		if (!r)
			continue;
		complain("%s: cannot make sense of its status: %s",
			 cs->devices[i].name, cs->devices[i].status);
		COPY(c->health, "unknown");
	}
	return EXIT_OK;
}

void caches_free(struct caches *cs)
{
	unsigned int i, j;

	for (i = 0; i < cs->nr; i++)
		for (j = 0; j < 3; j++)
			free(cs->all[i].words[j]);
	dm_free_caches(cs->devices, cs->nr);
	free(cs->all);
	memset(cs, 0, sizeof(*cs));
}

/* VG/LV also stands for the cached data volume of a thin pool. */
static bool is_called(const struct cache *c, const char *name)
{
	size_t len = strlen(name);

	if (!strcmp(c->name, name) || !strcmp(c->dm->name, name))
		return true;
	return c->lv[0] && !strncmp(c->name, name, len) &&
	       !strcmp(c->name + len, "_tdata");
}

static const char *bare_name(const char *name)
{
	static const char * const prefixes[] = { "/dev/mapper/", "/dev/" };
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return name;
}

struct cache *caches_find(const struct caches *cs, const char *name)
{
	unsigned int i;

	name = bare_name(name);
	for (i = 0; i < cs->nr; i++)
		if (is_called(&cs->all[i], name))
			return &cs->all[i];
	return NULL;
}

static void why_none(const char *name)
{
	char type[64], active[16];

	name = bare_name(name);
	if (!strchr(name, '/'))
		complain("%s: no cache of that name", name);
	else if (lvm_volume(name, type, sizeof(type), active, sizeof(active)))
		complain("%s: no such volume", name);
	else if (strcmp(type, "cache"))
		complain("%s: not cached (its type is %s)", name, type);
	else if (strcmp(active, "active"))
		complain("%s: cached, but not active; 'lvchange -ay %s' brings it up",
			 name, name);
	else
		complain("%s: no table of type cache is loaded for it", name);
}

int caches_get(struct caches *cs, const char *name, struct cache **c)
{
	int r = caches_read(cs);

	if (r)
		return r;
	*c = caches_find(cs, name);
	if (*c)
		return EXIT_OK;
	why_none(name);
	caches_free(cs);
	return EXIT_NO_CACHE;
}
