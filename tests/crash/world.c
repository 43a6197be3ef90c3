// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices: three recorded disks, the cache on them, and the recorder on
 * top.
 *
 * Their device-mapper devices live as long as the program; only tables change.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"

const char *const disk_names[NR_DISKS] = { "meta", "fast", "origin" };

static void must(int r, const char *what)
{
	if (r)
		die("%s: %s", what, strerror(-r));
}

static void *map(struct world *w, uint64_t offset, uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->control,
		       offset);

	if (p == MAP_FAILED)
		die("/dev/crashdisk: %s", strerror(errno));
	return p;
}

static void size_disk(struct world *w, int i, uint64_t sectors)
{
	char params[16];

	snprintf(params, sizeof(params), "%d", i);
	must(dm_load(&w->disk[i], sectors, "crashdisk", params), disk_names[i]);
	must(dm_resume(&w->disk[i]), disk_names[i]);
}

static void no_cache(struct world *w, uint64_t sectors)
{
	must(dm_load(&w->cache, sectors, "error", ""), "cache");
	must(dm_resume(&w->cache), "cache");
}

static void size_top(struct world *w, uint64_t sectors)
{
	must(dm_load(&w->top, sectors, "crashtop", w->cache.number), "top");
	must(dm_resume(&w->top), "top");
}

void world_open(struct world *w)
{
	static const char *const names[NR_DISKS] = {
		"crash-meta", "crash-fast", "crash-origin"
	};
	const struct crash_head *head;

	w->control = open("/dev/crashdisk", O_RDWR | O_CLOEXEC);
	if (w->control < 0)
		die("/dev/crashdisk: %s", strerror(errno));
	head = map(w, 0, 4096);
	w->head = map(w, 0, head->size);
	dm_open();
	for (int i = 0; i < NR_DISKS; i++) {
		w->memory[i] = map(w, CRASH_MAP_DISK(i), head->disk_sectors[i] * SECTOR);
		dm_create(&w->disk[i], names[i]);
		size_disk(w, i, head->disk_sectors[i]);
	}
	w->now.fast_sectors = head->disk_sectors[DISK_FAST];
	w->now.origin_sectors = head->disk_sectors[DISK_ORIGIN];
	dm_create(&w->cache, "crash-cache");
	dm_create(&w->top, "crash-top");
	no_cache(w, w->now.origin_sectors);
	size_top(w, w->now.origin_sectors);
}

void world_close(struct world *w)
{
	dm_remove(&w->top);
	dm_remove(&w->cache);
	for (int i = 0; i < NR_DISKS; i++)
		dm_remove(&w->disk[i]);
	close(w->control);
}

void world_sizes(struct world *w, const struct config *c)
{
	uint64_t largest = c->origin_sectors > w->now.origin_sectors ?
			   c->origin_sectors : w->now.origin_sectors;

	if (c->fast_sectors != w->now.fast_sectors)
		size_disk(w, DISK_FAST, c->fast_sectors);
	if (c->origin_sectors != w->now.origin_sectors) {
		no_cache(w, largest);
		size_disk(w, DISK_ORIGIN, c->origin_sectors);
		size_top(w, c->origin_sectors);
		no_cache(w, c->origin_sectors);
	}
	w->now.fast_sectors = c->fast_sectors;
	w->now.origin_sectors = c->origin_sectors;
}

static int load_table(struct world *w, const struct config *c)
{
	char params[512];

	snprintf(params, sizeof(params), "%s %s %s %u %u %s%s%s %s",
		 w->disk[DISK_META].number, w->disk[DISK_FAST].number,
		 w->disk[DISK_ORIGIN].number, c->block_sectors,
		 1 + (c->format == 2) + !c->passdown,
		 c->format == 2 ? "metadata2 " : "", c->mode,
		 c->passdown ? "" : " no_discard_passdown", c->policy);
	return dm_load(&w->cache, c->origin_sectors, "cache", params);
}

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ll + ts.tv_nsec / 1000;
}

int64_t world_activate(struct world *w, const struct config *c)
{
	int64_t begun = now_us();
	int r = load_table(w, c);

	if (!r)
		r = dm_resume(&w->cache);
	return r ? r : now_us() - begun;
}

void world_deactivate(struct world *w)
{
	no_cache(w, w->now.origin_sectors);
}

int world_change(struct world *w, const struct config *c)
{
	uint64_t before = w->now.origin_sectors;
	int r;

	if (c->fast_sectors == w->now.fast_sectors && c->origin_sectors == before) {
		r = load_table(w, c);
		return r ? r : dm_resume(&w->cache);
	}
	if (c->origin_sectors < before)
		size_top(w, c->origin_sectors);
	must(dm_suspend(&w->cache), "suspend");
	if (c->fast_sectors != w->now.fast_sectors)
		size_disk(w, DISK_FAST, c->fast_sectors);
	if (c->origin_sectors != before)
		size_disk(w, DISK_ORIGIN, c->origin_sectors);
	r = load_table(w, c);
	if (!r)
		r = dm_resume(&w->cache);
	if (r)
		return r;
	if (c->origin_sectors > before)
		size_top(w, c->origin_sectors);
	w->now.fast_sectors = c->fast_sectors;
	w->now.origin_sectors = c->origin_sectors;
	return 0;
}

void world_mark(struct world *w, uint64_t number)
{
	if (write(w->control, &number, sizeof(number)) != sizeof(number))
		die("mark: %s", strerror(errno));
}

void world_read(struct world *w, uint8_t *to, uint64_t sectors)
{
	int fd = open(w->cache.node, O_RDONLY | O_DIRECT | O_CLOEXEC);
	uint64_t bytes = sectors * SECTOR, at = 0;

	if (fd < 0)
		die("%s: %s", w->cache.node, strerror(errno));
	while (at < bytes) {
		uint64_t n = bytes - at < (1u << 20) ? bytes - at : 1u << 20;
		ssize_t r = pread(fd, to + at, n, at);

		if (r <= 0)
			die("%s: read at %llu: %s", w->cache.node,
			    (unsigned long long)at, strerror(errno));
		at += r;
	}
	close(fd);
}

void world_counts(struct world *w, struct cache_counts *c)
{
	char status[4096];
	unsigned int promotions, demotions;

	dm_status(&w->cache, status, sizeof(status));
	memset(c, 0, sizeof(*c));
	if (sscanf(status, "%*u %*u/%*u %*u %u/%*u %*u %*u %*u %*u %u %u %u", &c->resident,
		   &demotions, &promotions, &c->dirty) != 4)
		die("status: '%s'", status);
	c->demotions = demotions;
	c->promotions = promotions;
	c->writable = strstr(status, " rw -");
}

void world_delays(struct world *w, uint32_t meta, uint32_t fast, uint32_t origin)
{
	w->head->delay_us[DISK_META] = meta;
	w->head->delay_us[DISK_FAST] = fast;
	w->head->delay_us[DISK_ORIGIN] = origin;
}

bool world_wait_log(struct world *w, unsigned int seconds)
{
	bool on = false;
	char *stats;

	for (unsigned int i = 0; i < seconds * 50 && !on; i++) {
		if (i)
			usleep(20000);
		stats = dm_stats(&w->cache);
		on = strstr(stats, "\nlog on\n");
		free(stats);
	}
	return on;
}

bool world_wait_clean(struct world *w, unsigned int seconds)
{
	struct cache_counts c;

	for (unsigned int i = 0; i < seconds * 50; i++) {
		world_counts(w, &c);
		if (!c.dirty)
			return true;
		usleep(20000);
	}
	return false;
}
