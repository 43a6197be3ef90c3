/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hashed tables of 32-bit entries in which a policy remembers blocks that the
 * cache does not hold.
 *
 * This file owns the hash and the search of a bucket. An entry carries a
 * fingerprint (or tag) in its lowest bits, and its time in its highest; zero is
 * an empty entry. This file must not know what lies between the two.
 *
 * hit() and miss() read and replace entries without a lock, so each entry is
 * one word that is read and written whole. Two blocks with one fingerprint in
 * one bucket are taken for each other; that costs precision and nothing else.
 */
#ifndef HEARTH_TABLES_H
#define HEARTH_TABLES_H

#include "../dm-target/cache-policy.h"

/* 2^64 divided by the golden ratio: Fibonacci hashing, Knuth, TAOCP 3, 6.4. */
#define TABLE_GOLDEN	0x9e3779b97f4a7c15ull
/* The multiplier of degski's 64-bit mixer, which is a second such round. */
#define TABLE_MIX	0xd6e8feb86659fd93ull

/**
 * table_hash() - a hash of a block or region number
 * @key: the number
 *
 * All 64 bits of the result depend on all of @key, because callers take the
 * bucket from the upper half and the fingerprint from the lower. Any context.
 */
static inline u64 table_hash(u64 key)
{
	key *= TABLE_GOLDEN;
	key ^= key >> 32;
	key *= TABLE_MIX;
	return key ^ key >> 32;
}

/**
 * table_index() - a number below @range, from the upper half of @hash
 * @hash: as table_hash() returns it
 * @range: how many buckets there are
 *
 * Multiplies where "modulo" would divide, because misses pay for it. Any
 * context.
 */
static inline u32 table_index(u64 hash, u32 range)
{
	return mul_u32_u32(hash >> 32, range) >> 32;
}

/**
 * ways_find() - the entry of a bucket that has a fingerprint
 * @bucket: its first entry
 * @ways: its number of entries, at most 8 for the loop to be unrolled
 * @mask: the bits of an entry that are the fingerprint
 * @tag: the fingerprint; not 0, which stands for an empty entry
 *
 * Any context. Return: the entry, or NULL.
 */
static __always_inline u32 *ways_find(u32 *bucket, u32 ways, u32 mask, u32 tag)
{
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < ways; i++)
		if ((READ_ONCE(bucket[i]) & mask) == tag)
			return &bucket[i];
	return NULL;
}

/**
 * ways_oldest() - the entry of a bucket that has not been written for longest
 * @bucket: its first entry
 * @ways: its number of entries, at most 8 for the loop to be unrolled
 * @now: the present time, shifted to where entries have theirs
 * @shift: lowest bit of the time, which reaches up to bit 31
 *
 * An empty entry is as old as one that was written at time 0. Any context.
 */
static __always_inline u32 *ways_oldest(u32 *bucket, u32 ways, u32 now,
					unsigned int shift)
{
	u32 latest = now | ((1u << shift) - 1);
	u32 *oldest = bucket;
	u32 oldest_age = 0;
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < ways; i++) {
		u32 age = latest - READ_ONCE(bucket[i]);

		if (age >= oldest_age) {
			oldest = &bucket[i];
			oldest_age = age;
		}
	}
	return oldest;
}

#endif
