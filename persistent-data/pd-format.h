/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blocks of the metadata store as they are on the disk: btree nodes, array
 * blocks, and the space map.  All integers are little endian.
 *
 * The superblock belongs to the schema above; this layer knows only its
 * checksum and its block number. The layout is that of the kernel's
 * persistent-data, and so are the salts of the checksums.
 */

#ifndef HEARTH_PD_FORMAT_H
#define HEARTH_PD_FORMAT_H

#include "../os/os.h"

/* Kinds of blocks. A block does not say its kind; the pointer to it does. */
enum pd_kind {
	PD_KIND_RAW,		/* not checked, not sealed */
	PD_KIND_SUPERBLOCK,
	PD_KIND_NODE,
	PD_KIND_ARRAY,
	PD_KIND_INDEX,
	PD_KIND_BITMAP,
	PD_NR_KINDS
};

#define PD_SALT_SUPERBLOCK	9031977u
#define PD_SALT_NODE		121107u
#define PD_SALT_ARRAY		595846735u
#define PD_SALT_INDEX		160478u
#define PD_SALT_BITMAP		240779u

#define PD_NODE_INTERNAL	1u
#define PD_NODE_LEAF		2u

struct pd_node {
	__le32 csum;
	__le32 flags;
	__le64 blocknr;
	__le32 nr_entries;
	__le32 max_entries;
	__le32 value_size;
	__le32 padding;
	__le64 keys[];		/* max_entries keys, then as many values */
} __packed;

struct pd_array_block {
	__le32 csum;
	__le32 max_entries;
	__le32 nr_entries;
	__le32 value_size;
	__le64 blocknr;
	u8 values[];
} __packed;

#define PD_BITMAP_ENTRIES	16320u	/* counts in one bitmap block */
#define PD_BITMAP_BYTES		4080u
#define PD_MAX_BITMAPS		255u
#define PD_MAX_BLOCKS		(PD_BITMAP_ENTRIES * PD_MAX_BITMAPS)

struct pd_bitmap {
	__le32 csum;
	__le32 padding;
	__le64 blocknr;
	u8 counts[PD_BITMAP_BYTES];
} __packed;

struct pd_index_entry {
	__le64 blocknr;
	__le32 nr_free;
	__le32 none_free_before;
} __packed;

struct pd_index {
	__le32 csum;
	__le32 padding;
	__le64 blocknr;
	struct pd_index_entry entries[PD_MAX_BITMAPS];
} __packed;

/* The space map's root, inside the superblock. */
struct pd_sm_root {
	__le64 nr_blocks;
	__le64 nr_allocated;
	__le64 bitmap_root;
	__le64 ref_count_root;
} __packed;

#endif
