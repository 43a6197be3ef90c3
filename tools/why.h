/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines for people: the one that says why something failed, and those of a report.
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

/* Passes a line of a report, without a newline, to @say, which may be NULL. */
static inline void __printf(3, 0) say_line(void (*say)(void *ctx,
						       const char *msg),
					   void *ctx, const char *fmt,
					   va_list ap)
{
	char msg[512];

	if (!say)
		return;
	vsnprintf(msg, sizeof(msg), fmt, ap);
	say(ctx, msg);
}

#endif
