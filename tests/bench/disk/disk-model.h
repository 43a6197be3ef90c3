/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Computes how long a 7,200 rpm disk takes for a request.  Both the test disk
 * and the program that computes floors include this arithmetic.
 *
 * Sources:
 *  - seek times, latency and controller overhead: Seagate, Constellation SAS
 *    product manual (ST9500430SS), rev. E, 5.2.1: single track 0.5 ms for
 *    reads and 0.7 for writes, average 8.0 and 8.4, full stroke 17.35 and
 *    17.82, all without the controller's overhead of 0.2; 4.16 ms latency.
 *  - tracks and heads: Seagate, Constellation ES.3 SAS product manual, 4.1:
 *    320,800 tracks a surface and 10 heads in the 4 TB model; 83 to 175 MB/s
 *    sustained.  This disk has 150 MB/s everywhere.
 * The model takes the average seek as that of a third of the full stroke.
 * Below that distance the time grows with its root, above it linearly.
 *
 * Sectors lie one after the other, and the tracks are skewed so that a transfer
 * goes on without a pause.  After a read the disk reads on into a buffer.  It
 * does not cache writes: a write ends when it is on the medium.
 */
#ifndef HEARTH_DISK_MODEL_H
#define HEARTH_DISK_MODEL_H

#define DISK_TURN_NS		8333333ULL
#define DISK_TRACK_SECTORS	2441ULL		/* 150 MB/s */
#define DISK_HEADS		10ULL
#define DISK_CYLINDERS		320800ULL
#define DISK_CYL_SECTORS	(DISK_TRACK_SECTORS * DISK_HEADS)
#define DISK_QUEUE		32
#define DISK_OVERHEAD_NS	200000ULL	/* a queue hides it */
#define DISK_BUFFER_NS		40000ULL	/* of the buffer; a guess */
#define DISK_BUFFER_SECTORS	32768ULL	/* 16 MiB */

struct disk_seeks {
	u64 single, third, full;	/* ns */
};

/* The head was just behind @sector at @when. */
struct disk_head {
	u64 sector;
	u64 when;		/* ns */
	int reads_on;
};

static inline const struct disk_seeks *disk_seeks(int write)
{
	static const struct disk_seeks seeks[2] = {
		{ 500000, 8000000, 17350000 },
		{ 700000, 8400000, 17820000 },
	};

	return &seeks[!!write];
}

static inline u64 disk_root(u64 n)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 20; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= n)
			root += bit;
	return root;
}

/* @cylinders: one to all. */
static inline u64 disk_seek_ns(u64 cylinders, int write)
{
	const struct disk_seeks *s = disk_seeks(write);
	u64 third = DISK_CYLINDERS / 3;

	if (cylinders <= third)
		return s->single + (s->third - s->single) *
		       (disk_root(cylinders << 8) - 16) /
		       (disk_root(third << 8) - 16);
	return s->third + (s->full - s->third) * (cylinders - third) /
	       (DISK_CYLINDERS - third);
}

static inline u64 disk_transfer_ns(u64 sectors)
{
	return sectors * DISK_TURN_NS / DISK_TRACK_SECTORS;
}

/* Returns the time from @now until @sector passes below the head. */
static inline u64 disk_position_ns(const struct disk_head *h, u64 sector,
				   int write, u64 now)
{
	u64 from = h->sector / DISK_CYL_SECTORS;
	u64 to = sector / DISK_CYL_SECTORS;
	u64 ns = 0, angle;

	if (from != to)
		ns = disk_seek_ns(from < to ? to - from : from - to, write);
	else if (h->sector / DISK_TRACK_SECTORS != sector / DISK_TRACK_SECTORS &&
		 h->sector != sector)
		ns = disk_seeks(write)->single;

	/* Both in ns of a turn; the added turn keeps the result positive. */
	angle = disk_transfer_ns(sector % DISK_TRACK_SECTORS) % DISK_TURN_NS;
	return ns + (angle + DISK_TURN_NS - (now + ns) % DISK_TURN_NS) %
	       DISK_TURN_NS;
}

/* Is @sector in the buffer, or will the disk read it into the buffer next? */
static inline int disk_buffered(const struct disk_head *h, u64 sector, u64 now)
{
	u64 ahead = (now - h->when) / (DISK_TURN_NS / DISK_TRACK_SECTORS);

	if (!h->reads_on || now < h->when || sector < h->sector)
		return 0;
	return sector - h->sector <=
	       (ahead < DISK_BUFFER_SECTORS ? ahead : DISK_BUFFER_SECTORS);
}

/* Once the buffer is full, the disk reads on only as requests take sectors out of it. */
static inline void disk_fill_buffer(struct disk_head *h, u64 now)
{
	u64 full = disk_transfer_ns(DISK_BUFFER_SECTORS);

	if (now > h->when + full)
		h->when = now - full;
}

/* Returns how long a request that starts at @now would wait for the medium. */
static inline u64 disk_wait_ns(const struct disk_head *h, u64 sector, int write,
			       u64 now)
{
	if (!write && disk_buffered(h, sector, now))
		return 0;
	/* The transfer goes on; a few sectors of margin allow for rounding. */
	if (sector == h->sector && now <= h->when + DISK_TURN_NS / 1000)
		return 0;
	return disk_position_ns(h, sector, write, now);
}

/* Serves a request that the disk begins at @now.  Returns when it ends. */
static inline u64 disk_serve(struct disk_head *h, u64 sector, u64 nr, int write,
			     u64 now)
{
	u64 end;

	if (!write && disk_buffered(h, sector, now)) {
		disk_fill_buffer(h, now);
		h->when += disk_transfer_ns(sector + nr - h->sector);
		h->sector = sector + nr;
		end = now + DISK_BUFFER_NS;
		return end > h->when ? end : h->when;
	}

	end = now + disk_wait_ns(h, sector, write, now) + disk_transfer_ns(nr);
	h->sector = sector + nr;
	h->when = end;
	h->reads_on = !write;
	return end;
}

#endif
