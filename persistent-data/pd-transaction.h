/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy on write: blocks of the last committed state are never changed, only
 * copied; a commit makes the copies durable and then switches to them.
 *
 * Must not know what the blocks hold, nor where the superblock keeps its roots.
 */

#ifndef HEARTH_PD_TRANSACTION_H
#define HEARTH_PD_TRANSACTION_H

#include "pd-block-manager.h"
#include "pd-space-map.h"

struct pd_tm {
	struct pd_device *dev;
	struct pd_sm *sm;
};

/** pd_tm_read() - hold a block for reading; it has to be one that is in use */
int pd_tm_read(struct pd_tm *tm, u64 nr, enum pd_kind kind,
	       struct pd_block *b);

/** pd_tm_new() - allocate a block and hold it, zeroed, for writing */
int pd_tm_new(struct pd_tm *tm, enum pd_kind kind, struct pd_block *b);

/**
 * pd_tm_shadow() - hold a block for writing, after copying it if it has to be
 * @nr: where it is; receives where it is now
 *
 * The caller owns the one reference to the block, and updates it.
 */
int pd_tm_shadow(struct pd_tm *tm, u64 *nr, enum pd_kind kind,
		 struct pd_block *b);

/** pd_tm_dec() - drop the reference to a block that is no longer pointed to */
int pd_tm_dec(struct pd_tm *tm, u64 nr);

static inline void pd_tm_put(struct pd_block *b)
{
	pd_block_put(b);
}

/** pd_tm_prefetch() - a hint; any number will do */
void pd_tm_prefetch(struct pd_tm *tm, u64 nr);

/**
 * pd_tm_pre_commit() - make all but the superblock durable
 * @root: receives the space map's new root, for the superblock
 */
int pd_tm_pre_commit(struct pd_tm *tm, struct pd_sm_root *root);

/** pd_write_superblock() - write block 0 and flush */
int pd_write_superblock(struct pd_device *dev, const void *data,
			enum pd_kind kind);

#endif
