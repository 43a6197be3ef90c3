/* SPDX-License-Identifier: GPL-2.0-only */
/* Group commit, see cache-commit.c. */
#ifndef HEARTH_CACHE_COMMIT_H
#define HEARTH_CACHE_COMMIT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct cache;

enum commit_kind {
	COMMIT_SET_DIRTY,	/* set before a write that makes the copies differ */
	COMMIT_CLEAR_DIRTY,	/* both copies are equal, in both devices' caches */
	COMMIT_MAP_CLEAN,
	COMMIT_MAP_DIRTY,
	COMMIT_UNMAP,
	COMMIT_HOME,		/* the origin has it; the disk still calls it dirty */
	COMMIT_BARRIER,		/* everything queued before is durable */
};

/*
 * One change of the metadata, waiting for the group commit that makes it
 * durable.  @done is called once, in the commit worker, in the order of
 * queueing; it may free the op.
 */
struct commit_op {
	struct list_head list;
	enum commit_kind kind;
	u32 slot;
	u64 block;
	void (*done)(struct cache *c, struct commit_op *op, int error);
};

struct cache_commit {
	spinlock_t lock;		/* guards ops to kicked */
	struct list_head ops;
	u32 nr_lingering;		/* ops for which no bio waits; racy reads */
	bool kicked;			/* the worker is to run at once */
	struct delayed_work work;	/* on wq.commit */
};

/**
 * cache_commit_queue() - queue a change for which a bio or a caller waits
 * @c: the engine
 * @op: the caller's until op->done() is called
 *
 * It is committed at once, with all that is queued.  Context: any, never sleeps;
 * takes commit.lock.  op->done() gets the error: -EROFS if the metadata cannot be
 * changed, -EIO if a flush that the change relies on failed, or the metadata's.
 */
void cache_commit_queue(struct cache *c, struct commit_op *op);

/**
 * cache_commit_linger() - queue a change for which no bio waits
 * @c: the engine
 * @op: as above
 *
 * It is committed before long: with the next group, when enough operations linger,
 * or when a bio needs its slot.  Context and errors: as above.
 */
void cache_commit_linger(struct cache *c, struct commit_op *op);

/**
 * cache_commit_linger_if() - the same, together with a change of the slot
 * @c: the engine
 * @op: as above
 * @change: changes op->slot, or returns false; called under commit.lock, must not
 *	sleep
 *
 * The change is not seen before @op is queued.  Context: as above.
 *
 * Return: what @change returned; if false, @op is not queued.
 */
bool cache_commit_linger_if(struct cache *c, struct commit_op *op,
			    bool (*change)(struct cache *c, u32 slot));

/**
 * cache_commit_change() - change the metadata, and commit it
 * @c: the engine
 * @what: the words for the log, if that fails
 * @change: makes the change, on wq.commit, under md.lock, where memory comes without I/O;
 *	returns 0 or an error
 * @arg: for @change
 *
 * It is done on wq.commit, between two groups.  Context: any work but that queue's;
 * sleeps.
 *
 * Return: 0 if the change is durable (I1); -EROFS if the metadata may not be written;
 * or the error, after which no later commit has a part of the change.
 */
int cache_commit_change(struct cache *c, const char *what,
			int (*change)(struct cache *c, void *arg), void *arg);

/**
 * cache_commit_work() - commit one group
 * @work: commit.work of the engine
 *
 * Context: wq.commit; sleeps, takes commit.lock and md.lock, one after the other.
 */
void cache_commit_work(struct work_struct *work);

/**
 * cache_commit_sync() - wait until all that is queued now is durable
 * @c: the engine
 *
 * Context: sleeps.  Not from the commit worker, and under none of the engine's locks
 * but settings.lock.
 *
 * Return: 0, or the error of the commit, as cache_commit_queue() has it.
 */
int cache_commit_sync(struct cache *c);

/**
 * cache_flush_devices() - flush origin and cache device, at the same time
 * @c: the engine
 *
 * Context: sleeps.
 *
 * Return: 0; -EIO if one of them could not flush, now or ever before.
 */
int cache_flush_devices(struct cache *c);

/**
 * cache_flush_fast() - flush the cache device
 * @c: the engine
 *
 * Context: sleeps.
 *
 * Return: 0; -EIO if it could not flush, now or ever before.
 */
int cache_flush_fast(struct cache *c);

/**
 * cache_flush_origin() - flush the origin
 * @c: the engine
 *
 * Context: sleeps.
 *
 * Return: 0; -EIO if it could not flush, now or ever before.
 */
int cache_flush_origin(struct cache *c);

#endif
