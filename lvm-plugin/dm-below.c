// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices that the table of a device names, by libdevmapper.  This is a file of its
 * own, because dmeventd's plugin links it as well.  So it must not print, or end the
 * program.
 */
#include <libdevmapper.h>
#include <sys/sysmacros.h>

#include "dm.h"

static unsigned int take(struct dm_task *task, uint32_t below[][2], unsigned int max)
{
	const struct dm_deps *deps = dm_task_get_deps(task);
	unsigned int i;

	for (i = 0; deps && i < deps->count && i < max; i++) {
		below[i][0] = major(deps->device[i]);
		below[i][1] = minor(deps->device[i]);
	}
	return i;
}

unsigned int dm_devices_below(uint32_t major, uint32_t minor, uint32_t below[][2],
			      unsigned int max)
{
	struct dm_task *task = dm_task_create(DM_DEVICE_DEPS);
	unsigned int nr = 0;

	if (task && dm_task_set_major(task, major) && dm_task_set_minor(task, minor) &&
	    dm_task_no_open_count(task) && dm_task_run(task))
		nr = take(task, below, max);
	if (task)
		dm_task_destroy(task);
	return nr;
}
