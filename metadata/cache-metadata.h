/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache's metadata schema: what is stored in the superblock and in the
 * arrays that hang off it (mapping, dirty bits, hints, discard bits), on top
 * of the transactional store in persistent-data/.
 *
 * This layer owns the meaning of the on-disk bytes. It must not know about
 * bios, slots, policies' internals or the device-mapper: the same source is
 * compiled into dm-cache.ko and into user-space tests and tools.
 *
 * Context, for every function unless it says otherwise: process context, may
 * sleep and do I/O; the caller serialises all calls on one struct cmd (one
 * mutex).  Callers on an I/O path bracket calls with memalloc_noio_save().
 *
 * Errors, for every function unless it says otherwise:
 *   -EILSEQ  what is on the disk is damaged (checksum, block number, structure)
 *   -EINVAL  an argument is out of range, or the geometry does not match
 *   -ENOSPC  the metadata device is full
 *   -EIO     the device failed, or an earlier failure has not been undone yet
 *   -EROFS   the device was opened for reading only
 *   -ENOMEM
 *
 * A function that changes things and fails may have changed part of them, in
 * memory: after any error other than -EINVAL and -ENODATA the only calls that
 * still work are cmd_abort(), cmd_set_needs_check(), cmd_zero_superblock(),
 * the getters and cmd_close(); the others return -EIO until cmd_abort()
 * succeeds.  Nothing reaches the superblock except through cmd_commit(),
 * cmd_set_needs_check() and cmd_zero_superblock().
 */

#ifndef HEARTH_CACHE_METADATA_H
#define HEARTH_CACHE_METADATA_H

#include "../os/os.h"
#include "../persistent-data/pd-device.h"

#define CMD_BLOCK_SECTORS	8	/* a metadata block, in 512-byte sectors */
#define CMD_MAX_METADATA_BLOCKS	4161600	/* what one space map can cover */
#define CMD_POLICY_NAME_SIZE	16	/* including the NUL */
#define CMD_RECORD_MAX		204	/* bytes in the extension record */
#define CMD_MAX_OBLOCK		((1ULL << 48) - 1)

/* The open metadata of a cache.  The kernel's own target calls it cmd, too. */
struct cmd;

/**
 * struct cmd_geometry - what the table says about the cache
 * @data_block_size: sectors per cache block; 0: whatever the metadata says
 * @format: metadata format for a device that has to be formatted, 1 or 2;
 *	ignored for one that is formatted already
 * @may_format: format a device whose first 4096 bytes are all zero
 * @cache_blocks: number of cache blocks, for a device that has to be formatted.
 *	cache_check 0.9.0 refuses metadata of none at all, which a power cut between
 *	formatting and cmd_resize() would leave.
 */
struct cmd_geometry {
	u32 data_block_size;
	unsigned int format;
	bool may_format;
	u32 cache_blocks;
};

/**
 * struct cmd_stats - the counters that the superblock keeps (they wrap)
 * @read_hits: requests to read a cached block
 * @read_misses: requests to read a block that is not cached
 * @write_hits: requests to write a cached block
 * @write_misses: requests to write a block that is not cached
 */
struct cmd_stats {
	u32 read_hits;
	u32 read_misses;
	u32 write_hits;
	u32 write_misses;
};

/* ---- Opening and closing ---- */

/**
 * cmd_open() - open the metadata on a device
 * @dev: the device; stays the caller's, who closes it after cmd_close()
 * @g: the geometry to check, or to format with
 * @out: receives the handle
 * @why: receives a static string that says precisely what is wrong, on error.
 *	Never NULL after an error.
 *
 * Formats (one commit) if and only if the first 4096 bytes are all zero and
 * @g->may_format is set; otherwise changes nothing on the device: in
 * particular CLEAN_SHUTDOWN stays as it was found.
 *
 * Return: 0; -ENODATA when the device is unformatted and may not be formatted;
 * -EINVAL for a geometry that does not match; or see the top of this file.
 */
int cmd_open(struct pd_device *dev, const struct cmd_geometry *g,
	     struct cmd **out, const char **why);

/**
 * cmd_close() - forget everything since the last commit and free the handle
 * @cmd: the metadata
 */
void cmd_close(struct cmd *cmd);

/**
 * cmd_abort() - go back to what is on the disk
 * @cmd: the metadata
 *
 * Drops everything since the last commit and reads the superblock again. After
 * a cmd_commit() that failed, the disk may hold the state before it or the one
 * that it tried to write: reload all that depends on it.
 *
 * Return: 0, or an error; then the handle stays unusable and the call can be
 * made again.
 */
int cmd_abort(struct cmd *cmd);

/* ---- The state that was found. These never fail and do no I/O. ---- */

/**
 * cmd_format() - the format in use
 * @cmd: the metadata
 *
 * Return: 1 or 2.
 */
unsigned int cmd_format(const struct cmd *cmd);

/**
 * cmd_formatted() - whether this cmd_open() formatted the device
 * @cmd: the metadata
 */
bool cmd_formatted(const struct cmd *cmd);

/**
 * cmd_opened_clean() - whether CLEAN_SHUTDOWN was set at open (or abort) time
 * @cmd: the metadata
 *
 * When it was not: treat every mapping as dirty; discards and hints are void
 * (cmd_load() reports no hints).
 */
bool cmd_opened_clean(const struct cmd *cmd);

/**
 * cmd_needs_check() - whether NEEDS_CHECK is set
 * @cmd: the metadata
 *
 * Context: any.
 */
bool cmd_needs_check(const struct cmd *cmd);

/**
 * cmd_cache_blocks() - length of the mapping, in cache blocks
 * @cmd: the metadata
 */
u32 cmd_cache_blocks(const struct cmd *cmd);

/**
 * cmd_data_block_size() - sectors per cache block
 * @cmd: the metadata
 */
u32 cmd_data_block_size(const struct cmd *cmd);

/**
 * cmd_discard_geometry() - size of the discard bitset
 * @cmd: the metadata
 * @block_sectors: receives the sectors per bit
 * @nr_blocks: receives the number of bits
 */
void cmd_discard_geometry(const struct cmd *cmd, u64 *block_sectors,
			  u64 *nr_blocks);

/**
 * cmd_policy_name() - the policy whose hints are stored
 * @cmd: the metadata
 *
 * Return: its name, "" if there is none.
 */
const char *cmd_policy_name(const struct cmd *cmd);

/**
 * cmd_policy_version() - the version of the policy whose hints are stored
 * @cmd: the metadata
 * @version: receives major, minor and patch
 */
void cmd_policy_version(const struct cmd *cmd, u32 version[3]);

/**
 * cmd_get_stats() - the counters as last set or found
 * @cmd: the metadata
 * @stats: receives the counters
 */
void cmd_get_stats(const struct cmd *cmd, struct cmd_stats *stats);

/**
 * cmd_usage() - metadata blocks in use and covered.  Any context, no lock.
 * @cmd: the metadata
 * @used: receives the blocks in use
 * @total: receives the blocks that the space map covers
 */
void cmd_usage(const struct cmd *cmd, u64 *used, u64 *total);

/**
 * cmd_changed() - whether a cmd_commit() with @clean would write anything
 * @cmd: the metadata
 * @clean: value of CLEAN_SHUTDOWN
 */
bool cmd_changed(const struct cmd *cmd, bool clean);

/* ---- The mapping ---- */

/**
 * typedef cmd_load_fn - told about one mapped cache block
 * @ctx: the caller's
 * @cblock: the cache block
 * @oblock: the block of the origin that it holds
 * @dirty: the dirty bit as stored, whatever cmd_opened_clean() says; the
 *	callee decides what an unclean shutdown means
 * @hint: the policy's hint, 0 unless @hint_valid
 * @hint_valid: whether there are hints
 *
 * Return: 0 to go on, anything else to stop; cmd_load() then returns it.
 */
typedef int (*cmd_load_fn)(void *ctx, u32 cblock, u64 oblock, bool dirty,
			   u32 hint, bool hint_valid);

/**
 * cmd_load() - stream all mapped cache blocks, in ascending order of cblock
 * @cmd: the metadata
 * @policy_name: policy that would use the hints; NULL: do not read hints
 * @policy_version: its version; only the major number has to match
 * @fn: called for each mapped cache block
 * @ctx: for @fn
 *
 * Reads each array once.  Hints are reported only when CLEAN_SHUTDOWN was set
 * at open time and name, major version and hint size match.  A dirty bit of an
 * unmapped block is masked.  Two cache blocks that map the same oblock are not
 * detected here: the callee's index has to, and should return -EILSEQ.  An
 * oblock beyond the origin is the callee's business, too.
 *
 * Return: 0, the callee's nonzero value (which does not spoil the handle), or
 * an error.  -EILSEQ also for unknown flags, or an unmapped entry that is not
 * zero.
 */
int cmd_load(struct cmd *cmd, const char *policy_name,
	     const u32 policy_version[3], cmd_load_fn fn, void *ctx);

/**
 * cmd_resize() - change the number of cache blocks
 * @cmd: the metadata
 * @new_cache_blocks: the new number
 *
 * Resizes mapping, dirty bits and hints together. New entries are unmapped and
 * clean. When shrinking, the caller has made sure that no block past the new
 * end is needed. (Do not leave a cache at 0, because cache_check 0.9 refuses
 * metadata without cache blocks, and lvm2 then refuses the volume.)
 */
int cmd_resize(struct cmd *cmd, u32 new_cache_blocks);

/**
 * cmd_unmap_all() - forget every mapping, dirty bit and hint, cheaply
 * @cmd: the metadata
 *
 * Frees the arrays without reading them and leaves one unmapped cache block:
 * cmd_cache_blocks() is 1 afterwards.  A handful of writes to commit, however
 * large the cache was.  cmd_resize() makes room again.
 */
int cmd_unmap_all(struct cmd *cmd);

/**
 * cmd_insert() - map @cblock to @oblock, dirty or clean
 * @cmd: the metadata
 * @cblock: the cache block
 * @oblock: the block of the origin
 * @dirty: its dirty bit
 *
 * Overwrites what @cblock mapped before.
 */
int cmd_insert(struct cmd *cmd, u32 cblock, u64 oblock, bool dirty);

/**
 * struct cmd_mapping - a mapping to insert
 * @oblock: the block of the origin
 * @cblock: the cache block
 * @dirty: its dirty bit
 */
struct cmd_mapping {
	u64 oblock;
	u32 cblock;
	bool dirty;
};

/**
 * cmd_insert_many() - the same as cmd_insert() for each mapping, in this order
 * @cmd: the metadata
 * @mappings: the mappings
 * @nr: how many
 *
 * Cheaper than one by one if neighbours in @mappings have neighbouring cache blocks. After
 * an error some of them may have been inserted. Nothing was, if the error is -EINVAL.
 */
int cmd_insert_many(struct cmd *cmd, const struct cmd_mapping *mappings, u32 nr);

/**
 * cmd_remove() - unmap @cblock and clear its dirty bit
 * @cmd: the metadata
 * @cblock: the cache block
 *
 * Does nothing if it is not mapped.
 */
int cmd_remove(struct cmd *cmd, u32 cblock);

/**
 * cmd_set_dirty() - set or clear the dirty bit of a mapped cache block
 * @cmd: the metadata
 * @cblock: the cache block
 * @dirty: the new dirty bit
 *
 * Changes (and copies) nothing if the bit has that value already.
 *
 * Return: -ENODATA if @cblock is not mapped.
 */
int cmd_set_dirty(struct cmd *cmd, u32 cblock, bool dirty);

/**
 * cmd_set_dirty_many() - set the dirty bits of several mapped cache blocks
 * @cmd: the metadata
 * @first: a multiple of 64, below the number of cache blocks
 * @mask: bit i stands for block @first + i; the caller knows them to be mapped
 */
int cmd_set_dirty_many(struct cmd *cmd, u32 first, u64 mask);

/**
 * cmd_set_all_dirty() - set the dirty bit of every mapped cache block
 * @cmd: the metadata
 *
 * For metadata that was left unclean.
 */
int cmd_set_all_dirty(struct cmd *cmd);

/* ---- Hints ---- */

/**
 * cmd_write_hints() - store one hint per cache block
 * @cmd: the metadata
 * @policy_name: the policy, less than CMD_POLICY_NAME_SIZE bytes
 * @version: the policy's: major, minor, patch
 * @hint: called once per cache block, ascending; returns its hint
 * @ctx: for @hint
 *
 * Rewrites the whole array, freeing the old one.
 */
int cmd_write_hints(struct cmd *cmd, const char *policy_name,
		    const u32 version[3],
		    u32 (*hint)(void *ctx, u32 cblock), void *ctx);

/* ---- Discards ---- */

/**
 * cmd_set_discard_geometry() - resize the discard bitset and clear all of it
 * @cmd: the metadata
 * @block_sectors: sectors per bit
 * @nr_blocks: number of bits
 *
 * Writes nothing if the geometry is the same and no bit is set.
 */
int cmd_set_discard_geometry(struct cmd *cmd, u64 block_sectors,
			     u64 nr_blocks);

/* ---- Superblock: counters and extension record ---- */

/**
 * cmd_set_stats() - set the counters for the next commit
 * @cmd: the metadata
 * @stats: the counters
 */
void cmd_set_stats(struct cmd *cmd, const struct cmd_stats *stats);

/**
 * cmd_record_get() - read the extension record
 * @cmd: the metadata
 * @buf: receives at most @len bytes
 * @len: bytes of @buf
 *
 * The record lives in bytes 292..511 of the superblock and is bound to bytes
 * 4..291: a session of another implementation that changes those voids it.
 *
 * Return: the record's length in bytes (which may be above @len), or -ENODATA
 * if there is none or it is void.
 */
int cmd_record_get(const struct cmd *cmd, void *buf, unsigned int len);

/**
 * cmd_record_set() - set the extension record for the next commit
 * @cmd: the metadata
 * @buf: the record
 * @len: at most CMD_RECORD_MAX; 0 removes the record
 */
int cmd_record_set(struct cmd *cmd, const void *buf, unsigned int len);

/* ---- Superblock: the write log's flag ---- */

/**
 * cmd_log_flag() - whether the flag is set that says a write log is in use
 * @cmd: the metadata
 */
bool cmd_log_flag(const struct cmd *cmd);

/**
 * cmd_set_log_flag() - set or clear that flag for the next commit
 * @cmd: the metadata
 * @in_use: its new value
 *
 * Other implementations refuse metadata with the flag. After a commit that
 * failed the disk has the old value or the new one.
 *
 * Return: -EBUSY for setting it while NEEDS_CHECK is set.
 */
int cmd_set_log_flag(struct cmd *cmd, bool in_use);

/* ---- Commit ---- */

/**
 * cmd_commit() - make everything since the last commit durable
 * @cmd: the metadata
 * @clean_shutdown: value of CLEAN_SHUTDOWN from here on
 *
 * Metadata blocks, device flush, superblock, device flush.  Does nothing, not
 * even a flush, if the superblock would not change (see cmd_changed()).
 *
 * Return: 0 when it is durable.  After an error the device holds the state
 * before or the state after; see cmd_abort().
 */
int cmd_commit(struct cmd *cmd, bool clean_shutdown);

/**
 * cmd_set_needs_check() - set NEEDS_CHECK on the disk, now
 * @cmd: the metadata
 *
 * Rewrites the last committed superblock with the bit set, and nothing else:
 * works (best effort) after failures, and does not commit pending changes.
 *
 * Return: -EBUSY, and nothing is written, while cmd_log_flag() is set, or was
 * in the last commit.
 */
int cmd_set_needs_check(struct cmd *cmd);

/**
 * cmd_zero_superblock() - make the device unformatted for everyone
 * @cmd: the metadata
 *
 * Zeroes block 0 and flushes.  The handle is of no further use except for
 * cmd_close().
 */
int cmd_zero_superblock(struct cmd *cmd);

/**
 * cmd_reread_matches() - whether the superblock on the device is, byte for
 * byte, what was last committed (or found at open time)
 * @cmd: the metadata
 *
 * Return: 1 or 0, or an error.  Does not spoil the handle.
 */
int cmd_reread_matches(struct cmd *cmd);

/**
 * cmd_extend() - let the space map cover a metadata device that has grown
 * @cmd: the metadata
 * @new_nr_blocks: in metadata blocks; capped at CMD_MAX_METADATA_BLOCKS.  At
 *	or below the present size: nothing happens.
 *
 * Takes effect on disk with the next commit.
 */
int cmd_extend(struct cmd *cmd, u64 new_nr_blocks);

/* ---- For tools and tests: the module has none of these ---- */

#ifndef __KERNEL__
/**
 * cmd_committed_clean() - whether the last commit set CLEAN_SHUTDOWN
 * @cmd: the metadata
 */
bool cmd_committed_clean(const struct cmd *cmd);

/**
 * cmd_read_only() - whether the device was opened for reading only
 * @cmd: the metadata
 */
bool cmd_read_only(const struct cmd *cmd);

/**
 * cmd_drop_hints() - free the hint array and forget the policy's name
 * @cmd: the metadata
 */
int cmd_drop_hints(struct cmd *cmd);

/**
 * cmd_discard_set() - set or clear one discard bit
 * @cmd: the metadata
 * @dblock: the bit's number
 * @discarded: its new value
 */
int cmd_discard_set(struct cmd *cmd, u64 dblock, bool discarded);

/**
 * cmd_write_discards() - rewrite all discard bits
 * @cmd: the metadata
 * @fn: called once per bit, ascending; returns the bit
 * @ctx: for @fn
 */
int cmd_write_discards(struct cmd *cmd, bool (*fn)(void *ctx, u64 dblock),
		       void *ctx);

/**
 * cmd_discards_load() - call @fn for every set bit, ascending
 * @cmd: the metadata
 * @fn: called with the number of each set bit
 * @ctx: for @fn
 *
 * Calls it for none when CLEAN_SHUTDOWN was not set at open time.  A nonzero
 * return of @fn stops and is returned.
 */
int cmd_discards_load(struct cmd *cmd, int (*fn)(void *ctx, u64 dblock),
		      void *ctx);

struct cmd_superblock;
struct pd_tm;

/**
 * cmd_committed_superblock() - the superblock that was last committed, or found
 * @cmd: the metadata
 *
 * For tools and tests that look below the schema.
 *
 * Return: the superblock; it changes with the next commit.
 */
const struct cmd_superblock *cmd_committed_superblock(const struct cmd *cmd);
/**
 * cmd_transaction() - the transaction manager, for tools that look below the schema
 * @cmd: the metadata
 */
struct pd_tm *cmd_transaction(struct cmd *cmd);

/**
 * cmd_superblock_record() - copy the record of a superblock that is intact
 * @sb: the superblock
 * @data: room for CMD_RECORD_MAX bytes; receives the record
 *
 * Return: its length in bytes; 0 if there is none or it is void.
 */
u32 cmd_superblock_record(const struct cmd_superblock *sb, u8 *data);
#endif

#endif
