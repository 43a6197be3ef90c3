// SPDX-License-Identifier: GPL-2.0-only
/* The space map, compared with a plain array of counts. */

#include "util.h"

#define MAX	40000u

struct model {
	u8 now[MAX];
	u8 was[MAX];
	u32 nr_blocks;
};

static int mark_own(void *ctx, u64 nr)
{
	struct model *m = ctx;

	if (nr) {
		assert_int_equal(m->now[nr], 0);
		m->now[nr] = 9;	/* a block of the map itself */
	}
	return 0;
}

/* The map moves its own blocks, so the model learns where they are. */
static void learn_own(struct store *s, struct model *m)
{
	for (u32 i = 0; i < m->nr_blocks; i++)
		if (m->now[i] == 9)
			m->now[i] = 0;
	assert_ok(pd_sm_walk_own(s->tm.sm, mark_own, m));
}

static void compare(struct store *s, struct model *m)
{
	u32 used = 0;

	learn_own(s, m);
	for (u32 i = 0; i < m->nr_blocks; i++) {
		u32 want = m->now[i] == 9 ? 1 : m->now[i];

		assert_int_equal(pd_sm_count(s->tm.sm, i), want);
		used += !!want;
	}
	assert_int_equal(pd_sm_count(s->tm.sm, m->nr_blocks), 0);
	assert_int_equal(pd_sm_nr_used(s->tm.sm), used);
}

/* The hints on the disk count all entries of a bitmap, also past the end of the device. */
static void compare_hints(struct store *s, const struct model *m)
{
	const struct pd_index *index;
	struct pd_block b;

	assert_ok(pd_block_read(s->dev, le64_to_cpu(s->root.bitmap_root), PD_KIND_INDEX, &b));
	index = b.data;
	for (u32 i = 0; i * PD_BITMAP_ENTRIES < m->nr_blocks; i++) {
		u32 first = PD_BITMAP_ENTRIES, free = 0;

		for (u32 e = PD_BITMAP_ENTRIES; e--;) {
			u32 nr = i * PD_BITMAP_ENTRIES + e;

			if (nr < m->nr_blocks && m->now[nr])
				continue;
			first = e;
			free++;
		}
		assert_int_equal(le32_to_cpu(index->entries[i].nr_free), free);
		assert_int_equal(le32_to_cpu(index->entries[i].none_free_before), first);
	}
	pd_block_put(&b);
}

static void step(struct store *s, struct model *m, u64 *rng)
{
	u64 nr;

	if (one_in(rng, 3)) {
		nr = below(rng, m->nr_blocks);
		if (nr && nr != s->overflow && m->now[nr] == 1) {
			assert_ok(pd_sm_dec(s->tm.sm, nr));
			m->now[nr] = 0;
		} else if (!m->now[nr]) {
			assert_int_equal(pd_sm_dec(s->tm.sm, nr), -EILSEQ);
		}
		return;
	}
	if (pd_sm_alloc(s->tm.sm, &nr)) {
		u32 free = 0;

		for (u32 i = 0; i < m->nr_blocks; i++)
			free += !m->now[i] && !m->was[i];
		assert_true(free <= 2 + m->nr_blocks / PD_BITMAP_ENTRIES);
		return;
	}
	assert_true(nr < m->nr_blocks);
	assert_int_equal(m->now[nr], 0);
	assert_int_equal(m->was[nr], 0);
	assert_true(pd_sm_is_new(s->tm.sm, nr));
	m->now[nr] = 1;
}

static void settle(struct store *s, struct model *m, u64 *rng)
{
	if (one_in(rng, 4)) {
		store_abort(s);
		memcpy(m->now, m->was, sizeof(m->now));
	} else {
		store_commit(s);
		learn_own(s, m);
		memcpy(m->was, m->now, sizeof(m->was));
		if (one_in(rng, 3))
			store_reopen(s);
	}
	compare(s, m);
	compare_hints(s, m);
	assert_false(pd_sm_changed(s->tm.sm));
}

static void run(u64 *rng, u32 nr_blocks, u32 turns)
{
	struct model *m = calloc(1, sizeof(*m));
	struct store s;

	m->nr_blocks = nr_blocks;
	store_make(&s, nr_blocks);
	m->now[0] = 1;
	m->now[s.overflow] = 1;
	learn_own(&s, m);
	memcpy(m->was, m->now, sizeof(m->was));
	compare(&s, m);

	while (turns--) {
		for (u64 n = below(rng, nr_blocks / 4); n; n--)
			step(&s, m, rng);
		learn_own(&s, m);
		compare(&s, m);
		settle(&s, m, rng);
	}
	store_free(&s);
	free(m);
}

static void random_operations(void **state)
{
	u64 rng = test_seed("space map", 101);

	(void)state;
	for (u32 i = rounds(30); i; i--)
		run(&rng, 16 + below(&rng, 500), 30);
	run(&rng, PD_BITMAP_ENTRIES, 6);
	run(&rng, PD_BITMAP_ENTRIES + 1, 6);
	run(&rng, MAX, 6);
}

/* The first bitmap is full and read from the disk; then only the second one changes. */
static void hints_of_an_unchanged_map(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct store s;
	u64 nr;

	(void)state;
	m->nr_blocks = MAX;
	store_make(&s, MAX);
	/* The first commit moves the map's own blocks behind these, and leaves holes. */
	for (u32 turn = 0; turn < 2; turn++) {
		do {
			assert_ok(pd_sm_alloc(s.tm.sm, &nr));
		} while (nr < PD_BITMAP_ENTRIES + 10);
		store_commit(&s);
	}
	store_reopen(&s);
	assert_ok(pd_sm_dec(s.tm.sm, nr));
	store_commit(&s);
	for (u32 i = 0; i < MAX; i++)
		m->now[i] = pd_sm_count(s.tm.sm, i);
	compare_hints(&s, m);
	store_free(&s);
	free(m);
}

static void extending(void **state)
{
	static const u32 sizes[] = {
		101, 5000, PD_BITMAP_ENTRIES, PD_BITMAP_ENTRIES + 1, 39999
	};
	u64 rng = test_seed("extending", 102);
	struct model *m = calloc(1, sizeof(*m));
	struct store s;

	(void)state;
	m->nr_blocks = 100;
	store_make(&s, 100);
	m->now[0] = 1;
	m->now[s.overflow] = 1;
	learn_own(&s, m);
	memcpy(m->was, m->now, sizeof(m->was));
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 old = m->nr_blocks;

		ramdev_grow(s.rd, sizes[i]);
		assert_int_equal(pd_sm_extend(s.tm.sm, old), -EINVAL);
		assert_ok(pd_sm_extend(s.tm.sm, sizes[i]));
		assert_true(pd_sm_changed(s.tm.sm));
		m->nr_blocks = sizes[i];
		compare(&s, m);
		if (i % 2) {	/* the abort undoes it */
			store_abort(&s);
			m->nr_blocks = old;
			compare(&s, m);
			assert_ok(pd_sm_extend(s.tm.sm, sizes[i]));
			m->nr_blocks = sizes[i];
		}
		for (u32 k = 0; k < 3000; k++)
			step(&s, m, &rng);
		store_commit(&s);
		learn_own(&s, m);
		memcpy(m->was, m->now, sizeof(m->was));
		store_reopen(&s);
		assert_int_equal(pd_sm_nr_blocks(s.tm.sm), sizes[i]);
		compare(&s, m);
	}
	store_free(&s);
	free(m);
}

static void limits(void **state)
{
	struct pd_sm *sm;
	u64 nr;

	(void)state;
	assert_int_equal(pd_sm_create(0, &sm), -EINVAL);
	assert_int_equal(pd_sm_create(PD_MAX_BLOCKS + 1, &sm), -EINVAL);
	assert_ok(pd_sm_create(PD_MAX_BLOCKS, &sm));
	assert_ok(pd_sm_alloc(sm, &nr));
	assert_int_equal(pd_sm_nr_blocks(sm), 4161600);
	pd_sm_destroy(sm);
}

/* The map reads counts of two and more, keeps them, and never makes one too low. */
static void shared_blocks(void **state)
{
	u8 index[PD_BLOCK_SIZE], bitmap[PD_BLOCK_SIZE];
	struct store s;
	u64 nr;

	(void)state;
	store_make(&s, 200);
	ramdev_get(s.rd, le64_to_cpu(s.root.bitmap_root), index);
	nr = le64_to_cpu(((struct pd_index *)index)->entries[0].blocknr);
	ramdev_get(s.rd, nr, bitmap);
	/* blocks 100 to 103: counts 1, 2, 3 or more, 0 */
	((struct pd_bitmap *)bitmap)->counts[25] = 2 | 1 << 2 | 3 << 4;
	pd_block_seal(bitmap, nr, PD_KIND_BITMAP);
	ramdev_set(s.rd, nr, bitmap);
	store_reopen(&s);

	for (u32 i = 0; i < 4; i++)
		assert_int_equal(pd_sm_count(s.tm.sm, 100 + i), (i + 1) % 4);
	assert_ok(pd_sm_dec(s.tm.sm, 100));
	assert_ok(pd_sm_dec(s.tm.sm, 101));
	assert_ok(pd_sm_dec(s.tm.sm, 102));
	assert_int_equal(pd_sm_dec(s.tm.sm, 103), -EILSEQ);
	store_commit(&s);
	store_reopen(&s);
	assert_int_equal(pd_sm_count(s.tm.sm, 100), 0);
	assert_int_equal(pd_sm_count(s.tm.sm, 101), 1);
	assert_int_equal(pd_sm_count(s.tm.sm, 102), 3);
	store_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(hints_of_an_unchanged_map),
		cmocka_unit_test(extending),
		cmocka_unit_test(limits),
		cmocka_unit_test(shared_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
