// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the write log on the disks with hearth-metadata's code, and settles it.
 *
 * The rules of a log are those of write-log/; this file must not have any of its own.
 */
#include <string.h>

#include "crash.h"
#include "memory.h"
#include "../../tools/log-volume.h"

/* A disk in memory, as the log's library wants it. */
struct plain_disk {
	uint8_t *data;
	uint64_t sectors;
};

static bool is_on(const struct plain_disk *d, u64 sector, u32 sectors)
{
	return sector <= d->sectors && sectors <= d->sectors - sector;
}

static int disk_read(void *ctx, u64 sector, u32 sectors, void *data)
{
	const struct plain_disk *d = ctx;

	if (!is_on(d, sector, sectors))
		return -EIO;
	memcpy(data, d->data + sector * SECTOR, (size_t)sectors * SECTOR);
	return 0;
}

static int disk_write(void *ctx, u64 sector, u32 sectors, const void *data,
		      unsigned int flags)
{
	const struct plain_disk *d = ctx;

	(void)flags;
	if (!is_on(d, sector, sectors))
		return -EIO;
	if (sectors)
		memcpy(d->data + sector * SECTOR, data, (size_t)sectors * SECTOR);
	return 0;
}

static struct log_dev as_log_dev(struct plain_disk *d)
{
	return (struct log_dev) { .read = disk_read, .write = disk_write, .ctx = d };
}

static void print_fault(void *ctx, const char *msg)
{
	(void)ctx;
	printf("  %s\n", msg);
}

/* The metadata, opened; die() if that fails, because it was read before. */
static struct cmd *open_metadata(struct memory *m, bool read_only,
				 struct pd_device **dev)
{
	struct pd_backend be = memory_backend(m);
	struct cmd_geometry geometry = {};
	const char *why = "";
	struct cmd *cmd;

	if (pd_device_open_backend(&be, read_only, dev))
		die("no memory");
	if (cmd_open(*dev, &geometry, &cmd, &why))
		die("metadata that was read before cannot be opened: %s", why);
	return cmd;
}

static uint32_t count_segments(const struct volume_log *l)
{
	static bool seen[MAX_SLOTS];
	uint32_t nr = 0;

	memset(seen, 0, sizeof(seen));
	for (u64 i = 0; i < l->nr_runs; i++) {
		u32 slot = l->runs[i].slot;

		if (slot >= MAX_SLOTS)
			die("the write log has a segment %u", slot);
		nr += !seen[slot];
		seen[slot] = true;
	}
	return nr;
}

static void lay_over(const struct volume_log *l, uint32_t block_sectors,
		     const uint8_t *fast, uint8_t *to, uint64_t sectors)
{
	for (u64 i = 0; i < l->nr_runs; i++) {
		const struct log_run *run = &l->runs[i];
		u64 at = run->block * block_sectors + run->sector;
		u64 from = (u64)run->slot * block_sectors + run->at;

		if (at + run->sectors <= sectors)
			memcpy(to + at * SECTOR, fast + from * SECTOR,
			       (size_t)run->sectors * SECTOR);
	}
}

bool log_lay_over(struct meta_view *v, const uint8_t *meta, uint64_t meta_sectors,
		  const uint8_t *fast, uint64_t fast_sectors, uint8_t *to,
		  uint64_t sectors)
{
	/* Both are only read, so the casts are safe. */
	struct memory m = { (u8 *)meta, meta_sectors * SECTOR / PD_BLOCK_SIZE, 0 };
	struct plain_disk d = { (uint8_t *)fast, fast_sectors };
	struct log_dev cache = as_log_dev(&d);
	struct pd_device *dev;
	struct volume_log l;
	struct cmd *cmd;
	bool ok;

	cmd = open_metadata(&m, true, &dev);
	if (volume_log_load(&l, cmd, &cache, fast_sectors, sectors, print_fault, NULL))
		die("no memory");
	ok = !l.damage;
	if (ok) {
		v->nr_segments = count_segments(&l);
		lay_over(&l, v->block_sectors, fast, to, sectors);
	}
	volume_log_free(&l);
	cmd_close(cmd);
	pd_device_close(dev);
	return ok;
}

bool log_goes_home(uint8_t *meta, uint64_t meta_sectors, uint8_t *fast,
		   uint64_t fast_sectors, uint8_t *origin, uint64_t origin_sectors)
{
	struct memory m = { meta, meta_sectors * SECTOR / PD_BLOCK_SIZE, 0 };
	struct plain_disk f = { fast, fast_sectors }, o = { origin, origin_sectors };
	const struct settle_options quiet = { 0 };
	struct settle_volume volume = {
		.cache = as_log_dev(&f),
		.cache_sectors = fast_sectors,
		.origin = as_log_dev(&o),
		.origin_sectors = origin_sectors,
	};
	struct pd_device *dev;
	char why[256] = "";
	int r;

	volume.cmd = open_metadata(&m, false, &dev);
	r = log_settle(&volume, &quiet, why, sizeof(why));
	if (r)
		printf("  the write log cannot be settled: %s: error %d\n", why, r);
	cmd_close(volume.cmd);
	pd_device_close(dev);
	return !r;
}
