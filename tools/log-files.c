// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices of a volume with a write log, by their paths.
 *
 * Owns the descriptors. It must not know what is on the devices.
 */

#include "exclusive.h"
#include "log-volume.h"
#include "why.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- A descriptor as a device of sectors ---- */

static int fd_of(void *ctx)
{
	return *(const int *)ctx;
}

/* Fills @to, or writes @from if @to is NULL. */
static int transfer(int fd, u64 sector, u32 sectors, void *to,
		    const void *from)
{
	size_t bytes = (size_t)sectors * 512, done = 0;
	off_t at = sector * 512;

	while (done < bytes) {
		ssize_t n = to ?
			pread(fd, to + done, bytes - done, at + done) :
			pwrite(fd, from + done, bytes - done, at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += n;
	}
	return 0;
}

static int file_read(void *ctx, u64 sector, u32 sectors, void *data)
{
	return transfer(fd_of(ctx), sector, sectors, data, NULL);
}

static int file_write(void *ctx, u64 sector, u32 sectors, const void *data,
		      unsigned int flags)
{
	int r;

	if (flags & LOG_PREFLUSH && fsync(fd_of(ctx)))
		return -errno;
	r = transfer(fd_of(ctx), sector, sectors, NULL, data);
	if (r)
		return r;
	return flags & LOG_FUA && fsync(fd_of(ctx)) ? -errno : 0;
}

static int open_sectors(const char *path, int flags, int *fd,
			struct log_dev *dev, u64 *sectors, char *why,
			size_t room)
{
	off_t end;
	int r = exclusive_open(path, flags, fd, why, room);

	if (r)
		return r;
	end = lseek(*fd, 0, SEEK_END);
	if (end < 0) {
		r = -errno;
		close(*fd);
		return why_failed(why, room, r, "%s: %s", path, strerror(-r));
	}
	*sectors = end / 512;
	*dev = (struct log_dev) { file_read, file_write, fd };
	return 0;
}

int log_open_cache(const char *path, int *fd, struct log_dev *dev,
		   u64 *sectors, char *why, size_t room)
{
	return open_sectors(path, O_RDONLY, fd, dev, sectors, why, room);
}

/* ---- Settling ---- */

struct files {
	struct settle_volume v;
	int cache_fd, origin_fd;
	char *why;
	size_t room;
};

static int with_metadata(struct files *f, const char *path,
			 const struct settle_options *o, struct pd_device *dev)
{
	const struct cmd_geometry any = { 0 };
	const char *what;
	int r = cmd_open(dev, &any, &f->v.cmd, &what);

	if (r)
		return why_failed(f->why, f->room, r, "%s: %s", path, what);
	r = log_settle(&f->v, o, f->why, f->room);
	cmd_close(f->v.cmd);
	return r;
}

static int with_metadata_fd(struct files *f, const char *path, int fd,
			    const struct settle_options *o)
{
	struct pd_backend be;
	struct pd_device *dev;
	int r = pd_backend_of_fd(fd, &be);

	if (r) {
		close(fd);
		return why_failed(f->why, f->room, r, "no memory");
	}
	r = pd_device_open_backend(&be, o->dry_run, &dev);
	if (r) {
		be.close(be.ctx);
		return why_failed(f->why, f->room, r, "no memory");
	}
	r = with_metadata(f, path, o, dev);
	pd_device_close(dev);
	return r;
}

static int with_origin(struct files *f, const char *metadata,
		       const char *origin, const struct settle_options *o)
{
	int flags = o->dry_run ? O_RDONLY : O_RDWR, fd;
	int r = open_sectors(origin, flags, &f->origin_fd, &f->v.origin,
			     &f->v.origin_sectors, f->why, f->room);

	if (r)
		return r;
	r = exclusive_open(metadata, flags, &fd, f->why, f->room);
	if (!r)
		r = with_metadata_fd(f, metadata, fd, o);
	close(f->origin_fd);
	return r;
}

int log_settle_files(const char *metadata, const char *cache,
		     const char *origin, const struct settle_options *o,
		     char *why, size_t room)
{
	struct files f = { .why = why, .room = room };
	int r;

	if (exclusive_same(metadata, cache) || exclusive_same(cache, origin) ||
	    exclusive_same(metadata, origin))
		return why_failed(why, room, -EINVAL,
			      "metadata, cache device and origin have to be three devices");
	r = open_sectors(cache, o->dry_run ? O_RDONLY : O_RDWR, &f.cache_fd,
			 &f.v.cache, &f.v.cache_sectors, why, room);
	if (r)
		return r;
	r = with_origin(&f, metadata, origin, o);
	close(f.cache_fd);
	return r;
}
