// SPDX-License-Identifier: GPL-2.0-only
/* A target says that it needs stable writes; later, its limits do. */
#include <linux/device-mapper.h>

static void __maybe_unused test(struct dm_target *ti)
{
	ti->needs_stable_writes = true;
}
