/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recovery of the write log: what the device says, made into an index.
 *
 * It trusts nothing: whatever bytes the device has, it ends, keeps to its
 * memory, and either refuses or leaves an index within the bounds of the
 * devices. It knows no mappings; the caller tells it each in turn.
 */
#ifndef HEARTH_LOG_LOAD_H
#define HEARTH_LOG_LOAD_H

#include "log-ring.h"

/**
 * log_load_header() - find the log of a cache device
 * @dev: the cache device
 * @block_sectors: sectors in a block of the cache
 * @nr_slots: of the cache device, as the superblock has it
 * @geo: receives the log's shape
 *
 * For a volume with the flag. The header at the end of the last slot counts, or
 * its copy if that is bad or can't be read. May sleep.
 * Return: 0; -EUCLEAN when both are bad, or are not of this cache; -ENOMEM; the
 * device's error when it reads neither.
 */
int log_load_header(const struct log_dev *dev, u32 block_sectors, u32 nr_slots,
		    struct log_geometry *geo);

struct log_position {
	u64 head;	/* the last block with SYNC */
	u64 tail;	/* the tail that the head names */
};

/**
 * log_load() - play the ring back
 * @dev: the cache device
 * @geo: the log's shape
 * @origin_sectors: what lies past them is refused
 * @records: in a block, at most; LOG_RECORDS except in tests
 * @ix: empty; of as many sectors in a block as @geo has
 * @pos: receives the head and the tail
 *
 * All that is found is in @ix, seen and relied on by the ring, whatever today's
 * bounds are. The next block of the ring is @pos->head + 1. May sleep.
 *
 * Return: 0; -EUCLEAN when there is no head, or a block from its tail to the
 * head is bad, or a record is impossible, or more than half of all records are
 * live; -ERANGE when an extent lies past the origin's end; -ENOMEM, -EFBIG or the
 * device's error. After an error @ix holds anything.
 */
int log_load(const struct log_dev *dev, const struct log_geometry *geo,
	     u64 origin_sectors, u32 records, struct log_index *ix,
	     struct log_position *pos);

/**
 * log_load_mapping() - a slot is mapped: does that agree with the log?
 * @ix: the index, after log_load()
 * @geo: the log's shape
 * @slot: the slot
 * @block: the block that it holds, in blocks of the origin
 *
 * For each mapping, after log_load() and before anything is served. Any context.
 *
 * Return: 0, the log has nothing of the block; 1, it has (W5): the mapping holds
 * and is dirty, and all that the log has of the block has to leave, durably,
 * before anything is served; -EUCLEAN when the slot is the ring's, or a segment
 * with anything else than this block in place.
 */
int log_load_mapping(struct log_index *ix, const struct log_geometry *geo,
		     u32 slot, u64 block);

#endif
