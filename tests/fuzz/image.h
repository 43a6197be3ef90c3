/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the metadata fuzzer is fed: a metadata device, stored sparsely, and what
 * is to be done with it.
 *
 * A block is stored with its kind and without its zeroes.  When an image is put
 * on a device every block is sealed (number and checksum) as its kind asks, and
 * so is the superblock's record, so that whatever a mutation did, the code behind
 * the checksum sees it; a block marked broken keeps the bytes it has.
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
#define IMAGE_EARLY_WRITES	1u	/* dirty buffers reach the disk at random */
#define IMAGE_FAILING_READ	2u	/* the first op byte says which one fails */
#define IMAGE_FAILING_WRITE	4u
#define IMAGE_NO_MEMORY		8u	/* an allocation fails */
#define IMAGE_FORMAT2		16u	/* what the table asks for */
#define IMAGE_ANY_BLOCK_SIZE	32u	/* the table's is the metadata's */
#define IMAGE_VOID_RECORD	64u	/* the record's checksums are left as they are */

struct image_block {
	u32 nr;
	u8 kind;		/* enum pd_kind */
	bool broken;
	u8 data[PD_BLOCK_SIZE];
};

struct image {
	u32 device_blocks;
	u32 nr_slots;		/* of the table that resumes on it */
	u8 flags;
	u8 origin_bits;		/* log2 of the origin's blocks */
	u32 nr_blocks;
	u32 nr_ops;
	struct image_block *blocks[IMAGE_MAX_BLOCKS];
	u8 ops[IMAGE_MAX_OPS];
};

struct image *image_new(void);
void image_free(struct image *im);
/* Keeps the memory of the blocks for the next one. */
void image_clear(struct image *im);
/* Never fails: what cannot be understood ends the image. */
void image_parse(struct image *im, const u8 *bytes, size_t size);
/* The number of bytes, or 0 if there is no room for them. */
size_t image_write(const struct image *im, u8 *bytes, size_t room);
/* A block to be filled in, or NULL. */
struct image_block *image_add(struct image *im, u32 nr, unsigned int kind);
void image_remove(struct image *im, u32 i);

#endif
