/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log of a stopped volume: its contents, whether they are possible, and
 * their way home to the origin. User space only.
 *
 * log-volume.c reads; log-settle.c copies home and clears the flag; log-files.c
 * makes devices of paths.
 */

#ifndef HEARTH_LOG_VOLUME_H
#define HEARTH_LOG_VOLUME_H

#include "../metadata/cache-metadata.h"
#include "../write-log/log-load.h"

/* For an index that one thread uses: ordinary memory, and no pins. */
extern const struct log_index_ops log_volume_index_ops;

/* ---- Contents ---- */

/**
 * struct volume_log - the contents of a write log
 * @geometry: where the ring is
 * @runs: what has to go home, sorted by the origin's sectors; none overlap
 * @nr_runs: their number
 * @nr_blocks: origin blocks that they lie in
 * @nr_sectors: sectors that they take
 * @kept_slots: cache blocks that are mapped although the log has something of their
 *	origin block. The mapping holds, and is dirty, and @runs has nothing of it
 *	(rule W5 of docs/write-log.md).
 * @nr_kept: their number
 * @damage: impossible things that were found; with any, nothing else is set
 */
struct volume_log {
	struct log_geometry geometry;
	struct log_run *runs;
	u64 nr_runs;
	u64 nr_blocks;
	u64 nr_sectors;
	u32 *kept_slots;
	u32 nr_kept;
	u32 damage;
};

/**
 * volume_log_load() - read the log of a volume that has the flag
 * @l: receives the contents; volume_log_free() frees them, also after an error
 * @cmd: the volume's metadata
 * @cache: the cache device; is only read
 * @cache_sectors: sectors of the cache device
 * @origin_sectors: sectors of the origin; an extent past them is damage
 * @report: called for each impossible thing with one line, without a newline; may
 *	be NULL
 * @ctx: first argument of @report
 *
 * Return: 0, and @l->damage tells whether the contents can be believed; or -ENOMEM.
 */
int volume_log_load(struct volume_log *l, struct cmd *cmd,
		    const struct log_dev *cache, u64 cache_sectors,
		    u64 origin_sectors,
		    void (*report)(void *ctx, const char *msg), void *ctx);

/**
 * volume_log_free() - free what volume_log_load() has allocated
 * @l: the contents
 */
void volume_log_free(struct volume_log *l);

/* ---- The way home ---- */

/**
 * struct settle_options - input of a settlement beside the devices
 * @dry_run: change nothing
 * @say: called with each line of the report, without a newline; may be NULL
 * @progress: called during a long work with its name and the percentage that is
 *	done; may be NULL
 * @ctx: first argument of both
 */
struct settle_options {
	bool dry_run;
	void (*say)(void *ctx, const char *msg);
	void (*progress)(void *ctx, const char *what, unsigned int percent);
	void *ctx;
};

/**
 * struct settle_volume - the devices of a stopped volume
 * @cmd: its metadata, opened for writing if not for a dry run
 * @cache: the cache device; nothing of it is written but the log's header
 * @cache_sectors: sectors of the cache device
 * @origin: the origin. A write of no sectors with LOG_PREFLUSH flushes it.
 * @origin_sectors: sectors of the origin
 */
struct settle_volume {
	struct cmd *cmd;
	struct log_dev cache;
	u64 cache_sectors;
	struct log_dev origin;
	u64 origin_sectors;
};

/**
 * log_settle() - copy all that the log holds to the origin, and clear the flag
 * @v: the volume
 * @o: the options
 * @why: receives one line that says why it failed
 * @room: bytes of @why
 *
 * It writes the origin in ascending order, and flushes it before it clears the flag. Two
 * other parts of the metadata change: the discard bits (all are cleared, if any is set,
 * because they may stand for sectors that were written), and the dirty bits of the kept
 * slots of struct volume_log. Last of all it wipes the log's header, so that nothing believes
 * the ring again. If that fails, the settlement is complete all the same.
 *
 * If it is killed at any moment, it can be done again, because the log stays as it is until
 * the flag is cleared. Without the flag there is nothing to do.
 *
 * Return: 0; -EILSEQ, and nothing was written, if metadata or log are damaged; -ENOMEM;
 * or the error of a device.
 */
int log_settle(const struct settle_volume *v, const struct settle_options *o,
	       char *why, size_t room);

/* ---- Paths ---- */

/**
 * log_open_cache() - open a cache device by its path, for reading
 * @path: the path
 * @fd: receives the descriptor, which @dev uses; the caller closes it
 * @dev: receives the device
 * @sectors: receives the number of its sectors
 * @why: receives one line that says why it failed
 * @room: bytes of @why
 *
 * Return: 0; or an error of exclusive_open().
 */
int log_open_cache(const char *path, int *fd, struct log_dev *dev,
		   u64 *sectors, char *why, size_t room);

/**
 * log_settle_files() - log_settle() by paths, which must lead to three devices
 * @metadata: the path of the metadata device
 * @cache: the path of the cache device
 * @origin: the path of the origin
 * @o: the options
 * @why: receives one line that says why it failed
 * @room: bytes of @why
 *
 * Return: as log_settle(), or an error of exclusive_open() or cmd_open().
 */
int log_settle_files(const char *metadata, const char *cache,
		     const char *origin, const struct settle_options *o,
		     char *why, size_t room);

#endif
