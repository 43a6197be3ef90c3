/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks with a kind: checked when they come from the disk, sealed (checksum
 * and block number) when they go there.
 *
 * This layer must not know which blocks are in use or may be changed; the
 * transaction manager does.
 *
 * Context: functions that hold a block may sleep and do I/O. The caller
 * serialises them per device. Each block that was held is put.
 */

#ifndef HEARTH_PD_BLOCK_MANAGER_H
#define HEARTH_PD_BLOCK_MANAGER_H

#include "pd-device.h"
#include "pd-format.h"

/* A block that is held. Lives on the holder's stack; buf is NULL when put. */
struct pd_block {
	u64 nr;
	void *data;
	struct pd_buffer *buf;
	bool write;		/* to be marked dirty when it is put */
};

/**
 * pd_block_read() - hold a block for reading
 * @dev: the device
 * @nr: the block's number
 * @kind: what the block has to be
 * @b: receives the block
 *
 * Return: 0; -EILSEQ if it is not that, or damaged; or the device's error.
 * After an error nothing is held.
 */
int pd_block_read(struct pd_device *dev, u64 nr, enum pd_kind kind,
		  struct pd_block *b);

/**
 * pd_block_fault() - why a block's content is not what it should be
 * @data: a whole block, as it is on the disk
 * @nr: where it is
 * @kind: what it has to be; not PD_KIND_RAW
 *
 * Any context.
 * Return: words that follow "block N ...", or NULL if it is in order.
 */
const char *pd_block_fault(const void *data, u64 nr, enum pd_kind kind);

/**
 * pd_block_seal() - fill in a block's number and checksum
 * @data: a whole block
 * @nr: where it is going to be written
 * @kind: enum pd_kind; nothing happens to a PD_KIND_RAW block
 *
 * Any context, no lock. The device calls it for every block that was held for
 * writing, just before it writes the block.
 */
void pd_block_seal(void *data, u64 nr, unsigned int kind);

/**
 * pd_block_write() - hold a block for changing it in place
 * @dev: the device
 * @nr: the block's number
 * @kind: what the block has to be
 * @b: receives the block
 *
 * Return: as pd_block_read(); -EROFS; -EILSEQ as well if somebody holds the block for
 * changing it.
 */
int pd_block_write(struct pd_device *dev, u64 nr, enum pd_kind kind,
		   struct pd_block *b);

/**
 * pd_block_new() - hold a zeroed block for writing, without reading it
 * @dev: the device
 * @nr: the block's number
 * @kind: what the block becomes
 * @b: receives the block
 *
 * Return: 0; -EILSEQ if somebody holds the block for changing it; or the device's error.
 */
int pd_block_new(struct pd_device *dev, u64 nr, enum pd_kind kind,
		 struct pd_block *b);

/**
 * pd_block_put() - let go of a block
 * @b: the block; nothing happens if it was put before
 */
void pd_block_put(struct pd_block *b);

#endif
