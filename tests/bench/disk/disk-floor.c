// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints how many seconds the test disk needs at least to write blocks in the
 * order of its sectors: disk-floor [read] < lines of "SECTOR SECTORS".
 *
 * The head begins at sector 0, and the disk never waits for the next request.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;

#include "disk-model.h"

struct run {
	u64 sector, nr;
};

static int by_sector(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->sector < y->sector ? -1 : x->sector > y->sector;
}

int main(int argc, char **argv)
{
	int write = argc < 2 || strcmp(argv[1], "read");
	struct disk_head head = { 0 };
	struct run *runs = NULL;
	size_t nr = 0, room = 0, i;
	struct run one;
	u64 now = 0;

	while (scanf("%" SCNu64 " %" SCNu64, &one.sector, &one.nr) == 2) {
		if (nr == room) {
			room = room ? 2 * room : 1024;
			runs = realloc(runs, room * sizeof(*runs));
			if (!runs)
				return 1;
		}
		runs[nr++] = one;
	}
	qsort(runs, nr, sizeof(*runs), by_sector);
	for (i = 0; i < nr; i++)
		now = disk_serve(&head, runs[i].sector, runs[i].nr, write, now);
	printf("%.6f\n", now / 1e9);
	free(runs);
	return 0;
}
