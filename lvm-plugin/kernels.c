// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernels that are installed, and which dm-cache each of them would load.
 *
 * It must not judge what it finds: doctor-*.c do.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels.h"
#include "lvm.h"
#include "util.h"

/* Is a line of modules.dep, "DIRECTORIES/NAME.ko...:", about @module? */
static bool names_module(const char *line, const char *module)
{
	const char *colon = strchr(line, ':'), *name;
	size_t len = strlen(module);

	if (!colon)
		return false;
	for (name = colon; name > line && name[-1] != '/'; name--)
		;
	return !strncmp(name, module, len) && !strncmp(name + len, ".ko", 3);
}

/*
 * The path of a module, by its line of modules.dep up to the colon.  The caller frees it.
 * NULL if there is no such line.
 */
static char *module_file(const char *release, const char *module)
{
	FILE *f = root_open("/lib/modules/%s/modules.dep", release);
	char *line = NULL;
	size_t room = 0;

	if (!f)
		return NULL;
	while (getline(&line, &room, f) > 0) {
		if (!names_module(line, module))
			continue;
		fclose(f);
		*strchr(line, ':') = '\0';
		return line;
	}
	free(line);
	fclose(f);
	return NULL;
}

enum where module_of(const char *release, const char *module)
{
	char *file = module_file(release, module);
	enum where w = !file ? NOWHERE : strncmp(file, "kernel/", 7) ? OURS : STOCK;

	free(file);
	return w;
}

time_t module_time(const char *release, const char *module)
{
	char *file = module_file(release, module), *path;
	struct stat st = { 0 };

	if (!file)
		return 0;
	path = root_path("/lib/modules/%s/%s", release, file);
	if (stat(path, &st))
		st.st_mtime = 0;
	free(path);
	free(file);
	return st.st_mtime;
}

/*
 * Is the directory that of an installed kernel?  A kernel that was removed may leave its
 * directory behind, with modules of DKMS, say, but without kernel/.
 */
static int is_kernel(const struct dirent *e)
{
	return e->d_name[0] != '.' && strlen(e->d_name) < RELEASE_LEN &&
	       !root_access(F_OK, "/lib/modules/%s/kernel", e->d_name);
}

unsigned int kernels_installed(char releases[MAX_KERNELS][RELEASE_LEN])
{
	char *path = root_path("/lib/modules");
	struct dirent **list = NULL;
	int i, nr = scandir(path, &list, is_kernel, versionsort);
	unsigned int kept = 0;

	free(path);
	for (i = 0; i < nr; i++) {
		/* The list goes from old to new, and a machine starts the newest. */
		if (i >= nr - MAX_KERNELS)
			strcpy(releases[kept++], list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return kept;
}

/* Takes the release, which is behind the first "-" of "/boot/vmlinuz-6.1.0-1-amd64". */
static bool take_release(const char *image, char release[RELEASE_LEN])
{
	const char *slash = strrchr(image, '/');
	const char *dash = strchr(slash ?: image, '-');

	if (dash)
		snprintf(release, RELEASE_LEN, "%s", dash + 1);
	return dash;
}

static bool linked(const char *link, char release[RELEASE_LEN])
{
	char *path = root_path("%s", link), image[PATH_MAX];
	ssize_t len = readlink(path, image, sizeof(image) - 1);

	free(path);
	if (len <= 0)
		return false;
	image[len] = '\0';
	return take_release(image, release);
}

void kernel_default(char release[RELEASE_LEN])
{
	static char releases[MAX_KERNELS][RELEASE_LEN];
	const char *const grubby[] = { "grubby", "--default-kernel", NULL };
	char line[PATH_MAX];
	unsigned int nr;

	release[0] = '\0';
	if (!command_output(grubby, line, sizeof(line)) && take_release(line, release))
		return;
	if (linked("/boot/vmlinuz", release) || linked("/vmlinuz", release))
		return;
	nr = kernels_installed(releases);
	if (nr)
		strcpy(release, releases[nr - 1]);
}
