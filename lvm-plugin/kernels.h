/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernels that are installed, and which dm-cache each of them would load.  It must not
 * judge what it finds.
 */
#ifndef HEARTH_PLUGIN_KERNELS_H
#define HEARTH_PLUGIN_KERNELS_H

#include <time.h>

#define RELEASE_LEN	128
/* A machine keeps a handful of kernels.  If there are more than this, the oldest are left out. */
#define MAX_KERNELS	32

enum where { NOWHERE, STOCK, OURS };

/**
 * module_of() - where the module comes from that modprobe would load
 * @release: the kernel's release, whose modules.dep is read
 * @module: the module's name, "dm-cache" say, with dashes
 *
 * Return: STOCK: the kernel's own module; OURS: a module outside of kernel/; NOWHERE: there is
 * no such module, or no such kernel.
 */
enum where module_of(const char *release, const char *module);

/**
 * module_time() - the time at which the module that modprobe would load was written
 * @release: the kernel's release
 * @module: as for module_of()
 *
 * Return: seconds since 1970; 0 if there is no such module, or stat() fails.
 */
time_t module_time(const char *release, const char *module);

/**
 * kernels_installed() - the kernels that are installed
 * @releases: receives the releases in /lib/modules that have a kernel's own modules, the
 *	oldest first; if there are more than MAX_KERNELS, the oldest are left out
 *
 * Return: how many @releases has; 0 also if the directory cannot be read.
 */
unsigned int kernels_installed(char releases[MAX_KERNELS][RELEASE_LEN]);

/**
 * kernel_default() - the kernel that starts unless the user chooses another
 * @release: receives its release: the one that grubby names, or to which Debian's link vmlinuz
 *	leads, else the last of kernels_installed(); "" if no kernel is installed
 *
 * Context: one caller at a time, because the list of releases is static.
 */
void kernel_default(char release[RELEASE_LEN]);

#endif
