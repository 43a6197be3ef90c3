// SPDX-License-Identifier: GPL-2.0-only
/*
 * The btree, compared with a plain table.  Index i of the table stands for a key
 * that is either i itself or i scattered over all 64 bits.
 */

#include "util.h"

#define SCATTER		0x9E3779B97F4A7C15ULL
#define GATHER		0xF1DE83E19937733DULL	/* the inverse of SCATTER */

struct model {
	u32 room;
	bool scattered;
	u32 value_size;
	u32 count;
	u8 *present;
	u64 *value;
	u8 *old_present;
	u64 *old_value;
	u32 old_count;
};

static u64 key_of(const struct model *m, u64 i)
{
	return m->scattered ? i * SCATTER : i;
}

static u64 index_of(const struct model *m, u64 key)
{
	return m->scattered ? key * GATHER : key;
}

static void encode(const struct model *m, u64 v, u8 out[16])
{
	for (u32 i = 0; i < m->value_size; i++)
		out[i] = v >> (8 * (i % 8));
}

static void assert_value(const struct model *m, u64 i, const void *value)
{
	u8 want[16];

	encode(m, m->value[i], want);
	assert_memory_equal(value, want, m->value_size);
}

static void model_make(struct model *m, u32 room, bool scattered,
		       u32 value_size)
{
	memset(m, 0, sizeof(*m));
	m->room = room;
	m->scattered = scattered;
	m->value_size = value_size;
	m->present = calloc(room, 1);
	m->old_present = calloc(room, 1);
	m->value = calloc(room, sizeof(u64));
	m->old_value = calloc(room, sizeof(u64));
}

static void model_free(struct model *m)
{
	free(m->present);
	free(m->old_present);
	free(m->value);
	free(m->old_value);
}

static void model_commit(struct model *m)
{
	memcpy(m->old_present, m->present, m->room);
	memcpy(m->old_value, m->value, m->room * sizeof(u64));
	m->old_count = m->count;
}

static void model_abort(struct model *m)
{
	memcpy(m->present, m->old_present, m->room);
	memcpy(m->value, m->old_value, m->room * sizeof(u64));
	m->count = m->old_count;
}

struct check {
	struct model *m;
	u32 entries;
	u32 nodes;
};

static int check_node(void *ctx, u64 nr, const struct pd_node *n, bool is_root)
{
	struct check *c = ctx;

	(void)nr;
	c->nodes++;
	if (!is_root)
		assert_true(le32_to_cpu(n->nr_entries) >=
			    le32_to_cpu(n->max_entries) / 3);
	return 0;
}

static int check_entry(void *ctx, u64 key, const void *value)
{
	struct check *c = ctx;
	u64 i = index_of(c->m, key);

	assert_true(i < c->m->room);
	assert_true(c->m->present[i]);
	assert_value(c->m, i, value);
	c->entries++;
	return 0;
}

/* The walk checks the order.  This checks that each key is there, and no other. */
static void compare(struct store *s, const struct pd_btree *bt, u64 root,
		    struct model *m)
{
	struct check c = { m, 0, 0 };
	struct pd_btree_visitor v = {
		.node = check_node,
		.entry = check_entry,
		.ctx = &c,
	};

	assert_ok(pd_btree_walk(bt, root, &v));
	assert_int_equal(c.entries, m->count);
	assert_int_equal(c.nodes, store_used(s));
}

static void insert(const struct pd_btree *bt, u64 *root, struct model *m,
		   u64 i, u64 v)
{
	u8 value[16];

	m->count += !m->present[i];
	m->present[i] = 1;
	m->value[i] = v;
	encode(m, v, value);
	assert_ok(pd_btree_insert(bt, root, key_of(m, i), value));
}

static void delete(const struct pd_btree *bt, u64 *root, struct model *m,
		   u64 i)
{
	int r = pd_btree_remove(bt, root, key_of(m, i));

	assert_int_equal(r, m->present[i] ? 0 : -ENODATA);
	m->count -= m->present[i];
	m->present[i] = 0;
}

static void lookup(const struct pd_btree *bt, u64 root, struct model *m, u64 i)
{
	u8 value[16];
	int r = pd_btree_lookup(bt, root, key_of(m, i), value);

	assert_int_equal(r, m->present[i] ? 0 : -ENODATA);
	if (!r)
		assert_value(m, i, value);
}

static void check_highest(const struct pd_btree *bt, u64 root, struct model *m)
{
	u64 key, want = 0;
	int r = pd_btree_highest(bt, root, &key);

	assert_int_equal(r, m->count ? 0 : -ENODATA);
	for (u32 i = 0; i < m->room; i++)
		if (m->present[i])
			want = max(want, key_of(m, i));
	if (!r)
		assert_true(key == want);
}

static void settle(struct store *s, u64 *root, u64 *old_root, struct model *m,
		   u64 *rng)
{
	if (one_in(rng, 4)) {
		store_abort(s);
		model_abort(m);
		*root = *old_root;
		return;
	}
	store_commit(s);
	model_commit(m);
	*old_root = *root;
	if (one_in(rng, 3))
		store_reopen(s);
	if (one_in(rng, 2))
		pd_device_set_early_writes(s->dev, 1 + below(rng, 1000));
}

/* Phases that mostly insert or mostly remove, over a window of the keys. */
static void phase(const struct pd_btree *bt, u64 *root, struct model *m,
		  u64 *rng, u32 ops)
{
	u32 grow = below(rng, 9) + 1;
	u32 from = below(rng, m->room);
	u32 width = one_in(rng, 2) ? m->room : 1 + below(rng, m->room);

	while (ops--) {
		u64 i = (from + below(rng, width)) % m->room;

		if (one_in(rng, 5))
			lookup(bt, *root, m, i);
		else if (below(rng, 10) < grow)
			insert(bt, root, m, i, rnd(rng));
		else
			delete(bt, root, m, i);
	}
}

static void run(u64 *rng, u32 room, bool scattered, u32 value_size, u32 phases)
{
	struct model m;
	struct store s;
	struct pd_btree bt = { &s.tm, value_size };
	u64 root, old_root;

	store_make(&s, 3000);
	model_make(&m, room, scattered, value_size);
	assert_ok(pd_btree_empty(&bt, &root));
	store_commit(&s);
	old_root = root;
	while (phases--) {
		phase(&bt, &root, &m, rng, below(rng, 2 * room));
		compare(&s, &bt, root, &m);
		check_highest(&bt, root, &m);
		settle(&s, &root, &old_root, &m, rng);
		compare(&s, &bt, root, &m);
	}
	for (u32 i = 0; i < room; i++)
		if (m.present[i])
			delete(&bt, &root, &m, i);
	compare(&s, &bt, root, &m);
	assert_int_equal(store_used(&s), 1);
	assert_ok(pd_btree_delete(&bt, root, NULL, NULL));
	assert_int_equal(store_used(&s), 0);
	model_free(&m);
	store_free(&s);
}

static void random_operations(void **state)
{
	static const u32 sizes[] = { 4, 8, 16 };
	u64 rng = test_seed("btree", 201);

	(void)state;
	for (u32 i = rounds(36); i; i--)
		run(&rng, 1 + below(&rng, 4000), i % 2, sizes[i % 3], 20);
}

/* Fills three levels in ascending, descending and random order, and empties them. */
static void deep(u64 *rng, int order)
{
	const u32 n = 60000;
	struct model m;
	struct store s;
	struct pd_btree bt = { &s.tm, 16 };
	u64 root;

	store_make(&s, 3000);
	model_make(&m, n, order == 2, 16);
	assert_ok(pd_btree_empty(&bt, &root));
	for (u32 i = 0; i < n; i++)
		insert(&bt, &root, &m, order == 1 ? n - 1 - i : i, rnd(rng));
	compare(&s, &bt, root, &m);
	store_commit(&s);
	for (u32 i = 0; i < n; i++) {
		delete(&bt, &root, &m, order == 1 ? i : n - 1 - i);
		if (i % 10000 == 0) {
			compare(&s, &bt, root, &m);
			store_commit(&s);
		}
	}
	assert_int_equal(store_used(&s), 1);
	model_free(&m);
	store_free(&s);
}

static void three_levels(void **state)
{
	u64 rng = test_seed("three levels", 202);

	(void)state;
	for (int order = 0; order < 3; order++)
		deep(&rng, order);
}

/* A change of values in a full tree neither splits a node nor allocates a block. */
static void overwriting(void **state)
{
	struct store s;
	struct pd_btree bt = { &s.tm, 8 };
	__le64 v = 0;
	u64 root;

	(void)state;
	store_make(&s, 100);
	assert_ok(pd_btree_empty(&bt, &root));
	for (u32 i = 0; i < 252; i++)
		assert_ok(pd_btree_insert(&bt, &root, i, &v));
	assert_int_equal(store_used(&s), 1);
	for (u32 i = 0; i < 252; i++)
		assert_ok(pd_btree_insert(&bt, &root, i, &v));
	assert_int_equal(store_used(&s), 1);
	assert_ok(pd_btree_insert(&bt, &root, 252, &v));
	assert_int_equal(store_used(&s), 3);
	store_free(&s);
}

static void extreme_keys(void **state)
{
	struct store s;
	struct pd_btree bt = { &s.tm, 4 };
	struct pd_btree_visitor v = { 0 };
	__le32 value = cpu_to_le32(7);
	u64 root, key;

	(void)state;
	store_make(&s, 100);
	assert_ok(pd_btree_empty(&bt, &root));
	assert_int_equal(pd_btree_lookup(&bt, root, 0, &value), -ENODATA);
	assert_int_equal(pd_btree_remove(&bt, &root, 0), -ENODATA);
	for (u32 i = 0; i < 400; i++)
		assert_ok(pd_btree_insert(&bt, &root, U64_MAX - i, &value));
	assert_ok(pd_btree_insert(&bt, &root, 0, &value));
	assert_ok(pd_btree_walk(&bt, root, &v));
	assert_ok(pd_btree_highest(&bt, root, &key));
	assert_true(key == U64_MAX);
	assert_ok(pd_btree_lookup(&bt, root, 0, &value));
	assert_ok(pd_btree_lookup(&bt, root, U64_MAX, &value));
	assert_int_equal(pd_btree_lookup(&bt, root, 1, &value), -ENODATA);
	store_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(three_levels),
		cmocka_unit_test(overwriting),
		cmocka_unit_test(extreme_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
