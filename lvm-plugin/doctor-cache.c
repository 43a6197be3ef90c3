// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: the checks of one cache: its health, errors, redundancy, devices, geometry
 * and policy.
 *
 * It must not print or mend: findings.c prints, doctor-fix.c mends.
 */
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "failures.h"
#include "sysfs.h"
#include "text.h"

#define MIB		(1024.0 * 1024)
#define METADATA_FULL	0.8	/* share in use; chosen, not measured: early enough to act */

static const enum counter errors[] = {
	CACHE_READ_ERRORS, CACHE_WRITE_ERRORS, ORIGIN_ERRORS, RETIRED_BLOCKS
};
#define NR_ERRORS	(sizeof(errors) / sizeof(errors[0]))

static bool has_errors(const struct cache_info *c)
{
	unsigned int i;

	for (i = 0; i < NR_ERRORS; i++)
		if (c->count[errors[i]])
			return true;
	return false;
}

void examine_status(const struct cache_info *c)
{
	char look[DM_NAME_MAX + 120];

	if (cache_understood(c))
		return;
	snprintf(look, sizeof(look),
		 "use modules and commands of one version of hearth; 'dmsetup status %s' prints what the target says",
		 c->dm->name);
	found(PROBLEM, "status-unknown", c->name, look,
	      "the target's status makes no sense, so nothing else is known of it");
}

static void examine_health(const struct cache_info *c)
{
	const struct failure *f = failure_find(c->health);
	char resume[DM_NAME_MAX + 80];

	examine_status(c);
	if (f)
		found(PROBLEM, "health", c->name, f->remedy, "%s: %s",
		      c->health, f->what);
	if (c->needs_check)
		found(PROBLEM, "needs-check", c->name,
		      "deactivate it and activate it, because LVM checks it then (before that, dirty blocks may never be written back); if that fails, " SAFE_REPAIR,
		      "the metadata is marked as needing a check");
	snprintf(resume, sizeof(resume),
		 "'dmsetup resume %s' if no command of LVM is at work on it", c->dm->name);
	/* LVM leaves a refused cache suspended, and to resume it is no help. */
	if (c->dm->suspended && !was_found("origin-refused", c->name))
		found(PROBLEM, "suspended", c->name, resume,
		      "the device is suspended, and all I/O to it waits");
	if (!strcmp(c->health, "good") && !c->needs_check &&
	    !c->dm->suspended && !has_errors(c))
		found(FINE, "health", c->name, NULL, "in good health");
}

static void examine_errors(const struct cache_info *c)
{
	unsigned int i;

	for (i = 0; i < NR_ERRORS; i++)
		if (c->count[errors[i]])
			found(WARNING, "device-errors", c->name,
			      "look at the device's SMART values and cables; replace it if there are more and more",
			      "%s: %ju since it was activated",
			      counter_names[errors[i]], c->count[errors[i]]);
}

static void examine_redundancy(const struct cache_info *c)
{
	if (!cache_writes_back(c))
		return;
	if (!is_redundant(c->cache_device))
		found(WARNING, "single-ssd", c->name,
		      "put the cache on a mirror (LVM's raid1), or 'hearth set CACHE mode=writethrough'",
		      "blocks are dirty on a cache device that is not mirrored; if the device is lost, so is their content");
	else if (!is_redundant(c->metadata))
		found(WARNING, "single-metadata", c->name,
		      "put the pool's metadata on a mirror as well",
		      "the cache device outlives the loss of a disk, but its metadata does not");
}

static void examine_devices(const struct cache_info *c)
{
	long fast = sys_number(c->cache_device, "queue/logical_block_size", 512);
	long slow = sys_number(c->origin, "queue/logical_block_size", 512);

	if (sys_number(c->cache_device, "queue/rotational", 0))
		found(WARNING, "rotational", c->name,
		      "use an SSD; if it is one, tell the kernel before the volume is activated: 'echo 0 > /sys/block/DISK/queue/rotational', where DISK is the SSD's name there",
		      "the cache device calls itself a rotating disk");
	if (sys_number(c->cache_device, "alignment_offset", 0) ||
	    sys_number(c->origin, "alignment_offset", 0))
		found(WARNING, "alignment", c->name,
		      "let partitions and volumes start at a multiple of 1 MiB",
		      "a device is not aligned to its physical blocks: every write costs a read");
	if (fast > slow)
		found(WARNING, "sector-size", c->name,
		      "use a cache device with the volume's sector size, or make the file system for the larger one",
		      "the cache device has sectors of %ld bytes and the volume of %ld: a file system made before may not mount",
		      fast, slow);
}

static void examine_geometry(const struct cache_info *c)
{
	double bytes = (double)c->metadata_total * c->metadata_block_sectors *
		       512;
	double advised = 4 * MIB + 44.0 * c->total;
	char a[SIZE_LEN], b[SIZE_LEN];

	if (share(c->metadata_used, c->metadata_total) > METADATA_FULL)
		found(WARNING, "metadata-full", c->name,
		      "detach the cache and make the pool again with a larger --poolmetadatasize",
		      "%.0f%% of the metadata device is used",
		      100 * share(c->metadata_used, c->metadata_total));
	else if (bytes && bytes < advised)
		found(NOTE, "metadata-small", c->name, NULL,
		      "the metadata device has %s; %s are advised for this number of blocks",
		      size_text(a, bytes), size_text(b, advised));
	if (cache_block_bytes(c) > MIB)
		found(NOTE, "large-blocks", c->name, NULL,
		      "blocks of %s: each promotion copies a whole block",
		      size_text(a, cache_block_bytes(c)));
}

static void examine_policy(const struct cache_info *c)
{
	static const char * const open_to_all[] = {
		"smq", "mq", "cleaner", "default"
	};
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (!strcmp(c->policy, open_to_all[i]))
			return;
	found(NOTE, "policy", c->name, NULL,
	      "with the policy %s only hearth opens this volume, not the kernel's own target",
	      c->policy);
}

void examine_cache(const struct cache_info *c)
{
	examine_health(c);
	if (c->failed_line || !cache_understood(c))
		return;
	examine_errors(c);
	examine_origin(c);
	examine_lost(c);
	examine_network(c);
	examine_redundancy(c);
	examine_devices(c);
	examine_wear(c);
	examine_geometry(c);
	examine_policy(c);
	examine_log(c);
}
