/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arrays of 4- or 8-byte values, and bitsets, on the btree.
 *
 * The length is not stored: the owner keeps it and passes it, in elements or in
 * bits. Values are passed as they are on the disk (little endian). This layer
 * must not know what they mean.
 *
 * Context and errors are those of pd-btree.h; an element past the end of what
 * is on the disk is -EILSEQ. Functions that take *@root move it.
 */

#ifndef HEARTH_PD_ARRAY_H
#define HEARTH_PD_ARRAY_H

#include "pd-btree.h"

/**
 * struct pd_array_place - where an array block of one array was found last
 * @root: the array's root then
 * @k: the array block's index
 * @nr: its block number; 0: nothing is remembered
 *
 * With a place, changes of neighbouring elements do not look the array block up in the
 * tree again. All calls that change the array have to have the same place. The caller
 * calls pd_array_forget() when it throws the transaction away.
 */
struct pd_array_place {
	u64 root;
	u64 k;
	u64 nr;
};

/**
 * struct pd_array - a kind of array; root and length are the caller's to keep
 * @tm: the transaction manager
 * @value_size: 4 or 8 bytes
 * @place: of this one array; NULL: each array block is looked up
 */
struct pd_array {
	struct pd_tm *tm;
	u32 value_size;
	struct pd_array_place *place;
};

/**
 * pd_array_forget() - the next array block is looked up in the tree
 * @place: the place; NULL: nothing happens
 *
 * Context: any.
 */
static inline void pd_array_forget(struct pd_array_place *place)
{
	if (place)
		place->nr = 0;
}

/**
 * pd_array_block_entries() - values in one array block
 * @a: the kind of array
 *
 * Context: any.
 */
u32 pd_array_block_entries(const struct pd_array *a);

/**
 * pd_array_empty() - make an array of length 0
 * @a: the kind of array
 * @root: receives the array's root
 */
int pd_array_empty(const struct pd_array *a, u64 *root);

/**
 * pd_array_get() - read an element
 * @a: the kind of array
 * @root: the array's root
 * @i: the element's index
 * @value: receives the element
 */
int pd_array_get(const struct pd_array *a, u64 root, u64 i, void *value);

/**
 * pd_array_set() - change an element
 * @a: the kind of array
 * @root: the array's root, which moves
 * @i: the element's index
 * @value: its new value
 */
int pd_array_set(const struct pd_array *a, u64 *root, u64 i,
		 const void *value);

/**
 * struct pd_array_writer - for setting elements of which most lie near the one before
 * @a: the kind of array
 * @root: the array's root
 * @k: number of the array block that is held
 * @b: the array block that is held; its buf is NULL if none is
 *
 * Keeps the last array block held, after an error, too.  Until pd_array_writer_put() nothing else
 * may use the array, and the transaction may be neither committed nor thrown away.
 */
struct pd_array_writer {
	struct pd_array a;
	u64 root;
	u64 k;
	struct pd_block b;
};

/**
 * pd_array_writer_init() - begin to set elements
 * @w: the writer; pd_array_writer_put() ends its use
 * @a: the kind of array
 * @root: the array's root
 *
 * Does no I/O.
 */
void pd_array_writer_init(struct pd_array_writer *w, const struct pd_array *a, u64 root);

/**
 * pd_array_writer_set() - change an element, as pd_array_set()
 * @w: the writer
 * @i: the element's index
 * @value: its new value
 *
 * After an error, too, elements that were set before stay set.
 */
int pd_array_writer_set(struct pd_array_writer *w, u64 i, const void *value);

/**
 * pd_array_writer_put() - let go of the array block that is held
 * @w: the writer
 *
 * Return: the array's root, which may have moved, after an error, too.
 */
u64 pd_array_writer_put(struct pd_array_writer *w);

/**
 * typedef pd_array_change_fn - changes one element
 * @ctx: the caller's
 * @value: the element, as it is stored
 *
 * It may be called twice for one change, with the same value.
 */
typedef void (*pd_array_change_fn)(void *ctx, void *value);

/**
 * pd_array_change() - let @fn change an element; nothing is copied if it stays the same
 * @a: the kind of array
 * @root: the array's root, which moves
 * @i: the element's index
 * @fn: changes the element
 * @ctx: for @fn
 */
int pd_array_change(const struct pd_array *a, u64 *root, u64 i,
		    pd_array_change_fn fn, void *ctx);

/**
 * struct pd_array_cursor - for reading elements in ascending order
 * @a: the kind of array
 * @root: its root
 * @length: its length, in elements
 * @k: number of the array block that is held
 * @prefetched: array blocks below this were asked for
 * @b: the array block that is held; its buf is NULL if none is
 *
 * Keeps the last array block held: nothing may be changed while it is in use.
 */
struct pd_array_cursor {
	struct pd_array a;
	u64 root;
	u64 length;
	u64 k;
	u64 prefetched;		/* array blocks below this were asked for */
	struct pd_block b;
};

/**
 * pd_array_cursor_init() - begin to read
 * @c: the cursor; pd_array_cursor_put() ends its use
 * @tm: the transaction manager
 * @value_size: 4 or 8 bytes
 * @root: the array's root
 * @length: in elements
 *
 * Does no I/O.
 */
void pd_array_cursor_init(struct pd_array_cursor *c, struct pd_tm *tm,
			  u32 value_size, u64 root, u64 length);

/**
 * pd_array_cursor_get() - read an element
 * @c: the cursor
 * @i: the element's index, which is below the length
 * @value: receives the element
 */
int pd_array_cursor_get(struct pd_array_cursor *c, u64 i, void *value);

/**
 * pd_array_cursor_put() - let go of the block that the cursor holds
 * @c: the cursor
 */
void pd_array_cursor_put(struct pd_array_cursor *c);

/**
 * typedef pd_array_fn - told about (or asked for) a run of elements
 * @ctx: the caller's
 * @first: index of the first
 * @values: the elements
 * @count: how many
 *
 * Return: 0 to go on, anything else to stop with that.
 */
typedef int (*pd_array_fn)(void *ctx, u64 first, void *values, u32 count);

/**
 * pd_array_walk() - call @fn for each array block of the first @length elements
 * @a: the kind of array
 * @root: the array's root
 * @length: its length, in elements
 * @fn: called with each run of elements
 * @ctx: for @fn
 *
 * @fn must not change the values.
 * Return: 0, what @fn returned, or an error.
 */
int pd_array_walk(const struct pd_array *a, u64 root, u64 length,
		  pd_array_fn fn, void *ctx);

/**
 * pd_array_build() - make an array of @length elements
 * @a: the kind of array
 * @root: receives the array's root
 * @length: its length, in elements
 * @fn: fills in a run that is zero; NULL: leave all at zero
 * @ctx: for @fn
 */
int pd_array_build(const struct pd_array *a, u64 *root, u64 length,
		   pd_array_fn fn, void *ctx);

/**
 * pd_array_update() - let @fn change each array block
 * @a: the kind of array
 * @root: the array's root, which moves
 * @length: its length, in elements
 * @needed: whether @fn would change anything in this run; asked first, so that
 *	only blocks that change are copied
 * @ctx: for @needed and @fn
 * @fn: changes a run of elements
 */
int pd_array_update(const struct pd_array *a, u64 *root, u64 length,
		    bool (*needed)(void *ctx, u64 first, const void *values,
				   u32 count),
		    pd_array_fn fn, void *ctx);

/**
 * pd_array_resize() - change the length; new elements are zero
 * @a: the kind of array
 * @root: the array's root, which moves
 * @old_length: the length before, in elements
 * @new_length: the new length
 */
int pd_array_resize(const struct pd_array *a, u64 *root, u64 old_length,
		    u64 new_length);

/**
 * pd_array_delete() - free all blocks, without reading the array blocks
 * @a: the kind of array
 * @root: the array's root
 */
int pd_array_delete(const struct pd_array *a, u64 root);

/*
 * Bitsets: arrays of 64-bit words, bit b is bit b % 64 of word b / 64.  The
 * length is in bits.  Bits past the length are ignored and cleared on resize.
 * The array has values of 8 bytes.
 */

/**
 * pd_bitset_words() - the words that a bitset takes
 * @bits: its length
 *
 * Context: any.
 */
static inline u64 pd_bitset_words(u64 bits)
{
	return (bits >> 6) + !!(bits & 63);
}

/**
 * pd_bitset_get() - read a bit
 * @a: the array of the words
 * @root: the bitset's root
 * @bit: the bit's number
 *
 * Return: 0 or 1, or an error.
 */
int pd_bitset_get(const struct pd_array *a, u64 root, u64 bit);

/**
 * pd_bitset_set() - change a bit; writes nothing if it has the value
 * @a: the array of the words
 * @root: the bitset's root, which moves
 * @bit: the bit's number
 * @value: its new value
 */
int pd_bitset_set(const struct pd_array *a, u64 *root, u64 bit, bool value);

/**
 * pd_bitset_change() - change the bits of one word
 * @a: the array of the words
 * @root: the bitset's root, which moves
 * @word: the word's number
 * @keep: bits that are 0 here are cleared
 * @set: bits that are set then
 *
 * Copies nothing if the word stays as it is.
 */
int pd_bitset_change(const struct pd_array *a, u64 *root, u64 word, u64 keep, u64 set);

/**
 * pd_bitset_resize() - change the length; new bits are clear
 * @a: the array of the words
 * @root: the bitset's root, which moves
 * @old_bits: the length before
 * @new_bits: the new length
 */
int pd_bitset_resize(const struct pd_array *a, u64 *root, u64 old_bits, u64 new_bits);

/**
 * pd_bitset_build() - make a bitset
 * @a: the array of the words
 * @root: receives the bitset's root
 * @bits: its length
 * @fn: returns each bit, ascending; NULL: all are clear
 * @ctx: for @fn
 */
int pd_bitset_build(const struct pd_array *a, u64 *root, u64 bits,
		    bool (*fn)(void *ctx, u64 bit), void *ctx);

/**
 * pd_bitset_walk() - call a function for each set bit, ascending
 * @a: the array of the words
 * @root: the bitset's root
 * @bits: its length
 * @fn: called with the number of each set bit; a nonzero return stops the walk
 * @ctx: for @fn
 *
 * Return: 0, what @fn returned, or an error.
 */
int pd_bitset_walk(const struct pd_array *a, u64 root, u64 bits,
		   int (*fn)(void *ctx, u64 bit), void *ctx);

#endif
