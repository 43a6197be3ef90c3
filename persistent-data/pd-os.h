/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernel and user space: types, byte order, memory,
 * checksums, bitmaps, logging.  The code above includes this header and
 * nothing else from the system.
 *
 * It must not know anything about metadata.
 */

#ifndef HEARTH_PD_OS_H
#define HEARTH_PD_OS_H

#ifdef __KERNEL__

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#if __has_include("linux/crc32c.h")	/* folded into crc32.h later */
#include <linux/crc32c.h>
#endif

/* Zeroed memory of any size; callers are on an I/O path, so never GFP_KERNEL. */
static inline void *pd_zalloc(size_t len)
{
	return kvzalloc(len, GFP_NOIO);
}

static inline void pd_free(const void *p)
{
	kvfree(p);
}

#define pd_err(fmt, ...) \
	pr_err("device-mapper: cache: " fmt "\n", ##__VA_ARGS__)

#else /* user space */

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#ifndef __packed
#define __packed		__attribute__((packed))
#endif
#ifndef __maybe_unused
#define __maybe_unused		__attribute__((unused))
#endif
#define __printf(a, b)		__attribute__((format(printf, a, b)))

#define cpu_to_le32(x)		((__le32)htole32(x))
#define cpu_to_le64(x)		((__le64)htole64(x))
#define le32_to_cpu(x)		((u32)le32toh(x))
#define le64_to_cpu(x)		((u64)le64toh(x))

#define U32_MAX			UINT32_MAX
#define U64_MAX			((u64)~0ULL)

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define DIV_ROUND_UP_ULL(a, b)	DIV_ROUND_UP((u64)(a), (u64)(b))
#define BUILD_BUG_ON(c)		_Static_assert(!(c), #c)
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define cond_resched()		do { } while (0)

#define BITS_PER_LONG		((unsigned int)(8 * sizeof(long)))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline unsigned int hweight32(u32 v)
{
	return __builtin_popcount(v);
}

static inline unsigned long __ffs64(u64 v)
{
	return __builtin_ctzll(v);
}

static inline void __set_bit(unsigned long n, unsigned long *p)
{
	p[n / BITS_PER_LONG] |= 1UL << (n % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned long n, unsigned long *p)
{
	p[n / BITS_PER_LONG] &= ~(1UL << (n % BITS_PER_LONG));
}

static inline int test_bit(unsigned long n, const unsigned long *p)
{
	return p[n / BITS_PER_LONG] >> (n % BITS_PER_LONG) & 1;
}

static inline unsigned long find_next_zero_bit(const unsigned long *p,
					       unsigned long size,
					       unsigned long n)
{
	while (n < size) {
		unsigned long w = ~p[n / BITS_PER_LONG] >> (n % BITS_PER_LONG);

		if (w) {
			n += __builtin_ctzl(w);
			return n < size ? n : size;
		}
		n = (n / BITS_PER_LONG + 1) * BITS_PER_LONG;
	}
	return size;
}

/* The register of CRC-32C (Castagnoli), reflected, without final inversion. */
u32 crc32c(u32 crc, const void *data, size_t len);

extern bool (*pd_alloc_fails)(void);	/* for tests; may be NULL */

static inline void *pd_zalloc(size_t len)
{
	return pd_alloc_fails && pd_alloc_fails() ? NULL : calloc(1, len);
}

static inline void pd_free(const void *p)
{
	free((void *)p);
}

static inline void *memchr_inv(const void *p, int c, size_t len)
{
	const u8 *b = p;

	for (; len; b++, len--)
		if (*b != (u8)c)
			return (void *)b;
	return NULL;
}

static inline long strscpy(char *dst, const char *src, size_t size)
{
	size_t n = strnlen(src, size);

	if (n == size) {
		memcpy(dst, src, size - 1);
		dst[size - 1] = '\0';
		return -E2BIG;
	}
	memcpy(dst, src, n + 1);
	return n;
}

extern bool pd_quiet;	/* tests that provoke errors set it */

#define pd_err(fmt, ...) \
	do { \
		if (!pd_quiet) \
			fprintf(stderr, "metadata: " fmt "\n", ##__VA_ARGS__); \
	} while (0)

#endif
#endif
