/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernels that are installed, and which dm-cache each of them would load.
 */
#ifndef HEARTH_PLUGIN_KERNELS_H
#define HEARTH_PLUGIN_KERNELS_H

#define RELEASE_LEN	128
/* A machine keeps a handful; those above are not looked at. */
#define MAX_KERNELS	32

enum where { NOWHERE, STOCK, OURS };

/* The kind of @module that modprobe would load with the kernel @release. */
enum where module_of(const char *release, const char *module);

/* The releases in /lib/modules that have a kernel's own modules, the oldest first. */
unsigned int kernels_installed(char releases[MAX_KERNELS][RELEASE_LEN]);

/*
 * The release that starts unless another one is chosen: what grubby says, or where
 * Debian's link vmlinuz leads, else the newest.  "" if no kernel is installed.
 */
void kernel_default(char release[RELEASE_LEN]);

#endif
