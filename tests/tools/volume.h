/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stopped volume with a write log, made in memory by the libraries that the
 * module has, and the bytes that its origin must have when the log is home.
 */

#ifndef VOLUME_H
#define VOLUME_H

#include "util.h"
#include "tools/log-volume.h"

/* ---- Disks that lose their power together ---- */

struct power {
	u64 ops;		/* writes and flushes of all disks so far */
	u64 die_at;		/* the power fails in this op; ~0: in none */
	u64 fail_at;		/* this op fails, once; ~0: none does */
	bool dead;
};

struct disk {
	struct power *power;
	u64 sectors;
	u8 *seen;		/* the data that a read returns */
	u8 *durable;
	u64 writes;
	u64 next;		/* the sector behind the last write */
	bool ascending;		/* all writes so far */
};

enum fate {
	FATE_KEPT,		/* a process was killed: all writes survive */
	FATE_LOST,		/* no write since the last flush survives */
	FATE_MIXED,		/* some sectors of some writes survive */
	NR_FATES
};

struct log_dev disk_dev(struct disk *d);
struct pd_device *disk_open(struct disk *d, bool read_only);
void disk_save(const struct disk *d, const char *file);

/* ---- The volume ---- */

#define VOLUME_BLOCK	64u	/* sectors in a block */
#define VOLUME_SLOTS	48u
#define VOLUME_BLOCKS	80u	/* of the origin */
#define VOLUME_METADATA	120u	/* blocks of 4 KiB */
#define VOLUME_RECORD	"mode writeback\n"

struct volume {
	u64 rng;
	struct power power;
	struct disk metadata, cache, origin;
	u8 *home;		/* what the origin has when the log is home */
	struct log_geometry geo;
	u64 oblock[VOLUME_SLOTS];	/* U64_MAX: not mapped */
	bool dirty[VOLUME_SLOTS];
	u32 segment;		/* a slot that has extents and is not mapped */
};

/**
 * struct volume_kind - differences between volumes
 * @format: of the metadata
 * @unclean: CLEAN_SHUTDOWN is not set
 * @discards: discard bits are set
 * @no_log: the flag is clear, and there is no ring
 */
struct volume_kind {
	unsigned int format;
	bool unclean;
	bool discards;
	bool no_log;
};

void volume_make(struct volume *v, u64 seed, const struct volume_kind *kind);
/* The same bytes on disks of their own, with power; or on those that are there. */
void volume_clone(struct volume *copy, const struct volume *v);
void volume_copy(struct volume *to, const struct volume *from);
void volume_free(struct volume *v);
/* The power fails, if it did not, and returns. */
void volume_crash(struct volume *v, enum fate fate);
/* Writes the files "metadata", "cache" and "origin" to a directory. */
void volume_save(const struct volume *v, const char *dir);

/* Opens the metadata; volume_shut() closes both. */
struct cmd *volume_open(struct volume *v, bool read_only,
			struct pd_device **dev);
void volume_shut(struct cmd *cmd, struct pd_device *dev);

#endif
