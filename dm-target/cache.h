/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache engine's own structures: what the files of dm-cache.ko share.
 *
 * One struct cache serves one metadata device.  Tables come and go above it
 * (cache-target.c); below it are the slot map (slots/cache-slots.h), the metadata
 * (cache-metadata.h), and the policy (cache-policy.h).
 *
 * The files from the ground up.  No file calls one further down this list.  The
 * head of each file says what that file must not know:
 *   cache-wait.c       defers bios, parks and wakes them, kicks workers
 *   cache-reserve.c    how many slots are kept free
 *   cache-yield.c      has users wait during a drain
 *   cache-trace.c      the tracepoints
 *   cache-lately.c     remembers the blocks that were written last
 *   cache-policies.c   finds policies, parses their settings, gives an engine one
 *   cache-degrade.c    decides what is given up when a device fails
 *   cache-intents.c    chooses the intents that no write asked for
 *   cache-flush.c      flushes the two devices
 *   cache-commit.c     makes changes of the metadata durable, in groups
 *   cache-settings.c   keeps settings that were given by message
 *   cache-log-open.c   the open segments of the write log
 *   cache-log-ring.c   writes the ring of the write log
 *   cache-log.c        the write log: its slots
 *   cache-log-pace.c   writes that wait for room in the write log
 *   cache-gate.c       keeps promotions and changes of the origin apart
 *   cache-admit.c      decides whether a block may come in
 *   cache-fill.c       promotions
 *   cache-evict.c      demotions, and all other unmapping of blocks
 *   cache-writeback.c  copies dirty blocks to the origin
 *   cache-failover.c   goes on with bios that a device refused
 *   cache-both.c       writes to both devices
 *   cache-discard.c    unmaps the blocks that a discard covers
 *   cache-log-io.c     absorbs writes, and reads what was absorbed
 *   cache-end.c        ends bios that were no hits
 *   cache-io.c         maps bios, ends hits, and goes on with bios that waited
 *   cache-log-move.c   blocks go from the write log into the cache
 *   cache-log-home.c   extents leave the write log
 *   cache-log-state.c  turns the write log on and off
 *   cache-compare.c    compares slots with the blocks that they hold
 *   cache-table.c      parses a table
 *   cache-answer.c     keeps the administrator's answer about an origin
 *   cache-origin.c     compares some clean blocks with the origin at activation
 *   cache-log-load.c   reads the write log from the disk, and stops it
 *   cache-belongs.c    acts if the origin was written without the cache
 *   cache-load.c       reads an engine from the disk, and stores it
 *   cache-build.c      allocates the parts of an engine, and frees them; the tick
 *   cache-engine.c     life: built, resumed, suspended, handed from table to table
 *   cache-verify.c     compares clean blocks with the origin while I/O runs
 *   cache-status.c     status lines and messages
 *   cache-target.c     what device-mapper calls
 *
 * Locks.  A hit takes none.  The rwsem and the mutexes nest in the order of this table.  A
 * spinlock may be taken under a mutex.  No spinlock is taken under another one,
 * except in the write log.  There the locks of the index's segments nest inside
 * log.room.lock and inside the locks of the index's blocks.  The index's round_lock
 * and unlogged_lock nest inside the locks of its blocks, too.  The lock of the wait queue
 * recorder.all_wait nests inside log.waiting.lock.
 *
 * "plain": the spinlock is taken in process context only: by workers, by device-mapper's
 * calls, by a module's parameter or its init.  "irqsave": it may be taken in any context,
 * also at the end of a bio in an interrupt.
 *
 *   messages                rwsem    of a table: read by a message, written by a suspend
 *   settings.lock           mutex    the text of the record (cache-settings.h)
 *   md.lock                 mutex    the metadata; health, and the mode of a failed cache
 *   engines_lock            mutex    engines, tables of each (cache-engine.c); no I/O under it
 *   policy.lock             plain    the policy but hit() and miss(); which block a slot has
 *   commit.lock             irqsave  queued changes of the metadata
 *   wait.buckets[].lock     irqsave  bios parked on slots, units that are wanted
 *   wait.deferred_lock      irqsave  bios for the worker
 *   yield.lock              irqsave  bios that wait for their turn beside a drain
 *   gate.discard_lock       irqsave  ranges under discard
 *   admit.throttle.lock     irqsave  the budget of promotions
 *   degrade.held_lock       irqsave  held bios, tables that are being suspended
 *   log.room.lock           irqsave  the open segments, lists of segments (cache-log.h)
 *   log.waiting.lock        irqsave  bios that wait for the write log
 *   log.ix.*, log.ring.lock irqsave  the write log's own (write-log/log-index.h, log-ring.h)
 *   writeback.failed_lock   plain    blocks whose write-back failed
 *   distrusted_lock         plain    sessions that are not trusted (cache-degrade.c)
 *   lately.lock             plain    blocks that were written last
 *   registry_lock           plain    loaded policies (cache-policies.c)
 *   answer_lock             plain    the administrator's answer (cache-answer.c)
 *   map.chain_locks[]       irqsave  links of a hash chain (cache-slots.h)
 *   map.free_lock           irqsave  the free list (cache-slots.h)
 */
#ifndef HEARTH_CACHE_H
#define HEARTH_CACHE_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/dm-kcopyd.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/percpu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../metadata/cache-metadata.h"
#include "cache-admit.h"
#include "cache-both.h"
#include "cache-commit.h"
#include "cache-compat.h"
#include "cache-degrade.h"
#include "cache-engine.h"
#include "cache-evict.h"
#include "cache-flush.h"
#include "cache-gate.h"
#include "cache-intents.h"
#include "cache-lately.h"
#include "cache-load.h"
#include "cache-log.h"
#include "cache-mode.h"
#include "cache-origin.h"
#include "cache-policies.h"
#include "cache-policy.h"
#include "cache-reserve.h"
#include "cache-settings.h"
#include "../slots/cache-slots.h"
#include "cache-stream.h"
#include "cache-wait.h"
#include "cache-writeback.h"
#include "cache-yield.h"

#define DM_MSG_PREFIX "cache"

/*
 * The sizes that a block may have, in sectors: 32 KiB to 1 GiB, a multiple of
 * 32 KiB, as in the kernel's own target.
 */
#define CACHE_BLOCK_MIN_SECTORS		64U
#define CACHE_BLOCK_MAX_SECTORS		(1U << 21)
#define CACHE_BLOCK_MULTIPLE		64U

/*
 * How many slots have a block or a mark.  The counts are declared here, because no
 * file owns them: each file that changes a slot changes its count, too.
 */
struct cache_slot_counts {
	atomic_t resident;		/* VALID, WRITEBACK or EVICTING */
	/* With SLOT_DIRTY, or whose cleaning or unmapping is not durable yet. */
	atomic_t dirty;
	atomic_t intents;		/* with SLOT_INTENT */
};

/*
 * An engine.  Its members are groups; the header of a group's owner declares and
 * explains it.  A hit reads dev, geo, state and the head of map, which lie side by
 * side in three cache lines.
 */
struct cache {
	struct cache_life life;
	struct cache_devices dev;
	struct cache_geometry geo;
	struct cache_state state;

	struct slot_map map;
	struct cache_stats __percpu *stats;	/* one for each CPU; cache-wait.h */
	struct cache_streams streams;
	struct cache_current_policy policy;
	struct cache_metadata md;
	struct cache_slot_counts nr;
	/* Messages change it at any time, so it is read with READ_ONCE(). */
	struct cache_limits limits;

	struct cache_wait wait;
	struct cache_yield yield;
	struct cache_gate gate;
	struct cache_admit admit;
	struct cache_both both;
	struct cache_reserve reserve;
	struct cache_evict evict;
	struct cache_writeback writeback;
	struct cache_intents intents;
	struct cache_commit commit;
	struct cache_flushes flushes;
	struct cache_degrade degrade;
	struct cache_record settings;
	struct cache_lately lately;
	struct cache_origin checked;	/* whether it still belongs to its origin */
	struct cache_tick tick;
	/* NULL if the engine has no write log.  While I/O runs, a log does not go. */
	struct cache_log *log;

	struct cache_clients clients;
	struct cache_queues wq;
};

/* The functions below may be called in any context, and none sleeps. */

/**
 * cache_stat_inc() - add one to a counter
 * @c: the engine
 * @stat: the counter
 */
static inline void cache_stat_inc(struct cache *c, enum cache_stat stat)
{
	this_cpu_inc(c->stats->count[stat]);
}

/**
 * cache_stat_add() - add to a counter
 * @c: the engine
 * @stat: the counter
 * @n: what is added
 */
static inline void cache_stat_add(struct cache *c, enum cache_stat stat, u64 n)
{
	this_cpu_add(c->stats->count[stat], n);
}

/**
 * cache_block_of() - the block that a sector lies in
 * @c: the engine
 * @sector: the sector, counted from the target's beginning
 */
static inline u64 cache_block_of(const struct cache *c, sector_t sector)
{
	if (likely(c->geo.block_shift >= 0))
		return sector >> c->geo.block_shift;
	return div_u64(sector, c->geo.block_sectors);
}

/**
 * cache_block_start() - the first sector of a block
 * @c: the engine
 * @block: a block of the origin, or a slot of the cache device
 */
static inline sector_t cache_block_start(const struct cache *c, u64 block)
{
	return block * c->geo.block_sectors;
}

/**
 * cache_block_fits() - is there room for one more block?
 * @c: the engine
 * @used: the sectors of the room that are taken
 * @room: all of the room, in sectors
 *
 * The first block always fits, because otherwise none would move if @room is less than a
 * block.
 */
static inline bool cache_block_fits(const struct cache *c, u32 used, u64 room)
{
	return !used || used + c->geo.block_sectors <= room;
}

/**
 * cache_keeps_dirty() - may a write go to the cache device alone, which leaves a dirty block?
 * @c: the engine
 *
 * Racy: the mode may change at any time.
 */
static inline bool cache_keeps_dirty(const struct cache *c)
{
	return cache_mode_keeps_dirty(READ_ONCE(c->state.mode));
}

/**
 * cache_drain_is_asked() - did the administrator ask that all dirty blocks go home?
 * @c: the engine
 *
 * lvm2 and hearth ask for such a drain by setting the policy cleaner.
 */
static inline bool cache_drain_is_asked(const struct cache *c)
{
	return c->policy.ops->writeback_all;
}

/**
 * cache_all_must_go() - must all dirty blocks go home?
 * @c: the engine
 *
 * The administrator may have asked for it.  They must, too, in a mode that keeps no dirty
 * blocks: then the blocks are left from a power cut, or a device has failed.
 */
static inline bool cache_all_must_go(const struct cache *c)
{
	return cache_drain_is_asked(c) || !cache_keeps_dirty(c);
}

/**
 * cache_drains() - is a drain asked for, and is a block on its way home now?
 * @c: the engine
 */
static inline bool cache_drains(const struct cache *c)
{
	return atomic_read(&c->writeback.nr_blocks) && cache_drain_is_asked(c);
}

/**
 * cache_yields() - must a bio wait for its turn beside a drain?
 * @c: the engine
 * @bio: as for cache_yield()
 *
 * It makes no call while nothing drains, because each miss and each write to both devices
 * asks it.
 *
 * Context: takes the lock of cache_yield() while a drain runs.
 *
 * Return: as cache_yield().
 */
static inline bool cache_yields(struct cache *c, struct bio *bio)
{
	return unlikely(cache_drains(c)) && cache_yield(c, bio);
}

/**
 * cache_blocks_exceed() - are some blocks more than a share of the slots?
 * @c: the engine
 * @blocks: the number of the blocks
 * @percent: the share
 */
static inline bool cache_blocks_exceed(const struct cache *c, u64 blocks,
				       u64 percent)
{
	return blocks * 100 > c->map.nr_slots * percent;
}

/**
 * cache_log_unsaved() - count segments of the write log that may have the only copy of data
 * @c: the engine
 */
static inline u32 cache_log_unsaved(const struct cache *c)
{
	const struct cache_log *log = READ_ONCE(c->log);

	return unlikely(log) && !READ_ONCE(log->life.all_home) ?
		atomic_read(&log->room.nr_segments) : 0;
}

/**
 * cache_nr_dirty_and_log() - count dirty slots, and add cache_log_unsaved()
 * @c: the engine
 */
static inline u32 cache_nr_dirty_and_log(const struct cache *c)
{
	u32 nr = cache_log_unsaved(c);

	/*
	 * The log is read first, because a block that goes from the log into the
	 * cache counts as dirty before its segment is given back.
	 */
	smp_rmb();
	return nr + atomic_read(&c->nr.dirty);
}

/**
 * cache_nr_unsaved() - count the dirty blocks that the status shows
 * @c: the engine
 *
 * Return: dirty slots and segments; if there are none, 1 for the flag of a log that is empty
 * but not turned off yet.
 */
static inline u32 cache_nr_unsaved(const struct cache *c)
{
	const struct cache_log *log = READ_ONCE(c->log);
	u32 nr = cache_nr_dirty_and_log(c);

	return nr || likely(!log) ||
	       READ_ONCE(log->life.state) != CACHE_LOG_DRAINS ? nr : 1;
}

/**
 * cache_over_dirty_limit() - is there no room for one more dirty slot?
 * @c: the engine
 * @word: the word of the slot that is to be written; 0 if the block has no slot yet
 *
 * Return: true if a write would make a clean slot dirty, although the share of dirty slots
 * is above dirty_limit.
 */
static inline bool cache_over_dirty_limit(const struct cache *c, u32 word)
{
	return !(word & SLOT_DIRTY) && cache_keeps_dirty(c) &&
	       cache_blocks_exceed(c, atomic_read(&c->nr.dirty),
				   READ_ONCE(c->limits.dirty_limit));
}

/**
 * cache_flush_failed() - has a device failed to flush?
 * @c: the engine
 *
 * Then it may have lost writes.
 */
static inline bool cache_flush_failed(const struct cache *c)
{
	return READ_ONCE(c->degrade.fast_flush_failed) ||
	       READ_ONCE(c->degrade.origin_flush_failed);
}

/**
 * cache_writable() - can the metadata be changed?
 * @c: the engine
 *
 * Racy: a commit may fail at any time.
 */
static inline bool cache_writable(const struct cache *c)
{
	return READ_ONCE(c->state.health) == HEALTH_GOOD;
}

/**
 * cache_bypassed() - was the cache given up, so that the origin serves all I/O?
 * @c: the engine
 */
static inline bool cache_bypassed(const struct cache *c)
{
	/* Pairs with set_health(): later reads see what the fence has done. */
	return smp_load_acquire(&c->state.health) == HEALTH_BYPASS;
}

/**
 * cache_log_alone_knows() - does only this engine know all that its write log has?
 * @c: the engine
 *
 * W9: a ring that could not be written does not name all extents.  When all of them are
 * home, its old records would still be believed, until a commit has cleared the log's flag.
 */
static inline bool cache_log_alone_knows(const struct cache *c)
{
	const struct cache_log *log = READ_ONCE(c->log);

	return unlikely(log) && READ_ONCE(log->life.failed) &&
	       !READ_ONCE(log->life.forgotten) && atomic_read(&log->room.nr_segments) &&
	       !cache_bypassed(c);
}

/**
 * cache_alone_knows() - is an engine the only place that knows of some dirty data?
 * @c: the engine, suspended
 *
 * So it is if the engine could not write its metadata any more while something was dirty,
 * or if cache_log_alone_knows().
 */
static inline bool cache_alone_knows(const struct cache *c)
{
	return (READ_ONCE(c->state.health) == HEALTH_READ_ONLY &&
		cache_nr_dirty_and_log(c)) || cache_log_alone_knows(c);
}

/**
 * cache_kept_marks() - the marks with which a slot must be kept
 * @c: the engine
 *
 * A slot with one of them may have the only copy.  If the origin could not flush, a slot
 * with an intent may have the only copy, too.  Once the mapping is void, no slot is kept,
 * because the origin is newer than any slot.
 */
static inline u32 cache_kept_marks(const struct cache *c)
{
	if (cache_bypassed(c))
		return 0;
	return READ_ONCE(c->degrade.origin_flush_failed) ?
		SLOT_DIRTY | SLOT_INTENT : SLOT_DIRTY;
}

/**
 * cache_kept() - I3: the marks of cache_kept_marks() that a slot has
 * @c: the engine
 * @word: the slot's word
 *
 * A slot that is dirty only because of writes that failed may go, because the origin
 * has all that was acknowledged.  The end of a write that succeeds clears
 * SLOT_UNWRITTEN before it drops its pin, and both are in one word.  So if a caller
 * finds SLOT_UNWRITTEN and no writer, and its exchange of the word succeeds, none of
 * the writes that made the slot dirty has succeeded.
 *
 * Return: the marks; 0 means that the slot's block may leave the cache.
 */
static inline u32 cache_kept(const struct cache *c, u32 word)
{
	u32 marks = word & cache_kept_marks(c);

	if ((word & (SLOT_UNWRITTEN | SLOT_WRITER_MASK)) == SLOT_UNWRITTEN)
		marks &= ~SLOT_DIRTY;
	return marks;
}

/**
 * cache_wait_bucket() - the bucket that bios are parked in while they wait for a slot
 * @c: the engine
 * @slot: the slot
 */
static inline struct wait_bucket *cache_wait_bucket(struct cache *c, u32 slot)
{
	return &c->wait.buckets[slot % CACHE_NR_WAIT_BUCKETS];
}

/**
 * cache_unpin() - drop a pin
 * @c: the engine
 * @slot: the slot
 * @unit: as for slot_unpin()
 *
 * If it was the last pin, the bios that wait for the slot go on.
 *
 * Context: takes wait.buckets[].lock, then wait.deferred_lock, if a bio waits.
 */
static inline void cache_unpin(struct cache *c, u32 slot, u32 unit)
{
	if (unlikely(slot_unpin(slot_at(&c->map, slot), unit)))
		cache_slot_released(c, slot);
}

#endif
