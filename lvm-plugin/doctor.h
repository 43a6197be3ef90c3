/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of hearth doctor: functions that examine, and repairs.  doctor.c calls them; it
 * alone prints and asks.
 */
#ifndef HEARTH_PLUGIN_DOCTOR_H
#define HEARTH_PLUGIN_DOCTOR_H

#include "cache-info.h"
#include "findings.h"

/* The path of the program that LVM should run in the place of cache_repair. */
#define HEARTH_REPAIR	"/usr/sbin/hearth-cache-repair"

/*
 * Each function that examines adds its findings by found(), and changes and prints nothing.
 * If a file or a command that it asks is missing, it finds less.
 */

/**
 * examine_system() - look at the machine: modules, initramfs, versions of tools, / and /boot
 * @cs: the caches that are active
 *
 * Runs lsinitramfs or lsinitrd, cache_check, lvm and lvmconfig.
 */
void examine_system(const struct caches *cs);

/**
 * examine_cache() - look at one cache, by all checks of doctor-cache.c and those below
 * @c: the cache; if its status line is "Fail" or "Error", or makes no sense, only its health is
 *	looked at
 *
 * The checks below that belong to it are examine_log(), examine_origin(), examine_lost(),
 * examine_wear() and examine_network().
 */
void examine_cache(const struct cache_info *c);

/**
 * examine_status() - does the target's status make sense?
 * @c: the cache
 */
void examine_status(const struct cache_info *c);

/* ---- doctor-log.c: the write log ---- */

/**
 * examine_log() - which installed kernels refuse the cache because of its write log? If the
 *	log is off: would it make writes faster?
 * @c: the cache
 */
void examine_log(const struct cache_info *c);

/**
 * examine_log_on_kernel() - would a kernel refuse the cache because of its write log?
 * @c: the cache
 * @release: the kernel's release, as of uname -r
 */
void examine_log_on_kernel(const struct cache_info *c, const char *release);

/* ---- doctor-origin.c: has the origin been written without its cache, or is it gone? ---- */

/**
 * examine_origin() - was the origin written without its cache, or does nothing check that?
 * @c: the cache
 */
void examine_origin(const struct cache_info *c);

/**
 * examine_lost() - is a device of the origin gone, or back under another name?
 * @c: the cache
 *
 * Runs vgs if a device of the origin is gone and the cache is LVM's.
 */
void examine_lost(const struct cache_info *c);

/**
 * examine_refused() - which caches has the target refused, so that they are not active?
 * @cs: the caches that are active, as caches_read() read them
 *
 * Reads the kernel's log since "dmesg --clear", and runs lvs for each cache that it finds there.
 */
void examine_refused(const struct caches *cs);

/* ---- doctor-disk.c ---- */

/**
 * examine_wear() - does the SSD fail, or has it little endurance or few spare blocks left?
 * @c: the cache
 *
 * Runs smartctl.
 */
void examine_wear(const struct cache_info *c);

/* ---- doctor-network.c ---- */

/**
 * examine_network() - are data at risk because a device of the cache is reached by a network?
 * @c: the cache
 *
 * The finding of a volume group is added once, for the first of its caches. Runs vgs.
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
 * returns EXIT_OK; or EXIT_FAILED after a complaint.
 */
const struct fix *fix_of(enum fix_id id);

#endif
