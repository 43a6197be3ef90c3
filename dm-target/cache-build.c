// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of an engine: allocated and initialised for a table, and freed.  The tick,
 * which gives most of them a moment once a second.
 *
 * It must not know which tables an engine has, nor when it is resumed or suspended:
 * see cache-engine.c.
 */
#include "cache-build.h"
#include "cache-io.h"
#include "cache-load.h"
#include "cache-log-pace.h"
#include "cache-log-state.h"
#include "cache-log.h"
#include "cache-table.h"

#include <linux/vmalloc.h>

/*
 * At least EVICT_BATCH, because a round of evictions allocates all of its
 * migrations before it queues the first.  Twice as many, because write-back takes
 * from the same pool.  Not chosen by measurement.
 */
#define MIGRATION_POOL		128
/* The policy's tick() and the halving of errors count in seconds. */
#define TICK			HZ

/* ---- Ticking ---- */

void cache_tick_starts(struct cache *c)
{
	queue_delayed_work(c->wq.main, &c->tick.work, TICK);
}

static void tick_work(struct work_struct *work)
{
	struct cache *c =
		container_of(to_delayed_work(work), struct cache, tick.work);
	u64 ios = cache_user_ios(c);

	if (READ_ONCE(c->life.quiescing))
		return;
	if (ios != c->tick.ios_seen) {
		WRITE_ONCE(c->tick.last_io, jiffies);
		/* Pairs with cache_is_quiet(). */
		smp_wmb();
		WRITE_ONCE(c->tick.ios_seen, ios);
	}
	cache_degrade_tick(c);
	cache_intents_tick(c);
	cache_yield_tick(c);
	cache_log_tick(c);
	if (c->policy.p->ops->tick) {
		spin_lock(&c->policy.lock);
		c->policy.p->ops->tick(c->policy.p, jiffies_to_msecs(jiffies));
		spin_unlock(&c->policy.lock);
	}
	if (atomic_read(&c->nr.intents) > atomic_read(&c->nr.dirty))
		cache_commit_kick(c);
	if (atomic_read(&c->nr.dirty))
		cache_kick_writeback(c);
	cache_tick_starts(c);
}

/* ---- Construction ---- */

/* The caller has @bdev open. */
static struct cache_device_id device_id(struct block_device *bdev)
{
	return (struct cache_device_id) {
		.dev = bdev->bd_dev,
		.diskseq = bdev->bd_disk->diskseq,
		.start = get_start_sect(bdev),
	};
}

bool cache_is_device(const struct cache_device_id *id,
		     struct block_device *bdev)
{
	struct cache_device_id other = device_id(bdev);

	return cache_device_id_equal(id, &other);
}

void cache_set_devices(struct cache *c, struct cache_table *t)
{
	c->dev.volume = disk_devt(dm_disk(dm_table_get_md(t->ti->table)));
	c->dev.origin = t->origin->bdev;
	c->dev.fast = t->fast->bdev;
	c->dev.metadata = t->metadata->bdev;
	c->dev.origin_id = device_id(c->dev.origin);
	c->dev.fast_id = device_id(c->dev.fast);
	c->geo.origin_sectors = t->ti->len;
	c->geo.origin_blocks = div_u64(t->ti->len, t->block_sectors);
	c->state.table_mode = t->mode;
	c->state.mode = t->mode;
	c->state.discard_passdown = cache_passes_discards(t);
}

static void init_locks(struct cache *c)
{
	cache_wait_init(c);
	cache_flushes_init(&c->flushes);
	spin_lock_init(&c->policy.lock);
	cache_yield_init(c);
	cache_lately_init(c);
	spin_lock_init(&c->gate.discard_lock);
	INIT_LIST_HEAD(&c->gate.discards);
	spin_lock_init(&c->degrade.held_lock);
	spin_lock_init(&c->writeback.failed_lock);
	bio_list_init(&c->degrade.held);
	spin_lock_init(&c->commit.lock);
	INIT_LIST_HEAD(&c->commit.ops);
	mutex_init(&c->md.lock);
	mutex_init(&c->settings.lock);
	INIT_LIST_HEAD(&c->life.list);
	INIT_LIST_HEAD(&c->life.tables);
	kref_init(&c->life.ref);
	cache_admit_init(c);
	INIT_WORK(&c->wait.deferred_work, cache_deferred_work);
	INIT_DELAYED_WORK(&c->commit.work, cache_commit_work);
	INIT_WORK(&c->degrade.work, cache_degrade_work);
	INIT_WORK(&c->evict.work, cache_evict_work);
	INIT_WORK(&c->writeback.work, cache_writeback_work);
	INIT_DELAYED_WORK(&c->tick.work, tick_work);
}

static int alloc_parts(struct cache *c)
{
	c->stats = alloc_percpu(struct cache_stats);
	c->streams.cpu = alloc_percpu(struct stream_cpu);
	c->gate.writers =
		kvcalloc(CACHE_NR_GATES, sizeof(*c->gate.writers), GFP_KERNEL);
	c->both.units =
		kvcalloc(CACHE_NR_UNITS, sizeof(*c->both.units), GFP_KERNEL);
	c->intents.swept = kvmalloc_array(INTENT_BATCH,
					  sizeof(*c->intents.swept), GFP_KERNEL);
	c->writeback.items = kvmalloc_array(WRITEBACK_BATCH,
					    sizeof(*c->writeback.items),
					    GFP_KERNEL);
	c->wq.main = alloc_workqueue("hearth", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	c->wq.bg = alloc_workqueue("hearth-bg", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	c->wq.commit = alloc_ordered_workqueue("hearth-commit", WQ_MEM_RECLAIM);
	if (!c->stats || !c->streams.cpu || !c->gate.writers ||
	    !c->both.units || !c->intents.swept || !c->writeback.items ||
	    !c->wq.main || !c->wq.bg || !c->wq.commit)
		return -ENOMEM;
	return mempool_init_kmalloc_pool(&c->evict.pool, MIGRATION_POOL,
					 sizeof(struct migration));
}

static int alloc_clients(struct cache *c)
{
	int r;

	c->clients.io = dm_io_client_create();
	if (IS_ERR(c->clients.io)) {
		r = PTR_ERR(c->clients.io);
		c->clients.io = NULL;
		return r;
	}
	c->clients.copier = dm_kcopyd_client_create(NULL);
	if (IS_ERR(c->clients.copier)) {
		r = PTR_ERR(c->clients.copier);
		c->clients.copier = NULL;
		return r;
	}
	return 0;
}

void cache_free(struct cache *c)
{
	cache_log_end_pace(c->log);
	if (c->wq.bg)
		destroy_workqueue(c->wq.bg);
	if (c->wq.main)
		destroy_workqueue(c->wq.main);
	if (c->wq.commit)
		destroy_workqueue(c->wq.commit);
	cache_policy_destroy(c);
	if (c->md.cmd)
		cmd_close(c->md.cmd);
	if (c->md.pd)
		pd_device_close(c->md.pd);
	/*
	 * This waits for the last copies, whose end wakes the log, so the log is
	 * freed later.
	 */
	if (c->clients.copier)
		dm_kcopyd_client_destroy(c->clients.copier);
	cache_log_free(c->log);
	if (c->clients.io)
		dm_io_client_destroy(c->clients.io);
	mempool_exit(&c->evict.pool);
	slot_map_exit(&c->map);
	kvfree(c->writeback.items);
	kvfree(c->intents.swept);
	kvfree(c->both.units);
	kvfree(c->gate.writers);
	free_percpu(c->streams.cpu);
	free_percpu(c->stats);
	kvfree(c);
}

static int build_parts(struct cache *c, struct cache_table *t)
{
	int r;

	r = alloc_parts(c);
	if (r)
		return r;
	r = alloc_clients(c);
	if (r)
		return r;
	r = slot_map_init(&c->map, t->nr_slots);
	if (r)
		return r;
	return cache_policy_init(c, t->policy_ops);
}

static void report_size(struct cache *c)
{
	u64 bytes = slot_map_bytes(&c->map) + c->policy.p->bytes;
	u64 centibytes = div_u64(bytes * 100, c->map.nr_slots);
	u32 rest;

	centibytes = div_u64_rem(centibytes, 100, &rest);
	DMINFO("hearth: %u blocks of %u sectors, %u resident, %u dirty; memory %llu KiB, %llu.%02u bytes a block",
	       c->map.nr_slots, c->geo.block_sectors,
	       atomic_read(&c->nr.resident), atomic_read(&c->nr.dirty),
	       bytes >> 10, centibytes, rest);
}

int cache_build(struct cache_table *t, struct cache *before,
		void (*tell_tables)(struct cache *c), struct cache **result)
{
	struct cache *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	int r;

	if (!c)
		return -ENOMEM;
	init_locks(c);
	c->life.tell_tables = tell_tables;
	c->dev.metadata_dev = t->metadata->bdev->bd_dev;
	c->geo.block_sectors = t->block_sectors;
	c->geo.block_shift = is_power_of_2(t->block_sectors) ?
			     ilog2(t->block_sectors) : -1;
	c->geo.part_shift = order_base_2(t->block_sectors) -
			    ilog2(SLOT_NR_PARTS);
	cache_reserve_init(c, t->nr_slots);
	c->life.quiescing = true;
	c->writeback.backoff = jiffies;
	c->intents.last_wanted = jiffies;
	cache_set_devices(c, t);

	r = build_parts(c, t);
	if (!r)
		r = cache_load(c, t, before);
	if (r) {
		cache_free(c);
		return r;
	}
	report_size(c);
	*result = c;
	return 0;
}
