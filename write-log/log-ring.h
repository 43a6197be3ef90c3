/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log's ring: blocks of records that say on disk what the index says
 * in memory.
 *
 * It owns the sequence of blocks: what is put in the next one, which old ones
 * are obsolete, and that there is always room. It knows the index and a device
 * that reads and writes sectors; it knows no bio, slot state or mapping.
 *
 * A batch records all that was seen, and all that left, before it began. Its
 * blocks are written one after the other:
 *
 *	if (log_ring_begin(ring))
 *		while (log_ring_next(ring, &io) == 1)
 *			log_ring_end(ring, result of writing io);
 *
 * or, where the caller may sleep, by log_ring_write_batch(). When the batch has
 * ended, all of it is durable. A failed write does not end it: the same io comes
 * again (W9), now or when the caller tries once more.
 *
 * A block is written after a flush of the device, because the data that it names have
 * to be durable first. It needs none if all of them were written with FUA. Nor does it if
 * an earlier block of its batch had one, because all data of a batch were written before
 * the batch began.
 *
 * There is no checkpoint. Every block repeats some runs that the ring relies
 * on; when all were repeated, the blocks before that round are obsolete.
 *
 * log_ring::lock guards the queue of what leaves. All the rest belongs to the
 * batch: the caller lets one be under way at a time.
 */
#ifndef HEARTH_LOG_RING_H
#define HEARTH_LOG_RING_H

#include "log-index.h"

#define LOG_PREFLUSH	BIT(0)
#define LOG_FUA		BIT(1)

/*
 * The cache device. Both return 0 or a negative error and may sleep. @flags are
 * what REQ_PREFLUSH and REQ_FUA mean.
 */
struct log_dev {
	int (*read)(void *ctx, u64 sector, u32 sectors, void *data);
	int (*write)(void *ctx, u64 sector, u32 sectors, const void *data,
		     unsigned int flags);
	void *ctx;
};

struct log_geometry {
	u64 id;
	u32 block_sectors;
	u32 nr_slots;		/* of the whole cache device */
	u32 ring_slot;		/* the first that the ring takes */
	u32 ring_blocks;
};

/* One write to the device: @sectors from @data on. */
struct log_io {
	u64 sector;
	u32 sectors;
	unsigned int flags;
	const void *data;
};

/*
 * Runs that went home or into the cache, or were discarded, as
 * log_index_collect() found them; one of 0 sectors says that its whole segment
 * is free. It and the runs stay the caller's, but must last until ended(). By
 * then the records are durable, and readers do not find the runs any more.
 */
struct log_departure {
	struct list_head node;
	const struct log_run *runs;
	u32 nr;
	u32 nr_put;
	/* Called by log_ring_next(), in its context. May free the departure. */
	void (*ended)(struct log_departure *d);
};

struct log_ring {
	struct log_index *ix;
	struct log_geometry geo;
	u32 records;		/* in a block; tests have fewer than LOG_RECORDS */

	u64 seq;		/* of the last block that was written */
	u64 tail;		/* that a durable block has */
	bool in_round;
	u64 round_from;		/* the block with which the round began */
	u32 rounds_alone;	/* since a block had more than repeats */

	bool busy;		/* a batch is under way */
	bool writing;		/* @io is on its way, or failed */
	struct log_io io;
	u64 io_tail;
	struct log_disk_block *blocks;	/* memory of LOG_BURST blocks */
	struct log_write *pending;	/* seen, to be put */
	bool durable;		/* the data of all writes in @blocks are durable */
	bool flushed;		/* a block of this batch had a PREFLUSH, and has ended */
	struct list_head leaving;	/* the batch's departures, to be put */
	struct list_head put;		/* these were put, all of their runs */

	/* Guards @queued. */
	spinlock_t lock;
	struct list_head queued;	/* departures for the next batch */
};

/*
 * The blocks that are read or written at a time, at most: 64 KiB. With fewer, recovery
 * and repeats would need more requests. With more, the ring would take more memory.
 * Not chosen by measurement.
 */
#define LOG_BURST	16u

/**
 * log_ring_blocks_for() - how long a ring has to be
 * @runs: the most runs that may be live at a time
 *
 * Return: blocks: four times as many as the records of all these runs fill, but 1 MiB at
 * least, and LOG_MAX_RING at most.
 */
u32 log_ring_blocks_for(u64 runs);

/**
 * log_geometry_check() - may a log of this shape be?
 * @geo: the log's shape
 *
 * Context: any. Return: 0, or -EINVAL: a slot is too large for the records, or
 * the ring and two headers do not fit behind the first slot.
 */
int log_geometry_check(const struct log_geometry *geo);

/**
 * log_geometry_takes() - does the ring take a part of this slot, or a header?
 * @geo: the log's shape
 * @slot: the slot
 *
 * Context: any. If so, the slot is never a segment, nor mapped. All other slots may
 * be: when the cache device has grown, there are some behind the ring. The slots of the
 * headers of before it grew are free as soon as the new number of slots is committed.
 */
bool log_geometry_takes(const struct log_geometry *geo, u32 slot);

/**
 * log_header_write() - the header at the end of the last slot, and its copy
 * @dev: the cache device
 * @geo: the log's shape
 *
 * Both are durable afterwards. For a new log, and before a larger cache device
 * is committed. May sleep. Return: 0, -EINVAL, -ENOMEM or the device's error.
 */
int log_header_write(const struct log_dev *dev, const struct log_geometry *geo);

/**
 * log_ring_create() - a header, and an empty ring with its first block
 * @dev: the cache device
 * @geo: the log's shape
 *
 * Durable afterwards. The flag may be set then, and not before (W1). @geo->id is
 * random. All of the ring's place is written. May sleep. Return: 0, -EINVAL,
 * -ENOMEM or the device's error.
 */
int log_ring_create(const struct log_dev *dev, const struct log_geometry *geo);

/**
 * log_ring_init() - go on behind the ring's last block
 * @ring: the ring
 * @ix: the index
 * @geo: the log's shape
 * @head: the number of the ring's last block
 * @tail: the tail that this block names
 *
 * After log_ring_create() both are 1. May sleep. Return: 0, -EINVAL or -ENOMEM.
 */
int log_ring_init(struct log_ring *ring, struct log_index *ix,
		  const struct log_geometry *geo, u64 head, u64 tail);

/**
 * log_ring_exit() - free what the ring has; nothing is written
 * @ring: no batch is under way, or the engine gives up
 */
void log_ring_exit(struct log_ring *ring);

/**
 * log_ring_admits() - is there room for all writes that were counted in?
 * @ring: the ring
 *
 * To be asked after log_index_reserve(), because then the asker is counted as
 * well; if the answer is no, it cancels. Runs that the ring relies on, and twice
 * the writes whose records are to come, may take a quarter of its records. Any
 * context.
 */
static inline bool log_ring_admits(const struct log_ring *ring)
{
	u64 records = (u64)ring->geo.ring_blocks * ring->records;

	return READ_ONCE(ring->ix->nr_ring) +
	       2 * atomic64_read(&ring->ix->nr_unlogged) <= records / 4;
}

/**
 * log_ring_leave() - have the next batch record that runs left
 * @ring: the ring
 * @d: the runs
 *
 * Context: any.
 */
void log_ring_leave(struct log_ring *ring, struct log_departure *d);

/**
 * log_ring_begin() - begin a batch
 * @ring: the ring
 *
 * Return: false if there is nothing to record: then none was begun. Any context.
 */
bool log_ring_begin(struct log_ring *ring);

/**
 * log_ring_next() - what the batch has to write next
 * @ring: the ring
 * @io: receives it
 *
 * Any context, does not sleep.
 * Return: 1 when @io is to be written; 0 when the batch has ended; -ENOSPC when
 * the ring is full, which is a failure: with log_ring_admits() it never is (W7).
 */
int log_ring_next(struct log_ring *ring, struct log_io *io);

/**
 * log_ring_end() - what log_ring_next() said was written, or failed
 * @ring: the ring
 * @error: 0, or negative
 *
 * Context: any.
 */
void log_ring_end(struct log_ring *ring, int error);

/**
 * log_ring_write_batch() - write a batch, or go on with one that failed
 * @ring: the ring
 * @dev: the cache device
 *
 * May sleep. Return: 0 when all that was seen or left before is durable;
 * -ENOSPC or the device's error, after which it may be called again.
 */
int log_ring_write_batch(struct log_ring *ring, const struct log_dev *dev);

/**
 * log_ring_sector() - the sector of the cache device where a block of the ring lies
 * @geo: the log's shape
 * @seq: the block's number
 *
 * Context: any.
 */
static inline u64 log_ring_sector(const struct log_geometry *geo, u64 seq)
{
	u32 place;

	div_u64_rem(seq, geo->ring_blocks, &place);
	return (u64)geo->ring_slot * geo->block_sectors +
	       (u64)place * LOG_BLOCK_SECTORS;
}

/**
 * log_header_sector() - the sector of the cache device where the header lies, or its copy
 * @block_sectors: sectors in a block of the cache
 * @nr_slots: of the cache device
 * @copy: the copy's sector is asked for
 *
 * Context: any.
 */
static inline u64 log_header_sector(u32 block_sectors, u32 nr_slots, bool copy)
{
	return (u64)block_sectors * nr_slots -
	       LOG_BLOCK_SECTORS * (copy ? 2 : 1);
}

#endif
