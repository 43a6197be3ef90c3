/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log of a simulated cache: which sectors of which blocks lie in which
 * segment, and which blocks leave it first. A segment is a slot that the cache
 * lends. The rules are those of docs/policies.md, "With the write log".
 *
 * This part must not know of policies, of the disk, or where a block goes that leaves.
 */
#ifndef HEARTH_SIMULATOR_ABSORB_H
#define HEARTH_SIMULATOR_ABSORB_H

#include "trace.h"

/**
 * struct absorbed - a block that leaves the log
 * @id: the block
 * @first: its first sector that the log had
 * @end: the sector behind the last one that the log had
 * @whole: the log had all sectors
 * @keep: absorb_keep() has marked it
 * @why: the value that the caller of absorb_keep() gave
 * @source: the trace's source of the first write to it
 */
struct absorbed {
	u32 id;
	u32 first, end;
	bool whole, keep;
	u8 why, source;
};

struct absorb;

/**
 * absorb_create() - make a log
 * @accesses: all accesses that the log may be shown; stays until absorb_destroy()
 * @most: the most segments that it may have
 *
 * Aborts without memory.
 *
 * Return: the log, which absorb_destroy() frees.
 */
struct absorb *absorb_create(const struct accesses *accesses, u32 most);

/**
 * absorb_destroy() - free a log
 * @log: the log; NULL is allowed
 */
void absorb_destroy(struct absorb *log);

/**
 * absorb_has() - whether the log has any sector of a block
 * @log: the log
 * @id: the block
 *
 * Return: true if it has.
 */
bool absorb_has(const struct absorb *log, u32 id);

/**
 * absorb_keeps() - whether the log has a block that absorb_keep() has marked
 * @log: the log
 * @id: the block
 *
 * Return: true if it has.
 */
bool absorb_keeps(const struct absorb *log, u32 id);

/**
 * absorb_covers() - whether the log has all sectors that an access touches
 * @log: the log
 * @a: the access
 *
 * Return: true if it has.
 */
bool absorb_covers(const struct absorb *log, const struct access *a);

/**
 * absorb_fits() - whether the open segment has room for a write
 * @log: the log
 * @a: the write
 *
 * Return: true if it has; false also if no segment is open.
 */
bool absorb_fits(const struct absorb *log, const struct access *a);

/**
 * absorb_is_full() - whether the log has all the segments that it may have
 * @log: the log
 *
 * Return: true if it has.
 */
bool absorb_is_full(const struct absorb *log);

/**
 * absorb_lend() - open a segment, and close the one that was open
 * @log: the log, which is not full
 * @slot: the slot that the segment takes
 */
void absorb_lend(struct absorb *log, u32 slot);

/**
 * absorb_take_back() - take back a segment in which no sector is live
 * @log: the log
 * @slot: receives its slot
 *
 * Return: false if there is none. The open segment stays.
 */
bool absorb_take_back(struct absorb *log, u32 *slot);

/**
 * absorb_write() - append a write to the open segment
 * @log: the log
 * @a: the write, for which absorb_fits() is true
 *
 * Sectors that the log had of the block before are no longer live.
 */
void absorb_write(struct absorb *log, const struct access *a);

/**
 * absorb_keep() - mark a block as one that shall go into the cache
 * @log: the log
 * @id: the block, which the log has
 * @why: a value that struct absorbed gives back
 */
void absorb_keep(struct absorb *log, u32 id, u8 why);

/**
 * absorb_remove() - take a block out
 * @log: the log
 * @id: the block, which the log has
 * @left: receives the description of the block
 */
void absorb_remove(struct absorb *log, u32 id, struct absorbed *left);

/**
 * absorb_oldest() - take out a batch: all blocks that have newest data in the
 *	oldest segments
 * @log: the log, in which no segment is open after that
 * @nr: receives how many blocks
 * @all: empty the log
 *
 * Return: the blocks in the origin's order; valid until the next call.
 */
const struct absorbed *absorb_oldest(struct absorb *log, u32 *nr, bool all);

#endif
