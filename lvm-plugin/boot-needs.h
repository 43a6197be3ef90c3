/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices that this machine needs to start, and to swap, by its configuration.
 */
#ifndef HEARTH_PLUGIN_BOOT_NEEDS_H
#define HEARTH_PLUGIN_BOOT_NEEDS_H

#include "cache-info.h"

#define NEED_LEN	320

/**
 * boot_needs() - does the machine need a cache to start, or to swap?
 * @c: the cache
 * @what: of NEED_LEN bytes; receives the words for what needs it, as "/home, by /etc/fstab"
 *
 * Looks at /, /usr and swap as they are now, at /etc/fstab and /etc/crypttab without what
 * is nofail or noauto there, and at the kernel's command line; and at all devices below
 * each of them.  A volume that is not active is not found, nor what stands on it; and of a
 * file system on several devices only the one that is named. Prints nothing.
 *
 * Return: false, and @what stays as it is, if nothing needs it, or a file cannot be read.
 */
bool boot_needs(const struct cache_info *c, char *what);

#endif
