// SPDX-License-Identifier: GPL-2.0-only
/* Arrays and bitsets, each compared with a plain C array of the same values. */

#include "util.h"

#define MAX	12000u

struct model {
	u32 value_size;
	u32 length;
	u64 v[MAX];
};

static u64 decode(const struct model *m, const void *value)
{
	__le64 v = 0;

	memcpy(&v, value, m->value_size);
	return le64_to_cpu(v);
}

static void encode(const struct model *m, u64 v, __le64 *out)
{
	*out = cpu_to_le64(m->value_size == 4 ? (u32)v : v);
}

struct check {
	struct model *m;
	u64 next;
};

static int check_run(void *ctx, u64 first, void *values, u32 count)
{
	struct check *c = ctx;

	assert_int_equal(first, c->next);
	for (u32 i = 0; i < count; i++)
		assert_int_equal(decode(c->m, (u8 *)values +
						      i * c->m->value_size),
				 c->m->v[first + i]);
	c->next = first + count;
	return 0;
}

static int count_node(void *ctx, u64 nr, const struct pd_node *n, bool is_root)
{
	(void)nr;
	(void)is_root;
	*(u32 *)ctx += 1 + (le32_to_cpu(n->flags) == PD_NODE_LEAF ?
				    le32_to_cpu(n->nr_entries) : 0);
	return 0;
}

static u32 blocks_of(struct store *s, u64 root)
{
	struct pd_btree bt = { &s->tm, 8 };
	u32 n = 0;
	struct pd_btree_visitor v = { .node = count_node, .ctx = &n };

	assert_ok(pd_btree_walk(&bt, root, &v));
	return n;
}

static void compare(struct store *s, const struct pd_array *a, u64 root,
		    struct model *m)
{
	struct check c = { m, 0 };

	assert_ok(pd_array_walk(a, root, m->length, check_run, &c));
	assert_int_equal(c.next, m->length);
	assert_int_equal(blocks_of(s, root), store_used(s));
}

/* The last block holds exactly the expected entries, and no block follows it. */
static void check_tail(struct store *s, const struct pd_array *a, u64 root,
		       u32 length)
{
	struct pd_btree bt = { &s->tm, 8 };
	u32 per = pd_array_block_entries(a);
	struct pd_block b;
	__le64 nr;
	u64 key;
	int r = pd_btree_highest(&bt, root, &key);

	assert_int_equal(r, length ? 0 : -ENODATA);
	if (r)
		return;
	assert_int_equal(key, (length - 1) / per);
	assert_ok(pd_btree_lookup(&bt, root, key, &nr));
	assert_ok(pd_tm_read(&s->tm, le64_to_cpu(nr), PD_KIND_ARRAY, &b));
	assert_int_equal(le32_to_cpu(((struct pd_array_block *)b.data)->nr_entries),
			 length - key * per);
	pd_tm_put(&b);
}

static u32 some_length(const struct pd_array *a, u64 *rng)
{
	u32 per = pd_array_block_entries(a);

	if (one_in(rng, 8))
		return 0;
	if (one_in(rng, 2))
		return below(rng, MAX);
	return min(MAX - 1, per * below(rng, MAX / per) + below(rng, 3));
}

static void resize(struct store *s, const struct pd_array *a, u64 *root,
		   struct model *m, u32 length)
{
	assert_ok(pd_array_resize(a, root, m->length, length));
	for (u32 i = m->length; i < length; i++)
		m->v[i] = 0;
	m->length = length;
	check_tail(s, a, *root, length);
}

static void set(const struct pd_array *a, u64 *root, struct model *m, u64 *rng)
{
	u32 i = below(rng, m->length);
	__le64 v;

	m->v[i] = m->value_size == 4 ? (u32)rnd(rng) : rnd(rng);
	encode(m, m->v[i], &v);
	assert_ok(pd_array_set(a, root, i, &v));
}

static void get(const struct pd_array *a, u64 root, struct model *m, u64 *rng)
{
	u32 i = below(rng, m->length);
	__le64 v = 0;

	assert_ok(pd_array_get(a, root, i, &v));
	assert_int_equal(le64_to_cpu(v), m->v[i]);
}

static int fill_run(void *ctx, u64 first, void *values, u32 count)
{
	struct model *m = ctx;

	for (u32 i = 0; i < count; i++) {
		__le64 v;

		encode(m, m->v[first + i], &v);
		memcpy((u8 *)values + i * m->value_size, &v, m->value_size);
	}
	return 0;
}

static void rebuild(const struct pd_array *a, u64 *root, struct model *m,
		    u64 *rng)
{
	assert_ok(pd_array_delete(a, *root));
	m->length = some_length(a, rng);
	for (u32 i = 0; i < m->length; i++)
		m->v[i] = m->value_size == 4 ? (u32)rnd(rng) : rnd(rng);
	assert_ok(pd_array_build(a, root, m->length, fill_run, m));
}

static bool has_odd(void *ctx, u64 first, const void *values, u32 count)
{
	struct model *m = ctx;

	(void)values;
	for (u32 i = 0; i < count; i++)
		if (m->v[first + i] & 1)
			return true;
	return false;
}

static int make_even(void *ctx, u64 first, void *values, u32 count)
{
	struct model *m = ctx;

	for (u32 i = 0; i < count; i++)
		m->v[first + i] &= ~1ULL;
	return fill_run(ctx, first, values, count);
}

static void with_cursor(const struct pd_array *a, u64 root, struct model *m,
			u64 *rng)
{
	struct pd_array_cursor c;
	u32 i = 0;

	pd_array_cursor_init(&c, a->tm, a->value_size, root, m->length);
	for (; i < m->length; i += 1 + below(rng, 700)) {
		__le64 v = 0;

		assert_ok(pd_array_cursor_get(&c, i, &v));
		assert_int_equal(le64_to_cpu(v), m->v[i]);
	}
	pd_array_cursor_put(&c);
}

static void step(struct store *s, const struct pd_array *a, u64 *root,
		 struct model *m, u64 *rng)
{
	switch (below(rng, 12)) {
	case 0:
		resize(s, a, root, m, some_length(a, rng));
		break;
	case 1:
		rebuild(a, root, m, rng);
		break;
	case 2:
		assert_ok(pd_array_update(a, root, m->length, has_odd,
					  make_even, m));
		break;
	case 3:
		with_cursor(a, *root, m, rng);
		break;
	default:
		for (u32 i = below(rng, 200); i && m->length; i--)
			one_in(rng, 2) ? set(a, root, m, rng) :
					 get(a, *root, m, rng);
	}
}

/* @place: the array's, or NULL */
static void run(u64 *rng, u32 value_size, u32 turns, struct pd_array_place *place)
{
	struct model *m = calloc(1, sizeof(*m)), *old = calloc(1, sizeof(*m));
	struct store s;
	struct pd_array a = { &s.tm, value_size, place };
	u64 root, old_root;

	store_make(&s, 300);
	m->value_size = value_size;
	assert_ok(pd_array_empty(&a, &root));
	store_commit(&s);
	old_root = root;
	*old = *m;
	while (turns--) {
		for (u32 n = below(rng, 6); n; n--)
			step(&s, &a, &root, m, rng);
		compare(&s, &a, root, m);
		if (one_in(rng, 4)) {
			store_abort(&s);
			pd_array_forget(place);
			*m = *old;
			root = old_root;
		} else {
			store_commit(&s);
			*old = *m;
			old_root = root;
			if (one_in(rng, 3))
				store_reopen(&s);
			if (one_in(rng, 2))
				pd_device_set_early_writes(s.dev, 1 + below(rng, 99));
		}
		compare(&s, &a, root, m);
	}
	assert_ok(pd_array_delete(&a, root));
	assert_int_equal(store_used(&s), 0);
	store_free(&s);
	free(m);
	free(old);
}

static void random_arrays(void **state)
{
	u64 rng = test_seed("array", 301);

	(void)state;
	for (u32 i = rounds(10); i; i--) {
		struct pd_array_place fours = { 0 }, eights = { 0 };

		run(&rng, 4, 60, NULL);
		run(&rng, 8, 60, NULL);
		run(&rng, 4, 60, &fours);
		run(&rng, 8, 60, &eights);
	}
}

/* Resizes between every pair of lengths around the edges of blocks. */
static void edges(void **state)
{
	static const u32 lengths[] = {
		0, 1, 508, 509, 510, 700, 1017, 1018, 1019, 1527, 1528
	};
	struct model *m = calloc(1, sizeof(*m));
	struct store s;
	struct pd_array a = { &s.tm, 8, NULL };
	u64 root;

	(void)state;
	store_make(&s, 300);
	m->value_size = 8;
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++)
		for (u32 k = 0; k < ARRAY_SIZE(lengths); k++) {
			m->length = lengths[i];
			for (u32 e = 0; e < m->length; e++)
				m->v[e] = e + 1;
			assert_ok(pd_array_build(&a, &root, m->length,
						 fill_run, m));
			if (k % 2)
				store_commit(&s);
			resize(&s, &a, &root, m, lengths[k]);
			compare(&s, &a, root, m);
			assert_ok(pd_array_delete(&a, root));
			store_commit(&s);
		}
	store_free(&s);
	free(m);
}

/*
 * When the stock kernel shrinks an array from 700 to 509 entries it leaves a
 * surplus block behind.  Our code ignores that block, and a resize (even to the
 * same length) removes it.
 */
static void surplus_block(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct check c = { m, 0 };
	struct store s;
	struct pd_array a = { &s.tm, 8, NULL };
	u64 root;

	(void)state;
	store_make(&s, 300);
	m->value_size = 8;
	m->length = 700;
	for (u32 e = 0; e < 700; e++)
		m->v[e] = e + 1;
	assert_ok(pd_array_build(&a, &root, 700, fill_run, m));
	m->length = 509;
	assert_ok(pd_array_walk(&a, root, 509, check_run, &c));
	assert_int_equal(c.next, 509);
	resize(&s, &a, &root, m, 509);
	compare(&s, &a, root, m);
	store_free(&s);
	free(m);
}

/* Neither a removed array block nor a deleted array is remembered. */
static void removed_blocks_are_forgotten(void **state)
{
	struct pd_array_place place = { 0 };
	struct store s;
	struct pd_array a = { &s.tm, 8, &place };
	__le64 v;
	u64 root;

	(void)state;
	store_make(&s, 300);
	assert_ok(pd_array_build(&a, &root, 600, NULL, NULL));
	assert_ok(pd_array_get(&a, root, 599, &v));
	assert_int_equal(place.k, 1);
	assert_int_not_equal(place.nr, 0);
	assert_ok(pd_array_resize(&a, &root, 600, 509));
	assert_false(place.nr && place.k == 1);
	assert_ok(pd_array_get(&a, root, 0, &v));
	assert_int_not_equal(place.nr, 0);
	assert_ok(pd_array_delete(&a, root));
	assert_int_equal(place.nr, 0);
	store_free(&s);
}

static void too_short(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct check c = { m, 0 };
	struct store s;
	struct pd_array a = { &s.tm, 8, NULL }, b = { &s.tm, 4, NULL };
	__le64 v;
	u64 root;

	(void)state;
	os_quiet = true;
	store_make(&s, 300);
	m->value_size = 8;
	assert_ok(pd_array_build(&a, &root, 600, NULL, NULL));
	assert_int_equal(pd_array_walk(&a, root, 1019, check_run, &c), -EILSEQ);
	c.next = 0;
	assert_int_equal(pd_array_walk(&a, root, 601, check_run, &c), -EILSEQ);
	assert_int_equal(pd_array_get(&a, root, 600, &v), -EILSEQ);
	assert_int_equal(pd_array_get(&a, root, 6000, &v), -EILSEQ);
	assert_int_equal(pd_array_get(&b, root, 0, &v), -EILSEQ);
	os_quiet = false;
	store_free(&s);
	free(m);
}

/* ---- Bitsets ---- */

#define BITS	80000u

struct bits {
	u32 length;
	u8 b[BITS];
	u64 next;
};

static int check_bit(void *ctx, u64 bit)
{
	struct bits *m = ctx;

	for (; m->next < bit; m->next++)
		assert_int_equal(m->b[m->next], 0);
	assert_true(bit < m->length);
	assert_int_equal(m->b[bit], 1);
	m->next++;
	return 0;
}

static void compare_bits(struct store *s, const struct pd_array *words, u64 root,
			 struct bits *m)
{
	m->next = 0;
	assert_ok(pd_bitset_walk(words, root, m->length, check_bit, m));
	for (; m->next < m->length; m->next++)
		assert_int_equal(m->b[m->next], 0);
	assert_int_equal(blocks_of(s, root), store_used(s));
}

static bool model_bit(void *ctx, u64 bit)
{
	struct bits *m = ctx;

	return m->b[bit];
}

static void step_bits(const struct pd_array *words, u64 *root, struct bits *m, u64 *rng)
{
	u32 length = one_in(rng, 6) ? 0 : below(rng, BITS);

	switch (below(rng, 8)) {
	case 0:
		assert_ok(pd_bitset_resize(words, root, m->length, length));
		for (u32 i = m->length; i < length; i++)
			m->b[i] = 0;
		m->length = length;
		break;
	case 1:
		assert_ok(pd_array_delete(words, *root));
		m->length = length;
		for (u32 i = 0; i < length; i++)
			m->b[i] = one_in(rng, 3);
		assert_ok(pd_bitset_build(words, root, length, model_bit, m));
		break;
	default:
		for (u32 i = 100; i && m->length; i--) {
			u32 bit = below(rng, m->length);

			assert_int_equal(pd_bitset_get(words, *root, bit),
					 m->b[bit]);
			m->b[bit] = one_in(rng, 2);
			assert_ok(pd_bitset_set(words, root, bit, m->b[bit]));
		}
	}
}

static void random_bitsets(void **state)
{
	u64 rng = test_seed("bitset", 302);
	struct bits *m = calloc(1, sizeof(*m)), *old = calloc(1, sizeof(*m));
	struct store s;
	struct pd_array_place place = { 0 };
	struct pd_array words = { &s.tm, 8, &place };
	u64 root, old_root;

	(void)state;
	store_make(&s, 200);
	assert_ok(pd_bitset_build(&words, &root, 0, NULL, NULL));
	store_commit(&s);
	old_root = root;
	for (u32 i = rounds(400); i; i--) {
		step_bits(&words, &root, m, &rng);
		compare_bits(&s, &words, root, m);
		if (one_in(&rng, 4)) {
			store_abort(&s);
			pd_array_forget(&place);
			root = old_root;
			*m = *old;
		} else if (one_in(&rng, 2)) {
			store_commit(&s);
			old_root = root;
			*old = *m;
		}
		compare_bits(&s, &words, root, m);
	}
	store_free(&s);
	free(m);
	free(old);
}

/* A writer goes on after an error, and what it set before stays. */
static void writer_after_an_error(void **state)
{
	struct store s;
	struct pd_array_place place = { 0 };
	struct pd_array a = { &s.tm, 8, &place };
	u64 per = pd_array_block_entries(&a), root, i;
	struct pd_array_writer w;
	__le64 v;

	(void)state;
	store_make(&s, 200);
	assert_ok(pd_array_build(&a, &root, 2 * per + 10, NULL, NULL));
	pd_array_writer_init(&w, &a, root);
	for (i = 0; i < 2 * per; i += per / 2) {
		v = cpu_to_le64(i + 1);
		assert_ok(pd_array_writer_set(&w, i, &v));
	}
	v = cpu_to_le64(7);
	assert_ok(pd_array_writer_set(&w, 2 * per + 9, &v));
	/* Past what the array block that is held has, and in one that is not there. */
	assert_int_equal(pd_array_writer_set(&w, 2 * per + 10, &v), -EILSEQ);
	assert_int_equal(pd_array_writer_set(&w, 3 * per, &v), -EILSEQ);
	assert_ok(pd_array_writer_set(&w, 2 * per + 8, &v));
	root = pd_array_writer_put(&w);
	for (i = 0; i < 2 * per + 10; i++) {
		assert_ok(pd_array_get(&a, root, i, &v));
		assert_int_equal(le64_to_cpu(v), i >= 2 * per + 8 ? 7 :
						 i < 2 * per && !(i % (per / 2)) ? i + 1 : 0);
	}
	store_free(&s);
}

/* No call returns the bits that another writer set past the end. */
static void bits_past_the_end(void **state)
{
	struct store s;
	struct pd_array words = { &s.tm, 8, NULL };
	struct bits *m = calloc(1, sizeof(*m));
	__le64 all = cpu_to_le64(U64_MAX);
	u64 root;

	(void)state;
	store_make(&s, 200);
	assert_ok(pd_bitset_build(&words, &root, 70, NULL, NULL));
	assert_ok(pd_array_set(&words, &root, 1, &all));
	m->length = 70;
	memset(m->b + 64, 1, 6);
	compare_bits(&s, &words, root, m);
	assert_ok(pd_bitset_resize(&words, &root, 70, 128));
	m->length = 128;
	compare_bits(&s, &words, root, m);
	assert_ok(pd_array_set(&words, &root, 1, &all));
	assert_ok(pd_bitset_resize(&words, &root, 128, 66));
	assert_ok(pd_bitset_resize(&words, &root, 66, 1000));
	m->length = 1000;
	memset(m->b + 66, 0, 934);
	compare_bits(&s, &words, root, m);
	store_free(&s);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_arrays),
		cmocka_unit_test(edges),
		cmocka_unit_test(surplus_block),
		cmocka_unit_test(removed_blocks_are_forgotten),
		cmocka_unit_test(too_short),
		cmocka_unit_test(random_bitsets),
		cmocka_unit_test(bits_past_the_end),
		cmocka_unit_test(writer_after_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
