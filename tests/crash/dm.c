// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls device-mapper by ioctl, because a process for each change of a table
 * would take longer than the rest of a cut.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "crash.h"

#define ROOM 16384

static int control = -1;

static struct dm_ioctl *request(const char *name, uint32_t flags)
{
	struct dm_ioctl *io = calloc(1, ROOM);

	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = ROOM;
	io->data_start = sizeof(*io);
	io->flags = flags;
	strncpy(io->name, name, sizeof(io->name) - 1);
	return io;
}

static int run(unsigned long command, struct dm_ioctl *io)
{
	return ioctl(control, command, io) ? -errno : 0;
}

static int simple(unsigned long command, struct dm_dev *d, uint32_t flags)
{
	struct dm_ioctl *io = request(d->name, flags);
	int r = run(command, io);

	free(io);
	return r;
}

void dm_open(void)
{
	control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		die("/dev/mapper/control: %s", strerror(errno));
}

void dm_create(struct dm_dev *d, const char *name)
{
	struct dm_ioctl *io = request(name, 0);
	int r = run(DM_DEV_CREATE, io);

	if (r)
		die("cannot create %s: %s", name, strerror(-r));
	d->name = name;
	snprintf(d->number, sizeof(d->number), "%u:%u", major(io->dev), minor(io->dev));
	snprintf(d->node, sizeof(d->node), "/dev/dm-%u", minor(io->dev));
	free(io);
}

int dm_load(struct dm_dev *d, uint64_t sectors, const char *type,
	    const char *params)
{
	struct dm_ioctl *io = request(d->name, 0);
	struct dm_target_spec *spec = (void *)((char *)io + io->data_start);
	int r;

	io->target_count = 1;
	spec->length = sectors;
	strncpy(spec->target_type, type, sizeof(spec->target_type) - 1);
	strcpy((char *)(spec + 1), params);
	spec->next = sizeof(*spec) + ((strlen(params) + 8) & ~7ull);
	r = run(DM_TABLE_LOAD, io);
	free(io);
	return r;
}

int dm_suspend(struct dm_dev *d)
{
	return simple(DM_DEV_SUSPEND, d, DM_SUSPEND_FLAG | DM_SKIP_LOCKFS_FLAG);
}

int dm_resume(struct dm_dev *d)
{
	return simple(DM_DEV_SUSPEND, d, 0);
}

void dm_remove(struct dm_dev *d)
{
	int r = -EBUSY;

	for (int i = 0; r == -EBUSY && i < 50; i++) {
		if (i)
			usleep(100000);
		r = simple(DM_DEV_REMOVE, d, 0);
	}
	if (r)
		die("cannot remove %s: %s", d->name, strerror(-r));
}

static int send(struct dm_ioctl *io, const char *message)
{
	struct dm_target_msg *msg = (void *)((char *)io + io->data_start);

	strcpy(msg->message, message);
	return run(DM_TARGET_MSG, io);
}

int dm_message(struct dm_dev *d, const char *message)
{
	struct dm_ioctl *io = request(d->name, 0);
	int r = send(io, message);

	free(io);
	return r;
}

char *dm_stats(struct dm_dev *d)
{
	struct dm_ioctl *io = request(d->name, 0);
	int r = send(io, "stats");
	char *answer;

	if (r)
		die("no stats of %s: %s", d->name, strerror(-r));
	answer = strdup((const char *)io + io->data_start);
	free(io);
	return answer;
}

void dm_status(struct dm_dev *d, char *status, size_t len)
{
	struct dm_ioctl *io = request(d->name, DM_NOFLUSH_FLAG);
	int r = run(DM_TABLE_STATUS, io);
	const struct dm_target_spec *spec;

	if (r)
		die("no status of %s: %s", d->name, strerror(-r));
	spec = (void *)((char *)io + io->data_start);
	snprintf(status, len, "%s", (const char *)(spec + 1));
	free(io);
}
