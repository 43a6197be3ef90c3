// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the directories in which hearth keeps files, and writes small files there, so that a
 * kill leaves the old file or the new one.  After a power cut that holds only for
 * state_file_write().
 *
 * It must not know what is in the files.  dmeventd's plugin runs this: it must not print, or
 * end the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dm.h"
#include "state-file.h"

#define PATH_LEN	PATH_MAX	/* a user may keep a page of hearth report anywhere */

/* ---- Directories ---- */

/*
 * A monitoring program that is not root may read the files there, because they tell nothing
 * that /sys hides.
 */
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

/* ---- Files ---- */

/*
 * Makes the name of the temporary file: beside the file, because rename() needs that, and
 * with this process's number, because two processes may write at the same time.  It begins
 * with a dot, because marks and the files that commands leave do not.
 */
static bool name_temporary(char *temporary, const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	if (snprintf(temporary, PATH_LEN, "%.*s.%s.%d", (int)(name - path), path, name,
		     getpid()) < PATH_LEN)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

static bool write_file(const char *path, writer put, const void *what, bool sync)
{
	FILE *f = fopen(path, "we");
	bool ok;
	int e;

	if (!f)
		return false;
	errno = 0;
	put(f, what);
	e = errno;
	ok = !fflush(f) && (!sync || !fsync(fileno(f)));
	/* If the disk was full for a moment, a part in the middle is missing. */
	if (ok && ferror(f)) {
		errno = e ?: EIO;
		ok = false;
	}
	return !fclose(f) && ok;
}

/*
 * Without this a power cut may take the new name back.  Errors do not count, because not
 * every file system can do it.
 */
static void sync_directory(const char *path)
{
	char directory[PATH_LEN];
	int fd;

	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path), path);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static bool replace(const char *path, writer put, const void *what, bool sync)
{
	char temporary[PATH_LEN];
	int e;

	if (!name_temporary(temporary, path))
		return false;
	if (write_file(temporary, put, what, sync) && !rename(temporary, path))
		return true;
	e = errno;
	unlink(temporary);
	errno = e;
	return false;
}

void state_file_put_text(FILE *out, const void *text)
{
	fputs(text, out);
}

bool state_file_write(const char *path, writer put, const void *what)
{
	bool ok = replace(path, put, what, true);

	if (ok)
		sync_directory(path);
	return ok;
}

bool state_file_refresh(const char *path, writer put, const void *what)
{
	return replace(path, put, what, false);
}
