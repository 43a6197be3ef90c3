/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Has a device been written since it was flushed?
 *
 * A user's flush goes only to a device that has something to flush.  A disk that is
 * asked to flush first ends what it is doing, so a flush in vain would wait for the
 * reads that miss.
 *
 * A write counts from its end, because a flush serves only writes that have ended.  Only
 * the flush that began last can say that all is flushed: another one may have begun
 * before some write ended.  So each has a number.  Nor can it say so while an older one
 * is in flight, because that one may yet fail, and have dropped the writes.
 *
 * It must not know what a device is, nor why a flush is sent.
 *
 * All functions may be called in any context; none sleeps or takes a lock.
 */
#ifndef HEARTH_CACHE_WRITTEN_H
#define HEARTH_CACHE_WRITTEN_H

#include "../os/sync.h"

/* All writes that have ended are durable. */
#define WRITTEN_FLUSHED	0
/* There may be writes that have ended since the last flush began, or nothing is known. */
#define WRITTEN_SINCE	2

struct cache_written {
	atomic_t state;		/* WRITTEN_*, or the odd number of the flush that began last */
	atomic_t last;		/* the number of the last flush: odd, so it can wrap */
	atomic_t in_flight;	/* flushes, and writes whose failure counts as theirs */
};

/**
 * cache_written_init() - nothing is known of the device
 * @w: what is kept of it
 */
static inline void cache_written_init(struct cache_written *w)
{
	atomic_set(&w->state, WRITTEN_SINCE);
	atomic_set(&w->last, 1);
	atomic_set(&w->in_flight, 0);
}

/**
 * cache_written_note() - a write has ended that is not durable yet
 * @w: what is kept of its device
 *
 * Context: any; nobody has been told yet that the write has ended.  A full barrier lies
 * between the device's answer and the call, because a write that finds WRITTEN_SINCE
 * relies on a flush that begins later.
 */
static inline void cache_written_note(struct cache_written *w)
{
	if (atomic_read(&w->state) != WRITTEN_SINCE)
		atomic_set(&w->state, WRITTEN_SINCE);
}

/**
 * cache_written_is_flushed() - are all writes durable that have ended?
 * @w: what is kept of the device
 */
static inline bool cache_written_is_flushed(const struct cache_written *w)
{
	/* Then the failure of an older flush is seen as well. */
	return atomic_read_acquire(&w->state) == WRITTEN_FLUSHED;
}

/**
 * cache_written_begin_flush() - a flush is about to be sent
 * @w: what is kept of the device
 *
 * cache_written_end_flush() follows, once.
 *
 * Return: its number.
 */
static inline int cache_written_begin_flush(struct cache_written *w)
{
	int nr = atomic_add_return(2, &w->last);

	atomic_inc(&w->in_flight);
	/* A full barrier, because the device must not see the flush before. */
	atomic_xchg(&w->state, nr);
	return nr;
}

/**
 * cache_written_hold() - a write has begun whose failure counts as that of a flush
 * @w: what is kept of the device
 *
 * The device may flush for it, because it has FUA.
 */
static inline void cache_written_hold(struct cache_written *w)
{
	atomic_inc(&w->in_flight);
}

/**
 * cache_written_release() - such a write has ended
 * @w: what is kept of the device
 *
 * If it has failed, the caller has made that known.
 */
static inline void cache_written_release(struct cache_written *w)
{
	/* The failure is known before. */
	smp_mb__before_atomic();
	atomic_dec(&w->in_flight);
}

/**
 * cache_written_end_flush() - a flush has ended
 * @w: what is kept of the device
 * @nr: the number of the flush
 * @served: has the device served it?  If not, the caller has made that known.
 */
static inline void cache_written_end_flush(struct cache_written *w, int nr, bool served)
{
	/* Full barriers, because a later flush must see that this one has failed. */
	if (!atomic_dec_return(&w->in_flight) && served)
		atomic_cmpxchg(&w->state, nr, WRITTEN_FLUSHED);
}

#endif
