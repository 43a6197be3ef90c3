/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device in memory that behaves as badly as a disk may: what was written
 * since the last flush can be lost, reordered or torn when it crashes.
 */

#ifndef RAMDEV_H
#define RAMDEV_H

#include "persistent-data/pd-device.h"

struct ramdev_write {
	u64 block;
	u8 data[PD_BLOCK_SIZE];
};

struct ramdev {
	u64 nr_blocks;
	u8 **durable;		/* NULL: zero */
	u8 **seen;		/* what a read returns */
	struct ramdev_write *log;	/* writes since the last flush */
	u32 nr_log;
	u32 log_room;
	u64 ops;		/* writes and flushes so far */
	u64 crash_at;		/* the op that does not return; ~0: none */
	u64 fail_at;		/* the op that fails, once; ~0: none */
	u64 reads;
	u64 fail_read_at;	/* the read that fails, once; ~0: none */
	bool dead;
};

enum ramdev_fate {
	RAMDEV_ALL_LOST,	/* nothing after the last flush survives */
	RAMDEV_ALL_KEPT,	/* all of it, the write in flight included */
	RAMDEV_LAST_ONLY,	/* the last write alone overtook the others */
	RAMDEV_LAST_LOST,
	RAMDEV_SHUFFLED,	/* some whole writes, in any order */
	RAMDEV_TORN,		/* some sectors of some writes, in any order */
	RAMDEV_NR_FATES
};

struct ramdev *ramdev_new(u64 nr_blocks);
struct ramdev *ramdev_clone(const struct ramdev *rd);	/* what is durable */
void ramdev_free(struct ramdev *rd);
void ramdev_grow(struct ramdev *rd, u64 nr_blocks);

/* Behind everybody's back. */
void ramdev_get(struct ramdev *rd, u64 block, void *data);
void ramdev_set(struct ramdev *rd, u64 block, const void *data);

/* A device on top; closing it leaves the ramdev alone. */
struct pd_device *ramdev_open(struct ramdev *rd, bool read_only);

/* Power comes back. */
void ramdev_crash(struct ramdev *rd, enum ramdev_fate fate, u64 *rng);

#endif
