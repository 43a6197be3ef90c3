/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many slots the reserve has: the arithmetic of cache-reserve.c, which the
 * simulator compiles, too. It must not know a clock, nor who changes the reserve.
 */
#ifndef HEARTH_CACHE_RESERVE_SIZE_H
#define HEARTH_CACHE_RESERVE_SIZE_H

#include "../os/os.h"

/*
 * The largest reserve has as many slots as promotions take during one commit, when
 * they are as fast as the devices allow.  It is a 512th of the slots in a large cache.
 * In a smaller one it is 64 slots, but no more than a sixteenth.  None of the three
 * numbers was chosen by measurement.
 */
#define RESERVE_MOST_OF_SMALL	64U
#define RESERVE_SMALL_SHARE	16
#define RESERVE_LARGE_SHARE	512

/**
 * reserve_most() - the largest reserve of a cache
 * @nr_slots: the slots of the cache
 *
 * Return: slots.
 */
static inline u32 reserve_most(u32 nr_slots)
{
	u32 most = min(RESERVE_MOST_OF_SMALL, nr_slots / RESERVE_SMALL_SHARE);

	return max(max(nr_slots / RESERVE_LARGE_SHARE, most), 1U);
}

/**
 * reserve_left() - what is left of a reserve that is halved each second
 * @nr: the reserve as it was, in slots
 * @seconds: the seconds that have passed since
 *
 * Return: slots.
 */
static inline u32 reserve_left(u32 nr, u64 seconds)
{
	return seconds < 32 ? nr >> seconds : 0;
}

/**
 * reserve_grown() - a reserve after it was too small
 * @nr: the reserve as it was, in slots
 * @most: the largest reserve, in slots
 *
 * Return: slots.
 */
static inline u32 reserve_grown(u32 nr, u32 most)
{
	return clamp(2 * nr, 1U, most);
}

/**
 * reserve_wanted() - how many slots an eviction should free
 * @nr: the reserve now
 * @nr_slots: the slots of the cache
 * @nr_free: the slots that are free
 *
 * The eviction frees slots until one and a half times the reserve, and one slot more, are
 * free, because a commit for each single slot would be dear.
 *
 * Return: slots; 0 if there is no reserve, or enough slots are free.
 */
static inline u32 reserve_wanted(u32 nr, u32 nr_slots, u32 nr_free)
{
	u32 target = min(nr + nr / 2 + 1, max(nr_slots / 2, 1U));

	return nr && nr_free < target ? target - nr_free : 0;
}

#endif
