/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space half of os.h: the functions and macros of the kernel that the
 * portable sources use, with the kernel's meaning.
 *
 * READ_ONCE() and WRITE_ONCE() are relaxed atomics, because ThreadSanitizer then
 * reports only the races that the source did not declare by them.
 *
 * It must not know anything about metadata, caches or policies.
 */
#ifndef HEARTH_OS_USER_H
#define HEARTH_OS_USER_H

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
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, bytes)	((void)(p), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes)	((void)(p), (void)(bytes))
#endif

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define U8_MAX			UINT8_MAX
#define U16_MAX			UINT16_MAX
#define U32_MAX			UINT32_MAX
#define U64_MAX			((u64)~0ULL)
#define S64_MAX			INT64_MAX

/* ---- The compiler ---- */

#ifndef __packed
#define __packed		__attribute__((packed))
#endif
#ifndef __maybe_unused
#define __maybe_unused		__attribute__((unused))
#endif
#ifndef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#endif
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define noinline		__attribute__((noinline))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define fallthrough		__attribute__((__fallthrough__))
#define BUILD_BUG_ON(e)		_Static_assert(!(e), #e)
#undef static_assert
#define static_assert(e, ...)	_Static_assert(e, #e)

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* ---- Numbers ---- */

#define cpu_to_le16(x)		((__le16)htole16(x))
#define le16_to_cpu(x)		((u16)le16toh(x))
#define cpu_to_le32(x)		((__le32)htole32(x))
#define cpu_to_le64(x)		((__le64)htole64(x))
#define le32_to_cpu(x)		((u32)le32toh(x))
#define le64_to_cpu(x)		((u64)le64toh(x))

#define min(a, b) ({ __auto_type _a = (a); __auto_type _b = (b);	\
		     _a < _b ? _a : _b; })
#define max(a, b) ({ __auto_type _a = (a); __auto_type _b = (b);	\
		     _a > _b ? _a : _b; })
#define min3(a, b, c)		min(min(a, b), c)
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(type, v, lo, hi) clamp((type)(v), (type)(lo), (type)(hi))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP((u64)(n), (u64)(d))

#define lower_32_bits(v)	((u32)(v))
#define upper_32_bits(v)	((u32)((v) >> 32))

#define ilog2(n)		(63 - __builtin_clzll((unsigned long long)(n)))

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n <= 1 ? 1 : 1UL << (ilog2(n - 1) + 1);
}

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

static inline s64 div_s64(s64 n, s32 d)
{
	return n / d;
}

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

/**
 * crc32c() - continue a CRC-32C (Castagnoli), reflected, as the kernel's does
 * @crc: the register: ~0 to begin with, or the result of the last call
 * @data: the bytes
 * @len: how many bytes
 *
 * Return: the register, not inverted.
 */
u32 crc32c(u32 crc, const void *data, size_t len);
/** os_crc32c_by_table() - crc32c() by a table, for any processor */
u32 os_crc32c_by_table(u32 crc, const void *data, size_t len);

/* ---- Bits ---- */

#define BITS_PER_LONG		((unsigned int)(8 * sizeof(long)))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define BIT(nr)			(1UL << (nr))
#define GENMASK(h, l)		((~0UL << (l)) & (~0UL >> (BITS_PER_LONG - 1 - (h))))

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

/* ---- Memory ---- */

typedef unsigned int gfp_t;

#define GFP_KERNEL		0u

/* A test may set this: every allocation for which it returns true fails. */
extern bool (*os_alloc_fails)(void);

static inline void *os_zalloc(size_t len)
{
	return os_alloc_fails && os_alloc_fails() ? NULL : calloc(1, len);
}

static inline void os_free(const void *p)
{
	free((void *)p);
}

#define OS_KEEPS_MEMORY		true

/* Without AddressSanitizer these two do nothing. */
static inline void os_hide(const void *p, size_t bytes)
{
	ASAN_POISON_MEMORY_REGION(p, bytes);
}

static inline void os_show(const void *p, size_t bytes)
{
	ASAN_UNPOISON_MEMORY_REGION(p, bytes);
}

static inline void *kvcalloc(size_t n, size_t len, gfp_t gfp)
{
	size_t bytes;

	(void)gfp;
	return __builtin_mul_overflow(n, len, &bytes) ? NULL : os_zalloc(bytes);
}

/* Zeroed, which the kernel's is not. */
static inline void *kvmalloc_array(size_t n, size_t len, gfp_t gfp)
{
	return kvcalloc(n, len, gfp);
}

static inline void *kzalloc(size_t len, gfp_t gfp)
{
	(void)gfp;
	return os_zalloc(len);
}

static inline void kvfree(const void *p)
{
	os_free(p);
}

static inline void kfree(const void *p)
{
	os_free(p);
}

/* ---- Errors in the place of a pointer ---- */

#define MAX_ERRNO		4095

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline long PTR_ERR(const void *p)
{
	return (long)p;
}

static inline bool IS_ERR(const void *p)
{
	return (unsigned long)p >= (unsigned long)-MAX_ERRNO;
}

/* ---- Strings ---- */

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

	if (!size)
		return -E2BIG;
	if (n == size) {
		memcpy(dst, src, size - 1);
		dst[size - 1] = '\0';
		return -E2BIG;
	}
	memcpy(dst, src, n + 1);
	return n;
}

/* ---- Messages and scheduling ---- */

extern bool os_quiet;	/* a test that provokes errors sets this: no messages */

#define os_err(fmt, ...) \
	do { \
		if (!os_quiet) \
			fprintf(stderr, "metadata: " fmt "\n", ##__VA_ARGS__); \
	} while (0)

#define cond_resched()		do { } while (0)
#define cpu_relax()		do { } while (0)

/* ---- Modules ---- */

struct module;
#define THIS_MODULE		((struct module *)NULL)
#define OS_NOOP_(line)		extern int os_noop_##line
#define OS_NOOP(line)		OS_NOOP_(line)
#define MODULE_LICENSE(s)	OS_NOOP(__LINE__)
#define MODULE_AUTHOR(s)	OS_NOOP(__LINE__)
#define MODULE_DESCRIPTION(s)	OS_NOOP(__LINE__)
/* Aliases are kept in a section, because the simulator finds policies by alias. */
#define OS_ALIAS_(s, n)	\
	static const char *const os_alias_##n \
		__attribute__((used, section("os_aliases"))) = (s)
#define OS_ALIAS(s, n)		OS_ALIAS_(s, n)
#define MODULE_ALIAS(s)		OS_ALIAS(s, __COUNTER__)
#define MODULE_VERSION(s)	OS_NOOP(__LINE__)

#endif
