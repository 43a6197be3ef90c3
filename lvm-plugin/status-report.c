// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth status with a line for each cache: all its columns, and their values.
 *
 * It must not change a cache, or run a command of LVM's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "presets.h"
#include "report.h"
#include "status-report.h"
#include "sysfs.h"
#include "text.h"

#define SECTOR		512
#define DISKS_LEN	600

/* One line; a member is a column. */
struct line {
	const char *name, *vg, *lv, *dm_name, *pool;
	const char *engine, *version, *health, *mode, *table_mode, *policy, *policy_code;
	const char *needs_check, *suspended;
	const char *preset, *log;
	char *settings;
	char node[NODE_LEN], ssd[NODE_LEN], metadata[NODE_LEN], origin[NODE_LEN];
	char ssd_disks[DISKS_LEN], metadata_disks[DISKS_LEN], origin_disks[DISKS_LEN];
	const char *at[7];	/* the seven strings above, because a column is a pointer */
	uint64_t volume, size, data, used, dirty, block, log_size;	/* bytes */
	uint64_t data_blocks;
	double used_share, dirty_share, metadata_share;
	double hits, read_hits, write_hits, minute_hits, five_minute_hits, hour_hits, day_hits,
	       wear;
	uint64_t read_us, write_us;	/* means, microseconds */
	struct latency_columns times;
	uint64_t count[FIRST_IO];	/* a counter that is not known is UNKNOWN */
};

enum { NODE, SSD, METADATA, ORIGIN, SSD_DISKS, METADATA_DISKS, ORIGIN_DISKS };

#define COUNTER(symbol, name, help, ...) \
	NUMBER(count[symbol], #name, #name, help),
#define LATENCY(symbol, name)	LATENCY_FIELDS(times, symbol, name)

const struct dm_report_field_type status_fields[] = {
	TEXT(name, "name", "Cache", "VG/LV, or the device-mapper name"),
	TEXT(vg, "vg", "VG", "Volume group"),
	TEXT(lv, "lv", "LV", "Logical volume"),
	TEXT(dm_name, "dm_name", "DM name", "Device-mapper name"),
	TEXT(at[NODE], "device", "Device", "The cached volume's node"),
	TEXT(pool, "pool", "Pool", "LVM's pool or volume that holds the cache"),
	TEXT(engine, "engine", "Engine", "hearth, or kernel for the kernel's own target"),
	TEXT(version, "version", "Version", "Version of the engine"),
	TEXT(health, "health", "Health", "Health; good, unless something failed"),
	TEXT(needs_check, "needs_check", "Check", "needs-check if the metadata is marked so"),
	TEXT(suspended, "suspended", "Susp", "suspended if it is"),
	TEXT(mode, "mode", "Mode", "Mode in effect"),
	TEXT(table_mode, "table_mode", "Table mode", "Mode of the table, which LVM keeps"),
	TEXT(policy, "policy", "Table policy", "Policy, by the name in the table"),
	TEXT(policy_code, "policy_code", "Policy", "The code that runs as the policy"),
	TEXT(preset, "preset", "Preset", "The preset that mode and settings agree with"),
	TEXT(settings, "settings", "Settings", "All settings in effect"),
	TEXT(at[SSD], "ssd", "SSD", "Device with the cached blocks"),
	TEXT(at[SSD_DISKS], "ssd_disks", "SSD disks", "Disks below it"),
	TEXT(at[METADATA], "metadata", "Metadata", "Device with the metadata"),
	TEXT(at[METADATA_DISKS], "metadata_disks", "Meta disks", "Disks below it"),
	TEXT(at[ORIGIN], "origin", "Origin", "Device that is cached"),
	TEXT(at[ORIGIN_DISKS], "origin_disks", "Origin disks", "Disks below it"),
	BYTES(volume, "volume_size", "Volume", "Size of the volume"),
	BYTES(size, "cache_size", "Cache size", "Size of the cache"),
	BYTES(data, "data_size", "Room", "Bytes of the cache that may hold data now; the rest is kept free, or the write log's"),
	NUMBER(data_blocks, "data_blocks", "Blocks", "The same in blocks"),
	BYTES(used, "used_size", "Used", "Bytes that are cached"),
	BYTES(dirty, "dirty_size", "Dirty", "Bytes that the origin does not hold yet"),
	TEXT(log, "write_log", "Log", "State of the write log"),
	BYTES(log_size, "write_log_size", "Log size", "Bytes of the cache that the write log has"),
	BYTES(block, "block_size", "Block", "Size of a block"),
	PERCENT(used_share, "used_percent", "Used%", "Share of the cache that is used"),
	PERCENT(dirty_share, "dirty_percent", "Dirty%", "Share of the used blocks that is dirty"),
	PERCENT(metadata_share, "metadata_percent", "Meta%", "Share of the metadata device that is used"),
	PERCENT(hits, "hit_percent", "Hit%", "Share of hits among reads and writes"),
	PERCENT(read_hits, "read_hit_percent", "RHit%", "Share of hits among reads"),
	PERCENT(write_hits, "write_hit_percent", "WHit%", "Share of hits among writes"),
	PERCENT(minute_hits, "minute_hit_percent", "Min%", "Share of hits in the last minute"),
	PERCENT(five_minute_hits, "five_minute_hit_percent", "5min%", "Share of hits in the last five minutes"),
	PERCENT(hour_hits, "hour_hit_percent", "Hour%", "Share of hits in the last hour"),
	PERCENT(day_hits, "day_hit_percent", "Day%", "Share of hits in the last day"),
	PERCENT(wear, "wear_percent", "Wear%", "Bytes written to the SSD, of those that users read and wrote"),
	NUMBER(read_us, "read_us", "Read us", "Mean time of a read since activation, microseconds"),
	NUMBER(write_us, "write_us", "Write us", "Mean time of a write since activation, microseconds"),
	CACHE_LATENCIES(LATENCY)
	CACHE_COUNTERS(COUNTER, COUNTER)
	{ 0 }
};

#define COLUMNS	"name,health,mode,policy_code,cache_size,used_percent,dirty_percent,hit_percent,ssd_disks"

/* ---- A line ---- */

/* @a divided by @b; NAN if @b is 0. */
static double part(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static double hit_part(const uint64_t *n)
{
	double hits = n[READ_HITS] + n[WRITE_HITS];

	return part(hits, hits + n[READ_MISSES] + n[WRITE_MISSES]);
}

static double window_hits(const struct window *w)
{
	return w->seconds ? hit_part(w->count) : NAN;
}

static uint64_t mean_us(uint64_t ms, uint64_t requests)
{
	return requests ? ms * 1000 / requests : UNKNOWN;
}

static char *settings_text(const struct cache_info *c)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	unsigned int i;

	if (!out)
		abort();
	for (i = 0; i < c->nr_settings; i++)
		fprintf(out, "%s%s=%s", i ? "," : "", c->settings[i].key,
			c->settings[i].value);
	fclose(out);
	return text;
}

static void fill_names(struct line *l, const struct cache_info *c)
{
	l->name = c->name;
	l->vg = c->vg;
	l->lv = c->lv;
	l->dm_name = c->dm->name;
	l->pool = c->pool;
	l->engine = c->own ? "hearth" : "kernel";
	l->version = c->version;
	l->health = c->health;
	l->mode = c->mode;
	l->table_mode = c->table_mode;
	l->policy = c->policy;
	l->policy_code = cache_policy_code(c);
	l->needs_check = c->needs_check ? "needs-check" : "";
	l->suspended = c->dm->suspended ? "suspended" : "";
	l->preset = preset_in_effect(c);
	l->log = c->log;
	l->settings = settings_text(c);
}

static void fill_devices(struct line *l, const struct cache_info *c)
{
	device_node((struct device){ c->dm->major, c->dm->minor }, l->node);
	device_name(c->cache_device, l->ssd);
	device_name(c->metadata, l->metadata);
	device_name(c->origin, l->origin);
	device_disks(c->cache_device, l->ssd_disks, DISKS_LEN);
	device_disks(c->metadata, l->metadata_disks, DISKS_LEN);
	device_disks(c->origin, l->origin_disks, DISKS_LEN);
	l->at[NODE] = l->node;
	l->at[SSD] = l->ssd;
	l->at[METADATA] = l->metadata;
	l->at[ORIGIN] = l->origin;
	l->at[SSD_DISKS] = l->ssd_disks;
	l->at[METADATA_DISKS] = l->metadata_disks;
	l->at[ORIGIN_DISKS] = l->origin_disks;
}

static void fill_sizes(struct line *l, const struct cache_info *c)
{
	l->block = cache_block_bytes(c);
	l->volume = c->dm->length * SECTOR;
	l->size = c->total * l->block;
	l->data_blocks = c->data_slots ?: UNKNOWN;
	l->data = c->data_slots ? c->data_slots * l->block : UNKNOWN;
	l->used = c->used * l->block;
	l->dirty = c->dirty * l->block;
	l->log_size = c->log[0] ? cache_log_bytes(c) : UNKNOWN;
	l->used_share = part(c->used, c->total);
	l->dirty_share = c->used ? part(c->dirty, c->used) : 0;
	l->metadata_share = part(c->metadata_used, c->metadata_total);
}

static void fill_counters(struct line *l, const struct cache_info *c,
			  const struct windows *w)
{
	struct latency times[NR_CACHE_LATENCIES];
	const uint64_t *n = c->count;
	unsigned int i;

	l->hits = hit_part(n);
	l->read_hits = part(n[READ_HITS], n[READ_HITS] + n[READ_MISSES]);
	l->write_hits = part(n[WRITE_HITS], n[WRITE_HITS] + n[WRITE_MISSES]);
	l->minute_hits = window_hits(&w->minute);
	l->five_minute_hits = window_hits(&w->five_minutes);
	l->hour_hits = window_hits(&w->hour);
	l->day_hits = window_hits(&w->day);
	l->wear = c->own ? part(n[CACHE_SECTORS_WRITTEN],
				n[IO_READ_SECTORS] + n[IO_WRITE_SECTORS]) : NAN;
	l->read_us = mean_us(n[IO_READ_MS], n[IO_READS]);
	l->write_us = mean_us(n[IO_WRITE_MS], n[IO_WRITES]);
	latencies_of(n, times);
	l->times = latency_columns(times);
	for (i = 0; i < FIRST_IO; i++)
		l->count[i] = c->own || i < FIRST_OWN ? n[i] : UNKNOWN;
}

int status_report(const struct options *o, const struct look *all, unsigned int nr)
{
	struct report *r = report_open(o, "cache", status_fields, COLUMNS, "name");
	struct line *lines = calloc(nr ?: 1, sizeof(*lines));
	unsigned int i;

	if (!lines)
		abort();
	for (i = 0; r && i < nr; i++) {
		fill_names(&lines[i], all[i].c);
		fill_devices(&lines[i], all[i].c);
		fill_sizes(&lines[i], all[i].c);
		fill_counters(&lines[i], all[i].c, &all[i].w);
		report_add(r, &lines[i]);
	}
	if (r) {
		report_show(r);
		report_close(r);
	}
	for (i = 0; i < nr; i++)
		free(lines[i].settings);
	free(lines);
	return r ? EXIT_OK : EXIT_USAGE;
}
