/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The line that says why something failed, for callers that show it to people.
 * User space only.
 */

#ifndef HEARTH_WHY_H
#define HEARTH_WHY_H

#include "../os/os.h"

/* Stores the line in @why, which has @room bytes.  Returns @r. */
static inline int __printf(4, 5) why_failed(char *why, size_t room, int r,
					    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, room, fmt, ap);
	va_end(ap);
	return r;
}

#endif
