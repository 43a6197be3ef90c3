/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one list of the target's own settings. From it are made the members of struct
 * cache_limits, their defaults, the keys of tables and messages, and the settings in
 * the status line. The man page and the help of hearth set are made from it, too, and
 * bash's completion asks that help. Policies have such lists of their own, in
 * policies/.
 *
 * SETTING(key, unit, default, min, max, help). The default of max_intents depends on
 * the cache's size and mode, and 0 stands for it; see reset_tunables(). The upper bounds
 * keep typing errors out and the record's text short. None was chosen by measurement.
 */
#ifndef HEARTH_CACHE_SETTING_LIST_H
#define HEARTH_CACHE_SETTING_LIST_H

#define CACHE_SETTINGS(SETTING)						\
	/* as the kernel's own target */				\
	SETTING(migration_threshold, "sectors", 2048, 0, U32_MAX,	\
		"in promotions by writes and write-backs at a time")	\
	/* with a block of 64 KiB, 256 KiB: a disk's usual readahead */	\
	SETTING(promote_ahead, "sectors", 384, 0, 8192,			\
		"behind a block that a read promotes, while slots are free") \
	SETTING(max_promote_mbps, "MB/s", 0, 0, 1000000,		\
		"written to the cache device by promotions; 0: no limit") \
	/* the other half is for hits; not chosen by measurement */	\
	SETTING(max_promote_share, "percent", 50, 1, 100,		\
		"of the cache device's time that promotions may take")	\
	SETTING(promote_idle, "0 or 1", 0, 0, 1,			\
		"1: requests of the idle I/O class bring blocks in, too") \
	SETTING(fail_open, "0 or 1", 1, 0, 1,				\
		"1: writes go on when a failed cache cannot be invalidated") \
	SETTING(max_intents, "blocks", 0, 1, U32_MAX,			\
		"copied needlessly after a power cut, at most")		\
	/* so that evictions find clean blocks; not chosen by measurement */ \
	SETTING(dirty_high, "percent", 50, 0, 100,			\
		"of the blocks dirty: more are written back in any case") \
	/* the gap is for batches; not chosen by measurement */		\
	SETTING(dirty_low, "percent", 45, 0, 100,			\
		"of the blocks dirty: down to this they are written back then") \
	SETTING(dirty_limit, "percent", 100, 1, 100,			\
		"of the blocks dirty at most; other writes go to the origin") \
	/* with 1, one tick without a request is enough; not chosen by measurement */ \
	SETTING(writeback_idle, "seconds", 2, 0, 86400,			\
		"without requests after which all is written back; 0: never") \
	SETTING(absorb, "0 or 1", 0, 0, 1,				\
		"1: in writeback and writeonly, small writes that miss go to the cache device") \
	/* a thousand extents and more of most disks; not chosen by measurement */ \
	SETTING(settle_seconds, "seconds", 5, 0, 86400,			\
		"that the write log has to go home when the cache is removed") \
	/* with a block of 64 KiB, 2 MiB from each device */		\
	SETTING(origin_check, "blocks", 32, 0, 1024,			\
		"compared with the origin at activation; 0: none")

#endif
