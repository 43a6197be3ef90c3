// SPDX-License-Identifier: GPL-2.0-only
/*
 * /var/lib/hearth/counters/NAME: the counters of a cache, five minutes apart.
 *
 * The first line has the format, the number of counters, the time when the record began, and
 * the device's UUID.  A line "at TIME USED DIRTY COUNTER..." has the blocks in use, the dirty
 * blocks, and the counters as the target and the kernel gave them.  A line "base COUNTER..."
 * has the numbers that are added to the counters of the lines behind it.  It is written when
 * counters begin at zero again, so that the sums go on.  A line "boot ID" has the kernel's boot
 * ID for the lines behind it.  The counts of the last minutes before a restart are lost,
 * because nobody wrote them.
 *
 * One write appends the lines of one moment.  When there are half as many lines again as a
 * day has, the file is written anew with the lines of the last day.
 *
 * dmeventd's plugin runs this as well: it must not print, or end the program.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record.h"
#include "state-file.h"
#include "util.h"

#define DIRECTORY	STATE_DIRECTORY "/counters"
#define FORMAT		"hearth-counters 1"
#define STEP		300.0	/* seconds between two lines */
#define SPAN		(25 * 3600.0)	/* seconds of lines that are kept: a day, and some more */
/* At so many lines the old ones are dropped.  A day has 288; 450 stay below 1 MB. */
#define MAX_LINES	450
#define COUNTER_LEN	21	/* of 64 bits, and a blank */
#define BOOT_LEN	37	/* of a boot ID, with its NUL */
#define LINE_LEN	(32 + (2 + NR_COUNTERS) * COUNTER_LEN)

/* The first counter of each group that begins at zero together; NR_COUNTERS ends the last. */
static const enum counter groups[] = {
	READ_HITS, PROMOTIONS, IO_READS, FAST_READS, ORIGIN_READS, FIRST_BUCKET, NR_COUNTERS
};

/* A record that is being read or written. */
struct file {
	char *path;
	double began;		/* seconds since 1970 */
	/* The state at the last line: base and raw add up to the sums. */
	uint64_t base[NR_COUNTERS], raw[NR_COUNTERS];
	double when;		/* seconds since 1970 */
	uint64_t used, dirty;	/* blocks */
	char boot[BOOT_LEN];	/* "": not known */
	unsigned int lines;	/* lines "at" */
	bool broken;		/* a line makes no sense, and the rest was not read */
};

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* False if the target gave no counters, because it is being replaced or has failed. */
static bool counters_known(const struct cache_info *c)
{
	return !c->failed_line && c->total && !(c->own && !c->words[2]);
}

/* The caller frees the path, also if the result is false. */
static bool set_path(struct file *f, const struct cache_info *c)
{
	f->path = try_root_path(DIRECTORY "/%s", c->dm->name);
	return f->path && state_directory(DIRECTORY);
}

/* ---- Lines ---- */

static bool take_counters(const char *text, uint64_t *count)
{
	unsigned int i;
	char *end;

	for (i = 0; i < NR_COUNTERS; i++) {
		count[i] = strtoull(text, &end, 10);
		if (end == text)
			return false;
		text = end;
	}
	return *text == '\n';
}

static void put_counters(FILE *out, const uint64_t *count)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++)
		fprintf(out, " %ju", count[i]);
	fputc('\n', out);
}

/* Takes a line into @f.  False if it is cut off, or is no line of this format. */
static bool take_line(struct file *f, const char *line)
{
	char *end;

	if (!strncmp(line, "base ", 5))
		return take_counters(line + 4, f->base);
	if (!strncmp(line, "boot ", 5))
		return sscanf(line + 5, "%36s", f->boot) == 1;
	if (strncmp(line, "at ", 3))
		return false;
	f->when = strtod(line + 3, &end);
	f->used = strtoull(end, &end, 10);
	f->dirty = strtoull(end, &end, 10);
	f->lines++;
	return take_counters(end, f->raw);
}

static void put_head(FILE *out, const struct file *f, const struct cache_info *c)
{
	fprintf(out, FORMAT " %d %.3f %s\n", NR_COUNTERS, f->began, c->dm->uuid);
}

/* Is it the first line of a record of @c, in this format?  Takes the time of the beginning. */
static bool take_head(struct file *f, const struct cache_info *c, const char *line)
{
	char expected[sizeof(FORMAT) + 64 + sizeof(c->dm->uuid)];

	if (sscanf(line, FORMAT " %*d %lf", &f->began) != 1)
		return false;
	snprintf(expected, sizeof(expected), FORMAT " %d %.3f %s\n", NR_COUNTERS,
		 f->began, c->dm->uuid);
	return !strcmp(line, expected);
}

/* ---- Reading ---- */

static void sum(const struct file *f, struct sums *p)
{
	unsigned int i;

	p->when = f->when;
	p->used = f->used;
	p->dirty = f->dirty;
	for (i = 0; i < NR_COUNTERS; i++)
		p->count[i] = f->base[i] + f->raw[i];
}

/* Adds the sums of @f to @r.  Without memory @r stays as it is. */
static void add_sums(struct record *r, const struct file *f)
{
	struct sums *more = realloc(r->sums, (r->nr + 1) * sizeof(*more));

	if (!more)
		return;
	r->sums = more;
	sum(f, &r->sums[r->nr++]);
}

/*
 * Reads the file up to its end, or to a line that makes no sense.  @r receives the sums of
 * each line, unless it is NULL.  False if there is no line.
 */
static bool read_file(struct file *f, const struct cache_info *c, struct record *r)
{
	char *line = malloc(LINE_LEN);
	FILE *in = fopen(f->path, "re");
	struct file next;
	bool ok;

	f->lines = 0;
	f->broken = false;
	ok = line && in && fgets(line, LINE_LEN, in) && take_head(f, c, line);
	while (ok && !f->broken && fgets(line, LINE_LEN, in)) {
		next = *f;
		f->broken = !take_line(&next, line);
		if (f->broken)
			break;
		*f = next;
		if (r && line[0] == 'a')
			add_sums(r, f);
	}
	if (in)
		fclose(in);
	free(line);
	return ok && f->lines;
}

/* Has a counter of the group [@from, @to) fallen since the last line? */
static bool fell(const struct file *f, const uint64_t *now, enum counter from,
		 enum counter to)
{
	unsigned int i;

	for (i = from; i < to; i++)
		if (now[i] < f->raw[i])
			return true;
	return false;
}

/* @boot, of BOOT_LEN bytes, becomes the kernel's boot ID, or "" if the kernel does not tell. */
static void read_boot(char *boot)
{
	FILE *f = root_open("/proc/sys/kernel/random/boot_id");

	boot[0] = '\0';
	if (!f)
		return;
	if (fscanf(f, "%36s", boot) != 1)
		boot[0] = '\0';
	fclose(f);
}

static void set_last(struct file *f, const struct cache_info *c)
{
	f->when = clock_now();
	f->used = c->used;
	f->dirty = c->dirty;
	memcpy(f->raw, c->count, sizeof(f->raw));
}

/*
 * Makes the present counters of @c the last ones.  True if the base or the boot ID changed.
 *
 * The first group, hits and misses, comes from the metadata.  A crash sets them back a
 * little, so their sums stay as they are at the last line, and grow from there.  The other
 * groups begin at zero.  After a restart this does not go by their values, because they may
 * have risen above those of the last line before anybody looked.
 */
static bool advance(struct file *f, const struct cache_info *c)
{
	const uint64_t *now = c->count;
	char boot[BOOT_LEN];
	bool changed, restarted;
	unsigned int g, i;

	read_boot(boot);
	changed = strcmp(boot, f->boot);
	restarted = changed && boot[0] && f->boot[0];
	for (g = 0; groups[g] < NR_COUNTERS; g++) {
		if (!(g && restarted) && !fell(f, now, groups[g], groups[g + 1]))
			continue;
		changed = true;
		for (i = groups[g]; i < groups[g + 1]; i++)
			f->base[i] += f->raw[i] - (g ? 0 : now[i]);
	}
	strcpy(f->boot, boot);
	set_last(f, c);
	return changed;
}

/* ---- Writing ---- */

/* The sums of a new record begin at zero. */
static void begin(struct file *f, const struct cache_info *c)
{
	unsigned int i;

	read_boot(f->boot);
	set_last(f, c);
	f->began = f->when;
	for (i = 0; i < NR_COUNTERS; i++)
		f->base[i] = -f->raw[i];
}

static void put_line(FILE *out, double when, uint64_t used, uint64_t dirty,
		     const uint64_t *count)
{
	fprintf(out, "at %.0f %ju %ju", when, used, dirty);
	put_counters(out, count);
}

static void put_last(FILE *out, const struct file *f, bool with_base)
{
	if (with_base) {
		fputs("base", out);
		put_counters(out, f->base);
		if (f->boot[0])
			fprintf(out, "boot %s\n", f->boot);
	}
	put_line(out, f->when, f->used, f->dirty, f->raw);
}

static void append(const struct file *f, bool with_base)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int fd;

	if (!out)
		return;
	put_last(out, f, with_base);
	if (!fclose(out) && text) {
		fd = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC);
		/* If the disk is full, a part of a line may be written; the next run drops it. */
		len = fd >= 0 ? write(fd, text, len) : 0;
		if (fd >= 0)
			close(fd);
	}
	free(text);
}

/* The parts of a file that is written anew. */
struct content {
	const struct file *f;
	const struct cache_info *c;
	const struct record *r;		/* NULL for a new record */
};

/*
 * Writes the sums of the record that are younger than SPAN as lines of their own, and then
 * the state of @f.
 */
static void put_all(FILE *out, const void *content)
{
	static const uint64_t zero[NR_COUNTERS];
	const struct content *all = content;
	const struct record *r = all->r;
	const struct file *f = all->f;
	unsigned int i;
	double age;

	put_head(out, f, all->c);
	fputs("base", out);
	put_counters(out, zero);
	for (i = 0; r && i < r->nr; i++) {
		/* A time in the future comes from a clock that was wrong. */
		age = f->when - r->sums[i].when;
		if (age > SPAN || age < 0)
			continue;
		put_line(out, r->sums[i].when, r->sums[i].used, r->sums[i].dirty,
			 r->sums[i].count);
	}
	put_last(out, f, true);
}

static void write_anew(const struct file *f, const struct cache_info *c,
		       const struct record *r)
{
	const struct content all = { f, c, r };

	state_file_refresh(f->path, put_all, &all);
}

static void drop_old(struct file *f, const struct cache_info *c)
{
	struct record r = { 0 };

	if (read_file(f, c, &r)) {
		advance(f, c);
		write_anew(f, c, &r);
	}
	record_free(&r);
}

/* Was the file written less than five minutes ago? */
static bool is_young(const struct file *f)
{
	double age;
	struct stat st;

	if (stat(f->path, &st))
		return false;
	age = clock_now() - st.st_mtim.tv_sec;
	return age >= 0 && age < STEP - 1;
}

/* Is the file the record of @c?  A volume that was removed may have had the same name. */
static bool is_of(struct file *f, const struct cache_info *c)
{
	FILE *in = fopen(f->path, "re");
	char line[256];
	bool ok = in && fgets(line, sizeof(line), in) && take_head(f, c, line);

	if (in)
		fclose(in);
	return ok;
}

static void add_line(struct file *f, const struct cache_info *c)
{
	if (!read_file(f, c, NULL)) {
		begin(f, c);
		write_anew(f, c, NULL);
	} else if (f->broken || f->lines >= MAX_LINES) {
		drop_old(f, c);
	} else {
		append(f, advance(f, c));
	}
}

void record_keep(const struct cache_info *c)
{
	struct file f = { .when = 0 };

	if (counters_known(c) && set_path(&f, c) && !(is_young(&f) && is_of(&f, c)))
		add_line(&f, c);
	free(f.path);
}

/* ---- For others ---- */

bool record_read(struct record *r, const struct cache_info *c)
{
	struct file f = { .when = 0 };
	bool ok;

	*r = (struct record){ 0 };
	ok = counters_known(c) && set_path(&f, c) && read_file(&f, c, r);
	if (ok) {
		r->began = f.began;
		advance(&f, c);
		add_sums(r, &f);
	}
	free(f.path);
	return ok;
}

void record_free(struct record *r)
{
	free(r->sums);
	r->sums = NULL;
	r->nr = 0;
}

struct window record_since(const struct record *r, const struct sums *from)
{
	const struct sums *last = &r->sums[r->nr - 1];
	struct window w = { .seconds = last->when - from->when };
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++)
		w.count[i] = last->count[i] - from->count[i];
	return w;
}

struct window record_window(const struct record *r, double seconds)
{
	const struct sums *best = NULL;
	double off = seconds / 2, d;
	unsigned int i;

	for (i = 0; i + 1 < r->nr; i++) {
		d = r->sums[r->nr - 1].when - r->sums[i].when - seconds;
		if (d < 0)
			d = -d;
		if (d > off)
			continue;
		off = d;
		best = &r->sums[i];
	}
	return best ? record_since(r, best) : (struct window){ .seconds = 0 };
}
