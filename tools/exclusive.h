/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices and files that the programs open for themselves alone. User space only.
 */

#ifndef HEARTH_EXCLUSIVE_H
#define HEARTH_EXCLUSIVE_H

#include "../os/os.h"

/**
 * exclusive_open() - open a block device that nothing uses, or a file
 * @path: of a block device or a regular file
 * @flags: O_RDONLY or O_RDWR
 * @fd: receives the descriptor; the caller closes it
 * @why: receives one line that says why it failed
 * @room: bytes of @why
 *
 * A device that is mounted, in a live cache, or opened in this way by another
 * program, is refused. The page cache's copy of a device is dropped first, because
 * a live cache reads and writes its devices without the page cache.
 *
 * Return: 0; -EBUSY if it is in use; -EINVAL if it is neither a device nor a
 * file; or an error of stat() or open().
 */
int exclusive_open(const char *path, int flags, int *fd, char *why,
		   size_t room);

/**
 * exclusive_same() - whether two paths lead to one device, or to one file
 * @a: one path
 * @b: the other path
 *
 * Return: true if they do; false also if one of them leads to nothing.
 */
bool exclusive_same(const char *a, const char *b);

#endif
