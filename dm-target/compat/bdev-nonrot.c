// SPDX-License-Identifier: GPL-2.0-only
/* A device is asked whether it does not rotate; later, whether it does. */
#include <linux/blkdev.h>

static bool __maybe_unused test(struct block_device *bdev)
{
	return bdev_nonrot(bdev);
}
