/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Caches of LVM's that are not active, as far as their metadata tell without activation.
 */
#ifndef HEARTH_PLUGIN_STOPPED_H
#define HEARTH_PLUGIN_STOPPED_H

/**
 * stopped_with_log() - the stopped caches that only hearth opens
 * @tell: is called with VG/LV of each one whose metadata has the flag of a write log; the
 *	name lasts until it returns
 *
 * Activates nothing: reads the superblock from the physical volume.  A cache made by
 * hand is not found, nor one whose physical volume is missing or cannot be read. Prints
 * nothing, and runs lvs and pvs.
 *
 * Return: their number; 0 as well if lvs fails.
 */
unsigned int stopped_with_log(void (*tell)(const char *name));

#endif
