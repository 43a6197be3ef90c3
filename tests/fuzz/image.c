// SPDX-License-Identifier: GPL-2.0-only
/* Reads images from bytes, and writes them to bytes. */

#include "image.h"

#define HEADER		12u
#define BROKEN		0x80u
#define MIN_GAP		8u	/* a shorter run of zeroes is stored as data */

struct reader {
	const u8 *at, *end;
};

static u32 take(struct reader *r, unsigned int bytes)
{
	u32 v = 0;

	for (unsigned int i = 0; i < bytes && r->at < r->end; i++)
		v |= (u32)*r->at++ << 8 * i;
	return v;
}

static void give(u8 **at, u32 v, unsigned int bytes)
{
	for (; bytes; bytes--, v >>= 8)
		*(*at)++ = v;
}

struct image *image_new(void)
{
	return calloc(1, sizeof(struct image));
}

void image_free(struct image *im)
{
	for (u32 i = 0; i < IMAGE_MAX_BLOCKS; i++)
		free(im->blocks[i]);
	free(im);
}

void image_clear(struct image *im)
{
	im->nr_blocks = im->nr_ops = 0;
}

struct image_block *image_add(struct image *im, u32 nr, unsigned int kind)
{
	struct image_block *b;

	if (im->nr_blocks == IMAGE_MAX_BLOCKS)
		return NULL;
	b = im->blocks[im->nr_blocks];
	if (!b)
		b = im->blocks[im->nr_blocks] = malloc(sizeof(*b));
	if (!b)
		return NULL;
	im->nr_blocks++;
	b->nr = nr;
	b->kind = kind;
	b->broken = false;
	memset(b->data, 0, PD_BLOCK_SIZE);
	return b;
}

void image_remove(struct image *im, u32 i)
{
	struct image_block *b = im->blocks[i];

	im->blocks[i] = im->blocks[--im->nr_blocks];
	im->blocks[im->nr_blocks] = b;
}

static void parse_runs(struct reader *r, u8 *data)
{
	u32 pos = 0;

	while (r->at < r->end) {
		u32 skip = take(r, 2), len = take(r, 2);

		if (!len)
			return;
		pos = min(pos + skip, PD_BLOCK_SIZE);
		len = min(len, PD_BLOCK_SIZE - pos);
		len = min_t(size_t, len, r->end - r->at);
		memcpy(data + pos, r->at, len);
		r->at += len;
		pos += len;
	}
}

static bool parse_block(struct image *im, struct reader *r)
{
	u32 nr = take(r, 2), kind = take(r, 1);
	struct image_block *b = image_add(im, nr, (kind & ~BROKEN) % PD_NR_KINDS);

	if (!b)
		return false;
	b->broken = kind & BROKEN;
	parse_runs(r, b->data);
	return true;
}

void image_parse(struct image *im, const u8 *bytes, size_t size)
{
	struct reader r = { bytes, bytes + size };
	u32 nr_blocks;

	image_clear(im);
	im->device_blocks = take(&r, 4) & IMAGE_MAX_DEVICE;
	im->nr_slots = take(&r, 4) & IMAGE_MAX_SLOTS;
	im->flags = take(&r, 1);
	im->origin_bits = take(&r, 1);
	nr_blocks = take(&r, 2);
	while (nr_blocks-- && r.at < r.end && parse_block(im, &r))
		;
	im->nr_ops = min_t(size_t, r.end - r.at, IMAGE_MAX_OPS);
	memcpy(im->ops, r.at, im->nr_ops);
}

/* Returns the length of a run of zeroes; data_run() that of one with short gaps only. */
static u32 zero_run(const u8 *data, u32 pos)
{
	u32 at = pos;
	u64 word;

	while (at < PD_BLOCK_SIZE && !data[at]) {
		at++;
		for (; at % 8 == 0 && at < PD_BLOCK_SIZE; at += 8) {
			memcpy(&word, data + at, sizeof(word));
			if (word)
				break;
		}
	}
	return at - pos;
}

static u32 data_run(const u8 *data, u32 pos)
{
	u32 n = 0, zeroes;

	while (pos + n < PD_BLOCK_SIZE) {
		zeroes = zero_run(data, pos + n);
		if (zeroes >= MIN_GAP || pos + n + zeroes == PD_BLOCK_SIZE)
			break;
		n += max(zeroes, 1u);
	}
	return n;
}

/* Each run costs 4 bytes and saves MIN_GAP at least, so the runs fit a block. */
static void write_runs(u8 **at, const struct image_block *b)
{
	/* Sealing fills in the checksum anyway, so it is not stored. */
	u32 pos = b->broken || b->kind == PD_KIND_RAW ? 0 : 4, from = 0;

	for (;;) {
		u32 len;

		pos += zero_run(b->data, pos);
		len = data_run(b->data, pos);
		give(at, len ? pos - from : 0, 2);
		give(at, len, 2);
		if (!len)
			return;
		memcpy(*at, b->data + pos, len);
		*at += len;
		from = pos += len;
	}
}

size_t image_write(const struct image *im, u8 *bytes, size_t room)
{
	u8 *at = bytes, *end = bytes + room;

	if (room < HEADER)
		return 0;
	give(&at, im->device_blocks, 4);
	give(&at, im->nr_slots, 4);
	give(&at, im->flags, 1);
	give(&at, im->origin_bits, 1);
	give(&at, im->nr_blocks, 2);
	for (u32 i = 0; i < im->nr_blocks; i++) {
		const struct image_block *b = im->blocks[i];

		if (end - at < PD_BLOCK_SIZE + 64)
			return 0;
		give(&at, b->nr, 2);
		give(&at, b->kind | (b->broken ? BROKEN : 0), 1);
		write_runs(&at, b);
	}
	if ((size_t)(end - at) < im->nr_ops)
		return 0;
	memcpy(at, im->ops, im->nr_ops);
	return at + im->nr_ops - bytes;
}
