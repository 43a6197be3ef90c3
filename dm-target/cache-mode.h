/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mode of a cache is what it promises, its health what it can still do.
 */
#ifndef HEARTH_CACHE_MODE_H
#define HEARTH_CACHE_MODE_H

#include <linux/types.h>

enum dm_cache_mode {
	MODE_WRITETHROUGH,
	MODE_WRITEAROUND,
	MODE_PASSTHROUGH,
	/* These keep dirty blocks.  Adjacent, so that one comparison finds either. */
	MODE_WRITEBACK,
	MODE_WRITEONLY,
};

extern const char * const cache_mode_names[MODE_WRITEONLY + 1];

/* Worsened by cache-degrade.c only; set when the engine is brought up. */
enum cache_health {
	HEALTH_GOOD,
	HEALTH_READ_ONLY,	/* the metadata cannot be changed, and is needed */
	HEALTH_HOLDING,		/* given up, but the metadata does not say so */
	HEALTH_BYPASS,		/* given up: the origin serves everything */
};

/* The mode and the health of an engine.  Hits read the mode. */
struct cache_state {
	bool discard_passdown;		/* to the origin; set while suspended */
	enum dm_cache_mode mode;	/* in effect; see cache-settings.c, cache-degrade.c */
	enum cache_health health;	/* written under md.lock, by cache-degrade.c */
	enum dm_cache_mode table_mode;	/* as the table says; set while suspended */
};

/* May the cache device be newer than the origin? */
static inline bool cache_mode_keeps_dirty(enum dm_cache_mode mode)
{
	return mode == MODE_WRITEBACK || mode == MODE_WRITEONLY;
}

#endif
