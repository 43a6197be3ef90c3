/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadlines that are kept for as long as the machine runs.
 *
 * time_before() is wrong about an instant that is half of all jiffies old, and a
 * 32-bit kernel has counted these after 25 to 99 days.  So a deadline counts only
 * while it is as near as it was when it was set.  This file knows no cache.
 */
#ifndef DM_CACHE_INSTANT_H
#define DM_CACHE_INSTANT_H

#include "../os/os.h"

/**
 * instant_is_ahead() - is a deadline still to come?
 * @at: the deadline, in jiffies
 * @now: jiffies
 * @most: so many jiffies it was ahead at most when it was set
 *
 * Context: any.
 */
static inline bool instant_is_ahead(unsigned long at, unsigned long now,
				    unsigned long most)
{
	/* At the deadline itself the difference is the largest number. */
	return at - now - 1 < most;
}

#endif
