// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes rates from counters, and prints them as a table and as JSON.  It must not keep
 * anything from look to look.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "rates.h"
#include "sysfs.h"
#include "text.h"
#include "util.h"

#define SECTOR	512.0

/* @a divided by @b; NAN if @b is 0. */
static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

/* Cuts a share at 1, because the kernel counts in ticks, and may count more than the time. */
static double at_most_1(double n)
{
	return n > 1 ? 1 : n;
}

/* @reads is IO_READS, FAST_READS or ORIGIN_READS. */
static struct device_rates device_rates(const struct window *w, enum counter reads)
{
	const uint64_t *n = w->count + reads;
	double sectors = n[READS_TO_READ_SECTORS] + n[READS_TO_WRITE_SECTORS];

	return (struct device_rates){
		.reads = ratio(n[0], w->seconds),
		.writes = ratio(n[READS_TO_WRITES], w->seconds),
		.read_bytes = ratio(n[READS_TO_READ_SECTORS] * SECTOR, w->seconds),
		.write_bytes = ratio(n[READS_TO_WRITE_SECTORS] * SECTOR, w->seconds),
		.read_ms = ratio(n[READS_TO_READ_MS], n[0]),
		.write_ms = ratio(n[READS_TO_WRITE_MS], n[READS_TO_WRITES]),
		.busy = at_most_1(ratio(n[READS_TO_BUSY_MS], 1000 * w->seconds)),
		.depth = ratio(n[READS_TO_QUEUE_MS], 1000 * w->seconds),
		.request_bytes = ratio(sectors * SECTOR, n[0] + n[READS_TO_WRITES]),
	};
}

static double bypasses(const uint64_t *n)
{
	double sum = 0;
	unsigned int i;

	for (i = FIRST_BYPASS; i <= LAST_BYPASS; i++)
		sum += n[i];
	return sum;
}

struct rates rates_in(const struct cache_info *c, const struct window *w)
{
	const uint64_t *n = w->count;
	double reads = n[READ_HITS] + n[READ_MISSES];
	double writes = n[WRITE_HITS] + n[WRITE_MISSES];
	double own_seconds = c->own ? w->seconds : 0;
	struct rates r = {
		.seconds = w->seconds > 0 ? w->seconds : NAN,
		.volume = device_rates(w, IO_READS),
		.ssd = device_rates(w, FAST_READS),
		.origin = device_rates(w, ORIGIN_READS),
		.hits = ratio(n[READ_HITS] + n[WRITE_HITS], reads + writes),
		.read_hits = ratio(n[READ_HITS], reads),
		.write_hits = ratio(n[WRITE_HITS], writes),
		.cut_reads = ratio(reads, w->seconds),
		.cut_writes = ratio(writes, w->seconds),
		.promotions = ratio(n[PROMOTIONS], w->seconds),
		.demotions = ratio(n[DEMOTIONS], w->seconds),
		.writebacks = ratio(n[WRITEBACKS], own_seconds),
		.bypasses = ratio(bypasses(n), own_seconds),
		.ssd_written = ratio(n[CACHE_SECTORS_WRITTEN] * SECTOR, own_seconds),
		.mean_ms = ratio(n[IO_READ_MS] + n[IO_WRITE_MS],
				 n[IO_READS] + n[IO_WRITES]),
	};

	latencies_of(n, r.latency);
	return r;
}

/*
 * The seconds since the cache was activated; 0 if they are not known.  The node below /dev
 * is made when the device is.
 */
static double seconds_active(const struct cache_info *c)
{
	char node[NODE_LEN], *path;
	struct statx st = { 0 };
	struct timespec t;

	device_node((struct device){ c->dm->major, c->dm->minor }, node);
	path = root_path("%s%s", node[0] == '/' ? "" : "/dev/", node);
	if (statx(-1, path, 0, STATX_BTIME, &st) || !(st.stx_mask & STATX_BTIME))
		st.stx_btime.tv_sec = 0;
	free(path);
	if (!st.stx_btime.tv_sec)
		return 0;
	clock_gettime(CLOCK_REALTIME, &t);
	return fmax(t.tv_sec - st.stx_btime.tv_sec +
		    (t.tv_nsec - (double)st.stx_btime.tv_nsec) / 1e9, 0);
}

struct rates rates_since_activation(const struct cache_info *c)
{
	struct window w = { .seconds = seconds_active(c) };
	struct rates r;

	memcpy(w.count, c->count, sizeof(w.count));
	r = rates_in(c, &w);
	/* The counters of hits and misses are older than the activation. */
	r.cut_reads = NAN;
	r.cut_writes = NAN;
	return r;
}

struct rates rates_between(const struct cache_info *was, double then,
			   const struct cache_info *c, double when)
{
	struct sample from, to;
	struct window w = { .seconds = 0 };

	if (was && when > then) {
		from = sample_now(was);
		to = sample_now(c);
		if (!sample_difference(&from, &to, &w))
			w = (struct window){ .seconds = 0 };
		else
			w.seconds = when - then;
	}
	return rates_in(c, &w);
}

/* ---- For people ---- */

static void print_device(const char *what, unsigned int indent, const struct device_rates *d)
{
	char n[6][SIZE_LEN], t[2][SIZE_LEN], depth[SIZE_LEN];

	snprintf(depth, sizeof(depth), "%.1f", d->depth);
	printf("%*s%-*s %5s %6s %5s %6s %5s %6s %6s %6s %5s\n", indent, "", 15 - indent, what,
	       rate_text(n[0], d->reads), rate_text(n[1], d->writes),
	       rate_text(n[2], d->read_bytes), rate_text(n[3], d->write_bytes),
	       rate_text(n[4], d->request_bytes), time_text(t[0], d->read_ms),
	       time_text(t[1], d->write_ms), isfinite(d->depth) ? depth : "-",
	       percent_text(n[5], d->busy));
}

void print_device_rates(const char *title, unsigned int indent, const struct rates *r)
{
	printf("%-15s %5s %6s %5s %6s %5s %6s %6s %6s %5s\n", title, "r/s", "w/s", "rB/s",
	       "wB/s", "size", "r", "w", "depth", "util%");
	print_device("volume", indent, &r->volume);
	print_device("SSD", indent, &r->ssd);
	print_device("origin", indent, &r->origin);
}

/* ---- JSON ---- */

static void json_device_rates(const char *key, const struct device_rates *d)
{
	json_begin(key, '{');
	json_real("reads_per_second", d->reads);
	json_real("writes_per_second", d->writes);
	json_real("read_bytes_per_second", d->read_bytes);
	json_real("write_bytes_per_second", d->write_bytes);
	json_real("request_bytes", d->request_bytes);
	json_real("read_ms", d->read_ms);
	json_real("write_ms", d->write_ms);
	json_real("depth", d->depth);
	json_real("util", d->busy);
	json_end();
}

void json_rates_of_devices(const struct rates *r)
{
	json_device_rates("volume", &r->volume);
	json_device_rates("cache_device", &r->ssd);
	json_device_rates("origin", &r->origin);
}
