/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache engine's own structures: what the files of dm-cache.ko share.
 *
 * One struct cache serves one metadata device.  Tables come and go above it
 * (cache-target.c); below it are the slot map (cache-slots.h), the metadata
 * (cache-metadata.h), and the policy (cache-policy.h).
 *
 * Which file does what:
 *   cache-wait.c       defers bios, parks and wakes them, kicks workers
 *   cache-io.c         maps bios, ends them, and retries those that waited
 *   cache-both.c       writes to both devices
 *   cache-failover.c   goes on with bios that a device refused
 *   cache-discard.c    unmaps what a discard covers
 *   cache-gate.c       keeps promotions and changes of the origin apart
 *   cache-admit.c      decides whether a block may come in
 *   cache-fill.c       promotions
 *   cache-evict.c      demotions and everything else that unmaps a block
 *   cache-writeback.c  copies dirty blocks to the origin
 *   cache-intents.c    chooses the dirty bits that are set and cleared unasked
 *   cache-commit.c     makes changes of the mapping durable, in groups
 *   cache-degrade.c    what is given up when a device fails
 *   cache-settings.c   keeps settings that were given by message
 *   cache-policies.c   finds policies, parses their settings
 *   cache-load.c       fills an engine from the disk
 *   cache-engine.c     life: built, resumed, suspended, handed from table to table
 */
#ifndef HEARTH_CACHE_H
#define HEARTH_CACHE_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/dm-kcopyd.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../metadata/cache-metadata.h"
#include "cache-admit.h"
#include "cache-commit.h"
#include "cache-compat.h"
#include "cache-degrade.h"
#include "cache-discard.h"
#include "cache-evict.h"
#include "cache-gate.h"
#include "cache-intents.h"
#include "cache-mode.h"
#include "cache-policies.h"
#include "cache-policy.h"
#include "cache-setting-list.h"
#include "cache-settings.h"
#include "cache-slots.h"
#include "cache-stream.h"
#include "cache-wait.h"
#include "cache-writeback.h"

#define DM_MSG_PREFIX "cache"

#define CACHE_BLOCK_MIN_SECTORS		64U
#define CACHE_BLOCK_MAX_SECTORS		(1U << 21)
#define CACHE_BLOCK_MULTIPLE		64U

/* ---- The engine ---- */

#define CACHE_NR_GATES		4096	/* power of 2 */
#define CACHE_NR_UNITS		4096	/* multiple of CACHE_NR_WAIT_BUCKETS */

static_assert(CACHE_NR_UNITS % CACHE_NR_WAIT_BUCKETS == 0);

struct cache {
	struct kref ref;
	struct list_head list;		/* all engines; guarded by engines_lock */
	dev_t metadata_dev;
	dev_t dev;			/* of the volume, for trace events */
	struct list_head tables;	/* resumed on it; engines_lock */
	bool stopping;			/* the last of them is going; engines_lock */
	/*
	 * Raise an event of every table in @tables.  Set once, by the owner of
	 * the list, for the files below it.  May sleep: takes engines_lock.
	 */
	void (*tell_tables)(struct cache *c);

	/* Set while suspended, constant while I/O runs. */
	struct block_device *origin;
	struct block_device *fast;
	struct block_device *metadata;
	sector_t origin_sectors;
	u64 origin_blocks;		/* whole ones; a short tail is never cached */
	u32 block_sectors;
	int block_shift;		/* log2 of block_sectors, or -1 */
	int part_shift;			/* log2 of the sectors in a part of a slot */
	enum dm_cache_mode table_mode;	/* as the table says */
	enum dm_cache_mode mode;		/* in effect */
	bool discard_passdown;

	struct slot_map map;
	struct cache_stats __percpu *stats;
	struct stream_cpu __percpu *streams;
	struct stream_ends stream_ends;

	struct cache_policy *policy;
	u64 policy_defaults[CACHE_MAX_TUNABLES];
	bool broken;			/* not to be taken over by another table */
	const struct cache_policy_ops *policy_ops;
	/* Serialises the policy's calls other than hit() and miss(). */
	spinlock_t policy_lock;

	/* Writers to the origin of blocks that have no slot, by hash. */
	atomic_t *gates;

	/*
	 * What is being written to both devices, a bit for each unit of 4 KiB: of
	 * the slots of one number modulo CACHE_NR_UNITS.
	 */
	atomic_long_t *units;
	struct wait_bucket waits[CACHE_NR_WAIT_BUCKETS];

	/*
	 * Guards deferred, the worker's bios.  The worker is queued under it:
	 * once it is left, the last bio may have ended, and the cache with it.
	 */
	spinlock_t deferred_lock;
	struct bio_list deferred;
	struct work_struct deferred_work;

	/* Ranges under discard: no promotion may publish a block in them. */
	spinlock_t discard_lock;	/* guards discards */
	struct list_head discards;
	atomic_t nr_discards;

	/* Commits. */
	spinlock_t commit_lock;		/* guards commit_ops to commit_kicked */
	struct list_head commit_ops;
	u32 nr_lingering;		/* of them nobody waits for so many; racy reads */
	bool commit_kicked;		/* the worker is to run at once */
	struct delayed_work commit_work;
	struct mutex md_lock;		/* guards cmd and the metadata it stands for */
	struct cmd *cmd;
	struct mutex settings_lock;	/* guards record; taken before md_lock */
	char record[CMD_RECORD_MAX + 1];
	struct pd_device *pd;
	u32 *sweep_slots;		/* commit worker only */
	struct intents_ahead ahead[INTENT_WORDS_AHEAD];	/* commit worker only */
	u32 sweep_cursor;		/* commit worker only */
	atomic_t nr_intents;		/* slots with SLOT_INTENT */
	unsigned long last_intent;	/* or write hit: jiffies; racy */
	u64 write_hits_seen;		/* by the tick */
	/*
	 * While either says so, no dirty bit is cleared: copies that were
	 * thought equal may not be.
	 */
	atomic_t nr_suspects;		/* slots about to be dropped after an error */
	/*
	 * A device says once that it could not flush; what it lost stays lost,
	 * so these stay set until the engine is built anew.
	 */
	bool fast_flush_failed;
	bool origin_flush_failed;
	enum cache_health health;	/* written under md_lock */
	bool fast_dead;			/* written under md_lock */
	bool went_home_unsaid;		/* blocks that the disk calls dirty; stays set */
	bool unfenced;			/* written under md_lock */
	u64 session;			/* random, in the superblock's record */
	atomic_t fast_errors;		/* of late; see cache-degrade.c */
	unsigned long last_fence;	/* jiffies; tick only */
	struct work_struct degrade_work;	/* on commit_wq */
	spinlock_t held_lock;		/* guards held and nr_suspending */
	struct bio_list held;		/* wait for what degrade_work brings */
	u32 nr_suspending;		/* tables; held_lock */

	/* Counts for status; each changed where the fact becomes durable. */
	atomic_t nr_resident;
	atomic_t nr_dirty;

	/* Migrations: fills, evictions, write-backs. */
	atomic_t nr_unmaps;		/* queued, and not committed yet */
	atomic_t nr_migrations;		/* all in flight; suspend waits for none */
	atomic_t migrating_sectors;	/* promotions by writes, write-backs */
	atomic_t reading_sectors;	/* promotions by reads, and ahead of them */
	/* cache-setting-list.h; written at any time, so read with READ_ONCE. */
	CACHE_SETTINGS(CACHE_SETTING_MEMBER)
	struct throttle throttle;
	wait_queue_head_t migration_wait;	/* for room, or for none */
	bool quiescing;			/* start nothing in the background */
	mempool_t migration_pool;
	struct dm_io_client *io;
	struct dm_kcopyd_client *copier;

	u32 reserve;			/* free slots to keep */
	struct work_struct evict_work;

	struct work_struct writeback_work;
	struct writeback_item *wb_items;	/* writeback worker only */
	u32 wb_cursor;			/* writeback worker only */
	atomic_t wb_blocks;		/* begun and not committed */
	atomic_t wb_sectors;		/* of migrating_sectors, write-back's */
	bool wb_above;			/* dirty_high; writeback worker only */
	u32 wb_room;			/* sectors; writeback worker only */
	u32 wb_low;			/* sectors left at which it goes on; racy reads */
	u64 wb_ios_seen;		/* writeback worker only */
	unsigned long wb_user_seen;	/* jiffies; writeback worker only */
	atomic_t wb_wanted;		/* evictions that met dirty victims */
	unsigned long wb_backoff;	/* jiffies before which errors forbid a try */
	spinlock_t wb_failed_lock;	/* guards the next three, and wb_backoff */
	struct wb_failed wb_failed[CACHE_NR_WB_FAILED];	/* by block */
	unsigned int wb_failed_in_row;	/* and none went home in between */
	bool wb_stuck;			/* so many that none is named any more */

	unsigned long last_io;		/* jiffies of the last tick with user I/O */
	u64 last_io_count;
	struct delayed_work tick_work;

	struct workqueue_struct *wq;		/* bios and promotions; waits for nobody */
	struct workqueue_struct *bg_wq;		/* eviction, write-back: may wait for wq */
	struct workqueue_struct *commit_wq;	/* commits only */
};

static inline void cache_stat_inc(struct cache *c, enum cache_stat stat)
{
	this_cpu_inc(c->stats->count[stat]);
}

static inline void cache_stat_add(struct cache *c, enum cache_stat stat, u64 n)
{
	this_cpu_add(c->stats->count[stat], n);
}

/* The number of the block that a target-relative sector is in. */
static inline u64 cache_block_of(const struct cache *c, sector_t sector)
{
	if (likely(c->block_shift >= 0))
		return sector >> c->block_shift;
	return div_u64(sector, c->block_sectors);
}

static inline sector_t cache_block_start(const struct cache *c, u64 block)
{
	return block * c->block_sectors;
}

/* Is there room (sectors) for a block beside what is used?  For one always. */
static inline bool cache_block_fits(const struct cache *c, u32 used, u64 room)
{
	return !used || used + c->block_sectors <= room;
}

static inline bool cache_keeps_dirty(const struct cache *c)
{
	return cache_mode_keeps_dirty(READ_ONCE(c->mode));
}

/* Are @blocks more than @percent of all that the cache has room for? */
static inline bool cache_blocks_exceed(const struct cache *c, u64 blocks,
				       u64 percent)
{
	return blocks * 100 > c->map.nr_slots * percent;
}

/*
 * Would a write make a slot dirty, which has this word (0: it has none yet), of
 * which dirty_limit says that it must not?  Any context.
 */
static inline bool cache_over_dirty_limit(const struct cache *c, u32 word)
{
	return !(word & SLOT_DIRTY) && cache_keeps_dirty(c) &&
	       cache_blocks_exceed(c, atomic_read(&c->nr_dirty),
				   READ_ONCE(c->dirty_limit));
}

static inline bool cache_flush_failed(const struct cache *c)
{
	return READ_ONCE(c->fast_flush_failed) ||
	       READ_ONCE(c->origin_flush_failed);
}

static inline bool cache_writable(const struct cache *c)
{
	return READ_ONCE(c->health) == HEALTH_GOOD;
}

/* Pairs with set_health(): what comes after sees the mapping as void. */
static inline bool cache_bypassed(const struct cache *c)
{
	return smp_load_acquire(&c->health) == HEALTH_BYPASS;
}

/*
 * Marks of a slot that must not be given up: it may be the only copy.  When
 * the origin could not flush, that is so of any block with an intent.  Once the
 * mapping is void, the origin is newer than any slot.
 */
static inline u32 cache_kept_marks(const struct cache *c)
{
	if (cache_bypassed(c))
		return 0;
	return READ_ONCE(c->origin_flush_failed) ? SLOT_DIRTY | SLOT_INTENT :
						   SLOT_DIRTY;
}

/*
 * Those that a slot of this word has.  One that is dirty only for writes that were
 * refused may go: the origin has all that was acknowledged.  A write that succeeds
 * takes SLOT_UNWRITTEN off before it takes its pin off, and all of this is one word:
 * who finds the one without a writer, and exchanges the word, comes before any that
 * succeeds.
 */
static inline u32 cache_kept(const struct cache *c, u32 word)
{
	u32 marks = word & cache_kept_marks(c);

	if ((word & (SLOT_UNWRITTEN | SLOT_WRITER_MASK)) == SLOT_UNWRITTEN)
		marks &= ~SLOT_DIRTY;
	return marks;
}

static inline struct wait_bucket *cache_wait_bucket(struct cache *c, u32 slot)
{
	return &c->waits[slot % CACHE_NR_WAIT_BUCKETS];
}

/*
 * Drop a pin (@unit as of slot_unpin()), and wake the bios that waited for the
 * last one.  Any context.
 */
static inline void cache_unpin(struct cache *c, u32 slot, u32 unit)
{
	if (unlikely(slot_unpin(slot_at(&c->map, slot), unit)))
		cache_wake_waiters(c, slot);
}

#endif
