// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile metadata: the tests tamper with blocks and seal them again, so that
 * every checksum is right and the contents are not.  A call may refuse anything.
 * It must not crash, hang, read outside a block, or return an error that is not
 * documented.
 */

#include "model.h"

#include <unistd.h>

#define NR_BLOCKS	600u

static enum pd_kind kind_of(const u8 *data, u64 nr)
{
	u8 sealed[PD_BLOCK_SIZE];

	for (int kind = PD_KIND_SUPERBLOCK; kind < PD_NR_KINDS; kind++) {
		memcpy(sealed, data, sizeof(sealed));
		pd_block_seal(sealed, nr, kind);
		if (!memcmp(sealed, data, sizeof(sealed)))
			return kind;
	}
	return PD_KIND_RAW;
}

static u64 used_block(struct ramdev *rd, u64 *rng)
{
	u64 nr;

	do
		nr = one_in(rng, 6) ? 0 : below(rng, 80);
	while (!rd->seen[nr]);
	return nr;
}

static u32 interesting_offset(enum pd_kind kind, u64 *rng)
{
	if (one_in(rng, 4))
		return below(rng, PD_BLOCK_SIZE / 4) * 4;
	switch (kind) {
	case PD_KIND_SUPERBLOCK:
		return below(rng, 128) * 4;
	case PD_KIND_NODE:
		return one_in(rng, 2) ? below(rng, 12) * 4 :
					32 + 8 * 252 + below(rng, 24) * 4;
	default:
		return below(rng, 16) * 4;
	}
}

static u64 interesting_value(struct ramdev *rd, u64 old, u64 *rng)
{
	static const u64 values[] = {
		0, 1, 2, 3, 7, 251, 252, 253, 508, 509, 510, 599, 600, 0x7fffffff,
		0x80000000, 0xffffffff, 1ULL << 48, ~0ULL >> 1, ~0ULL
	};

	switch (below(rng, 5)) {
	case 0:
		return old + below(rng, 5) - 2;
	case 1:
		return used_block(rd, rng);	/* another block: makes loops and shared blocks */
	case 2:
		return rnd(rng);
	default:
		return values[below(rng, ARRAY_SIZE(values))];
	}
}

static void tamper(struct ramdev *rd, u64 *rng)
{
	u64 nr = used_block(rd, rng);
	u8 data[PD_BLOCK_SIZE];
	enum pd_kind kind;
	u32 n;

	ramdev_get(rd, nr, data);
	kind = kind_of(data, nr);
	if (one_in(rng, 20)) {	/* take the contents of another block */
		ramdev_get(rd, used_block(rd, rng), data);
		kind = one_in(rng, 2) ? kind : kind_of(data, nr);
	}
	for (n = 1 + below(rng, 3); n; n--) {
		u32 at = interesting_offset(kind, rng);
		u32 len = one_in(rng, 2) && at + 8 <= PD_BLOCK_SIZE ? 8 : 4;
		u64 v = 0;

		memcpy(&v, data + at, len);
		v = interesting_value(rd, v, rng);
		memcpy(data + at, &v, len);
	}
	if (!one_in(rng, 30))
		pd_block_seal(data, nr, kind);
	ramdev_set(rd, nr, data);
}

static void documented(int r)
{
	switch (r) {
	case 0:
	case -EILSEQ:
	case -EINVAL:
	case -ENOSPC:
	case -EIO:
	case -ENODATA:
		return;
	}
	fail_msg("undocumented error %d", r);
}

static int count_block(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		       bool hint_valid)
{
	(void)dirty;
	(void)hint;
	(void)hint_valid;
	assert_true(oblock <= CMD_MAX_OBLOCK);
	assert_true(cblock >= *(u64 *)ctx);
	*(u64 *)ctx = cblock + 1;
	return 0;
}

static int count_discard(void *ctx, u64 d)
{
	assert_true(d >= *(u64 *)ctx);
	*(u64 *)ctx = d + 1;
	return 0;
}

static u32 hint_of(void *ctx, u32 cblock)
{
	(void)ctx;
	return cblock;
}

/* From block @c on, some of them past the end. */
static void insert_some(struct cmd *cmd, u32 c, u64 *rng)
{
	struct cmd_mapping maps[20];
	u32 nr = below(rng, ARRAY_SIZE(maps) + 1), i;

	for (i = 0; i < nr; i++)
		maps[i] = (struct cmd_mapping) {
			.oblock = below(rng, 1 << 20), .cblock = c + i, .dirty = one_in(rng, 2)
		};
	documented(cmd_insert_many(cmd, maps, nr));
}

/* Limits the sizes that the disk claims, because each test pays for them. */
static void change(struct cmd *cmd, u64 *rng)
{
	u32 blocks = cmd_cache_blocks(cmd);
	u32 c = blocks ? below(rng, blocks) : 0;

	switch (below(rng, 12)) {
	case 0:
		documented(cmd_resize(cmd, below(rng, 5000)));
		break;
	case 1:
		documented(cmd_write_hints(cmd, "smq", model_version, hint_of,
					   NULL));
		break;
	case 2:
		documented(cmd_set_discard_geometry(cmd, 1, below(rng, 9000)));
		break;
	case 3:
		documented(cmd_set_all_dirty(cmd));
		break;
	case 4:
		documented(cmd_drop_hints(cmd));
		break;
	case 5:
		documented(cmd_discard_set(cmd, below(rng, 2000), true));
		break;
	case 6:
		documented(cmd_commit(cmd, one_in(rng, 2)));
		break;
	case 7:
		documented(cmd_abort(cmd));
		break;
	case 8:
		documented(cmd_remove(cmd, c));
		break;
	case 9:
		documented(cmd_set_dirty(cmd, c, one_in(rng, 2)));
		break;
	case 10:
		insert_some(cmd, c, rng);
		break;
	default:
		documented(cmd_insert(cmd, c, below(rng, 1 << 20), false));
	}
}

static bool torture(struct ramdev *rd, u64 *rng)
{
	struct meta x;
	u64 n = 0;
	int r = meta_open(&x, rd, 0);

	documented(r);
	if (r)
		return false;
	documented(cmd_load(x.cmd, cmd_policy_name(x.cmd), model_version,
			    count_block, &n));
	n = 0;
	documented(cmd_discards_load(x.cmd, count_discard, &n));
	assert_true(metadata_check(x.cmd, NULL, NULL) >= 0);
	for (u32 i = below(rng, 40); i; i--)
		change(x.cmd, rng);
	documented(cmd_commit(x.cmd, true));
	assert_true(metadata_check(x.cmd, NULL, NULL) >= 0);
	meta_shut(&x);
	return true;
}

static struct ramdev *sample(unsigned int format, u32 cache_blocks)
{
	struct ramdev *rd = ramdev_new(NR_BLOCKS);
	u64 rng = 7;
	struct meta x;

	assert_ok(meta_open(&x, rd, format));
	assert_ok(cmd_resize(x.cmd, cache_blocks));
	for (u32 c = 0; c < cache_blocks; c += 1 + below(&rng, 20))
		assert_ok(cmd_insert(x.cmd, c, c * 3, one_in(&rng, 2)));
	assert_ok(cmd_write_hints(x.cmd, "smq", model_version, hint_of, NULL));
	assert_ok(cmd_set_discard_geometry(x.cmd, 1 << 20, 1000));
	assert_ok(cmd_discard_set(x.cmd, 500, true));
	assert_ok(cmd_commit(x.cmd, true));
	meta_shut(&x);
	return rd;
}

static void tampered_blocks(void **state)
{
	u64 rng = test_seed("hostile", 701);
	struct ramdev *samples[] = {
		sample(1, 700), sample(2, 700), sample(2, 135000),
	};
	u32 opened = 0, total = rounds(1500);

	(void)state;
	os_quiet = true;
	for (u32 i = 0; i < total; i++) {
		struct ramdev *rd =
			ramdev_clone(samples[i % ARRAY_SIZE(samples)]);
		u64 start = rng;

		alarm(60);	/* a hang is a failure */
		for (u32 n = 1 + below(&rng, 3); n; n--)
			tamper(rd, &rng);
		opened += torture(rd, &rng);
		ramdev_free(rd);
		rng = start + 1;
		rnd(&rng);
	}
	alarm(0);
	os_quiet = false;
	printf("note: %u tampered images, %u of them opened\n", total, opened);
	for (u32 i = 0; i < ARRAY_SIZE(samples); i++)
		ramdev_free(samples[i]);
}

/* Blocks of noise behind a valid superblock, and a superblock of noise. */
static void noise(void **state)
{
	u64 rng = test_seed("noise", 702);

	(void)state;
	os_quiet = true;
	for (u32 i = rounds(300); i; i--) {
		struct ramdev *rd = sample(1 + i % 2, 700);
		u64 nr = i % 3 ? used_block(rd, &rng) : 0;
		u8 data[PD_BLOCK_SIZE];
		enum pd_kind kind;

		ramdev_get(rd, nr, data);
		kind = kind_of(data, nr);
		for (u32 k = i % 3 ? 0 : 48; k < PD_BLOCK_SIZE; k++)
			data[k] = rnd(&rng);
		pd_block_seal(data, nr, kind);
		ramdev_set(rd, nr, data);
		torture(rd, &rng);
		ramdev_free(rd);
	}
	os_quiet = false;
}

static void set_node(struct ramdev *rd, u64 nr, u32 flags, u32 n,
		     const u64 (*entries)[2])
{
	u8 data[PD_BLOCK_SIZE] = { 0 };
	struct pd_node *node = (struct pd_node *)data;

	node->flags = cpu_to_le32(flags);
	node->nr_entries = cpu_to_le32(n);
	node->max_entries = cpu_to_le32(252);
	node->value_size = cpu_to_le32(8);
	for (u32 i = 0; i < n; i++) {
		node->keys[i] = cpu_to_le64(entries[i][0]);
		node->keys[252 + i] = cpu_to_le64(entries[i][1]);
	}
	pd_block_seal(data, nr, PD_KIND_NODE);
	ramdev_set(rd, nr, data);
}

/* A leaf with the one entry 0 -> @value. */
static void leaf_of_one(struct store *s, u64 nr, u64 value)
{
	const u64 entry[1][2] = { { 0, value } };

	set_node(s->rd, nr, PD_NODE_LEAF, 1, entry);
	assert_ok(pd_device_reset(s->dev));
}

static int any_value(void *ctx, u64 key, const void *value)
{
	(void)key;
	(void)value;
	++*(u32 *)ctx;
	return 0;
}

/* Shapes on which a walk that trusts the disk would loop or read too far. */
static void shapes(void **state)
{
	struct store s;
	struct pd_btree bt = { &s.tm, 8 };
	u64 b[4], wide[252][2], v = 0, key;
	u32 n = 0;
	struct pd_btree_visitor visit = { .entry = any_value, .ctx = &n };
	struct { u64 e[1][2]; } self;

	(void)state;
	os_quiet = true;
	store_make(&s, 200);
	for (u32 i = 0; i < 4; i++)
		assert_ok(pd_sm_alloc(s.tm.sm, b + i));
	store_commit(&s);

	/* a node that is its own only child */
	self.e[0][0] = 0;
	self.e[0][1] = b[0];
	set_node(s.rd, b[0], PD_NODE_INTERNAL, 1, self.e);
	assert_int_equal(pd_btree_walk(&bt, b[0], &visit), -EILSEQ);
	assert_int_equal(pd_btree_lookup(&bt, b[0], 5, &v), -EILSEQ);
	assert_int_equal(pd_btree_insert(&bt, &b[0], 5, &v), -EILSEQ);
	assert_int_equal(pd_btree_remove(&bt, &b[0], 5), -EILSEQ);
	assert_int_equal(pd_btree_highest(&bt, b[0], &key), -EILSEQ);
	store_abort(&s);

	/* a node all of whose 252 children are itself */
	for (u32 i = 0; i < 252; i++) {
		wide[i][0] = i;
		wide[i][1] = b[1];
	}
	set_node(s.rd, b[1], PD_NODE_INTERNAL, 252, wide);
	assert_int_equal(pd_btree_walk(&bt, b[1], &visit), -EILSEQ);
	assert_int_equal(pd_btree_delete(&bt, b[1], NULL, NULL), -EILSEQ);
	store_abort(&s);

	/* many parents share one leaf, whose keys fit the first only */
	for (u32 i = 0; i < 252; i++)
		wide[i][1] = b[3];
	set_node(s.rd, b[2], PD_NODE_INTERNAL, 252, wide);
	self.e[0][1] = 9;
	set_node(s.rd, b[3], PD_NODE_LEAF, 1, self.e);
	n = 0;
	assert_int_equal(pd_btree_walk(&bt, b[2], &visit), -EILSEQ);
	assert_int_equal(n, 1);

	/* an empty leaf below a root */
	set_node(s.rd, b[3], PD_NODE_LEAF, 0, self.e);
	assert_ok(pd_device_reset(s.dev));
	assert_int_equal(pd_btree_walk(&bt, b[2], &visit), -EILSEQ);
	store_free(&s);
	os_quiet = false;
}

/* Opens and verifies the device.  Returns true if either found a fault. */
static bool noticed(struct ramdev *rd)
{
	struct meta x;
	int r = meta_open(&x, rd, 0);

	if (r) {
		assert_int_equal(r, -EILSEQ);
		return true;
	}
	r = metadata_check(x.cmd, NULL, NULL);
	meta_shut(&x);
	return r > 0;
}

/* One flipped bit at any place, and one block in the place of another. */
static void damaged_blocks(void **state)
{
	u64 rng = test_seed("damage", 703);
	struct ramdev *rd = sample(2, 40000);
	u8 good[PD_BLOCK_SIZE], bad[PD_BLOCK_SIZE];
	u32 used = 0, moved = 0;

	(void)state;
	os_quiet = true;
	assert_false(noticed(rd));
	for (u64 nr = 0; nr < NR_BLOCKS; nr++) {
		struct meta x;
		bool in_use;

		assert_ok(meta_open_to_read(&x, rd));
		in_use = pd_sm_count(cmd_transaction(x.cmd)->sm, nr);
		meta_shut(&x);
		if (!in_use)
			continue;
		used++;
		ramdev_get(rd, nr, good);
		for (u32 i = 0; i < 8; i++) {
			u32 bit = below(&rng, PD_BLOCK_SIZE * 8);

			memcpy(bad, good, sizeof(bad));
			bad[bit / 8] ^= 1 << bit % 8;
			ramdev_set(rd, nr, bad);
			assert_true(noticed(rd));
		}
		for (u64 other = 1; other < NR_BLOCKS; other++) {
			if (other == nr || !rd->seen[other] || !one_in(&rng, 20))
				continue;
			ramdev_get(rd, other, bad);
			if (kind_of(bad, other) != kind_of(good, nr))
				continue;
			ramdev_set(rd, nr, bad);
			assert_true(noticed(rd));
			moved++;
		}
		ramdev_set(rd, nr, good);
	}
	assert_false(noticed(rd));
	assert_true(moved > 0);
	os_quiet = false;
	printf("note: %u blocks damaged, %u times another put there\n", used,
	       moved);
	ramdev_free(rd);
}

/* A walk refuses a block that the map counts as free, because it may be overwritten. */
static void uncounted(void **state)
{
	struct store s;
	struct pd_btree bt = { &s.tm, 8 };
	u64 root, v;

	(void)state;
	os_quiet = true;
	store_make(&s, 100);
	assert_ok(pd_btree_empty(&bt, &root));
	store_commit(&s);
	assert_int_equal(pd_btree_lookup(&bt, root, 0, &v), -ENODATA);
	assert_ok(pd_sm_dec(s.tm.sm, root));
	assert_int_equal(pd_btree_lookup(&bt, root, 0, &v), -EILSEQ);
	assert_int_equal(pd_btree_insert(&bt, &root, 0, &v), -EILSEQ);
	assert_int_equal(pd_tm_dec(&s.tm, root), -EILSEQ);
	assert_int_equal(pd_btree_lookup(&bt, 0, 0, &v), -EILSEQ);
	assert_int_equal(pd_btree_lookup(&bt, 100, 0, &v), -EILSEQ);
	assert_int_equal(pd_btree_lookup(&bt, U64_MAX, 0, &v), -EILSEQ);
	store_free(&s);
	os_quiet = false;
}

/* Headers that claim more than fits in a block, in otherwise valid blocks. */
static void overfull(void **state)
{
	static const u32 counts[] = { 253, 254, 255, 300, 506, 508, ~0u };
	struct store s;
	struct pd_btree bt = { &s.tm, 8 };
	struct pd_array a = { &s.tm, 8, NULL };
	u8 data[PD_BLOCK_SIZE] __attribute__((aligned(16)));
	struct pd_node *n = (struct pd_node *)data;
	struct pd_array_block *ab = (struct pd_array_block *)data;
	u64 b[2], v;

	(void)state;
	os_quiet = true;
	store_make(&s, 200);
	for (u32 i = 0; i < 2; i++)
		assert_ok(pd_sm_alloc(s.tm.sm, b + i));
	store_commit(&s);
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++) {
		memset(data, 0, sizeof(data));
		n->flags = cpu_to_le32(PD_NODE_LEAF);
		n->value_size = cpu_to_le32(8);
		n->max_entries = cpu_to_le32(252);
		n->nr_entries = cpu_to_le32(counts[i]);
		for (u32 k = 0; k < 508; k++)
			n->keys[k] = cpu_to_le64(k);
		pd_block_seal(data, b[0], PD_KIND_NODE);
		ramdev_set(s.rd, b[0], data);
		assert_ok(pd_device_reset(s.dev));
		assert_int_equal(pd_btree_lookup(&bt, b[0], 300, &v), -EILSEQ);
	}

	memset(data, 0, sizeof(data));
	ab->value_size = cpu_to_le32(8);
	ab->max_entries = cpu_to_le32(509);
	ab->nr_entries = cpu_to_le32(510);
	pd_block_seal(data, b[1], PD_KIND_ARRAY);
	ramdev_set(s.rd, b[1], data);
	leaf_of_one(&s, b[0], b[1]);
	assert_int_equal(pd_array_get(&a, b[0], 0, &v), -EILSEQ);
	ab->max_entries = cpu_to_le32(1000);
	pd_block_seal(data, b[1], PD_KIND_ARRAY);
	ramdev_set(s.rd, b[1], data);
	assert_ok(pd_device_reset(s.dev));
	assert_int_equal(pd_array_get(&a, b[0], 0, &v), -EILSEQ);
	store_free(&s);
	os_quiet = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(overfull),
		cmocka_unit_test(uncounted),
		cmocka_unit_test(damaged_blocks),
		cmocka_unit_test(noise),
		cmocka_unit_test(tampered_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
