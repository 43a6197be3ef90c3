/* SPDX-License-Identifier: GPL-2.0-only */
/* Slots are compared with the blocks that they hold: see cache-compare.c. */
#ifndef HEARTH_CACHE_COMPARE_H
#define HEARTH_CACHE_COMPARE_H

#include <linux/types.h>

struct cache;

/* The sectors of the largest piece: 64 KiB, because many caches have such blocks. */
#define COMPARE_SECTORS	128U

/* A part of a slot, and the same part of its block on the origin. */
struct cache_piece {
	u32 slot;
	u64 block;
	u32 offset;		/* from the beginning of the block, in sectors */
	u32 sectors;		/* COMPARE_SECTORS at most */
	bool zeros_excused;	/* a sector of zeros on the origin counts as equal */
	bool failed;		/* result: one of the two could not be read */
	bool differs;		/* result: both were read, and differ */
};

/**
 * cache_compare() - read pieces from both devices and compare them
 * @c: the engine
 * @pieces: the pieces; their @failed and @differs receive what was found
 * @nr: the number of pieces
 *
 * Up to 32 pieces are read at a time.  Nothing is locked, so a piece that is written
 * meanwhile may differ.
 *
 * Context: process, sleeps, reads both devices.
 *
 * Return: 0 or -ENOMEM.
 */
int cache_compare(struct cache *c, struct cache_piece *pieces, u32 nr);

#endif
