/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernels that are installed, and which dm-cache each of them would load.
 */
#ifndef HEARTH_PLUGIN_KERNELS_H
#define HEARTH_PLUGIN_KERNELS_H

#include <time.h>

#define RELEASE_LEN	128
/* A machine keeps a handful; those above are not looked at. */
#define MAX_KERNELS	32

enum where { NOWHERE, STOCK, OURS };

/**
 * module_of() - which module of a name modprobe would load
 * @release: the kernel's; its modules.dep is read
 * @module: "dm-cache", with dashes
 *
 * Return: STOCK: the kernel's own; OURS: one from outside of kernel/; NOWHERE: there is none,
 * or no such kernel.
 */
enum where module_of(const char *release, const char *module);

/**
 * module_time() - when the module that modprobe would load was written
 * @release: the kernel's
 * @module: as for module_of()
 *
 * Return: seconds since 1970; 0 if there is no such module, or if it cannot be looked at.
 */
time_t module_time(const char *release, const char *module);

/**
 * kernels_installed() - the kernels that are installed
 * @releases: receives the releases in /lib/modules that have a kernel's own modules, the
 *	oldest first; those past MAX_KERNELS are left out
 *
 * Return: how many they are; 0 as well if the directory cannot be read.
 */
unsigned int kernels_installed(char releases[MAX_KERNELS][RELEASE_LEN]);

/**
 * kernel_default() - the kernel that starts unless another one is chosen
 * @release: receives what grubby says, or where Debian's link vmlinuz leads, else the newest
 *	release; "" if no kernel is installed
 *
 * Context: one caller at a time, because the list of releases is static.
 */
void kernel_default(char release[RELEASE_LEN]);

#endif
