/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space half of sync.h: locks, atomics, the hash of numbers, and lists.
 *
 * A spinlock excludes other threads, because tests run this code with threads.
 *
 * It must not know anything about metadata, caches or policies.
 */
#ifndef HEARTH_OS_USER_SYNC_H
#define HEARTH_OS_USER_SYNC_H

#include "os.h"

/* ---- Locks ---- */

typedef struct {
	int held;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = 0;
}

static inline void os_spin_lock(spinlock_t *lock)
{
	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED))
			;
}

static inline void os_spin_unlock(spinlock_t *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

static inline bool os_spin_is_held(const spinlock_t *lock)
{
	return __atomic_load_n(&lock->held, __ATOMIC_RELAXED);
}

#define spin_lock_irqsave(lock, flags) \
	do { (flags) = 0; os_spin_lock(lock); } while (0)
#define spin_unlock_irqrestore(lock, flags) \
	do { (void)(flags); os_spin_unlock(lock); } while (0)
#define spin_lock(lock)		os_spin_lock(lock)
#define spin_unlock(lock)	os_spin_unlock(lock)
#define lockdep_assert_held(lock) \
	do { if (!os_spin_is_held(lock)) abort(); } while (0)
#define WARN_ON_ONCE(c)		({ if (c) abort(); 0; })

/*
 * ---- Atomics ----
 *
 * Each addition and subtraction orders all accesses around it. Some of the kernel's do
 * not, and have a barrier before them. But ThreadSanitizer does not know barriers.
 */

typedef struct {
	int counter;
} atomic_t;

#define atomic_set(a, v)	__atomic_store_n(&(a)->counter, v, __ATOMIC_RELAXED)
#define atomic_set_release(a, v) smp_store_release(&(a)->counter, v)
#define atomic_read(a)		__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED)
#define atomic_add(n, a)	((void)__atomic_add_fetch(&(a)->counter, n, __ATOMIC_SEQ_CST))
#define atomic_sub(n, a)	((void)__atomic_sub_fetch(&(a)->counter, n, __ATOMIC_SEQ_CST))
#define atomic_fetch_sub(n, a)	__atomic_fetch_sub(&(a)->counter, n, __ATOMIC_SEQ_CST)
#define atomic_add_return(n, a)	__atomic_add_fetch(&(a)->counter, n, __ATOMIC_SEQ_CST)
#define atomic_inc(a)		atomic_add(1, a)
#define atomic_dec(a)		atomic_sub(1, a)
#define atomic_dec_return(a)	__atomic_sub_fetch(&(a)->counter, 1, __ATOMIC_SEQ_CST)
#define atomic_read_acquire(a)	__atomic_load_n(&(a)->counter, __ATOMIC_ACQUIRE)
#define atomic_xchg(a, v)	__atomic_exchange_n(&(a)->counter, v, __ATOMIC_SEQ_CST)

static inline int atomic_cmpxchg(atomic_t *a, int old, int new)
{
	__atomic_compare_exchange_n(&a->counter, &old, new, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return old;
}

#define atomic_try_cmpxchg(a, old, new) \
	__atomic_compare_exchange_n(&(a)->counter, old, new, false, \
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)
#define smp_mb__before_atomic()	do { } while (0)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

typedef struct {
	s64 counter;
} atomic64_t;

#define atomic64_set(a, v)	__atomic_store_n(&(a)->counter, v, __ATOMIC_RELAXED)
#define atomic64_read(a)	__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED)
#define atomic64_add(n, a)	((void)__atomic_add_fetch(&(a)->counter, n, __ATOMIC_SEQ_CST))
#define atomic64_sub(n, a)	((void)__atomic_sub_fetch(&(a)->counter, n, __ATOMIC_SEQ_CST))
#define atomic64_add_return(n, a) __atomic_add_fetch(&(a)->counter, n, __ATOMIC_SEQ_CST)

/* ---- The hash of numbers ---- */

static inline u32 hash_64(u64 v, unsigned int bits)
{
	return v * 0x61C8864680B583EBULL >> (64 - bits);
}

/*
 * ---- Lists ----
 *
 * As in the kernel, list_empty() may run beside changes of an entry's neighbours, which do
 * not change its answer.
 */

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	WRITE_ONCE(list->next, list);
	list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return READ_ONCE(list->next) == list;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	entry->prev = list->prev;
	entry->next = list;
	WRITE_ONCE(list->prev->next, entry);
	list->prev = entry;
}

static inline void list_del_init(struct list_head *entry)
{
	WRITE_ONCE(entry->prev->next, entry->next);
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	INIT_LIST_HEAD(from);
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(list, type, member) \
	list_entry((list)->next, type, member)

#endif
