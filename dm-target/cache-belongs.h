/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine acts on what the origin check has found: see cache-belongs.c. */
#ifndef HEARTH_CACHE_BELONGS_H
#define HEARTH_CACHE_BELONGS_H

#include <linux/types.h>

struct cache;
struct cache_table;

/**
 * cache_forget_slot() - unmap a slot before the cache runs
 * @c: the engine, loaded from disk; no I/O runs
 * @slot: the slot, VALID
 *
 * The next commit of the metadata makes that durable.
 *
 * Context: process, under md.lock; may sleep.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_forget_slot(struct cache *c, u32 slot);

/**
 * cache_check_origin() - before the first hit: was the origin written without the cache?
 * @c: the engine, loaded from disk; no I/O runs
 * @t: its table
 * @before: the engine that was suspended before, or NULL
 *
 * If it was, the mapping is emptied, or the administrator's answer is followed, or the
 * table is refused.  The next commit of the metadata makes a change durable.
 *
 * Context: process, under md.lock; sleeps, reads both devices.
 *
 * Return: 0; -ESTALE if the cache may be newer, and nobody has said which is right; or
 * an error of the metadata.
 */
int cache_check_origin(struct cache *c, struct cache_table *t, struct cache *before);

#endif
