// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads all caches that are active, and finds the cache that a user names.
 *
 * It must not know the target's words, which parse.c reads, and must not change a cache.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache-info.h"
#include "hearth.h"
#include "lvm.h"
#include "sysfs.h"

/* ---- One cache ---- */

static void cut_end(char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	if (len > end_len && !strcmp(text + len - end_len, end))
		text[len - end_len] = '\0';
}

/*
 * Finds the pool's name by that of the cache device.  LVM calls the cache device of the pool
 * "fast" fast_cpool_cdata, and that of the --cachevol "fast" fast_cvol, with the layer cdata.
 */
static void read_pool_name(struct cache_info *c)
{
	char name[DM_NAME_MAX], uuid[DM_NAME_MAX + 2], vg[DM_NAME_MAX];

	if (!device_dm_name(c->cache_device, name, sizeof(name), uuid,
			    sizeof(uuid)) ||
	    !lvm_split_name(name, uuid, vg, c->pool))
		return;
	cut_end(c->pool, "_cdata");
	cut_end(c->pool, "_cpool");
	cut_end(c->pool, "_cvol");
}

static int cache_parse(struct cache_info *c, const struct dm_device *d, bool own,
		       const char *version)
{
	c->dm = d;
	c->own = own;
	snprintf(c->version, sizeof(c->version), "%s", version);
	cache_set_name(c, d->name, d->uuid);
	c->words[0] = strdup(d->status);
	c->words[1] = strdup(d->table);
	if (!c->words[0] || !c->words[1])
		return -ENOMEM;
	if (!cache_parse_status(c, c->words[0]) ||
	    !cache_parse_table(c, c->words[1]))
		return -EINVAL;
	/* Without stats the rest stands: a target that was never resumed answers no message. */
	if (own && !dm_send(d, "stats", &c->words[2]) && c->words[2])
		cache_parse_stats(c, c->words[2]);
	cache_read_io(c);
	read_pool_name(c);
	return 0;
}

bool cache_understood(const struct cache_info *c)
{
	return strcmp(c->health, "unknown");
}

/* ---- All of them ---- */

int caches_explain(int r)
{
	switch (r) {
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

static bool means_no_dm(int r)
{
	return r == -ENODEV || r == -ENXIO || r == -ENOENT;
}

/* The version of hearth's module, or that of the kernel's own target, @v. */
static void version_text(char *text, size_t len, const uint32_t v[3], bool own)
{
	FILE *f = own ? root_open("/sys/module/dm_cache/version") : NULL;

	if (!f || !fgets(text, len, f))
		snprintf(text, len, "%u.%u.%u", v[0], v[1], v[2]);
	text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
}

static int read_into(struct caches *cs)
{
	uint32_t version[3] = { 0 };
	unsigned int i;
	char text[32];
	bool own;
	int r = dm_list_caches(&cs->devices, &cs->nr_devices);

	if (r)
		return r;
	r = dm_cache_version(version);
	if (r && r != -ENOENT)
		return r;
	/* The versions of the kernel's own target begin at 2.0, hearth's at 2.100. */
	own = !r && version[0] == 2 && version[1] >= 100;
	version_text(text, sizeof(text), version, own);
	cs->all = calloc(cs->nr_devices ?: 1, sizeof(*cs->all));
	if (!cs->all)
		return -ENOMEM;
	for (i = 0; i < cs->nr_devices; i++) {
		struct cache_info *c = &cs->all[cs->nr++];

		r = cache_parse(c, &cs->devices[i], own, text);
		if (!r)
			continue;
		if (r != -EINVAL)
			return r;
		complain("%s: cannot make sense of its status: %s",
			 cs->devices[i].name, cs->devices[i].status);
		strcpy(c->health, "unknown");
	}
	return 0;
}

/* After an error @cs is empty, because the callers free it only after success. */
static int read_all(struct caches *cs)
{
	int r;

	memset(cs, 0, sizeof(*cs));
	r = read_into(cs);
	if (r)
		caches_free(cs);
	return r;
}

int caches_read(struct caches *cs)
{
	int r = read_all(cs);

	return r ? caches_explain(r) : EXIT_OK;
}

int caches_read_if_any(struct caches *cs, bool *no_dm)
{
	int r = read_all(cs);

	*no_dm = means_no_dm(r);
	return r && !*no_dm ? caches_explain(r) : EXIT_OK;
}

static void free_words(struct cache_info *c)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		free(c->words[i]);
}

void caches_free(struct caches *cs)
{
	unsigned int i;

	for (i = 0; i < cs->nr; i++)
		free_words(&cs->all[i]);
	dm_free_caches(cs->devices, cs->nr_devices);
	free(cs->all);
	memset(cs, 0, sizeof(*cs));
}

/* Is @name the name of the cache?  The name of a thin pool stands for its cached data volume. */
static bool is_called(const struct cache_info *c, const char *name)
{
	size_t len = strlen(name);

	if (!strcmp(c->name, name) || !strcmp(c->dm->name, name))
		return true;
	return c->lv[0] && !strncmp(c->name, name, len) &&
	       !strcmp(c->name + len, "_tdata");
}

const char *bare_name(const char *name)
{
	static const char * const prefixes[] = { "/dev/mapper/", "/dev/" };
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return name;
}

/* Is @name the volume group of the cache, or the pool VG/POOL that caches it? */
static bool belongs_to(const struct cache_info *c, const char *name)
{
	size_t len = strlen(c->vg);

	if (!len || strncmp(name, c->vg, len))
		return false;
	return !name[len] || (name[len] == '/' && !strcmp(name + len + 1, c->pool));
}

static struct cache_info *find_called(const struct caches *cs, const char *name)
{
	unsigned int i;

	for (i = 0; i < cs->nr; i++)
		if (is_called(&cs->all[i], name))
			return &cs->all[i];
	return NULL;
}

/* The cache that belongs to @name; NULL if none or several do.  @nr receives their number. */
static struct cache_info *find_within(const struct caches *cs, const char *name,
				      unsigned int *nr)
{
	struct cache_info *found = NULL;
	unsigned int i;

	*nr = 0;
	for (i = 0; i < cs->nr; i++) {
		if (!belongs_to(&cs->all[i], name))
			continue;
		found = &cs->all[i];
		++*nr;
	}
	return *nr == 1 ? found : NULL;
}

struct cache_info *caches_find(const struct caches *cs, const char *name)
{
	struct cache_info *c;
	unsigned int nr;

	name = bare_name(name);
	c = find_called(cs, name);
	return c ?: find_within(cs, name, &nr);
}

/* Complains that @name is no active cache, or stands for several. */
static void why_none(const struct caches *cs, const char *name)
{
	char type[64], active[16];
	unsigned int nr;

	name = bare_name(name);
	find_within(cs, name, &nr);
	if (nr)
		complain("%s: has %u caches; name one of them", name, nr);
	else if (!strchr(name, '/'))
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

int caches_get(struct caches *cs, const char *name, struct cache_info **c)
{
	int r = caches_read(cs);

	if (r)
		return r;
	*c = caches_find(cs, name);
	if (*c)
		return EXIT_OK;
	why_none(cs, name);
	caches_free(cs);
	return EXIT_NO_CACHE;
}

int caches_select(struct caches *cs, const char *name)
{
	struct cache_info *called;
	unsigned int i, kept = 0;
	int r = caches_read(cs);

	if (r || !name)
		return r;
	name = bare_name(name);
	called = find_called(cs, name);
	for (i = 0; i < cs->nr; i++) {
		struct cache_info *c = &cs->all[i];

		if (called ? c == called : belongs_to(c, name))
			cs->all[kept++] = *c;
		else
			free_words(c);
	}
	cs->nr = kept;
	if (kept)
		return EXIT_OK;
	why_none(cs, name);
	caches_free(cs);
	return EXIT_NO_CACHE;
}
