// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device below the metadata store, in the kernel: dm-bufio over a block
 * device.
 *
 * This file owns the bufio client and the translation of its conventions. It
 * must not know what is in a block, nor who opened the block device.
 */

#include "pd-device.h"

#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/dm-bufio.h>

/*
 * Buffers that one thread may hold at a time without waiting for memory: a
 * tree walk holds one per level, a change a few more.
 */
#define PD_RESERVED_BUFFERS	16

struct pd_device {
	struct dm_bufio_client *bufio;
	bool read_only;
};

struct pd_aux {
	pd_seal_fn seal;	/* set before the buffer is dirty */
	unsigned int kind;
	bool changing;		/* a holder changes it */
};

/*
 * A block device's error is -EIO here, because codes such as -ENODATA mean
 * something else above.
 */
static int device_error(int r)
{
	return !r || r == -ENOMEM ? r : -EIO;
}

static struct dm_buffer *to_dm(struct pd_buffer *buf)
{
	return (struct dm_buffer *)buf;
}

static void pd_alloc_callback(struct dm_buffer *b)
{
	struct pd_aux *aux = dm_bufio_get_aux_data(b);

	aux->kind = 0;
	aux->seal = NULL;
	aux->changing = false;
}

static void pd_write_callback(struct dm_buffer *b)
{
	struct pd_aux *aux = dm_bufio_get_aux_data(b);

	aux->seal(dm_bufio_get_block_data(b), dm_bufio_get_block_number(b),
		  aux->kind);
}

int pd_device_open_bdev(struct block_device *bdev, bool read_only,
			struct pd_device **out)
{
	struct pd_device *dev;
	int r;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;

	dev->read_only = read_only;
	dev->bufio = dm_bufio_client_create(bdev, PD_BLOCK_SIZE,
					    PD_RESERVED_BUFFERS,
					    sizeof(struct pd_aux),
					    pd_alloc_callback,
					    pd_write_callback, 0);
	if (IS_ERR(dev->bufio)) {
		r = PTR_ERR(dev->bufio);
		kfree(dev);
		return r;
	}

	*out = dev;
	return 0;
}

void pd_device_close(struct pd_device *dev)
{
	dm_bufio_client_destroy(dev->bufio);
	kfree(dev);
}

u64 pd_device_nr_blocks(struct pd_device *dev)
{
	return dm_bufio_get_device_size(dev->bufio);
}

bool pd_device_read_only(const struct pd_device *dev)
{
	return dev->read_only;
}

int pd_device_reset(struct pd_device *dev)
{
	/*
	 * dm-bufio cannot drop dirty buffers, only write them. That is
	 * harmless, because nothing durable points to them. The call also
	 * collects their error, so that a later flush does not report it.
	 */
	if (!dev->read_only)
		dm_bufio_write_dirty_buffers(dev->bufio);
	dm_bufio_client_reset(dev->bufio);
	return 0;
}

int pd_device_read(struct pd_device *dev, u64 block, struct pd_buffer **out,
		   void **data)
{
	struct dm_buffer *b;
	void *p = dm_bufio_read(dev->bufio, block, &b);

	if (IS_ERR(p))
		return device_error(PTR_ERR(p));

	*out = (struct pd_buffer *)b;
	*data = p;
	return 0;
}

int pd_device_new(struct pd_device *dev, u64 block, struct pd_buffer **out,
		  void **data)
{
	struct dm_buffer *b;
	void *p;

	if (dev->read_only)
		return -EROFS;

	p = dm_bufio_new(dev->bufio, block, &b);
	if (IS_ERR(p))
		return PTR_ERR(p);

	*out = (struct pd_buffer *)b;
	*data = p;
	return 0;
}

void pd_device_prefetch(struct pd_device *dev, u64 block)
{
	if (block < pd_device_nr_blocks(dev))
		dm_bufio_prefetch(dev->bufio, block, 1);
}

void pd_device_forget(struct pd_device *dev, u64 block)
{
	dm_bufio_forget(dev->bufio, block);
}

int pd_device_flush(struct pd_device *dev)
{
	if (dev->read_only)
		return -EROFS;
	return device_error(dm_bufio_write_dirty_buffers(dev->bufio));
}

unsigned int pd_buffer_kind(struct pd_buffer *buf)
{
	struct pd_aux *aux = dm_bufio_get_aux_data(to_dm(buf));

	return aux->kind;
}

void pd_buffer_set_kind(struct pd_buffer *buf, unsigned int kind)
{
	struct pd_aux *aux = dm_bufio_get_aux_data(to_dm(buf));

	aux->kind = kind;
}

bool pd_buffer_begin_change(struct pd_buffer *buf)
{
	struct pd_aux *aux = dm_bufio_get_aux_data(to_dm(buf));

	if (aux->changing)
		return false;
	aux->changing = true;
	return true;
}

void pd_buffer_end_change(struct pd_buffer *buf)
{
	struct pd_aux *aux = dm_bufio_get_aux_data(to_dm(buf));

	aux->changing = false;
}

void pd_buffer_mark_dirty(struct pd_buffer *buf, pd_seal_fn seal)
{
	struct pd_aux *aux = dm_bufio_get_aux_data(to_dm(buf));

	aux->seal = seal;
	dm_bufio_mark_buffer_dirty(to_dm(buf));
}

void pd_buffer_release(struct pd_buffer *buf)
{
	dm_bufio_release(to_dm(buf));
}
