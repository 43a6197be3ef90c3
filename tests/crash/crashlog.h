/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the recorder (kernel/crashdisk.c) and its reader share: the log in
 * memory, mapped from /dev/crashdisk, and the memory of each disk behind it.
 *
 * The log is one for all disks, so that it has one order.  A request has an
 * entry when it is submitted and one when it is done; what happened between
 * two entries of different disks is what a power cut may tell apart.
 */
#ifndef CRASHLOG_H
#define CRASHLOG_H

#include <linux/types.h>

/* The disks, and what is seen from above the cache. */
enum crash_disk {
	DISK_META,
	DISK_FAST,
	DISK_ORIGIN,
	NR_DISKS,
	DISK_TOP = NR_DISKS,	/* the recorder above; has no memory */
	NR_RECORDED
};

enum crash_kind {
	LOG_WRITE,		/* followed by its data */
	LOG_FLUSH,
	LOG_DISCARD,
	LOG_DONE,		/* of the request whose entry is at .of */
	LOG_MARK,		/* written to /dev/crashdisk: .of is its number */
};

#define LOG_FUA		1u	/* in flags */
#define LOG_FAILED	2u

struct crash_entry {
	__u32 kind;
	__u32 disk;
	__u32 flags;
	__u32 sectors;
	__u64 sector;
	__u64 of;
};

/* At offset 0 of the mapping; entries follow. */
struct crash_head {
	__u64 size;		/* bytes, this head included */
	__u64 used;		/* the same, of what is written */
	__u64 disk_sectors[NR_DISKS];	/* the memory that each has */
	__u32 recording;
	__u32 overflow;		/* the log was full: worthless */
	__u32 delay_us[NR_DISKS];	/* mean service time; 0: served at once */
};

/* Offsets of the disks' memory in the mapping. */
#define CRASH_MAP_DISK(i)	(((__u64)(i) + 1) << 32)

#endif
