// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device-mapper made of files, for tests of the command hearth.
 *
 * $HEARTH_FAKE is a directory.  NAME.dev holds "key value" lines: uuid, devno,
 * suspended, start, length, alone, table, status.  NAME.stats is the answer to the
 * message stats, which fails if that is "never resumed"; NAME.MESSAGE is that to
 * another one.  sys, run, lib and boot stand for those of the root.  version holds the
 * target's version.  The n-th listing prefers NAME.dev.n, NAME.stats.n and names.n,
 * and fails with the number in "error.n".  Messages and new tables are appended to
 * "log"; a message in "refuse" fails, and one in "busy" fails as if the device were
 * suspended.  "refuse-table" has the number of the error with which a new table fails,
 * and "suspended" behind it if the device stays so, or "resumed" if the new table runs
 * all the same.  A refused message appends the text of "kmsg-then" to the kernel's
 * log.  "look-error" has that of a look at one device.  A line of "devices" is a block
 * device: PATH MAJOR:MINOR BYTES, followed by "busy" if another program has claimed
 * the device, or by "file" if it is no block device.  deps/MAJOR:MINOR has the numbers
 * of the devices that a table names, one a line.  tables/MAJOR:MINOR is a table, as
 * dmsetup prints it.  A device cannot be removed if there is a file "holder".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"

static unsigned int listings;

const char *dm_error(void)
{
	return "";
}

void dm_quiet(void)
{
}

const char *dm_root(void)
{
	return getenv("HEARTH_FAKE");
}

static char *in_fake(const char *name, const char *suffix)
{
	static char path[2][600];
	static int i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s%s", dm_root(), name, suffix);
	return path[i];
}

static char *whole_file(const char *path)
{
	char *text = calloc(1, 65536);
	FILE *f = fopen(path, "r");

	if (!f) {
		free(text);
		return NULL;
	}
	fread(text, 1, 65535, f);
	fclose(f);
	return text;
}

/* Returns the text of NAME.what.n if that file exists, else that of NAME.what. */
static char *of_this_listing(const char *name, const char *what)
{
	char suffix[32], *text;

	snprintf(suffix, sizeof(suffix), "%s.%u", what, listings);
	text = whole_file(in_fake(name, suffix));
	return text ?: whole_file(in_fake(name, what));
}

/* The error whose number the file begins with, negative; 0 if there is no such file. */
static int error_in(const char *name, const char *what)
{
	char *text = of_this_listing(name, what);
	int r = text ? -atoi(text) : 0;

	free(text);
	return r;
}

/* Appends the text of a file to another one, if both are there. */
static void append(const char *name, const char *from)
{
	char *text = whole_file(in_fake(from, ""));
	FILE *f = text ? fopen(in_fake(name, ""), "a") : NULL;

	if (f) {
		fputs(text, f);
		fclose(f);
	}
	free(text);
}

static void say(const char *what, const char *name, const char *words)
{
	FILE *f = fopen(in_fake("log", ""), "a");

	fprintf(f, "%s %s %s\n", what, name, words);
	fclose(f);
}

static void take_line(struct dm_device *d, char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "uuid"))
		snprintf(d->uuid, sizeof(d->uuid), "%s", value);
	else if (!strcmp(line, "devno"))
		sscanf(value, "%u:%u", &d->major, &d->minor);
	else if (!strcmp(line, "suspended"))
		d->suspended = atoi(value);
	else if (!strcmp(line, "alone"))
		d->alone = atoi(value);
	else if (!strcmp(line, "start"))
		d->start = strtoull(value, NULL, 10);
	else if (!strcmp(line, "length"))
		d->length = strtoull(value, NULL, 10);
	else if (!strcmp(line, "table"))
		d->table = strdup(value);
	else if (!strcmp(line, "status"))
		d->status = strdup(value);
}

static int read_device(struct dm_device *d, const char *name)
{
	char *text = of_this_listing(name, ".dev"), *line, *save = NULL;

	if (!text)
		return -ENOENT;
	memset(d, 0, sizeof(*d));
	d->alone = true;
	snprintf(d->name, sizeof(d->name), "%s", name);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		take_line(d, line);
	free(text);
	return 0;
}

int dm_list_caches(struct dm_device **devices, unsigned int *nr)
{
	char *names, *name, *save = NULL;
	int r;

	*nr = 0;
	*devices = calloc(64, sizeof(**devices));
	if (getenv("HEARTH_FAKE_ERROR"))
		return -atoi(getenv("HEARTH_FAKE_ERROR"));
	listings++;
	r = error_in("error", "");
	if (r)
		return r;
	names = of_this_listing("names", "");
	for (name = strtok_r(names, "\n", &save); name;
	     name = strtok_r(NULL, "\n", &save))
		if (!read_device(&(*devices)[*nr], name))
			(*nr)++;
	free(names);
	return 0;
}

void dm_free_caches(struct dm_device *devices, unsigned int nr)
{
	while (nr--) {
		free(devices[nr].table);
		free(devices[nr].status);
	}
	free(devices);
}

/* Is @name in the file "monitored"? */
bool dm_monitored(const struct dm_device *d)
{
	char *text = whole_file(in_fake("monitored", "")), *found = NULL;

	if (text)
		found = strstr(text, d->name);
	free(text);
	return found;
}

/* The file "no-dmeventd" holds the error to return. */
int dm_monitor(const struct dm_device *d, unsigned int seconds)
{
	char *error = whole_file(in_fake("no-dmeventd", "")), words[32];
	FILE *f;

	if (error)
		return -atoi(error);
	snprintf(words, sizeof(words), "%u", seconds);
	say("monitor", d->name, words);
	f = fopen(in_fake("monitored", ""), "w");
	if (seconds)
		fputs(d->name, f);
	fclose(f);
	return 0;
}

int dm_look(const char *name, struct dm_device *d)
{
	int r = error_in("look-error", "");

	memset(d, 0, sizeof(*d));
	if (r)
		return r;
	if (read_device(d, name))
		return -ENXIO;
	return d->table ? 0 : -ENOENT;
}

int dm_send(const struct dm_device *d, const char *message, char **reply)
{
	char *refused, *busy, suffix[128];
	int r = 0;

	if (reply)
		*reply = NULL;
	if (!strcmp(message, "stats")) {
		*reply = of_this_listing(d->name, ".stats");
		if (!*reply || strcmp(*reply, "never resumed\n"))
			return 0;
		free(*reply);
		*reply = NULL;
		return -EINVAL;
	}
	say("message", d->name, message);
	refused = whole_file(in_fake("refuse", ""));
	if (refused && strstr(refused, message)) {
		append("dev/kmsg", "kmsg-then");
		r = -EINVAL;
	}
	free(refused);
	busy = whole_file(in_fake("busy", ""));
	if (busy && strstr(busy, message))
		r = -EBUSY;
	free(busy);
	snprintf(suffix, sizeof(suffix), ".%s", message);
	if (!r && reply)
		*reply = whole_file(in_fake(d->name, suffix));
	return r;
}

int dm_replace(const struct dm_device *d, const char *type, const char *table)
{
	char words[2048], *refused = whole_file(in_fake("refuse-table", ""));
	int r = refused ? -atoi(refused) : 0;
	FILE *f;

	snprintf(words, sizeof(words), "%s %s", type, table);
	say("table", d->name, words);
	if (refused && strstr(refused, "suspended")) {
		f = fopen(in_fake(d->name, ".dev"), "a");
		fputs("suspended 1\n", f);
		fclose(f);
	}
	if (refused && strstr(refused, "resumed")) {
		f = fopen(in_fake(d->name, ".dev"), "a");
		fprintf(f, "table %s\n", table);
		fclose(f);
	}
	free(refused);
	return r;
}

int dm_remove_tree(const struct dm_device *d)
{
	say("remove", d->name, d->uuid);
	if (!access(in_fake("holder", ""), F_OK))
		return -EBUSY;
	fclose(fopen(in_fake("names", ""), "w"));
	return 0;
}

int dm_cache_version(uint32_t version[3])
{
	const char *error = getenv("HEARTH_FAKE_ERROR");
	char *text;

	if (error)
		return -atoi(error);
	text = whole_file(in_fake("version", ""));
	if (!text)
		return -ENOENT;
	sscanf(text, "%u.%u.%u", &version[0], &version[1], &version[2]);
	free(text);
	return 0;
}

unsigned int dm_devices_below(uint32_t major, uint32_t minor, uint32_t below[][2],
			      unsigned int max)
{
	unsigned int nr = 0;
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "deps/%u:%u", major, minor);
	f = fopen(in_fake(name, ""), "r");
	while (f && nr < max && fscanf(f, "%u:%u", &below[nr][0], &below[nr][1]) == 2)
		nr++;
	if (f)
		fclose(f);
	return nr;
}

bool dm_all_targets(uint32_t major, uint32_t minor,
		    bool (*is)(const char *type, const char *words))
{
	char *text, *line, *save = NULL, name[64], type[32];
	bool all, any = false;
	int len;

	snprintf(name, sizeof(name), "tables/%u:%u", major, minor);
	text = whole_file(in_fake(name, ""));
	all = text;
	for (line = text ? strtok_r(text, "\n", &save) : NULL; line && all;
	     line = strtok_r(NULL, "\n", &save)) {
		any = true;
		all = sscanf(line, "%*u %*u %31s %n", type, &len) == 1 &&
		      is(type, line + len);
	}
	free(text);
	return any && all;
}

/* Finds the line of "devices" that begins with @path. */
static int find_device(const char *path, uint32_t *major, uint32_t *minor,
		       uint64_t *bytes, char *word)
{
	char *text = whole_file(in_fake("devices", "")), *line, *save = NULL;
	char name[512];
	int r = -ENOENT;

	word[0] = '\0';
	for (line = text ? strtok_r(text, "\n", &save) : NULL; line && r;
	     line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%511s %u:%u %ju %15s", name, major, minor,
			   bytes, word) >= 4 && !strcmp(name, path))
			r = 0;
	free(text);
	return r;
}

int dm_block_device(const char *path, uint32_t *major, uint32_t *minor,
		    uint64_t *bytes)
{
	char word[16];
	int r = find_device(path, major, minor, bytes, word);

	return !r && !strcmp(word, "file") ? -ENOTBLK : r;
}

int dm_unclaimed(const char *path)
{
	uint32_t major, minor;
	uint64_t bytes;
	char word[16];
	int r = find_device(path, &major, &minor, &bytes, word);

	if (r)
		return r;
	return strcmp(word, "busy") ? 0 : -EBUSY;
}
