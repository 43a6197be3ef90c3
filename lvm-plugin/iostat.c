// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth iostat: a line for each cache with its rates, for people and scripts.  The first
 * look shows the rates since the activation, each further look those of the interval.
 *
 * It must not change a cache, or run a command of LVM's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache-info.h"
#include "intervals.h"
#include "rates.h"
#include "report.h"
#include "text.h"

/* One line; a member is a column. */
struct line {
	const char *name, *mode, *health;
	struct rates r;
	uint64_t volume_read, volume_write, volume_size;	/* bytes */
	uint64_t ssd_read, ssd_write, ssd_size, origin_read, origin_write, origin_size;
	struct latency_columns times;
	double used, dirty;
};

/* The columns of one device: requests, bytes, means, the queue. */
#define DEVICE(of, id, head, what)					\
	REAL_NUMBER(r.of.reads, id "_reads", head "r/s", "Reads a second of " what), \
	REAL_NUMBER(r.of.writes, id "_writes", head "w/s", "Writes a second of " what), \
	BYTES(of ## _read, id "_read_bytes", head "rB/s", "Bytes read a second from " what), \
	BYTES(of ## _write, id "_write_bytes", head "wB/s", "Bytes written a second to " what), \
	BYTES(of ## _size, id "_request_size", head "size", "Mean size of a request to " what), \
	REAL_NUMBER(r.of.read_ms, id "_read_ms", head "r_ms", "Mean time of a read of " what), \
	REAL_NUMBER(r.of.write_ms, id "_write_ms", head "w_ms", "Mean time of a write of " what), \
	REAL_NUMBER(r.of.depth, id "_depth", head "depth", "Mean number of requests under way at " what), \
	PERCENT(r.of.busy, id "_util", head "util%", "Share of time with requests under way at " what)

#define LATENCY(symbol, name)	LATENCY_FIELDS(times, symbol, name)

const struct dm_report_field_type iostat_fields[] = {
	TEXT(name, "name", "Cache", "VG/LV, or the device-mapper name"),
	TEXT(mode, "mode", "Mode", "Mode in effect"),
	TEXT(health, "health", "Health", "Health; good, unless something failed"),
	REAL_NUMBER(r.seconds, "seconds", "Seconds", "Length of the interval"),
	DEVICE(volume, "volume", "", "the volume"),
	DEVICE(ssd, "ssd", "SSD ", "the SSD"),
	DEVICE(origin, "origin", "Orig ", "the origin"),
	PERCENT(r.hits, "hit_percent", "Hit%", "Share of hits among reads and writes"),
	PERCENT(r.read_hits, "read_hit_percent", "RHit%", "Share of hits among reads"),
	PERCENT(r.write_hits, "write_hit_percent", "WHit%", "Share of hits among writes"),
	CACHE_LATENCIES(LATENCY)
	REAL_NUMBER(r.promotions, "promotions", "Prom/s", "Blocks promoted a second"),
	REAL_NUMBER(r.demotions, "demotions", "Demo/s", "Blocks demoted a second"),
	REAL_NUMBER(r.writebacks, "writebacks", "Back/s", "Blocks written back a second"),
	REAL_NUMBER(r.bypasses, "bypasses", "Pass/s", "Misses a second that were not promoted"),
	PERCENT(used, "used_percent", "Used%", "Share of the cache that is used"),
	PERCENT(dirty, "dirty_percent", "Dirty%", "Share of the used blocks that is dirty"),
	{ 0 }
};

#define COLUMNS	"name,volume_reads,volume_writes,volume_read_bytes,volume_write_bytes," \
		"hit_percent,volume_read_ms,volume_write_ms,ssd_util,origin_util"

/* ---- Lines ---- */

static uint64_t whole(double n)
{
	return isfinite(n) ? (uint64_t)(n + 0.5) : UNKNOWN;
}

static void fill(struct line *l, const struct cache_info *c)
{
	l->times = latency_columns(l->r.latency);
	l->name = c->name;
	l->mode = c->mode;
	l->health = c->health;
	l->volume_read = whole(l->r.volume.read_bytes);
	l->volume_write = whole(l->r.volume.write_bytes);
	l->volume_size = whole(l->r.volume.request_bytes);
	l->ssd_read = whole(l->r.ssd.read_bytes);
	l->ssd_write = whole(l->r.ssd.write_bytes);
	l->ssd_size = whole(l->r.ssd.request_bytes);
	l->origin_read = whole(l->r.origin.read_bytes);
	l->origin_write = whole(l->r.origin.write_bytes);
	l->origin_size = whole(l->r.origin.request_bytes);
	l->used = share(c->used, c->total);
	l->dirty = share(c->dirty, c->used);
}

struct look {
	struct caches cs;
	double when;
};

static struct line *lines_of(const struct look *l, const struct look *was)
{
	struct line *lines = calloc(l->cs.nr ?: 1, sizeof(*lines));
	const struct cache_info *c;
	unsigned int i;

	if (!lines)
		abort();
	for (i = 0; i < l->cs.nr; i++) {
		c = &l->cs.all[i];
		lines[i].r = was->when ?
			rates_between(caches_find(&was->cs, c->dm->name),
				      was->when, c, l->when) :
			rates_since_activation(c);
		fill(&lines[i], c);
	}
	return lines;
}

/* ---- JSON, a line for each look ---- */

static void json_line(const struct line *l)
{
	json_begin(NULL, '{');
	json_string("name", l->name);
	json_string("mode", l->mode);
	json_string("health", l->health);
	json_real("seconds", l->r.seconds);
	json_rates_of_devices(&l->r);
	json_latencies("latency", l->r.latency);
	json_real("hit_ratio", l->r.hits);
	json_real("read_hit_ratio", l->r.read_hits);
	json_real("write_hit_ratio", l->r.write_hits);
	json_real("promotions_per_second", l->r.promotions);
	json_real("demotions_per_second", l->r.demotions);
	json_real("writebacks_per_second", l->r.writebacks);
	json_real("bypasses_per_second", l->r.bypasses);
	json_real("used", l->used);
	json_real("dirty", l->dirty);
	json_end();
}

static void json_look(const struct line *lines, unsigned int nr, bool since)
{
	unsigned int i;

	json_one_line();
	json_begin(NULL, '{');
	json_time("time");
	json_bool("since_activation", since);
	json_begin("caches", '[');
	for (i = 0; i < nr; i++)
		json_line(&lines[i]);
	json_end();
	json_end();
}

/* ---- Tables ---- */

/* A copy of @o, to which the options are added that -H and -p stand for. */
static struct options for_report(const struct options *o)
{
	struct options as = *o;

	if (o->script) {
		as.no_headings = true;
		as.separator = o->separator ?: "\t";
	}
	if (o->exact) {
		as.units = o->units ?: "b";
		as.no_suffix = true;
	}
	return as;
}

static int print_table(const struct options *o, struct line *lines, unsigned int nr)
{
	struct options as = for_report(o);
	struct report *r;
	unsigned int i;

	r = report_open(&as, "cache", iostat_fields, COLUMNS, "name");
	if (!r)
		return EXIT_USAGE;
	/* A number that is not known is "-", because scripts count words. */
	report_unknown(r, "-");
	for (i = 0; i < nr; i++)
		report_add(r, &lines[i]);
	intervals_stamp(o);
	report_show(r);
	report_close(r);
	return EXIT_OK;
}

/* ---- The subcommand ---- */

static int look(const struct intervals *v, struct look *l)
{
	int r = caches_select(&l->cs, v->cache);

	l->when = now();
	return r;
}

static int show(const struct options *o, const struct look *l, const struct look *was)
{
	struct line *lines = lines_of(l, was);
	int r = EXIT_OK;

	if (o->json)
		json_look(lines, l->cs.nr, !was->when);
	else
		r = print_table(o, lines, l->cs.nr);
	fflush(stdout);
	free(lines);
	return r;
}

static int looks(const struct options *o, const struct intervals *v)
{
	struct look l = { .when = 0 }, was = { .when = 0 };
	unsigned long n = 0;
	int r;

	for (;;) {
		r = look(v, &l);
		if (r)
			break;
		if (was.when || !o->skip_first) {
			r = show(o, &l, &was);
			n++;
		}
		caches_free(&was.cs);
		was = l;
		if (r || !v->seconds || n == v->count || ferror(stdout) ||
		    pause_for(v->seconds))
			break;
	}
	caches_free(&was.cs);
	return r;
}

int hearth_iostat(const struct options *o)
{
	struct intervals v = { .count = 0 };

	if (!intervals_take(&v, o))
		return EXIT_USAGE;
	if (o->skip_first && !v.seconds) {
		complain("-y leaves out what there is without an INTERVAL");
		return EXIT_USAGE;
	}
	catch_signals();
	return looks(o, &v);
}
