// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading metadata whose superblock is lost: what is certain of it.
 *
 * Only the superblock tells which of the trees on a device is the newest.  A commit
 * overwrites nothing of the one before, so at least two whole trees are there.  If
 * only the superblock is damaged, the newest tree is one of the whole trees.  So a
 * mapping on which all whole trees agree is certain, and no other is.
 *
 * Two rules follow.  If one block is neither empty nor valid, nothing is certain,
 * because that block may be a part of the newest tree.  And a cache block on which
 * two whole trees disagree is lost.  All mapped blocks are dirty, because the
 * newest dirty bits cannot be told either.
 *
 * A tree is whole if it has all the array blocks of a mapping of that many cache
 * blocks, and if there is a space map, whole as well, that counts all its blocks as
 * used.
 *
 * It must not write: metadata-repair.c does.
 */

#include "metadata-repair.h"
#include "../metadata/cache-metadata-disk.h"
#include "../persistent-data/pd-array.h"

#define PER_BLOCK	((u32)((PD_BLOCK_SIZE - sizeof(struct pd_array_block)) / 8))

struct scan {
	struct salvage *s;
	struct pd_device *dev;
	u64 nr_blocks;
	u8 *kind;		/* enum pd_kind, by block; RAW: empty */
	u8 *used;		/* by block, of the space map at hand */
	u64 *tree;		/* entries of the mapping at hand, as on the disk */
	u64 *blocks;		/* the blocks that it consists of */
	u32 nr_tree_blocks;
	u32 room;
	u64 *agreed;		/* entries on which the trees so far agree, or DISAGREED */
	u32 nr_trees;
};

#define DISAGREED	U64_MAX

/* ---- The kind of each block ---- */

static enum pd_kind kind_of(const void *data, u64 nr, bool *valid)
{
	static const enum pd_kind kinds[] = {
		PD_KIND_NODE, PD_KIND_ARRAY, PD_KIND_INDEX, PD_KIND_BITMAP
	};

	*valid = true;
	if (!memchr_inv(data, 0, PD_BLOCK_SIZE))
		return PD_KIND_RAW;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!pd_block_fault(data, nr, kinds[i]))
			return kinds[i];
	*valid = false;
	return PD_KIND_RAW;
}

static int find_kinds(struct scan *sc)
{
	for (u64 nr = 1; nr < sc->nr_blocks; nr++) {
		bool valid = false;
		struct pd_block b;

		if (nr % 1024 == 0)
			salvage_progress(sc->s, "scan", nr, sc->nr_blocks);
		if (!pd_block_read(sc->dev, nr, PD_KIND_RAW, &b)) {
			sc->kind[nr] = kind_of(b.data, nr, &valid);
			pd_block_put(&b);
		}
		if (!valid)
			return salvage_fail(sc->s, -EILSEQ,
					    "the superblock is lost, and block %llu is damaged, too: it may belong to the newest mapping, so nothing is certain",
					    nr);
	}
	salvage_progress(sc->s, "scan", 1, 1);
	return 0;
}

/* ---- A tree that may be the mapping ---- */

static bool add_tree_block(struct scan *sc, u64 nr)
{
	if (sc->nr_tree_blocks == sc->room)
		return false;
	sc->blocks[sc->nr_tree_blocks++] = nr;
	return true;
}

static bool take_entries(struct scan *sc, u64 key, u64 nr)
{
	u64 first = key * PER_BLOCK;
	const struct pd_array_block *a;
	struct pd_block b;
	u32 want;
	bool ok;

	if (nr >= sc->nr_blocks || sc->kind[nr] != PD_KIND_ARRAY ||
	    first >= sc->s->cache_blocks || !add_tree_block(sc, nr) ||
	    pd_block_read(sc->dev, nr, PD_KIND_RAW, &b))
		return false;
	want = min_t(u64, PER_BLOCK, sc->s->cache_blocks - first);
	a = b.data;
	ok = le32_to_cpu(a->value_size) == sizeof(__le64) &&
	     le32_to_cpu(a->nr_entries) == want;
	if (ok)
		memcpy(sc->tree + first, a->values, want * sizeof(__le64));
	pd_block_put(&b);
	for (u32 i = 0; ok && i < want; i++) {
		u64 e = le64_to_cpu((__le64)sc->tree[first + i]);
		u64 flags = e & ((1 << CMD_MAPPING_SHIFT) - 1);

		sc->tree[first + i] = e;
		ok = !e || flags == CMD_MAPPING_VALID ||
		     flags == (CMD_MAPPING_VALID | CMD_MAPPING_DIRTY);
	}
	return ok;
}

/* Takes a node and all below it.  The keys must go up from *@next without a gap. */
static bool take_node(struct scan *sc, u64 nr, int depth, u64 *next)
{
	const struct pd_node *n;
	struct pd_block b;
	bool ok = true;

	if (depth == PD_BTREE_MAX_DEPTH || nr >= sc->nr_blocks ||
	    sc->kind[nr] != PD_KIND_NODE || !add_tree_block(sc, nr) ||
	    pd_block_read(sc->dev, nr, PD_KIND_RAW, &b))
		return false;
	n = b.data;
	if (le32_to_cpu(n->value_size) != sizeof(__le64))
		ok = false;
	for (u32 i = 0; ok && i < le32_to_cpu(n->nr_entries); i++) {
		const __le64 *values = n->keys + le32_to_cpu(n->max_entries);
		u64 child = le64_to_cpu(values[i]);

		ok = le64_to_cpu(n->keys[i]) == *next;
		if (!ok)
			break;
		if (le32_to_cpu(n->flags) == PD_NODE_INTERNAL)
			ok = take_node(sc, child, depth + 1, next);
		else
			ok = take_entries(sc, (*next)++, child);
	}
	pd_block_put(&b);
	return ok;
}

static bool take_tree(struct scan *sc, u64 root)
{
	u64 next = 0;

	sc->nr_tree_blocks = 0;
	return take_node(sc, root, 0, &next) &&
	       next == DIV_ROUND_UP((u64)sc->s->cache_blocks, PER_BLOCK);
}

/* ---- Space maps ---- */

static bool take_bitmap(struct scan *sc, u64 first, u64 nr)
{
	const struct pd_bitmap *m;
	struct pd_block b;

	if (!nr || nr >= sc->nr_blocks || sc->kind[nr] != PD_KIND_BITMAP ||
	    pd_block_read(sc->dev, nr, PD_KIND_RAW, &b))
		return false;
	m = b.data;
	for (u64 e = 0; e < PD_BITMAP_ENTRIES && first + e < sc->nr_blocks; e++)
		sc->used[first + e] = !!(m->counts[e / 4] >> (2 * (e % 4)) & 3);
	pd_block_put(&b);
	return true;
}

static bool take_space_map(struct scan *sc, u64 nr)
{
	const struct pd_index *index;
	struct pd_block b;
	bool ok = true;
	u32 i;

	memset(sc->used, 0, sc->nr_blocks);
	if (pd_block_read(sc->dev, nr, PD_KIND_RAW, &b))
		return false;
	index = b.data;
	for (i = 0; ok && i < PD_MAX_BITMAPS && index->entries[i].blocknr; i++)
		ok = take_bitmap(sc, (u64)i * PD_BITMAP_ENTRIES,
				 le64_to_cpu(index->entries[i].blocknr));
	for (u32 k = 0; ok && k < i; k++)
		ok = sc->used[le64_to_cpu(index->entries[k].blocknr)];
	pd_block_put(&b);
	return ok && sc->used[0] && sc->used[nr];
}

static bool all_used(const struct scan *sc)
{
	for (u32 i = 0; i < sc->nr_tree_blocks; i++)
		if (!sc->used[sc->blocks[i]])
			return false;
	return true;
}

/* True if one space map counts all blocks of the tree at hand as used. */
static bool has_space_map(struct scan *sc)
{
	for (u64 nr = 1; nr < sc->nr_blocks; nr++)
		if (sc->kind[nr] == PD_KIND_INDEX && take_space_map(sc, nr) &&
		    all_used(sc))
			return true;
	return false;
}

/* ---- Values on which all whole trees agree ---- */

static void agree(struct scan *sc)
{
	for (u32 i = 0; i < sc->s->cache_blocks; i++) {
		u64 e = sc->tree[i] & ~(u64)CMD_MAPPING_DIRTY;

		if (sc->tree[i] & CMD_MAPPING_DIRTY)
			sc->s->format = 1;
		if (!sc->nr_trees)
			sc->agreed[i] = e;
		else if (sc->agreed[i] != e)
			sc->agreed[i] = DISAGREED;
	}
	sc->nr_trees++;
}

static void take_agreed(struct scan *sc)
{
	struct salvage *s = sc->s;

	for (u32 i = 0; i < s->cache_blocks; i++) {
		if (sc->agreed[i] == DISAGREED)
			continue;
		s->state[i] = SALVAGE_CERTAIN;
		if (sc->agreed[i])
			s->state[i] |= SALVAGE_MAPPED;
		s->oblock[i] = sc->agreed[i] >> CMD_MAPPING_SHIFT;
	}
}

static int find_trees(struct scan *sc)
{
	struct salvage *s = sc->s;

	for (u64 nr = 1; nr < sc->nr_blocks; nr++)
		if (sc->kind[nr] == PD_KIND_NODE && take_tree(sc, nr) &&
		    has_space_map(sc))
			agree(sc);
	if (!sc->nr_trees)
		return salvage_fail(s, -EILSEQ,
				    "the superblock is lost, and there is no complete mapping of %u cache blocks",
				    s->cache_blocks);
	salvage_say(s, "superblock: %u complete mapping%s found; what they agree on is certain",
		    sc->nr_trees, sc->nr_trees == 1 ? "" : "s");
	take_agreed(sc);
	return 0;
}

static int scan(struct scan *sc)
{
	u64 words = (u64)sc->s->cache_blocks + PER_BLOCK;
	int r;

	sc->room = words / PER_BLOCK * 2 + 16;
	sc->kind = calloc(sc->nr_blocks + 1, sizeof(*sc->kind));
	sc->used = calloc(sc->nr_blocks + 1, sizeof(*sc->used));
	sc->tree = calloc(words, sizeof(*sc->tree));
	sc->agreed = calloc(words, sizeof(*sc->agreed));
	sc->blocks = calloc(sc->room, sizeof(*sc->blocks));
	if (!sc->kind || !sc->used || !sc->tree || !sc->agreed || !sc->blocks)
		return salvage_fail(sc->s, -ENOMEM, "no memory");
	r = find_kinds(sc);
	return r ? r : find_trees(sc);
}

int salvage_scan(struct salvage *s, struct pd_device *in)
{
	struct scan sc = { .s = s, .dev = in };
	int r;

	sc.nr_blocks = min_t(u64, pd_device_nr_blocks(in), PD_MAX_BLOCKS);
	s->format = 2;
	s->block_size = s->o->block_size;
	s->write_log = s->o->write_log;
	if (!s->write_log)
		salvage_say(s, "superblock: nothing else tells whether a write log was in use; if one was, begin again with --write-log");
	if (s->o->cache_blocks / PER_BLOCK >= sc.nr_blocks)
		return salvage_fail(s, -EINVAL,
				    "the device is too small for the mapping of %u cache blocks",
				    s->o->cache_blocks);
	r = salvage_room(s, s->o->cache_blocks);
	if (!r)
		r = scan(&sc);
	free(sc.kind);
	free(sc.used);
	free(sc.tree);
	free(sc.agreed);
	free(sc.blocks);
	return r;
}
