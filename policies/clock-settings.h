/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The setting that every policy with a sequential cutoff has; lru has no other.
 * create() sets it to 0 where the origin has no seeks, because a stream costs
 * such a device no less than other requests do.
 *
 * SETTING(key, unit, default, min, max, help). The policy's structure, its
 * defaults, its table, its module's aliases, the man page and the help of hearth
 * set are made from this list.
 */
#ifndef HEARTH_CLOCK_SETTINGS_H
#define HEARTH_CLOCK_SETTINGS_H

/*
 * With a higher default, more of each stream would get into the cache. With a lower one,
 * short runs would pass by, too, and a disk has to seek for each of them. Not chosen by
 * measurement.
 */
#define SEQ_CUTOFF_SETTING(SETTING)					\
	SETTING(seq_cutoff, "KiB", 64, 0, 1 << 20,			\
		"bypass sequential streams after this much; 0 never does")

#endif
