// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bitsets: arrays of 64-bit words.
 *
 * This file owns the packing of bits into words. It must not know what the bits
 * mean.
 */

#include "pd-array.h"

static int get_word(const struct pd_array *a, u64 root, u64 i, u64 *word)
{
	__le64 v;
	int r = pd_array_get(a, root, i, &v);

	if (!r)
		*word = le64_to_cpu(v);
	return r;
}

/* New bits of one word. */
struct word_change {
	u64 keep;
	u64 set;
};

static void change_word(void *ctx, void *value)
{
	const struct word_change *wc = ctx;
	__le64 v;

	memcpy(&v, value, sizeof(v));
	v = cpu_to_le64((le64_to_cpu(v) & wc->keep) | wc->set);
	memcpy(value, &v, sizeof(v));
}

int pd_bitset_change(const struct pd_array *a, u64 *root, u64 word, u64 keep, u64 set)
{
	struct word_change wc = { keep, set };

	return pd_array_change(a, root, word, change_word, &wc);
}

int pd_bitset_get(const struct pd_array *a, u64 root, u64 bit)
{
	u64 word;
	int r = get_word(a, root, bit / 64, &word);

	return r ? r : (int)(word >> (bit % 64) & 1);
}

int pd_bitset_set(const struct pd_array *a, u64 *root, u64 bit, bool value)
{
	u64 mask = 1ULL << (bit % 64);

	return pd_bitset_change(a, root, bit / 64, ~mask, value ? mask : 0);
}

/* Clear the bits past the end in the last word of a bitset. */
static int clear_tail(const struct pd_array *a, u64 *root, u64 bits)
{
	u64 mask = (1ULL << (bits % 64)) - 1;

	return bits % 64 ? pd_bitset_change(a, root, bits / 64, mask, 0) : 0;
}

int pd_bitset_resize(const struct pd_array *a, u64 *root, u64 old_bits, u64 new_bits)
{
	int r = 0;

	if (new_bits)
		r = clear_tail(a, root, min(old_bits, new_bits));
	if (r)
		return r;
	return pd_array_resize(a, root, pd_bitset_words(old_bits),
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

int pd_bitset_build(const struct pd_array *a, u64 *root, u64 bits,
		    bool (*fn)(void *ctx, u64 bit), void *ctx)
{
	struct bitset_build bb = { fn, ctx, bits };

	return pd_array_build(a, root, pd_bitset_words(bits),
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

int pd_bitset_walk(const struct pd_array *a, u64 root, u64 bits,
		   int (*fn)(void *ctx, u64 bit), void *ctx)
{
	struct bitset_walk bw = { fn, ctx, bits };

	return pd_array_walk(a, root, pd_bitset_words(bits), walk_words, &bw);
}
