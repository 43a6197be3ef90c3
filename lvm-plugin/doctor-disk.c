// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: does the SSD fail, or is it worn?  smartctl says so, if it is installed.
 *
 * It must not print, or know the kind of a disk: smart.c reads what smartctl says.
 */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "smart.h"
#include "sysfs.h"

/* Percent of the endurance that the maker rates.  Chosen: early enough to buy another SSD. */
#define WORN		90

/* The remedy says DEVICE, because nobody knows the name of the new SSD yet. */
static const char other[] =
	"'hearth replace-ssd CACHE DEVICE', where DEVICE is the SSD that takes its place";

static void judge(const struct cache_info *c, const char *disk, const struct smart *s)
{
	if (s->fails)
		found(PROBLEM, "ssd-fails", c->name, other,
		      "SMART says that %s fails", disk);
	else if (s->spare <= s->least_spare)
		found(WARNING, "ssd-spare", c->name, other,
		      "%s has %jd%% of its spare blocks left", disk, s->spare);
	else if (s->used >= WORN)
		found(WARNING, "ssd-worn", c->name, other,
		      "%s has used %jd%% of the endurance that its maker rates", disk, s->used);
}

void examine_wear(const struct cache_info *c)
{
	char disks[600], *rest = disks, *disk;
	struct smart s;

	device_disks(c->cache_device, disks, sizeof(disks));
	while ((disk = strsep(&rest, ","))) {
		if (disk[0] != '/' || !smart_read(&s, disk))
			continue;
		judge(c, disk, &s);
		free(s.text);
	}
}
