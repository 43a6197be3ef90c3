/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks and their copies are compared, see cache-compare.c. */
#ifndef HEARTH_CACHE_COMPARE_H
#define HEARTH_CACHE_COMPARE_H

#include <linux/types.h>

struct cache;

/* The largest piece: 64 KiB, a common size of a block. */
#define COMPARE_SECTORS	128U

/* A part of a slot and the same part of its block. */
struct cache_piece {
	u32 slot;
	u64 block;
	u32 offset;		/* in the block, sectors */
	u32 sectors;		/* COMPARE_SECTORS at most */
	bool zeros_excused;	/* a sector that the origin has as zeros counts as equal */
	bool failed;		/* one of the two could not be read */
	bool differs;
};

/**
 * cache_compare() - read pieces from both devices and compare them
 * @c: the engine
 * @pieces: the pieces; @failed and @differs receive what was found
 * @nr: how many
 *
 * 32 at a time are read in parallel.  Nothing is locked: what is written meanwhile
 * may differ.  Context: process, sleeps, reads both devices.
 *
 * Return: 0 or -ENOMEM.
 */
int cache_compare(struct cache *c, struct cache_piece *pieces, u32 nr);

#endif
