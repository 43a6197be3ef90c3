// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bytes on the disk: checksums, the layout of each kind of block, and the
 * example that the description of the format works out.
 */

#include "util.h"

static void crc(void **state)
{
	static const u8 zero[4092];

	(void)state;
	assert_int_equal(crc32c(~0u, "123456789", 9), 0x1CF96D7C);
	assert_int_equal(crc32c(~0u, zero, sizeof(zero)), 0x58CDA791);
	assert_int_equal(os_crc32c_by_table(~0u, "123456789", 9), 0x1CF96D7C);
	assert_int_equal(os_crc32c_by_table(~0u, zero, sizeof(zero)), 0x58CDA791);
}

static void checksums_of_zero_blocks(void **state)
{
	static const struct {
		enum pd_kind kind;
		u32 csum;
	} want[] = {
		{ PD_KIND_SUPERBLOCK, 0x584476B8 },
		{ PD_KIND_NODE, 0x58CC7E82 },
		{ PD_KIND_ARRAY, 0x7B4E41DE },
		{ PD_KIND_INDEX, 0x58CFD54F },
		{ PD_KIND_BITMAP, 0x58CE0B1A },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		u8 data[PD_BLOCK_SIZE] = { 0 };
		__le32 csum;

		pd_block_seal(data, 0, want[i].kind);
		memcpy(&csum, data, sizeof(csum));
		assert_int_equal(le32_to_cpu(csum), want[i].csum);
	}
}

/* Fills a block from hexadecimal words. */
struct piece {
	u32 offset;
	const char *hex;
};

static void set_pieces(struct ramdev *rd, u64 nr, const struct piece *p)
{
	u8 data[PD_BLOCK_SIZE] = { 0 };

	for (; p->hex; p++) {
		u8 *to = data + p->offset;

		for (const char *h = p->hex; *h; h += *h == ' ' ? 1 : 2) {
			unsigned int v;

			if (*h == ' ')
				continue;
			assert_int_equal(sscanf(h, "%2x", &v), 1);
			*to++ = v;
		}
	}
	ramdev_set(rd, nr, data);
}

static const struct piece example_superblock[] = {
	{ 0x00, "28a373fa 01000000 0000000000000000" },
	{ 0x20, "03c41800 00000000 02000000 736d7100" },
	{ 0x3c, "04000000" },
	{ 0x40, "0004000000000000 0b00000000000000" },
	{ 0x50, "0a00000000000000 0900000000000000" },
	{ 0xc0, "0300000000000000 0700000000000000" },
	{ 0xd0, "0100000000000000" },
	{ 0xe8, "80000000 08000000 0a000000" },
	{ 0x104, "09000000" },	/* the read_misses that that tool wrote */
	{ 0x110, "02000000 00000000 00000000 0500000000000000" },
	{ 0 }
};

static const struct piece example_leaf[] = {
	{ 0x000, "967dbe5b 02000000 0300000000000000" },
	{ 0x010, "01000000 fc000000 08000000 00000000" },
	{ 0x800, "02" },
	{ 0 }
};

static const struct piece example_array[] = {
	{ 0x00, "d6616392 fd010000 0a000000 08000000" },
	{ 0x10, "0200000000000000" },
	{ 0x18, "0100130100000000 0000000000000000 01000a0200000000" },
	{ 0x30, "0100f10000000000 0000000000000000 0100980300000000" },
	{ 0x48, "0100c70300000000 0000000000000000 0100ad0100000000" },
	{ 0x60, "0100c00000000000" },
	{ 0 }
};

static void check_example(struct ramdev *rd, u64 nr, enum pd_kind kind)
{
	struct pd_device *dev = ramdev_open(rd, true);
	u8 sealed[PD_BLOCK_SIZE], data[PD_BLOCK_SIZE];
	struct pd_block b;

	assert_ok(pd_block_read(dev, nr, kind, &b));
	memcpy(data, b.data, sizeof(data));
	memcpy(sealed, b.data, sizeof(sealed));
	pd_block_seal(sealed, nr, kind);
	assert_memory_equal(sealed, data, sizeof(data));
	pd_block_put(&b);
	pd_device_close(dev);
}

static void worked_example(void **state)
{
	struct ramdev *rd = ramdev_new(16);

	(void)state;
	set_pieces(rd, 0, example_superblock);
	set_pieces(rd, 3, example_leaf);
	set_pieces(rd, 2, example_array);
	check_example(rd, 0, PD_KIND_SUPERBLOCK);
	check_example(rd, 3, PD_KIND_NODE);
	check_example(rd, 2, PD_KIND_ARRAY);
	ramdev_free(rd);
}

static u64 word_at(struct ramdev *rd, u64 block, u32 offset)
{
	u8 data[PD_BLOCK_SIZE];
	__le64 v;

	ramdev_get(rd, block, data);
	memcpy(&v, data + offset, sizeof(v));
	return le64_to_cpu(v);
}

static u32 half_at(struct ramdev *rd, u64 block, u32 offset)
{
	u8 data[PD_BLOCK_SIZE];
	__le32 v;

	ramdev_get(rd, block, data);
	memcpy(&v, data + offset, sizeof(v));
	return le32_to_cpu(v);
}

/* Checks a newly formatted device of 1024 blocks field by field. */
static void format_of(unsigned int format)
{
	struct ramdev *rd = ramdev_new(1024);
	u64 used = format == 2 ? 8 : 7;
	u64 index;
	struct meta m;

	assert_ok(meta_open(&m, rd, format));
	assert_true(cmd_formatted(m.cmd));
	assert_false(cmd_opened_clean(m.cmd));
	assert_int_equal(word_at(rd, 0, 32), 0x18C403);
	assert_int_equal(half_at(rd, 0, 4), 0);
	assert_int_equal(half_at(rd, 0, 40), format);
	assert_int_equal(word_at(rd, 0, 44), 0);
	assert_int_equal(half_at(rd, 0, 60), 0);
	assert_int_equal(word_at(rd, 0, 64), 1024);
	assert_int_equal(word_at(rd, 0, 72), used);
	assert_true(word_at(rd, 0, 200));
	assert_int_equal(word_at(rd, 0, 216), 0);
	assert_int_equal(word_at(rd, 0, 224), 0);
	assert_int_equal(half_at(rd, 0, 232), 128);
	assert_int_equal(half_at(rd, 0, 236), 8);
	assert_int_equal(half_at(rd, 0, 240), 0);
	assert_int_equal(!!word_at(rd, 0, 284), format == 2);
	for (u32 i = 292; i < PD_BLOCK_SIZE; i += 4)
		assert_int_equal(half_at(rd, 0, i), 0);

	index = word_at(rd, 0, 80);
	assert_int_equal(half_at(rd, index, 24), 16320 - used);
	assert_int_equal(half_at(rd, index, 28), used);
	assert_int_equal(word_at(rd, index, 32), 0);
	assert_int_equal(half_at(rd, word_at(rd, index, 16), 16),
			 format == 2 ? 0xaaaa : 0x2aaa);
	assert_sound(m.cmd);
	meta_shut(&m);
	ramdev_free(rd);
}

static void fresh_format_1(void **state)
{
	(void)state;
	format_of(1);
}

static void fresh_format_2(void **state)
{
	(void)state;
	format_of(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc),
		cmocka_unit_test(checksums_of_zero_blocks),
		cmocka_unit_test(worked_example),
		cmocka_unit_test(fresh_format_1),
		cmocka_unit_test(fresh_format_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
