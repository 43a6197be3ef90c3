/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the recorder (kernel/crashdisk.c) and its reader: the log in
 * memory, which the reader maps from /dev/crashdisk, and behind it the memory
 * of each disk.
 *
 * There is one log for all disks, because the log must have one order.  A
 * request has an entry when it is submitted, and another when it is done.  A
 * power cut may separate any two entries, also of different disks.
 */
#ifndef CRASHLOG_H
#define CRASHLOG_H

#include <linux/types.h>

/* The disks, and the requests to the top, above the cache. */
enum crash_disk {
	DISK_META,
	DISK_FAST,
	DISK_ORIGIN,
	NR_DISKS,
	DISK_TOP = NR_DISKS,	/* the recorder above; has no memory */
	NR_RECORDED
};

enum crash_kind {
	LOG_WRITE,		/* its data follows */
	LOG_FLUSH,
	LOG_DISCARD,
	LOG_DONE,		/* .of: the entry of the request that is done */
	LOG_MARK,		/* written to /dev/crashdisk; .of: its number */
};

#define CRASH_FUA		1u	/* a bit of .flags */
#define LOG_FAILED	2u

struct crash_entry {
	__u32 kind;
	__u32 disk;
	__u32 flags;
	__u32 sectors;
	__u64 sector;
	__u64 of;
};

/* At offset 0 of the mapping; the entries follow. */
struct crash_head {
	__u64 size;		/* bytes, with this head */
	__u64 used;		/* bytes in use, with this head */
	__u64 disk_sectors[NR_DISKS];	/* length of each disk's memory */
	__u32 recording;
	__u32 overflow;		/* the log was full, so it is worthless */
	__u32 delay_us[NR_DISKS];	/* mean service time; 0: no delay */
};

/* Offset of a disk's memory in the mapping. */
#define CRASH_MAP_DISK(i)	(((__u64)(i) + 1) << 32)

#endif
