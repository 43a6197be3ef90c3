/* SPDX-License-Identifier: GPL-2.0-only */
/* The write log from the disk, and its stop: see cache-log-load.c. */
#ifndef HEARTH_CACHE_LOG_LOAD_H
#define HEARTH_CACHE_LOG_LOAD_H

#include <linux/types.h>

struct cache;

/**
 * cache_log_open() - read header and ring, because the metadata has the log's flag
 * @c: an engine that is being brought up; has no log
 * @nr_slots: the slots of the cache device, as the superblock has them
 *
 * Context: process, under md.lock; sleeps, does I/O.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_open(struct cache *c, u32 nr_slots);

/**
 * cache_log_fit() - make the log fit the size of the cache device
 * @c: the engine; cache_log_open() has just opened its log
 * @nr_slots: the slots that the cache device has now
 *
 * To be called before the metadata has the new size.
 *
 * Context: process, under md.lock; sleeps, does I/O.
 *
 * Return: 0; -EFBIG if the cache device is smaller; or an error of the device.  It has
 * logged the error.
 */
int cache_log_fit(struct cache *c, u32 nr_slots);

/**
 * cache_log_nr_blocks() - how many blocks have something in the log
 * @c: the engine; it may have no log
 *
 * Context: any.
 */
u64 cache_log_nr_blocks(const struct cache *c);

/**
 * cache_log_give_up() - forget all that the log has
 * @c: an engine that is being brought up; it may have no log, and has none afterwards
 *
 * The next commit clears the flag.  Without the flag nothing believes the ring.
 *
 * Context: process, under md.lock; sleeps.
 *
 * Return: 0 or an error of the metadata.
 */
int cache_log_give_up(struct cache *c);

/**
 * cache_log_check_mapping() - does a mapping on the disk agree with the log?
 * @c: an engine that is being brought up; it may have no log
 * @slot: the slot that is mapped
 * @block: its block
 *
 * Context: process, does not sleep; no I/O runs.
 *
 * Return: 0; 1 if the log has some of the block, too, so the mapping counts, as dirty
 * (W5); -EUCLEAN if the log has the slot for anything but this block.
 */
int cache_log_check_mapping(struct cache *c, u32 slot, u64 block);

/**
 * cache_log_leave_mapped() - have blocks that are mapped, too, leave the log (W5)
 * @c: the engine, whose mapping is loaded; it may have no log
 *
 * To be called before any slot goes home or is unmapped.
 *
 * Context: process, under md.lock; sleeps, does I/O.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_leave_mapped(struct cache *c);

/**
 * cache_log_take_slots() - lend the log the slots in which it has extents
 * @c: the engine, whose mapping is loaded and whose free list is not; it may have no log
 *
 * From here on the log counts as dirty. A failure before that could take the cache for
 * clean, and give it up.
 *
 * Context: process; may sleep.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_take_slots(struct cache *c);

/**
 * cache_log_begin() - have the log go on, because the mapping is loaded and committed
 * @c: the engine; it may have no log
 *
 * To be called after cache_log_take_slots() and when the free list is built, but before
 * anything is served.
 *
 * Context: process, not under md.lock; sleeps, does I/O.
 *
 * Return: 0 or an error, which it has logged.
 */
int cache_log_begin(struct cache *c);

/**
 * cache_log_stop() - have the ring record everything, and clear the flag of an empty log
 * @c: the engine, without I/O and workers; it may have no log
 *
 * If the ring has failed, all extents go home instead, however long that takes, because
 * only this engine knows them.
 *
 * Context: process, sleeps, does I/O; takes md.lock.
 */
void cache_log_stop(struct cache *c);

/**
 * cache_log_leave() - send extents home, because the cache is being removed
 * @c: the engine, which was stopped and stored; it may have no log
 *
 * Batches begin for as many seconds as the setting settle_seconds says.  When these are
 * over, up to two batches are still under way (URGENT_RUNS).  The other extents stay in
 * the log, and the kernel log says of how many blocks.  No I/O may run, and no other
 * engine may use the metadata.
 *
 * Context: process, sleeps, does I/O; takes md.lock.
 *
 * Return: true if the log is empty and its flag is cleared, so that the metadata has to
 * be stored again.
 */
bool cache_log_leave(struct cache *c);

#endif
