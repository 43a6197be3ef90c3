// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening devices and files for one program alone. It must not know what is in
 * them.
 */

#include "exclusive.h"
#include "why.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fs.h>

/* O_EXCL refuses a block device that is mounted or in a live cache. */
int exclusive_open(const char *path, int flags, int *fd, char *why,
		   size_t room)
{
	struct stat st;
	int r;

	if (stat(path, &st)) {
		r = -errno;
		return why_failed(why, room, r, "%s: %s", path, strerror(-r));
	}
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return why_failed(why, room, -EINVAL,
			      "%s: neither a device nor a file", path);
	*fd = open(path, flags | O_CLOEXEC |
			 (S_ISBLK(st.st_mode) ? O_EXCL : 0));
	if (*fd < 0) {
		r = -errno;
		if (r == -EBUSY)
			return why_failed(why, room, r,
				      "%s: it is in use; deactivate the cache first",
				      path);
		return why_failed(why, room, r, "%s: %s", path, strerror(-r));
	}
	if (S_ISBLK(st.st_mode) && ioctl(*fd, BLKFLSBUF, 0)) {
		r = -errno;
		close(*fd);
		return why_failed(why, room, r, "%s: %s", path, strerror(-r));
	}
	return 0;
}

bool exclusive_same(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) || stat(b, &y))
		return false;
	if (S_ISBLK(x.st_mode) && S_ISBLK(y.st_mode))
		return x.st_rdev == y.st_rdev;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
