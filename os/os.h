/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one layer between portable code and its system.
 *
 * persistent-data/, the cache's metadata schema, the slots and the policies are
 * compiled for the kernel and for user space. They include this header, or sync.h,
 * and nothing else from the system. In the kernel it is a list of headers and a few
 * functions. In user space, user.h has functions and macros of the same names, which
 * do the same.
 *
 * It must not know anything about metadata, caches or policies.
 */
#ifndef HEARTH_OS_H
#define HEARTH_OS_H

#ifdef __KERNEL__

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#if __has_include("linux/crc32c.h")	/* folded into crc32.h later */
#include <linux/crc32c.h>
#endif

/**
 * os_zalloc() - allocate zeroed memory
 * @len: bytes
 *
 * Process context, may sleep. GFP_NOIO, because callers are on an I/O path, and
 * the allocator must not wait for I/O that waits for them.
 * Return: the memory, which os_free() frees; NULL without memory.
 */
static inline void *os_zalloc(size_t len)
{
	return kvzalloc(len, GFP_NOIO);
}

/** os_free() - free memory of os_zalloc(); NULL is allowed. May sleep. */
static inline void os_free(const void *p)
{
	kvfree(p);
}

/*
 * OS_KEEPS_MEMORY - may freed memory be kept for later? Not under KASAN, which finds the use of
 * memory only after it is freed.
 */
#define OS_KEEPS_MEMORY		(!IS_ENABLED(CONFIG_KASAN))

/**
 * os_hide() - nobody uses this memory until os_show()
 * @p: memory that is allocated, and kept for later
 * @bytes: how much
 *
 * AddressSanitizer checks that, in user space. Context: any.
 */
static inline void os_hide(const void *p, size_t bytes)
{
}

/**
 * os_show() - what was hidden may be used again
 * @p: the memory
 * @bytes: how much
 *
 * Context: any.
 */
static inline void os_show(const void *p, size_t bytes)
{
}

/* os_err() - log an error. Any context; no newline in the format. */
#define os_err(fmt, ...) \
	pr_err("device-mapper: cache: " fmt "\n", ##__VA_ARGS__)

#else
#include "user.h"
#endif

#endif
