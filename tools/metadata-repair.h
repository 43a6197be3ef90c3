/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repair of metadata: what is certain of one device is written to another.
 * User space only.
 *
 * metadata-salvage.c reads, with a superblock; metadata-scan.c without one;
 * metadata-repair.c writes, through the schema, and reports.
 */

#ifndef HEARTH_METADATA_REPAIR_H
#define HEARTH_METADATA_REPAIR_H

#include "../metadata/cache-metadata.h"

/**
 * struct repair_options - how to repair
 * @block_size: sectors of a cache block, for metadata without a superblock;
 *	0: not known
 * @cache_blocks: likewise, how many there are
 * @say: told what is found, one line without a newline; may be NULL
 * @progress: told how far a long work is; may be NULL
 */
struct repair_options {
	u32 block_size;
	u32 cache_blocks;
	void (*say)(void *ctx, const char *msg);
	void (*progress)(void *ctx, const char *what, unsigned int percent);
	void *ctx;
};

/**
 * struct repair_result - what came of it
 * @mapped: cache blocks that are mapped in the output
 * @dirty: those of them that are dirty
 * @made_dirty: those that are dirty because nobody knows better
 * @lost: cache blocks whose mapping is not certain
 * @lost_dirty: those of them that were dirty, or that may have been
 * @why: a line that says why it failed, when it did
 */
struct repair_result {
	u32 mapped;
	u32 dirty;
	u32 made_dirty;
	u32 lost;
	u32 lost_dirty;
	char why[512];
};

/* What is known of a cache block. */
#define SALVAGE_CERTAIN		1u	/* mapped or not: that is certain */
#define SALVAGE_MAPPED		2u
#define SALVAGE_DIRTY		4u
#define SALVAGE_DIRTY_CERTAIN	8u

/**
 * struct salvage - what is certain of damaged metadata
 * @clean: CLEAN_SHUTDOWN was set; if not, hints and discards are void and all
 *	that is mapped is dirty
 * @state: SALVAGE_*, by cache block
 * @oblock: by cache block, where SALVAGE_MAPPED is set
 * @hint: by cache block; NULL if there are none
 * @discards: bits in words of 64; NULL if there are none
 * @damage: whether anything was found that could not be used
 */
struct salvage {
	unsigned int format;
	u32 block_size;
	u32 cache_blocks;
	bool clean;
	bool damage;
	char policy[CMD_POLICY_NAME_SIZE];
	u32 policy_version[3];
	struct cmd_stats stats;
	u8 record[CMD_RECORD_MAX];
	u32 record_length;
	u64 discard_sectors;
	u64 discard_bits;
	u8 *state;
	u64 *oblock;
	u32 *hint;
	u64 *discards;
	const struct repair_options *o;
	struct repair_result *result;
};

/* For readers and writer: tell one line; fail with one line; so far. */
void __printf(2, 3) salvage_say(struct salvage *s, const char *fmt, ...);
int __printf(3, 4) salvage_fail(struct salvage *s, int r, const char *fmt, ...);
void salvage_progress(struct salvage *s, const char *what, u64 done, u64 all);
/* Room for @cache_blocks, of which nothing is known.  0 or -ENOMEM. */
int salvage_room(struct salvage *s, u32 cache_blocks);

/**
 * salvage_read() - read what is certain from a device
 * @s: @o and @result are set, the rest is zero
 *
 * Return: 0, or an error, and @result->why says it.
 */
int salvage_read(struct salvage *s, struct pd_device *in);

/** salvage_scan() - the same for a device without a superblock */
int salvage_scan(struct salvage *s, struct pd_device *in);

/** salvage_free() - what the readers have allocated */
void salvage_free(struct salvage *s);

/**
 * metadata_repair() - write to @out what is certain of @in
 * @in: is only read
 * @out: storage whose content is given up.  Stays the caller's.
 *
 * Block 0 of @out is written twice: first of all with something that nothing
 * takes for metadata, and last of all, when the rest is durable and was
 * verified, with the superblock.
 *
 * Return: 0 when @out holds metadata again, or a negative error; then
 * @result->why says what happened.  -ENOSPC, and nothing was written, if @out
 * is too small.
 */
int metadata_repair(struct pd_device *in, const struct pd_backend *out,
		    const struct repair_options *o,
		    struct repair_result *result);

/** metadata_repair_files() - the same by paths, which must not be one device */
int metadata_repair_files(const char *in, const char *out,
			  const struct repair_options *o,
			  struct repair_result *result);

#endif
