/* SPDX-License-Identifier: GPL-2.0-only */
/* An image on the tests' RAM disk, and back. */

#ifndef FUZZ_IMAGE_DISK_H
#define FUZZ_IMAGE_DISK_H

#include "image.h"
#include "tests/lib/ramdev.h"

/* Reads an image from a file.  Returns 0, or -errno if the file cannot be opened. */
int image_load(struct image *im, const char *path);
/* A RAM disk with the image's blocks; the caller frees it. */
struct ramdev *image_to_disk(const struct image *im);
/* Saves the durable blocks, with the kinds that match their checksums. */
void image_from_disk(struct image *im, const struct ramdev *rd);

#endif
