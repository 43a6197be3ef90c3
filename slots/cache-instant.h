/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadlines that are kept for as long as the machine runs.
 *
 * time_before() takes a deadline for one that is still to come when it is older than
 * half of the jiffies that there are.  A 32-bit kernel counts that half in 25 to 249
 * days.  So here a deadline counts as ahead only while it is as near as it was when it
 * was set.  This file must not know of any cache.
 */
#ifndef DM_CACHE_INSTANT_H
#define DM_CACHE_INSTANT_H

#include "../os/os.h"

/**
 * instant_is_ahead() - is a deadline still to come?
 * @at: the deadline, in jiffies
 * @now: the time now, in jiffies
 * @most: the largest distance, in jiffies, that @at can have had when it was set
 *
 * Context: any.
 */
static inline bool instant_is_ahead(unsigned long at, unsigned long now,
				    unsigned long most)
{
	/* At the deadline itself the difference wraps to the largest number. */
	return at - now - 1 < most;
}

#endif
