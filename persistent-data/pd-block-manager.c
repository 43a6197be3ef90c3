// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks with a kind: checked when they come from the disk, sealed (checksum
 * and block number) when they go there.
 *
 * This file owns the checksums and the checks that need nothing but the block
 * itself. After these checks, code above may rely on counts and sizes in a header.
 * It must not know which blocks are in use or may be changed.
 */

#include "pd-block-manager.h"

struct kind {
	const char *name;
	u32 salt;
	unsigned int blocknr_at;
	const char *(*check)(const void *data);
};

static u32 le32_at(const void *data, unsigned int offset)
{
	__le32 v;

	memcpy(&v, (const u8 *)data + offset, sizeof(v));
	return le32_to_cpu(v);
}

static u64 le64_at(const void *data, unsigned int offset)
{
	__le64 v;

	memcpy(&v, (const u8 *)data + offset, sizeof(v));
	return le64_to_cpu(v);
}

/* A multiple of three, as in the kernel's persistent-data: a node is fed at a third. */
static u32 node_max_entries(u32 value_size)
{
	return 3 * ((PD_BLOCK_SIZE - sizeof(struct pd_node)) /
		    (sizeof(__le64) + value_size) / 3);
}

static const char *check_node(const void *data)
{
	const struct pd_node *n = data;
	u32 flags = le32_to_cpu(n->flags);
	u32 nr = le32_to_cpu(n->nr_entries);
	u32 value_size = le32_to_cpu(n->value_size);
	u32 i;

	if (flags != PD_NODE_INTERNAL && flags != PD_NODE_LEAF)
		return "is neither an internal node nor a leaf";
	if (value_size != 4 && value_size != 8 && value_size != 16)
		return "has a bad value size";
	if (flags == PD_NODE_INTERNAL && value_size != 8)
		return "is an internal node with a bad value size";
	if (le32_to_cpu(n->max_entries) != node_max_entries(value_size))
		return "has a bad maximum of entries";
	if (nr > le32_to_cpu(n->max_entries))
		return "has more entries than fit";
	if (!nr && flags == PD_NODE_INTERNAL)
		return "is an internal node without children";
	for (i = 1; i < nr; i++)
		if (le64_to_cpu(n->keys[i - 1]) >= le64_to_cpu(n->keys[i]))
			return "has keys out of order";
	return NULL;
}

static const char *check_array(const void *data)
{
	const struct pd_array_block *a = data;
	u32 value_size = le32_to_cpu(a->value_size);
	u32 max_entries = le32_to_cpu(a->max_entries);

	if (value_size != 4 && value_size != 8)
		return "has a bad value size";
	if (max_entries != (PD_BLOCK_SIZE - sizeof(*a)) / value_size)
		return "has a bad maximum of entries";
	if (le32_to_cpu(a->nr_entries) > max_entries)
		return "has more entries than fit";
	return NULL;
}

static const struct kind kinds[PD_NR_KINDS] = {
	[PD_KIND_SUPERBLOCK] = { "superblock", PD_SALT_SUPERBLOCK, 8 },
	[PD_KIND_NODE] = { "btree node", PD_SALT_NODE, 8, check_node },
	[PD_KIND_ARRAY] = { "array block", PD_SALT_ARRAY, 16, check_array },
	[PD_KIND_INDEX] = { "space map index", PD_SALT_INDEX, 8 },
	[PD_KIND_BITMAP] = { "space map bitmap", PD_SALT_BITMAP, 8 },
};

static u32 checksum(const void *data, const struct kind *k)
{
	return crc32c(~0u, (const u8 *)data + 4, PD_BLOCK_SIZE - 4) ^ k->salt;
}

void pd_block_seal(void *data, u64 block, unsigned int kind)
{
	const struct kind *k = kinds + kind;
	__le64 nr = cpu_to_le64(block);
	__le32 csum;

	if (kind == PD_KIND_RAW)
		return;
	memcpy((u8 *)data + k->blocknr_at, &nr, sizeof(nr));
	csum = cpu_to_le32(checksum(data, k));
	memcpy(data, &csum, sizeof(csum));
}

const char *pd_block_fault(const void *data, u64 nr, enum pd_kind kind)
{
	const struct kind *k = kinds + kind;

	if (le32_at(data, 0) != checksum(data, k))
		return "has a bad checksum";
	if (le64_at(data, k->blocknr_at) != nr)
		return "belongs to another place";
	return k->check ? k->check(data) : NULL;
}

/*
 * Check a buffer the first time that it is held with a kind. The buffer keeps
 * the kind until it is read from the disk again, so once is enough.
 */
static int check_kind(struct pd_block *b, enum pd_kind kind)
{
	const char *fault;
	unsigned int have = pd_buffer_kind(b->buf);

	if (kind == PD_KIND_RAW || have == kind)
		return 0;

	fault = have == PD_KIND_RAW ? pd_block_fault(b->data, b->nr, kind) :
				      "is in use as something else";
	if (fault) {
		os_err("block %llu, which should be a %s, %s",
		       (unsigned long long)b->nr, kinds[kind].name, fault);
		return -EILSEQ;
	}
	pd_buffer_set_kind(b->buf, kind);
	return 0;
}

/*
 * Refuse a block that another holder is changing, because code that changes two
 * blocks relies on their being two. In a damaged tree a pointer to a free block leads
 * to whatever is put there next, for instance to its own parent.
 */
static int begin_change(struct pd_block *b)
{
	b->write = pd_buffer_begin_change(b->buf);
	if (b->write)
		return 0;
	os_err("block %llu is in two places at once", (unsigned long long)b->nr);
	pd_block_put(b);
	return -EILSEQ;
}

int pd_block_read(struct pd_device *dev, u64 nr, enum pd_kind kind,
		  struct pd_block *b)
{
	int r;

	b->nr = nr;
	b->write = false;
	b->buf = NULL;
	r = pd_device_read(dev, nr, &b->buf, &b->data);
	if (r) {
		b->buf = NULL;
		return r;
	}

	r = check_kind(b, kind);
	if (r)
		pd_block_put(b);
	return r;
}

int pd_block_write(struct pd_device *dev, u64 nr, enum pd_kind kind,
		   struct pd_block *b)
{
	int r;

	if (pd_device_read_only(dev)) {
		b->buf = NULL;
		return -EROFS;
	}
	r = pd_block_read(dev, nr, kind, b);
	return r ? r : begin_change(b);
}

int pd_block_new(struct pd_device *dev, u64 nr, enum pd_kind kind,
		 struct pd_block *b)
{
	int r;

	b->nr = nr;
	b->buf = NULL;
	r = pd_device_new(dev, nr, &b->buf, &b->data);
	if (r) {
		b->buf = NULL;
		return r;
	}
	r = begin_change(b);
	if (r)
		return r;
	memset(b->data, 0, PD_BLOCK_SIZE);
	pd_buffer_set_kind(b->buf, kind);
	return 0;
}

void pd_block_put(struct pd_block *b)
{
	if (!b->buf)
		return;
	if (b->write) {
		pd_buffer_mark_dirty(b->buf, pd_block_seal);
		pd_buffer_end_change(b->buf);
	}
	pd_buffer_release(b->buf);
	b->buf = NULL;
}
