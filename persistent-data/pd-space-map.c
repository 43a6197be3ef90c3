// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which metadata blocks are in use: the reference counts, wholly in memory, and
 * their bitmaps on the disk.
 *
 * This file owns the counts. It holds every bitmap's payload in memory in its
 * on-disk form (2 bits a block, 1 MiB for the largest device), and two bits
 * more a block: "in use at the last commit" and "not to be allocated" (in use
 * then or now). A block is new in this transaction if it is in use and was not
 * in use at the last commit, so no list of the blocks that were copied is
 * needed.
 *
 * On the disk, bitmaps and index are copied on write like everything else.
 * Writing them allocates blocks, which changes the bitmaps again. That comes to
 * an end, because each is copied at most once in a transaction.
 *
 * This file must not know what the blocks are for.
 */

#include "pd-space-map.h"

struct map {
	u8 *counts;		/* PD_BITMAP_BYTES, as on the disk */
	u32 block;		/* where it is on the disk; 0: nowhere yet */
	bool changed;
	/* Entries that may have changed since the last commit: from @from, up to @to. */
	u32 from, to;
	u32 nr_free;		/* entries of 0, also those past the end of the device */
	u32 first_free;		/* the first of them; set when the bitmap is written */
};

struct pd_sm {
	u32 nr_blocks;
	u32 nr_maps;
	u32 nr_used;
	u32 nr_busy;		/* bits that are set in busy */
	u32 cursor;		/* where the next search for a free block begins */
	u32 index_block;	/* 0: none yet */
	u64 overflow_root;
	bool extended;
	unsigned long *was;	/* in use at the last commit */
	unsigned long *busy;	/* not to be allocated: in use then or now */
	struct map maps[PD_MAX_BITMAPS];
};

/*
 * The two bits of a count are swapped on the disk: 2 stands for one
 * reference, 1 for two.
 */
static unsigned int swap_bits(unsigned int v)
{
	return v >> 1 | (v & 1) << 1;
}

static unsigned int get_entry(const u8 *counts, u32 e)
{
	return swap_bits(counts[e / 4] >> (2 * (e % 4)) & 3);
}

static void set_entry(u8 *counts, u32 e, unsigned int count)
{
	unsigned int shift = 2 * (e % 4);

	counts[e / 4] &= ~(3u << shift);
	counts[e / 4] |= swap_bits(count) << shift;
}

/*
 * One bit for each of 32 entries from @e on: whether the count is nonzero. Each
 * step moves bits that stand apart next to each other, by doubling groups.
 */
static u32 used_entries(const u8 *counts, u32 e)
{
	__le64 v;
	u64 x;

	memcpy(&v, counts + e / 4, sizeof(v));
	x = le64_to_cpu(v);
	x = (x | x >> 1) & 0x5555555555555555ULL;
	x = (x | x >> 1) & 0x3333333333333333ULL;
	x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fULL;
	x = (x | x >> 4) & 0x00ff00ff00ff00ffULL;
	x = (x | x >> 8) & 0x0000ffff0000ffffULL;
	return x | x >> 16;
}

/* The first entry of 0, or PD_BITMAP_ENTRIES. */
static u32 find_free(const struct map *m)
{
	u32 e, used;

	for (e = 0; e < PD_BITMAP_ENTRIES; e += 32) {
		used = used_entries(m->counts, e);
		if (~used)
			return e + __ffs64(~used);
	}
	return PD_BITMAP_ENTRIES;
}

static unsigned int count_of(const struct pd_sm *sm, u32 nr)
{
	return get_entry(sm->maps[nr / PD_BITMAP_ENTRIES].counts,
			 nr % PD_BITMAP_ENTRIES);
}

static void set_count(struct pd_sm *sm, u32 nr, unsigned int count)
{
	struct map *m = sm->maps + nr / PD_BITMAP_ENTRIES;
	u32 e = nr % PD_BITMAP_ENTRIES;

	m->nr_free += !!get_entry(m->counts, e);
	m->nr_free -= !!count;
	set_entry(m->counts, e, count);
	m->changed = true;
	m->from = min(m->from, e);
	m->to = max(m->to, e + 1);
}

static void no_changes(struct map *m)
{
	m->changed = false;
	m->from = PD_BITMAP_ENTRIES;
	m->to = 0;
}

/* How many entries of map @i stand for blocks. */
static u32 map_entries(const struct pd_sm *sm, u32 i)
{
	return min_t(u32, PD_BITMAP_ENTRIES,
		     sm->nr_blocks - i * PD_BITMAP_ENTRIES);
}

/* Grow the in-memory tables to @nr_blocks; their content stays. */
static int sm_set_size(struct pd_sm *sm, u32 nr_blocks)
{
	u32 nr_maps = DIV_ROUND_UP(nr_blocks, PD_BITMAP_ENTRIES);
	size_t old_bytes = BITS_TO_LONGS(sm->nr_blocks) * sizeof(long);
	size_t bytes = BITS_TO_LONGS(nr_blocks) * sizeof(long);
	unsigned long *was = os_zalloc(bytes);
	unsigned long *busy = os_zalloc(bytes);
	u32 i;

	if (!was || !busy)
		goto no_memory;
	for (i = sm->nr_maps; i < nr_maps; i++) {
		if (!sm->maps[i].counts)
			sm->maps[i].counts = os_zalloc(PD_BITMAP_BYTES);
		if (!sm->maps[i].counts)
			goto no_memory;
		sm->maps[i].nr_free = PD_BITMAP_ENTRIES;
		no_changes(&sm->maps[i]);
	}

	if (sm->was) {
		memcpy(was, sm->was, old_bytes);
		memcpy(busy, sm->busy, old_bytes);
	}
	os_free(sm->was);
	os_free(sm->busy);
	sm->was = was;
	sm->busy = busy;
	sm->nr_maps = nr_maps;
	WRITE_ONCE(sm->nr_blocks, nr_blocks);
	return 0;

no_memory:
	os_free(was);
	os_free(busy);
	return -ENOMEM;
}

static int sm_new(u32 nr_blocks, struct pd_sm **out)
{
	struct pd_sm *sm;
	int r;

	if (!nr_blocks || nr_blocks > PD_MAX_BLOCKS)
		return -EINVAL;
	sm = os_zalloc(sizeof(*sm));
	if (!sm)
		return -ENOMEM;
	r = sm_set_size(sm, nr_blocks);
	if (r) {
		pd_sm_destroy(sm);
		return r;
	}
	*out = sm;
	return 0;
}

int pd_sm_create(u32 nr_blocks, struct pd_sm **out)
{
	struct pd_sm *sm;
	u32 i;
	int r;

	r = sm_new(nr_blocks, &sm);
	if (r)
		return r;

	for (i = 0; i < sm->nr_maps; i++)
		sm->maps[i].changed = true;
	set_count(sm, 0, 1);
	__set_bit(0, sm->busy);
	sm->nr_busy = 1;
	sm->nr_used = 1;
	*out = sm;
	return 0;
}

void pd_sm_destroy(struct pd_sm *sm)
{
	u32 i;

	if (!sm)
		return;
	for (i = 0; i < PD_MAX_BITMAPS; i++)
		os_free(sm->maps[i].counts);
	os_free(sm->was);
	os_free(sm->busy);
	os_free(sm);
}

/* Take the counts of bitmap @i, except for entries past the end of the device. */
static void take_counts(struct pd_sm *sm, u32 i, const u8 *counts)
{
	struct map *m = sm->maps + i;
	u32 n = map_entries(sm, i);
	u32 base = i * PD_BITMAP_ENTRIES;
	u32 e;

	for (e = 0; e < n; e++) {
		if (e % 4 == 0 && !counts[e / 4]) {
			e += 3;
			continue;
		}
		if (!get_entry(counts, e))
			continue;
		set_entry(m->counts, e, get_entry(counts, e));
		m->nr_free--;
		__set_bit(base + e, sm->was);
		__set_bit(base + e, sm->busy);
		sm->nr_used++;
	}
}

static int load_map(struct pd_sm *sm, struct pd_device *dev, u32 i, u64 block)
{
	struct pd_block b;
	int r;

	if (!block || block >= sm->nr_blocks)
		return -EILSEQ;
	r = pd_block_read(dev, block, PD_KIND_BITMAP, &b);
	if (r)
		return r;
	sm->maps[i].block = block;
	take_counts(sm, i, ((const struct pd_bitmap *)b.data)->counts);
	sm->maps[i].first_free = find_free(sm->maps + i);
	pd_block_put(&b);
	return 0;
}

static int load_maps(struct pd_sm *sm, struct pd_device *dev, u64 index_block)
{
	const struct pd_index *index;
	struct pd_block b;
	u32 i;
	int r;

	if (!index_block || index_block >= sm->nr_blocks)
		return -EILSEQ;
	r = pd_block_read(dev, index_block, PD_KIND_INDEX, &b);
	if (r)
		return r;

	sm->index_block = index_block;
	index = b.data;
	for (i = 0; i < sm->nr_maps && !r; i++)
		r = load_map(sm, dev, i, le64_to_cpu(index->entries[i].blocknr));
	pd_block_put(&b);
	return r;
}

/*
 * Does the map count the superblock and its own blocks? If it did not, the
 * allocator would give them away.
 */
static bool counts_itself(const struct pd_sm *sm)
{
	u32 i;

	if (!count_of(sm, 0) || !count_of(sm, sm->index_block) ||
	    !count_of(sm, sm->overflow_root))
		return false;
	for (i = 0; i < sm->nr_maps; i++)
		if (!count_of(sm, sm->maps[i].block))
			return false;
	return true;
}

int pd_sm_load(struct pd_device *dev, const struct pd_sm_root *root,
	       struct pd_sm **out, const char **why)
{
	u64 nr_blocks = le64_to_cpu(root->nr_blocks);
	u64 overflow = le64_to_cpu(root->ref_count_root);
	struct pd_sm *sm;
	int r;

	*why = "Metadata space map has an impossible size";
	if (!nr_blocks || nr_blocks > PD_MAX_BLOCKS)
		return -EILSEQ;
	*why = "Metadata device is smaller than its space map";
	if (nr_blocks > pd_device_nr_blocks(dev))
		return -EINVAL;
	*why = "Metadata space map root is out of range";
	if (!overflow || overflow >= nr_blocks)
		return -EILSEQ;

	*why = "Cannot allocate the metadata space map";
	r = sm_new(nr_blocks, &sm);
	if (r)
		return r;

	*why = "Cannot read the metadata space map";
	sm->overflow_root = overflow;
	r = load_maps(sm, dev, le64_to_cpu(root->bitmap_root));
	if (r)
		goto bad;
	*why = "Metadata space map does not count its own blocks";
	r = -EILSEQ;
	if (!counts_itself(sm))
		goto bad;

	sm->nr_busy = sm->nr_used;
	*out = sm;
	return 0;

bad:
	pd_sm_destroy(sm);
	return r;
}

void pd_sm_set_overflow_root(struct pd_sm *sm, u64 root)
{
	sm->overflow_root = root;
}

u64 pd_sm_overflow_root(const struct pd_sm *sm)
{
	return sm->overflow_root;
}

/* Take a free block if more than @keep_back are left. */
static int sm_take_block(struct pd_sm *sm, u32 keep_back, u32 *nr)
{
	u32 n;

	if (sm->nr_blocks - sm->nr_busy <= keep_back)
		return -ENOSPC;
	n = find_next_zero_bit(sm->busy, sm->nr_blocks, sm->cursor);
	if (n >= sm->nr_blocks)
		n = find_next_zero_bit(sm->busy, sm->nr_blocks, 0);
	if (n >= sm->nr_blocks)
		return -ENOSPC;

	set_count(sm, n, 1);
	__set_bit(n, sm->busy);
	sm->nr_busy++;
	WRITE_ONCE(sm->nr_used, sm->nr_used + 1);
	sm->cursor = n + 1;
	*nr = n;
	return 0;
}

/* Blocks that a commit still has to allocate for the map, at most. */
static u32 commit_needs(const struct pd_sm *sm)
{
	return sm->nr_maps + 1;
}

int pd_sm_alloc(struct pd_sm *sm, u64 *nr)
{
	u32 n;
	int r = sm_take_block(sm, commit_needs(sm), &n);

	if (!r)
		*nr = n;
	return r;
}

int pd_sm_dec(struct pd_sm *sm, u64 nr)
{
	unsigned int count = pd_sm_count(sm, nr);

	if (!count || !nr)
		return -EILSEQ;
	if (count == 3)
		return 0;

	set_count(sm, nr, count - 1);
	if (count == 2)
		return 0;

	WRITE_ONCE(sm->nr_used, sm->nr_used - 1);
	if (!test_bit(nr, sm->was)) {
		__clear_bit(nr, sm->busy);
		sm->nr_busy--;
	}
	return 0;
}

unsigned int pd_sm_count(const struct pd_sm *sm, u64 nr)
{
	return nr < sm->nr_blocks ? count_of(sm, nr) : 0;
}

bool pd_sm_is_new(const struct pd_sm *sm, u64 nr)
{
	return nr < sm->nr_blocks && !test_bit(nr, sm->was) &&
	       test_bit(nr, sm->busy);
}

bool pd_sm_changed(const struct pd_sm *sm)
{
	u32 i;

	if (sm->extended)
		return true;
	for (i = 0; i < sm->nr_maps; i++)
		if (sm->maps[i].changed)
			return true;
	return false;
}

int pd_sm_extend(struct pd_sm *sm, u32 nr_blocks)
{
	u32 old_maps = sm->nr_maps;
	u32 i;
	int r;

	if (nr_blocks <= sm->nr_blocks || nr_blocks > PD_MAX_BLOCKS)
		return -EINVAL;
	r = sm_set_size(sm, nr_blocks);
	if (r)
		return r;

	for (i = old_maps; i < sm->nr_maps; i++)
		sm->maps[i].changed = true;
	sm->extended = true;
	return 0;
}

/* Move *@block to a place that may be written in this transaction. */
static int sm_move_block(struct pd_sm *sm, u32 *block)
{
	u32 nr;
	int r;

	if (*block && pd_sm_is_new(sm, *block))
		return 0;
	r = sm_take_block(sm, 0, &nr);
	if (r)
		return r;
	if (*block) {
		r = pd_sm_dec(sm, *block);
		if (r)
			return r;
	}
	*block = nr;
	return 0;
}

/* Move all that changed, again and again: a move may change further maps. */
static int move_changed(struct pd_sm *sm)
{
	bool again = true;
	u32 i;
	int r;

	r = sm_move_block(sm, &sm->index_block);
	while (!r && again) {
		again = false;
		for (i = 0; i < sm->nr_maps && !r; i++) {
			struct map *m = sm->maps + i;

			if (!m->changed ||
			    (m->block && pd_sm_is_new(sm, m->block)))
				continue;
			r = sm_move_block(sm, &m->block);
			again = true;
		}
	}
	return r;
}

static int write_map(const struct map *m, struct pd_device *dev)
{
	struct pd_block b;
	int r;

	if (!m->changed)
		return 0;
	r = pd_block_new(dev, m->block, PD_KIND_BITMAP, &b);
	if (r)
		return r;
	memcpy(((struct pd_bitmap *)b.data)->counts, m->counts,
	       PD_BITMAP_BYTES);
	pd_block_put(&b);
	return 0;
}

/* Both numbers are hints. */
static void fill_entry(struct map *m, struct pd_index_entry *entry)
{
	if (m->changed)
		m->first_free = find_free(m);
	entry->blocknr = cpu_to_le64(m->block);
	entry->nr_free = cpu_to_le32(m->nr_free);
	entry->none_free_before = cpu_to_le32(m->first_free);
}

static int write_index(struct pd_sm *sm, struct pd_device *dev)
{
	struct pd_index *index;
	struct pd_block b;
	u32 i;
	int r;

	r = pd_block_new(dev, sm->index_block, PD_KIND_INDEX, &b);
	if (r)
		return r;
	index = b.data;
	for (i = 0; i < sm->nr_maps; i++)
		fill_entry(sm->maps + i, index->entries + i);
	pd_block_put(&b);
	return 0;
}

int pd_sm_write(struct pd_sm *sm, struct pd_device *dev,
		struct pd_sm_root *root)
{
	u32 i;
	int r = 0;

	if (pd_sm_changed(sm)) {
		r = move_changed(sm);
		for (i = 0; i < sm->nr_maps && !r; i++)
			r = write_map(sm->maps + i, dev);
		if (!r)
			r = write_index(sm, dev);
	}
	if (r)
		return r;

	root->nr_blocks = cpu_to_le64(sm->nr_blocks);
	root->nr_allocated = cpu_to_le64(sm->nr_used);
	root->bitmap_root = cpu_to_le64(sm->index_block);
	root->ref_count_root = cpu_to_le64(sm->overflow_root);
	return 0;
}

/* The blocks in use now become those "in use at the last commit". */
static void take_map_as_committed(struct pd_sm *sm, u32 i)
{
	u32 n = min(sm->maps[i].to, map_entries(sm, i));
	u32 base = i * PD_BITMAP_ENTRIES / BITS_PER_LONG;
	u32 e, k;

	BUILD_BUG_ON(PD_BITMAP_ENTRIES % BITS_PER_LONG);
	for (e = sm->maps[i].from / BITS_PER_LONG * BITS_PER_LONG; e < n; e += BITS_PER_LONG) {
		unsigned long used = 0;

		for (k = 0; k < BITS_PER_LONG; k += 32)
			used |= (unsigned long)used_entries(sm->maps[i].counts,
							    e + k) << k;
		sm->was[base + e / BITS_PER_LONG] = used;
		sm->busy[base + e / BITS_PER_LONG] = used;
	}
	no_changes(&sm->maps[i]);
}

void pd_sm_committed(struct pd_sm *sm)
{
	u32 i;

	for (i = 0; i < sm->nr_maps; i++)
		if (sm->maps[i].changed)
			take_map_as_committed(sm, i);
	sm->nr_busy = sm->nr_used;
	sm->cursor = 0;
	sm->extended = false;
}

u32 pd_sm_nr_blocks(const struct pd_sm *sm)
{
	return READ_ONCE(sm->nr_blocks);
}

u32 pd_sm_nr_used(const struct pd_sm *sm)
{
	return READ_ONCE(sm->nr_used);
}

int pd_sm_walk_own(const struct pd_sm *sm, int (*fn)(void *ctx, u64 nr),
		   void *ctx)
{
	u32 i;
	int r = fn(ctx, sm->index_block);

	for (i = 0; i < sm->nr_maps && !r; i++)
		r = fn(ctx, sm->maps[i].block);
	return r;
}
