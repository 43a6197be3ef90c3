// SPDX-License-Identifier: GPL-2.0-only
/*
 * What /sys says of block devices, and of the devices that they are made of.
 *
 * It must not know caches.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sysfs.h"

#define MAX_DEPTH	16	/* of devices on devices; ends a loop. Chosen */

static void path_of(char *path, size_t len, struct device d, const char *file)
{
	snprintf(path, len, "%s/sys/dev/block/%u:%u/%s", dm_root(), d.major,
		 d.minor, file);
}

static bool has(struct device d, const char *file)
{
	char path[400];

	path_of(path, sizeof(path), d, file);
	return !access(path, F_OK);
}

static bool read_text(struct device d, const char *file, char *text, int len)
{
	char path[400];
	FILE *f;
	bool ok;

	path_of(path, sizeof(path), d, file);
	f = fopen(path, "r");
	if (!f)
		return false;
	ok = fgets(text, len, f);
	fclose(f);
	return ok;
}

long sys_number(struct device d, const char *file, long otherwise)
{
	char text[64], up[64];
	long n;

	/* A partition has no queue/; its disk has. */
	snprintf(up, sizeof(up), "../%s", file);
	if (!read_text(d, file, text, sizeof(text)) &&
	    !read_text(d, up, text, sizeof(text)))
		return otherwise;
	return sscanf(text, "%ld", &n) == 1 ? n : otherwise;
}

/* LVM's mirrors and RAID, or one of md. */
static bool is_mirrored(struct device d)
{
	char name[256];

	if (has(d, "md"))
		return true;
	return read_text(d, "dm/name", name, sizeof(name)) &&
	       (strstr(name, "_rimage_") || strstr(name, "_mimage_"));
}

/* The disk that a partition is a part of; otherwise the device itself. */
static struct device disk_of(struct device d)
{
	struct device disk;
	char text[32];

	if (has(d, "partition") &&
	    read_text(d, "../dev", text, sizeof(text)) &&
	    sscanf(text, "%u:%u", &disk.major, &disk.minor) == 2)
		return disk;
	return d;
}

static bool is_same(struct device d, struct device wanted)
{
	return d.major == wanted.major && d.minor == wanted.minor;
}

static bool matches(struct device d, const struct device *wanted, bool by_disk)
{
	if (!wanted)
		return is_mirrored(d);
	return is_same(by_disk ? disk_of(d) : d, *wanted);
}

/* Does @d match, or a device below it, @depth levels down?  NULL: is it a mirror? */
static bool search(struct device d, const struct device *wanted, bool by_disk,
		   int depth)
{
	struct dirent *e;
	struct device s;
	char path[400];
	bool hit = false;
	char text[32];
	DIR *dir;

	if (matches(d, wanted, by_disk))
		return true;
	path_of(path, sizeof(path), d, "slaves");
	dir = depth ? opendir(path) : NULL;
	while (dir && !hit && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "slaves/%s/dev", e->d_name);
		if (e->d_name[0] != '.' &&
		    read_text(d, path, text, sizeof(text)) &&
		    sscanf(text, "%u:%u", &s.major, &s.minor) == 2)
			hit = search(s, wanted, by_disk, depth - 1);
	}
	if (dir)
		closedir(dir);
	return hit;
}

bool stands_on(struct device d, struct device wanted)
{
	return search(d, &wanted, false, MAX_DEPTH);
}

bool is_on_mirror(struct device d)
{
	return search(d, NULL, false, MAX_DEPTH);
}

bool shares_disk(struct device d, struct device other)
{
	other = disk_of(other);
	return search(d, &other, true, MAX_DEPTH);
}

const char *kernel_release(void)
{
	static struct utsname u;

	uname(&u);
	return u.release;
}
