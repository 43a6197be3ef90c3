/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings of heat.
 *
 * SETTING(key, unit, default, min, max, help). The policy's structure, its
 * defaults, its table, its module's aliases, the man page and the help of hearth
 * set are made from this list.
 */
#ifndef HEARTH_HEAT_SETTINGS_H
#define HEARTH_HEAT_SETTINGS_H

#include "clock-settings.h"

/*
 * docs/policies.md has what levels 1 to 3 promote and save, and PRICE_SIXTEENTHS the
 * price of each level.
 */
#define HEAT_MAX_LEVEL		5
#define HEAT_DEFAULT_LEVEL	2

#define HEAT_SETTINGS(SETTING)						\
	SETTING(read_level, "", HEAT_DEFAULT_LEVEL, 0, HEAT_MAX_LEVEL,	\
		"what reads must earn: 0 nothing, to 5 half as much again as the mean promotion") \
	SETTING(write_level, "", HEAT_DEFAULT_LEVEL, 0, HEAT_MAX_LEVEL,	\
		"the same for writes to part of a block; at least what reading the rest costs") \
	SETTING(full_write_level, "", HEAT_DEFAULT_LEVEL, 0, HEAT_MAX_LEVEL, \
		"the same for writes that need no read of the origin")	\
	SEQ_CUTOFF_SETTING(SETTING)					\
	SETTING(seq_again, "", 1, 0, 1,					\
		"1 promotes streams that repeat within a cache size of misses, if that earns hits")

#endif
