/* SPDX-License-Identifier: GPL-2.0-only */
/* Acts on what the origin check found, see cache-belongs.c. */
#ifndef HEARTH_CACHE_BELONGS_H
#define HEARTH_CACHE_BELONGS_H

#include <linux/types.h>

struct cache;
struct cache_table;

/**
 * cache_forget_slot() - a block leaves the cache before it runs
 * @c: loaded from disk; no I/O runs
 * @slot: VALID
 *
 * Durable when the metadata is committed next.  Context: process, holds md.lock.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_forget_slot(struct cache *c, u32 slot);

/**
 * cache_check_origin() - before the first hit: is this the origin that was left?
 * @c: loaded from disk; no I/O runs
 * @t: its table
 * @before: the suspended engine, or NULL
 *
 * If it is not, the mapping is emptied, durably when the metadata is committed next,
 * or the table is refused.  Context: process, sleeps, reads both devices; holds
 * md.lock.
 *
 * Return: 0; -ESTALE if something would be lost; or an error of the metadata.
 */
int cache_check_origin(struct cache *c, struct cache_table *t, struct cache *before);

#endif
