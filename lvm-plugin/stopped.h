/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Caches of LVM's that are not active: their metadata, read without activation.  It must not
 * write.
 */
#ifndef HEARTH_PLUGIN_STOPPED_H
#define HEARTH_PLUGIN_STOPPED_H

/**
 * stopped_with_log() - find the stopped caches whose write log is in use
 * @tell: is called with VG/LV of each cache whose metadata has the flag of a write log; the
 *	name lasts until it returns
 * @code: receives the exit status of lvs; 0 also if there is no lvs, because then there are no
 *	caches of LVM's. If lvs fails, it may have left caches out
 *
 * Activates nothing, because it reads the superblock from the physical volume. It does not find
 * a cache made by hand, or a cache whose physical volume is missing or cannot be read. Prints
 * nothing. Runs lvs and pvs.
 *
 * Return: the number of these caches.
 */
unsigned int stopped_with_log(void (*tell)(const char *name), int *code);

#endif
