/* SPDX-License-Identifier: GPL-2.0-only */
/* Group commit: changes of the metadata become durable; see cache-commit.c. */
#ifndef HEARTH_CACHE_COMMIT_H
#define HEARTH_CACHE_COMMIT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct cache;

/* The kinds of changes.  A kind says which devices are flushed before the commit. */
enum commit_kind {
	COMMIT_SET_DIRTY,	/* a write waits that may make the copies differ */
	COMMIT_CLEAR_DIRTY,	/* flush both: then two equal copies are durable */
	COMMIT_MAP_CLEAN,	/* flush both: the slot is equal to the origin */
	COMMIT_MAP_DIRTY,	/* flush both: the slot is newer, or is about to be */
	COMMIT_UNMAP,
	COMMIT_HOME,		/* flush the origin; the disk still calls it dirty */
	COMMIT_BARRIER,		/* no change; ends after all that was queued before */
};

/*
 * One change of the metadata, which waits for the group commit that makes it durable.
 * The changes of a group are applied in the order of queueing.
 */
struct commit_op {
	struct list_head list;	/* commit.ops, or those of a group */
	enum commit_kind kind;
	u32 slot;
	u64 block;		/* for COMMIT_MAP_CLEAN and COMMIT_MAP_DIRTY */
	/*
	 * Called once, on wq.commit, without locks; may sleep; may free @op.  An op
	 * that fails for a flush, and a COMMIT_HOME, end before the others of their
	 * group; the others end in the order of queueing.
	 */
	void (*done)(struct cache *c, struct commit_op *op, int error);
};

struct cache_commit {
	spinlock_t lock;		/* guards @ops, @nr_lingering and @kicked */
	struct list_head ops;		/* of struct commit_op, in the order of queueing */
	u32 nr_lingering;		/* of these, no bio waits for; racy reads */
	bool kicked;			/* the worker was queued to run at once */
	struct delayed_work work;	/* cache_commit_work(), on wq.commit */
};

/**
 * cache_commit_queue() - queue a change for which a bio or a caller waits
 * @c: the engine
 * @op: the change; stays until op->done() is called
 *
 * The worker commits it as soon as it can, with all that is queued.
 *
 * op->done() gets 0 or the error: -EROFS if the metadata cannot be changed, -EIO if a
 * flush that the change relies on failed, or an error of the metadata.
 *
 * Context: any, never sleeps; takes commit.lock.
 */
void cache_commit_queue(struct cache *c, struct commit_op *op);

/**
 * cache_commit_linger() - queue a change for which no bio waits
 * @c: the engine
 * @op: the change; stays until op->done() is called
 *
 * The worker commits it with the next group, LINGER_MS later at the latest.  It does so
 * sooner if enough changes linger, if a bio or an eviction needs the slot, or if a
 * suspend begins.
 *
 * op->done() gets the errors of cache_commit_queue().
 *
 * Context: any, never sleeps; takes commit.lock.
 */
void cache_commit_linger(struct cache *c, struct commit_op *op);

/**
 * cache_commit_linger_if() - change a slot's word, and queue a change, in one step
 * @c: the engine
 * @op: the change, as for cache_commit_linger()
 * @change: changes the word of op->slot and returns true, or returns false; called
 *	under commit.lock, must not sleep
 *
 * No other change is queued between @change and @op.
 *
 * Context: any, never sleeps; takes commit.lock.
 *
 * Return: what @change returned.  If it is false, @op was not queued.
 */
bool cache_commit_linger_if(struct cache *c, struct commit_op *op,
			    bool (*change)(struct cache *c, u32 slot));

/**
 * cache_commit_change() - change the metadata, and commit it, between two groups
 * @c: the engine
 * @what: what was tried, for the kernel log if it fails
 * @change: makes the change, and returns 0 or an error; called on wq.commit, under
 *	md.lock, and allocates memory without I/O (memalloc_noio_save())
 * @arg: for @change
 *
 * Context: process, sleeps; not on wq.commit, because it waits for work there; under no
 * lock of the engine.
 *
 * Return: 0 if the change is durable (I1); -EROFS if the metadata cannot be changed; or
 * an error of @change or of the commit.  After such an error the health is no longer
 * HEALTH_GOOD, so no later commit has a part of the change.
 */
int cache_commit_change(struct cache *c, const char *what,
			int (*change)(struct cache *c, void *arg), void *arg);

/**
 * cache_commit_work() - commit one group
 * @work: commit.work of the engine
 *
 * Context: wq.commit; sleeps; takes commit.lock and md.lock, one after the other, and
 * the locks that the ops' done() take.
 */
void cache_commit_work(struct work_struct *work);

/**
 * cache_commit_sync() - wait until all changes that are queued now have ended
 * @c: the engine
 *
 * Context: process, sleeps; not on wq.commit, because it waits for work there; under no
 * lock of the engine but settings.lock.
 *
 * Return: 0; -EROFS if the metadata cannot be changed; or an error of the commit.  A
 * change that failed because of a flush is told to its done() only.
 */
int cache_commit_sync(struct cache *c);

#endif
