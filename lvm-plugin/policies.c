// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policies that the running kernel could load.  A policy is a module dm-cache-NAME, or
 * another module's alias of that form.  This file looks through modprobe's lists, and
 * through the modules that are loaded.
 *
 * It must not know any policy by name.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies.h"
#include "sysfs.h"
#include "util.h"

#define PREFIX		"dm-cache-"
#define MAX_POLICIES	64	/* hearth has a handful; policies past 64 are not found */
#define NAME_LEN	64

struct list {
	char names[MAX_POLICIES][NAME_LEN];
	unsigned int nr;
};

/*
 * Adds the policy of a module with the name "dm-cache-smq.ko" or "dm_cache_smq", say.  Skips
 * other modules.
 */
static void add(struct list *l, const char *name)
{
	static const char prefix[] = PREFIX;
	char policy[NAME_LEN];
	unsigned int i;

	for (i = 0; prefix[i]; i++)
		if (name[i] != prefix[i] &&
		    !(prefix[i] == '-' && name[i] == '_'))
			return;
	name += i;
	snprintf(policy, sizeof(policy), "%.*s",
		 (int)strcspn(name, ".: \n"), name);
	for (i = 0; i < l->nr && strcmp(l->names[i], policy); i++)
		;
	if (policy[0] && i == l->nr && l->nr < MAX_POLICIES)
		strcpy(l->names[l->nr++], policy);
}

/* Adds the policies of lines "DIRECTORIES/dm-cache-smq.ko: ..." or "alias dm-cache-heat ...". */
static void add_lines(struct list *l, const char *file)
{
	FILE *f = root_open("/lib/modules/%s/%s", kernel_release(), file);
	char *line = NULL, *name;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		line[strcspn(line, ":\n")] = '\0';
		if (!strncmp(line, "alias ", 6))
			name = line + 6;
		else
			name = strrchr(line, '/') ? strrchr(line, '/') + 1 : line;
		add(l, name);
	}
	free(line);
	if (f)
		fclose(f);
}

static void add_loaded(struct list *l)
{
	char *path = root_path("/sys/module");
	DIR *dir = opendir(path);
	struct dirent *e;

	free(path);
	while (dir && (e = readdir(dir)))
		add(l, e->d_name);
	if (dir)
		closedir(dir);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

bool policy_exists(const char *policy, char *names, size_t len)
{
	struct list l = { .nr = 0 };
	unsigned int i, used = 0;

	add_lines(&l, "modules.dep");
	add_lines(&l, "modules.builtin");
	add_lines(&l, "modules.alias");
	add_loaded(&l);
	for (i = 0; i < l.nr; i++)
		if (!strcmp(l.names[i], policy))
			return true;
	qsort(l.names, l.nr, sizeof(l.names[0]), by_name);
	for (i = 0; i < l.nr && used < len; i++)
		used += snprintf(names + used, len - used, "%s%s",
				 i ? ", " : "", l.names[i]);
	return !l.nr;
}
