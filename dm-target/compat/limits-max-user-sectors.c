// SPDX-License-Identifier: GPL-2.0-only
/* max_sectors follows from the other limits: setting it has no effect. */
#include <linux/blkdev.h>

static void __maybe_unused test(struct queue_limits *limits)
{
	limits->max_user_sectors = 0;
}
