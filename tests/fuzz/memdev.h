/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A metadata device in memory, cheap to fill and to clear.  It is filled from an
 * image, may fail once, and can lose the writes since the last flush.
 */

#ifndef FUZZ_MEMDEV_H
#define FUZZ_MEMDEV_H

#include "image.h"

struct memdev {
	u32 nr_blocks;
	u8 *seen[IMAGE_MAX_DEVICE + 1];		/* the data that a read returns; NULL: zero */
	u8 *durable[IMAGE_MAX_DEVICE + 1];
	u32 *touched;		/* blocks that are not NULL; a block may repeat */
	u32 nr_touched, touched_room;
	u32 *written;		/* blocks written since the last flush */
	u32 nr_written, written_room;
	u32 reads, writes;
	u32 fail_read, fail_write;	/* the one that fails; ~0: none */
	u32 cut_write;		/* this write and all later ones are lost; ~0: none */
};

void memdev_load(struct memdev *md, const struct image *im);
/* Saves the durable blocks, with the kinds that match their checksums. */
void memdev_save(const struct memdev *md, struct image *im);
void memdev_clear(struct memdev *md);
/*
 * Power fails and returns.  Bit i % 64 of @kept says whether write i since the
 * last flush survives.
 */
void memdev_crash(struct memdev *md, u64 kept);
struct pd_device *memdev_open(struct memdev *md, bool read_only);

#endif
