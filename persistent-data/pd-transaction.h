/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy on write: blocks of the last committed state are never changed, only
 * copied; a commit makes the copies durable and then switches to them.
 *
 * This layer must not know what the blocks hold, nor where the superblock keeps
 * its roots.
 *
 * Context: all functions may sleep and do I/O; the caller serialises them per
 * struct pd_tm. Errors: -EILSEQ for a block that is not in use or is damaged,
 * -ENOSPC, -EROFS, or the device's. After an error the call holds nothing.
 */

#ifndef HEARTH_PD_TRANSACTION_H
#define HEARTH_PD_TRANSACTION_H

#include "pd-block-manager.h"
#include "pd-space-map.h"

struct pd_tm {
	struct pd_device *dev;
	struct pd_sm *sm;
};

/**
 * pd_tm_read() - hold a block for reading
 * @tm: the transaction manager
 * @nr: the block, which has to be in use
 * @kind: what it has to be
 * @b: receives the block
 */
int pd_tm_read(struct pd_tm *tm, u64 nr, enum pd_kind kind,
	       struct pd_block *b);

/**
 * pd_tm_new() - allocate a block and hold it, zeroed, for writing
 * @tm: the transaction manager
 * @kind: what the block becomes
 * @b: receives the block
 */
int pd_tm_new(struct pd_tm *tm, enum pd_kind kind, struct pd_block *b);

/**
 * pd_tm_shadow() - hold a block for writing; copies it first if the last commit
 * points to it
 * @tm: the transaction manager
 * @nr: where the block is; receives where it is now
 * @kind: what it has to be
 * @b: receives the block
 *
 * The caller owns the one pointer to the block, and stores the new number
 * there.
 */
int pd_tm_shadow(struct pd_tm *tm, u64 *nr, enum pd_kind kind,
		 struct pd_block *b);

/**
 * pd_tm_is_new() - whether pd_tm_shadow() would change a block in place
 * @tm: the transaction manager
 * @nr: any number
 */
static inline bool pd_tm_is_new(const struct pd_tm *tm, u64 nr)
{
	return pd_sm_is_new(tm->sm, nr);
}

/**
 * pd_tm_dec() - drop the reference to a block that is no longer pointed to
 * @tm: the transaction manager
 * @nr: the block
 */
int pd_tm_dec(struct pd_tm *tm, u64 nr);

/**
 * pd_tm_put() - let go of a block
 * @b: the block; nothing happens if it was put before
 */
static inline void pd_tm_put(struct pd_block *b)
{
	pd_block_put(b);
}

/**
 * pd_tm_prefetch() - a hint that a block will be read soon
 * @tm: the transaction manager
 * @nr: any number, also none of a block
 */
void pd_tm_prefetch(struct pd_tm *tm, u64 nr);

/**
 * pd_tm_pre_commit() - make all but the superblock durable
 * @tm: the transaction manager
 * @root: receives the space map's new root, for the superblock
 */
int pd_tm_pre_commit(struct pd_tm *tm, struct pd_sm_root *root);

/**
 * pd_write_superblock() - write block 0, and flush
 * @dev: the device
 * @data: the superblock, PD_BLOCK_SIZE bytes
 * @kind: what it is
 */
int pd_write_superblock(struct pd_device *dev, const void *data,
			enum pd_kind kind);

#endif
