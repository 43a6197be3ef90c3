// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the subcommands and their options, one row each.  It must not know the
 * parser.
 */
#include <string.h>

#include "options.h"
#include "report.h"

#define TO(member)	offsetof(struct options, member)
#define JSON	{ "json", 0, NULL, FLAG, TO(json), 0, 0, 0, "print JSON" }
#define END	{ NULL }
#define DRY_RUN	{ "dry-run", 0, NULL, FLAG, TO(dry), 0, 0, 0, \
		  "print the commands, and change nothing" }

/* The name is the word that users search for.  Scripts may have the former name, --block. */
#define BLOCKSIZE(help)	{ "blocksize", 0, "KIB", REAL, TO(block), 32, 1048576, 0, help, "block" }

/* zpool-iostat(8) has the same option. */
#define STAMP	{ "timestamp", 'T', "d|u", WORD, TO(stamp), 0, 0, OFFER_STAMPS, \
		  "print the date, or the seconds since 1970, before each look" }

/* lvs(8) has the same options. */
#define REPORT								\
	{ "options", 'o', "FIELDS", WORD, TO(fields), 0, 0, OFFER_FIELDS, \
	  "print these columns, with commas; +FIELDS: as well; help lists them" }, \
	{ "sort", 'O', "FIELDS", WORD, TO(keys), 0, 0, OFFER_FIELDS, \
	  "sort lines by these columns; -FIELD: downwards" },		\
	{ "select", 'S', "SELECTION", WORD, TO(selection), 0, 0, 0,	\
	  "print lines for which this holds; help explains it" },	\
	{ "units", 0, "UNIT", WORD, TO(units), 0, 0, OFFER_UNITS,		\
	  "of sizes: h (default), b, s, k, m, g, t, p or e; capitals are powers of 1000" }, \
	{ "nosuffix", 0, NULL, FLAG, TO(no_suffix), 0, 0, 0,		\
	  "print sizes without their unit" },				\
	{ "noheadings", 0, NULL, FLAG, TO(no_headings), 0, 0, 0,	\
	  "print no headings" },					\
	{ "separator", 0, "TEXT", WORD, TO(separator), 0, 0, 0,		\
	  "print TEXT between two columns, which are not aligned then" }, \
	{ "reportformat", 0, "FORMAT", WORD, TO(report_format), 0, 0, OFFER_REPORTS, \
	  "basic (default) or json" }

const struct subcommand subcommands[] = {
	{ "status", hearth_status, "[CACHE]", 0, 1, { OFFER_CACHES },
	  "show how a cache is doing, or all of them",
	  (const struct row[]){
		JSON, REPORT,
		{ "since", 0, "MARK", WORD, TO(since), 0, 0, OFFER_MARKS,
		  "count from this mark on, or from begin, or for 30m, 6h or 1d" },
		END }, .fields = status_fields },
	{ "mark", hearth_mark, "[NAME [CACHE]]", 0, 2, { OFFER_MARKS, OFFER_CACHES },
	  "remember the counters, for status --since",
	  (const struct row[]){
		JSON,
		{ "delete", 0, NULL, FLAG, TO(remove), 0, 0, 0, "forget the mark NAME" },
		END } },
	{ "iostat", hearth_iostat, "[CACHE] [INTERVAL [COUNT]]", 0, 3, { OFFER_CACHES },
	  "print rates, of intervals as well",
	  (const struct row[]){
		JSON, REPORT,
		{ "script", 'H', NULL, FLAG, TO(script), 0, 0, 0,
		  "for scripts: no headings, and a tab between two columns" },
		{ "parsable", 'p', NULL, FLAG, TO(exact), 0, 0, 0,
		  "print bytes as whole numbers" },
		STAMP,
		{ "omit-first", 'y', NULL, FLAG, TO(skip_first), 0, 0, 0,
		  "begin with the first interval" },
		END }, .fields = iostat_fields },
	{ "top", hearth_top, "[CACHE] [INTERVAL [COUNT]]", 0, 3, { OFFER_CACHES },
	  "show what all caches do, live",
	  (const struct row[]){
		JSON,
		{ "batch", 0, NULL, FLAG, TO(batch), 0, 0, 0,
		  "print one table after the other" },
		{ "interval", 0, "SECONDS", REAL, TO(interval), .1, 86400, 0,
		  "seconds between two tables (default 2)" },
		{ "count", 0, "N", COUNT, TO(count), 1, 1e9, 0,
		  "end after N tables (default: do not end)" },
		{ "sort", 'O', "COLUMN", WORD, TO(sort), 0, 0, OFFER_COLUMNS,
		  "sort lines by this column (default: name)" },
		STAMP,
		END } },
	{ "get", hearth_get, "CACHE [KEY]...", 1, 64, { OFFER_CACHES, OFFER_KEYS },
	  "show mode, policy and settings",
	  (const struct row[]){ JSON, REPORT, END }, .fields = get_fields },
	{ "set", hearth_set, "CACHE [KEY=VALUE]...", 1, 64, { OFFER_CACHES, OFFER_PAIRS },
	  "change mode, policy and settings",
	  (const struct row[]){
		JSON,
		{ "preset", 0, "NAME", WORD, TO(preset), 0, 0, OFFER_PRESETS,
		  "set what the preset has; hearth(8) describes each" },
		DRY_RUN,
		END }, hearth_set_help },
	{ "drain", hearth_drain, "CACHE", 1, 1, { OFFER_CACHES },
	  "write all dirty blocks back",
	  (const struct row[]){
		JSON,
		{ "stay", 0, NULL, FLAG, TO(stay), 0, 0, 0,
		  "stay in writethrough mode, so that nothing gets dirty" },
		END } },
	{ "settle", hearth_settle, "CACHE", 0, 1, { OFFER_CACHES },
	  "empty the write log for other kernels",
	  (const struct row[]){ JSON,
		{ "all", 0, NULL, FLAG, TO(all), 0, 0, 0,
		  "all active caches; names the stopped ones with a log" },
		END } },
	{ "split", hearth_split, "VG/LV", 1, 1, { OFFER_CACHES },
	  "write back, and detach the cache but keep it",
	  (const struct row[]){ JSON, END } },
	{ "uncache", hearth_uncache, "VG/LV", 1, 1, { OFFER_CACHES },
	  "write back and remove the cache",
	  (const struct row[]){ JSON, END } },
	{ "cache", hearth_cache, "VG/LV DEVICE", 2, 2, { OFFER_NOTHING, OFFER_FILES },
	  "make a cache for a volume on a bare SSD",
	  (const struct row[]){
		JSON,
		{ "size", 0, "GIB", REAL, TO(size), .001, 1e9, 0,
		  "size of the cache (default: all that is free on DEVICE)" },
		BLOCKSIZE("size of its blocks (default: 64, more for a large cache)"),
		{ "mode", 0, "MODE", WORD, TO(mode), 0, 0, OFFER_MODES,
		  "as of hearth set (default: writethrough)" },
		{ "preset", 0, "NAME", WORD, TO(preset), 0, 0, OFFER_PRESETS,
		  "set what the preset has; hearth(8) describes each" },
		{ "force", 0, NULL, FLAG, TO(force), 0, 0, 0,
		  "take a rotating disk, or the volume's own" },
		DRY_RUN,
		END } },
	{ "replace-ssd", hearth_replace, "VG/LV DEVICE", 2, 2, { OFFER_CACHES, OFFER_FILES },
	  "put the same cache on another device",
	  (const struct row[]){
		JSON,
		{ "size", 0, "GIB", REAL, TO(size), .001, 1e9, 0,
		  "size of the new cache (default: that of the old one)" },
		{ "force", 0, NULL, FLAG, TO(force), 0, 0, 0,
		  "take a rotating disk; give up a missing SSD's data" },
		END } },
	{ "origin", hearth_origin, "CACHE", 1, 1, { OFFER_CACHES },
	  "say which is right: cache or origin",
	  (const struct row[]){
		JSON,
		{ "keep", 0, "WHICH", WORD, TO(keep), 0, 0, OFFER_SIDES,
		  "cache or origin: which is right if they differ" },
		{ "yes", 0, NULL, FLAG, TO(yes), 0, 0, 0,
		  "with --keep: do not ask" },
		END } },
	{ "verify", hearth_verify, "CACHE", 1, 1, { OFFER_CACHES },
	  "compare all clean blocks with the origin",
	  (const struct row[]){
		JSON,
		{ "sample", 0, "BLOCKS", BLOCKS, TO(sample), 1, 4e9, 0,
		  "compare so many, at random (default: all)" },
		{ "repair", 0, NULL, FLAG, TO(repair), 0, 0, 0,
		  "drop the blocks that differ from the cache" },
		END } },
	{ "report", hearth_report, "[CACHE]", 0, 1, { OFFER_CACHES },
	  "write a page with pictures, for a browser",
	  (const struct row[]){
		{ "output", 'o', "FILE", WORD, TO(file), 0, 0, OFFER_FILES,
		  "write the page to FILE" },
		{ "trace", 0, "TRACE", WORD, TO(trace), 0, 0, OFFER_FILES,
		  "draw the curve of misses that advise computes of this recording" },
		{ "live", 0, "MINUTES", REAL, TO(live_minutes), .01, 10080, 0,
		  "record the requests for so long, and draw it of them" },
		END } },
	{ "export", hearth_export, "", 0, 0, { 0 },
	  "print all counters in Prometheus' format",
	  (const struct row[]){
		{ "file", 0, "FILE", WORD, TO(file), 0, 0, OFFER_FILES,
		  "write them to FILE, which is replaced as a whole" },
		END } },
	{ "monitor", hearth_monitor, "[CACHE]", 0, 1, { OFFER_CACHES },
	  "have dmeventd watch caches and log",
	  (const struct row[]){
		JSON,
		{ "register", 0, NULL, FLAG, TO(enlist), 0, 0, 0,
		  "watch from now on, until the cache is deactivated" },
		{ "unregister", 0, NULL, FLAG, TO(unregister), 0, 0, 0,
		  "do not watch any longer" },
		{ "quiet", 0, NULL, FLAG, TO(quiet), 0, 0, 0,
		  "with --register: print nothing but failures, for udev" },
		END } },
	{ "doctor", hearth_doctor, "", 0, 0, { 0 },
	  "find what is wrong with this machine's caches",
	  (const struct row[]){
		JSON,
		{ "fix", 0, NULL, FLAG, TO(fix), 0, 0, 0,
		  "mend what can be mended without risk; ask before each" },
		{ "yes", 0, NULL, FLAG, TO(yes), 0, 0, 0,
		  "with --fix: do not ask" },
		{ "nagios", 0, NULL, FLAG, TO(nagios), 0, 0, 0,
		  "print one line, and exit as a plugin of Nagios does" },
		{ "kernel", 0, "RELEASE", WORD, TO(kernel), 0, 0, 0,
		  "look only for active caches that this kernel would refuse" },
		{ "quiet", 0, NULL, FLAG, TO(quiet), 0, 0, 0,
		  "with --kernel: print nothing if there is none" },
		END } },
	{ "advise", hearth_advise, "[TRACE]", 0, 1, { OFFER_FILES },
	  "compute a size for the SSD from a recording",
	  (const struct row[]){
		JSON,
		{ "cache", 0, "CACHE", WORD, TO(cache), 0, 0, OFFER_CACHES,
		  "take the sizes that are not given from this cache" },
		{ "live", 0, "VG/LV", WORD, TO(live), 0, 0, OFFER_CACHES,
		  "record the requests to this volume now" },
		{ "minutes", 0, "N", REAL, TO(minutes), .01, 10080, 0,
		  "with --live: how long to record (default 10)" },
		{ "size", 0, "GIB", REAL, TO(size), .001, 1e9, 0,
		  "SSD's size (default: a tenth of the bytes touched)" },
		{ "format", 0, "FORMAT", WORD, TO(format), 0, 0, OFFER_FORMATS,
		  "of TRACE: blkparse, bpftrace, fio, fiolog, spc, msr or bin" },
		BLOCKSIZE("size of the cache's blocks (default 64)"),
		{ "policy", 0, "NAME", WORD, TO(policy), 0, 0, OFFER_POLICIES,
		  "heat (default) or another; see hearth set --help" },
		{ "solid", 0, NULL, FLAG, TO(solid), 0, 0, 0,
		  "the origin is no rotating disk" },
		{ "sample", 0, "BLOCKS", BLOCKS, TO(sample), 1024, 4e9, 0,
		  "number of blocks to look at (default 32768)" },
		{ "svg", 0, "FILE", WORD, TO(svg), 0, 0, OFFER_FILES,
		  "draw misses and disk time over the SSD's size" },
		END } },
	{ "bench", hearth_bench, "VG/LV TRACE [DEVICE]", 2, 3, { OFFER_CACHES, OFFER_FILES },
	  "replay a recording without and with a cache",
	  (const struct row[]){
		JSON,
		{ "size", 0, "GIB", REAL, TO(size), .001, 1e9, 0,
		  "size of the cache (default: today's, or as advised)" },
		BLOCKSIZE("size of its blocks (default: today's, or 64)"),
		{ "mode", 0, "MODE", WORD, TO(mode), 0, 0, OFFER_MODES,
		  "writethrough (default) or writeback" },
		{ "minutes", 0, "N", REAL, TO(minutes), .01, 10080, 0,
		  "end each of the three passes after so long (default 10)" },
		{ "format", 0, "FORMAT", WORD, TO(format), 0, 0, OFFER_FORMATS,
		  "of TRACE: blkparse, bpftrace, fio, fiolog, spc, msr or bin" },
		DRY_RUN,
		END } },
	{ NULL }
};

const struct subcommand *subcommand_find(const char *name)
{
	const struct subcommand *s;

	for (s = subcommands; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

const char *subcommand_field(const struct subcommand *s, unsigned int i, const char **what)
{
	const struct dm_report_field_type *f = s->fields;

	/* The last row has no id, so f does not go past it. */
	while (f && f->id[0] && i--)
		f++;
	if (!f || !f->id[0])
		return NULL;
	*what = f->desc;
	return f->id;
}
