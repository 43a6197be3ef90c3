/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What hearth doctor finds, and who looks.
 */
#ifndef HEARTH_FINDINGS_H
#define HEARTH_FINDINGS_H

#include "cache.h"

enum level {
	FINE,		/* looked at, and in order */
	NOTE,		/* worth knowing; nothing to do */
	WARNING,	/* may hurt some day */
	PROBLEM,	/* hurts now, or will at the next start */
};

/*
 * @id stays the same from version to version; @subject is a cache or "system".
 * @remedy is NULL for FINE and NOTE, maybe; CACHE in it stands for @subject.
 */
__attribute__((format(printf, 5, 6)))
void found(enum level level, const char *id, const char *subject,
	   const char *remedy, const char *format, ...);

/* What --fix can do; doctor-fix.c. */
enum fix_id {
	FIX_NONE, FIX_DEPMOD, FIX_RELOAD, FIX_INITRAMFS_TOOLS, FIX_DRACUT,
	FIX_POLICY, FIX_REPAIR
};

struct fix {
	const char *what;	/* as it is shown and asked for */
	int (*run)(const char *subject);	/* an exit code */
};

bool any_finding(enum level least);
/* What was found of that level and worse, the worst first. */
void print_findings(enum level least);
void json_findings(const char *key, enum level least);

const struct fix *fix_of(enum fix_id id);

/* --fix may do this about what was found last. */
void fixable(enum fix_id fix);

/* What LVM should run in the place of cache_repair: hearth-metadata(8). */
#define HEARTH_REPAIR	"/usr/sbin/hearth-cache-repair"

const char *kernel_release(void);	/* of the running one */

void examine_system(const struct caches *cs);
void examine_cache(const struct cache *c);

/* /sys/dev/block/MAJOR:MINOR/@file as a number; @otherwise if there is none. */
long sys_number(struct device d, const char *file, long otherwise);
/* Is @wanted @d itself or below it?  With NULL: is something mirrored below? */
bool stands_on(struct device d, const struct device *wanted);
/* Is @d, or something below it, on the disk that @other is, or is a part of? */
bool shares_disk(struct device d, struct device other);

#endif
