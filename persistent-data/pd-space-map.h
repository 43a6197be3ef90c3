/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which metadata blocks are in use: the reference counts, wholly in memory, and
 * their bitmaps on the disk. This layer must not know what the blocks are for.
 *
 * Context: the caller serialises all calls on one map (the schema's callers
 * hold one mutex). Calls that load, write, make or extend a map may sleep; the
 * others do no I/O. Errors: -EILSEQ for a damaged map, -ENOMEM, or the
 * device's.
 */

#ifndef HEARTH_PD_SPACE_MAP_H
#define HEARTH_PD_SPACE_MAP_H

#include "pd-block-manager.h"

struct pd_sm;

/**
 * pd_sm_create() - a map of a device with nothing in use but block 0
 * @nr_blocks: blocks of PD_BLOCK_SIZE
 * @out: receives the map; pd_sm_destroy() frees it
 *
 * Return: 0, -ENOMEM, or -EINVAL for more than PD_MAX_BLOCKS blocks or none.
 */
int pd_sm_create(u32 nr_blocks, struct pd_sm **out);

/**
 * pd_sm_load() - read the map that a superblock names
 * @dev: the device
 * @root: from the superblock
 * @out: receives the map; pd_sm_destroy() frees it
 * @why: on error receives a static text that says what is wrong
 *
 * Return: 0; -EILSEQ for a map that is damaged or does not count its own
 * blocks; -EINVAL for a device that is smaller than the map; -ENOMEM, or the
 * device's error.
 */
int pd_sm_load(struct pd_device *dev, const struct pd_sm_root *root,
	       struct pd_sm **out, const char **why);

/**
 * pd_sm_destroy() - free a map
 * @sm: the map; NULL is none
 */
void pd_sm_destroy(struct pd_sm *sm);

/**
 * pd_sm_set_overflow_root() - set the root of the overflow tree of a new map
 * @sm: the map
 * @root: the root
 */
void pd_sm_set_overflow_root(struct pd_sm *sm, u64 root);

/**
 * pd_sm_overflow_root() - root of the overflow tree, as loaded or set
 * @sm: the map
 */
u64 pd_sm_overflow_root(const struct pd_sm *sm);

/**
 * pd_sm_alloc() - take a block that is free now and was at the last commit
 * @sm: the map
 * @nr: receives the block's number; the block has one reference
 *
 * Keeps back the blocks that a commit of the map itself may need.
 * Return: 0 or -ENOSPC.
 */
int pd_sm_alloc(struct pd_sm *sm, u64 *nr);

/**
 * pd_sm_dec() - drop one reference
 * @sm: the map
 * @nr: the block
 *
 * A count of three or more (never seen in a cache's metadata) is left alone.
 * Return: 0, or -EILSEQ when there is no reference.
 */
int pd_sm_dec(struct pd_sm *sm, u64 nr);

/**
 * pd_sm_count() - count the references of a block
 * @sm: the map
 * @nr: the block
 *
 * Return: 0 to 3, where 3 means three or more; 0 for a block past the end.
 */
unsigned int pd_sm_count(const struct pd_sm *sm, u64 nr);

/**
 * pd_sm_is_new() - whether a block was allocated since the last commit
 * @sm: the map
 * @nr: the block
 */
bool pd_sm_is_new(const struct pd_sm *sm, u64 nr);

/**
 * pd_sm_changed() - whether a commit has anything to write
 * @sm: the map
 */
bool pd_sm_changed(const struct pd_sm *sm);

/**
 * pd_sm_extend() - cover more blocks
 * @sm: the map
 * @nr_blocks: how many it covers then
 *
 * Return: 0, -ENOMEM, or -EINVAL if they are not more, or more than PD_MAX_BLOCKS.
 */
int pd_sm_extend(struct pd_sm *sm, u32 nr_blocks);

/**
 * pd_sm_write() - put all changes into dirty buffers
 * @sm: the map
 * @dev: the device
 * @root: receives the new root
 *
 * The caller flushes the device, writes @root into the superblock, makes that
 * durable and calls pd_sm_committed().
 */
int pd_sm_write(struct pd_sm *sm, struct pd_device *dev,
		struct pd_sm_root *root);

/**
 * pd_sm_committed() - from now on, what is in use now must be preserved
 * @sm: the map
 */
void pd_sm_committed(struct pd_sm *sm);

/**
 * pd_sm_nr_blocks() - blocks that the map covers
 * @sm: the map
 *
 * Context: any, no lock.
 */
u32 pd_sm_nr_blocks(const struct pd_sm *sm);
/**
 * pd_sm_nr_used() - blocks that are in use
 * @sm: the map
 *
 * Context: any, no lock.
 */
u32 pd_sm_nr_used(const struct pd_sm *sm);

/**
 * pd_sm_walk_own() - visit the index block and each bitmap block
 * @sm: the map
 * @fn: called with each block's number; a nonzero return stops the walk
 * @ctx: for @fn
 *
 * Return: 0, or what @fn returned.
 */
int pd_sm_walk_own(const struct pd_sm *sm, int (*fn)(void *ctx, u64 nr),
		   void *ctx);

#endif
