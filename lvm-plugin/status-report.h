/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hearth status as a line a cache.
 */
#ifndef HEARTH_PLUGIN_STATUS_REPORT_H
#define HEARTH_PLUGIN_STATUS_REPORT_H

#include "cache-info.h"
#include "hearth.h"

/* Prints the columns that @o asks for, of the @nr caches at @all.  An exit code. */
int status_report(const struct options *o, const struct cache_info *all,
		  unsigned int nr);

#endif
