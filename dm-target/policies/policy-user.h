/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space half of policy-os.h: just enough of the kernel's vocabulary
 * that a policy's source compiles unchanged into the simulator and the tests.
 * Racy loads and stores become relaxed atomics, so that ThreadSanitizer
 * reports only the races that a policy did not declare.
 */
#ifndef HEARTH_POLICY_USER_H
#define HEARTH_POLICY_USER_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned int gfp_t;

#define U8_MAX	UINT8_MAX
#define U16_MAX	UINT16_MAX
#define U32_MAX	UINT32_MAX
#define U64_MAX	UINT64_MAX

#define BIT(nr)		(1UL << (nr))
#define BITS_PER_LONG	(8 * (int)sizeof(long))
#define GENMASK(h, l)	((~0UL << (l)) & (~0UL >> (BITS_PER_LONG - 1 - (h))))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#ifndef static_assert
#define static_assert(e, ...)	_Static_assert(e, #e)
#endif
#define BUILD_BUG_ON(e)	_Static_assert(!(e), #e)

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define fallthrough	__attribute__((__fallthrough__))

#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define min(a, b) ({ __auto_type _a = (a); __auto_type _b = (b);	\
		     _a < _b ? _a : _b; })
#define max(a, b) ({ __auto_type _a = (a); __auto_type _b = (b);	\
		     _a > _b ? _a : _b; })
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(type, v, lo, hi) clamp((type)(v), (type)(lo), (type)(hi))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#define ilog2(n)	(63 - __builtin_clzll((unsigned long long)(n)))

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n <= 1 ? 1 : 1UL << (ilog2(n - 1) + 1);
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

#define GFP_KERNEL	0u

static inline void *kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	(void)gfp;
	return calloc(n, size);
}

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	(void)gfp;
	return calloc(1, size);
}

static inline void kvfree(const void *p)
{
	free((void *)p);
}

static inline void kfree(const void *p)
{
	free((void *)p);
}

struct module;
#define THIS_MODULE		((struct module *)NULL)
#define POLICY_USER_NOOP_(line)	extern int policy_user_noop_##line
#define POLICY_USER_NOOP(line)	POLICY_USER_NOOP_(line)
#define MODULE_LICENSE(s)	POLICY_USER_NOOP(__LINE__)
#define MODULE_AUTHOR(s)	POLICY_USER_NOOP(__LINE__)
#define MODULE_DESCRIPTION(s)	POLICY_USER_NOOP(__LINE__)
#define MODULE_ALIAS(s)		POLICY_USER_NOOP(__LINE__)
#define MODULE_VERSION(s)	POLICY_USER_NOOP(__LINE__)

#endif
