/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name of a cache that is being taken off its volume, kept for a later run.
 */
#ifndef HEARTH_PLUGIN_LEFT_OVER_H
#define HEARTH_PLUGIN_LEFT_OVER_H

#include <libdevmapper.h>

#include "cache-info.h"
#include "lvm.h"

/**
 * struct left_over - a cache that is off its volume, or will be
 * @volume: VG/LV
 * @cache: VG/POOL, as it is called when it is off
 * @uuid: of that
 */
struct left_over {
	char volume[2 * DM_NAME_MAX];
	char cache[2 * DM_NAME_MAX];
	char uuid[FIELD_LEN];
};

/**
 * left_over_keep() - write down which cache is about to be taken off
 * @what: the subcommand
 * @name: the volume, as the user calls it; the two find it again
 * @c: the cache
 *
 * It is kept in /var/lib/hearth until left_over_forget(). Asks LVM for the UUID. Prints
 * nothing if it cannot be kept, because the command works without it.
 */
void left_over_keep(const char *what, const char *name, const struct cache_info *c);

/**
 * left_over_find() - what an earlier run has kept
 * @what: the subcommand
 * @name: the volume, as the user calls it
 * @l: receives it
 *
 * Return: false, without a complaint, if nothing was kept.
 */
bool left_over_find(const char *what, const char *name, struct left_over *l);

/**
 * left_over_forget() - the command has ended, so nothing has to be kept
 * @what: the subcommand
 * @name: the volume, as the user calls it
 */
void left_over_forget(const char *what, const char *name);

/**
 * left_over_is_off() - is the cache off its volume?
 * @l: of left_over_find()
 *
 * Asks LVM.
 *
 * Return: false as well if there is no such volume.
 */
bool left_over_is_off(const struct left_over *l);

/**
 * left_over_remove() - remove the cache, if it is there still and in no use
 * @l: of left_over_find()
 *
 * A former --cachevol is named and left.
 *
 * Return: EXIT_OK, or EXIT_FAILED if lvremove failed, which complains itself.
 */
int left_over_remove(const struct left_over *l);

#endif
