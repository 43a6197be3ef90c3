// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the metadata on a disk with the user-space build of the same code,
 * verifies it with hearth-metadata's checker, and compares the two copies of
 * each block.
 */
#include <string.h>

#include "crash.h"
#include "memory.h"
#include "../../tools/metadata-check.h"

static int load_slot(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		     bool hint_valid)
{
	struct meta_view *v = ctx;

	(void)hint, (void)hint_valid;
	if (cblock >= MAX_SLOTS)
		return -EINVAL;
	v->oblock[cblock] = oblock;
	v->dirty[cblock] = dirty || !v->clean;
	v->nr_mapped++;
	v->nr_dirty += v->dirty[cblock];
	return 0;
}

static void print_fault(void *ctx, const char *msg)
{
	(void)ctx;
	printf("  metadata: %s\n", msg);
}

static bool mapped_twice(const struct meta_view *v)
{
	for (uint32_t i = 0; i < v->nr_slots; i++)
		for (uint32_t j = 0; j < i; j++)
			if (v->oblock[i] != UINT64_MAX && v->oblock[i] == v->oblock[j])
				return true;
	return false;
}

static bool view(struct meta_view *v, struct cmd *cmd)
{
	int r;

	v->formatted = true;
	v->clean = cmd_opened_clean(cmd);
	v->write_log = cmd_log_flag(cmd);
	v->format = cmd_format(cmd);
	v->block_sectors = cmd_data_block_size(cmd);
	v->nr_slots = cmd_cache_blocks(cmd);
	r = cmd_load(cmd, NULL, NULL, load_slot, v);
	if (r)
		printf("  metadata: cannot be loaded: error %d\n", r);
	else if (metadata_check(cmd, print_fault, NULL))
		r = -EILSEQ;
	else if (mapped_twice(v)) {
		printf("  metadata: two slots hold one block\n");
		r = -EILSEQ;
	} else if (cmd_needs_check(cmd)) {
		printf("  metadata: needs_check is set\n");
		r = -EILSEQ;
	}
	return !r;
}

bool meta_read(struct meta_view *v, const uint8_t *meta, uint64_t sectors)
{
	/* The device is opened for reading only, so the cast is safe. */
	struct memory m = { (u8 *)meta, sectors * SECTOR / PD_BLOCK_SIZE, 0 };
	struct pd_backend be = memory_backend(&m);
	struct cmd_geometry geometry = {};
	const char *why = "";
	struct pd_device *dev;
	struct cmd *cmd;
	bool ok;
	int r;

	memset(v, 0, sizeof(*v));
	memset(v->oblock, 0xff, sizeof(v->oblock));
	if (pd_device_open_backend(&be, true, &dev))
		die("no memory");
	r = cmd_open(dev, &geometry, &cmd, &why);
	if (r == -ENODATA) {
		pd_device_close(dev);
		return true;
	}
	if (r) {
		printf("  metadata: %s: error %d\n", why, r);
		pd_device_close(dev);
		return false;
	}
	ok = view(v, cmd);
	cmd_close(cmd);
	pd_device_close(dev);
	return ok;
}

void meta_compose(const struct meta_view *v, const uint8_t *fast,
		  const uint8_t *origin, uint8_t *to, uint64_t sectors)
{
	size_t block = (size_t)v->block_sectors * SECTOR;

	memcpy(to, origin, sectors * SECTOR);
	for (uint32_t i = 0; i < v->nr_slots; i++)
		if (v->oblock[i] != UINT64_MAX &&
		    (v->oblock[i] + 1) * v->block_sectors <= sectors)
			memcpy(to + v->oblock[i] * block, fast + i * block, block);
}

uint32_t meta_unequal(const struct meta_view *v, const uint8_t *fast,
		      const uint8_t *origin, uint64_t origin_sectors, bool dirty)
{
	size_t block = (size_t)v->block_sectors * SECTOR;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < v->nr_slots; i++) {
		uint64_t o = v->oblock[i];

		if (o == UINT64_MAX || v->dirty[i] != dirty ||
		    (o + 1) * v->block_sectors > origin_sectors ||
		    !memcmp(fast + i * block, origin + o * block, block))
			continue;
		if (!dirty && nr < 4)
			printf("  slot %u is clean, and differs from origin block %llu\n",
			       i, (unsigned long long)o);
		nr++;
	}
	return nr;
}
