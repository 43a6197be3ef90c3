/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings of nhit; seq_cutoff comes with the clock.
 *
 * SETTING(key, unit, default, min, max, help). The policy's structure, its
 * defaults, its table, its module's aliases, the man page and the help of hearth
 * set are made from this list.
 */
#ifndef HEARTH_NHIT_SETTINGS_H
#define HEARTH_NHIT_SETTINGS_H

/*
 * Not chosen by measurement. With fewer visits, more blocks are promoted that do not come
 * back. Until trigger is reached, slots are free, and a promotion evicts nothing.
 */
#define NHIT_SETTINGS(SETTING)						\
	SETTING(visits, "", 3, 2, 1000, "promote a block at this visit") \
	SETTING(trigger, "%", 80, 0, 100,				\
		"promote everything until so much of the cache is used")

#endif
