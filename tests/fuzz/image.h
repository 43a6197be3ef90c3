/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metadata fuzzer's input: a metadata device, stored sparsely, and a list of
 * operations on it.
 *
 * A block is stored with its kind and without its zeroes.  When an image is put
 * on a device, image-disk.c seals every block (number and checksum) as its kind asks,
 * and the superblock's record, because a mutation with a wrong checksum would
 * never reach the code behind the check.  A block that is marked broken keeps its bytes.
 */

#ifndef FUZZ_IMAGE_H
#define FUZZ_IMAGE_H

#include "persistent-data/pd-format.h"
#include "persistent-data/pd-device.h"

#define IMAGE_MAX_BLOCKS	640u
#define IMAGE_MAX_DEVICE	65535u	/* blocks */
#define IMAGE_MAX_SLOTS		0x3ffffu
#define IMAGE_MAX_OPS		1024u
#define IMAGE_MAX_BYTES		(256u << 10)

/* image.flags */
#define IMAGE_EARLY_WRITES	1u	/* some dirty buffers are written before the commit */
#define IMAGE_FAILING_READ	2u	/* the next op byte says which read fails */
#define IMAGE_FAILING_WRITE	4u
#define IMAGE_NO_MEMORY		8u	/* an allocation fails */
#define IMAGE_FORMAT2		16u	/* the table asks for format 2 */
#define IMAGE_ANY_BLOCK_SIZE	32u	/* the table takes the metadata's block size */
#define IMAGE_VOID_RECORD	64u	/* nothing seals the record's checksums */

struct image_block {
	u32 nr;
	u8 kind;		/* enum pd_kind */
	bool broken;
	u8 data[PD_BLOCK_SIZE];
};

struct image {
	u32 device_blocks;
	u32 nr_slots;		/* of the table that is resumed */
	u8 flags;
	u8 origin_bits;		/* log2 of the number of the origin's blocks */
	u32 nr_blocks;
	u32 nr_ops;
	struct image_block *blocks[IMAGE_MAX_BLOCKS];
	u8 ops[IMAGE_MAX_OPS];
};

struct image *image_new(void);
void image_free(struct image *im);
/* Empties the image, and keeps the blocks' memory for the next one. */
void image_clear(struct image *im);
/* Never fails: the image ends before bytes that have no meaning. */
void image_parse(struct image *im, const u8 *bytes, size_t size);
/* Returns the number of bytes, or 0 if @room is too small. */
size_t image_write(const struct image *im, u8 *bytes, size_t room);
/* Returns a block to be filled in, or NULL. */
struct image_block *image_add(struct image *im, u32 nr, unsigned int kind);
void image_remove(struct image *im, u32 i);

#endif
