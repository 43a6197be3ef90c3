/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seed and the length of a random test, from the environment.
 */

#ifndef SEED_H
#define SEED_H

#include <stdio.h>
#include <stdlib.h>

#include "rng.h"

/* The seed from SEED, or @fallback; printed with @what. */
static inline u64 test_seed(const char *what, u64 fallback)
{
	const char *env = getenv("SEED");
	u64 seed = env ? strtoull(env, NULL, 0) : fallback;

	printf("note: %s: SEED=%llu\n", what, seed);
	return seed * 2 + 1;
}

/* @n times ROUNDS from the environment. */
static inline u32 rounds(u32 n)
{
	const char *env = getenv("ROUNDS");

	return env ? n * strtoul(env, NULL, 0) : n;
}

#endif
