// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth export: prints all counters in Prometheus' text format, version 0.0.4.  They go to
 * stdout, or to a file for node_exporter's textfile collector, which is replaced as a whole.
 *
 * It must not change a cache.  It must not run a command of LVM's that reads disks, because
 * it runs once a minute, and a disk may hang.
 */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache-info.h"
#include "hearth.h"
#include "history.h"
#include "latency.h"
#include "lvm.h"
#include "record.h"
#include "sysfs.h"

#define SECTOR		512

/* ---- One sample a line ---- */

struct out {
	FILE *f;
	const char *name;	/* of the metric */
	const struct cache_info *c;
};

static void put_label_value(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			fputc('\\', f);
		if (*s == '\n')
			fputs("\\n", f);
		else
			fputc(*s, f);
	}
}

static void put_label(FILE *f, const char *label, const char *value)
{
	fprintf(f, ",%s=\"", label);
	put_label_value(f, value);
	fputc('"', f);
}

/* The name of the device's node without the directory, as node_exporter has it. */
static const char *node_of(struct device d, char *node)
{
	const char *slash;

	device_node(d, node);
	slash = strrchr(node, '/');
	return slash ? slash + 1 : node;
}

/* Writes name{cache="...",vg="...",lv="...",device="dm-N", where dm-N is the cached volume. */
static void begin_labels(const struct out *o)
{
	const struct cache_info *c = o->c;
	char node[NODE_LEN];

	fprintf(o->f, "%s{cache=\"", o->name);
	put_label_value(o->f, c->name);
	fputc('"', o->f);
	put_label(o->f, "vg", c->vg);
	put_label(o->f, "lv", c->lv);
	put_label(o->f, "device", node_of((struct device){ c->dm->major, c->dm->minor }, node));
}

/* Begins a sample, with one more label unless @label is NULL. */
static void begin(const struct out *o, const char *label, const char *value)
{
	begin_labels(o);
	if (label)
		put_label(o->f, label, value);
	fputs("} ", o->f);
}

static void sample(const struct out *o, const char *label, const char *value,
		   uint64_t n)
{
	begin(o, label, value);
	fprintf(o->f, "%ju\n", n);
}

/* ---- The metrics ---- */

static void put_info(const struct out *o)
{
	const struct cache_info *c = o->c;
	char ssd[NODE_LEN], origin[NODE_LEN], ssd_disks[600], origin_disks[600];
	char lock_type[32];
	const char *const labels[][2] = {
		{ "mode", c->mode }, { "table_mode", c->table_mode },
		{ "policy", cache_policy_code(c) }, { "table_policy", c->policy },
		{ "health", c->health }, { "engine", c->own ? "hearth" : "kernel" },
		{ "version", c->version },
		{ "ssd", node_of(c->cache_device, ssd) }, { "ssd_disks", ssd_disks },
		{ "origin", node_of(c->origin, origin) }, { "origin_disks", origin_disks },
		{ "ssd_transport", device_transport(c->cache_device) },
		{ "origin_transport", device_transport(c->origin) },
		{ "lock_type", lock_type },
	};
	unsigned int i;

	lvm_lock_type(c->vg, lock_type, sizeof(lock_type));
	device_disks(c->cache_device, ssd_disks, sizeof(ssd_disks));
	device_disks(c->origin, origin_disks, sizeof(origin_disks));
	begin_labels(o);
	for (i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		put_label(o->f, labels[i][0], labels[i][1]);
	fputs("} 1\n", o->f);
}

static void put_healthy(const struct out *o)
{
	sample(o, NULL, NULL, cache_healthy(o->c));
}

static void put_needs_check(const struct out *o)
{
	sample(o, NULL, NULL, o->c->needs_check);
}

static void put_writes_back(const struct out *o)
{
	sample(o, NULL, NULL, cache_writes_back(o->c));
}

static void put_suspended(const struct out *o)
{
	sample(o, NULL, NULL, o->c->dm->suspended);
}

static void put_volume(const struct out *o)
{
	sample(o, NULL, NULL, o->c->dm->length * SECTOR);
}

static void put_block(const struct out *o)
{
	sample(o, NULL, NULL, cache_block_bytes(o->c));
}

static void put_size(const struct out *o)
{
	sample(o, NULL, NULL, o->c->total * cache_block_bytes(o->c));
}

static void put_used(const struct out *o)
{
	sample(o, NULL, NULL, o->c->used * cache_block_bytes(o->c));
}

static void put_dirty(const struct out *o)
{
	sample(o, NULL, NULL, o->c->dirty * cache_block_bytes(o->c));
}

/* 0 without a write log, as with the kernel's own target, which has none. */
static void put_log(const struct out *o)
{
	sample(o, NULL, NULL, cache_log_bytes(o->c));
}

static void put_metadata(const struct out *o)
{
	sample(o, NULL, NULL, o->c->metadata_total *
	       o->c->metadata_block_sectors * SECTOR);
}

static void put_metadata_used(const struct out *o)
{
	sample(o, NULL, NULL, o->c->metadata_used *
	       o->c->metadata_block_sectors * SECTOR);
}

static void put_intents_held(const struct out *o)
{
	sample(o, NULL, NULL, o->c->intents_held);
}

static void put_io_requests(const struct out *o)
{
	sample(o, "op", "read", o->c->count[IO_READS]);
	sample(o, "op", "write", o->c->count[IO_WRITES]);
}

static void put_io_bytes(const struct out *o)
{
	sample(o, "op", "read", o->c->count[IO_READ_SECTORS] * SECTOR);
	sample(o, "op", "write", o->c->count[IO_WRITE_SECTORS] * SECTOR);
}

static void put_io_seconds(const struct out *o)
{
	begin(o, "op", "read");
	fprintf(o->f, "%.3f\n", o->c->count[IO_READ_MS] / 1000.0);
	begin(o, "op", "write");
	fprintf(o->f, "%.3f\n", o->c->count[IO_WRITE_MS] / 1000.0);
}

/* Writes milliseconds as seconds.  @nth is the distance from IO_READS to their counter. */
static void put_device_seconds(const struct out *o, unsigned int nth)
{
	unsigned int i;

	for (i = 0; i < NR_ROLES; i++) {
		begin(o, "role", roles[i].name);
		fprintf(o->f, "%.3f\n", o->c->count[roles[i].reads + nth] / 1000.0);
	}
}

static void device_sample(const struct out *o, const char *role, const char *op, uint64_t n)
{
	begin_labels(o);
	put_label(o->f, "role", role);
	put_label(o->f, "op", op);
	fprintf(o->f, "} %ju\n", n);
}

/*
 * Writes two counters of each device, multiplied by @unit.  @read and @write are their
 * distances from IO_READS.
 */
static void put_device_counts(const struct out *o, unsigned int read, unsigned int write,
			      unsigned int unit)
{
	unsigned int i;

	for (i = 0; i < NR_ROLES; i++) {
		const uint64_t *n = o->c->count + roles[i].reads;

		device_sample(o, roles[i].name, "read", n[read] * unit);
		device_sample(o, roles[i].name, "write", n[write] * unit);
	}
}

static void put_device_requests(const struct out *o)
{
	put_device_counts(o, 0, READS_TO_WRITES, 1);
}

static void put_device_bytes(const struct out *o)
{
	put_device_counts(o, READS_TO_READ_SECTORS, READS_TO_WRITE_SECTORS, SECTOR);
}

static void put_busy(const struct out *o)
{
	put_device_seconds(o, READS_TO_BUSY_MS);
}

static void put_queue(const struct out *o)
{
	put_device_seconds(o, READS_TO_QUEUE_MS);
}

enum unit { COUNT, SECTORS, NANOSECONDS };

/* The metrics that several counters share.  A counter of NOT_GROUPED has its own metric. */
#define METRIC_SYMBOL(symbol, name, type, unit, label, help)	METRIC_##symbol,
enum metric_group {
	NOT_GROUPED,
	CACHE_METRICS(METRIC_SYMBOL)
};

#define IN_GROUP(symbol, name, help, metric, value)			\
	[symbol] = { METRIC_##metric, value },
#define NOTHING(...)
static const struct {
	enum metric_group group;
	const char *value;	/* of the metric's label */
} grouped[FIRST_IO] = {
	CACHE_COUNTERS(NOTHING, IN_GROUP)
};

/* Writes a value in the unit that Prometheus wants.  Counts and bytes stay whole numbers. */
static void put_value(FILE *f, uint64_t n, enum unit unit)
{
	switch (unit) {
	case COUNT:
		fprintf(f, "%ju\n", n);
		return;
	case SECTORS:
		fprintf(f, "%ju\n", n * SECTOR);
		return;
	case NANOSECONDS:
		fprintf(f, "%.9f\n", n / 1e9);
		return;
	}
}

#define OWN_METRIC(symbol, name, help)					\
	{ "hearth_cache_" #name "_total", "counter", help, NULL, symbol,	\
	  symbol >= FIRST_OWN },
#define GROUP_METRIC(symbol, name, type, unit, label, help)		\
	{ "hearth_cache_" #name, type, help, NULL, 0, false,		\
	  METRIC_##symbol, unit, label },

static const struct metric {
	const char *name, *type, *help;
	void (*put)(const struct out *o);	/* writes the samples, unless it is NULL */
	enum counter counter;	/* the value, if put is NULL and group is NOT_GROUPED */
	bool own;		/* only hearth's target counts it */
	enum metric_group group;
	enum unit unit;		/* of the group's counters */
	const char *label;	/* tells the group's counters apart; "": there is one counter */
} metrics[] = {
	{ "hearth_cache_info", "gauge",
	  "Always 1; the labels say how it runs.", put_info, 0, false },
	{ "hearth_cache_healthy", "gauge",
	  "1 if nothing is wrong with it.", put_healthy, 0, false },
	{ "hearth_cache_needs_check", "gauge",
	  "1 if the metadata is marked as needing a check.", put_needs_check, 0, false },
	{ "hearth_cache_writes_back", "gauge",
	  "1 if the table's mode lets blocks become dirty.", put_writes_back, 0, false },
	{ "hearth_cache_suspended", "gauge",
	  "1 while the device is suspended.", put_suspended, 0, false },
	{ "hearth_cache_volume_bytes", "gauge",
	  "Size of the cached volume.", put_volume, 0, false },
	{ "hearth_cache_block_bytes", "gauge",
	  "Size of a block.", put_block, 0, false },
	{ "hearth_cache_size_bytes", "gauge",
	  "Size of the cache device.", put_size, 0, false },
	{ "hearth_cache_used_bytes", "gauge",
	  "Blocks in use.", put_used, 0, false },
	{ "hearth_cache_dirty_bytes", "gauge",
	  "Blocks that the origin does not hold yet.", put_dirty, 0, false },
	{ "hearth_cache_write_log_bytes", "gauge",
	  "Bytes of the cache device that the write log has.", put_log, 0, false },
	{ "hearth_cache_metadata_bytes", "gauge",
	  "Size of the metadata device.", put_metadata, 0, false },
	{ "hearth_cache_metadata_used_bytes", "gauge",
	  "Metadata in use.", put_metadata_used, 0, false },
	CACHE_METRICS(GROUP_METRIC)
	CACHE_COUNTERS(OWN_METRIC, NOTHING)
	{ "hearth_cache_intents_held", "gauge",
	  "Blocks marked dirty on the disk that are not.", put_intents_held, 0,
	  true },
	{ "hearth_volume_requests_total", "counter",
	  "Requests to the cached volume.", put_io_requests, 0, false },
	{ "hearth_volume_bytes_total", "counter",
	  "Bytes read from and written to it.", put_io_bytes, 0, false },
	{ "hearth_volume_seconds_total", "counter",
	  "Time that its requests took, added up.", put_io_seconds, 0, false },
	{ "hearth_device_requests_total", "counter",
	  "Requests to the volume, its SSD and its origin, copies between these two included.",
	  put_device_requests, 0, false },
	{ "hearth_device_bytes_total", "counter",
	  "Bytes of these requests.", put_device_bytes, 0, false },
	{ "hearth_device_busy_seconds_total", "counter",
	  "Time in which the volume, its SSD or its origin had requests under way.",
	  put_busy, 0, false },
	{ "hearth_device_queue_seconds_total", "counter",
	  "That time, counted once for each request under way.", put_queue, 0, false },
};

static void put_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* These metrics are there without any cache, too. */
static void put_build(FILE *f)
{
	put_head(f, "hearth_build_info", "gauge", "Always 1; the label is the command's version.");
	fputs("hearth_build_info{version=\"" HEARTH_VERSION "\"} 1\n", f);
	put_head(f, "hearth_export_time_seconds", "gauge",
		 "When this was written, in seconds since 1970.");
	fprintf(f, "hearth_export_time_seconds %jd\n", (intmax_t)time(NULL));
}

static void put_group(const struct out *o, const struct metric *m)
{
	const char *label = m->label[0] ? m->label : NULL;
	unsigned int i;

	for (i = 0; i < FIRST_IO; i++) {
		if (grouped[i].group != m->group || (i >= FIRST_OWN && !o->c->own))
			continue;
		begin(o, label, grouped[i].value);
		put_value(o->f, o->c->count[i], m->unit);
	}
}

/* Begins a sample of a histogram; @what is "_bucket" and the like. */
static void begin_part(const struct out *o, const char *what, const struct metric *m,
		       enum cache_latency kind, const char *limit)
{
	char name[64];
	struct out part = *o;

	snprintf(name, sizeof(name), "%s%s", o->name, what);
	part.name = name;
	begin_labels(&part);
	put_label(o->f, m->label, grouped[TIMED_READ_HITS + kind].value);
	if (limit)
		put_label(o->f, "le", limit);
	fputs("} ", o->f);
}

static void put_latency(const struct out *o, const struct metric *m, enum cache_latency kind)
{
	const uint64_t *buckets = latency_buckets(o->c->count, kind);
	uint64_t sum = 0;
	char limit[32];
	unsigned int i;

	for (i = 0; i < CACHE_LATENCY_BUCKETS; i++) {
		sum += buckets[i];
		snprintf(limit, sizeof(limit), "%.9f", CACHE_LATENCY_LIMIT(i) / 1e9);
		begin_part(o, "_bucket", m, kind,
			   i < CACHE_LATENCY_BUCKETS - 1 ? limit : "+Inf");
		put_value(o->f, sum, COUNT);
	}
	begin_part(o, "_sum", m, kind, NULL);
	put_value(o->f, o->c->count[READ_HITS_NS + kind], m->unit);
	begin_part(o, "_count", m, kind, NULL);
	put_value(o->f, sum, COUNT);
}

static void put_histogram(const struct out *o, const struct metric *m)
{
	unsigned int kind;

	for (kind = 0; kind < NR_CACHE_LATENCIES && o->c->own; kind++)
		put_latency(o, m, kind);
}

static void put_metric(FILE *f, const struct metric *m, const struct caches *cs)
{
	unsigned int i;

	put_head(f, m->name, m->type, m->help);
	for (i = 0; i < cs->nr; i++) {
		struct out o = { .f = f, .name = m->name, .c = &cs->all[i] };

		if (m->own && !o.c->own)
			continue;
		if (m->put)
			m->put(&o);
		else if (m->group == METRIC_TIMES)
			put_histogram(&o, m);
		else if (m->group)
			put_group(&o, m);
		else
			sample(&o, NULL, NULL, o.c->count[m->counter]);
	}
}

/* The whole text, allocated.  NULL if the caches cannot be read; @code is not EXIT_OK then. */
static char *collect(size_t *len, int *code)
{
	static struct history h;
	struct caches cs;
	char *text = NULL;
	size_t i;
	FILE *f;

	*code = caches_read(&cs);
	if (*code)
		return NULL;
	f = open_memstream(&text, len);
	if (!f)
		abort();
	put_build(f);
	for (i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		put_metric(f, &metrics[i], &cs);
	fclose(f);
	for (i = 0; i < cs.nr; i++) {
		history_update(&h, &cs.all[i]);
		record_keep(&cs.all[i]);
	}
	caches_free(&cs);
	return text;
}

/* ---- To a file ---- */

static bool write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			len -= n;
		}
	}
	return true;
}

/* Replaces the file, so that a reader sees the old text or the new one. */
static int to_file(const char *path, const char *text, size_t len)
{
	char *copy = strdup(path), *temporary;
	bool ok;
	int fd;

	/* The name does not end in .prom, because the textfile collector would read it. */
	if (!copy || asprintf(&temporary, "%s/.hearth-XXXXXX", dirname(copy)) < 0)
		abort();
	fd = mkstemp(temporary);
	ok = fd >= 0 && write_all(fd, text, len) && !fchmod(fd, 0644);
	if (fd >= 0)
		ok = !close(fd) && ok;
	ok = ok && !rename(temporary, path);
	if (!ok) {
		complain("%s: %s", path, strerror(errno));
		if (fd >= 0)
			unlink(temporary);
	}
	free(copy);
	free(temporary);
	return ok ? EXIT_OK : EXIT_FAILED;
}

int hearth_export(const struct options *o)
{
	size_t len;
	char *text;
	int code;

	text = collect(&len, &code);
	if (!text)
		return code;
	if (o->file)
		code = to_file(o->file, text, len);
	else
		fwrite(text, 1, len, stdout);
	free(text);
	return code;
}
