// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checks of the device for a new cache.  hearth replace-ssd makes all of them before it
 * takes the old cache off, and hearth cache before it makes a pool.
 *
 * It must not change anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hearth.h"
#include "lvm.h"
#include "replace.h"
#include "sysfs.h"
#include "text.h"

#define MIB		1048576.0
#define MAX_NESTING	4	/* levels of LVM's hidden volumes */

static bool find(const char *path, struct device *d)
{
	uint64_t bytes;

	return !dm_block_device(path, &d->major, &d->minor, &bytes);
}

bool same_device(const char *a, const char *b)
{
	struct device x, y;

	if (!strcmp(a, b))
		return true;
	return find(a, &x) && find(b, &y) && x.major == y.major &&
	       x.minor == y.minor;
}

static int refuse(const struct new_device *n, const char *why)
{
	complain("%s: %s", n->path, why);
	return EXIT_FAILED;
}

/* ---- Is it the origin's own disk? ---- */

/*
 * Is the volume or device @name on the disk @new?  @name is a path, or the name of one of
 * LVM's hidden volumes, as in LVM's list of devices.
 */
static bool is_below(const struct new_device *n, const char *name,
		     struct device new, int depth)
{
	char volume[2 * FIELD_LEN], *parts, *rest, *part;
	struct device d;
	bool hit = false;

	if (name[0] == '/')
		return find(name, &d) && shares_disk(d, new);
	snprintf(volume, sizeof(volume), "%s/%s", n->vg, name);
	parts = rest = depth ? lvm_devices(volume) : NULL;
	while (!hit && (part = strsep(&rest, ",")))
		hit = is_below(n, part, new, depth - 1);
	free(parts);
	return hit;
}

static bool carries_origin(const struct new_device *n, struct device new)
{
	if (n->cache && shares_disk(n->cache->origin, new))
		return true;
	return n->origin[0] && is_below(n, n->origin, new, MAX_NESTING);
}

/* ---- Is it free? ---- */

/* Finds the type of the first signature on a device, by wipefs.  False if there is none. */
static bool signature(const char *path, char *type, size_t len)
{
	const char *const argv[] = {
		"wipefs", "--no-act", "--noheadings", "--output", "TYPE",
		"--", path, NULL
	};

	return !command_output(argv, type, len) && type[0];
}

/* Refuses a device of another volume group, in use, or with content. */
static int check_free(const struct new_device *n)
{
	char v[1][FIELD_LEN], type[64];
	bool is_pv = lvm_report("pvs", "vg_name", n->path, v, 1);
	int r;

	if (is_pv && !strcmp(v[0], n->vg))
		return EXIT_OK;
	if (is_pv && v[0][0]) {
		complain("%s: it belongs to the volume group %s", n->path,
			 v[0]);
		return EXIT_FAILED;
	}
	r = dm_unclaimed(n->path);
	if (r == -EBUSY)
		return refuse(n, "it is in use: mounted, or a part of another device");
	if (r)
		return refuse(n, strerror(-r));
	if (!is_pv && signature(n->path, type, sizeof(type))) {
		complain("%s: it holds something already (%s); if that is not needed any longer, 'wipefs -a %s' clears it",
			 n->path, type, n->path);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* ---- Is it large enough? ---- */

double new_device_room(const struct new_device *n)
{
	char v[2][FIELD_LEN];
	uint32_t major, minor;
	uint64_t bytes;

	if (lvm_report("pvs", "vg_name,pv_free", n->path, v, 2) && v[0][0])
		return strcmp(v[0], n->vg) ? 0 : strtod(v[1], NULL);
	if (dm_block_device(n->path, &major, &minor, &bytes))
		return 0;
	/* LVM keeps the first MiB of a physical volume for itself. */
	return bytes > MIB ? bytes - MIB : 0;
}

int new_device_check_room(const struct new_device *n)
{
	char a[SIZE_LEN], b[SIZE_LEN];
	double have = new_device_room(n);

	if (have >= n->need)
		return EXIT_OK;
	complain("%s: %s is free for this volume group, and the cache needs %s; --size makes it smaller",
		 n->path, size_text(a, have), size_text(b, n->need));
	return EXIT_FAILED;
}

/* ---- All checks ---- */

int new_device_check(const struct new_device *n)
{
	struct device new;
	uint64_t bytes;
	int r = dm_block_device(n->path, &new.major, &new.minor, &bytes);

	if (r)
		return refuse(n, strerror(-r));
	if (!n->force && carries_origin(n, new))
		return refuse(n, "the volume itself is on this disk, which a cache would only make slower; --force takes it all the same");
	if (!n->force && sys_number(new, "queue/rotational", 0))
		return refuse(n, "the kernel takes it for a rotating disk; if it is none, use --force");
	return check_free(n) ?: new_device_check_room(n);
}
