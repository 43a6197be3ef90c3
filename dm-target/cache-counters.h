/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one list of counters. The target counts, and prints the counters as the
 * answer to the message "stats". hearth(8) reads them by these names and exports
 * them. The man page and the tests are made from this file.
 *
 * A new counter needs a line here, and the place that counts.
 *
 * PLAIN(symbol, name, help) is exported as hearth_cache_NAME_total with @help
 * as its text. GROUPED(symbol, name, help, METRIC, value) is a sample of a metric
 * of CACHE_METRICS, with @value as its label. A macro that takes both kinds is
 * (symbol, name, help, ...).
 *
 * The answer has the counters in the order of this list. Code depends on it in four
 * places: the status line has the counters before writebacks, too; the reasons not to
 * promote go from bypass_cold to bypass_race; and the numbers of timed requests, and
 * then their times, are in the order of the histograms in cache-latency.h.
 */
#ifndef HEARTH_CACHE_COUNTERS_H
#define HEARTH_CACHE_COUNTERS_H

/*
 * METRIC(symbol, name, type, unit, label, help): the counters that name @symbol are
 * exported as hearth_cache_NAME.  @type is the type of the metric in Prometheus.
 * @unit is COUNT; SECTORS, exported as bytes; or NANOSECONDS, exported as seconds.
 * @label is the label that tells the counters apart, "" if there is only one.  The
 * histogram has the buckets of cache-latency.h.
 */
#define CACHE_METRICS(METRIC)						\
	METRIC(HITS, hits_total, "counter", COUNT, "op",		\
	       "Requests, cut at blocks, that were hits.")		\
	METRIC(MISSES, misses_total, "counter", COUNT, "op",		\
	       "Requests, cut at blocks, that were misses.")		\
	METRIC(BYPASSES, bypasses_total, "counter", COUNT, "reason",	\
	       "Misses that were not promoted.")			\
	METRIC(WRITTEN, written_bytes_total, "counter", SECTORS, "",	\
	       "Written to the cache device.")				\
	METRIC(ERRORS, errors_total, "counter", COUNT, "kind",		\
	       "Errors of devices.")					\
	METRIC(RETIRED, retired_blocks, "gauge", COUNT, "",		\
	       "Blocks of the cache device that could not be written.")	\
	METRIC(TIMES, request_seconds, "histogram", NANOSECONDS, "kind", \
	       "Times of requests, cut at blocks, that were timed: a sample.")

#define CACHE_COUNTERS(PLAIN, GROUPED)					\
	GROUPED(READ_HITS, read_hits,					\
		"Reads, cut at blocks, that the cache device served.",	\
		HITS, "read")						\
	GROUPED(READ_MISSES, read_misses,				\
		"Reads, cut at blocks, that the origin served.",	\
		MISSES, "read")						\
	GROUPED(WRITE_HITS, write_hits,					\
		"Writes, cut at blocks, to blocks that were cached.",	\
		HITS, "write")						\
	GROUPED(WRITE_MISSES, write_misses,				\
		"Writes, cut at blocks, to blocks that were not cached.", \
		MISSES, "write")					\
	PLAIN(PROMOTIONS, promotions, "Blocks brought in.")		\
	PLAIN(DEMOTIONS, demotions, "Blocks that made room.")		\
	PLAIN(WRITEBACKS, writebacks,					\
		"Dirty blocks written to the origin.")			\
	PLAIN(INVALIDATIONS, invalidations, "Blocks thrown out.")	\
	PLAIN(PROMOTIONS_ABORTED, promotions_aborted,			\
		"Promotions that were given up.")			\
	GROUPED(RETIRED_BLOCKS, retired_blocks,				\
		"Cache blocks that could not be written; unused until the next activation.", \
		RETIRED, "")						\
	GROUPED(BYPASS_COLD, bypass_cold,				\
		"Misses not promoted: not seen often enough.",		\
		BYPASSES, "cold")					\
	GROUPED(BYPASS_STREAM, bypass_stream,				\
		"Misses not promoted: part of a sequential stream.",	\
		BYPASSES, "stream")					\
	GROUPED(BYPASS_IDLE, bypass_idle,				\
		"Misses not promoted: of the idle I/O class.",		\
		BYPASSES, "idle")					\
	GROUPED(BYPASS_LIMIT, bypass_limit,				\
		"Misses not promoted: a limit of the policy.",		\
		BYPASSES, "limit")					\
	GROUPED(BYPASS_POLICY, bypass_policy,				\
		"Misses not promoted: the policy or the mode never promotes them.", \
		BYPASSES, "policy")					\
	GROUPED(BYPASS_BUSY, bypass_busy,				\
		"Misses not promoted: migration_threshold was reached, or a drain ran.", \
		BYPASSES, "busy")					\
	GROUPED(BYPASS_RATE, bypass_rate,				\
		"Misses not promoted: max_promote_mbps was reached.",	\
		BYPASSES, "rate")					\
	GROUPED(BYPASS_SHARE, bypass_share,				\
		"Misses not promoted: max_promote_share was reached.",	\
		BYPASSES, "share")					\
	GROUPED(BYPASS_NO_SLOT, bypass_no_slot,				\
		"Misses not promoted: no block was free yet.",		\
		BYPASSES, "no_slot")					\
	GROUPED(BYPASS_DIRTY, bypass_dirty,				\
		"Misses not promoted: dirty_limit was reached.",	\
		BYPASSES, "dirty")					\
	GROUPED(BYPASS_RACE, bypass_race,				\
		"Misses not promoted: a write to the origin was in flight.", \
		BYPASSES, "race")					\
	PLAIN(COMMITS, commits, "Commits of the metadata.")		\
	PLAIN(INTENTS, intents,						\
		"Writes that waited for a dirty bit on the disk.")	\
	GROUPED(CACHE_READ_ERRORS, cache_read_errors,			\
		"Reads that the cache device failed.",			\
		ERRORS, "cache_read")					\
	GROUPED(CACHE_WRITE_ERRORS, cache_write_errors,			\
		"Writes that the cache device failed.",			\
		ERRORS, "cache_write")					\
	GROUPED(ORIGIN_ERRORS, origin_errors,				\
		"Requests that the origin failed.",			\
		ERRORS, "origin")					\
	GROUPED(CACHE_SECTORS_WRITTEN, cache_sectors_written,		\
		"Sectors written to the cache device.",			\
		WRITTEN, "")						\
	PLAIN(LOG_WRITES, log_writes,					\
		"Writes that missed, and went into the write log.")	\
	PLAIN(LOG_READS, log_reads,					\
		"Reads that the write log served.")			\
	PLAIN(LOG_HOME, log_home,					\
		"Extents that went from the write log to the origin.")	\
	PLAIN(LOG_MOVED, log_moved,					\
		"Blocks that went from the write log into the cache.")	\
	PLAIN(LOG_RING_SECTORS, log_ring_sectors,			\
		"Sectors written to the write log's ring.")		\
	GROUPED(TIMED_READ_HITS, timed_read_hits,			\
		"Read hits that were timed: of every 64th block.",	\
		TIMES, "read_hit")					\
	GROUPED(TIMED_READ_MISSES, timed_read_misses,			\
		"Read misses that were timed.",				\
		TIMES, "read_miss")					\
	GROUPED(TIMED_WRITE_HITS, timed_write_hits,			\
		"Write hits that were timed.",				\
		TIMES, "write_hit")					\
	GROUPED(TIMED_WRITE_MISSES, timed_write_misses,			\
		"Write misses that were timed.",			\
		TIMES, "write_miss")					\
	GROUPED(TIMED_ABSORBED, timed_absorbed,				\
		"Writes that were timed, and went into the write log.",	\
		TIMES, "absorbed")					\
	GROUPED(TIMED_CACHE_FLUSHES, timed_cache_flushes,		\
		"Flushes of the cache device, all of which are timed.",	\
		TIMES, "cache_flush")					\
	GROUPED(TIMED_ORIGIN_FLUSHES, timed_origin_flushes,		\
		"Flushes of the origin, all of which are timed.",	\
		TIMES, "origin_flush")					\
	GROUPED(READ_HITS_NS, read_hits_ns,				\
		"Nanoseconds that the timed read hits took.",		\
		TIMES, "read_hit")					\
	GROUPED(READ_MISSES_NS, read_misses_ns,				\
		"Nanoseconds that the timed read misses took.",		\
		TIMES, "read_miss")					\
	GROUPED(WRITE_HITS_NS, write_hits_ns,				\
		"Nanoseconds that the timed write hits took.",		\
		TIMES, "write_hit")					\
	GROUPED(WRITE_MISSES_NS, write_misses_ns,			\
		"Nanoseconds that the timed write misses took.",	\
		TIMES, "write_miss")					\
	GROUPED(ABSORBED_NS, absorbed_ns,				\
		"Nanoseconds that the timed writes into the write log took.", \
		TIMES, "absorbed")					\
	GROUPED(CACHE_FLUSHES_NS, cache_flushes_ns,			\
		"Nanoseconds that the flushes of the cache device took.", \
		TIMES, "cache_flush")					\
	GROUPED(ORIGIN_FLUSHES_NS, origin_flushes_ns,			\
		"Nanoseconds that the flushes of the origin took.",	\
		TIMES, "origin_flush")

#endif
