/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines for people: the one that says why something failed, and those of a report.
 * User space only.
 */

#ifndef HEARTH_WHY_H
#define HEARTH_WHY_H

#include "../os/os.h"

/**
 * why_failed() - store the line that says why something failed
 * @why: receives the line; what does not fit is cut off
 * @room: bytes of @why
 * @r: the error
 * @fmt: the line, without a newline, as of printf()
 *
 * Return: @r.
 */
static inline int __printf(4, 5) why_failed(char *why, size_t room, int r,
					    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, room, fmt, ap);
	va_end(ap);
	return r;
}

/**
 * say_line() - pass a line of a report on
 * @say: is called with the line, which is cut off at 511 bytes; may be NULL
 * @ctx: first argument of @say
 * @fmt: the line, without a newline, as of vprintf()
 * @ap: its arguments
 */
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
