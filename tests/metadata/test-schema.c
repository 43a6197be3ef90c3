// SPDX-License-Identifier: GPL-2.0-only
/* The schema, compared with plain tables, and each of its rules. */

#include "model.h"

#define NR_BLOCKS	400u

static void reopen(struct meta *m, struct ramdev *rd)
{
	meta_shut(m);
	assert_ok(meta_open(m, rd, 0));
}

static void run(u64 *rng, unsigned int format, u32 turns)
{
	struct model *m = calloc(1, sizeof(*m)), *old = calloc(1, sizeof(*m));
	struct ramdev *rd = ramdev_new(NR_BLOCKS);
	struct meta x;

	model_init(m);
	assert_ok(meta_open(&x, rd, format));
	*old = *m;
	while (turns--) {
		bool clean = one_in(rng, 2);

		for (u32 n = below(rng, 150); n; n--)
			assert_ok(model_step(m, x.cmd, rng));
		switch (below(rng, 5)) {
		case 0:
			assert_ok(cmd_abort(x.cmd));
			*m = *old;
			break;
		case 1:
			reopen(&x, rd);
			*m = *old;
			break;
		default:
			assert_ok(cmd_commit(x.cmd, clean));
			assert_false(cmd_changed(x.cmd, clean));
			assert_true(cmd_changed(x.cmd, !clean));
			assert_int_equal(cmd_reread_matches(x.cmd), 1);
			assert_sound(x.cmd);
			m->clean = clean;
			*old = *m;
			if (one_in(rng, 2))
				assert_ok(cmd_abort(x.cmd));
			else
				reopen(&x, rd);
		}
		assert_int_equal(cmd_opened_clean(x.cmd), m->clean);
		assert_true(model_matches(m, x.cmd));
		if (one_in(rng, 2))
			pd_device_set_early_writes(x.dev, 1 + below(rng, 99));
	}
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
	free(old);
}

static void random_operations(void **state)
{
	u64 rng = test_seed("schema", 401);

	(void)state;
	for (u32 i = rounds(10); i; i--) {
		run(&rng, 1, 60);
		run(&rng, 2, 60);
	}
}

/* Metadata that uses every feature, committed clean. */
static struct ramdev *sample(unsigned int format, struct model *m)
{
	struct ramdev *rd = ramdev_new(NR_BLOCKS);
	u64 rng = 77;
	struct meta x;

	model_init(m);
	assert_ok(meta_open(&x, rd, format));
	for (u32 i = 0; i < 600; i++)
		assert_ok(model_step(m, x.cmd, &rng));
	m->record_length = 5;
	memcpy(m->record, "hello", 5);
	assert_ok(cmd_record_set(x.cmd, "hello", 5));
	assert_ok(cmd_commit(x.cmd, true));
	meta_shut(&x);
	return rd;
}

static bool same(const struct ramdev *a, const struct ramdev *b)
{
	static const u8 zero[PD_BLOCK_SIZE];

	for (u64 i = 0; i < a->nr_blocks; i++)
		if (memcmp(a->seen[i] ? a->seen[i] : zero,
			   b->seen[i] ? b->seen[i] : zero, PD_BLOCK_SIZE))
			return false;
	return true;
}

static void opening_changes_nothing(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	struct ramdev *before = ramdev_clone(rd);
	u64 ops = rd->ops;
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 1));
	assert_int_equal(cmd_format(x.cmd), 2);
	assert_false(cmd_formatted(x.cmd));
	assert_true(model_matches(m, x.cmd));
	assert_ok(cmd_commit(x.cmd, true));
	meta_shut(&x);
	assert_int_equal(rd->ops, ops);
	assert_true(same(rd, before));
	ramdev_free(rd);
	ramdev_free(before);
	free(m);
}

static void set_superblock(struct ramdev *rd, u32 offset, const void *bytes,
			   u32 len, bool seal)
{
	u8 data[PD_BLOCK_SIZE];

	ramdev_get(rd, 0, data);
	memcpy(data + offset, bytes, len);
	if (seal)
		pd_block_seal(data, 0, PD_KIND_SUPERBLOCK);
	ramdev_set(rd, 0, data);
}

/* An open refuses a superblock with other bytes at @offset, and changes nothing. */
static void refused(u32 offset, const void *bytes, u32 len, bool seal, int want,
		    const char *why)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	struct ramdev *before;
	struct meta x;

	set_superblock(rd, offset, bytes, len, seal);
	before = ramdev_clone(rd);
	assert_int_equal(meta_open(&x, rd, 2), want);
	assert_string_equal(x.why, why);
	assert_true(same(rd, before));
	ramdev_free(rd);
	ramdev_free(before);
	free(m);
}

static void refusals(void **state)
{
	const __le64 zero = 0, one = cpu_to_le64(1), far = cpu_to_le64(399);
	const __le64 huge = cpu_to_le64(1ULL << 62);
	const __le32 three = cpu_to_le32(3), many = cpu_to_le32(~0u);

	(void)state;
	os_quiet = true;
	refused(0, &one, 4, false, -EILSEQ,
		"Metadata superblock has a bad checksum");
	refused(3000, &one, 4, false, -EILSEQ,
		"Metadata superblock has a bad checksum");
	refused(8, &one, 8, false, -EILSEQ,
		"Metadata superblock has a bad block number");
	refused(32, &one, 8, true, -EILSEQ,
		"Metadata device holds something that is not cache metadata");
	refused(40, &three, 4, true, -EINVAL,
		"Metadata version is not supported");
	refused(40, &zero, 4, true, -EINVAL,
		"Metadata version is not supported");
	refused(44, "0123456789abcdef", 16, true, -EILSEQ,
		"Metadata superblock has an unterminated policy name");
	refused(64, &zero, 8, true, -EILSEQ,
		"Metadata space map has an impossible size");
	refused(64, &huge, 8, true, -EILSEQ,
		"Metadata space map has an impossible size");
	refused(64, "\x91\x01\0\0\0\0\0\0", 8, true, -EINVAL,
		"Metadata device is smaller than its space map");
	refused(80, &far, 8, true, -EILSEQ, "Cannot read the metadata space map");
	refused(80, &huge, 8, true, -EILSEQ,
		"Cannot read the metadata space map");
	refused(88, &zero, 8, true, -EILSEQ,
		"Metadata space map root is out of range");
	refused(88, &far, 8, true, -EILSEQ,
		"Metadata space map does not count its own blocks");
	refused(192, &far, 8, true, -EILSEQ,
		"Metadata mapping root is not a block in use");
	refused(192, &huge, 8, true, -EILSEQ,
		"Metadata mapping root is not a block in use");
	refused(200, &far, 8, true, -EILSEQ,
		"Metadata hint root is not a block in use");
	refused(208, &zero, 8, true, -EILSEQ,
		"Metadata discard root is not a block in use");
	refused(224, &huge, 8, true, -EILSEQ,
		"Metadata cannot hold the number of discard blocks it claims");
	refused(232, &three, 4, true, -EINVAL,
		"Cache block size differs from the metadata's");
	refused(240, &many, 4, true, -EILSEQ,
		"Metadata cannot hold the number of cache blocks it claims");
	refused(248, &one, 4, true, -EINVAL,
		"Metadata has features that only allow reading");
	for (u32 bit = 1; bit < 32; bit++) {
		const __le32 alone = cpu_to_le32(1u << bit);
		const __le32 beside = cpu_to_le32(1u << bit | CMD_INCOMPAT_LOG);

		refused(252, &alone, 4, true, -EINVAL,
			"Metadata has incompatible features that are not supported");
		refused(252, &beside, 4, true, -EINVAL,
			"Metadata has incompatible features that are not supported");
	}
	refused(284, &zero, 8, true, -EILSEQ,
		"Metadata dirty root is not a block in use");
	os_quiet = false;
}

/* An open never formats over foreign contents, not even over one byte. */
static void foreign_content(void **state)
{
	static const u32 places[] = { 0, 1, 511, 512, 4095 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(places); i++) {
		struct ramdev *rd = ramdev_new(100);
		u8 data[PD_BLOCK_SIZE] = { 0 };
		struct meta x;

		data[places[i]] = 1;
		ramdev_set(rd, 0, data);
		assert_int_equal(meta_open(&x, rd, 2), -EILSEQ);
		assert_int_equal(rd->ops, 0);
		ramdev_free(rd);
	}
}

static void unformatted(void **state)
{
	struct ramdev *rd = ramdev_new(100);
	struct meta x;

	(void)state;
	assert_int_equal(meta_open(&x, rd, 0), -ENODATA);
	assert_string_equal(x.why, "Metadata device is not formatted");
	assert_int_equal(meta_open(&x, rd, 3), -EINVAL);
	assert_int_equal(rd->ops, 0);
	ramdev_free(rd);
}

static void too_small(void **state)
{
	(void)state;
	for (u32 n = 0; n < 12; n++) {
		struct ramdev *rd = ramdev_new(n);
		struct meta x;
		int r = meta_open(&x, rd, 2);

		if (!r) {
			assert_true(n >= 7);
			assert_sound(x.cmd);
			meta_shut(&x);
		} else {
			assert_true(r == -ENOSPC || (!n && r == -EINVAL));
			assert_string_equal(x.why,
					    "Metadata device is too small");
			assert_int_equal(rd->ops, 0);
		}
		ramdev_free(rd);
	}
}

static void reading_only(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(1, m);
	u64 ops = rd->ops;
	struct meta x;

	(void)state;
	assert_ok(meta_open_to_read(&x, rd));
	assert_true(cmd_read_only(x.cmd));
	assert_true(model_matches(m, x.cmd));
	assert_int_equal(cmd_insert(x.cmd, 0, 1, false), -EROFS);
	assert_int_equal(cmd_remove(x.cmd, 0), -EROFS);
	assert_int_equal(cmd_resize(x.cmd, 5), -EROFS);
	assert_int_equal(cmd_commit(x.cmd, true), -EROFS);
	assert_int_equal(cmd_set_needs_check(x.cmd), -EROFS);
	assert_int_equal(cmd_zero_superblock(x.cmd), -EROFS);
	assert_true(model_matches(m, x.cmd));
	meta_shut(&x);
	assert_int_equal(rd->ops, ops);
	ramdev_free(rd);
	free(m);
}

static void arguments(void **state)
{
	struct ramdev *rd = ramdev_new(100);
	u8 big[CMD_RECORD_MAX + 1] = { 0 };
	const struct cmd_mapping no_block[] = {
		{ .cblock = 1, .oblock = 7 },
		{ .cblock = 10, .oblock = 8 },
	};
	const struct cmd_mapping no_oblock[] = {
		{ .cblock = 1, .oblock = 7 },
		{ .cblock = 2, .oblock = CMD_MAX_OBLOCK + 1 },
	};
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 2));
	assert_int_equal(cmd_insert(x.cmd, 0, 1, false), -EINVAL);
	assert_ok(cmd_resize(x.cmd, 10));
	assert_int_equal(cmd_insert(x.cmd, 10, 1, false), -EINVAL);
	assert_int_equal(cmd_insert(x.cmd, 9, CMD_MAX_OBLOCK + 1, false),
			 -EINVAL);
	assert_ok(cmd_insert(x.cmd, 9, CMD_MAX_OBLOCK, true));
	assert_int_equal(cmd_remove(x.cmd, 10), -EINVAL);
	assert_int_equal(cmd_set_dirty(x.cmd, 10, true), -EINVAL);
	assert_int_equal(cmd_insert_many(x.cmd, no_block, 2), -EINVAL);
	assert_int_equal(cmd_insert_many(x.cmd, no_oblock, 2), -EINVAL);
	assert_int_equal(cmd_set_dirty(x.cmd, 1, true), -ENODATA);
	assert_ok(cmd_insert_many(x.cmd, NULL, 0));
	assert_int_equal(cmd_discard_set(x.cmd, 0, true), -EINVAL);
	assert_int_equal(cmd_record_set(x.cmd, big, sizeof(big)), -EINVAL);
	assert_int_equal(cmd_write_hints(x.cmd, "sixteen-letters!",
					 model_version, NULL, NULL), -EINVAL);
	assert_int_equal(cmd_resize(x.cmd, ~0u), -ENOSPC);
	assert_int_equal(cmd_set_discard_geometry(x.cmd, 8, U64_MAX), -ENOSPC);
	assert_ok(cmd_commit(x.cmd, false));
	assert_sound(x.cmd);
	meta_shut(&x);
	ramdev_free(rd);
}

static void record_is_bound(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	u8 buf[8];
	__le32 hits = cpu_to_le32(424242), flags = 0;
	struct ramdev *rd;
	struct meta x;

	(void)state;
	/* it survives a needs_check that our code sets */
	rd = sample(2, m);
	assert_ok(meta_open(&x, rd, 0));
	assert_int_equal(cmd_record_get(x.cmd, buf, 3), 5);
	assert_memory_equal(buf, "hel", 3);
	assert_ok(cmd_set_needs_check(x.cmd));
	assert_true(cmd_needs_check(x.cmd));
	reopen(&x, rd);
	assert_true(cmd_needs_check(x.cmd));
	assert_true(model_matches(m, x.cmd));
	assert_int_equal(cmd_record_get(x.cmd, buf, 8), 5);
	meta_shut(&x);

	/* another program voids it when it changes a counter or clears the flag */
	set_superblock(rd, 256, &hits, 4, true);
	assert_ok(meta_open(&x, rd, 0));
	assert_int_equal(cmd_record_get(x.cmd, buf, 8), -ENODATA);
	meta_shut(&x);
	ramdev_free(rd);

	rd = sample(2, m);
	set_superblock(rd, 4, &flags, 4, true);
	assert_ok(meta_open(&x, rd, 0));
	assert_int_equal(cmd_record_get(x.cmd, buf, 8), -ENODATA);
	/* it stays void */
	assert_ok(cmd_commit(x.cmd, true));
	reopen(&x, rd);
	assert_int_equal(cmd_record_get(x.cmd, buf, 8), -ENODATA);
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

/* Whatever byte changes under a good checksum: the defaults, and no wrong setting. */
static void a_flipped_byte_voids_the_record(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	u8 block[PD_BLOCK_SIZE], buf[8], byte;
	struct ramdev *rd = sample(2, m);
	u32 opened = 0;
	struct meta x;

	(void)state;
	ramdev_get(rd, 0, block);
	for (u32 at = 0; at < offsetof(struct cmd_superblock, unused); at++) {
		/* set_superblock() makes these two good again */
		if (at < 4 || (at >= 8 && at < 16))
			continue;
		for (u32 bit = 1; bit < 256; bit <<= 1) {
			byte = block[at] ^ bit;
			set_superblock(rd, at, &byte, 1, true);
			if (meta_open(&x, rd, 0))
				continue;
			opened++;
			assert_int_equal(cmd_record_get(x.cmd, buf, 8), -ENODATA);
			meta_shut(&x);
		}
		set_superblock(rd, at, &block[at], 1, true);
	}
	assert_true(opened > 8 * sizeof(struct cmd_disk_record));
	assert_ok(meta_open(&x, rd, 0));
	assert_int_equal(cmd_record_get(x.cmd, buf, 8), 5);
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

/* Our code keeps the superblock's bytes that other programs wrote. */
static void spare_bytes_survive(void **state)
{
	static const struct {
		u32 offset;
		u32 len;
	} spare[] = { { 16, 16 }, { 244, 4 }, { 512, 100 }, { 4000, 96 } };
	struct ramdev *rd = ramdev_new(100);
	u8 mark[100], data[PD_BLOCK_SIZE];
	struct meta x;

	(void)state;
	memset(mark, 0x5a, sizeof(mark));
	assert_ok(meta_open(&x, rd, 2));
	meta_shut(&x);
	for (u32 i = 0; i < ARRAY_SIZE(spare); i++)
		set_superblock(rd, spare[i].offset, mark, spare[i].len, true);
	assert_ok(meta_open(&x, rd, 2));
	assert_ok(cmd_resize(x.cmd, 100));
	assert_ok(cmd_commit(x.cmd, true));
	meta_shut(&x);
	ramdev_get(rd, 0, data);
	for (u32 i = 0; i < ARRAY_SIZE(spare); i++)
		assert_memory_equal(data + spare[i].offset, mark, spare[i].len);
	ramdev_free(rd);
}

/* The flag of the write log is bit 0 at byte 252, and one commit changes it. */
static void log_flag(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	u8 data[PD_BLOCK_SIZE], buf[8];
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 0));
	assert_false(cmd_log_flag(x.cmd));
	assert_ok(cmd_set_log_flag(x.cmd, true));
	assert_true(cmd_log_flag(x.cmd));
	reopen(&x, rd);
	assert_false(cmd_log_flag(x.cmd));

	assert_ok(cmd_set_log_flag(x.cmd, true));
	assert_ok(cmd_commit(x.cmd, true));
	reopen(&x, rd);
	assert_true(cmd_log_flag(x.cmd));
	assert_true(model_matches(m, x.cmd));
	assert_int_equal(cmd_record_get(x.cmd, buf, 8), 5);
	ramdev_get(rd, 0, data);
	assert_memory_equal(data + 252, "\1\0\0\0", 4);

	assert_ok(cmd_set_log_flag(x.cmd, false));
	assert_ok(cmd_abort(x.cmd));
	assert_true(cmd_log_flag(x.cmd));
	assert_ok(cmd_set_log_flag(x.cmd, false));
	assert_ok(cmd_commit(x.cmd, true));
	reopen(&x, rd);
	assert_false(cmd_log_flag(x.cmd));
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

/* cache_check 0.9 would clear both, so they are never on the disk together. */
static void log_flag_excludes_needs_check(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 0));
	assert_ok(cmd_set_log_flag(x.cmd, true));
	assert_int_equal(cmd_set_needs_check(x.cmd), -EBUSY);
	assert_ok(cmd_commit(x.cmd, true));
	assert_int_equal(cmd_set_needs_check(x.cmd), -EBUSY);
	assert_false(cmd_needs_check(x.cmd));
	/* on the disk it is set until the commit */
	assert_ok(cmd_set_log_flag(x.cmd, false));
	assert_int_equal(cmd_set_needs_check(x.cmd), -EBUSY);
	reopen(&x, rd);
	assert_true(cmd_log_flag(x.cmd));
	assert_false(cmd_needs_check(x.cmd));

	assert_ok(cmd_set_log_flag(x.cmd, false));
	assert_ok(cmd_commit(x.cmd, true));
	assert_ok(cmd_set_needs_check(x.cmd));
	assert_int_equal(cmd_set_log_flag(x.cmd, true), -EBUSY);
	assert_false(cmd_log_flag(x.cmd));
	assert_ok(cmd_set_log_flag(x.cmd, false));
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

static void needs_check_leaves_the_rest(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 0));
	assert_ok(cmd_resize(x.cmd, 0));
	assert_ok(cmd_set_needs_check(x.cmd));
	reopen(&x, rd);
	assert_true(cmd_needs_check(x.cmd));
	assert_true(cmd_opened_clean(x.cmd));
	assert_true(model_matches(m, x.cmd));
	assert_sound(x.cmd);
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

static void zeroing_the_superblock(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 0));
	assert_ok(cmd_zero_superblock(x.cmd));
	assert_int_equal(cmd_commit(x.cmd, true), -EIO);
	os_quiet = true;
	assert_int_equal(cmd_abort(x.cmd), -EILSEQ);
	os_quiet = false;
	meta_shut(&x);
	assert_int_equal(meta_open(&x, rd, 0), -ENODATA);
	assert_ok(meta_open(&x, rd, 2));
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

static void rereading(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 0));
	assert_int_equal(cmd_reread_matches(x.cmd), 1);
	assert_ok(cmd_insert(x.cmd, 0, 12345, true));
	assert_int_equal(cmd_reread_matches(x.cmd), 1);
	assert_ok(cmd_commit(x.cmd, true));
	assert_int_equal(cmd_reread_matches(x.cmd), 1);
	set_superblock(rd, 4000, "x", 1, true);
	assert_int_equal(cmd_reread_matches(x.cmd), 0);
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

static u64 total(struct cmd *cmd)
{
	u64 used, blocks;

	cmd_usage(cmd, &used, &blocks);
	assert_true(used <= blocks);
	return blocks;
}

static void extending(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *rd = sample(2, m);
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 0));
	assert_ok(cmd_extend(x.cmd, 10));
	assert_int_equal(cmd_extend(x.cmd, 20000), -EINVAL);
	ramdev_grow(rd, 20000);
	assert_int_equal(total(x.cmd), NR_BLOCKS);
	assert_ok(cmd_extend(x.cmd, 20000));
	assert_int_equal(total(x.cmd), 20000);
	assert_ok(cmd_abort(x.cmd));
	assert_int_equal(total(x.cmd), NR_BLOCKS);
	assert_ok(cmd_extend(x.cmd, 20000));
	assert_ok(cmd_commit(x.cmd, true));
	reopen(&x, rd);
	assert_int_equal(total(x.cmd), 20000);
	assert_true(model_matches(m, x.cmd));
	assert_ok(cmd_resize(x.cmd, 1000000));
	assert_ok(cmd_commit(x.cmd, true));
	assert_sound(x.cmd);
	meta_shut(&x);
	ramdev_free(rd);
	free(m);
}

#define MANY	40000u		/* cblocks: two array blocks of dirty bits */

struct seen {
	u32 nr;
	u32 wrong;
};

/* Cblock c holds oblock c, dirty. */
static int see(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint, bool hint_valid)
{
	struct seen *seen = ctx;

	(void)hint;
	(void)hint_valid;
	seen->nr++;
	seen->wrong += oblock != cblock || !dirty;
	return 0;
}

static void insert_own(struct meta *x, u32 cblock)
{
	assert_ok(cmd_insert(x->cmd, cblock, cblock, true));
}

/*
 * After an abort the same blocks are allocated again, for other parts of the arrays.
 * No entry may go where the aborted transaction had one.
 */
static void an_abort_forgets_places(void **state)
{
	struct ramdev *rd = ramdev_new(NR_BLOCKS);
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 2));
	assert_ok(cmd_resize(x.cmd, MANY));
	assert_ok(cmd_commit(x.cmd, true));
	for (u32 turn = 0; turn < 2; turn++) {
		u32 first = turn ? MANY - 1 : 0, last = MANY - 1 - first;
		struct seen seen = { 0 };

		insert_own(&x, first);
		assert_ok(cmd_abort(x.cmd));
		insert_own(&x, last);
		insert_own(&x, first);
		assert_ok(cmd_load(x.cmd, NULL, NULL, see, &seen));
		assert_int_equal(seen.nr, 2);
		assert_int_equal(seen.wrong, 0);
		assert_ok(cmd_abort(x.cmd));
	}
	meta_shut(&x);
	ramdev_free(rd);
}

/* A full device refuses changes.  An abort or a shrink makes it usable again. */
static void full_device(void **state)
{
	struct ramdev *rd = ramdev_new(40);
	struct meta x;
	u32 n = 500;
	int r;

	(void)state;
	assert_ok(meta_open(&x, rd, 2));
	do {
		r = cmd_resize(x.cmd, n);
		if (!r)
			assert_ok(cmd_commit(x.cmd, true));
		n += 500;
	} while (!r);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(cmd_commit(x.cmd, true), -EIO);
	assert_int_equal(cmd_insert(x.cmd, 0, 0, false), -EIO);
	assert_ok(cmd_abort(x.cmd));
	assert_int_equal(cmd_cache_blocks(x.cmd), n - 1000);
	assert_sound(x.cmd);
	assert_ok(cmd_resize(x.cmd, 0));
	assert_ok(cmd_commit(x.cmd, true));
	assert_sound(x.cmd);
	assert_ok(cmd_resize(x.cmd, n - 1000));
	assert_ok(cmd_commit(x.cmd, true));
	assert_sound(x.cmd);
	meta_shut(&x);
	ramdev_free(rd);
}

static int ignore_block(void *ctx, u32 cblock, u64 oblock, bool dirty,
			u32 hint, bool hint_valid)
{
	(void)cblock;
	(void)oblock;
	(void)dirty;
	(void)hint;
	*(u32 *)ctx += 1 + 1000000 * hint_valid;
	return 0;
}

static u32 no_hint(void *ctx, u32 cblock)
{
	(void)ctx;
	return cblock;
}

static void matching_hints(void **state)
{
	static const u32 minor[3] = { 2, 9, 9 }, major[3] = { 3, 0, 0 };
	const __le32 zero = 0, eight = cpu_to_le32(8);
	struct ramdev *rd = ramdev_new(100);
	struct meta x;
	u32 n = 0;

	(void)state;
	assert_ok(meta_open(&x, rd, 2));
	assert_ok(cmd_resize(x.cmd, 10));
	assert_ok(cmd_insert(x.cmd, 3, 4, false));
	assert_ok(cmd_write_hints(x.cmd, "smq", model_version, no_hint, NULL));
	assert_ok(cmd_commit(x.cmd, true));
	reopen(&x, rd);
	assert_ok(cmd_load(x.cmd, "smq", model_version, ignore_block, &n));
	assert_int_equal(n, 1000001);
	assert_ok(cmd_load(x.cmd, "smq", minor, ignore_block, &n));
	assert_int_equal(n, 2000002);
	assert_ok(cmd_load(x.cmd, "smq", major, ignore_block, &n));
	assert_ok(cmd_load(x.cmd, "mq", model_version, ignore_block, &n));
	assert_ok(cmd_load(x.cmd, NULL, NULL, ignore_block, &n));
	assert_int_equal(n, 2000005);
	meta_shut(&x);

	set_superblock(rd, 60, &zero, 4, true);	/* the tools of 0.9 write 0 for 4 */
	assert_ok(meta_open(&x, rd, 0));
	assert_ok(cmd_load(x.cmd, "smq", model_version, ignore_block, &n));
	assert_int_equal(n, 3000006);
	meta_shut(&x);
	set_superblock(rd, 60, &eight, 4, true);
	assert_ok(meta_open(&x, rd, 0));
	assert_ok(cmd_load(x.cmd, "smq", model_version, ignore_block, &n));
	assert_int_equal(n, 3000007);
	assert_ok(cmd_resize(x.cmd, 2000));
	assert_ok(cmd_commit(x.cmd, false));
	assert_sound(x.cmd);
	meta_shut(&x);
	ramdev_free(rd);
}

/* A change to the same value copies no block. */
static void idle_changes(void **state)
{
	struct ramdev *rd = ramdev_new(100);
	struct meta x;
	u64 ops;

	(void)state;
	for (unsigned int format = 1; format <= 2; format++) {
		ramdev_free(rd);
		rd = ramdev_new(100);
		assert_ok(meta_open(&x, rd, format));
		assert_ok(cmd_resize(x.cmd, 100));
		assert_ok(cmd_insert(x.cmd, 1, 1, true));
		assert_ok(cmd_set_discard_geometry(x.cmd, 128, 50));
		assert_ok(cmd_commit(x.cmd, true));
		ops = rd->ops;
		assert_ok(cmd_set_dirty(x.cmd, 1, true));
		assert_ok(cmd_remove(x.cmd, 2));
		assert_ok(cmd_resize(x.cmd, 100));
		assert_ok(cmd_set_discard_geometry(x.cmd, 128, 50));
		assert_ok(cmd_discard_set(x.cmd, 3, false));
		assert_false(cmd_changed(x.cmd, true));
		assert_ok(cmd_commit(x.cmd, true));
		assert_int_equal(rd->ops, ops);
		meta_shut(&x);
	}
	ramdev_free(rd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(opening_changes_nothing),
		cmocka_unit_test(refusals),
		cmocka_unit_test(foreign_content),
		cmocka_unit_test(unformatted),
		cmocka_unit_test(too_small),
		cmocka_unit_test(reading_only),
		cmocka_unit_test(arguments),
		cmocka_unit_test(record_is_bound),
		cmocka_unit_test(a_flipped_byte_voids_the_record),
		cmocka_unit_test(spare_bytes_survive),
		cmocka_unit_test(log_flag),
		cmocka_unit_test(log_flag_excludes_needs_check),
		cmocka_unit_test(needs_check_leaves_the_rest),
		cmocka_unit_test(zeroing_the_superblock),
		cmocka_unit_test(rereading),
		cmocka_unit_test(extending),
		cmocka_unit_test(an_abort_forgets_places),
		cmocka_unit_test(full_device),
		cmocka_unit_test(matching_hints),
		cmocka_unit_test(idle_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
