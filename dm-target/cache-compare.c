// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots are compared with the blocks of the origin that they hold.
 *
 * This file owns the two reads, and the rule that says which sectors count as
 * equal.  It must not know why they are compared, nor whether they may be written
 * meanwhile.
 */
#include "cache-compare.h"
#include "cache.h"

#include <linux/completion.h>
#include <linux/vmalloc.h>

/*
 * Pieces that are read at a time.  There are no more, because the buffers of these
 * take 4 MiB.
 */
#define BATCH		32U
#define PIECE_BYTES	(COMPARE_SECTORS << SECTOR_SHIFT)

struct comparison {
	struct cache *c;
	atomic_t pending;
	struct completion done;
	u8 *buffer;		/* for each piece the copy, then the original */
	struct pair *pairs;
};

/* One read, of a piece's copy or of its original. */
struct half {
	struct comparison *cmp;
	struct compat_io io;
	bool failed;
};

struct pair {
	struct half copy, original;
};

static void put_pending(struct comparison *cmp)
{
	if (atomic_dec_and_test(&cmp->pending))
		complete(&cmp->done);
}

static void half_read(struct compat_io *io, unsigned long error)
{
	struct half *h = container_of(io, struct half, io);

	h->failed = error;
	put_pending(h->cmp);
}

static void read_half(struct comparison *cmp, struct half *h,
		      struct dm_io_region *where, u8 *to)
{
	struct dm_io_request req = {
		.bi_opf = REQ_OP_READ,
		.mem.type = DM_IO_VMA,
		.mem.ptr.vma = to,
		.client = cmp->c->clients.io,
	};

	h->cmp = cmp;
	atomic_inc(&cmp->pending);
	compat_dm_io_async(&req, where, &h->io, half_read);
}

static u8 *copy_of(struct comparison *cmp, u32 i)
{
	return cmp->buffer + 2UL * i * PIECE_BYTES;
}

static u8 *original_of(struct comparison *cmp, u32 i)
{
	return copy_of(cmp, i) + PIECE_BYTES;
}

static void read_pair(struct comparison *cmp, const struct cache_piece *p, u32 i)
{
	struct cache *c = cmp->c;
	struct dm_io_region copy = {
		.bdev = c->dev.fast,
		.sector = cache_block_start(c, p->slot) + p->offset,
		.count = p->sectors,
	};
	struct dm_io_region original = {
		.bdev = c->dev.origin,
		.sector = cache_block_start(c, p->block) + p->offset,
		.count = p->sectors,
	};

	read_half(cmp, &cmp->pairs[i].copy, &copy, copy_of(cmp, i));
	read_half(cmp, &cmp->pairs[i].original, &original, original_of(cmp, i));
}

static void read_batch(struct comparison *cmp, const struct cache_piece *pieces,
		       u32 nr)
{
	struct blk_plug plug;
	u32 i;

	atomic_set(&cmp->pending, 1);
	reinit_completion(&cmp->done);
	blk_start_plug(&plug);
	for (i = 0; i < nr; i++)
		read_pair(cmp, &pieces[i], i);
	blk_finish_plug(&plug);
	put_pending(cmp);
	wait_for_completion_io(&cmp->done);
}

static bool differ(const struct cache_piece *p, const u8 *copy, const u8 *original)
{
	u32 sectors;

	for (sectors = p->sectors; sectors; sectors--) {
		if (memcmp(copy, original, SECTOR_SIZE) &&
		    !(p->zeros_excused && !memchr_inv(original, 0, SECTOR_SIZE)))
			return true;
		copy += SECTOR_SIZE;
		original += SECTOR_SIZE;
	}
	return false;
}

static void judge(struct comparison *cmp, struct cache_piece *p, u32 i)
{
	const struct pair *pair = &cmp->pairs[i];

	p->failed = pair->copy.failed || pair->original.failed;
	p->differs = !p->failed &&
		     differ(p, copy_of(cmp, i), original_of(cmp, i));
}

static void compare_all(struct comparison *cmp, struct cache_piece *pieces, u32 nr)
{
	u32 batch, i;

	for (; nr; nr -= batch, pieces += batch) {
		batch = min(nr, BATCH);
		read_batch(cmp, pieces, batch);
		for (i = 0; i < batch; i++)
			judge(cmp, &pieces[i], i);
	}
}

int cache_compare(struct cache *c, struct cache_piece *pieces, u32 nr)
{
	struct comparison cmp = { .c = c };
	u32 batch = min(nr, BATCH);
	int r = 0;

	if (!nr)
		return 0;
	init_completion(&cmp.done);
	cmp.buffer = vzalloc(2UL * batch * PIECE_BYTES);
	cmp.pairs = kcalloc(batch, sizeof(*cmp.pairs), GFP_KERNEL);
	if (cmp.buffer && cmp.pairs)
		compare_all(&cmp, pieces, nr);
	else
		r = -ENOMEM;
	kfree(cmp.pairs);
	vfree(cmp.buffer);
	return r;
}
