// SPDX-License-Identifier: GPL-2.0-only
/* dm_io() takes the priority, and reports what is unsupported apart from errors. */
#include <linux/dm-io.h>
#include <linux/ioprio.h>

static int __maybe_unused test(struct dm_io_request *req,
			       struct dm_io_region *where, unsigned long *errors,
			       unsigned long *unsup)
{
	return dm_io(req, 1, where, errors, unsup, IOPRIO_DEFAULT);
}
