// SPDX-License-Identifier: GPL-2.0-only
/*
 * All caches that are active, and the one that a user names.
 *
 * It must not know the target's words, which parse.c reads, and changes no
 * cache.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache-info.h"
#include "hearth.h"
#include "lvm.h"

/* ---- One cache ---- */

static int cache_parse(struct cache_info *c, const struct dm_device *d, bool own)
{
	c->dm = d;
	c->own = own;
	cache_set_name(c, d->name, d->uuid);
	c->words[0] = strdup(d->status);
	c->words[1] = strdup(d->table);
	if (!c->words[0] || !c->words[1])
		return -ENOMEM;
	if (!cache_parse_status(c, c->words[0]) ||
	    !cache_parse_table(c, c->words[1]))
		return -EINVAL;
	/* A target whose table was never resumed answers no message. */
	if (own && !dm_send(d, "stats", &c->words[2]) && c->words[2])
		cache_parse_stats(c, c->words[2]);
	cache_read_io(c);
	return 0;
}

/* ---- All of them ---- */

static int explain(int r)
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

static int read_all(struct caches *cs)
{
	uint32_t version[3] = { 0 };
	unsigned int i, nr;
	bool own;
	int r;

	memset(cs, 0, sizeof(*cs));
	r = dm_list_caches(&cs->devices, &nr);
	if (r)
		return r;
	/* The versions of the kernel's target begin at 2.0, hearth's at 2.100. */
	own = !dm_cache_version(version) && version[0] == 2 && version[1] >= 100;
	cs->all = calloc(nr ?: 1, sizeof(*cs->all));
	if (!cs->all)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		struct cache_info *c = &cs->all[cs->nr++];

		r = cache_parse(c, &cs->devices[i], own);
		if (!r)
			continue;
		complain("%s: cannot make sense of its status: %s",
			 cs->devices[i].name, cs->devices[i].status);
		strcpy(c->health, "unknown");
	}
	return 0;
}

int caches_read(struct caches *cs)
{
	int r = read_all(cs);

	return r ? explain(r) : EXIT_OK;
}

int caches_read_if_any(struct caches *cs, bool *no_dm)
{
	int r = read_all(cs);

	*no_dm = means_no_dm(r);
	return r && !*no_dm ? explain(r) : EXIT_OK;
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

/* The name of a thin pool also stands for its cached data volume. */
static bool is_called(const struct cache_info *c, const char *name)
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

struct cache_info *caches_find(const struct caches *cs, const char *name)
{
	unsigned int i;

	name = bare_name(name);
	for (i = 0; i < cs->nr; i++)
		if (is_called(&cs->all[i], name))
			return &cs->all[i];
	return NULL;
}

/* Says why @name is no active cache. */
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

int caches_get(struct caches *cs, const char *name, struct cache_info **c)
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
