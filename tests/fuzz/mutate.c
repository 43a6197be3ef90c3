// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutations that know what a block is: they change the fields that steer the code
 * (counts, sizes, pointers, flags), use values that are likely to confuse it
 * (another block's number, limits and their neighbours), and swap blocks.
 */

#include "mutate.h"
#include "metadata/cache-metadata-disk.h"
#include "tests/lib/rng.h"

#define NODE_MAX_CHILDREN	252u

struct field {
	u16 at, size;
};

#define SB(name) { offsetof(struct cmd_superblock, name), \
		   sizeof(((struct cmd_superblock *)0)->name) }
#define NODE(name) { offsetof(struct pd_node, name), \
		     sizeof(((struct pd_node *)0)->name) }
#define ARRAY(name) { offsetof(struct pd_array_block, name), \
		      sizeof(((struct pd_array_block *)0)->name) }

static const struct field superblock_fields[] = {
	SB(flags), SB(version), SB(policy_hint_size), SB(sm_root.nr_blocks),
	SB(sm_root.nr_allocated), SB(sm_root.bitmap_root),
	SB(sm_root.ref_count_root), SB(mapping_root), SB(hint_root),
	SB(discard_root), SB(discard_block_size), SB(discard_nr_blocks),
	SB(data_block_size), SB(cache_blocks), SB(compat_flags),
	SB(compat_ro_flags), SB(incompat_flags), SB(policy_version[0]),
	SB(dirty_root), SB(magic), SB(blocknr), SB(record.length),
	SB(record.magic), { offsetof(struct cmd_superblock, policy_name), 8 },
	{ offsetof(struct cmd_superblock, policy_name) + 8, 8 },
};

static const struct field node_fields[] = {
	NODE(flags), NODE(nr_entries), NODE(max_entries), NODE(value_size),
};

static const struct field array_fields[] = {
	ARRAY(max_entries), ARRAY(nr_entries), ARRAY(value_size),
};

static struct field any_field(u64 *rng)
{
	u32 size = one_in(rng, 2) ? 8 : 4;

	return (struct field){ below(rng, PD_BLOCK_SIZE / 4 - 1) * 4, size };
}

/* Chooses an entry that is in use, or one of the next two. */
static u32 entry(const struct image_block *b, u32 nr_at, u32 limit, u64 *rng)
{
	__le32 nr;

	memcpy(&nr, b->data + nr_at, sizeof(nr));
	return below(rng, min(le32_to_cpu(nr), limit - 2) + 2);
}

static struct field node_field(const struct image_block *b, u64 *rng)
{
	struct field f = { sizeof(struct pd_node), 8 };
	u32 i = entry(b, offsetof(struct pd_node, nr_entries),
		      NODE_MAX_CHILDREN, rng);

	if (one_in(rng, 3))
		return node_fields[below(rng, ARRAY_SIZE(node_fields))];
	f.at += 8 * (one_in(rng, 3) ? i : NODE_MAX_CHILDREN + i);
	return f;
}

static struct field array_field(const struct image_block *b, u64 *rng)
{
	struct field f = { sizeof(struct pd_array_block), 8 };

	if (one_in(rng, 3))
		return array_fields[below(rng, ARRAY_SIZE(array_fields))];
	f.at += 8 * entry(b, offsetof(struct pd_array_block, nr_entries), 509,
			  rng);
	return f;
}

static struct field index_field(u64 *rng)
{
	struct field f = { sizeof(__le64) * 2, 8 };

	f.at += 16 * (one_in(rng, 3) ? below(rng, 255) : below(rng, 3));
	if (one_in(rng, 2))
		return f;
	return (struct field){ f.at + 8 + 4 * below(rng, 2), 4 };
}

static struct field choose_field(const struct image_block *b, u64 *rng)
{
	if (one_in(rng, 8))
		return any_field(rng);
	switch (b->kind) {
	case PD_KIND_SUPERBLOCK:
		return superblock_fields[below(rng, ARRAY_SIZE(superblock_fields))];
	case PD_KIND_NODE:
		return node_field(b, rng);
	case PD_KIND_ARRAY:
		return array_field(b, rng);
	case PD_KIND_INDEX:
		return index_field(rng);
	case PD_KIND_BITMAP:
		return (struct field){ 16 + below(rng, 64), 1 };
	}
	return any_field(rng);
}

static const u64 limits[] = {
	0, 1, 2, 3, 4, 7, 8, 63, 64, 84, 126, 168, 251, 252, 253, 336, 508, 509,
	510, 1018, 1019, 16319, 16320, 16321, 32576, 65535, 0x3ffff, 4161600,
	0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 48,
	~0ULL >> 16, ~0ULL >> 1, ~0ULL,
};

static u64 value_for(const struct image *im, u64 old, u64 *rng)
{
	switch (below(rng, 8)) {
	case 0:
		return old + below(rng, 9) - 4;
	case 1:
		return old ^ 1ULL << below(rng, 64);
	case 2:
	case 3:
		return im->blocks[below(rng, im->nr_blocks)]->nr;
	case 4:
		return rnd(rng) >> below(rng, 64);
	case 5:
		return (u64)below(rng, 1 << 16) << 16 | below(rng, 4);
	default:
		return limits[below(rng, ARRAY_SIZE(limits))] + below(rng, 3) - 1;
	}
}

/* Chooses a block, mostly one of another kind than an array block. */
static struct image_block *choose_block(struct image *im, u64 *rng)
{
	u32 tries = 3;
	struct image_block *b;

	do
		b = im->blocks[below(rng, im->nr_blocks)];
	while (b->kind == PD_KIND_ARRAY && tries--);
	return b;
}

static void change_field(struct image *im, u64 *rng)
{
	struct image_block *b = choose_block(im, rng);
	struct field f = choose_field(b, rng);
	u64 v = 0;

	memcpy(&v, b->data + f.at, f.size);
	v = cpu_to_le64(value_for(im, le64_to_cpu(v), rng));
	memcpy(b->data + f.at, &v, f.size);
}

/* Changes a block's count in its bitmap: to none, one, two, or too many. */
static void change_count(struct image *im, u64 *rng)
{
	u32 nr = im->blocks[below(rng, im->nr_blocks)]->nr % 16320;

	for (u32 i = 0; i < im->nr_blocks; i++)
		if (im->blocks[i]->kind == PD_KIND_BITMAP) {
			u8 *at = im->blocks[i]->data + 16 + nr / 4;

			*at ^= 1u << below(rng, 2) << 2 * (nr % 4);
			if (!one_in(rng, 4))
				return;
		}
}

static void copy_block(struct image *im, u64 *rng)
{
	struct image_block *from = choose_block(im, rng), *to;

	to = one_in(rng, 2) ? choose_block(im, rng) :
			      image_add(im, below(rng, im->device_blocks + 1),
					from->kind);
	if (!to)
		return;
	memcpy(to->data, from->data, PD_BLOCK_SIZE);
	if (one_in(rng, 2))
		to->kind = from->kind;
}

static void renumber_block(struct image *im, u64 *rng)
{
	struct image_block *a = choose_block(im, rng), *b = choose_block(im, rng);
	u32 nr = a->nr;

	a->nr = b->nr;
	b->nr = nr;
}

/* Inserts or removes up to 32 bytes of a node, so that the entries behind move. */
static void shift_entries(struct image *im, u64 *rng)
{
	struct image_block *b = choose_block(im, rng);
	u32 at = (4 + below(rng, 500)) * 8, n = 8 * (1 + below(rng, 4));

	if (at + n >= PD_BLOCK_SIZE)
		return;
	if (one_in(rng, 2))
		memmove(b->data + at + n, b->data + at, PD_BLOCK_SIZE - at - n);
	else
		memmove(b->data + at, b->data + at + n, PD_BLOCK_SIZE - at - n);
}

/* Makes a node with more entries than fit, whose keys still are in order. */
static void overfill_node(struct image *im, u64 *rng)
{
	struct image_block *b = choose_block(im, rng);
	struct pd_node *n = (struct pd_node *)b->data;
	__le64 key = 0, *keys = (__le64 *)(b->data + sizeof(*n));
	__le32 nr = cpu_to_le32(250 + below(rng, 300));

	if (b->kind != PD_KIND_NODE)
		return;
	memcpy(b->data + offsetof(struct pd_node, nr_entries), &nr, sizeof(nr));
	for (u32 i = 0; i < (PD_BLOCK_SIZE - sizeof(*n)) / sizeof(key); i++) {
		key = cpu_to_le64(i);
		memcpy(keys + i, &key, sizeof(key));
	}
}

/* Makes an internal node whose only child is itself, or some other block. */
static void make_cycle(struct image *im, u64 *rng)
{
	struct image_block *b = choose_block(im, rng);
	struct pd_node *n = (struct pd_node *)b->data;
	u32 nr = one_in(rng, 2) ? b->nr :
				  im->blocks[below(rng, im->nr_blocks)]->nr;
	__le64 child = cpu_to_le64(nr);

	if (b->kind != PD_KIND_NODE)
		return;
	n->flags = cpu_to_le32(PD_NODE_INTERNAL);
	n->nr_entries = cpu_to_le32(1);
	n->max_entries = cpu_to_le32(NODE_MAX_CHILDREN);
	n->value_size = cpu_to_le32(sizeof(child));
	memcpy(b->data + sizeof(*n) + 8 * NODE_MAX_CHILDREN, &child,
	       sizeof(child));
}

static void noise(struct image *im, u64 *rng)
{
	struct image_block *b = choose_block(im, rng);
	u32 at = below(rng, PD_BLOCK_SIZE), n = 1 + below(rng, 64);

	for (; n-- && at < PD_BLOCK_SIZE; at++)
		b->data[at] = rnd(rng);
}

static void change_shape(struct image *im, u64 *rng)
{
	switch (below(rng, 4)) {
	case 0:
		overfill_node(im, rng);
		break;
	case 1:
		make_cycle(im, rng);
		break;
	default:
		noise(im, rng);
	}
}

/* Pieces of the record's text: whole lines, parts of lines, two lines of one key. */
static const char * const record_pieces[] = {
	"se 0123456789abcdef\n", "mo writeonly\n", "secu 64\n", "maprmb 7\n",
	"se ", "secu", " ", "\n", "\n\n", "\0", "18446744073709551615", "-1",
	"fa 0\nfa 1\n", "secu 64", "mithmithmithmith",
	"\n= mith1Z141Z3secuMH34faop0\n", "\n= 1faop0\n", "\n= secu1",
	"\n= secu1secu2faop0faop1seag0seag1dihi1dihi2main1main2\n",
	"\n= secu1!faop0\n", "\n= \n", "= ", "1Z141Z4", "faop", "A", "Z",
	"\n= secuZZZZZZZZZZZZZZZZZZZZ\n", "\n= abcdefghijklmnopqrst1faop0\n",
	"\nabcdefghijklmnopqrst 1\n",
};

static void change_record(struct image *im, u64 *rng)
{
	const char *piece = record_pieces[below(rng, ARRAY_SIZE(record_pieces))];
	struct image_block *b = choose_block(im, rng);
	struct cmd_superblock *sb = (struct cmd_superblock *)b->data;
	u32 len = max_t(u32, strlen(piece), 1);
	u32 at = below(rng, sizeof(sb->record.data) + 1 - len);

	if (b->kind != PD_KIND_SUPERBLOCK)
		return;
	if (one_in(rng, 2))
		at = min(le32_to_cpu(sb->record.length),
			 (u32)sizeof(sb->record.data) - len);
	memcpy(sb->record.data + at, piece, len);
	sb->record.magic = cpu_to_le32(CMD_RECORD_MAGIC);
	if (!one_in(rng, 8))
		sb->record.length = cpu_to_le32(at + len);
}

static void change_ops(struct image *im, u64 *rng)
{
	u32 at = below(rng, im->nr_ops + 1), n = 1 + below(rng, 8);

	if (one_in(rng, 3) && im->nr_ops + n <= IMAGE_MAX_OPS) {
		memmove(im->ops + at + n, im->ops + at, im->nr_ops - at);
		im->nr_ops += n;
	} else if (one_in(rng, 3)) {
		n = min(n, im->nr_ops - at);
		memmove(im->ops + at, im->ops + at + n, im->nr_ops - at - n);
		im->nr_ops -= n;
		return;
	}
	for (; n-- && at < im->nr_ops; at++)
		im->ops[at] = one_in(rng, 2) ? below(rng, 16) :
					       rnd(rng);
}

static void change_header(struct image *im, u64 *rng)
{
	switch (below(rng, 4)) {
	case 0:
		im->flags ^= 1u << below(rng, 7);
		break;
	case 1:
		im->origin_bits = below(rng, 49);
		break;
	case 2:
		im->nr_slots = value_for(im, im->nr_slots, rng) %
			       (one_in(rng, 20) ? IMAGE_MAX_SLOTS : 2000);
		break;
	case 3:
		im->device_blocks = value_for(im, im->device_blocks, rng) %
				    (one_in(rng, 20) ? IMAGE_MAX_DEVICE : 1000);
		break;
	}
}

static void mutate_once(struct image *im, u64 *rng)
{
	if (!im->nr_blocks) {
		change_ops(im, rng);
		return;
	}
	switch (below(rng, 32)) {
	case 0:
		copy_block(im, rng);
		break;
	case 1:
		renumber_block(im, rng);
		break;
	case 2:
		shift_entries(im, rng);
		break;
	case 3:
		change_shape(im, rng);
		break;
	case 4:
		if (im->nr_blocks > 1 && one_in(rng, 4))
			image_remove(im, below(rng, im->nr_blocks));
		break;
	case 5:
		choose_block(im, rng)->kind = below(rng, PD_NR_KINDS);
		break;
	case 6:
		if (one_in(rng, 8))
			choose_block(im, rng)->broken ^= true;
		else
			change_record(im, rng);
		break;
	case 7:
	case 8:
		change_header(im, rng);
		break;
	case 9:
	case 10:
		change_count(im, rng);
		break;
	case 11 ... 18:
		change_ops(im, rng);
		break;
	default:
		change_field(im, rng);
	}
}

void image_mutate(struct image *im, u64 *rng)
{
	do
		mutate_once(im, rng);
	while (one_in(rng, 2));
}

void image_cross(struct image *im, const struct image *from, u64 *rng)
{
	for (u32 i = 0; i < from->nr_blocks; i++) {
		const struct image_block *b = from->blocks[i];
		struct image_block *to;

		if (!one_in(rng, 4))
			continue;
		to = im->nr_blocks && one_in(rng, 2) ?
			im->blocks[below(rng, im->nr_blocks)] :
			image_add(im, b->nr, b->kind);
		if (!to)
			return;
		memcpy(to->data, b->data, PD_BLOCK_SIZE);
		to->kind = b->kind;
	}
	if (one_in(rng, 2)) {
		im->nr_ops = from->nr_ops;
		memcpy(im->ops, from->ops, from->nr_ops);
	}
}
