/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which metadata blocks are in use: the reference counts, wholly in memory, and
 * their bitmaps on the disk.
 *
 * Must not know what the blocks are for.
 */

#ifndef HEARTH_PD_SPACE_MAP_H
#define HEARTH_PD_SPACE_MAP_H

#include "pd-block-manager.h"

struct pd_sm;

/**
 * pd_sm_create() - a map of a device with nothing in use but block 0
 *
 * Return: 0, -ENOMEM, or -EINVAL for more than PD_MAX_BLOCKS blocks or none.
 */
int pd_sm_create(u32 nr_blocks, struct pd_sm **out);

/**
 * pd_sm_load() - read the map that a superblock names
 * @why: says what is wrong, on error
 */
int pd_sm_load(struct pd_device *dev, const struct pd_sm_root *root,
	       struct pd_sm **out, const char **why);

void pd_sm_destroy(struct pd_sm *sm);

/** pd_sm_set_overflow_root() - for a new map: root of the overflow tree */
void pd_sm_set_overflow_root(struct pd_sm *sm, u64 root);
u64 pd_sm_overflow_root(const struct pd_sm *sm);

/**
 * pd_sm_alloc() - take a block that is free now and was at the last commit
 *
 * Keeps back what a commit of the map itself may need.
 * Return: 0 or -ENOSPC.
 */
int pd_sm_alloc(struct pd_sm *sm, u64 *nr);

/**
 * pd_sm_dec() - drop one reference
 *
 * A count of three or more (never seen in a cache's metadata) is left alone.
 * Return: 0, or -EILSEQ when there is no reference.
 */
int pd_sm_dec(struct pd_sm *sm, u64 nr);

/** pd_sm_count() - references: 0 to 3, where 3 means three or more */
unsigned int pd_sm_count(const struct pd_sm *sm, u64 nr);

/** pd_sm_is_new() - whether the block was allocated since the last commit */
bool pd_sm_is_new(const struct pd_sm *sm, u64 nr);

/** pd_sm_changed() - whether a commit has anything to write */
bool pd_sm_changed(const struct pd_sm *sm);

/** pd_sm_extend() - cover more blocks; -ENOMEM, or -EINVAL if not more */
int pd_sm_extend(struct pd_sm *sm, u32 nr_blocks);

/**
 * pd_sm_write() - put all changes into dirty buffers
 * @root: receives the new root
 *
 * The caller flushes the device, writes @root into the superblock, makes that
 * durable and calls pd_sm_committed().
 */
int pd_sm_write(struct pd_sm *sm, struct pd_device *dev,
		struct pd_sm_root *root);

/** pd_sm_committed() - from now on, what is in use now must be preserved */
void pd_sm_committed(struct pd_sm *sm);

/* Any context, no lock. */
u32 pd_sm_nr_blocks(const struct pd_sm *sm);
u32 pd_sm_nr_used(const struct pd_sm *sm);

/**
 * pd_sm_walk_own() - call @fn for the index block and each bitmap block
 */
int pd_sm_walk_own(const struct pd_sm *sm, int (*fn)(void *ctx, u64 nr),
		   void *ctx);

#endif
