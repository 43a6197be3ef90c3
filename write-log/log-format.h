/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log as it is on the cache device: the header, the blocks of the
 * ring and the records in them. All integers are little endian.
 *
 * It owns the layout and nothing else. docs/write-log.md says what the records
 * mean and which rules they obey.
 *
 * The header takes the last 4 KiB of the last slot, a copy of it the 4 KiB
 * before. The ring lies in front of them, from the first sector of a slot on.
 * Block n of the ring (its sequence number) is at place n modulo the number of
 * places.
 */
#ifndef HEARTH_LOG_FORMAT_H
#define HEARTH_LOG_FORMAT_H

#include "../os/os.h"

#define LOG_MAGIC		0x676f6c6874726568ULL	/* "herthlog" */
#define LOG_VERSION		1u

#define LOG_BLOCK_BYTES		4096u	/* of the ring, and of the header */
#define LOG_BLOCK_SECTORS	8u
#define LOG_HEADER_BYTES	512u	/* in use; one sector, so never torn */
/*
 * Blocks. In a ring of six or fewer no block with records would fit behind a round while
 * a quarter of the ring's records are live, as many as may be (W7).
 */
#define LOG_MIN_RING		8u
/*
 * Blocks: 64 MiB. The 932,000 extents that 64 MiB of index hold need 14,796 blocks,
 * because a quarter of the records may be live. Recovery reads all of the ring, so a
 * larger one would make it slower.
 */
#define LOG_MAX_RING		16384u
#define LOG_MAX_SEQ		(1ULL << 62)	/* no ring gets there */

/* Sectors in a block of the cache: what the u16 of a record can say. */
#define LOG_MAX_BLOCK		65536u

struct log_disk_header {
	__le32 csum;		/* crc32c of the other bytes of the 512 */
	__le32 version;
	__le64 magic;
	__le64 id;		/* random; every block of the ring has it */
	__le32 block_sectors;	/* of the cache */
	__le32 nr_slots;
	__le32 ring_slot;	/* the slot in which the ring begins */
	__le32 ring_blocks;
	__le32 record_bytes;
	u8 unused[468];
} __packed;

static_assert(sizeof(struct log_disk_header) == LOG_HEADER_BYTES);

/*
 * VALID	these sectors of the origin are at this place of the log
 * GONE		this place left the log; it counts for those of its sectors whose
 *		last record names this very place
 * FREE		nothing of this segment is in the log; the other fields are 0
 */
enum log_kind {
	LOG_VALID = 1,
	LOG_GONE,
	LOG_FREE,
	LOG_NR_KINDS
};

/* As many bits as SLOT_MAX_NR has. */
#define LOG_SLOT_BITS		27
#define LOG_SLOT_MASK		((1u << LOG_SLOT_BITS) - 1)
/* Enough for the sectors of 128 PiB. The 16 bits that are left are spare. */
#define LOG_ORIGIN_BITS		48
#define LOG_ORIGIN_MASK		((1ULL << LOG_ORIGIN_BITS) - 1)

struct log_disk_record {
	__le32 place;		/* slot, and the kind above LOG_SLOT_BITS */
	__le16 at;		/* first sector in the slot */
	__le16 last;		/* sectors - 1 */
	__le64 origin;		/* first sector on the origin; 16 spare bits, 0 */
} __packed;

#define LOG_RECORD_BYTES	16u

static_assert(sizeof(struct log_disk_record) == LOG_RECORD_BYTES);

/* Written with FUA, and after all data that it names were durable. */
#define LOG_BLOCK_SYNC		1u

/* As many as a block has room for behind its first 64 bytes. */
#define LOG_RECORDS		252u

struct log_disk_block {
	__le32 csum;		/* crc32c of the bytes 4 to 4095 */
	__le32 flags;		/* LOG_BLOCK_SYNC */
	__le64 id;
	__le64 seq;
	__le64 tail;		/* the blocks below are obsolete */
	__le16 nr;		/* records */
	__le16 record_bytes;
	u8 unused[28];
	struct log_disk_record records[LOG_RECORDS];
} __packed;

static_assert(offsetof(struct log_disk_block, records) == 64);
static_assert(sizeof(struct log_disk_block) == LOG_BLOCK_BYTES);

/**
 * log_block_csum() - the checksum that a block of the ring has to have
 * @b: the block; its checksum is not read
 *
 * Context: any.
 */
static inline u32 log_block_csum(const struct log_disk_block *b)
{
	return crc32c(~0u, &b->flags, LOG_BLOCK_BYTES - sizeof(b->csum));
}

/**
 * log_header_csum() - the checksum that a header has to have
 * @h: the header; its checksum is not read
 *
 * Context: any.
 */
static inline u32 log_header_csum(const struct log_disk_header *h)
{
	return crc32c(~0u, &h->version, LOG_HEADER_BYTES - sizeof(h->csum));
}

#endif
