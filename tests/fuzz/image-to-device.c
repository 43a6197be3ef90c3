// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes an image of the corpus as a metadata device, for the test in which the kernel's
 * own dm-cache opens what was repaired: image-to-device IMAGE FILE.  The file is sparse.
 */

#include <err.h>
#include <stdio.h>

#include "image-disk.h"

static void write_device(struct ramdev *rd, const char *path)
{
	FILE *f = fopen(path, "w");
	u8 data[PD_BLOCK_SIZE];

	if (!f)
		err(1, "%s", path);
	for (u64 nr = 0; nr < rd->nr_blocks; nr++) {
		/* The last block gives the file its length. */
		if (!rd->durable[nr] && nr + 1 < rd->nr_blocks)
			continue;
		ramdev_get(rd, nr, data);
		if (fseek(f, nr * PD_BLOCK_SIZE, SEEK_SET) ||
		    fwrite(data, PD_BLOCK_SIZE, 1, f) != 1)
			err(1, "%s", path);
	}
	if (fclose(f))
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	struct image *im = image_new();
	struct ramdev *rd;

	if (argc != 3)
		errx(2, "usage: image-to-device IMAGE FILE");
	if (image_load(im, argv[1]))
		err(1, "%s", argv[1]);
	if (!im->device_blocks)
		errx(3, "%s: a device without blocks", argv[1]);
	rd = image_to_disk(im);
	write_device(rd, argv[2]);
	ramdev_free(rd);
	image_free(im);
	return 0;
}
