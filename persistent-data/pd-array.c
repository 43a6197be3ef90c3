// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of 4- or 8-byte values on the btree: key k of the tree is the block
 * number of array block k.
 *
 * This file owns the array blocks and the rule that all but the last are full.
 * Other writers leave surplus entries and blocks past the length behind: they
 * are ignored when reading and removed by a resize. This file must not know
 * what the values mean.
 */

#include "pd-array.h"

static struct pd_btree index_tree(const struct pd_array *a)
{
	struct pd_btree bt = { a->tm, sizeof(__le64) };

	return bt;
}

u32 pd_array_block_entries(const struct pd_array *a)
{
	return (PD_BLOCK_SIZE - sizeof(struct pd_array_block)) / a->value_size;
}

static u64 nr_array_blocks(const struct pd_array *a, u64 length)
{
	u32 per = pd_array_block_entries(a);
	u32 rest;
	u64 n = div_u64_rem(length, per, &rest);

	return n + !!rest;
}

/* How many elements array block @k of an array of @length holds. */
static u32 entries_in(const struct pd_array *a, u64 length, u64 k)
{
	u32 per = pd_array_block_entries(a);

	return min_t(u64, per, length - k * per);
}

static u32 nr_entries(const struct pd_block *b)
{
	return le32_to_cpu(((struct pd_array_block *)b->data)->nr_entries);
}

static void set_nr_entries(struct pd_block *b, u32 nr)
{
	((struct pd_array_block *)b->data)->nr_entries = cpu_to_le32(nr);
}

static void *value_at(const struct pd_array *a, const struct pd_block *b,
		      u32 i)
{
	return ((struct pd_array_block *)b->data)->values +
	       (size_t)i * a->value_size;
}

static int check_block(const struct pd_array *a, const struct pd_block *b,
		       u32 entries)
{
	const struct pd_array_block *ab = b->data;

	if (le32_to_cpu(ab->value_size) == a->value_size &&
	    le32_to_cpu(ab->nr_entries) >= entries)
		return 0;
	os_err("array block %llu has %u values of %u bytes, not %u of %u",
	       (unsigned long long)b->nr, le32_to_cpu(ab->nr_entries),
	       le32_to_cpu(ab->value_size), entries, a->value_size);
	return -EILSEQ;
}

static int read_block(const struct pd_array *a, u64 nr, u32 entries,
		      struct pd_block *b)
{
	int r = pd_tm_read(a->tm, nr, PD_KIND_ARRAY, b);

	if (r)
		return r;
	r = check_block(a, b, entries);
	if (r)
		pd_tm_put(b);
	return r;
}

static void remember(const struct pd_array *a, u64 root, u64 k, u64 nr)
{
	struct pd_array_place now = { root, k, nr };

	if (a->place)
		*a->place = now;
}

static bool is_remembered(const struct pd_array *a, u64 root, u64 k)
{
	const struct pd_array_place *p = a->place;

	return p && p->nr && p->root == root && p->k == k;
}

static int find_block(const struct pd_array *a, u64 root, u64 k, u64 *nr)
{
	struct pd_btree bt = index_tree(a);
	__le64 v;
	int r;

	if (is_remembered(a, root, k)) {
		*nr = a->place->nr;
		return 0;
	}
	r = pd_btree_lookup(&bt, root, k, &v);

	if (r == -ENODATA) {
		os_err("the array at block %llu lacks array block %llu",
		       (unsigned long long)root, (unsigned long long)k);
		return -EILSEQ;
	}
	if (r)
		return r;
	*nr = le64_to_cpu(v);
	remember(a, root, k, *nr);
	return 0;
}

static int point_to(const struct pd_array *a, u64 *root, u64 k, u64 nr)
{
	struct pd_btree bt = index_tree(a);
	__le64 v = cpu_to_le64(nr);
	int r;

	pd_array_forget(a->place);
	r = pd_btree_insert(&bt, root, k, &v);
	if (!r)
		remember(a, *root, k, nr);
	return r;
}

/* Holds array block @k, which is at @nr, for writing. */
static int shadow_at(const struct pd_array *a, u64 *root, u64 k, u64 nr,
		     u32 entries, struct pd_block *b)
{
	u64 now = nr;
	int r;

	r = pd_tm_shadow(a->tm, &now, PD_KIND_ARRAY, b);
	if (r)
		return r;
	r = check_block(a, b, entries);
	if (!r && now != nr)
		r = point_to(a, root, k, now);
	if (r)
		pd_tm_put(b);
	return r;
}

static int shadow_block(const struct pd_array *a, u64 *root, u64 k,
			u32 entries, struct pd_block *b)
{
	u64 nr;
	int r;

	r = find_block(a, *root, k, &nr);
	return r ? r : shadow_at(a, root, k, nr, entries, b);
}

/* Adds array block @k with @entries zero elements. */
static int append_block(const struct pd_array *a, u64 *root, u64 k,
			u32 entries, struct pd_block *b)
{
	struct pd_array_block *ab;
	int r;

	r = pd_tm_new(a->tm, PD_KIND_ARRAY, b);
	if (r)
		return r;
	ab = b->data;
	ab->max_entries = cpu_to_le32(pd_array_block_entries(a));
	ab->nr_entries = cpu_to_le32(entries);
	ab->value_size = cpu_to_le32(a->value_size);
	r = point_to(a, root, k, b->nr);
	if (r)
		pd_tm_put(b);
	return r;
}

int pd_array_empty(const struct pd_array *a, u64 *root)
{
	struct pd_btree bt = index_tree(a);

	return pd_btree_empty(&bt, root);
}

int pd_array_get(const struct pd_array *a, u64 root, u64 i, void *value)
{
	struct pd_block b;
	u32 e;
	u64 k = div_u64_rem(i, pd_array_block_entries(a), &e);
	u64 nr;
	int r;

	r = find_block(a, root, k, &nr);
	if (r)
		return r;
	r = read_block(a, nr, e + 1, &b);
	if (r)
		return r;
	memcpy(value, value_at(a, &b, e), a->value_size);
	pd_tm_put(&b);
	return 0;
}

void pd_array_writer_init(struct pd_array_writer *w, const struct pd_array *a, u64 root)
{
	*w = (struct pd_array_writer) { .a = *a, .root = root };
}

u64 pd_array_writer_put(struct pd_array_writer *w)
{
	pd_tm_put(&w->b);
	return w->root;
}

int pd_array_writer_set(struct pd_array_writer *w, u64 i, const void *value)
{
	u32 e;
	u64 k = div_u64_rem(i, pd_array_block_entries(&w->a), &e);
	int r;

	if (w->b.buf && w->k == k) {
		r = check_block(&w->a, &w->b, e + 1);
	} else {
		pd_tm_put(&w->b);
		r = shadow_block(&w->a, &w->root, k, e + 1, &w->b);
		w->k = k;
	}
	if (r)
		return r;
	memcpy(value_at(&w->a, &w->b, e), value, w->a.value_size);
	return 0;
}

int pd_array_set(const struct pd_array *a, u64 *root, u64 i,
		 const void *value)
{
	struct pd_array_writer w;
	int r;

	pd_array_writer_init(&w, a, *root);
	r = pd_array_writer_set(&w, i, value);
	*root = pd_array_writer_put(&w);
	return r;
}

/* Would @fn leave element @e of array block @nr as it is?  An error is negative. */
static int stays_same(const struct pd_array *a, u64 nr, u32 e,
		      pd_array_change_fn fn, void *ctx)
{
	struct pd_block b;
	__le64 old = 0, new;	/* the longest value */
	int r;

	r = read_block(a, nr, e + 1, &b);
	if (r)
		return r;
	memcpy(&old, value_at(a, &b, e), a->value_size);
	pd_tm_put(&b);
	new = old;
	fn(ctx, &new);
	return new == old;
}

int pd_array_change(const struct pd_array *a, u64 *root, u64 i,
		    pd_array_change_fn fn, void *ctx)
{
	struct pd_block b;
	u32 e;
	u64 k = div_u64_rem(i, pd_array_block_entries(a), &e);
	u64 nr;
	int r;

	r = find_block(a, *root, k, &nr);
	if (r)
		return r;
	/* This transaction writes the array block in any case, if it is new. */
	if (!pd_tm_is_new(a->tm, nr)) {
		r = stays_same(a, nr, e, fn, ctx);
		if (r)
			return r < 0 ? r : 0;
	}
	r = shadow_at(a, root, k, nr, e + 1, &b);
	if (r)
		return r;
	fn(ctx, value_at(a, &b, e));
	pd_tm_put(&b);
	return 0;
}

/* ---- Cursors ---- */

/* Array blocks that a cursor has on the way: as many as a walk of the tree has. */
#define CURSOR_WINDOW	32

void pd_array_cursor_init(struct pd_array_cursor *c, struct pd_tm *tm,
			  u32 value_size, u64 root, u64 length)
{
	memset(c, 0, sizeof(*c));
	c->a.tm = tm;
	c->a.value_size = value_size;
	c->root = root;
	c->length = length;
}

void pd_array_cursor_put(struct pd_array_cursor *c)
{
	pd_tm_put(&c->b);
}

static int cursor_prefetch(struct pd_array_cursor *c, u64 k)
{
	u64 end = min(nr_array_blocks(&c->a, c->length), k + CURSOR_WINDOW);
	u64 nr;
	int r = 0;

	if (c->prefetched > k + CURSOR_WINDOW / 2)
		return 0;
	for (k = max(k, c->prefetched); k < end && !r; k++) {
		r = find_block(&c->a, c->root, k, &nr);
		if (!r)
			pd_tm_prefetch(c->a.tm, nr);
	}
	c->prefetched = end;
	return r;
}

static int cursor_move(struct pd_array_cursor *c, u64 k)
{
	u64 nr;
	int r;

	pd_tm_put(&c->b);
	r = cursor_prefetch(c, k);
	if (r)
		return r;
	r = find_block(&c->a, c->root, k, &nr);
	if (r)
		return r;
	c->k = k;
	return read_block(&c->a, nr, entries_in(&c->a, c->length, k), &c->b);
}

int pd_array_cursor_get(struct pd_array_cursor *c, u64 i, void *value)
{
	u32 e;
	u64 k = div_u64_rem(i, pd_array_block_entries(&c->a), &e);
	int r;

	if (!c->b.buf || c->k != k) {
		r = cursor_move(c, k);
		if (r)
			return r;
	}
	memcpy(value, value_at(&c->a, &c->b, e), c->a.value_size);
	return 0;
}

/* ---- Whole arrays ---- */

#define WALK_DONE	1	/* the length was reached; a surplus follows */

struct array_walk {
	const struct pd_array *a;
	u64 length;
	u64 nr_blocks;
	u64 next;		/* the array block that has to come */
	pd_array_fn fn;
	void *ctx;
	int result;		/* what fn returned last */
};

static int walk_array_block(void *ctx, u64 key, const void *value)
{
	struct array_walk *w = ctx;
	struct pd_block b;
	__le64 v;
	u32 n;
	int r;

	if (w->next == w->nr_blocks)
		return WALK_DONE;
	if (key != w->next)
		return -EILSEQ;
	w->next++;

	memcpy(&v, value, sizeof(v));
	n = entries_in(w->a, w->length, key);
	r = read_block(w->a, le64_to_cpu(v), n, &b);
	if (r)
		return r;
	w->result = w->fn(w->ctx, key * pd_array_block_entries(w->a),
			  value_at(w->a, &b, 0), n);
	pd_tm_put(&b);
	return w->result;
}

int pd_array_walk(const struct pd_array *a, u64 root, u64 length,
		  pd_array_fn fn, void *ctx)
{
	struct pd_btree bt = index_tree(a);
	struct array_walk w = {
		.a = a,
		.length = length,
		.nr_blocks = nr_array_blocks(a, length),
		.fn = fn,
		.ctx = ctx,
	};
	struct pd_btree_visitor v = {
		.entry = walk_array_block,
		.prefetch_values = true,
		.ctx = &w,
	};
	int r;

	r = pd_btree_walk(&bt, root, &v);
	if (w.result)
		return w.result;
	if (r == WALK_DONE)
		r = 0;
	if (!r && w.next != w.nr_blocks)
		r = -EILSEQ;
	if (r == -EILSEQ)
		os_err("the array at block %llu is damaged after %llu of %llu blocks",
		       (unsigned long long)root, (unsigned long long)w.next,
		       (unsigned long long)w.nr_blocks);
	return r;
}

int pd_array_build(const struct pd_array *a, u64 *root, u64 length,
		   pd_array_fn fn, void *ctx)
{
	u64 n = nr_array_blocks(a, length);
	struct pd_block b;
	u64 k;
	int r;

	r = pd_array_empty(a, root);
	for (k = 0; k < n && !r; k++) {
		u32 entries = entries_in(a, length, k);

		r = append_block(a, root, k, entries, &b);
		if (r)
			break;
		if (fn)
			r = fn(ctx, k * pd_array_block_entries(a),
			       value_at(a, &b, 0), entries);
		pd_tm_put(&b);
		cond_resched();
	}
	return r;
}

static int update_block(const struct pd_array *a, u64 *root, u64 k, u32 entries,
			bool (*needed)(void *ctx, u64 first,
				       const void *values, u32 count),
			pd_array_fn fn, void *ctx)
{
	u64 first = k * pd_array_block_entries(a);
	struct pd_block b;
	bool go;
	u64 nr;
	int r;

	r = find_block(a, *root, k, &nr);
	if (r)
		return r;
	r = read_block(a, nr, entries, &b);
	if (r)
		return r;
	go = needed(ctx, first, value_at(a, &b, 0), entries);
	pd_tm_put(&b);
	if (!go)
		return 0;

	r = shadow_at(a, root, k, nr, entries, &b);
	if (r)
		return r;
	r = fn(ctx, first, value_at(a, &b, 0), entries);
	pd_tm_put(&b);
	return r;
}

int pd_array_update(const struct pd_array *a, u64 *root, u64 length,
		    bool (*needed)(void *ctx, u64 first, const void *values,
				   u32 count),
		    pd_array_fn fn, void *ctx)
{
	u64 n = nr_array_blocks(a, length);
	u64 k;
	int r = 0;

	for (k = 0; k < n && !r; k++) {
		r = update_block(a, root, k, entries_in(a, length, k), needed,
				 fn, ctx);
		cond_resched();
	}
	return r;
}

/* ---- Resizing ---- */

static int remove_block(const struct pd_array *a, u64 *root, u64 k)
{
	struct pd_btree bt = index_tree(a);
	u64 nr;
	int r;

	r = find_block(a, *root, k, &nr);
	pd_array_forget(a->place);
	if (!r)
		r = pd_btree_remove(&bt, root, k);
	return r ? r : pd_tm_dec(a->tm, nr);
}

/* Removes all array blocks from @nr_blocks on, surplus ones included. */
static int trim_blocks(const struct pd_array *a, u64 *root, u64 nr_blocks)
{
	struct pd_btree bt = index_tree(a);
	u64 key;
	int r;

	for (;;) {
		r = pd_btree_highest(&bt, *root, &key);
		if (r == -ENODATA)
			return 0;
		if (r || key < nr_blocks)
			return r;
		r = remove_block(a, root, key);
		if (r)
			return r;
		cond_resched();
	}
}

/* Set the last block's number of entries. New entries are zero. */
static int resize_block(const struct pd_array *a, u64 *root, u64 k,
			u32 have, u32 want)
{
	struct pd_block b;
	u64 nr;
	bool same;
	int r;

	r = find_block(a, *root, k, &nr);
	if (r)
		return r;
	r = read_block(a, nr, have, &b);
	if (r)
		return r;
	same = nr_entries(&b) == want && want == have;
	pd_tm_put(&b);
	if (same)
		return 0;

	r = shadow_at(a, root, k, nr, have, &b);
	if (r)
		return r;
	if (want > have)
		memset(value_at(a, &b, have), 0,
		       (size_t)(want - have) * a->value_size);
	set_nr_entries(&b, want);
	pd_tm_put(&b);
	return 0;
}

static int rebuild_empty(const struct pd_array *a, u64 *root)
{
	int r = pd_array_delete(a, *root);

	return r ? r : pd_array_empty(a, root);
}

int pd_array_resize(const struct pd_array *a, u64 *root, u64 old_length,
		    u64 new_length)
{
	u64 keep = min(nr_array_blocks(a, old_length),
		       nr_array_blocks(a, new_length));
	u64 n = nr_array_blocks(a, new_length);
	struct pd_block b;
	u64 k;
	int r;

	if (!new_length && old_length)
		return rebuild_empty(a, root);

	r = trim_blocks(a, root, keep);
	if (!r && keep)
		r = resize_block(a, root, keep - 1,
				 entries_in(a, old_length, keep - 1),
				 entries_in(a, new_length, keep - 1));
	for (k = keep; k < n && !r; k++) {
		r = append_block(a, root, k, entries_in(a, new_length, k), &b);
		if (!r)
			pd_tm_put(&b);
		cond_resched();
	}
	return r;
}

static int delete_block(void *ctx, u64 key, const void *value)
{
	const struct pd_array *a = ctx;
	__le64 v;

	(void)key;
	memcpy(&v, value, sizeof(v));
	return pd_tm_dec(a->tm, le64_to_cpu(v));
}

int pd_array_delete(const struct pd_array *a, u64 root)
{
	struct pd_btree bt = index_tree(a);
	struct pd_array copy = *a;

	pd_array_forget(a->place);
	return pd_btree_delete(&bt, root, delete_block, &copy);
}
