/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A B+ tree from 64-bit keys to small fixed-size values, copied on write. This
 * layer must not know what keys and values mean.
 *
 * Context, for all functions: may sleep and do I/O; the caller serialises all
 * calls on one transaction manager. Errors: -EILSEQ for a damaged tree,
 * -ENOSPC, -ENOMEM, -EROFS, or the device's. A change that fails may be there
 * in part; the caller aborts the transaction then.
 */

#ifndef HEARTH_PD_BTREE_H
#define HEARTH_PD_BTREE_H

#include "pd-transaction.h"

/*
 * More levels than a full device needs: a node has 84 entries at least, being a
 * third full, and a device 4,161,600 blocks, so four levels hold all.
 */
#define PD_BTREE_MAX_DEPTH	10

/**
 * struct pd_btree - a kind of tree; the root is the caller's to keep
 * @tm: the transaction manager
 * @value_size: 4, 8 or 16 bytes.  Values are passed as they are on the disk.
 */
struct pd_btree {
	struct pd_tm *tm;
	u32 value_size;
};

/**
 * struct pd_btree_visitor - what a walk calls; each member may be NULL
 * @node: a node is about to be visited; may free it with pd_tm_dec()
 * @ctx: for the two functions
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

/**
 * pd_btree_empty() - make an empty tree
 * @bt: the kind of tree
 * @root: receives the tree's root
 */
int pd_btree_empty(const struct pd_btree *bt, u64 *root);

/**
 * pd_btree_lookup() - read a key's value
 * @bt: the kind of tree
 * @root: the tree's root
 * @key: the key
 * @value: receives the value
 *
 * Return: -ENODATA if the key is absent.
 */
int pd_btree_lookup(const struct pd_btree *bt, u64 root, u64 key, void *value);

/**
 * pd_btree_highest() - find the highest key
 * @bt: the kind of tree
 * @root: the tree's root
 * @key: receives the key
 *
 * Return: -ENODATA for an empty tree.
 */
int pd_btree_highest(const struct pd_btree *bt, u64 root, u64 *key);

/**
 * pd_btree_insert() - insert a key, or change its value
 * @bt: the kind of tree
 * @root: the tree's root, which moves
 * @key: the key
 * @value: its value
 */
int pd_btree_insert(const struct pd_btree *bt, u64 *root, u64 key,
		    const void *value);

/**
 * pd_btree_remove() - remove a key
 * @bt: the kind of tree
 * @root: the tree's root, which moves
 * @key: the key
 *
 * Return: -ENODATA, and nothing has changed, if the key is absent.
 */
int pd_btree_remove(const struct pd_btree *bt, u64 *root, u64 key);

/**
 * pd_btree_walk() - visit all nodes, parents first, and all entries
 * @bt: the kind of tree
 * @root: its root
 * @v: what to call
 *
 * Ends on any structure, also on one made to confuse.
 * Return: 0; what a callback returned; -EILSEQ for a damaged tree; or an error.
 */
int pd_btree_walk(const struct pd_btree *bt, u64 root,
		  const struct pd_btree_visitor *v);

/**
 * pd_btree_delete() - free all nodes
 * @bt: the kind of tree
 * @root: the tree's root
 * @entry: called with each entry, as in a walk; may be NULL
 * @ctx: for @entry
 */
int pd_btree_delete(const struct pd_btree *bt, u64 root,
		    int (*entry)(void *ctx, u64 key, const void *value),
		    void *ctx);

#endif
