// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: caches whose origin was written without them, or has lost a device.
 *
 * For an active cache, the target and the tables tell.  A cache that the target has
 * refused runs nowhere, so this file looks for it in the kernel's log.
 *
 * It must not print or mend: findings.c prints, doctor-fix.c mends.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "kernel-log.h"
#include "lost.h"
#include "lvm.h"

void examine_origin(const struct cache_info *c)
{
	const char *check = cache_setting(c->settings, c->nr_settings,
					  "origin_check");

	if (!strcmp(c->origin_state, "changed"))
		found(WARNING, "origin-changed", c->name,
		      "find out what wrote to the origin's disk: another host, a rescue system, an array that went back to a snapshot; the next activation ends this finding",
		      "the origin was written without the cache, which began empty");
	else if (check && !strcmp(check, "0"))
		found(NOTE, "origin-unchecked", c->name, NULL,
		      "origin_check is 0: nobody would notice that the origin was written without the cache");
}

/* ---- Gone ---- */

/* Does LVM find all devices of the volume group? */
static bool is_complete(const char *vg)
{
	char v[1][FIELD_LEN];

	return lvm_report("vgs", "vg_missing_pv_count", vg, v, 1) && !strcmp(v[0], "0");
}

void examine_lost(const struct cache_info *c)
{
	struct device lost;

	if (!lost_below(c->origin, &lost))
		return;
	if (c->vg[0] && is_complete(c->vg))
		found(PROBLEM, "origin-renamed", c->name, "'lvchange --refresh CACHE'",
		      "device %u:%u of the origin is gone, and LVM finds all devices of the volume group: it came back under another name, and misses still go to the old one",
		      lost.major, lost.minor);
	else
		found(PROBLEM, "origin-gone", c->name,
		      "bring it back; if it has another name then, 'lvchange --refresh CACHE'",
		      "device %u:%u of the origin is gone: hits go on, and misses fail or wait",
		      lost.major, lost.minor);
}

/* ---- Refused ---- */

/* @name becomes VG/LV if LVM has such a volume, else the device-mapper name itself. */
static void name_volume(const char *dm_name, char *name, size_t len)
{
	struct cache_info c = { 0 };
	char type[64], active[16];

	cache_set_name(&c, dm_name, "LVM-");
	if (!c.vg[0] || lvm_volume(c.name, type, sizeof(type), active,
				   sizeof(active)))
		snprintf(name, len, "%s", dm_name);
	else
		snprintf(name, len, "%s", c.name);
}

static const struct dm_device *find_device(const struct caches *cs, const char *dm_name)
{
	unsigned int i;

	for (i = 0; i < cs->nr; i++)
		if (!strcmp(cs->devices[i].name, dm_name))
			return &cs->devices[i];
	return NULL;
}

/* Looks whether a line of the kernel's log says that the target has refused a cache. */
static void examine_line(void *ctx, char *line)
{
	static const char target[] = "device-mapper: cache: ";
	char *name = strstr(line, target), volume[2 * DM_NAME_MAX];
	const struct caches *cs = ctx;
	const struct dm_device *d;

	if (!name)
		return;
	name += strlen(target);
	if (!strstr(name, ": refused, until 'hearth origin'"))
		return;
	*strstr(name, ": ") = '\0';
	d = find_device(cs, name);
	if (d && !d->suspended)
		return;
	/* LVM leaves the device behind, suspended, if the refused volume has a snapshot. */
	name_volume(name, volume, sizeof(volume));
	if (d && (!strchr(volume, '/') || lvm_has_table(volume)))
		return;
	if (was_found("origin-refused", volume))
		return;
	found(PROBLEM, "origin-refused", volume,
	      "'hearth origin CACHE --keep origin' after a restore or a roll-back of the disk, 'hearth origin CACHE --keep cache' if the cache has what is wanted (hearth(8))",
	      "it was refused, because the origin was written without the cache, and the cache has what the origin has not");
}

void examine_refused(const struct caches *cs)
{
	/* The administrator has read the lines from before the last "dmesg --clear". */
	int fd = kernel_log_open(SEEK_DATA);

	if (fd < 0)
		return;
	kernel_log_read(fd, examine_line, (void *)cs);
	close(fd);
}
