// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last minute, five minutes, hour and day.  The minute comes from the history in /run,
 * because that is finer, and the day from the record in /var, because that outlives a
 * restart.  The other two come from the one whose window is nearer to the span.
 *
 * It must not print.
 */
#include <math.h>
#include <stdlib.h>

#include "record.h"
#include "windows.h"

#define MINUTE		60.0
#define HOUR		3600.0
#define DAY		86400.0

static double distance(const struct window *w, double seconds)
{
	return w->seconds ? fabs(w->seconds - seconds) : INFINITY;
}

static struct window either(const struct history *h, const struct record *r,
			    double seconds)
{
	struct window fine = history_window(h, seconds), kept = record_window(r, seconds);

	return distance(&kept, seconds) < distance(&fine, seconds) ? kept : fine;
}

void windows_read(struct windows *w, const struct cache_info *c)
{
	struct history *h = calloc(1, sizeof(*h));
	struct record r;

	if (!h)
		abort();
	history_update(h, c);
	record_keep(c);
	record_read(&r, c);
	w->minute = history_window(h, MINUTE);
	w->five_minutes = either(h, &r, 5 * MINUTE);
	w->hour = either(h, &r, HOUR);
	w->day = record_window(&r, DAY);
	record_free(&r);
	free(h);
}
