/* SPDX-License-Identifier: GPL-2.0-only */
/* From the disk to the engine and back, see cache-load.c. */
#ifndef HEARTH_CACHE_LOAD_H
#define HEARTH_CACHE_LOAD_H

struct cache;
struct cache_table;

/*
 * Fill a new engine, which has its devices, its slot map and its policy, from
 * the metadata of @t; the metadata is up to date and committed then.  @before is
 * the suspended engine, or NULL; if it alone knows of dirty blocks, they must be
 * there.  No I/O runs yet.  Sleeps, takes md_lock.  Errors of the metadata,
 * -EFBIG if a dirty block does not fit any more, -EILSEQ if one of @before is
 * missing; all are logged.
 */
int cache_load(struct cache *c, struct cache_table *t, struct cache *before);

/*
 * Write what is better known after a clean stop than after a power cut: which
 * blocks are clean, hints, counters.  Suspended, with nothing in flight.
 * Sleeps, takes md_lock.  A failure is logged and worsens the health.
 */
void cache_store(struct cache *c);

#endif
