// SPDX-License-Identifier: GPL-2.0-only
/*
 * The directories in which hearth keeps files, and how small files there are written, so
 * that a kill or a power cut leaves the old file or the new one.
 *
 * It must not know what is in them.  dmeventd's plugin makes its directories by this: it must
 * not print, and state_directory() must not end the program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dm.h"
#include "state-file.h"

#define PATH_LEN	512	/* no name of a directory of hearth's is near it */

/* Monitoring that is not root may read what is kept there: it tells nothing that /sys hides. */
#define MODE	0755

static bool make(const char *path)
{
	return !mkdir(path, MODE) || errno == EEXIST;
}

bool state_directory(const char *name)
{
	char path[PATH_LEN], *slash;

	snprintf(path, sizeof(path), "%s%s", dm_root(), name);
	slash = path + strlen(dm_root());
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (!make(path))
			return false;
		*slash = '/';
	}
	return make(path);
}

static bool write_file(const char *path, void (*put)(FILE *out, const void *what),
		       const void *what)
{
	FILE *f = fopen(path, "we");
	bool ok;

	if (!f)
		return false;
	put(f, what);
	ok = !fflush(f) && !fsync(fileno(f));
	return !fclose(f) && ok;
}

bool state_file_write(const char *path, void (*put)(FILE *out, const void *what),
		      const void *what)
{
	char *temporary;
	bool ok;
	int e;

	if (asprintf(&temporary, "%s.new", path) < 0)
		abort();
	ok = write_file(temporary, put, what) && !rename(temporary, path);
	if (!ok) {
		e = errno;
		unlink(temporary);
		errno = e;
	}
	free(temporary);
	return ok;
}
