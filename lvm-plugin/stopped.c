// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the stopped caches of LVM's that have a write log in use.  Their devices are not
 * there.  So this file asks LVM where the metadata begins on the disk, and reads the
 * superblock there.
 *
 * It must not write, or activate anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../metadata/cache-metadata-disk.h"
#include "dm.h"
#include "lvm.h"
#include "stopped.h"
#include "util.h"

#define NAME_LEN	(2 * DM_NAME_MAX)
#define MAX_DEPTH	8	/* levels of volumes on volumes. Chosen, so that a loop ends */

/* @name becomes VG/LV of the volume that has the cache's metadata at its beginning. */
static bool metadata_of(const char *vg, const char *cache, char *name)
{
	char v[1][FIELD_LEN];
	const char *pool;

	snprintf(name, NAME_LEN, "%s/%s", vg, cache);
	if (!lvm_report("lvs", "pool_lv", name, v, 1) || !v[0][0])
		return false;
	pool = lvm_without_brackets(v[0]);
	snprintf(name, NAME_LEN, "%s/%s", vg, pool);
	/* A --cachevol has no metadata_lv, because it has the metadata at its own beginning. */
	if (lvm_report("lvs", "metadata_lv", name, v, 1) && v[0][0])
		snprintf(name, NAME_LEN, "%s/%s", vg, lvm_without_brackets(v[0]));
	return true;
}

/*
 * Finds the place where the volume @name begins: @pv is a physical volume, @offset bytes on
 * it.  @name changes.
 */
static bool locate(const char *vg, char *name, char *pv, uint64_t *offset)
{
	char v[2][FIELD_LEN], start[1][FIELD_LEN], *open;
	int depth;

	for (depth = 0; depth < MAX_DEPTH; depth++) {
		if (!lvm_report("lvs", "devices,vg_extent_size", name, v, 2))
			return false;
		/* LVM prints "/dev/sdb(12)", or for a mirror "fast_cmeta_rimage_0(0),...". */
		open = strchr(v[0], '(');
		if (!open)
			return false;
		*open = '\0';
		if (v[0][0] == '/')
			break;
		snprintf(name, NAME_LEN, "%s/%s", vg, lvm_without_brackets(v[0]));
	}
	if (v[0][0] != '/' || !lvm_report("pvs", "pe_start", v[0], start, 1))
		return false;
	snprintf(pv, FIELD_LEN, "%s", v[0]);
	*offset = strtoull(start[0], NULL, 10) +
		  strtoull(open + 1, NULL, 10) * strtoull(v[1], NULL, 10);
	return true;
}

/* O_DIRECT, because the page cache may have the superblock as it was an hour ago. */
static int open_directly(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	return fd < 0 && errno == EINVAL ? open(path, O_RDONLY | O_CLOEXEC) : fd;
}

static bool read_superblock(const char *pv, uint64_t offset, struct cmd_superblock **sb)
{
	char *path = root_path("%s", pv);
	int fd = open_directly(path);
	bool ok;

	free(path);
	if (fd < 0)
		return false;
	if (posix_memalign((void **)sb, sizeof(**sb), sizeof(**sb)))
		abort();
	ok = pread(fd, *sb, sizeof(**sb), offset) == sizeof(**sb);
	close(fd);
	if (!ok)
		free(*sb);
	return ok;
}

static bool has_flag(const char *vg, const char *cache)
{
	char name[NAME_LEN], pv[FIELD_LEN];
	struct cmd_superblock *sb;
	uint64_t offset;
	bool flag;

	if (!metadata_of(vg, cache, name) || !locate(vg, name, pv, &offset) ||
	    !read_superblock(pv, offset, &sb))
		return false;
	flag = le64_to_cpu(sb->magic) == CMD_SB_MAGIC &&
	       le32_to_cpu(sb->incompat_flags) & CMD_INCOMPAT_LOG;
	free(sb);
	return flag;
}

unsigned int stopped_with_log(void (*tell)(const char *name), int *code)
{
	const char *const argv[] = {
		"lvs", "-a", "--noheadings", "--separator", "|", "-o",
		"vg_name,lv_name,segtype,lv_active", NULL
	};
	char *text, *line, *save = NULL, *vg, *lv, *type;
	char name[NAME_LEN];
	unsigned int nr = 0;

	*code = 0;
	text = command_said(argv, code);
	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " ");
		vg = strsep(&line, "|");
		lv = strsep(&line, "|");
		type = strsep(&line, "|");
		/* The last field is empty, unless the volume is active. */
		if (!line || *line || strcmp(type, "cache"))
			continue;
		snprintf(name, sizeof(name), "%s/%s", vg, lvm_without_brackets(lv));
		if (!has_flag(vg, strchr(name, '/') + 1))
			continue;
		tell(name);
		nr++;
	}
	free(text);
	return nr;
}
