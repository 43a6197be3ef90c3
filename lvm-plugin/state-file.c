// SPDX-License-Identifier: GPL-2.0-only
/*
 * How small files in /var/lib/hearth are written, so that a kill or a power cut leaves the
 * old file or the new one.  It must not know what is in them.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state-file.h"
#include "util.h"

bool state_directory(void)
{
	char *path = root_path("/var/lib/hearth");
	bool ok = !mkdir(path, 0755) || errno == EEXIST;

	free(path);
	return ok;
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
