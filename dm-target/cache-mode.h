/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mode of a cache says what it promises.  Its health says what it can still do.
 */
#ifndef HEARTH_CACHE_MODE_H
#define HEARTH_CACHE_MODE_H

#include <linux/types.h>

enum dm_cache_mode {
	MODE_WRITETHROUGH,	/* writes go to both devices */
	MODE_WRITEAROUND,	/* the same, and only reads promote */
	MODE_PASSTHROUGH,	/* the origin serves everything but dirty blocks */
	/*
	 * Two modes keep dirty blocks.  They are adjacent, because then one comparison
	 * finds either.
	 */
	MODE_WRITEBACK,		/* a write that hits goes to the cache device alone */
	MODE_WRITEONLY,		/* the same, and only writes promote */
};

/* The names of the modes, as tables, messages and the status have them. */
extern const char * const cache_mode_names[MODE_WRITEONLY + 1];

/* Set when the engine is brought up.  After that only cache-degrade.c changes it. */
enum cache_health {
	HEALTH_GOOD,
	HEALTH_READ_ONLY,	/* the metadata cannot be changed, and is needed */
	HEALTH_HOLDING,		/* given up, but the disk still maps blocks: writes wait */
	HEALTH_BYPASS,		/* given up: the origin serves everything */
};

/* The mode and the health of an engine.  Hits read the mode. */
struct cache_state {
	bool discard_passdown;		/* discards go to the origin; set while suspended */
	/* In effect.  A resume, the message "mode" and cache-degrade.c set it. */
	enum dm_cache_mode mode;
	enum cache_health health;	/* written under md.lock */
	enum dm_cache_mode table_mode;	/* the table's; set while suspended */
};

/**
 * cache_mode_keeps_dirty() - may the cache device be newer than the origin in a mode?
 * @mode: the mode
 *
 * Context: any.
 */
static inline bool cache_mode_keeps_dirty(enum dm_cache_mode mode)
{
	return mode == MODE_WRITEBACK || mode == MODE_WRITEONLY;
}

#endif
