// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bitsets: arrays of 64-bit words.
 *
 * This file owns the packing of bits into words. It must not know what the bits
 * mean.
 */

#include "pd-array.h"

static struct pd_array words(struct pd_tm *tm)
{
	struct pd_array a = { tm, sizeof(__le64) };

	return a;
}

static int get_word(struct pd_tm *tm, u64 root, u64 i, u64 *word)
{
	struct pd_array a = words(tm);
	__le64 v;
	int r = pd_array_get(&a, root, i, &v);

	if (!r)
		*word = le64_to_cpu(v);
	return r;
}

static int set_word(struct pd_tm *tm, u64 *root, u64 i, u64 word)
{
	struct pd_array a = words(tm);
	__le64 v = cpu_to_le64(word);

	return pd_array_set(&a, root, i, &v);
}

int pd_bitset_get(struct pd_tm *tm, u64 root, u64 bit)
{
	u64 word;
	int r = get_word(tm, root, bit / 64, &word);

	return r ? r : (int)(word >> (bit % 64) & 1);
}

int pd_bitset_set(struct pd_tm *tm, u64 *root, u64 bit, bool value)
{
	u64 mask = 1ULL << (bit % 64);
	u64 word;
	int r = get_word(tm, *root, bit / 64, &word);

	if (r || !!(word & mask) == value)
		return r;
	return set_word(tm, root, bit / 64, word ^ mask);
}

int pd_bitset_or(struct pd_tm *tm, u64 *root, u64 word, u64 mask)
{
	u64 old;
	int r = get_word(tm, *root, word, &old);

	if (r || !(mask & ~old))
		return r;
	return set_word(tm, root, word, old | mask);
}

/* Clear the bits past the end in the last word of a bitset. */
static int clear_tail(struct pd_tm *tm, u64 *root, u64 bits)
{
	u64 mask = (1ULL << (bits % 64)) - 1;
	u64 word;
	int r;

	if (!(bits % 64))
		return 0;
	r = get_word(tm, *root, bits / 64, &word);
	if (r || !(word & ~mask))
		return r;
	return set_word(tm, root, bits / 64, word & mask);
}

int pd_bitset_resize(struct pd_tm *tm, u64 *root, u64 old_bits, u64 new_bits)
{
	struct pd_array a = words(tm);
	int r = 0;

	if (new_bits)
		r = clear_tail(tm, root, min(old_bits, new_bits));
	if (r)
		return r;
	return pd_array_resize(&a, root, pd_bitset_words(old_bits),
			       pd_bitset_words(new_bits));
}

struct bitset_build {
	bool (*fn)(void *ctx, u64 bit);
	void *ctx;
	u64 bits;
};

static int build_words(void *ctx, u64 first, void *values, u32 count)
{
	struct bitset_build *bb = ctx;
	__le64 *v = values;
	u64 bit = first * 64;
	u32 i;

	for (i = 0; i < count; i++) {
		u64 end = min(bb->bits, bit + 64);
		u64 word = 0;

		for (; bit < end; bit++)
			if (bb->fn(bb->ctx, bit))
				word |= 1ULL << (bit % 64);
		v[i] = cpu_to_le64(word);
	}
	return 0;
}

int pd_bitset_build(struct pd_tm *tm, u64 *root, u64 bits,
		    bool (*fn)(void *ctx, u64 bit), void *ctx)
{
	struct bitset_build bb = { fn, ctx, bits };
	struct pd_array a = words(tm);

	return pd_array_build(&a, root, pd_bitset_words(bits),
			      fn ? build_words : NULL, &bb);
}

struct bitset_walk {
	int (*fn)(void *ctx, u64 bit);
	void *ctx;
	u64 bits;
};

static int walk_words(void *ctx, u64 first, void *values, u32 count)
{
	struct bitset_walk *bw = ctx;
	const __le64 *v = values;
	u32 i;
	int r;

	for (i = 0; i < count; i++) {
		u64 word = le64_to_cpu(v[i]);

		for (; word; word &= word - 1) {
			u64 bit = (first + i) * 64 + __ffs64(word);

			if (bit >= bw->bits)
				break;
			r = bw->fn(bw->ctx, bit);
			if (r)
				return r;
		}
	}
	return 0;
}

int pd_bitset_walk(struct pd_tm *tm, u64 root, u64 bits,
		   int (*fn)(void *ctx, u64 bit), void *ctx)
{
	struct bitset_walk bw = { fn, ctx, bits };
	struct pd_array a = words(tm);

	return pd_array_walk(&a, root, pd_bitset_words(bits), walk_words, &bw);
}
