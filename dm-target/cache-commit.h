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
	struct delayed_work work;	/* on commit_wq */
};

/*
 * Queue @op, for which a bio or a caller waits: it is committed at once, with all
 * that is queued.  op->done() tells of an error.  Any context; takes
 * commit.lock.
 */
void cache_commit_queue(struct cache *c, struct commit_op *op);
/*
 * Queue @op, for which no bio waits.  It is committed before long: with the next
 * group, when enough operations linger, or when a bio needs its slot.  Any
 * context; takes commit.lock.
 */
void cache_commit_linger(struct cache *c, struct commit_op *op);
/*
 * The same, together with a @change of its slot that must not be seen before @op
 * is queued; @change is called under commit.lock.  False if it changed nothing:
 * @op is not queued then.
 */
bool cache_commit_linger_if(struct cache *c, struct commit_op *op,
			    bool (*change)(struct cache *c, u32 slot));

/* The commit worker: one group. */
void cache_commit_work(struct work_struct *work);
/*
 * Wait until all that is queued now is durable.  May sleep, so not from the
 * commit worker and under none of the engine's locks but settings.lock.
 * Returns the error of the commit.
 */
int cache_commit_sync(struct cache *c);
/*
 * Flush both devices, at the same time.  May sleep.  -EIO if one of them could
 * not, now or ever before.
 */
int cache_flush_devices(struct cache *c);

#endif
