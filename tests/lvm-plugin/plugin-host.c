// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands for dmeventd and for the kernel around the plugin.
 *
 * Usage: plugin-host DIR.  DIR/status and DIR/table hold the target's status and
 * table, DIR/deps/MAJOR:MINOR the devices below one, DIR/stats its answer to the message stats (no file: no answer), DIR/version
 * its version.  Each line of stdin is one event; "gone" is an event after the device
 * has stopped being a cache.  The program prints the log to stderr.
 */
#include <libdevmapper.h>
#include <libdevmapper-event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <syslog.h>

static const char *dir;
static bool gone;

struct dm_task {
	int type;
	int major, minor;
	struct dm_deps *deps;
	char text[4096];
	struct dm_versions versions;
	char name[16];		/* room for the flexible name in versions */
};

static bool slurp(const char *name, char *text, size_t len)
{
	char path[600];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	n = fread(text, 1, len - 1, f);
	text[n] = '\0';
	fclose(f);
	return true;
}

struct dm_task *dm_task_create(int type)
{
	struct dm_task *t = calloc(1, sizeof(*t));

	t->type = type;
	return t;
}

void dm_task_destroy(struct dm_task *t)
{
	free(t->deps);
	free(t);
}

int dm_task_set_name(struct dm_task *t, const char *name)
{
	return !strcmp(name, "vg-lv");
}

int dm_task_set_sector(struct dm_task *t, uint64_t sector)
{
	return sector == 8;
}

int dm_task_set_message(struct dm_task *t, const char *message)
{
	return !strcmp(message, "stats");
}

int dm_task_set_major(struct dm_task *t, int major)
{
	t->major = major;
	return 1;
}

int dm_task_set_minor(struct dm_task *t, int minor)
{
	t->minor = minor;
	return 1;
}

int dm_task_no_open_count(struct dm_task *t)
{
	return 1;
}

/* One device at most. */
static int read_deps(struct dm_task *t)
{
	unsigned int major, minor;
	char name[64];

	snprintf(name, sizeof(name), "deps/%d:%d", t->major, t->minor);
	if (!slurp(name, t->text, sizeof(t->text)) ||
	    sscanf(t->text, "%u:%u", &major, &minor) != 2)
		return 0;
	t->deps = calloc(1, sizeof(*t->deps) + sizeof(t->deps->device[0]));
	t->deps->count = 1;
	t->deps->device[0] = makedev(major, minor);
	return 1;
}

struct dm_deps *dm_task_get_deps(struct dm_task *t)
{
	return t->deps;
}

int dm_task_run(struct dm_task *t)
{
	switch (t->type) {
	case DM_DEVICE_TARGET_MSG:
		return slurp("stats", t->text, sizeof(t->text));
	case DM_DEVICE_DEPS:
		return read_deps(t);
	case DM_DEVICE_TABLE:
		return slurp("table", t->text, sizeof(t->text));
	case DM_DEVICE_LIST_VERSIONS:
		strcpy(t->versions.name, "cache");
		slurp("version", t->text, sizeof(t->text));
		return sscanf(t->text, "%u.%u", &t->versions.version[0],
			      &t->versions.version[1]) == 2;
	}
	return 0;
}

const char *dm_task_get_message_response(struct dm_task *t)
{
	return t->text;
}

struct dm_versions *dm_task_get_versions(struct dm_task *t)
{
	return &t->versions;
}

const char *dm_task_get_name(const struct dm_task *t)
{
	return "vg-lv";
}

const char *dm_task_get_uuid(const struct dm_task *t)
{
	return "LVM-abc";
}

/* A linear target, then the cache. */
void *dm_get_next_target(struct dm_task *t, void *next, uint64_t *start,
			 uint64_t *length, char **type, char **params)
{
	*start = next ? 8 : 0;
	*length = 8;
	*type = next && !gone ? "cache" : "linear";
	*params = next ? t->text : "";
	return next ? NULL : t;
}

static void event(void **user)
{
	struct dm_task *t = dm_task_create(DM_DEVICE_STATUS);

	slurp("status", t->text, sizeof(t->text));
	process_event(t, DM_EVENT_TIMEOUT, user);
	dm_task_destroy(t);
}

int main(int argc, char **argv)
{
	void *user = NULL;
	char line[64];

	if (argc != 2)
		return 2;
	dir = argv[1];
	openlog("dmeventd", LOG_PERROR, LOG_DAEMON);
	if (!register_device("vg-lv", "LVM-abc", 253, 0, &user))
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		gone = !strcmp(line, "gone\n");
		event(&user);
	}
	return !unregister_device("vg-lv", "LVM-abc", 253, 0, &user) || user;
}
