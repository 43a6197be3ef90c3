// SPDX-License-Identifier: GPL-2.0-only
/* A metadata device in memory, cheap to fill and to clear. */

#include "memdev.h"
#include "metadata/cache-metadata-disk.h"
#include "persistent-data/pd-block-manager.h"

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void note(u32 **list, u32 *nr, u32 *room, u32 value)
{
	if (*nr == *room) {
		*room = *room ? 2 * *room : 256;
		*list = realloc(*list, *room * sizeof(**list));
		must(*list);
	}
	(*list)[(*nr)++] = value;
}

static void put(struct memdev *md, u8 **where, u32 nr, const u8 *data)
{
	if (!where[nr]) {
		where[nr] = malloc(PD_BLOCK_SIZE);
		must(where[nr]);
		note(&md->touched, &md->nr_touched, &md->touched_room, nr);
	}
	memcpy(where[nr], data, PD_BLOCK_SIZE);
}

void memdev_clear(struct memdev *md)
{
	for (u32 i = 0; i < md->nr_touched; i++) {
		u32 nr = md->touched[i];

		free(md->seen[nr]);
		free(md->durable[nr]);
		md->seen[nr] = md->durable[nr] = NULL;
	}
	md->nr_touched = md->nr_written = 0;
	md->reads = md->writes = 0;
	md->fail_read = md->fail_write = md->cut_write = U32_MAX;
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

void memdev_load(struct memdev *md, const struct image *im)
{
	memdev_clear(md);
	md->nr_blocks = im->device_blocks;
	for (u32 i = 0; i < im->nr_blocks; i++) {
		const struct image_block *b = im->blocks[i];
		u8 data[PD_BLOCK_SIZE];

		if (b->nr >= md->nr_blocks)
			continue;
		memcpy(data, b->data, sizeof(data));
		if (!b->broken)
			seal(im, b, data);
		put(md, md->seen, b->nr, data);
		put(md, md->durable, b->nr, data);
	}
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

void memdev_save(const struct memdev *md, struct image *im)
{
	image_clear(im);
	im->device_blocks = md->nr_blocks;
	for (u32 nr = 0; nr < md->nr_blocks; nr++) {
		struct image_block *b;

		if (!md->durable[nr])
			continue;
		b = image_add(im, nr, kind_of(md->durable[nr], nr));
		if (b)
			memcpy(b->data, md->durable[nr], PD_BLOCK_SIZE);
	}
}

static int md_read(void *ctx, u64 block, void *data)
{
	struct memdev *md = ctx;

	if (md->reads++ == md->fail_read)
		return -EIO;
	must(block < md->nr_blocks);
	if (md->seen[block])
		memcpy(data, md->seen[block], PD_BLOCK_SIZE);
	else
		memset(data, 0, PD_BLOCK_SIZE);
	return 0;
}

/* Counts a write or a flush, and returns true if it fails. */
static bool write_fails(struct memdev *md)
{
	u32 nr = md->writes++;

	return nr == md->fail_write || nr >= md->cut_write;
}

static int md_write(void *ctx, u64 block, const void *data)
{
	struct memdev *md = ctx;

	if (write_fails(md))
		return -EIO;
	must(block < md->nr_blocks);
	put(md, md->seen, block, data);
	note(&md->written, &md->nr_written, &md->written_room, block);
	return 0;
}

static int md_flush(void *ctx)
{
	struct memdev *md = ctx;

	if (write_fails(md))
		return -EIO;
	for (u32 i = 0; i < md->nr_written; i++)
		put(md, md->durable, md->written[i], md->seen[md->written[i]]);
	md->nr_written = 0;
	return 0;
}

static u64 md_nr_blocks(void *ctx)
{
	return ((struct memdev *)ctx)->nr_blocks;
}

void memdev_crash(struct memdev *md, u64 kept)
{
	static const u8 zero[PD_BLOCK_SIZE];

	for (u32 i = 0; i < md->nr_written; i++) {
		u32 nr = md->written[i];

		if (kept >> i % 64 & 1)
			put(md, md->durable, nr, md->seen[nr]);
	}
	for (u32 i = 0; i < md->nr_written; i++) {
		u32 nr = md->written[i];

		put(md, md->seen, nr, md->durable[nr] ? md->durable[nr] : zero);
	}
	md->nr_written = 0;
	md->cut_write = U32_MAX;
}

struct pd_device *memdev_open(struct memdev *md, bool read_only)
{
	struct pd_backend be = {
		.read = md_read,
		.write = md_write,
		.flush = md_flush,
		.nr_blocks = md_nr_blocks,
		.ctx = md,
	};
	struct pd_device *dev;

	must(!pd_device_open_backend(&be, read_only, &dev));
	return dev;
}
