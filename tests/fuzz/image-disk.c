// SPDX-License-Identifier: GPL-2.0-only
/* An image comes from a file.  It becomes a RAM disk, and a RAM disk an image. */

#include <errno.h>
#include <stdio.h>

#include "image-disk.h"
#include "metadata/cache-metadata-disk.h"
#include "persistent-data/pd-block-manager.h"

int image_load(struct image *im, const char *path)
{
	static u8 bytes[IMAGE_MAX_BYTES];
	FILE *f = fopen(path, "r");
	size_t nr_bytes;

	if (!f)
		return -errno;
	nr_bytes = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	image_parse(im, bytes, nr_bytes);
	return 0;
}

/* Seals both checksums of the superblock's record, if there is a record. */
static void seal_record(u8 *superblock)
{
	const u32 from = sizeof(__le32);	/* the block's own checksum */
	struct cmd_superblock *sb = (struct cmd_superblock *)superblock;
	struct cmd_disk_record *rec = &sb->record;
	u32 crc;

	if (le32_to_cpu(rec->magic) != CMD_RECORD_MAGIC)
		return;
	crc = crc32c(~0u, superblock + from, offsetof(struct cmd_superblock,
						      record) - from);
	rec->bound = cpu_to_le32(crc);
	crc = crc32c(~0u, rec, offsetof(struct cmd_disk_record, csum));
	rec->csum = cpu_to_le32(crc32c(crc, rec->data, sizeof(rec->data)));
}

static void seal(const struct image *im, const struct image_block *b, u8 *data)
{
	/* Seal the block first, because the record's checksums cover its number. */
	pd_block_seal(data, b->nr, b->kind);
	if (b->kind != PD_KIND_SUPERBLOCK || (im->flags & IMAGE_VOID_RECORD))
		return;
	seal_record(data);
	pd_block_seal(data, b->nr, b->kind);
}

struct ramdev *image_to_disk(const struct image *im)
{
	struct ramdev *rd = ramdev_new(im->device_blocks);

	for (u32 i = 0; i < im->nr_blocks; i++) {
		const struct image_block *b = im->blocks[i];
		u8 data[PD_BLOCK_SIZE];

		if (b->nr >= rd->nr_blocks)
			continue;
		memcpy(data, b->data, sizeof(data));
		if (!b->broken)
			seal(im, b, data);
		ramdev_set(rd, b->nr, data);
	}
	return rd;
}

static unsigned int kind_of(const u8 *data, u32 nr)
{
	u8 sealed[PD_BLOCK_SIZE];

	for (unsigned int kind = PD_KIND_SUPERBLOCK; kind < PD_NR_KINDS; kind++) {
		memcpy(sealed, data, sizeof(sealed));
		pd_block_seal(sealed, nr, kind);
		if (!memcmp(sealed, data, sizeof(sealed)))
			return kind;
	}
	return PD_KIND_RAW;
}

void image_from_disk(struct image *im, const struct ramdev *rd)
{
	image_clear(im);
	im->device_blocks = rd->nr_blocks;
	for (u32 nr = 0; nr < rd->nr_blocks; nr++) {
		struct image_block *b;

		if (!rd->durable[nr])
			continue;
		b = image_add(im, nr, kind_of(rd->durable[nr], nr));
		if (b)
			memcpy(b->data, rd->durable[nr], PD_BLOCK_SIZE);
	}
}
