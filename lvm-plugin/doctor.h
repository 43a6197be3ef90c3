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

/* ---- doctor-fix.c ---- */

enum fix_id {
	FIX_DEPMOD, FIX_RELOAD, FIX_INITRAMFS_TOOLS, FIX_DRACUT, FIX_POLICY,
	FIX_REPAIR
};

const struct fix *fix_of(enum fix_id id);

#endif
