// SPDX-License-Identifier: GPL-2.0-only
/* A device in memory that loses, reorders and tears writes as a disk may. */

#include "ramdev.h"

#include <assert.h>

#include "rng.h"

#define SECTOR		512u
#define SECTORS		(PD_BLOCK_SIZE / SECTOR)

struct ramdev *ramdev_new(u64 nr_blocks)
{
	struct ramdev *rd = calloc(1, sizeof(*rd));

	rd->nr_blocks = nr_blocks;
	rd->durable = calloc(nr_blocks, sizeof(*rd->durable));
	rd->seen = calloc(nr_blocks, sizeof(*rd->seen));
	rd->crash_at = rd->fail_at = rd->fail_read_at = U64_MAX;
	return rd;
}

static void put(u8 **blocks, u64 nr, const u8 *data)
{
	if (!blocks[nr])
		blocks[nr] = malloc(PD_BLOCK_SIZE);
	memcpy(blocks[nr], data, PD_BLOCK_SIZE);
}

struct ramdev *ramdev_clone(const struct ramdev *rd)
{
	struct ramdev *copy = ramdev_new(rd->nr_blocks);

	for (u64 i = 0; i < rd->nr_blocks; i++)
		if (rd->durable[i]) {
			put(copy->durable, i, rd->durable[i]);
			put(copy->seen, i, rd->durable[i]);
		}
	return copy;
}

void ramdev_free(struct ramdev *rd)
{
	for (u64 i = 0; i < rd->nr_blocks; i++) {
		free(rd->durable[i]);
		free(rd->seen[i]);
	}
	free(rd->durable);
	free(rd->seen);
	free(rd->log);
	free(rd);
}

void ramdev_grow(struct ramdev *rd, u64 nr_blocks)
{
	size_t more = (nr_blocks - rd->nr_blocks) * sizeof(u8 *);

	rd->durable = realloc(rd->durable, nr_blocks * sizeof(u8 *));
	rd->seen = realloc(rd->seen, nr_blocks * sizeof(u8 *));
	memset(rd->durable + rd->nr_blocks, 0, more);
	memset(rd->seen + rd->nr_blocks, 0, more);
	rd->nr_blocks = nr_blocks;
}

void ramdev_get(struct ramdev *rd, u64 block, void *data)
{
	if (rd->seen[block])
		memcpy(data, rd->seen[block], PD_BLOCK_SIZE);
	else
		memset(data, 0, PD_BLOCK_SIZE);
}

void ramdev_set(struct ramdev *rd, u64 block, const void *data)
{
	put(rd->seen, block, data);
	put(rd->durable, block, data);
}

static int rd_read(void *ctx, u64 block, void *data)
{
	struct ramdev *rd = ctx;

	if (rd->dead || rd->reads++ == rd->fail_read_at)
		return -EIO;
	assert(block < rd->nr_blocks);
	ramdev_get(rd, block, data);
	return 0;
}

static void log_write(struct ramdev *rd, u64 block, const void *data)
{
	if (rd->nr_log == rd->log_room) {
		rd->log_room = rd->log_room ? 2 * rd->log_room : 64;
		rd->log = realloc(rd->log, rd->log_room * sizeof(*rd->log));
	}
	rd->log[rd->nr_log].block = block;
	memcpy(rd->log[rd->nr_log].data, data, PD_BLOCK_SIZE);
	rd->nr_log++;
}

static int rd_write(void *ctx, u64 block, const void *data)
{
	struct ramdev *rd = ctx;
	u64 op = rd->ops++;

	if (rd->dead || op == rd->fail_at)
		return -EIO;
	assert(block < rd->nr_blocks);
	log_write(rd, block, data);
	put(rd->seen, block, data);
	if (op != rd->crash_at)
		return 0;
	rd->dead = true;
	return -EIO;
}

static int rd_flush(void *ctx)
{
	struct ramdev *rd = ctx;
	u64 op = rd->ops++;

	if (op == rd->crash_at)
		rd->dead = true;
	if (rd->dead || op == rd->fail_at)
		return -EIO;
	for (u32 i = 0; i < rd->nr_log; i++)
		put(rd->durable, rd->log[i].block, rd->log[i].data);
	rd->nr_log = 0;
	return 0;
}

static u64 rd_nr_blocks(void *ctx)
{
	return ((struct ramdev *)ctx)->nr_blocks;
}

struct pd_backend ramdev_backend(struct ramdev *rd)
{
	struct pd_backend be = {
		.read = rd_read,
		.write = rd_write,
		.flush = rd_flush,
		.nr_blocks = rd_nr_blocks,
		.ctx = rd,
	};

	return be;
}

struct pd_device *ramdev_open(struct ramdev *rd, bool read_only)
{
	struct pd_backend be = ramdev_backend(rd);
	struct pd_device *dev;
	int r = pd_device_open_backend(&be, read_only, &dev);

	assert(!r);
	return dev;
}

static void shuffle(struct ramdev *rd, u64 *rng)
{
	struct ramdev_write *tmp = malloc(sizeof(*tmp));

	for (u32 i = rd->nr_log; i > 1; i--) {
		u32 k = below(rng, i);

		*tmp = rd->log[i - 1];
		rd->log[i - 1] = rd->log[k];
		rd->log[k] = *tmp;
	}
	free(tmp);
}

static void tear(struct ramdev *rd, const struct ramdev_write *w, u64 *rng)
{
	u8 data[PD_BLOCK_SIZE] = { 0 };

	if (rd->durable[w->block])
		memcpy(data, rd->durable[w->block], PD_BLOCK_SIZE);
	for (u32 s = 0; s < SECTORS; s++)
		if (one_in(rng, 2))
			memcpy(data + s * SECTOR, w->data + s * SECTOR, SECTOR);
	put(rd->durable, w->block, data);
}

static bool survives(const struct ramdev *rd, u32 i, enum ramdev_fate fate,
		     u64 *rng)
{
	bool last = i + 1 == rd->nr_log;

	switch (fate) {
	case RAMDEV_ALL_LOST:
		return false;
	case RAMDEV_LAST_ONLY:
		return last;
	case RAMDEV_LAST_LOST:
		return !last;
	case RAMDEV_SHUFFLED:
		return one_in(rng, 2);
	default:
		return true;
	}
}

/* Power is back: a read returns what is durable. */
static void power_returns(struct ramdev *rd)
{
	static const u8 zero[PD_BLOCK_SIZE];

	for (u32 i = 0; i < rd->nr_log; i++) {
		u64 nr = rd->log[i].block;

		put(rd->seen, nr, rd->durable[nr] ? rd->durable[nr] : zero);
	}
	rd->nr_log = 0;
	rd->dead = false;
	rd->crash_at = rd->fail_at = rd->fail_read_at = U64_MAX;
}

void ramdev_crash(struct ramdev *rd, enum ramdev_fate fate, u64 *rng)
{
	if (fate == RAMDEV_SHUFFLED || fate == RAMDEV_TORN)
		shuffle(rd, rng);
	for (u32 i = 0; i < rd->nr_log; i++) {
		const struct ramdev_write *w = rd->log + i;

		if (!survives(rd, i, fate, rng))
			continue;
		if (fate == RAMDEV_TORN)
			tear(rd, w, rng);
		else
			put(rd->durable, w->block, w->data);
	}
	power_returns(rd);
}

void ramdev_crash_kept(struct ramdev *rd, u64 kept)
{
	for (u32 i = 0; i < rd->nr_log; i++)
		if (kept >> i % 64 & 1)
			put(rd->durable, rd->log[i].block, rd->log[i].data);
	power_returns(rd);
}
