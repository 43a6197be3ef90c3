/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one list of counters. The target counts them and prints them for the
 * message "stats"; hearth(8) reads them by these names and exports them; the man
 * page and the tests have them from this file.
 *
 * To add a counter: a line here, and the place that counts.
 *
 * PLAIN(symbol, name, help) is exported as hearth_cache_NAME_total with @help
 * as its text. GROUPED(symbol, name, help) shares a metric with others of its
 * kind, see lvm-plugin/export.c. The order is that of the message, and the
 * places that follow name ranges of it: bypass_cold to bypass_race, and the
 * four requests that are timed, then their times in the same order.
 */
#ifndef HEARTH_CACHE_COUNTERS_H
#define HEARTH_CACHE_COUNTERS_H

#define CACHE_COUNTERS(PLAIN, GROUPED)					\
	GROUPED(READ_HITS, read_hits,					\
		"Reads, cut at blocks, that the cache device served.")	\
	GROUPED(READ_MISSES, read_misses,				\
		"Reads, cut at blocks, that the origin served.")	\
	GROUPED(WRITE_HITS, write_hits,					\
		"Writes, cut at blocks, to blocks that were cached.")	\
	GROUPED(WRITE_MISSES, write_misses,				\
		"Writes, cut at blocks, to blocks that were not cached.") \
	PLAIN(PROMOTIONS, promotions, "Blocks brought in.")		\
	PLAIN(DEMOTIONS, demotions, "Blocks that made room.")		\
	PLAIN(WRITEBACKS, writebacks,					\
		"Dirty blocks written to the origin.")			\
	PLAIN(INVALIDATIONS, invalidations, "Blocks thrown out.")	\
	PLAIN(PROMOTIONS_ABORTED, promotions_aborted,			\
		"Promotions that were given up.")			\
	GROUPED(RETIRED_BLOCKS, retired_blocks,				\
		"Cache blocks that could not be written; unused until the next activation.") \
	GROUPED(BYPASS_COLD, bypass_cold,				\
		"Misses not promoted: not seen often enough.")		\
	GROUPED(BYPASS_STREAM, bypass_stream,				\
		"Misses not promoted: part of a sequential stream.")	\
	GROUPED(BYPASS_LIMIT, bypass_limit,				\
		"Misses not promoted: a limit of the policy.")		\
	GROUPED(BYPASS_POLICY, bypass_policy,				\
		"Misses not promoted: the policy or the mode never promotes them.") \
	GROUPED(BYPASS_BUSY, bypass_busy,				\
		"Misses not promoted: migration_threshold was reached.") \
	GROUPED(BYPASS_RATE, bypass_rate,				\
		"Misses not promoted: max_promote_mbps was reached.")	\
	GROUPED(BYPASS_SHARE, bypass_share,				\
		"Misses not promoted: max_promote_share was reached.")	\
	GROUPED(BYPASS_NO_SLOT, bypass_no_slot,				\
		"Misses not promoted: no block was free yet.")		\
	GROUPED(BYPASS_DIRTY, bypass_dirty,				\
		"Misses not promoted: dirty_limit was reached.")	\
	GROUPED(BYPASS_RACE, bypass_race,				\
		"Misses not promoted: a write to the origin was in flight.") \
	PLAIN(COMMITS, commits, "Commits of the metadata.")		\
	PLAIN(INTENTS, intents,						\
		"Writes that waited for a dirty bit on the disk.")	\
	GROUPED(CACHE_READ_ERRORS, cache_read_errors,			\
		"Reads that the cache device failed.")			\
	GROUPED(CACHE_WRITE_ERRORS, cache_write_errors,			\
		"Writes that the cache device failed.")			\
	GROUPED(ORIGIN_ERRORS, origin_errors,				\
		"Requests that the origin failed.")			\
	GROUPED(CACHE_SECTORS_WRITTEN, cache_sectors_written,		\
		"Sectors written to the cache device.")			\
	PLAIN(LOG_WRITES, log_writes,					\
		"Writes that missed, and went into the write log.")	\
	PLAIN(LOG_READS, log_reads,					\
		"Reads that the write log served.")			\
	PLAIN(LOG_HOME, log_home,					\
		"Extents that went from the write log to the origin.")	\
	PLAIN(LOG_RING_SECTORS, log_ring_sectors,			\
		"Sectors written to the write log's ring.")		\
	GROUPED(TIMED_READ_HITS, timed_read_hits,			\
		"Read hits that were timed: of every 64th block.")	\
	GROUPED(TIMED_READ_MISSES, timed_read_misses,			\
		"Read misses that were timed.")				\
	GROUPED(TIMED_WRITE_HITS, timed_write_hits,			\
		"Write hits that were timed.")				\
	GROUPED(TIMED_WRITE_MISSES, timed_write_misses,			\
		"Write misses that were timed.")			\
	GROUPED(READ_HITS_NS, read_hits_ns,				\
		"Nanoseconds that the timed read hits took.")		\
	GROUPED(READ_MISSES_NS, read_misses_ns,				\
		"Nanoseconds that the timed read misses took.")		\
	GROUPED(WRITE_HITS_NS, write_hits_ns,				\
		"Nanoseconds that the timed write hits took.")		\
	GROUPED(WRITE_MISSES_NS, write_misses_ns,			\
		"Nanoseconds that the timed write misses took.")

#endif
