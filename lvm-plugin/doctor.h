/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of hearth doctor: what is looked at, and what can be mended.
 */
#ifndef HEARTH_PLUGIN_DOCTOR_H
#define HEARTH_PLUGIN_DOCTOR_H

#include "cache-info.h"
#include "findings.h"

/* The path of the program that LVM should run in the place of cache_repair. */
#define HEARTH_REPAIR	"/usr/sbin/hearth-cache-repair"

/*
 * Each function that examines adds what it sees by found(), and changes and prints nothing.
 * Without a file or a command that it asks, it finds less.
 */

/**
 * examine_system() - look at the machine: modules, initramfs, versions of tools, / and /boot
 * @cs: the caches that are active
 *
 * Runs lsinitramfs or lsinitrd, cache_check, lvm and lvmconfig.
 */
void examine_system(const struct caches *cs);

/**
 * examine_cache() - look at one cache, and call all those below that take one
 * @c: the cache; of one whose status line is "Fail" or "Error" only the health is looked at
 *
 * Examine_log_on_kernel() is not among these.
 */
void examine_cache(const struct cache_info *c);

/* ---- doctor-log.c: the write log ---- */

/**
 * examine_log() - which kernels would the write log keep out? If it is off: what would it bring?
 * @c: the cache
 */
void examine_log(const struct cache_info *c);

/**
 * examine_log_on_kernel() - would a kernel refuse the cache because of its write log?
 * @c: the cache
 * @release: the kernel's
 */
void examine_log_on_kernel(const struct cache_info *c, const char *release);

/* ---- doctor-origin.c: was an origin written without its cache, or is it gone? ---- */

/**
 * examine_origin() - was the origin written without its cache, or would nobody notice that?
 * @c: the cache
 */
void examine_origin(const struct cache_info *c);

/**
 * examine_lost() - is a device of the origin gone, or back under another name?
 * @c: the cache
 *
 * If one is gone, runs vgs.
 */
void examine_lost(const struct cache_info *c);

/**
 * examine_refused() - which caches has the target refused, so that they are not active?
 * @cs: the caches that are active, as caches_read() read them
 *
 * Reads the kernel's log from where it was cleared last.
 */
void examine_refused(const struct caches *cs);

/* ---- doctor-disk.c ---- */

/**
 * examine_wear() - how long will the SSD last?
 * @c: the cache
 *
 * Runs smartctl.
 */
void examine_wear(const struct cache_info *c);

/* ---- doctor-network.c ---- */

/**
 * examine_network() - does another host reach the devices?
 * @c: the cache
 *
 * A volume group is found once, whatever number of its caches is looked at. Runs vgs.
 */
void examine_network(const struct cache_info *c);

/* ---- doctor-fix.c ---- */

enum fix_id {
	FIX_DEPMOD, FIX_RELOAD, FIX_INITRAMFS_TOOLS, FIX_DRACUT, FIX_POLICY,
	FIX_REPAIR
};

/**
 * fix_of() - a repair, for fixable()
 * @id: which one
 *
 * Return: the repair, constant. Its run() runs commands or writes LVM's configuration, and
 * returns EXIT_OK, or EXIT_FAILED after a complaint.
 */
const struct fix *fix_of(enum fix_id id);

#endif
