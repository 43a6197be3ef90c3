/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repair of metadata: it reads everything that is certain from one device, and writes it
 * to another.  User space only.
 *
 * metadata-salvage.c reads, with a superblock; metadata-scan.c without one;
 * metadata-repair.c writes, through the schema. All three report by
 * metadata-report.c.
 */

#ifndef HEARTH_METADATA_REPAIR_H
#define HEARTH_METADATA_REPAIR_H

#include "../metadata/cache-metadata.h"

/**
 * struct repair_options - input of a repair beside the two devices
 * @block_size: sectors of a cache block, for metadata without a superblock;
 *	0: not known
 * @cache_blocks: number of cache blocks, for such metadata; 0: not known
 * @write_log: whether a write log is in use, for such metadata
 * @say: called with each line of the report, without a newline; may be NULL
 * @progress: called during a long work with its name and the percentage that is
 *	done; may be NULL
 * @ctx: first argument of both
 */
struct repair_options {
	u32 block_size;
	u32 cache_blocks;
	bool write_log;
	void (*say)(void *ctx, const char *msg);
	void (*progress)(void *ctx, const char *what, unsigned int percent);
	void *ctx;
};

/**
 * struct repair_result - numbers of cache blocks after a repair
 * @mapped: cache blocks that are mapped in the output
 * @dirty: those of them that are dirty
 * @made_dirty: those that are dirty because their dirty bit is not certain
 * @lost: cache blocks whose mapping is not certain
 * @lost_dirty: those of them that were dirty, or that may have been
 * @why: one line that says why the repair failed, if it did
 */
struct repair_result {
	u32 mapped;
	u32 dirty;
	u32 made_dirty;
	u32 lost;
	u32 lost_dirty;
	char why[512];
};

/* Bits: what is known about a cache block. */
#define SALVAGE_CERTAIN		1u	/* it is certain whether it is mapped, and where */
#define SALVAGE_MAPPED		2u
#define SALVAGE_DIRTY		4u
#define SALVAGE_DIRTY_CERTAIN	8u

/**
 * struct salvage - what is certain of damaged metadata
 * @format: version of the metadata: 1 or 2
 * @block_size: sectors of a cache block
 * @cache_blocks: number of cache blocks
 * @clean: CLEAN_SHUTDOWN was set; if not, hints and discards are void and every
 *	mapped block is dirty
 * @damage: whether anything was found that could not be used
 * @write_log: a write log is in use; its data are on the cache device
 * @policy: name of the policy that wrote the hints; empty if it is not known
 * @policy_version: its version
 * @stats: the counters of hits and misses
 * @record: the record of the superblock, see metadata/cache-record.h
 * @record_length: bytes of @record; 0: there is none
 * @discard_sectors: sectors that a bit of @discards stands for
 * @discard_bits: number of the bits; 0: there are none
 * @state: by cache block, bits SALVAGE_*
 * @oblock: by cache block, its origin block; valid if SALVAGE_MAPPED is set
 * @hint: by cache block; NULL if there are none
 * @discards: bits in words of 64; NULL if there are none
 * @o: the options of the repair
 * @result: the result of the repair, in which the readers count
 */
struct salvage {
	unsigned int format;
	u32 block_size;
	u32 cache_blocks;
	bool clean;
	bool damage;
	bool write_log;
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

/**
 * salvage_say() - pass a line of the report to the option @say
 * @s: the salvage
 * @fmt: the line, without a newline, as of printf()
 */
void __printf(2, 3) salvage_say(struct salvage *s, const char *fmt, ...);

/**
 * salvage_fail() - store why the repair fails in the result
 * @s: the salvage
 * @r: the error
 * @fmt: the line that says why, without a newline, as of printf()
 *
 * Return: @r.
 */
int __printf(3, 4) salvage_fail(struct salvage *s, int r, const char *fmt, ...);

/**
 * salvage_progress() - pass how much is done to the option @progress, as a percentage
 * @s: the salvage
 * @what: the name of the work
 * @done: how much is done
 * @all: how much there is, in the same unit; not 0
 */
void salvage_progress(struct salvage *s, const char *what, u64 done, u64 all);

/**
 * salvage_room() - allocate @state and @oblock, in which nothing is known of any block
 * @s: the salvage
 * @cache_blocks: number of cache blocks
 *
 * Return: 0; or -ENOMEM, and the result says why.
 */
int salvage_room(struct salvage *s, u32 cache_blocks);

/**
 * salvage_read() - read everything that is certain from a device
 * @s: @o and @result are set, the rest is zero; the caller calls salvage_free()
 * @in: the device; is only read
 *
 * Return: 0, or a negative error, and @result->why says why.
 */
int salvage_read(struct salvage *s, struct pd_device *in);

/**
 * salvage_scan() - salvage_read() for a device without a superblock
 * @s: as of salvage_read()
 * @in: the device; is only read
 *
 * It looks at every block, and takes what all complete mappings agree on.
 *
 * Return: as salvage_read(). -EILSEQ if any block is damaged, or no complete mapping is found;
 * -EINVAL if the device is too small for the number of cache blocks in the options.
 */
int salvage_scan(struct salvage *s, struct pd_device *in);

/**
 * salvage_free() - free the arrays that the readers have allocated
 * @s: the salvage
 */
void salvage_free(struct salvage *s);

/**
 * metadata_repair() - write to @out everything that is certain of @in
 * @in: the damaged metadata; is only read
 * @out: storage whose content is given up; the caller closes it
 * @o: the options
 * @result: receives the numbers, and the line that says why it failed
 *
 * Block 0 of @out is written twice: first of all with a text that no program takes
 * for metadata, and last of all, when the rest is durable and was verified, with
 * the superblock.
 *
 * Return: 0 when @out holds metadata again, or a negative error; then
 * @result->why says what happened.  -ENOSPC, and nothing was written, if @out
 * is too small.
 */
int metadata_repair(struct pd_device *in, const struct pd_backend *out,
		    const struct repair_options *o,
		    struct repair_result *result);

/**
 * metadata_repair_files() - metadata_repair() by paths, which must not lead to one device
 * @in: the path of the damaged metadata
 * @out: the path of the device or file that is written
 * @o: the options
 * @result: as of metadata_repair()
 *
 * Return: as metadata_repair(); also -EBUSY if a device is in use, -EINVAL if a path
 * leads to neither a device nor a file, or both to one, and errors of open().
 */
int metadata_repair_files(const char *in, const char *out,
			  const struct repair_options *o,
			  struct repair_result *result);

#endif
