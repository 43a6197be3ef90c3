// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verification of whole metadata.
 *
 * Owns a second, independent reading of the structures: it descends the trees
 * itself, counts every reference that it meets, and compares with the space map.
 * It uses only the block checks and the counts of persistent-data/.
 */

#include "metadata-check.h"
#include "why.h"
#include "../metadata/cache-metadata-disk.h"
#include "../persistent-data/pd-array.h"

/* An entry of an array block that could not be read; it is no further fault. */
#define UNKNOWN		U64_MAX

struct checker {
	struct pd_tm *tm;
	const struct cmd_superblock *sb;
	void (*report)(void *ctx, const char *msg);
	void *ctx;
	struct metadata_faults found;
	u32 nr_blocks;
	u32 *refs;		/* references met, by block */
	u32 *overflow;		/* counts in the overflow tree, by block */
	u32 cache_blocks;
	u64 *mapping;		/* entries, or UNKNOWN */
	u32 past_end;		/* bits set past the end of a bitset */
};

static void __printf(2, 3) fault(struct checker *c, const char *fmt, ...)
{
	va_list ap;

	c->found.damage++;
	va_start(ap, fmt);
	say_line(c->report, c->ctx, fmt, ap);
	va_end(ap);
}

/* Space is lost to the metadata, but nothing in it is wrong. */
static void __printf(2, 3) leak(struct checker *c, const char *fmt, ...)
{
	va_list ap;

	c->found.leaks++;
	va_start(ap, fmt);
	say_line(c->report, c->ctx, fmt, ap);
	va_end(ap);
}

/* Counts a reference.  False if the block is out of range or was visited before. */
static bool visit(struct checker *c, const char *what, u64 nr)
{
	if (nr >= c->nr_blocks || (!nr && strcmp(what, "superblock"))) {
		fault(c, "%s: block %llu is out of range", what, nr);
		return false;
	}
	return !c->refs[nr]++;
}

/* ---- Trees ---- */

struct tree {
	struct checker *c;
	const char *what;
	u32 value_size;
	int leaf_depth;		/* -1: no leaf seen */
	void (*entry)(struct tree *t, u64 key, const void *value);
	/* for arrays */
	u32 array_value_size;
	u64 length;
	u64 next;
	void (*value)(struct checker *c, u64 index, const void *value);
};

static const void *node_values(const struct pd_node *n)
{
	return n->keys + le32_to_cpu(n->max_entries);
}

static void check_node_header(struct tree *t, u64 nr, const struct pd_node *n,
			      int depth)
{
	bool leaf = le32_to_cpu(n->flags) == PD_NODE_LEAF;
	u32 entries = le32_to_cpu(n->nr_entries);

	if (depth && entries < le32_to_cpu(n->max_entries) / 3)
		fault(t->c, "%s: node %llu has only %u entries", t->what, nr,
		      entries);
	if (leaf && le32_to_cpu(n->value_size) != t->value_size)
		fault(t->c, "%s: leaf %llu has values of %u bytes", t->what,
		      nr, le32_to_cpu(n->value_size));
	if (leaf && t->leaf_depth >= 0 && t->leaf_depth != depth)
		fault(t->c, "%s: leaf %llu is at level %d, others at %d",
		      t->what, nr, depth, t->leaf_depth);
	if (leaf)
		t->leaf_depth = depth;
}

/* Checks a node and all below it.  Its keys must be in lo .. hi. */
static void check_node(struct tree *t, u64 nr, int depth, u64 lo, u64 hi)
{
	struct checker *c = t->c;
	const struct pd_node *n;
	struct pd_block b;
	u32 entries;
	int r;

	if (depth == PD_BTREE_MAX_DEPTH) {
		fault(c, "%s: too many levels", t->what);
		return;
	}
	if (!visit(c, t->what, nr))
		return;
	r = pd_block_read(c->tm->dev, nr, PD_KIND_NODE, &b);
	if (r) {
		fault(c, "%s: node %llu cannot be used: %s", t->what, nr,
		      metadata_error(r));
		return;
	}

	n = b.data;
	entries = le32_to_cpu(n->nr_entries);
	check_node_header(t, nr, n, depth);
	if (entries && (le64_to_cpu(n->keys[0]) < lo ||
			le64_to_cpu(n->keys[entries - 1]) > hi))
		fault(c, "%s: node %llu has keys out of its range", t->what,
		      nr);

	for (u32 i = 0; i < entries; i++) {
		u64 key = le64_to_cpu(n->keys[i]);
		u64 end = i + 1 < entries ? le64_to_cpu(n->keys[i + 1]) - 1 : hi;

		if (le32_to_cpu(n->flags) == PD_NODE_INTERNAL)
			check_node(t, le64_to_cpu(((const __le64 *)
						   node_values(n))[i]),
				   depth + 1, key, end);
		else if (le32_to_cpu(n->value_size) == t->value_size)
			t->entry(t, key, (const u8 *)node_values(n) +
						 (size_t)i * t->value_size);
	}
	pd_block_put(&b);
}

static void check_tree(struct tree *t, u64 root)
{
	t->leaf_depth = -1;
	check_node(t, root, 0, 0, U64_MAX);
}

/* ---- Arrays ---- */

static void check_array_block(struct tree *t, u64 k, u64 nr)
{
	u32 per = (PD_BLOCK_SIZE - sizeof(struct pd_array_block)) /
		  t->array_value_size;
	u64 want = min_t(u64, per, t->length - k * per);
	const struct pd_array_block *a;
	struct pd_block b;
	int r;

	r = pd_block_read(t->c->tm->dev, nr, PD_KIND_ARRAY, &b);
	if (r) {
		fault(t->c, "%s: array block %llu at %llu cannot be used: %s",
		      t->what, k, nr, metadata_error(r));
		return;
	}
	a = b.data;
	if (le32_to_cpu(a->value_size) != t->array_value_size ||
	    le32_to_cpu(a->nr_entries) != want)
		fault(t->c, "%s: array block %llu at %llu has %u values of %u bytes, not %llu of %u",
		      t->what, k, nr, le32_to_cpu(a->nr_entries),
		      le32_to_cpu(a->value_size), want, t->array_value_size);
	else
		for (u32 i = 0; i < want; i++)
			t->value(t->c, k * per + i,
				 a->values + (size_t)i * t->array_value_size);
	pd_block_put(&b);
}

static void array_entry(struct tree *t, u64 key, const void *value)
{
	u32 per = (PD_BLOCK_SIZE - sizeof(struct pd_array_block)) /
		  t->array_value_size;
	u64 nr = le64_to_cpu(*(const __le64 *)value);

	if (key != t->next)
		fault(t->c, "%s: array block %llu follows %llu", t->what, key,
		      t->next - 1);
	t->next = key + 1;
	if (!visit(t->c, t->what, nr))
		return;
	if (key >= DIV_ROUND_UP(t->length, per))
		fault(t->c, "%s: surplus array block %llu", t->what, key);
	else
		check_array_block(t, key, nr);
}

static void check_array(struct checker *c, const char *what, u64 root,
			u32 value_size, u64 length,
			void (*value)(struct checker *c, u64 index,
				      const void *value))
{
	u32 per = (PD_BLOCK_SIZE - sizeof(struct pd_array_block)) / value_size;
	struct tree t = {
		.c = c,
		.what = what,
		.value_size = sizeof(__le64),
		.entry = array_entry,
		.array_value_size = value_size,
		.length = length,
		.value = value,
	};

	check_tree(&t, root);
	if (t.next < DIV_ROUND_UP(length, per))
		fault(c, "%s: only %llu array blocks", what, t.next);
}

/* ---- Contents ---- */

static void take_mapping(struct checker *c, u64 i, const void *value)
{
	u64 entry = le64_to_cpu(*(const __le64 *)value);
	u32 format = le32_to_cpu(c->sb->version);
	u64 allowed = CMD_MAPPING_VALID | (format == 1 ? CMD_MAPPING_DIRTY : 0);

	c->mapping[i] = entry;
	if (entry & 0xffff & ~allowed)
		fault(c, "mapping %llu: unknown flags %#llx", i,
		      entry & 0xffff);
	else if (entry && !(entry & CMD_MAPPING_VALID))
		fault(c, "mapping %llu: not mapped, but %#llx", i, entry);
}

static void check_dirty_bit(struct checker *c, u64 bit)
{
	if (bit >= c->cache_blocks)
		c->past_end++;
	else if (!(c->mapping[bit] & CMD_MAPPING_VALID))
		fault(c, "dirty bits: bit %llu belongs to an unmapped block",
		      bit);
}

static void take_dirty_word(struct checker *c, u64 i, const void *value)
{
	u64 word = le64_to_cpu(*(const __le64 *)value);

	for (; word; word &= word - 1)
		check_dirty_bit(c, i * 64 + __ffs64(word));
}

static void take_discard_word(struct checker *c, u64 i, const void *value)
{
	u64 word = le64_to_cpu(*(const __le64 *)value);
	u64 bits = le64_to_cpu(c->sb->discard_nr_blocks);

	for (; word; word &= word - 1)
		if (i * 64 + __ffs64(word) >= bits)
			c->past_end++;
}

static void check_past_end(struct checker *c, const char *what)
{
	if (c->past_end)
		fault(c, "%s: %u bits are set past the end", what,
		      c->past_end);
	c->past_end = 0;
}

static void take_hint(struct checker *c, u64 i, const void *value)
{
	(void)c;
	(void)i;
	(void)value;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* The number of origin blocks; U64_MAX if the superblock does not tell. */
static u64 origin_blocks(const struct cmd_superblock *sb)
{
	u64 size = le64_to_cpu(sb->discard_block_size);
	u64 nr = le64_to_cpu(sb->discard_nr_blocks);
	u64 sectors;

	if (!(le32_to_cpu(sb->flags) & CMD_SB_CLEAN_SHUTDOWN) || !size || !nr ||
	    __builtin_mul_overflow(size, nr, &sectors))
		return U64_MAX;
	return DIV_ROUND_UP(sectors, le32_to_cpu(sb->data_block_size));
}

/* Sorts the mapping, because nothing needs its order any more. */
static void check_oblocks(struct checker *c)
{
	u64 limit = origin_blocks(c->sb);
	u64 last = U64_MAX;

	qsort(c->mapping, c->cache_blocks, sizeof(u64), compare_u64);
	for (u32 i = 0; i < c->cache_blocks; i++) {
		u64 oblock = c->mapping[i] >> CMD_MAPPING_SHIFT;

		if (c->mapping[i] == UNKNOWN ||
		    !(c->mapping[i] & CMD_MAPPING_VALID))
			continue;
		if (oblock == last)
			fault(c, "mapping: origin block %llu is mapped twice",
			      oblock);
		if (oblock >= limit)
			fault(c, "mapping: origin block %llu is past the origin's end",
			      oblock);
		last = oblock;
	}
}

/* ---- Counts ---- */

static void overflow_entry(struct tree *t, u64 key, const void *value)
{
	if (key >= t->c->nr_blocks)
		fault(t->c, "overflow counts: block %llu is out of range", key);
	else
		t->c->overflow[key] = le32_to_cpu(*(const __le32 *)value);
}

static int visit_own(void *ctx, u64 nr)
{
	visit(ctx, "space map", nr);
	return 0;
}

static void compare_counts(struct checker *c)
{
	u64 allocated = 0;

	for (u32 nr = 0; nr < c->nr_blocks; nr++) {
		u32 have = pd_sm_count(c->tm->sm, nr);

		if (have == 3 || c->overflow[nr]) {
			if (have != 3 || c->overflow[nr] < 3)
				fault(c, "counts: block %u has %u in the bitmap and %u in the overflow tree",
				      nr, have, c->overflow[nr]);
			have = c->overflow[nr];
		}
		allocated += !!have;
		if (have > c->refs[nr])
			leak(c, "leak: block %u has count %u, but %u references",
			     nr, have, c->refs[nr]);
		else if (have < c->refs[nr])
			fault(c, "counts: block %u has count %u, but %u references",
			      nr, have, c->refs[nr]);
	}
	if (allocated != le64_to_cpu(c->sb->sm_root.nr_allocated))
		fault(c, "counts: %llu blocks are in use, the superblock says %llu",
		      allocated, le64_to_cpu(c->sb->sm_root.nr_allocated));
}

static void check_space_map(struct checker *c)
{
	struct tree t = {
		.c = c,
		.what = "overflow counts",
		.value_size = sizeof(__le32),
		.entry = overflow_entry,
	};

	visit(c, "superblock", 0);
	pd_sm_walk_own(c->tm->sm, visit_own, c);
	check_tree(&t, le64_to_cpu(c->sb->sm_root.ref_count_root));
	compare_counts(c);
}

static void check_contents(struct checker *c)
{
	const struct cmd_superblock *sb = c->sb;
	u32 hint_size = le32_to_cpu(sb->policy_hint_size);
	u64 discards = le64_to_cpu(sb->discard_nr_blocks);

	check_array(c, "mapping", le64_to_cpu(sb->mapping_root), 8,
		    c->cache_blocks, take_mapping);
	if (le32_to_cpu(sb->version) == 2)
		check_array(c, "dirty bits", le64_to_cpu(sb->dirty_root), 8,
			    pd_bitset_words(c->cache_blocks), take_dirty_word);
	check_past_end(c, "dirty bits");
	check_array(c, "discards", le64_to_cpu(sb->discard_root), 8,
		    pd_bitset_words(discards), take_discard_word);
	check_past_end(c, "discards");
	if (sb->hint_root) {
		if (hint_size && hint_size != CMD_HINT_SIZE)
			fault(c, "hints: size %u is not supported", hint_size);
		check_array(c, "hints", le64_to_cpu(sb->hint_root),
			    CMD_HINT_SIZE, c->cache_blocks, take_hint);
	}
	check_oblocks(c);
}

const char *metadata_error(int r)
{
	return r == -EILSEQ ? "it is damaged" : strerror(-r);
}

int metadata_check(struct cmd *cmd, void (*report)(void *ctx, const char *msg),
		   void *ctx)
{
	struct metadata_faults f;
	int r = metadata_find_faults(cmd, report, ctx, &f);

	return r ? r : (int)(f.damage + f.leaks);
}

int metadata_find_faults(struct cmd *cmd,
			 void (*report)(void *ctx, const char *msg), void *ctx,
			 struct metadata_faults *found)
{
	struct checker c = {
		.tm = cmd_transaction(cmd),
		.sb = cmd_committed_superblock(cmd),
		.report = report,
		.ctx = ctx,
	};
	int r = -ENOMEM;

	c.nr_blocks = pd_sm_nr_blocks(c.tm->sm);
	c.cache_blocks = le32_to_cpu(c.sb->cache_blocks);
	c.refs = calloc(c.nr_blocks, sizeof(*c.refs));
	c.overflow = calloc(c.nr_blocks, sizeof(*c.overflow));
	c.mapping = calloc((size_t)c.cache_blocks + 1, sizeof(*c.mapping));
	if (c.refs && c.overflow && c.mapping) {
		memset(c.mapping, 0xff, c.cache_blocks * sizeof(*c.mapping));
		check_contents(&c);
		check_space_map(&c);
		*found = c.found;
		r = 0;
	}
	free(c.refs);
	free(c.overflow);
	free(c.mapping);
	return r;
}
