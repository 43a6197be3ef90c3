// SPDX-License-Identifier: GPL-2.0-only
/*
 * A B+ tree from 64-bit keys to small fixed-size values, copied on write.
 *
 * This file owns the balance. A change goes down from the root once. Before it
 * enters a node it splits the node if that is full (insert), or feeds it if
 * that is at a third (remove), so nothing has to be done on the way back. At
 * most the path's last node, its child and one sibling are held.
 *
 * The block manager checked headers and key order when a node was read. Here
 * every descent is bounded in depth, and a walk insists on ascending keys, so
 * that no structure on the disk can keep it busy for ever.
 *
 * This file must not know what keys and values mean.
 */

#include "pd-btree.h"

static u32 nr_entries(const struct pd_node *n)
{
	return le32_to_cpu(n->nr_entries);
}

static u32 max_entries(const struct pd_node *n)
{
	return le32_to_cpu(n->max_entries);
}

static bool is_leaf(const struct pd_node *n)
{
	return le32_to_cpu(n->flags) == PD_NODE_LEAF;
}

static bool is_full(const struct pd_node *n)
{
	return nr_entries(n) >= max_entries(n);
}

static u64 key_at(const struct pd_node *n, u32 i)
{
	return le64_to_cpu(n->keys[i]);
}

static void *value_at(const struct pd_node *n, u32 i)
{
	return (u8 *)(n->keys + max_entries(n)) +
	       (size_t)i * le32_to_cpu(n->value_size);
}

static u64 child_at(const struct pd_node *n, u32 i)
{
	__le64 v;

	memcpy(&v, value_at(n, i), sizeof(v));
	return le64_to_cpu(v);
}

static void set_child(struct pd_node *n, u32 i, u64 nr)
{
	__le64 v = cpu_to_le64(nr);

	memcpy(value_at(n, i), &v, sizeof(v));
}

/* How many keys are at or below @key. */
static u32 count_upto(const struct pd_node *n, u64 key)
{
	u32 lo = 0;
	u32 hi = nr_entries(n);

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (key_at(n, mid) <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The index of @key in a leaf, or -1. */
static int find_exact(const struct pd_node *n, u64 key)
{
	u32 i = count_upto(n, key);

	return i && key_at(n, i - 1) == key ? (int)i - 1 : -1;
}

/* Moves entries between two nodes of the same shape, or within one. */
static void move_entries(struct pd_node *to, u32 to_i,
			 const struct pd_node *from, u32 from_i, u32 count)
{
	memmove(to->keys + to_i, from->keys + from_i,
		count * sizeof(to->keys[0]));
	memmove(value_at(to, to_i), value_at(from, from_i),
		(size_t)count * le32_to_cpu(from->value_size));
}

static void set_nr(struct pd_node *n, u32 nr)
{
	n->nr_entries = cpu_to_le32(nr);
}

static void insert_at(struct pd_node *n, u32 i, u64 key, const void *value)
{
	u32 nr = nr_entries(n);

	move_entries(n, i + 1, n, i, nr - i);
	n->keys[i] = cpu_to_le64(key);
	memcpy(value_at(n, i), value, le32_to_cpu(n->value_size));
	set_nr(n, nr + 1);
}

static void remove_at(struct pd_node *n, u32 i)
{
	u32 nr = nr_entries(n);

	move_entries(n, i, n, i + 1, nr - i - 1);
	set_nr(n, nr - 1);
}

static int check_shape(const struct pd_btree *bt, const struct pd_block *b)
{
	const struct pd_node *n = b->data;

	if (!is_leaf(n) || le32_to_cpu(n->value_size) == bt->value_size)
		return 0;
	os_err("block %llu is a leaf with values of %u bytes, not %u",
	       (unsigned long long)b->nr, le32_to_cpu(n->value_size),
	       bt->value_size);
	return -EILSEQ;
}

static int read_node(const struct pd_btree *bt, u64 nr, struct pd_block *b)
{
	int r = pd_tm_read(bt->tm, nr, PD_KIND_NODE, b);

	if (r)
		return r;
	r = check_shape(bt, b);
	if (r)
		pd_tm_put(b);
	return r;
}

static int shadow_node(const struct pd_btree *bt, u64 *nr, struct pd_block *b)
{
	int r = pd_tm_shadow(bt->tm, nr, PD_KIND_NODE, b);

	if (r)
		return r;
	r = check_shape(bt, b);
	if (r)
		pd_tm_put(b);
	return r;
}

static int new_node(const struct pd_btree *bt, u32 flags, struct pd_block *b)
{
	u32 value_size = flags == PD_NODE_LEAF ? bt->value_size :
						 (u32)sizeof(__le64);
	struct pd_node *n;
	int r;

	r = pd_tm_new(bt->tm, PD_KIND_NODE, b);
	if (r)
		return r;
	n = b->data;
	n->flags = cpu_to_le32(flags);
	n->value_size = cpu_to_le32(value_size);
	n->max_entries = cpu_to_le32(3 * ((PD_BLOCK_SIZE - sizeof(*n)) /
					  (sizeof(__le64) + value_size) / 3));
	return 0;
}

static int too_deep(u64 root)
{
	os_err("the tree at block %llu has too many levels",
	       (unsigned long long)root);
	return -EILSEQ;
}

int pd_btree_empty(const struct pd_btree *bt, u64 *root)
{
	struct pd_block b;
	int r;

	r = new_node(bt, PD_NODE_LEAF, &b);
	if (r)
		return r;
	*root = b.nr;
	pd_tm_put(&b);
	return 0;
}

/*
 * Holds the leaf that covers @key, for reading.  -ENODATA if the key is below
 * the first one of an internal node.
 */
static int find_leaf(const struct pd_btree *bt, u64 root, u64 key,
		     struct pd_block *b)
{
	u64 nr = root;
	int depth, r;

	for (depth = 0; depth < PD_BTREE_MAX_DEPTH; depth++) {
		u32 i;

		r = read_node(bt, nr, b);
		if (r)
			return r;
		if (is_leaf(b->data))
			return 0;
		i = count_upto(b->data, key);
		if (i)
			nr = child_at(b->data, i - 1);
		pd_tm_put(b);
		if (!i)
			return -ENODATA;
	}
	return too_deep(root);
}

int pd_btree_lookup(const struct pd_btree *bt, u64 root, u64 key, void *value)
{
	struct pd_block b;
	int i, r;

	r = find_leaf(bt, root, key, &b);
	if (r)
		return r;
	i = find_exact(b.data, key);
	if (i >= 0)
		memcpy(value, value_at(b.data, i), bt->value_size);
	pd_tm_put(&b);
	return i < 0 ? -ENODATA : 0;
}

int pd_btree_highest(const struct pd_btree *bt, u64 root, u64 *key)
{
	struct pd_block b;
	u32 nr;
	int r;

	r = find_leaf(bt, root, U64_MAX, &b);
	if (r)
		return r;
	nr = nr_entries(b.data);
	if (nr)
		*key = key_at(b.data, nr - 1);
	pd_tm_put(&b);
	return nr ? 0 : -ENODATA;
}

static bool has_key(const struct pd_btree *bt, u64 root, u64 key, int *error)
{
	u8 value[16];
	int r = pd_btree_lookup(bt, root, key, value);

	*error = r == -ENODATA ? 0 : r;
	return !r;
}

/* ---- Insertion ---- */

/* Puts a new root above @cur, which becomes its only child. @cur then holds the root. */
static int grow_root(const struct pd_btree *bt, u64 *root,
		     struct pd_block *cur)
{
	struct pd_block top;
	__le64 child = cpu_to_le64(cur->nr);
	int r;

	r = new_node(bt, PD_NODE_INTERNAL, &top);
	if (r)
		return r;
	insert_at(top.data, 0, key_at(cur->data, 0), &child);
	*root = top.nr;
	pd_tm_put(cur);
	*cur = top;
	return 0;
}

/*
 * Splits the full @child, entry @i of @parent, and leaves held in @child the
 * half that covers @key.
 */
static int split_child(const struct pd_btree *bt, struct pd_node *parent,
		       u32 i, struct pd_block *child, u64 key)
{
	struct pd_node *left = child->data;
	u32 nr_left = nr_entries(left) / 2;
	u32 nr_right = nr_entries(left) - nr_left;
	struct pd_block b;
	__le64 right_nr;
	int r;

	r = new_node(bt, le32_to_cpu(left->flags), &b);
	if (r)
		return r;
	move_entries(b.data, 0, left, nr_left, nr_right);
	set_nr(b.data, nr_right);
	set_nr(left, nr_left);
	right_nr = cpu_to_le64(b.nr);
	insert_at(parent, i + 1, key_at(b.data, 0), &right_nr);

	if (key < key_at(b.data, 0)) {
		pd_tm_put(&b);
		return 0;
	}
	pd_tm_put(child);
	*child = b;
	return 0;
}

/* Goes from @cur to the child that covers @key, which gets room for it. */
static int enter_for_insert(const struct pd_btree *bt, struct pd_block *cur,
			    u64 key, bool make_room)
{
	struct pd_node *n = cur->data;
	u32 i = count_upto(n, key);
	struct pd_block child;
	u64 nr;
	int r;

	if (i)
		i--;
	else
		n->keys[0] = cpu_to_le64(key);

	nr = child_at(n, i);
	r = shadow_node(bt, &nr, &child);
	if (r)
		return r;
	set_child(n, i, nr);
	if (make_room && is_full(child.data)) {
		r = split_child(bt, n, i, &child, key);
		if (r) {
			pd_tm_put(&child);
			return r;
		}
	}
	pd_tm_put(cur);
	*cur = child;
	return 0;
}

static void leaf_insert(struct pd_node *n, u64 key, const void *value)
{
	u32 i = count_upto(n, key);

	if (i && key_at(n, i - 1) == key)
		memcpy(value_at(n, i - 1), value, le32_to_cpu(n->value_size));
	else
		insert_at(n, i, key, value);
}

int pd_btree_insert(const struct pd_btree *bt, u64 *root, u64 key,
		    const void *value)
{
	struct pd_block cur;
	bool make_room;
	int depth, r;

	make_room = !has_key(bt, *root, key, &r);
	if (r)
		return r;
	r = shadow_node(bt, root, &cur);
	if (r)
		return r;
	if (make_room && is_full(cur.data)) {
		r = grow_root(bt, root, &cur);
		if (r)
			goto out;
	}

	for (depth = 0; !is_leaf(cur.data); depth++) {
		r = depth < PD_BTREE_MAX_DEPTH ?
			enter_for_insert(bt, &cur, key, make_room) :
			too_deep(*root);
		if (r)
			goto out;
	}
	leaf_insert(cur.data, key, value);
out:
	pd_tm_put(&cur);
	return r;
}

/* ---- Removal ---- */

/* Moves entries so that both nodes, neighbours, hold about the same number. */
static void even_out(struct pd_node *left, struct pd_node *right)
{
	u32 nl = nr_entries(left);
	u32 nr = nr_entries(right);
	u32 want = (nl + nr) / 2;

	if (nl < want) {
		u32 count = want - nl;

		move_entries(left, nl, right, 0, count);
		move_entries(right, 0, right, count, nr - count);
	} else {
		u32 count = nl - want;

		move_entries(right, count, right, 0, nr);
		move_entries(right, 0, left, want, count);
	}
	set_nr(left, want);
	set_nr(right, nl + nr - want);
}

/*
 * Merges or evens out the children @i and @i + 1 of @parent, both held for writing.
 * After a merge only the left one remains.
 */
static int balance_children(const struct pd_btree *bt, struct pd_node *parent,
			    u32 i, struct pd_block *left,
			    struct pd_block *right, bool *merged)
{
	struct pd_node *l = left->data;
	struct pd_node *r = right->data;
	u32 total = nr_entries(l) + nr_entries(r);

	if (l->flags != r->flags) {
		os_err("blocks %llu and %llu are at different levels of a tree",
		       (unsigned long long)left->nr,
		       (unsigned long long)right->nr);
		return -EILSEQ;
	}

	/* Two nodes at a third, and one entry: almost a third of the node stays free. */
	*merged = total <= 2 * (max_entries(l) / 3) + 1;
	if (!*merged) {
		even_out(l, r);
		parent->keys[i + 1] = r->keys[0];
		return 0;
	}
	move_entries(l, nr_entries(l), r, 0, nr_entries(r));
	set_nr(l, total);
	remove_at(parent, i + 1);
	return pd_tm_dec(bt->tm, right->nr);
}

/*
 * Feeds @child, entry @i of @parent, from a neighbour.  Leaves held in @child
 * the node that covers @key.
 */
static int feed_child(const struct pd_btree *bt, struct pd_node *parent,
		      u32 i, struct pd_block *child, u64 key)
{
	bool with_left = i > 0;
	u32 other_i = with_left ? i - 1 : i + 1;
	struct pd_block other, *left, *right;
	u64 nr = child_at(parent, other_i);
	bool merged;
	int r;

	r = shadow_node(bt, &nr, &other);
	if (r)
		return r;
	set_child(parent, other_i, nr);

	left = with_left ? &other : child;
	right = with_left ? child : &other;
	r = balance_children(bt, parent, with_left ? other_i : i, left, right,
			     &merged);
	if (!r) {
		bool in_left = merged || key < key_at(right->data, 0);

		if (in_left == with_left) {
			struct pd_block keep = other;

			other = *child;
			*child = keep;
		}
	}
	pd_tm_put(&other);
	return r;
}

/*
 * Goes from @cur to the child that covers @key, which can lose an entry then
 * without falling below a third.
 */
static int enter_for_remove(const struct pd_btree *bt, struct pd_block *cur,
			    u64 key)
{
	struct pd_node *n = cur->data;
	u32 i = count_upto(n, key);
	struct pd_block child;
	u64 nr;
	int r;

	if (!i)
		return -EILSEQ;	/* the key was found a moment ago */
	i--;
	nr = child_at(n, i);
	r = shadow_node(bt, &nr, &child);
	if (r)
		return r;
	set_child(n, i, nr);

	if (nr_entries(n) > 1 &&
	    nr_entries(child.data) <= max_entries(child.data) / 3) {
		r = feed_child(bt, n, i, &child, key);
		if (r) {
			pd_tm_put(&child);
			return r;
		}
	}
	pd_tm_put(cur);
	*cur = child;
	return 0;
}

/* As long as the root has only one child, makes that the root. */
static int drop_thin_root(const struct pd_btree *bt, u64 *root)
{
	struct pd_block b;
	u64 only;
	int depth, r;

	for (depth = 0; depth < PD_BTREE_MAX_DEPTH; depth++) {
		bool thin;

		r = read_node(bt, *root, &b);
		if (r)
			return r;
		thin = !is_leaf(b.data) && nr_entries(b.data) == 1;
		only = thin ? child_at(b.data, 0) : 0;
		pd_tm_put(&b);
		if (!thin)
			return 0;
		r = pd_tm_dec(bt->tm, *root);
		if (r)
			return r;
		*root = only;
	}
	return too_deep(*root);
}

static int remove_from_leaf(struct pd_node *n, u64 key)
{
	int i = find_exact(n, key);

	if (i < 0)
		return -EILSEQ;	/* the key was found a moment ago */
	remove_at(n, i);
	return 0;
}

int pd_btree_remove(const struct pd_btree *bt, u64 *root, u64 key)
{
	struct pd_block cur;
	int depth, r;

	if (!has_key(bt, *root, key, &r))
		return r ? r : -ENODATA;
	r = drop_thin_root(bt, root);
	if (r)
		return r;
	r = shadow_node(bt, root, &cur);
	if (r)
		return r;

	for (depth = 0; !r && !is_leaf(cur.data); depth++)
		r = depth < PD_BTREE_MAX_DEPTH ?
			enter_for_remove(bt, &cur, key) : too_deep(*root);
	if (!r)
		r = remove_from_leaf(cur.data, key);
	pd_tm_put(&cur);
	return r ? r : drop_thin_root(bt, root);
}

/* ---- Walking ---- */

struct walk {
	const struct pd_btree *bt;
	const struct pd_btree_visitor *v;
	int depth;
	u64 next_key;		/* none below this may come */
	bool at_end;		/* U64_MAX was seen */
	struct frame {
		struct pd_block b;
		u32 i;
	} stack[PD_BTREE_MAX_DEPTH];
};

static int out_of_order(const struct pd_block *b)
{
	os_err("block %llu is an empty node or has keys out of its parent's range",
	       (unsigned long long)b->nr);
	return -EILSEQ;
}

static int walk_push(struct walk *w, u64 nr)
{
	struct frame *f = w->stack + w->depth;
	int r;

	if (w->depth == PD_BTREE_MAX_DEPTH)
		return too_deep(nr);
	r = read_node(w->bt, nr, &f->b);
	if (r)
		return r;
	f->i = 0;
	w->depth++;
	if (w->depth > 1 && !nr_entries(f->b.data))
		return out_of_order(&f->b);
	return w->v->node ?
		w->v->node(w->v->ctx, nr, f->b.data, w->depth == 1) : 0;
}

/* Blocks that a walk has on the way: 128 KiB, the kernel's usual readahead. */
#define PREFETCH_WINDOW		32u

static void walk_prefetch(const struct walk *w, const struct frame *f)
{
	const struct pd_node *n = f->b.data;
	u32 end, i;

	if (le32_to_cpu(n->value_size) != sizeof(__le64) ||
	    (is_leaf(n) && !w->v->prefetch_values))
		return;
	/* One window ahead; the first time, two. */
	if (f->i % PREFETCH_WINDOW)
		return;
	i = f->i ? f->i + PREFETCH_WINDOW : 0;
	end = min(nr_entries(n), f->i + 2 * PREFETCH_WINDOW);
	for (; i < end; i++)
		pd_tm_prefetch(w->bt->tm, child_at(n, i));
}

static int walk_entry(struct walk *w, struct frame *f)
{
	u64 key = key_at(f->b.data, f->i);

	if (w->at_end || key < w->next_key)
		return out_of_order(&f->b);
	w->at_end = key == U64_MAX;
	w->next_key = key + 1;
	return w->v->entry ?
		w->v->entry(w->v->ctx, key, value_at(f->b.data, f->i)) : 0;
}

static int walk_step(struct walk *w)
{
	struct frame *f = w->stack + w->depth - 1;
	const struct pd_node *n = f->b.data;
	int r;

	if (f->i == nr_entries(n)) {
		pd_tm_put(&f->b);
		w->depth--;
		return 0;
	}

	walk_prefetch(w, f);
	if (is_leaf(n)) {
		r = walk_entry(w, f);
	} else if (w->at_end || key_at(n, f->i) < w->next_key) {
		r = out_of_order(&f->b);
	} else {
		w->next_key = key_at(n, f->i);
		r = walk_push(w, child_at(n, f->i));
	}
	f->i++;
	return r;
}

int pd_btree_walk(const struct pd_btree *bt, u64 root,
		  const struct pd_btree_visitor *v)
{
	struct walk *w = os_zalloc(sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->bt = bt;
	w->v = v;

	r = walk_push(w, root);
	while (!r && w->depth) {
		r = walk_step(w);
		cond_resched();
	}
	while (w->depth)
		pd_tm_put(&w->stack[--w->depth].b);
	os_free(w);
	return r;
}

struct deletion {
	const struct pd_btree *bt;
	int (*entry)(void *ctx, u64 key, const void *value);
	void *ctx;
};

static int delete_node(void *ctx, u64 nr, const struct pd_node *n,
		       bool is_root)
{
	struct deletion *d = ctx;

	(void)n;
	(void)is_root;
	return pd_tm_dec(d->bt->tm, nr);
}

static int delete_entry(void *ctx, u64 key, const void *value)
{
	struct deletion *d = ctx;

	return d->entry ? d->entry(d->ctx, key, value) : 0;
}

int pd_btree_delete(const struct pd_btree *bt, u64 root,
		    int (*entry)(void *ctx, u64 key, const void *value),
		    void *ctx)
{
	struct deletion d = { bt, entry, ctx };
	struct pd_btree_visitor v = {
		.node = delete_node,
		.entry = delete_entry,
		.ctx = &d,
	};

	return pd_btree_walk(bt, root, &v);
}
