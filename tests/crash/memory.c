// SPDX-License-Identifier: GPL-2.0-only
/* Metadata in memory: a write changes it at once, and a flush does nothing. */
#include "memory.h"

static int memory_read(void *ctx, u64 block, void *data)
{
	struct memory *m = ctx;

	if (block >= m->blocks)
		return -EIO;
	memcpy(data, m->data + block * PD_BLOCK_SIZE, PD_BLOCK_SIZE);
	return 0;
}

static int memory_write(void *ctx, u64 block, const void *data)
{
	struct memory *m = ctx;

	if (block >= m->blocks)
		return -EIO;
	m->writes++;
	memcpy(m->data + block * PD_BLOCK_SIZE, data, PD_BLOCK_SIZE);
	return 0;
}

static int memory_flush(void *ctx)
{
	(void)ctx;
	return 0;
}

static u64 memory_nr_blocks(void *ctx)
{
	return ((struct memory *)ctx)->blocks;
}

static void memory_close(void *ctx)
{
	(void)ctx;
}

struct pd_backend memory_backend(struct memory *m)
{
	struct pd_backend be = {
		.read = memory_read,
		.write = memory_write,
		.flush = memory_flush,
		.nr_blocks = memory_nr_blocks,
		.close = memory_close,
		.ctx = m,
	};

	return be;
}
