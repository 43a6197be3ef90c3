// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth export: all counters in Prometheus' text format, version 0.0.4, to
 * stdout, or to a file that is replaced as a whole, for node_exporter's textfile
 * collector.
 *
 * It must not change a cache, or run a command of LVM's.
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

/* As node_exporter names it: without the directory. */
static const char *node_of(struct device d, char *node)
{
	const char *slash;

	device_node(d, node);
	slash = strrchr(node, '/');
	return slash ? slash + 1 : node;
}

/*
 * Writes name{cache="...",vg="...",lv="...",device="dm-N"; the device is the cached
 * volume's.
 */
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

/* With one more label; if it is NULL, without. */
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
	const char *const labels[][2] = {
		{ "mode", c->mode }, { "table_mode", c->table_mode },
		{ "policy", cache_policy_code(c) }, { "table_policy", c->policy },
		{ "health", c->health }, { "engine", c->own ? "hearth" : "kernel" },
		{ "version", c->version },
		{ "ssd", node_of(c->cache_device, ssd) }, { "ssd_disks", ssd_disks },
		{ "origin", node_of(c->origin, origin) }, { "origin_disks", origin_disks },
	};
	unsigned int i;

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

static void put_hits(const struct out *o)
{
	sample(o, "op", "read", o->c->count[READ_HITS]);
	sample(o, "op", "write", o->c->count[WRITE_HITS]);
}

static void put_misses(const struct out *o)
{
	sample(o, "op", "read", o->c->count[READ_MISSES]);
	sample(o, "op", "write", o->c->count[WRITE_MISSES]);
}

static void put_bypasses(const struct out *o)
{
	unsigned int i;

	for (i = FIRST_BYPASS; i <= LAST_BYPASS; i++)
		sample(o, "reason", counter_names[i] + strlen("bypass_"),
		       o->c->count[i]);
}

static void put_errors(const struct out *o)
{
	sample(o, "kind", "cache_read", o->c->count[CACHE_READ_ERRORS]);
	sample(o, "kind", "cache_write", o->c->count[CACHE_WRITE_ERRORS]);
	sample(o, "kind", "origin", o->c->count[ORIGIN_ERRORS]);
}

static void put_written(const struct out *o)
{
	sample(o, NULL, NULL, o->c->count[CACHE_SECTORS_WRITTEN] * SECTOR);
}

static void put_intents_held(const struct out *o)
{
	sample(o, NULL, NULL, o->c->intents_held);
}

/* The kinds of timed requests, in the order of their counters. */
static const char * const timed[TIMED_TO_NS] = {
	"read_hit", "read_miss", "write_hit", "write_miss"
};

static void put_timed(const struct out *o)
{
	unsigned int i;

	for (i = 0; i < TIMED_TO_NS; i++)
		sample(o, "kind", timed[i], o->c->count[TIMED_READ_HITS + i]);
}

static void put_timed_seconds(const struct out *o)
{
	unsigned int i;

	for (i = 0; i < TIMED_TO_NS; i++) {
		begin(o, "kind", timed[i]);
		fprintf(o->f, "%.9f\n", o->c->count[READ_HITS_NS + i] / 1e9);
	}
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

/* @nth is a distance from IO_READS, to milliseconds. */
static void put_device_seconds(const struct out *o, unsigned int nth)
{
	static const struct {
		const char *role;
		enum counter first;
	} devices[] = {
		{ "volume", IO_READS }, { "ssd", FAST_READS }, { "origin", ORIGIN_READS },
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		begin(o, "role", devices[i].role);
		fprintf(o->f, "%.3f\n", o->c->count[devices[i].first + nth] / 1000.0);
	}
}

static void put_busy(const struct out *o)
{
	put_device_seconds(o, READS_TO_BUSY_MS);
}

static void put_queue(const struct out *o)
{
	put_device_seconds(o, READS_TO_QUEUE_MS);
}

#define METRIC(symbol, name, help)					\
	{ "hearth_cache_" #name "_total", "counter", help, NULL, symbol,	\
	  symbol >= FIRST_OWN },
#define NO_METRIC(symbol, name, help)

static const struct metric {
	const char *name, *type, *help;
	void (*put)(const struct out *o);
	enum counter counter;	/* the value, if put is NULL */
	bool own;		/* only hearth's target counts it */
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
	{ "hearth_cache_metadata_bytes", "gauge",
	  "Size of the metadata device.", put_metadata, 0, false },
	{ "hearth_cache_metadata_used_bytes", "gauge",
	  "Metadata in use.", put_metadata_used, 0, false },
	{ "hearth_cache_hits_total", "counter",
	  "Requests, cut at blocks, that were hits.", put_hits, 0, false },
	{ "hearth_cache_misses_total", "counter",
	  "Requests, cut at blocks, that were misses.", put_misses, 0, false },
	CACHE_COUNTERS(METRIC, NO_METRIC)
	{ "hearth_cache_bypasses_total", "counter",
	  "Misses that were not promoted.", put_bypasses, 0, true },
	{ "hearth_cache_written_bytes_total", "counter",
	  "Written to the cache device.", put_written, 0, true },
	{ "hearth_cache_intents_held", "gauge",
	  "Blocks marked dirty on the disk that are not.", put_intents_held, 0,
	  true },
	{ "hearth_cache_errors_total", "counter",
	  "Errors of devices.", put_errors, 0, true },
	{ "hearth_cache_retired_blocks", "gauge",
	  "Blocks of the cache device that could not be written.", NULL,
	  RETIRED_BLOCKS, true },
	{ "hearth_cache_timed_requests_total", "counter",
	  "Requests, cut at blocks, that were timed: a sample.", put_timed, 0,
	  true },
	{ "hearth_cache_timed_seconds_total", "counter",
	  "Time that those took, added up.", put_timed_seconds, 0, true },
	{ "hearth_volume_requests_total", "counter",
	  "Requests to the cached volume.", put_io_requests, 0, false },
	{ "hearth_volume_bytes_total", "counter",
	  "Bytes read from and written to it.", put_io_bytes, 0, false },
	{ "hearth_volume_seconds_total", "counter",
	  "Time that its requests took, added up.", put_io_seconds, 0, false },
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

/* These are true without any cache. */
static void put_build(FILE *f)
{
	put_head(f, "hearth_build_info", "gauge", "Always 1; the label is the command's version.");
	fputs("hearth_build_info{version=\"" HEARTH_VERSION "\"} 1\n", f);
	put_head(f, "hearth_export_time_seconds", "gauge",
		 "When this was written, in seconds since 1970.");
	fprintf(f, "hearth_export_time_seconds %jd\n", (intmax_t)time(NULL));
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
		else
			sample(&o, NULL, NULL, o.c->count[m->counter]);
	}
}

/* The whole text, allocated.  NULL, and @code is set, if caches cannot be read. */
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

/* A reader sees the old text or the new one. */
static int to_file(const char *path, const char *text, size_t len)
{
	char *copy = strdup(path), *temporary;
	bool ok;
	int fd;

	/* Not named *.prom, or the textfile collector would read it. */
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
