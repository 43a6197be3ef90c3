/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device below the metadata store: a cache of 4096-byte blocks over a
 * block device (kernel, on dm-bufio), or over a file or a test's own storage
 * (user space).
 *
 * It owns buffers and I/O. It must not know what is in a block: the layer above
 * hands it a function that seals a block before it is written.
 *
 * A buffer that was marked dirty may be written at any moment from its release
 * on, in any order; only pd_device_flush() says that all are durable. So the
 * superblock's buffer is not marked dirty before all that it points to has been
 * flushed.
 *
 * Context: all functions may sleep. The caller serialises them per device, except
 * for pd_device_nr_blocks() and pd_device_read_only(). Blocks are PD_BLOCK_SIZE
 * bytes and counted from 0. Errors: -EIO, -ENOMEM, -EROFS.
 */

#ifndef HEARTH_PD_DEVICE_H
#define HEARTH_PD_DEVICE_H

#include "../os/os.h"

#define PD_BLOCK_SIZE		4096u
#define PD_BLOCK_SECTORS	8u

struct pd_device;
struct pd_buffer;

/**
 * typedef pd_seal_fn - makes a block ready for the disk
 * @data: the block, PD_BLOCK_SIZE bytes, which it may change
 * @block: where the block is going to be written
 * @kind: what pd_buffer_set_kind() stored
 *
 * The device calls it just before each write of a buffer that was marked dirty
 * with it. May run in any process or worker context; must not sleep, nor use
 * the device.
 */
typedef void (*pd_seal_fn)(void *data, u64 block, unsigned int kind);

#ifdef __KERNEL__
struct block_device;

/**
 * pd_device_open_bdev() - use a block device that the caller holds open
 * @bdev: stays the caller's, who closes it after pd_device_close()
 * @read_only: refuse all writes
 * @out: receives the device
 *
 * Process context, allocates with GFP_KERNEL.
 * Return: 0, -ENOMEM, or dm-bufio's error.
 */
int pd_device_open_bdev(struct block_device *bdev, bool read_only,
			struct pd_device **out);
#else
/**
 * struct pd_backend - storage below the user-space device
 * @read: read a block
 * @write: write a block
 * @flush: make all that was written durable
 * @nr_blocks: present size, in whole blocks
 * @close: free the storage; may be NULL
 * @ctx: passed to each of them
 *
 * All functions return 0 or a negative error.  @block counts blocks.
 */
struct pd_backend {
	int (*read)(void *ctx, u64 block, void *data);
	int (*write)(void *ctx, u64 block, const void *data);
	int (*flush)(void *ctx);
	u64 (*nr_blocks)(void *ctx);
	void (*close)(void *ctx);
	void *ctx;
};

/**
 * pd_backend_of_fd() - storage that is an open file or block device
 * @fd: belongs to the backend from here on; its close() closes it
 * @be: receives the backend
 *
 * Return: 0, or -ENOMEM; then @fd stays the caller's.
 */
int pd_backend_of_fd(int fd, struct pd_backend *be);

/**
 * pd_device_open_file() - use a file or a block device by its path
 * @path: the path
 * @read_only: refuse all writes
 * @out: receives the device
 *
 * Return: 0, -ENOMEM, or the error of opening the file.
 */
int pd_device_open_file(const char *path, bool read_only,
			struct pd_device **out);

/**
 * pd_device_open_backend() - use storage of the caller's own
 * @be: the storage, which pd_device_close() closes
 * @read_only: refuse all writes
 * @out: receives the device
 */
int pd_device_open_backend(const struct pd_backend *be, bool read_only,
			   struct pd_device **out);

/**
 * pd_device_set_early_writes() - write released dirty buffers at random
 * @dev: the device
 * @seed: 0 turns it off
 *
 * dm-bufio may do that under memory pressure.
 */
void pd_device_set_early_writes(struct pd_device *dev, unsigned int seed);
#endif

/**
 * pd_device_close() - drop all buffers and free the handle
 * @dev: the device
 */
void pd_device_close(struct pd_device *dev);

/**
 * pd_device_nr_blocks() - present size of the device, in whole blocks
 * @dev: the device
 */
u64 pd_device_nr_blocks(struct pd_device *dev);

/**
 * pd_device_read_only() - whether all writes are refused
 * @dev: the device
 *
 * Context: any.
 */
bool pd_device_read_only(const struct pd_device *dev);

/**
 * pd_device_reset() - forget every buffer, clean or dirty
 * @dev: the device
 *
 * Dirty buffers may or may not have been written when it returns, but none is
 * written later. No buffer may be held.
 */
int pd_device_reset(struct pd_device *dev);

/**
 * pd_device_read() - get a block's buffer, reading it if it is not cached
 * @dev: the device
 * @block: the block's number
 * @out: receives the buffer
 * @data: receives the address of its PD_BLOCK_SIZE bytes
 *
 * The buffer stays valid until pd_buffer_release().
 */
int pd_device_read(struct pd_device *dev, u64 block, struct pd_buffer **out,
		   void **data);

/**
 * pd_device_new() - get a block's buffer without reading it
 * @dev: the device
 * @block: the block's number
 * @out: receives the buffer
 * @data: receives the address of its PD_BLOCK_SIZE bytes
 *
 * Its content is undefined.
 */
int pd_device_new(struct pd_device *dev, u64 block, struct pd_buffer **out,
		  void **data);

/**
 * pd_device_prefetch() - a hint that a block will be read soon
 * @dev: the device
 * @block: the block's number, which may lie past the end
 */
void pd_device_prefetch(struct pd_device *dev, u64 block);

/**
 * pd_device_forget() - drop a buffer that is clean and not held, so that it is read again
 * @dev: the device
 * @block: the block's number
 */
void pd_device_forget(struct pd_device *dev, u64 block);

/**
 * pd_device_flush() - write all dirty buffers and flush the device
 * @dev: the device
 *
 * Return: 0 when everything is durable; an error if any write since the last
 * call, early ones included, or the flush failed.
 */
int pd_device_flush(struct pd_device *dev);

/**
 * pd_buffer_kind() - the number that the layer above keeps with a buffer
 * @buf: a buffer that is held
 *
 * Return: the number; 0 for a buffer that was read or made anew, also after it was evicted.
 */
unsigned int pd_buffer_kind(struct pd_buffer *buf);
/**
 * pd_buffer_set_kind() - keep a number with a buffer
 * @buf: a buffer that is held
 * @kind: the number
 */
void pd_buffer_set_kind(struct pd_buffer *buf, unsigned int kind);

/**
 * pd_buffer_begin_change() - note that a holder changes the buffer
 * @buf: a buffer that is held
 *
 * Return: false, and nothing changes, while another holder does.
 */
bool pd_buffer_begin_change(struct pd_buffer *buf);

/**
 * pd_buffer_end_change() - the holder that began no longer changes the buffer
 * @buf: a buffer that is still held
 */
void pd_buffer_end_change(struct pd_buffer *buf);

/**
 * pd_buffer_mark_dirty() - have a buffer written
 * @buf: a buffer that is held; call it after the change, before the release
 * @seal: called before each write of it, see pd_seal_fn
 */
void pd_buffer_mark_dirty(struct pd_buffer *buf, pd_seal_fn seal);

/**
 * pd_buffer_release() - let go of a buffer that was read or made
 * @buf: the buffer
 */
void pd_buffer_release(struct pd_buffer *buf);

#endif
