/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name of a cache that uncache or split is taking off its volume, kept for a later run.
 */
#ifndef HEARTH_PLUGIN_LEFT_OVER_H
#define HEARTH_PLUGIN_LEFT_OVER_H

#include <libdevmapper.h>

#include "cache-info.h"
#include "lvm.h"

/**
 * struct left_over - a cache that is off its volume, or will be
 * @volume: VG/LV of the volume
 * @cache: VG/POOL, the name that the cache has when it is off
 * @uuid: the UUID of that pool, or of that volume
 */
struct left_over {
	char volume[2 * DM_NAME_MAX];
	char cache[2 * DM_NAME_MAX];
	char uuid[FIELD_LEN];
};

/**
 * left_over_keep() - write down which cache is about to be taken off
 * @what: the subcommand
 * @name: the volume, as the user calls it; left_over_find() finds it by the same two words
 * @c: the cache
 *
 * Asks LVM for the UUID. A file in /var/lib/hearth keeps it until left_over_forget(). If the
 * file cannot be written, this prints nothing, because the command works without it.
 */
void left_over_keep(const char *what, const char *name, const struct cache_info *c);

/**
 * left_over_find() - read the name that an earlier run has kept
 * @what: the subcommand
 * @name: the volume, as the user calls it
 * @l: receives it
 *
 * Return: true; false, without a complaint, if nothing was kept.
 */
bool left_over_find(const char *what, const char *name, struct left_over *l);

/**
 * left_over_forget() - remove the file, because the command has ended
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
 * Return: true if so; false also if there is no such volume.
 */
bool left_over_is_off(const struct left_over *l);

/**
 * left_over_remove() - remove the pool, if it is still there and no volume uses it
 * @l: of left_over_find()
 *
 * A former --cachevol is not removed; this names it on stderr.
 *
 * Return: EXIT_OK; EXIT_FAILED if lvremove has failed, which complains itself.
 */
int left_over_remove(const struct left_over *l);

#endif
