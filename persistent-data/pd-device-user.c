// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device below the metadata store, in user space: a write-back cache of
 * blocks over a file, or over storage that a test supplies.
 *
 * This file owns the buffers. It keeps dm-bufio's promises and no more: a dirty
 * buffer may be written at any time after its release, in any order, and the
 * next flush reports the errors of such writes. It must not know what is in a
 * block.
 */

#include "pd-device.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fs.h>

/*
 * A power of two, because then the bucket is a mask. With MAX_BUFFERS buffers a bucket has
 * four. Not chosen by measurement. The buckets take 32 KiB. The fuzzer sets fewer,
 * because it makes many devices.
 */
#ifndef NR_BUCKETS
#define NR_BUCKETS	4096u
#endif
/* 64 MiB; with more buffers, those that are not held are dropped. */
#ifndef MAX_BUFFERS
#define MAX_BUFFERS	16384u
#endif

struct pd_buffer {
	struct pd_device *dev;
	struct pd_buffer *next;
	u64 block;
	unsigned int holders;
	unsigned int kind;
	pd_seal_fn seal;	/* set before the buffer is dirty */
	bool dirty;
	bool changing;	/* a holder changes it */
	bool fresh;	/* never filled: a reader reads it from the device */
	u8 data[PD_BLOCK_SIZE] __attribute__((aligned(16)));
};

struct pd_device {
	struct pd_backend be;
	struct pd_buffer *buckets[NR_BUCKETS];
	unsigned int nr_buffers;
	unsigned int early_seed;
	bool read_only;
	int write_error;	/* first one since the last flush */
};

/* ---- File ---- */

struct file {
	int fd;
};

static int file_read(void *ctx, u64 block, void *data)
{
	struct file *f = ctx;
	ssize_t n = pread(f->fd, data, PD_BLOCK_SIZE, block * PD_BLOCK_SIZE);

	if (n < 0)
		return -errno;
	return n == PD_BLOCK_SIZE ? 0 : -EIO;
}

static int file_write(void *ctx, u64 block, const void *data)
{
	struct file *f = ctx;
	ssize_t n = pwrite(f->fd, data, PD_BLOCK_SIZE, block * PD_BLOCK_SIZE);

	if (n < 0)
		return -errno;
	return n == PD_BLOCK_SIZE ? 0 : -EIO;
}

static int file_flush(void *ctx)
{
	struct file *f = ctx;

	return fdatasync(f->fd) ? -errno : 0;
}

static u64 file_nr_blocks(void *ctx)
{
	struct file *f = ctx;
	struct stat st;
	u64 bytes;

	if (fstat(f->fd, &st))
		return 0;
	if (!S_ISBLK(st.st_mode))
		return st.st_size / PD_BLOCK_SIZE;
	if (ioctl(f->fd, BLKGETSIZE64, &bytes))
		return 0;
	return bytes / PD_BLOCK_SIZE;
}

static void file_close(void *ctx)
{
	struct file *f = ctx;

	close(f->fd);
	free(f);
}

int pd_backend_of_fd(int fd, struct pd_backend *be)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = fd;
	*be = (struct pd_backend) {
		.read = file_read,
		.write = file_write,
		.flush = file_flush,
		.nr_blocks = file_nr_blocks,
		.close = file_close,
		.ctx = f,
	};
	return 0;
}

int pd_device_open_file(const char *path, bool read_only,
			struct pd_device **out)
{
	int fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	struct pd_backend be;
	int r;

	if (fd < 0)
		return -errno;
	r = pd_backend_of_fd(fd, &be);
	if (r) {
		close(fd);
		return r;
	}
	r = pd_device_open_backend(&be, read_only, out);
	if (r)
		be.close(be.ctx);
	return r;
}

/* ---- Buffers ---- */

static struct pd_buffer **bucket(struct pd_device *dev, u64 block)
{
	return dev->buckets + (block & (NR_BUCKETS - 1));
}

static struct pd_buffer *find(struct pd_device *dev, u64 block)
{
	struct pd_buffer *b;

	for (b = *bucket(dev, block); b; b = b->next)
		if (b->block == block)
			return b;
	return NULL;
}

static void unlink_buffer(struct pd_device *dev, struct pd_buffer *b)
{
	struct pd_buffer **p = bucket(dev, b->block);

	while (*p != b)
		p = &(*p)->next;
	*p = b->next;
	dev->nr_buffers--;
	free(b);
}

static void write_buffer(struct pd_device *dev, struct pd_buffer *b)
{
	int r;

	b->seal(b->data, b->block, b->kind);
	r = dev->be.write(dev->be.ctx, b->block, b->data);
	if (r && !dev->write_error)
		dev->write_error = r;
	b->dirty = false;
}

/* Free every buffer that is not held, after writing the dirty ones. */
static void shrink(struct pd_device *dev)
{
	struct pd_buffer *b, *next;

	for (unsigned int i = 0; i < NR_BUCKETS; i++)
		for (b = dev->buckets[i]; b; b = next) {
			next = b->next;
			if (b->holders)
				continue;
			if (b->dirty)
				write_buffer(dev, b);
			unlink_buffer(dev, b);
		}
}

static struct pd_buffer *add(struct pd_device *dev, u64 block)
{
	struct pd_buffer *b;

	if (dev->nr_buffers >= MAX_BUFFERS)
		shrink(dev);
	b = malloc(sizeof(*b));
	if (!b)
		return NULL;
	memset(b, 0, offsetof(struct pd_buffer, data));
	b->dev = dev;
	b->block = block;
	b->next = *bucket(dev, block);
	*bucket(dev, block) = b;
	dev->nr_buffers++;
	return b;
}

int pd_device_open_backend(const struct pd_backend *be, bool read_only,
			   struct pd_device **out)
{
	struct pd_device *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return -ENOMEM;
	dev->be = *be;
	dev->read_only = read_only;
	*out = dev;
	return 0;
}

void pd_device_close(struct pd_device *dev)
{
	pd_device_reset(dev);
	if (dev->be.close)
		dev->be.close(dev->be.ctx);
	free(dev);
}

void pd_device_set_early_writes(struct pd_device *dev, unsigned int seed)
{
	dev->early_seed = seed;
}

u64 pd_device_nr_blocks(struct pd_device *dev)
{
	return dev->be.nr_blocks(dev->be.ctx);
}

bool pd_device_read_only(const struct pd_device *dev)
{
	return dev->read_only;
}

int pd_device_reset(struct pd_device *dev)
{
	for (unsigned int i = 0; i < NR_BUCKETS; i++)
		for (struct pd_buffer *b = dev->buckets[i]; b; b = b->next) {
			assert(!b->holders);
			b->dirty = false;
		}
	shrink(dev);
	dev->write_error = 0;
	return 0;
}

int pd_device_read(struct pd_device *dev, u64 block, struct pd_buffer **out,
		   void **data)
{
	struct pd_buffer *b = find(dev, block);
	int r;

	if (!b || b->fresh) {
		if (block >= pd_device_nr_blocks(dev))
			return -EIO;
		if (!b)
			b = add(dev, block);
		if (!b)
			return -ENOMEM;
		r = dev->be.read(dev->be.ctx, block, b->data);
		if (r) {
			unlink_buffer(dev, b);
			return r;
		}
		b->fresh = false;
	}
	b->holders++;
	*out = b;
	*data = b->data;
	return 0;
}

int pd_device_new(struct pd_device *dev, u64 block, struct pd_buffer **out,
		  void **data)
{
	struct pd_buffer *b = find(dev, block);

	if (dev->read_only)
		return -EROFS;
	if (!b) {
		b = add(dev, block);
		if (!b)
			return -ENOMEM;
		memset(b->data, 0xa5, PD_BLOCK_SIZE);
		b->fresh = true;
	}
	b->holders++;
	*out = b;
	*data = b->data;
	return 0;
}

void pd_device_prefetch(struct pd_device *dev, u64 block)
{
	(void)dev;
	(void)block;
}

void pd_device_forget(struct pd_device *dev, u64 block)
{
	struct pd_buffer *b = find(dev, block);

	if (b && !b->holders && !b->dirty)
		unlink_buffer(dev, b);
}

int pd_device_flush(struct pd_device *dev)
{
	int r;

	if (dev->read_only)
		return -EROFS;
	for (unsigned int i = 0; i < NR_BUCKETS; i++)
		for (struct pd_buffer *b = dev->buckets[i]; b; b = b->next)
			if (b->dirty)
				write_buffer(dev, b);

	r = dev->write_error;
	dev->write_error = 0;
	return r ? r : dev->be.flush(dev->be.ctx);
}

unsigned int pd_buffer_kind(struct pd_buffer *buf)
{
	return buf->kind;
}

void pd_buffer_set_kind(struct pd_buffer *buf, unsigned int kind)
{
	buf->kind = kind;
}

bool pd_buffer_begin_change(struct pd_buffer *buf)
{
	assert(buf->holders);
	if (buf->changing)
		return false;
	buf->changing = true;
	return true;
}

void pd_buffer_end_change(struct pd_buffer *buf)
{
	assert(buf->changing);
	buf->changing = false;
}

void pd_buffer_mark_dirty(struct pd_buffer *buf, pd_seal_fn seal)
{
	assert(buf->holders && !buf->dev->read_only);
	buf->seal = seal;
	buf->dirty = true;
	buf->fresh = false;
}

void pd_buffer_release(struct pd_buffer *buf)
{
	struct pd_device *dev = buf->dev;

	assert(buf->holders);
	if (--buf->holders)
		return;
	if (buf->fresh) {
		unlink_buffer(dev, buf);
		return;
	}
	if (buf->dirty && dev->early_seed && rand_r(&dev->early_seed) % 4 == 0)
		write_buffer(dev, buf);
}
