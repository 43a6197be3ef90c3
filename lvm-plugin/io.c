// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the kernel's counters of block devices: requests, sectors of 512 bytes,
 * milliseconds.
 *
 * It must not know what a counter is used for.  dmeventd's plugin runs this: it must not
 * print, or end the program.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cache-info.h"
#include "util.h"

/* Fills @to, of NR_IO_COUNTERS counters, if /sys has the device. */
static void read_one(struct device d, uint64_t *to)
{
	uint64_t v[11] = { 0 };
	FILE *f = root_open("/sys/dev/block/%u:%u/stat", d.major, d.minor);

	if (!f)
		return;
	if (fscanf(f, "%ju %ju %ju %ju %ju %ju %ju %ju %ju %ju %ju", &v[0],
		   &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8],
		   &v[9], &v[10]) >= 8) {
		/*
		 * v[1] and v[5] count merged requests, and v[8] is the number of
		 * requests under way.  These three are left out.
		 */
		to[0] = v[0];
		to[1] = v[2];
		to[2] = v[3];
		to[3] = v[4];
		to[4] = v[6];
		to[5] = v[7];
		to[6] = v[9];
		to[7] = v[10];
	}
	fclose(f);
}

void cache_read_io(struct cache_info *c)
{
	const struct device volume = { c->dm->major, c->dm->minor };

	read_one(volume, &c->count[IO_READS]);
	read_one(c->cache_device, &c->count[FAST_READS]);
	read_one(c->origin, &c->count[ORIGIN_READS]);
}
