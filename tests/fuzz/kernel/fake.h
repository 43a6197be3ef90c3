/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of the kernel that cache-metadata.c and cache-slots.c need beyond
 * os/os.h.  The program has one thread, so locks do nothing.
 */

#ifndef FUZZ_FAKE_KERNEL_H
#define FUZZ_FAKE_KERNEL_H

#include "os/os.h"

#include <stdlib.h>

#define lower_32_bits(v)	((u32)(v))
#define upper_32_bits(v)	((u32)((v) >> 32))
#define WARN_ON_ONCE(c)		({ if (c) abort(); 0; })
#define cpu_relax()		do { } while (0)

static inline u32 hash_64(u64 v, unsigned int bits)
{
	return v * 0x61C8864680B583EBULL >> (64 - bits);
}

/* ---- Memory ---- */

#define kvmalloc_array(n, size, gfp)	os_zalloc((size_t)(n) * (size))

/* ---- Atomics and locks ---- */

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(a)		((a)->counter)
#define atomic_set(a, v)	((a)->counter = (v))
#define atomic_set_release(a, v) atomic_set(a, v)
#define smp_store_release(p, v)	(*(p) = (v))

#define atomic_add(n, a)	((void)((a)->counter += (n)))
#define atomic_sub(n, a)	((void)((a)->counter -= (n)))
#define smp_mb__before_atomic()	do { } while (0)

static inline int atomic_fetch_sub(int n, atomic_t *a)
{
	int old = a->counter;

	a->counter -= n;
	return old;
}

static inline bool atomic_try_cmpxchg(atomic_t *a, int *old, int new)
{
	if (a->counter != *old) {
		*old = a->counter;
		return false;
	}
	a->counter = new;
	return true;
}

typedef struct {
	int unused;
} spinlock_t;

#define spin_lock_init(l)			((void)(l))
#define spin_lock_irqsave(l, flags)		((void)(l), (flags) = 0)
#define spin_unlock_irqrestore(l, flags)	((void)(l), (void)(flags))
#define lockdep_assert_held(l)			((void)(l))

#endif
