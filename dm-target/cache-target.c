// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device-mapper target "cache": what device-mapper calls.
 *
 * It owns nothing; it hands a table to cache-table.c, its life to
 * cache-engine.c and its bios to cache-io.c.  It must not know what they do.
 */
#include "cache-bio.h"
#include "cache-engine.h"
#include "cache-io.h"
#include "cache-status.h"
#include "cache-table.h"

#include <linux/module.h>

/* Would the metadata be accepted?  Asked when the rest of the table is right. */
static int check_metadata(struct cache_table *t)
{
	const char *why;
	int r;

	r = cache_check_metadata(t, &why);
	if (r)
		cache_table_refuse_metadata(t, why);
	return r;
}

static int cache_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct cache_table *t;
	int r;

	r = cache_table_parse(ti, argc, argv, &t);
	if (r)
		return r;

	ti->private = t;
	ti->num_flush_bios = 2;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	ti->per_io_data_size = sizeof(struct cache_bio);

	r = check_metadata(t);
	if (!r)
		r = dm_set_target_max_io_len(ti, t->block_sectors);
	if (r)
		cache_table_free(t);
	return r;
}

static void cache_dtr(struct dm_target *ti)
{
	struct cache_table *t = ti->private;

	cache_engine_put(t);
	cache_table_free(t);
}

static int cache_map(struct dm_target *ti, struct bio *bio)
{
	struct cache_table *t = ti->private;

	if (bio_sectors(bio))
		bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	return cache_map_bio(t->cache, bio);
}

static int cache_end_io(struct dm_target *ti, struct bio *bio,
			blk_status_t *error)
{
	struct cache_table *t = ti->private;

	return cache_end_bio(t->cache, bio, error);
}

static int cache_preresume(struct dm_target *ti)
{
	return cache_engine_resume(ti->private);
}

static void cache_resume(struct dm_target *ti)
{
	struct cache_table *t = ti->private;

	cache_engine_run(t->cache);
}

static void cache_presuspend(struct dm_target *ti)
{
	struct cache_table *t = ti->private;

	if (t->cache)
		cache_engine_quiesce(t);
}

static void cache_presuspend_undo(struct dm_target *ti)
{
	struct cache_table *t = ti->private;

	if (t->cache)
		cache_engine_unquiesce(t);
}

static void cache_postsuspend(struct dm_target *ti)
{
	struct cache_table *t = ti->private;

	if (t->cache)
		cache_engine_suspend(t);
}

static int cache_iterate_devices(struct dm_target *ti,
				 iterate_devices_callout_fn fn, void *data)
{
	struct cache_table *t = ti->private;
	int r;

	r = fn(ti, t->fast, 0, bdev_nr_sectors(t->fast->bdev), data);
	if (!r)
		r = fn(ti, t->origin, 0, ti->len, data);
	return r;
}

static void cache_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct cache_table *t = ti->private;
	unsigned int block_bytes = t->block_sectors << SECTOR_SHIFT;
	u64 io_opt = limits->io_opt >> SECTOR_SHIFT;

	/* A larger hint that fits our blocks, from a RAID say, is kept. */
	if (io_opt < t->block_sectors || do_div(io_opt, t->block_sectors)) {
		limits->io_min = max(block_bytes, limits->physical_block_size);
		limits->io_opt = block_bytes;
	}
	/*
	 * Requests are cut into blocks here, and the block layer cuts them to
	 * the size that the cache device takes.  That size must not limit how
	 * far the origin is read ahead.
	 */
	compat_raise_max_sectors(limits, t->origin->bdev);
	/*
	 * A discard has 4096 blocks at most, because the worker of deferred bios looks
	 * each of them up, and other bios wait meanwhile.  It has less than 4 GiB,
	 * because the size of a bio has 32 bits.  4096 was not chosen by measurement.
	 */
	limits->max_hw_discard_sectors = t->block_sectors *
		min(4096U, (U32_MAX >> SECTOR_SHIFT) / t->block_sectors);
	limits->max_discard_sectors = limits->max_hw_discard_sectors;
	limits->discard_granularity = block_bytes;
	/* If a page changed while it is written, its two copies would differ. */
	if (!cache_mode_keeps_dirty(t->mode))
		compat_need_stable_writes(ti, limits);
}

static struct target_type cache_target = {
	.name = "cache",
	.version = { 2, 100, 0 },
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = cache_ctr,
	.dtr = cache_dtr,
	.map = cache_map,
	.end_io = cache_end_io,
	.presuspend = cache_presuspend,
	.presuspend_undo = cache_presuspend_undo,
	.postsuspend = cache_postsuspend,
	.preresume = cache_preresume,
	.resume = cache_resume,
	.status = cache_status,
	.message = cache_message,
	.iterate_devices = cache_iterate_devices,
	.io_hints = cache_io_hints,
};

static int __init cache_init(void)
{
	int r = dm_register_target(&cache_target);

	if (r)
		DMERR("cache target registration failed: %d", r);
	return r;
}

static void __exit cache_exit(void)
{
	dm_unregister_target(&cache_target);
}

module_init(cache_init);
module_exit(cache_exit);

MODULE_ALIAS("dm-hearth");
MODULE_DESCRIPTION("hearth: SSD cache target for device-mapper");
MODULE_LICENSE("GPL");
MODULE_VERSION(HEARTH_VERSION);
