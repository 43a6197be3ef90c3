// SPDX-License-Identifier: GPL-2.0-only
/*
 * /var/lib/hearth/WHAT-VG:LV: the cache that the subcommand WHAT, uncache or split, is taking
 * off the volume.
 *
 * lvconvert takes the cache off first, and removes its pool after that.  If it is killed in
 * between, nothing in the volume group tells which pool it was.  So this file has the pool's
 * name and UUID written before, for the next run of the same command.
 *
 * It must not take a cache off.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hearth.h"
#include "left-over.h"
#include "state-file.h"

/* The path of the file, allocated.  A colon stands in it, because LVM's names have none. */
static char *path_of(const char *what, const char *name)
{
	char *path = root_path(STATE_DIRECTORY "/%s-%s", what, bare_name(name));
	char *slash = strrchr(path, '/');

	/* The last slash is the one between VG and LV, if the name has one. */
	if (strchr(bare_name(name), '/'))
		*slash = ':';
	return path;
}

/* Asks LVM for the hidden volume that is the cache, and for its UUID. */
static bool ask(struct left_over *l, const struct cache_info *c)
{
	char v[1][FIELD_LEN], hidden[DM_NAME_MAX + FIELD_LEN];

	snprintf(l->volume, sizeof(l->volume), "%s", c->name);
	snprintf(l->cache, sizeof(l->cache), "%s/%s", c->vg, c->pool);
	if (!lvm_report("lvs", "pool_lv", c->name, v, 1))
		return false;
	snprintf(hidden, sizeof(hidden), "%s/%s", c->vg, lvm_without_brackets(v[0]));
	if (!lvm_report("lvs", "lv_uuid", hidden, v, 1))
		return false;
	strcpy(l->uuid, v[0]);
	return true;
}

static void put(FILE *out, const void *left_over)
{
	const struct left_over *l = left_over;

	fprintf(out, "%s %s %s\n", l->volume, l->cache, l->uuid);
}

/* Does not look whether the file was written, because the command works without it. */
void left_over_keep(const char *what, const char *name, const struct cache_info *c)
{
	char *path = path_of(what, name);
	struct left_over l;

	if (ask(&l, c) && state_directory(STATE_DIRECTORY))
		state_file_write(path, put, &l);
	free(path);
}

bool left_over_find(const char *what, const char *name, struct left_over *l)
{
	char *path = path_of(what, name);
	FILE *f = fopen(path, "re");
	bool ok;

	free(path);
	if (!f)
		return false;
	ok = fscanf(f, "%255s %255s %255s", l->volume, l->cache, l->uuid) == 3;
	fclose(f);
	return ok;
}

void left_over_forget(const char *what, const char *name)
{
	char *path = path_of(what, name);

	unlink(path);
	free(path);
}

bool left_over_is_off(const struct left_over *l)
{
	char v[1][FIELD_LEN];

	return lvm_report("lvs", "segtype", l->volume, v, 1) && strcmp(v[0], "cache");
}

int left_over_remove(const struct left_over *l)
{
	const char *const argv[] = { "lvremove", "-qq", "-y", "--", l->cache, NULL };
	char v[3][FIELD_LEN];

	/* If the pool caches another volume now, it has a parent. */
	if (!lvm_report("lvs", "segtype,lv_uuid,lv_parent", l->cache, v, 3) ||
	    strcmp(v[1], l->uuid) || v[2][0])
		return EXIT_OK;
	if (!strcmp(v[0], "cache-pool"))
		return lvm_run(argv) ? EXIT_FAILED : EXIT_OK;
	/* A former --cachevol is a plain volume now, and somebody may have data on it since. */
	complain("note: %s, which was the cache, is left; 'lvremove %s' removes it", l->cache,
		 l->cache);
	return EXIT_OK;
}
