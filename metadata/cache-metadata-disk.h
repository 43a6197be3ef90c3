/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache's superblock and array entries as they are on the disk, which is
 * the format of the kernel's own target. For cache-metadata.c and for the tools
 * that look below it. This file must not know what a value is used for.
 */

#ifndef HEARTH_CACHE_METADATA_DISK_H
#define HEARTH_CACHE_METADATA_DISK_H

#include "../persistent-data/pd-format.h"

#define CMD_SB_MAGIC		0x18C403ULL
#define CMD_SB_CLEAN_SHUTDOWN	1u
#define CMD_SB_NEEDS_CHECK	2u

/* The only one of incompat_flags: a write log is in use (docs/write-log.md). */
#define CMD_INCOMPAT_LOG	1u

#define CMD_MAPPING_VALID	1u
#define CMD_MAPPING_DIRTY	2u	/* format 1 only */
#define CMD_MAPPING_FLAGS	0xffffu	/* all of them, known or not */
#define CMD_MAPPING_SHIFT	16	/* to the block of the origin */

#define CMD_HINT_SIZE		4u

#define CMD_RECORD_MAGIC	0x68747268u	/* "hrth" */

/*
 * The extension record: settings of our own, in bytes that the kernel's target
 * does not use. @bound is a checksum of the superblock's bytes 4..291 as they
 * were committed with the record, so that a session of another implementation
 * voids the record. @csum is a checksum of the record's other bytes.
 */
struct cmd_disk_record {
	__le32 magic;
	__le32 length;
	__le32 bound;
	__le32 csum;
	u8 data[204];
} __packed;

struct cmd_superblock {
	__le32 csum;
	__le32 flags;
	__le64 blocknr;
	u8 uuid[16];
	__le64 magic;
	__le32 version;
	char policy_name[16];
	__le32 policy_hint_size;
	struct pd_sm_root sm_root;
	u8 sm_root_spare[96];
	__le64 mapping_root;
	__le64 hint_root;
	__le64 discard_root;
	__le64 discard_block_size;
	__le64 discard_nr_blocks;
	__le32 data_block_size;
	__le32 metadata_block_size;
	__le32 cache_blocks;
	__le32 compat_flags;
	__le32 compat_ro_flags;
	__le32 incompat_flags;
	__le32 read_hits;
	__le32 read_misses;
	__le32 write_hits;
	__le32 write_misses;
	__le32 policy_version[3];
	__le64 dirty_root;
	struct cmd_disk_record record;
	u8 unused[3584];
} __packed;

#endif
