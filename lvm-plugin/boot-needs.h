/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices that this machine needs to start and to swap.  It must not know what follows
 * from the answer.
 */
#ifndef HEARTH_PLUGIN_BOOT_NEEDS_H
#define HEARTH_PLUGIN_BOOT_NEEDS_H

#include "cache-info.h"

#define NEED_LEN	320

/**
 * boot_needs() - does the machine need a cache to start, or to swap?
 * @c: the cache
 * @what: of NEED_LEN bytes; receives words for the user of the cache, as
 *	"/home, by /etc/fstab"
 *
 * Looks at /, /usr and swap as they are now, at the lines of /etc/fstab and /etc/crypttab that
 * have neither nofail nor noauto, and at the kernel's command line. It follows each device
 * there down to the devices below it. It does not find a cache below a volume that is not
 * active. If a file system is on several devices, it looks at the device that the line names,
 * and at no other. Prints nothing.
 *
 * Return: true if so; false, and @what stays as it is, if nothing needs the cache, or a file
 * cannot be read.
 */
bool boot_needs(const struct cache_info *c, char *what);

#endif
