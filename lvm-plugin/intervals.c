// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes the arguments [CACHE] [INTERVAL [COUNT]], and prints the time of a look.  If the
 * first argument is a number, it is the interval.
 *
 * It must not look whether there is such a cache.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "intervals.h"

#define LEAST		0.1	/* seconds of an interval */
#define MOST		86400.0	/* the same */
#define MOST_LOOKS	1e9

/* A volume of LVM's has a slash in its name, so only the name of another could be a number. */
static bool is_number(const char *text)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	strtod(text, &end);
	return !*end;
}

static bool take(const char *what, const char *text, double min, double max,
		 double *value)
{
	*value = is_number(text) ? strtod(text, NULL) : -1;
	if (*value >= min && *value <= max)
		return true;
	complain("%s %s: must be a number from %g to %g", what, text, min, max);
	return false;
}

bool intervals_take(struct intervals *v, const struct options *o)
{
	char **args = o->args;
	int nr = o->nr_args;
	double count;

	if (o->stamp && strcmp(o->stamp, "d") && strcmp(o->stamp, "u")) {
		complain("-T %s: there are d and u", o->stamp);
		return false;
	}
	if (nr && !is_number(args[0])) {
		v->cache = args[0];
		args++;
		nr--;
	}
	if (nr > 2) {
		complain("%s: one argument too many", args[2]);
		return false;
	}
	if (nr && !take("INTERVAL", args[0], LEAST, MOST, &v->seconds))
		return false;
	if (nr < 2)
		return true;
	if (!take("COUNT", args[1], 1, MOST_LOOKS, &count))
		return false;
	v->count = count;
	return true;
}

void intervals_stamp(const struct options *o)
{
	char text[64];
	time_t t = time(NULL);

	if (!o->stamp)
		return;
	if (*o->stamp == 'u')
		snprintf(text, sizeof(text), "%jd", (intmax_t)t);
	else
		strftime(text, sizeof(text), "%c", localtime(&t));
	puts(text);
}
