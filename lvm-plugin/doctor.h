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

/* Look at the machine, and at one cache; each calls found(). */
void examine_system(const struct caches *cs);
void examine_cache(const struct cache_info *c);
/* A part of the latter, in doctor-log.c: the write log. */
void examine_log(const struct cache_info *c);
/* Would the kernel @release refuse the cache because of its log? */
void examine_log_on_kernel(const struct cache_info *c, const char *release);

/* ---- doctor-origin.c: was an origin written without its cache, or is it gone? ---- */

void examine_origin(const struct cache_info *c);
/* Is a device of the origin gone, or back under another name? */
void examine_lost(const struct cache_info *c);
/* The caches that the target has refused, and that are not active. */
void examine_refused(const struct caches *cs);

/* ---- doctor-disk.c: how long will the SSD last? ---- */

void examine_wear(const struct cache_info *c);

/* ---- doctor-network.c: does another host reach the devices? ---- */

void examine_network(const struct cache_info *c);

/* ---- doctor-fix.c ---- */

enum fix_id {
	FIX_DEPMOD, FIX_RELOAD, FIX_INITRAMFS_TOOLS, FIX_DRACUT, FIX_POLICY,
	FIX_REPAIR
};

const struct fix *fix_of(enum fix_id id);

#endif
