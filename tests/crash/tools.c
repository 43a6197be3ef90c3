// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interchange: thin-provisioning-tools must agree with the disks at a cut.
 *
 * $CRASH_TOOLS names directories, each with one version of them, the newest
 * last.
 */
#include <stdlib.h>
#include <string.h>

#include "cut.h"

#define MAX_DIRS 4

struct dirs {
	char text[512];
	char *dir[MAX_DIRS];
	unsigned int nr;
};

static void find_dirs(struct dirs *d)
{
	const char *env = getenv("CRASH_TOOLS");

	d->nr = 0;
	snprintf(d->text, sizeof(d->text), "%s", env ? env : "");
	for (char *dir = strtok(d->text, " "); dir && d->nr < MAX_DIRS;
	     dir = strtok(NULL, " "))
		d->dir[d->nr++] = dir;
}

static bool run(const char *command)
{
	char all[768];

	snprintf(all, sizeof(all),
		 "%s >crash-tool.out 2>&1 || { cat crash-tool.out; exit 1; }",
		 command);
	fflush(stdout);
	if (!system(all))
		return true;
	printf("  this command failed: %s\n", command);
	return false;
}

static bool check(struct crash *x, const char *dir)
{
	char command[512];

	snprintf(command, sizeof(command), "%s/cache_check %s", dir,
		 x->w.disk[DISK_META].node);
	return run(command);
}

/* cache_dump 0.x prints no dirty blocks of format 2. */
static bool dumps_dirty(const struct meta_view *v, const char *dir)
{
	char command[512], version[16] = "";
	FILE *f;

	snprintf(command, sizeof(command), "%s/cache_dump -V", dir);
	f = popen(command, "r");
	if (!f || !fgets(version, sizeof(version), f))
		die("%s cannot be run", command);
	pclose(f);
	return v->format == 1 || strncmp(version, "0.", 2);
}

/* cache_dump must list the same mappings, and as many dirty blocks. */
static bool dump(struct crash *x, const struct meta_view *v, const char *dir)
{
	uint32_t mapped = 0, dirty = 0;
	char command[512], line[512];
	FILE *f;

	snprintf(command, sizeof(command), "%s/cache_dump %s", dir,
		 x->w.disk[DISK_META].node);
	f = popen(command, "r");
	if (!f)
		die("%s cannot be run", command);
	while (fgets(line, sizeof(line), f)) {
		uint64_t oblock;
		uint32_t cblock;
		char is_dirty[8];

		if (sscanf(line, " <mapping cache_block=\"%u\" origin_block=\"%llu\" dirty=\"%7[a-z]\"",
			   &cblock, (unsigned long long *)&oblock, is_dirty) != 3)
			continue;
		mapped += cblock < v->nr_slots && v->oblock[cblock] == oblock;
		dirty += !strcmp(is_dirty, "true");
	}
	if (!pclose(f) && mapped == v->nr_mapped &&
	    dirty == (dumps_dirty(v, dir) ? v->nr_dirty : 0))
		return true;
	printf("  %s: printed %u mappings of %u, and %u dirty blocks of %u\n", command, mapped,
	       v->nr_mapped, dirty, v->nr_dirty);
	return false;
}

static void swap(uint8_t *a, uint8_t *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		uint8_t byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

bool tools_agree(struct crash *x, const struct meta_view *v)
{
	struct dirs d;

	find_dirs(&d);
	for (unsigned int i = 0; i < d.nr; i++) {
		if (!check(x, d.dir[i]) || !dump(x, v, d.dir[i]))
			return false;
		x->tally.tool_checks++;
	}
	return true;
}

bool tools_pass(struct crash *x, uint8_t *data)
{
	uint8_t *disk = x->w.memory[DISK_META];
	size_t bytes = x->w.head->disk_sectors[DISK_META] * SECTOR;
	struct dirs d;
	bool ok = true;

	find_dirs(&d);
	/* The data goes to the disk, because cache_check 0.9 needs O_DIRECT. */
	swap(disk, data, bytes);
	for (unsigned int i = 0; i < d.nr && ok; i++) {
		ok = check(x, d.dir[i]);
		x->tally.tool_checks++;
	}
	swap(disk, data, bytes);
	return ok;
}

bool tools_write_back(struct crash *x, const struct config *c)
{
	char command[512];
	struct dirs d;

	find_dirs(&d);
	if (!d.nr)
		return true;
	snprintf(command, sizeof(command),
		 "%s/cache_writeback --metadata-device %s --fast-device %s --origin-device %s",
		 d.dir[d.nr - 1], x->w.disk[DISK_META].node,
		 x->w.disk[DISK_FAST].node, x->w.disk[DISK_ORIGIN].node);
	x->tally.tool_writebacks++;
	return run(command) &&
	       !replay_check_top(&x->main, x->w.memory[DISK_ORIGIN],
				 c->origin_sectors, "on the origin after cache_writeback");
}
