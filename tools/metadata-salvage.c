// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading damaged metadata that has a superblock: what is certain of it.
 *
 * Owns the rules of certainty.  The reader descends the trees from the superblock's
 * roots.  A block is used only if its checksum, its number and its header are
 * right, if its content fits the place that it was reached from, if nothing else
 * points to it, and if the space map, where that can be read, counts it as used.
 * A block that breaks a rule may be a leaf of an older tree.
 *
 * All cache blocks begin as unknown; those that stay unknown are lost.
 */

#include "metadata-check.h"
#include "metadata-repair.h"
#include "../metadata/cache-metadata-disk.h"
#include "../persistent-data/pd-array.h"

#define MIN_BLOCK_SECTORS	64u
#define MAX_BLOCK_SECTORS	(1u << 21)

/* ---- Blocks ---- */

struct reader {
	struct salvage *s;
	struct pd_device *dev;
	const struct cmd_superblock *sb;
	u64 nr_blocks;		/* that the superblock and the device allow */
	u8 *refs;		/* references by block; 2 means two or more */
	u8 *counted;		/* COUNTED_*, by block */
};

enum { COUNT_UNKNOWN, COUNTED_FREE, COUNTED_USED };

/* A tree whose values are array blocks, and the function that takes their content. */
struct tree {
	struct reader *rd;
	const char *what;
	u32 value_size;		/* of the array */
	u64 length;		/* of the array */
	/* Takes values.  False if such an array cannot hold them. */
	bool (*take)(struct tree *t, u64 first, const u8 *values, u32 count);
};

static u32 per_block(const struct tree *t)
{
	return (PD_BLOCK_SIZE - sizeof(struct pd_array_block)) / t->value_size;
}

static u64 array_blocks(const struct tree *t)
{
	return DIV_ROUND_UP(t->length, per_block(t));
}

static void __printf(3, 4) unusable(struct tree *t, u64 nr, const char *fmt,
				    ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	t->rd->s->damage = true;
	salvage_say(t->rd->s, "%s: block %llu is not used: it %s", t->what, nr,
		    why);
}

/* Reads and holds a block, if the rules let it be used. */
static bool hold(struct tree *t, u64 nr, enum pd_kind kind, struct pd_block *b)
{
	struct reader *rd = t->rd;
	const char *fault;
	int r;

	if (!nr || nr >= rd->nr_blocks) {
		unusable(t, nr, "is out of range");
		return false;
	}
	if (rd->refs[nr] > 1) {
		unusable(t, nr, "is pointed to more than once");
		return false;
	}
	if (rd->counted[nr] == COUNTED_FREE) {
		unusable(t, nr, "is free, says the space map");
		return false;
	}
	r = pd_block_read(rd->dev, nr, PD_KIND_RAW, b);
	if (r) {
		unusable(t, nr, "cannot be read: %s", strerror(-r));
		return false;
	}
	fault = pd_block_fault(b->data, nr, kind);
	if (!fault)
		return true;
	pd_block_put(b);
	unusable(t, nr, "%s", fault);
	return false;
}

static u64 node_value(const struct pd_node *n, u32 i)
{
	const __le64 *values = n->keys + le32_to_cpu(n->max_entries);

	return le64_to_cpu(values[i]);
}

static u64 node_key(const struct pd_node *n, u32 i)
{
	return le64_to_cpu(n->keys[i]);
}

/* ---- References ---- */

static void refer(struct reader *rd, u64 nr)
{
	if (nr < rd->nr_blocks && rd->refs[nr] < 2)
		rd->refs[nr]++;
}

/*
 * Counts the references of a tree.  It ends, because it enters each node only once.
 * It enters only nodes that are intact.
 */
static void refer_node(struct reader *rd, u64 nr, int depth)
{
	const struct pd_node *n;
	struct pd_block b;
	bool leaf;

	refer(rd, nr);
	if (!nr || nr >= rd->nr_blocks || rd->refs[nr] > 1 ||
	    depth == PD_BTREE_MAX_DEPTH ||
	    pd_block_read(rd->dev, nr, PD_KIND_RAW, &b))
		return;
	n = b.data;
	if (pd_block_fault(n, nr, PD_KIND_NODE) ||
	    le32_to_cpu(n->value_size) != sizeof(__le64))
		goto out;
	leaf = le32_to_cpu(n->flags) == PD_NODE_LEAF;
	for (u32 i = 0; i < le32_to_cpu(n->nr_entries); i++)
		if (leaf)
			refer(rd, node_value(n, i));
		else
			refer_node(rd, node_value(n, i), depth + 1);
out:
	pd_block_put(&b);
}

static void refer_all(struct reader *rd)
{
	const struct cmd_superblock *sb = rd->sb;

	refer(rd, 0);
	refer_node(rd, le64_to_cpu(sb->mapping_root), 0);
	if (le32_to_cpu(sb->version) == 2)
		refer_node(rd, le64_to_cpu(sb->dirty_root), 0);
	refer_node(rd, le64_to_cpu(sb->discard_root), 0);
	if (sb->hint_root)
		refer_node(rd, le64_to_cpu(sb->hint_root), 0);
	refer(rd, le64_to_cpu(sb->sm_root.ref_count_root));
}

/* ---- The space map, as far as it can be read ---- */

static void take_counts(struct reader *rd, u64 first, const u8 *counts)
{
	u64 end = min(rd->nr_blocks, first + PD_BITMAP_ENTRIES);

	for (u64 nr = first; nr < end; nr++) {
		u64 e = nr - first;

		rd->counted[nr] = counts[e / 4] >> (2 * (e % 4)) & 3 ?
				  COUNTED_USED : COUNTED_FREE;
	}
}

static void read_space_map(struct reader *rd)
{
	struct tree t = { .rd = rd, .what = "space map" };
	const struct pd_index *index;
	struct pd_block ib, b;
	u64 root = le64_to_cpu(rd->sb->sm_root.bitmap_root);
	u32 maps = DIV_ROUND_UP(rd->nr_blocks, PD_BITMAP_ENTRIES);

	refer(rd, root);
	if (!hold(&t, root, PD_KIND_INDEX, &ib))
		return;
	index = ib.data;
	for (u32 i = 0; i < maps; i++)
		refer(rd, le64_to_cpu(index->entries[i].blocknr));
	for (u32 i = 0; i < maps; i++) {
		u64 nr = le64_to_cpu(index->entries[i].blocknr);

		if (!hold(&t, nr, PD_KIND_BITMAP, &b))
			continue;
		take_counts(rd, (u64)i * PD_BITMAP_ENTRIES,
			    ((const struct pd_bitmap *)b.data)->counts);
		pd_block_put(&b);
	}
	pd_block_put(&ib);
}

/* ---- Trees ---- */

static void read_array_block(struct tree *t, u64 key, u64 nr)
{
	u64 first = key * per_block(t);
	u32 want = min_t(u64, per_block(t), t->length - first);
	const struct pd_array_block *a;
	struct pd_block b;

	if (key % 64 == 0)
		salvage_progress(t->rd->s, t->what, key, array_blocks(t));
	if (!hold(t, nr, PD_KIND_ARRAY, &b))
		return;
	a = b.data;
	if (le32_to_cpu(a->value_size) != t->value_size ||
	    le32_to_cpu(a->nr_entries) != want)
		unusable(t, nr, "has %u values of %u bytes, not %u of %u",
			 le32_to_cpu(a->nr_entries), le32_to_cpu(a->value_size),
			 want, t->value_size);
	else if (!t->take(t, first, a->values, want))
		unusable(t, nr, "holds values that are none of this array's");
	pd_block_put(&b);
}

/* Reads a node, whose keys must be in lo .. hi, and all below it. */
static void read_node(struct tree *t, u64 nr, int depth, u64 lo, u64 hi)
{
	const struct pd_node *n;
	struct pd_block b;
	u32 entries;

	if (depth == PD_BTREE_MAX_DEPTH) {
		unusable(t, nr, "lies too deep");
		return;
	}
	if (!hold(t, nr, PD_KIND_NODE, &b))
		return;
	n = b.data;
	entries = le32_to_cpu(n->nr_entries);
	if (le32_to_cpu(n->value_size) != sizeof(__le64)) {
		unusable(t, nr, "has values of %u bytes",
			 le32_to_cpu(n->value_size));
		entries = 0;
	} else if (entries && (node_key(n, 0) < lo ||
			       node_key(n, entries - 1) > hi)) {
		unusable(t, nr, "belongs to another part of the tree");
		entries = 0;
	}
	for (u32 i = 0; i < entries; i++) {
		u64 key = node_key(n, i);
		u64 end = i + 1 < entries ? node_key(n, i + 1) - 1 : hi;

		if (key >= array_blocks(t))
			break;	/* the kernel's target leaves some when it shrinks */
		if (le32_to_cpu(n->flags) == PD_NODE_INTERNAL)
			read_node(t, node_value(n, i), depth + 1, key, end);
		else
			read_array_block(t, key, node_value(n, i));
	}
	pd_block_put(&b);
}

static void read_array(struct reader *rd, const char *what, u64 root,
		       u32 value_size, u64 length,
		       bool (*take)(struct tree *t, u64 first, const u8 *values,
				    u32 count))
{
	struct tree t = { rd, what, value_size, length, take };

	read_node(&t, root, 0, 0, U64_MAX);
	salvage_progress(rd->s, what, 1, 1);
}

static u64 value64(const u8 *values, u32 i)
{
	__le64 v;

	memcpy(&v, values + (size_t)i * sizeof(v), sizeof(v));
	return le64_to_cpu(v);
}

/* ---- The mapping ---- */

static bool legal_entry(const struct salvage *s, u64 entry)
{
	u64 flags = entry & ((1 << CMD_MAPPING_SHIFT) - 1);
	u64 allowed = CMD_MAPPING_VALID |
		      (s->format == 1 ? CMD_MAPPING_DIRTY : 0);

	return !entry || ((flags & CMD_MAPPING_VALID) && !(flags & ~allowed));
}

static bool take_mapping(struct tree *t, u64 first, const u8 *values, u32 count)
{
	struct salvage *s = t->rd->s;

	for (u32 i = 0; i < count; i++)
		if (!legal_entry(s, value64(values, i)))
			return false;
	for (u32 i = 0; i < count; i++) {
		u64 entry = value64(values, i);
		u8 *state = s->state + first + i;

		*state |= SALVAGE_CERTAIN;
		if (s->format == 1)
			*state |= SALVAGE_DIRTY_CERTAIN;
		if (!entry)
			continue;
		*state |= SALVAGE_MAPPED;
		if (s->format == 1 && entry & CMD_MAPPING_DIRTY)
			*state |= SALVAGE_DIRTY;
		s->oblock[first + i] = entry >> CMD_MAPPING_SHIFT;
	}
	return true;
}

/*
 * A mapping contradicts another one, or the superblock.  So one of the array blocks
 * is of an older tree, and nothing in it is certain.
 */
static void doubt(struct salvage *s, u32 cblock, const char *why)
{
	u32 per = (PD_BLOCK_SIZE - sizeof(struct pd_array_block)) / 8;
	u32 first = cblock / per * per;
	u32 end = min_t(u64, s->cache_blocks, (u64)first + per);
	u8 gone = SALVAGE_CERTAIN | SALVAGE_MAPPED |
		  (s->format == 1 ? SALVAGE_DIRTY_CERTAIN : 0);

	if (!(s->state[cblock] & SALVAGE_MAPPED))
		return;
	s->damage = true;
	salvage_say(s, "mapping: cache blocks %u-%u are not used: origin block %llu, in cache block %u, %s",
		    first, end - 1, s->oblock[cblock], cblock, why);
	for (u32 i = first; i < end; i++)
		s->state[i] &= ~gone;
}

struct pair {
	u64 oblock;
	u32 cblock;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->oblock < y->oblock ? -1 : x->oblock > y->oblock;
}

static int doubt_twins(struct salvage *s)
{
	static const char why[] = "is mapped more than once";
	struct pair *all = malloc(((size_t)s->cache_blocks + 1) * sizeof(*all));
	size_t n = 0;

	if (!all)
		return salvage_fail(s, -ENOMEM, "no memory for %u cache blocks",
				    s->cache_blocks);
	for (u32 i = 0; i < s->cache_blocks; i++)
		if (s->state[i] & SALVAGE_MAPPED)
			all[n++] = (struct pair) { s->oblock[i], i };
	qsort(all, n, sizeof(*all), compare_pairs);
	for (size_t i = 1; i < n; i++)
		if (all[i].oblock == all[i - 1].oblock) {
			doubt(s, all[i - 1].cblock, why);
			doubt(s, all[i].cblock, why);
		}
	free(all);
	return 0;
}

/* The origin's end is known from the discard bits, which cover all of it. */
static void doubt_what_is_past_the_end(struct salvage *s)
{
	u64 sectors;

	if (!s->clean || !s->discard_bits || !s->discard_sectors ||
	    __builtin_mul_overflow(s->discard_bits, s->discard_sectors,
				   &sectors))
		return;
	for (u32 i = 0; i < s->cache_blocks; i++)
		if (s->state[i] & SALVAGE_MAPPED &&
		    s->oblock[i] >= DIV_ROUND_UP(sectors, s->block_size))
			doubt(s, i, "is past the origin's end");
}

/* ---- Dirty bits ---- */

/*
 * Does the word have a bit of a block that is certainly not mapped?  Then this is
 * not the bitset of this mapping, or one that cache_restore 0.9 has written.  None
 * of its bits is certain.
 */
static bool contradicts(const struct salvage *s, u64 cblock, u64 word)
{
	for (; word; word &= word - 1) {
		u64 i = cblock + __ffs64(word);

		if (i < s->cache_blocks && s->state[i] & SALVAGE_CERTAIN &&
		    !(s->state[i] & SALVAGE_MAPPED))
			return true;
	}
	return false;
}

static bool take_dirty(struct tree *t, u64 first, const u8 *values, u32 count)
{
	struct salvage *s = t->rd->s;
	u64 end = min_t(u64, s->cache_blocks, (first + count) * 64);

	for (u32 i = 0; i < count; i++)
		if (contradicts(s, (first + i) * 64, value64(values, i)))
			return false;
	for (u64 i = first * 64; i < end; i++) {
		s->state[i] |= SALVAGE_DIRTY_CERTAIN;
		if (value64(values, i / 64 - first) >> (i % 64) & 1)
			s->state[i] |= SALVAGE_DIRTY;
	}
	return true;
}

/* ---- Hints and discards: what cannot be read is not there ---- */

static bool take_hints(struct tree *t, u64 first, const u8 *values, u32 count)
{
	u32 *hint = t->rd->s->hint + first;
	__le32 v;

	for (u32 i = 0; i < count; i++) {
		memcpy(&v, values + (size_t)i * sizeof(v), sizeof(v));
		hint[i] = le32_to_cpu(v);
	}
	return true;
}

static bool take_discards(struct tree *t, u64 first, const u8 *values,
			  u32 count)
{
	for (u32 i = 0; i < count; i++)
		t->rd->s->discards[first + i] = value64(values, i);
	return true;
}

static int read_hints(struct reader *rd)
{
	struct salvage *s = rd->s;
	u32 size = le32_to_cpu(rd->sb->policy_hint_size);

	if (!s->clean || !rd->sb->hint_root || !s->policy[0] ||
	    (size && size != CMD_HINT_SIZE))
		return 0;
	s->hint = calloc((size_t)s->cache_blocks + 1, sizeof(*s->hint));
	if (!s->hint)
		return salvage_fail(s, -ENOMEM, "no memory for %u hints",
				    s->cache_blocks);
	read_array(rd, "hints", le64_to_cpu(rd->sb->hint_root), CMD_HINT_SIZE,
		   s->cache_blocks, take_hints);
	return 0;
}

/* Whether an array of @words can exist on a device of that size. */
static bool can_hold(const struct reader *rd, u64 words)
{
	return words / ((PD_BLOCK_SIZE - sizeof(struct pd_array_block)) / 8) <
	       rd->nr_blocks;
}

static int read_discards(struct reader *rd)
{
	struct salvage *s = rd->s;
	u64 words = pd_bitset_words(s->discard_bits);

	if (!s->clean || !s->discard_bits || !can_hold(rd, words)) {
		s->discard_sectors = s->discard_bits = 0;
		return 0;
	}
	s->discards = calloc(words, sizeof(*s->discards));
	if (!s->discards)
		return salvage_fail(s, -ENOMEM, "no memory for %llu discard bits",
				    s->discard_bits);
	read_array(rd, "discards", le64_to_cpu(rd->sb->discard_root), 8, words,
		   take_discards);
	return 0;
}

/* ---- The superblock ---- */

static int lost_superblock(struct salvage *s, struct pd_device *in,
			   const char *why)
{
	if (!s->o->block_size || !s->o->cache_blocks)
		return salvage_fail(s, -EILSEQ,
				    "the superblock %s: --block-size and --cache-blocks can take its place, if the rest is undamaged",
				    why);
	salvage_say(s, "superblock: it %s", why);
	s->damage = true;
	return salvage_scan(s, in);
}

/* Refuses a superblock that makes no sense, although its checksum is right. */
static int check_superblock(struct reader *rd)
{
	const struct cmd_superblock *sb = rd->sb;
	struct salvage *s = rd->s;
	u32 version = le32_to_cpu(sb->version);

	if (version < 1 || version > 2)
		return salvage_fail(s, -EINVAL,
				    "metadata of version %u is not supported",
				    version);
	if (sb->incompat_flags & ~cpu_to_le32(CMD_INCOMPAT_LOG))
		return salvage_fail(s, -EINVAL,
				    "the metadata has incompatible features that are not supported");
	if (s->block_size < MIN_BLOCK_SECTORS ||
	    s->block_size > MAX_BLOCK_SECTORS ||
	    s->block_size % MIN_BLOCK_SECTORS)
		return salvage_fail(s, -EILSEQ,
				    "the superblock claims cache blocks of %u sectors",
				    s->block_size);
	if (!can_hold(rd, le32_to_cpu(sb->cache_blocks)))
		return salvage_fail(s, -EILSEQ,
				    "the superblock claims %u cache blocks, more than the device could hold",
				    le32_to_cpu(sb->cache_blocks));
	if ((s->o->block_size && s->o->block_size != s->block_size) ||
	    (s->o->cache_blocks &&
	     s->o->cache_blocks != le32_to_cpu(sb->cache_blocks)))
		return salvage_fail(s, -EINVAL,
				    "the superblock is undamaged, and says --block-size %u --cache-blocks %u",
				    s->block_size,
				    le32_to_cpu(sb->cache_blocks));
	if (s->o->write_log && !s->write_log)
		return salvage_fail(s, -EINVAL,
				    "the superblock is undamaged, and says that no write log is in use");
	return 0;
}

static void take_superblock(struct salvage *s, const struct cmd_superblock *sb)
{
	s->format = le32_to_cpu(sb->version);
	s->block_size = le32_to_cpu(sb->data_block_size);
	s->clean = le32_to_cpu(sb->flags) & CMD_SB_CLEAN_SHUTDOWN;
	s->write_log = le32_to_cpu(sb->incompat_flags) & CMD_INCOMPAT_LOG;
	strscpy(s->policy, sb->policy_name, sizeof(s->policy));
	for (int i = 0; i < 3; i++)
		s->policy_version[i] = le32_to_cpu(sb->policy_version[i]);
	s->stats.read_hits = le32_to_cpu(sb->read_hits);
	s->stats.read_misses = le32_to_cpu(sb->read_misses);
	s->stats.write_hits = le32_to_cpu(sb->write_hits);
	s->stats.write_misses = le32_to_cpu(sb->write_misses);
	s->record_length = cmd_superblock_record(sb, s->record);
	s->discard_sectors = le64_to_cpu(sb->discard_block_size);
	s->discard_bits = le64_to_cpu(sb->discard_nr_blocks);
}

/* In metadata that was left unclean every block is dirty, whatever its bits say. */
static void settle_dirty(struct salvage *s)
{
	if (s->clean)
		return;
	for (u32 i = 0; i < s->cache_blocks; i++)
		s->state[i] |= SALVAGE_DIRTY | SALVAGE_DIRTY_CERTAIN;
}

static int read_contents(struct reader *rd)
{
	const struct cmd_superblock *sb = rd->sb;
	struct salvage *s = rd->s;
	int r;

	refer_all(rd);
	read_space_map(rd);
	r = read_discards(rd);
	if (r)
		return r;
	read_array(rd, "mapping", le64_to_cpu(sb->mapping_root), 8,
		   s->cache_blocks, take_mapping);
	doubt_what_is_past_the_end(s);
	r = doubt_twins(s);
	if (r)
		return r;
	if (s->format == 2)
		read_array(rd, "dirty bits", le64_to_cpu(sb->dirty_root), 8,
			   pd_bitset_words(s->cache_blocks), take_dirty);
	settle_dirty(s);
	return read_hints(rd);
}

static int read_with_superblock(struct salvage *s, struct pd_device *in,
				const struct cmd_superblock *sb)
{
	struct reader rd = { .s = s, .dev = in, .sb = sb };
	int r;

	take_superblock(s, sb);
	rd.nr_blocks = min_t(u64, pd_device_nr_blocks(in), PD_MAX_BLOCKS);
	rd.nr_blocks = min(rd.nr_blocks, le64_to_cpu(sb->sm_root.nr_blocks));
	r = check_superblock(&rd);
	if (r)
		return r;
	rd.refs = calloc(rd.nr_blocks + 1, sizeof(*rd.refs));
	rd.counted = calloc(rd.nr_blocks + 1, sizeof(*rd.counted));
	if (!rd.refs || !rd.counted)
		r = salvage_fail(s, -ENOMEM, "no memory for %llu metadata blocks",
				 rd.nr_blocks);
	if (!r)
		r = salvage_room(s, le32_to_cpu(sb->cache_blocks));
	if (!r)
		r = read_contents(&rd);
	free(rd.refs);
	free(rd.counted);
	return r;
}

int salvage_read(struct salvage *s, struct pd_device *in)
{
	const struct cmd_superblock *sb;
	const char *fault;
	struct pd_block b;
	int r;

	r = pd_block_read(in, 0, PD_KIND_RAW, &b);
	if (r == -ENOMEM)
		return salvage_fail(s, r, "no memory");
	if (r)
		return lost_superblock(s, in, "cannot be read");
	sb = b.data;
	fault = pd_block_fault(sb, 0, PD_KIND_SUPERBLOCK);
	if (!memchr_inv(sb, 0, PD_BLOCK_SIZE))
		fault = "is all zero: the metadata was wiped or never written";
	else if (!fault && le64_to_cpu(sb->magic) != CMD_SB_MAGIC)
		fault = "is not that of a cache";
	else if (!fault && sb->policy_name[CMD_POLICY_NAME_SIZE - 1])
		fault = "has an unterminated policy name";
	if (fault)
		r = lost_superblock(s, in, fault);
	else
		r = read_with_superblock(s, in, sb);
	pd_block_put(&b);
	return r;
}
