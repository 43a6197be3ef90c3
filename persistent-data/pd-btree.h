/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A B+ tree from 64-bit keys to small fixed-size values, copied on write.
 *
 * Must not know what keys and values mean.
 */

#ifndef HEARTH_PD_BTREE_H
#define HEARTH_PD_BTREE_H

#include "pd-transaction.h"

/* More levels than a full device needs, even with nodes a third full. */
#define PD_BTREE_MAX_DEPTH	10

/**
 * struct pd_btree - a kind of tree; the root is the caller's to keep
 * @value_size: 4, 8 or 16 bytes.  Values are passed as they are on the disk.
 */
struct pd_btree {
	struct pd_tm *tm;
	u32 value_size;
};

/**
 * struct pd_btree_visitor - what a walk calls; each member may be NULL
 * @node: a node is about to be visited; may free it with pd_tm_dec()
 * @entry: a leaf's entry, in ascending order of keys
 * @prefetch_values: values are block numbers that @entry is going to read
 *
 * A nonzero return stops the walk and is returned by it.
 */
struct pd_btree_visitor {
	int (*node)(void *ctx, u64 nr, const struct pd_node *n, bool is_root);
	int (*entry)(void *ctx, u64 key, const void *value);
	bool prefetch_values;
	void *ctx;
};

/** pd_btree_empty() - make an empty tree */
int pd_btree_empty(const struct pd_btree *bt, u64 *root);

/** pd_btree_lookup() - 0, -ENODATA if there is no such key, or an error */
int pd_btree_lookup(const struct pd_btree *bt, u64 root, u64 key, void *value);

/** pd_btree_highest() - the highest key; -ENODATA for an empty tree */
int pd_btree_highest(const struct pd_btree *bt, u64 root, u64 *key);

/** pd_btree_insert() - insert a key, or change its value */
int pd_btree_insert(const struct pd_btree *bt, u64 *root, u64 key,
		    const void *value);

/** pd_btree_remove() - remove a key; -ENODATA (nothing changed) if absent */
int pd_btree_remove(const struct pd_btree *bt, u64 *root, u64 key);

/**
 * pd_btree_walk() - visit all nodes, parents first, and all entries
 *
 * Ends on any structure, also one made to confuse: -EILSEQ then.
 */
int pd_btree_walk(const struct pd_btree *bt, u64 root,
		  const struct pd_btree_visitor *v);

/** pd_btree_delete() - free all nodes; @entry, if any, as in a walk */
int pd_btree_delete(const struct pd_btree *bt, u64 root,
		    int (*entry)(void *ctx, u64 key, const void *value),
		    void *ctx);

#endif
