// SPDX-License-Identifier: GPL-2.0-only
/*
 * crashdisk: disks in memory, and one log of all writes to them.
 *
 * For tests only.  Two device-mapper targets:
 *
 *   crashdisk INDEX	a disk in memory (meta, fast, origin).  Its memory stays
 *			when the device goes, and user space can map it.
 *   crashtop DEVICE	passes every request on, and records it, too: so the log
 *			has what the user of a cache was told, in one order with
 *			the requests to the disks.
 *
 * A disk serves one request at a time, in random order, after a delay; it
 * serves a request at once if its delay is 0.  It does not model a volatile
 * cache, because the reader of the log does.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/device-mapper.h>
#include <linux/highmem.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/vmalloc.h>

#include "../crashlog.h"

#define DM_MSG_PREFIX "crashdisk"

static unsigned int log_mb = 256;
module_param(log_mb, uint, 0444);
MODULE_PARM_DESC(log_mb, "size of the log in MiB");

static unsigned int disk_mb[NR_DISKS] = { 2, 4, 8 };
module_param_array(disk_mb, uint, NULL, 0444);
MODULE_PARM_DESC(disk_mb, "size of each disk in MiB: metadata, cache, origin");

struct disk {
	char *data;
	spinlock_t lock;		/* guards waiting */
	struct bio_list waiting;
	struct work_struct work;
	unsigned int index;
};

static struct disk disks[NR_DISKS];
static struct crash_head *head;
static DEFINE_SPINLOCK(log_lock);	/* guards head->used and head->overflow */
static struct workqueue_struct *service_wq;

/* ---- The log ---- */

/* Appends an entry and room for its data.  Returns its offset, or 0 if none. */
static u64 log_append(const struct crash_entry *e, size_t data)
{
	size_t len = sizeof(*e) + data;
	unsigned long flags;
	u64 at = 0;

	if (!READ_ONCE(head->recording))
		return 0;
	spin_lock_irqsave(&log_lock, flags);
	if (head->used + len <= head->size) {
		at = head->used;
		memcpy((char *)head + at, e, sizeof(*e));
		head->used += len;
	} else {
		head->overflow = 1;
	}
	spin_unlock_irqrestore(&log_lock, flags);
	return at;
}

static void copy_from_bio(char *to, struct bio *bio)
{
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		memcpy_from_bvec(to, &bv);
		to += bv.bv_len;
	}
}

static void copy_to_bio(struct bio *bio, const char *from)
{
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		memcpy_to_bvec(&bv, from);
		from += bv.bv_len;
	}
}

/* Returns the entry's offset, or 0 for a read or while nothing is recorded. */
static u64 log_submit(struct bio *bio, unsigned int disk)
{
	struct crash_entry e = {
		.disk = disk,
		.flags = bio->bi_opf & REQ_FUA ? CRASH_FUA : 0,
		.sectors = bio_sectors(bio),
		.sector = bio->bi_iter.bi_sector,
	};
	size_t data = 0;
	u64 at;

	if (bio_op(bio) == REQ_OP_DISCARD) {
		e.kind = LOG_DISCARD;
	} else if (bio_op(bio) != REQ_OP_WRITE) {
		return 0;
	} else if (!e.sectors) {
		e.kind = LOG_FLUSH;
	} else {
		e.kind = LOG_WRITE;
		data = bio->bi_iter.bi_size;
	}
	at = log_append(&e, data);
	if (at && data)
		copy_from_bio((char *)head + at + sizeof(e), bio);
	return at;
}

static void log_done(u64 of, unsigned int disk, bool failed)
{
	struct crash_entry e = {
		.kind = LOG_DONE,
		.disk = disk,
		.flags = failed ? LOG_FAILED : 0,
		.of = of,
	};

	if (of)
		log_append(&e, 0);
}

/* ---- A disk ---- */

/* The data that crashdisk and crashtop keep for a bio. */
struct recorded {
	u64 at;
};

static struct recorded *recorded(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct recorded));
}

static void serve(struct disk *d, struct bio *bio)
{
	char *where = d->data + (bio->bi_iter.bi_sector << SECTOR_SHIFT);

	switch (bio_op(bio)) {
	case REQ_OP_READ:
		copy_to_bio(bio, where);
		break;
	case REQ_OP_WRITE:
		copy_from_bio(where, bio);
		break;
	case REQ_OP_DISCARD:
		memset(where, 0, bio->bi_iter.bi_size);
		break;
	default:
		bio->bi_status = BLK_STS_NOTSUPP;
	}
	log_done(recorded(bio)->at, d->index, bio->bi_status);
	bio_endio(bio);
}

/* Takes any of the waiting requests, at random. */
static struct bio *pick(struct disk *d)
{
	struct bio *bio, *picked = NULL;
	struct bio_list rest;
	unsigned int n, i = 0;

	bio_list_init(&rest);
	spin_lock_irq(&d->lock);
	n = bio_list_size(&d->waiting);
	if (n)
		n = get_random_u32() % n;
	while ((bio = bio_list_pop(&d->waiting))) {
		if (i++ == n)
			picked = bio;
		else
			bio_list_add(&rest, bio);
	}
	d->waiting = rest;
	spin_unlock_irq(&d->lock);
	return picked;
}

/* One request in 32 takes much longer than the mean. */
static void wait_a_little(unsigned int mean_us)
{
	u32 dice = get_random_u32();
	unsigned int us = mean_us / 2 + (dice >> 8) % (mean_us + 1);

	if (!mean_us)
		return;
	if (!(dice & 31))
		us *= 16;
	usleep_range(us, us + us / 4 + 1);
}

static void service_work(struct work_struct *work)
{
	struct disk *d = container_of(work, struct disk, work);
	struct bio *bio;

	while ((bio = pick(d))) {
		wait_a_little(READ_ONCE(head->delay_us[d->index]));
		serve(d, bio);
	}
}

static int disk_map(struct dm_target *ti, struct bio *bio)
{
	struct disk *d = ti->private;
	unsigned long flags;

	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	recorded(bio)->at = log_submit(bio, d->index);
	if (!READ_ONCE(head->delay_us[d->index])) {
		serve(d, bio);
		return DM_MAPIO_SUBMITTED;
	}
	spin_lock_irqsave(&d->lock, flags);
	bio_list_add(&d->waiting, bio);
	spin_unlock_irqrestore(&d->lock, flags);
	queue_work(service_wq, &d->work);
	return DM_MAPIO_SUBMITTED;
}

static int disk_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	unsigned int index;

	if (argc != 1 || kstrtouint(argv[0], 10, &index) || index >= NR_DISKS) {
		ti->error = "the argument is the number of a disk";
		return -EINVAL;
	}
	if (ti->len > head->disk_sectors[index]) {
		ti->error = "the disk is smaller than the table";
		return -EINVAL;
	}
	ti->private = &disks[index];
	ti->per_io_data_size = sizeof(struct recorded);
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	return 0;
}

/* The table below crashtop may change, so crashtop does not take its limits. */
static void any_discard(struct dm_target *ti, struct queue_limits *limits)
{
	limits->max_discard_sectors = UINT_MAX >> SECTOR_SHIFT;
	limits->max_hw_discard_sectors = UINT_MAX >> SECTOR_SHIFT;
	limits->discard_granularity = SECTOR_SIZE;
}

/* A disk uses no device; device-mapper calls io_hints only if this exists. */
static int disk_iterate_devices(struct dm_target *ti,
				iterate_devices_callout_fn fn, void *data)
{
	return 0;
}

static struct target_type crashdisk_target = {
	.name = "crashdisk",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = disk_ctr,
	.map = disk_map,
	.iterate_devices = disk_iterate_devices,
	.io_hints = any_discard,
};

/* ---- The recorder above the cache ---- */

static int top_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_dev *dev;
	int r;

	if (argc != 1) {
		ti->error = "the argument is a device";
		return -EINVAL;
	}
	r = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &dev);
	if (r) {
		ti->error = "no such device";
		return r;
	}
	ti->private = dev;
	ti->per_io_data_size = sizeof(struct recorded);
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	return 0;
}

static void top_dtr(struct dm_target *ti)
{
	dm_put_device(ti, ti->private);
}

static int top_map(struct dm_target *ti, struct bio *bio)
{
	struct dm_dev *dev = ti->private;

	if (bio_sectors(bio))
		bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	recorded(bio)->at = log_submit(bio, DISK_TOP);
	bio_set_dev(bio, dev->bdev);
	return DM_MAPIO_REMAPPED;
}

static int top_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	log_done(recorded(bio)->at, DISK_TOP, *error);
	return DM_ENDIO_DONE;
}

static int top_iterate_devices(struct dm_target *ti,
			       iterate_devices_callout_fn fn, void *data)
{
	return fn(ti, ti->private, 0, ti->len, data);
}

static struct target_type crashtop_target = {
	.name = "crashtop",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = top_ctr,
	.dtr = top_dtr,
	.map = top_map,
	.end_io = top_end_io,
	.iterate_devices = top_iterate_devices,
	.io_hints = any_discard,
};

/* ---- /dev/crashdisk: the log and the disks' memory ---- */

static int control_mmap(struct file *file, struct vm_area_struct *vma)
{
	u64 at = (u64)vma->vm_pgoff << PAGE_SHIFT;
	unsigned int i;

	if (!at)
		return remap_vmalloc_range(vma, head, 0);
	for (i = 0; i < NR_DISKS; i++)
		if (at == CRASH_MAP_DISK(i))
			return remap_vmalloc_range(vma, disks[i].data, 0);
	return -EINVAL;
}

/* A mark: user space writes a number, and the log has it among the requests. */
static ssize_t control_write(struct file *file, const char __user *buf,
			     size_t len, loff_t *pos)
{
	struct crash_entry e = { .kind = LOG_MARK };

	if (len != sizeof(e.of) || copy_from_user(&e.of, buf, len))
		return -EINVAL;
	log_append(&e, 0);
	return len;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.mmap = control_mmap,
	.write = control_write,
};

static struct miscdevice control = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "crashdisk",
	.fops = &control_fops,
};

/* ---- Module ---- */

static void free_memory(void)
{
	unsigned int i;

	for (i = 0; i < NR_DISKS; i++)
		vfree(disks[i].data);
	vfree(head);
}

static int alloc_memory(void)
{
	struct disk *d;
	unsigned int i;

	head = vmalloc_user((size_t)log_mb << 20);
	if (!head)
		return -ENOMEM;
	head->size = (u64)log_mb << 20;
	head->used = sizeof(*head);
	for (i = 0; i < NR_DISKS; i++) {
		d = &disks[i];
		d->index = i;
		d->data = vmalloc_user((size_t)disk_mb[i] << 20);
		if (!d->data)
			return -ENOMEM;
		head->disk_sectors[i] = (u64)disk_mb[i] << (20 - SECTOR_SHIFT);
		spin_lock_init(&d->lock);
		bio_list_init(&d->waiting);
		INIT_WORK(&d->work, service_work);
	}
	return 0;
}

static int __init crashdisk_init(void)
{
	int r = alloc_memory();

	if (r)
		goto free;
	r = -ENOMEM;
	service_wq = alloc_workqueue("crashdisk", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!service_wq)
		goto free;
	r = misc_register(&control);
	if (r)
		goto workqueue;
	r = dm_register_target(&crashdisk_target);
	if (r)
		goto device;
	r = dm_register_target(&crashtop_target);
	if (r)
		goto target;
	return 0;

target:
	dm_unregister_target(&crashdisk_target);
device:
	misc_deregister(&control);
workqueue:
	destroy_workqueue(service_wq);
free:
	free_memory();
	return r;
}

static void __exit crashdisk_exit(void)
{
	dm_unregister_target(&crashtop_target);
	dm_unregister_target(&crashdisk_target);
	misc_deregister(&control);
	destroy_workqueue(service_wq);
	free_memory();
}

module_init(crashdisk_init);
module_exit(crashdisk_exit);

MODULE_DESCRIPTION("memory disks with a log, for power-cut tests");
MODULE_LICENSE("GPL");
