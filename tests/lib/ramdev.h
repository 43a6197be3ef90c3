/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RAM disk of the tests.  It behaves as badly as a disk may: a crash can lose,
 * reorder or tear the writes since the last flush.
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
	u8 **durable;		/* NULL: the block is zero */
	u8 **seen;		/* the data that a read returns */
	struct ramdev_write *log;	/* writes since the last flush */
	u32 nr_log;
	u32 log_room;
	u64 ops;		/* writes and flushes so far */
	u64 crash_at;		/* the device dies in this op; ~0: in none */
	u64 fail_at;		/* this op fails, once; ~0: none does */
	u64 reads;
	u64 fail_read_at;	/* this read fails, once; ~0: none does */
	bool dead;
};

enum ramdev_fate {
	RAMDEV_ALL_LOST,	/* no write since the last flush survives */
	RAMDEV_ALL_KEPT,	/* all survive, the write in flight included */
	RAMDEV_LAST_ONLY,	/* only the last write survives */
	RAMDEV_LAST_LOST,
	RAMDEV_SHUFFLED,	/* some whole writes survive, in any order */
	RAMDEV_TORN,		/* some sectors of some writes survive, in any order */
	RAMDEV_NR_FATES
};

struct ramdev *ramdev_new(u64 nr_blocks);
struct ramdev *ramdev_clone(const struct ramdev *rd);	/* copies the durable data */
void ramdev_free(struct ramdev *rd);
void ramdev_grow(struct ramdev *rd, u64 nr_blocks);

/* Reads the seen data, or sets seen and durable data.  Neither counts as an op. */
void ramdev_get(struct ramdev *rd, u64 block, void *data);
void ramdev_set(struct ramdev *rd, u64 block, const void *data);

/* Makes a device on top.  Closing the device leaves the ramdev alone. */
struct pd_backend ramdev_backend(struct ramdev *rd);
struct pd_device *ramdev_open(struct ramdev *rd, bool read_only);

/* Power fails and returns.  @fate decides which writes survive. */
void ramdev_crash(struct ramdev *rd, enum ramdev_fate fate, u64 *rng);
/* The same: bit i % 64 of @kept says whether write i since the last flush survives. */
void ramdev_crash_kept(struct ramdev *rd, u64 kept);

#endif
