// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: the checks of a cache's write log.  While the log is in use, kernels
 * without hearth refuse the volume.  While it is off, it might make writes faster.
 *
 * It must not print or mend: findings.c prints, doctor-fix.c mends.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "boot-needs.h"
#include "doctor.h"
#include "kernels.h"
#include "latency.h"
#include "text.h"
#include "util.h"

/* Timed requests; the mean of fewer says little.  Chosen, not measured. */
#define ENOUGH_TIMED	100
/* A log pays if at least this share of the writes miss, and if misses are this slow.  Chosen. */
#define MANY_MISSES	0.05
#define SLOW_MISS_MS	1.0
#define SLOWER		4	/* times the mean of a hit */
/*
 * The engine absorbs a write of so many bytes, or more, only while slots are free
 * (LARGE_SECTORS, dm-target/cache-log-io.c).
 */
#define LARGE_BYTES	(32 * 1024)

/* ---- In use ---- */

/* @text becomes "; these installed kernels have no hearth: A, B", or "" if all have it. */
static void kernels_without(char *text, size_t len)
{
	static char releases[MAX_KERNELS][RELEASE_LEN];
	unsigned int i, nr = kernels_installed(releases);
	size_t used = 0;

	text[0] = '\0';
	for (i = 0; i < nr && used < len; i++)
		if (module_of(releases[i], "dm-cache") != OURS)
			used += snprintf(text + used, len - used, "%s%s", used ? ", " :
					 "; these installed kernels have no hearth: ",
					 releases[i]);
}

/* Has hearth's DKMS package put its source where DKMS looks for it? */
static bool is_in_dkms(void)
{
	return !root_access(F_OK, "/usr/src/hearth-" HEARTH_VERSION "/dkms.conf");
}

/* Finds that a kernel refuses the cache.  @when is the finding's text before the release. */
static void examine_kernel(const struct cache_info *c, const char *id, const char *when,
			   const char *release)
{
	char remedy[4 * RELEASE_LEN];

	if (module_of(release, "dm-cache") == OURS)
		return;
	snprintf(remedy, sizeof(remedy),
		 is_in_dkms() ?
		 "'dkms install hearth/" HEARTH_VERSION " -k %s', or 'hearth settle CACHE' before the restart" :
		 "'make install KVER=%s' in hearth's sources, or 'hearth settle CACHE' before the restart",
		 release);
	found(WARNING, id, c->name, remedy,
	      "%s %s, which has no hearth and refuses this volume while its write log is in use",
	      when, release);
}

static void examine_default_kernel(const struct cache_info *c)
{
	char release[RELEASE_LEN];

	kernel_default(release);
	if (release[0])
		examine_kernel(c, "default-kernel", "the machine will start with kernel",
			       release);
}

void examine_log_on_kernel(const struct cache_info *c, const char *release)
{
	if (cache_log_in_use(c))
		examine_kernel(c, "kernel", "the machine may start with kernel", release);
}

static void examine_in_use(const struct cache_info *c)
{
	char kernels[1024];

	kernels_without(kernels, sizeof(kernels));
	found(NOTE, "write-log", c->name, NULL,
	      "the write log is in use: only hearth opens this volume, and before another kernel does, 'hearth settle %s' empties the log%s",
	      c->name, kernels);
	examine_default_kernel(c);
}

/* ---- Off ---- */

/* The mean milliseconds of a request; 0 if too few were timed. */
static double mean_ms(const struct cache_info *c, enum cache_latency kind)
{
	if (c->count[TIMED_READ_HITS + kind] < ENOUGH_TIMED)
		return 0;
	return latency_of(c->count, kind).mean;
}

/* The mean bytes of all writes to the volume, because no counter has the bytes of misses. */
static double mean_write(const struct cache_info *c)
{
	return 512 * share(c->count[IO_WRITE_SECTORS], c->count[IO_WRITES]);
}

static void advise_absorb(const struct cache_info *c, double misses, double miss_ms,
			  double hit_ms)
{
	static const char plain[] = "'hearth set CACHE absorb=on'";
	static const char boots[] =
		"'hearth set CACHE absorb=on'; this machine needs the volume to start, so that every kernel must have hearth then";
	char what[NEED_LEN], size[SIZE_LEN], as_hit[64] = "as long as the SSD takes";

	if (hit_ms)
		snprintf(as_hit, sizeof(as_hit), "as long as those that hit, %.2f ms", hit_ms);
	found(NOTE, "absorb", c->name, boot_needs(c, what) ? boots : plain,
	      "%.0f%% of its writes miss and take %.1f ms, because they wait for the disk; its writes have %s on the mean, and with absorb on, small ones that miss would take about %s",
	      100 * misses, miss_ms, size_text(size, mean_write(c)), as_hit);
}

static void examine_off(const struct cache_info *c)
{
	const char *absorb = cache_setting(c->settings, c->nr_settings, "absorb");
	double misses = share(c->count[WRITE_MISSES],
			      c->count[WRITE_HITS] + c->count[WRITE_MISSES]);
	double miss_ms = mean_ms(c, CACHE_LATENCY_WRITE_MISSES);
	double hit_ms = mean_ms(c, CACHE_LATENCY_WRITE_HITS);

	if (!absorb || strcmp(absorb, "0") || !cache_writes_back(c) || !cache_healthy(c))
		return;
	if (misses < MANY_MISSES || miss_ms < SLOW_MISS_MS || miss_ms < SLOWER * hit_ms)
		return;
	if (!c->count[IO_WRITES] || mean_write(c) >= LARGE_BYTES)
		return;
	advise_absorb(c, misses, miss_ms, hit_ms);
}

void examine_log(const struct cache_info *c)
{
	if (cache_log_in_use(c))
		examine_in_use(c);
	else
		examine_off(c);
}
