// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the kernel's log, from a descriptor that a caller may keep while it does something
 * that the kernel reports there.
 *
 * It must not know what a line means.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel-log.h"
#include "util.h"

#define RECORD_LEN	8192	/* the kernel returns no longer one, with its NUL */

int kernel_log_open(int whence)
{
	char *path = root_path("/dev/kmsg");
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	free(path);
	if (fd >= 0)
		lseek(fd, 0, whence);
	return fd;
}

/*
 * The kernel returns one record for each read, and EPIPE for records that it has dropped.  A
 * file of the tests returns all at once.
 */
void kernel_log_read(int fd, void (*take)(void *ctx, char *line), void *ctx)
{
	char record[RECORD_LEN], *line, *save;
	ssize_t n;

	while ((n = read(fd, record, sizeof(record) - 1)) > 0 ||
	       (n < 0 && errno == EPIPE)) {
		record[n > 0 ? n : 0] = '\0';
		for (line = strtok_r(record, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			take(ctx, line);
	}
}
