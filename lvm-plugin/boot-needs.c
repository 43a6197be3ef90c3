// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the machine need a cache to start?  If / or a volume of fstab is on a cache that only
 * hearth opens, the machine does not start with a kernel that has no hearth.
 *
 * It owns the list of the places where the system's configuration names devices.  It must
 * not know what follows from the answer, and changes nothing.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot-needs.h"
#include "sysfs.h"
#include "util.h"

/* The cache that is looked for, and room for the words if something needs it. */
struct search {
	struct device cache;
	char *what;
};

/* ---- From a name to a device ---- */

/* Encodes a name as udev does for its links.  Bytes outside of ASCII stay as they are. */
static void encode(const char *from, char *to, size_t len)
{
	static const char plain[] = "#+-.:=@_";
	size_t n = 0;

	for (; *from && n + 5 < len; from++) {
		if (isalnum((unsigned char)*from) || (unsigned char)*from >= 0x80 ||
		    strchr(plain, *from))
			to[n++] = *from;
		else
			n += sprintf(to + n, "\\x%02x", (unsigned char)*from);
	}
	to[n] = '\0';
}

/* "LABEL=x" and the like become the path of udev's link.  Any other name stays as it is. */
static void path_of_tag(const char *name, char *path, size_t len)
{
	static const char * const tags[][2] = {
		{ "UUID=", "uuid" }, { "LABEL=", "label" },
		{ "PARTUUID=", "partuuid" }, { "PARTLABEL=", "partlabel" },
	};
	char value[256], link[512];
	size_t i, n;

	snprintf(path, len, "%s", name);
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		n = strlen(tags[i][0]);
		if (strncmp(name, tags[i][0], n))
			continue;
		n += name[n] == '"';
		snprintf(value, sizeof(value), "%s", name + n);
		value[strcspn(value, "\"")] = '\0';
		encode(value, link, sizeof(link));
		snprintf(path, len, "/dev/disk/by-%s/%s", tags[i][1], link);
		return;
	}
}

static FILE *open_table(const char *path)
{
	char *name = root_path("%s", path);
	FILE *f = setmntent(name, "re");

	free(name);
	return f;
}

/* The length of @dir if @path is that directory or below it, else 0. */
static size_t is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1 && path[0] == '/')
		return 1;
	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/') ? len : 0;
}

/* The device of the file system that holds the file @path. */
static bool device_of_file(const char *path, struct device *d)
{
	char source[PATH_MAX] = "", line[2 * PATH_MAX];
	FILE *f = open_table("/proc/self/mounts");
	size_t longest = 0, len;
	struct mntent m;
	uint64_t bytes;

	/* The caller goes through a table by getmntent(), which has one buffer for all. */
	while (f && getmntent_r(f, &m, line, sizeof(line))) {
		len = is_below(path, m.mnt_dir);
		/* A later mount on the same directory lies on top. */
		if (!len || len < longest)
			continue;
		longest = len;
		snprintf(source, sizeof(source), "%s", m.mnt_fsname);
	}
	if (f)
		endmntent(f);
	return source[0] == '/' &&
	       !dm_block_device(source, &d->major, &d->minor, &bytes);
}

static bool device_of(const char *name, struct device *d)
{
	char path[PATH_MAX];
	uint64_t bytes;
	int r;

	path_of_tag(name, path, sizeof(path));
	if (path[0] != '/')
		return false;
	r = dm_block_device(path, &d->major, &d->minor, &bytes);
	/* If the path is no block device, it may be a swap file, or the source of a bind mount. */
	return !r || (r == -ENOTBLK && device_of_file(path, d));
}

/* True if the device @name is the cache, or stands on it.  The words become @what then. */
__attribute__((format(printf, 3, 4)))
static bool stands_here(const struct search *s, const char *name, const char *what, ...)
{
	struct device d;
	va_list ap;

	if (!device_of(name, &d) || !stands_on(d, s->cache))
		return false;
	va_start(ap, what);
	vsnprintf(s->what, NEED_LEN, what, ap);
	va_end(ap);
	return true;
}

/* ---- As it is now ---- */

/* The initramfs mounts these two. */
static bool is_mounted_early(const char *dir)
{
	return !strcmp(dir, "/") || !strcmp(dir, "/usr");
}

static bool mount_needs(const struct search *s, const struct mntent *m)
{
	return is_mounted_early(m->mnt_dir) &&
	       stands_here(s, m->mnt_fsname, "%s", m->mnt_dir);
}

/* The first line of /proc/swaps has titles, which name no device. */
static bool swap_needs(const struct search *s, const struct mntent *m)
{
	return stands_here(s, m->mnt_fsname, "swap");
}

/* ---- As it is configured ---- */

static bool must_be_there(const struct mntent *m)
{
	return !hasmntopt(m, "nofail") && !hasmntopt(m, "noauto");
}

static bool fstab_needs(const struct search *s, const struct mntent *m)
{
	return must_be_there(m) &&
	       stands_here(s, m->mnt_fsname, "%s, by /etc/fstab",
			   strcmp(m->mnt_type, "swap") ? m->mnt_dir : "swap");
}

/*
 * A line of crypttab has name, device, key and options.  So getmntent() takes the device for
 * a directory, and finds the options where fstab has them.
 */
static bool crypttab_needs(const struct search *s, const struct mntent *m)
{
	return must_be_there(m) &&
	       stands_here(s, m->mnt_dir, "%s, by /etc/crypttab", m->mnt_fsname);
}

/* Does a line of the table @path need the cache?  The table may be missing. */
static bool table_needs(const struct search *s, const char *path,
			bool (*needs)(const struct search *s, const struct mntent *m))
{
	FILE *f = open_table(path);
	struct mntent *m;
	bool hit = false;

	while (f && !hit && (m = getmntent(f)))
		hit = needs(s, m);
	if (f)
		endmntent(f);
	return hit;
}

/* The words that name devices for the kernel, initramfs-tools and dracut. */
static bool word_needs(const struct search *s, const char *word)
{
	static const char * const keys[] = { "root=", "resume=", "mount.usr=", "rd.lvm.lv=" };
	char path[PATH_MAX];
	size_t i, n;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		n = strlen(keys[i]);
		if (strncmp(word, keys[i], n))
			continue;
		/* The value of rd.lvm.lv is VG/LV. */
		snprintf(path, sizeof(path), "%s%s", i == 3 ? "/dev/" : "", word + n);
		return stands_here(s, path, "the kernel's command line (%s)", word);
	}
	return false;
}

static bool command_line_needs(const struct search *s)
{
	char line[4096], *word, *save = NULL;
	FILE *f = root_open("/proc/cmdline");
	bool hit = false;

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	for (word = strtok_r(line, " \n", &save); word && !hit;
	     word = strtok_r(NULL, " \n", &save))
		hit = word_needs(s, word);
	return hit;
}

bool boot_needs(const struct cache_info *c, char *what)
{
	const struct search s = {
		.cache = { c->dm->major, c->dm->minor }, .what = what,
	};

	return table_needs(&s, "/proc/self/mounts", mount_needs) ||
	       table_needs(&s, "/etc/fstab", fstab_needs) ||
	       table_needs(&s, "/proc/swaps", swap_needs) ||
	       table_needs(&s, "/etc/crypttab", crypttab_needs) ||
	       command_line_needs(&s);
}
