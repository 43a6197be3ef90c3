/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers from a seed: splitmix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", 2014).
 */

#ifndef RNG_H
#define RNG_H

#include "os/os.h"

static inline u64 rnd(u64 *rng)
{
	u64 z = *rng += 0x9E3779B97F4A7C15ULL;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
	return z ^ z >> 31;
}

static inline u64 below(u64 *rng, u64 n)
{
	return rnd(rng) % n;
}

static inline bool one_in(u64 *rng, u32 n)
{
	return !below(rng, n);
}

#endif
