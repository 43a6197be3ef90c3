// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a table with another mode or policy for a cache made by hand, and loads it while
 * the cache is in use.
 *
 * It must not know LVM.
 */
#include <stdlib.h>
#include <string.h>

#include "hearth.h"
#include "table.h"

/* Copies the features, with @mode in the place of the mode among them; NULL keeps that mode. */
static void put_features(FILE *out, char **rest, const char *mode)
{
	char *w = strtok_r(NULL, " ", rest), *words[16];
	unsigned long nr = w ? strtoul(w, NULL, 10) : 0, i, kept = 0;
	const char *had = "writethrough";

	for (i = 0; i < nr; i++) {
		w = strtok_r(NULL, " ", rest);
		if (!w)
			break;
		if (is_cache_mode(w))
			had = w;
		else if (kept < 16)
			words[kept++] = w;
	}
	fprintf(out, " %lu", kept + 1);
	for (i = 0; i < kept; i++)
		fprintf(out, " %s", words[i]);
	fprintf(out, " %s", mode ?: had);
}

char *table_with(const struct cache_info *c, const char *mode, const char *policy)
{
	char *copy = strdup(c->dm->table), *rest = NULL, *w, *table = NULL;
	size_t len;
	FILE *out = open_memstream(&table, &len);
	int i;

	if (!copy || !out)
		abort();
	/* The first four words are metadata, cache device, origin and the sectors of a block. */
	fputs(strtok_r(copy, " ", &rest) ?: "", out);
	for (i = 0; i < 3; i++)
		fprintf(out, " %s", strtok_r(NULL, " ", &rest) ?: "");
	put_features(out, &rest, mode);
	w = strtok_r(NULL, " ", &rest);
	fprintf(out, " %s", policy ?: w ?: "default");
	if (policy && !strcmp(policy, "cleaner"))
		fputs(" 0", out);
	else
		fprintf(out, " %s", rest && *rest ? rest : "0");
	fclose(out);
	free(copy);
	return table;
}

/* Looks at the device.  After an error its table is NULL. */
static struct dm_device look(const struct cache_info *c)
{
	struct dm_device d;

	dm_look(c->dm->name, &d);
	free(d.status);
	d.status = NULL;
	return d;
}

static bool has_other_table(const struct dm_device *d, const struct dm_device *other)
{
	return d->table && other->table && strcmp(d->table, other->table);
}

static void tell_of_suspended(const struct cache_info *c, const char *table, const char *why)
{
	complain("%s: it is suspended, and all I/O to it waits, because its new table '%s' does not resume: %s",
		 c->name, table, why);
	complain("%s: see dmesg for the reason; when that is mended, 'dmsetup resume %s'",
		 c->name, c->dm->name);
	complain("%s: or put the former table back: 'dmsetup reload %s --table \"%ju %ju cache %s\"', then 'dmsetup resume %s'",
		 c->name, c->dm->name, c->dm->start, c->dm->length, c->dm->table, c->dm->name);
}

/* Tells of a table that was not loaded, or does not run; @error: of dm_replace().  An exit code. */
static int judge(const struct cache_info *c, const char *table, int error,
		 const struct dm_device *before)
{
	struct dm_device d;
	char why[400];
	int r = EXIT_FAILED;

	/* The next question to libdevmapper takes its words away. */
	snprintf(why, sizeof(why), "%s %s", strerror(-error), dm_error());
	d = look(c);
	/* If the device was suspended before, it is not known why it is so now. */
	if (d.suspended && !c->dm->suspended)
		tell_of_suspended(c, table, why);
	else if (!d.suspended && has_other_table(&d, before))
		r = EXIT_OK;	/* the second resume succeeded */
	else
		complain("%s: the table '%s' was refused: %s", c->name, table, why);
	free(d.table);
	return r;
}

int table_load(const struct cache_info *c, const char *table)
{
	struct dm_device before;
	int r;

	if (!c->dm->alone) {
		complain("%s: its table has more than one target; change it with dmsetup",
			 c->name);
		return EXIT_FAILED;
	}
	before = look(c);
	r = dm_replace(c->dm, "cache", table);
	r = r ? judge(c, table, r, &before) : EXIT_OK;
	free(before.table);
	return r;
}
