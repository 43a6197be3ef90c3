// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices below a volume that are gone.  It asks the tables for the devices below, and not
 * /sys, because a device that is gone has no entries in /sys any more.
 *
 * dmeventd's plugin runs this as well: it must not print, end the program, or run a
 * command.
 */
#include <errno.h>
#include <unistd.h>

#include "lost.h"
#include "util.h"

#define MAX_DEPTH	16	/* levels of devices on devices. Chosen, so that a loop ends */
#define MAX_BELOW	64	/* legs and stripes of one volume; more are not looked at */

/* True also without memory, because then no device is known to be gone. */
static bool has(struct device d, const char *file)
{
	return !root_access(F_OK, "/sys/dev/block/%u:%u%s", d.major, d.minor, file) ||
	       errno == ENOMEM;
}

/* Asks only device-mapper's devices, because libdevmapper logs an error for others. */
static unsigned int devices_below(struct device d, uint32_t below[][2])
{
	return has(d, "/dm") ? dm_devices_below(d.major, d.minor, below, MAX_BELOW) : 0;
}

static bool search(struct device d, struct device *lost, int depth)
{
	uint32_t below[MAX_BELOW][2];
	unsigned int i, nr = depth ? devices_below(d, below) : 0;

	if (!nr) {
		*lost = d;
		return !has(d, "");
	}
	for (i = 0; i < nr; i++)
		if (search((struct device){ below[i][0], below[i][1] }, lost, depth - 1))
			return true;
	return false;
}

bool lost_below(struct device d, struct device *lost)
{
	struct device found;
	bool gone = search(d, &found, MAX_DEPTH);

	if (gone)
		*lost = found;
	return gone;
}
