// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth advise: how large should the SSD be?  It answers from a recording of the requests
 * to a volume, which may be cached already.
 *
 * It must not change a cache, or run a command of LVM's.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "registry.h"
#include "advise.h"
#include "cache-info.h"
#include "curve.h"
#include "doctor.h"
#include "hearth.h"
#include "live.h"
#include "lvm.h"
#include "svg.h"
#include "sysfs.h"
#include "text.h"

#define NR_ROWS		6
#define ENOUGH_BLOCKS	32768	/* blocks of the sample; hearth(8) gives the error */
#define GIB		0x1p30
#define DAY		86400.0
#define NEARLY		.95	/* share of the best gain that is enough */
#define THUMB		.1	/* share of the volume, by the rule of thumb */
#define LONG_ENOUGH	3600.0	/* seconds */
/* These were chosen, not measured; docs/worth-it.md explains them. */
#define TOO_LITTLE	.1	/* nobody notices a smaller gain */
#define RAM_PRICE	4	/* a GiB of RAM costs as much as so many GiB of SSD */
#define MOSTLY_READS	.5	/* below this share of writes, RAM may do */
#define MOST_OF_IT	.8	/* from this share of the volume on, all of it can be on the SSD */

static const double factors[NR_ROWS] = { .25, .5, 1, 2, 4, 8 };

/* The question: its values come from options, or from the volume. */
struct question {
	double size;		/* bytes of SSD in the row "1x" */
	double volume;		/* bytes of the volume; 0: not known */
	u32 block;		/* bytes of a block */
	u32 enough;		/* blocks of the sample */
	const char *policy;
	bool rotational;	/* the origin is a rotating disk */
	const char *name;	/* VG/LV; NULL: not known */
	double cached;		/* bytes of the cache that the volume has; 0: it has none */
	dev_t dev;		/* the device to record, for --live */
	double recorded;	/* seconds of the recording; 0: a file was read */
};

/* Sums over the recording, without any cache. */
struct summary {
	u64 requests, writes;
	double bytes, bytes_written;
	double seconds;		/* 0: the recording has no times */
	double touched;		/* bytes of all blocks with a request */
	double touched_a_day, touched_a_month;	/* bytes; 0: the recording is too short */
};

struct rows {
	struct row *all;
	unsigned int nr;
};

struct row {
	double factor, bytes;	/* of the question's size; bytes of SSD */
	struct point heat;	/* with the question's policy, heat unless --policy says another */
	double ram;		/* share of reads that so many bytes of RAM would serve */
	double writes_a_day;	/* bytes to the SSD a day, by its bytes; NAN: not known */
};

/* ---- The recording ---- */

static u32 blocks_of(const struct request *r, u32 block)
{
	u64 end = r->offset + r->length;

	return r->length ? DIV_ROUND_UP(end, block) - r->offset / block : 0;
}

/*
 * The bytes of all blocks with a request in a period of @period seconds: the mean over the
 * whole periods of the recording.  0 if there is no whole period.
 */
static double touched_in(const struct trace *t, const struct accesses *as,
			 double period, u32 block)
{
	u64 *last = calloc(as->nr_blocks + 1, sizeof(*last));
	u64 begin = t->requests[0].time_us, number, nr_periods;
	u64 span = t->requests[t->nr - 1].time_us - begin;
	double touched = 0;
	size_t i, at = 0;
	u32 n;

	if (!last)
		abort();
	nr_periods = span / (period * 1e6);
	for (i = 0; i < t->nr; i++) {
		number = (t->requests[i].time_us - begin) / (period * 1e6) + 1;
		for (n = blocks_of(&t->requests[i], block); n && at < as->nr;
		     n--, at++) {
			u32 id = as->all[at].id;

			if (number > nr_periods || last[id] == number)
				continue;
			last[id] = number;
			touched += block;
		}
	}
	free(last);
	return nr_periods ? touched / nr_periods : 0;
}

static struct summary summarize(const struct trace *t, const struct accesses *as,
				const struct question *q)
{
	u32 block = q->block;
	struct summary s = { .requests = t->nr };
	u64 span;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		s.bytes += t->requests[i].length;
		if (!t->requests[i].write)
			continue;
		s.writes++;
		s.bytes_written += t->requests[i].length;
	}
	span = t->requests[t->nr - 1].time_us - t->requests[0].time_us;
	/* Some traces have the request's number for its time, so that the span tells nothing. */
	if (span > 2 * t->nr && span < 1ULL << 62)
		s.seconds = span / 1e6;
	s.touched = (double)as->nr_blocks * block;
	/* A recording may have begun before its first request, and ended after its last. */
	if (q->recorded)
		s.seconds = q->recorded;
	if (s.seconds) {
		s.touched_a_day = touched_in(t, as, DAY, block);
		s.touched_a_month = touched_in(t, as, 30 * DAY, block);
	}
	return s;
}

/* ---- The curve ---- */

static int fill_row(struct row *r, double factor, const struct question *q,
		    const struct sampled *part, const struct summary *s)
{
	double blocks = factor * q->size / q->block;
	struct point ram;

	r->factor = factor;
	r->bytes = factor * q->size;
	if (curve_point(part, q->policy, blocks, q->rotational, &r->heat) ||
	    curve_point(part, "LRU", blocks, q->rotational, &ram))
		return -1;
	r->ram = ram.read_hits;
	r->writes_a_day = s->seconds ? r->heat.ssd_per_user * s->bytes /
			  s->seconds * DAY / r->bytes : NAN;
	return 0;
}

/* The gain from an SSD: time that a disk saves, or the hits if the origin does not seek. */
static double gain(const struct row *r, const struct question *q)
{
	return q->rotational ? r->heat.time_saved : r->heat.hits;
}

/* The smallest size that gains nearly as much as the best. */
static const struct row *choice(const struct rows *rows,
				const struct question *q)
{
	double best = 0;
	unsigned int i;

	for (i = 0; i < rows->nr; i++)
		best = fmax(best, gain(&rows->all[i], q));
	for (i = 0; gain(&rows->all[i], q) < NEARLY * best; i++)
		;
	return &rows->all[i];
}

/* ---- The verdict ---- */

enum verdict { CACHE_IT, BUY_RAM, NO_CACHE, ALL_ON_SSD };

static const char * const verdict_names[] = { "cache", "ram", "none", "whole-volume" };

/*
 * The smallest row whose RAM serves as many reads as the SSD of @ssd, and costs no more.
 * NULL if there is none.
 */
static const struct row *enough_ram(const struct rows *rows, const struct row *ssd)
{
	unsigned int i;

	for (i = 0; i < rows->nr; i++)
		if (rows->all[i].bytes * RAM_PRICE <= ssd->bytes &&
		    rows->all[i].ram >= ssd->heat.read_hits)
			return &rows->all[i];
	return NULL;
}

static enum verdict judge(const struct rows *rows, const struct summary *s,
			  const struct question *q)
{
	const struct row *best = choice(rows, q);

	if (gain(best, q) < TOO_LITTLE)
		return NO_CACHE;
	if (q->volume && best->bytes >= MOST_OF_IT * q->volume)
		return ALL_ON_SSD;
	if (share(s->writes, s->requests) < MOSTLY_READS && enough_ram(rows, best))
		return BUY_RAM;
	return CACHE_IT;
}

/* The confidence that the recording stands for the load, by its length. */
static const char *confidence(const struct summary *s)
{
	if (!s->seconds)
		return "unknown";
	if (s->seconds < LONG_ENOUGH)
		return "low";
	return s->seconds < DAY ? "fair" : "good";
}

static void warn_of_blocks(double size, const struct question *q)
{
	double blocks = size / q->block;
	char a[SIZE_LEN], b[SIZE_LEN];

	if (blocks > LVM_MAX_BLOCKS)
		found(NOTE, "chunk-size", "advice",
		      "allow so many by --config allocation/cache_pool_max_chunks, or try larger ones with --blocksize",
		      "%s in blocks of %s are %.1f million blocks: LVM makes blocks larger so that there is at most one million",
		      size_text(a, size), size_text(b, q->block),
		      blocks / 1e6);
}

static void warn_of_length(const struct summary *s)
{
	char d[2 * SIZE_LEN];

	if (s->seconds && s->seconds < LONG_ENOUGH)
		found(NOTE, "short-recording", "advice",
		      "record at least an hour of the load that matters",
		      "the recording is only %s long; the load of a whole day may be different",
		      duration_text(d, s->seconds));
}

static int draw(const char *path, const struct rows *rows,
		const struct question *q)
{
	struct curve curves[2] = {
		{ .name = q->policy }, { .name = "RAM (LRU), of reads" }
	};
	char size[SIZE_LEN], name[SIZE_LEN + 16];
	struct svg_look look = {
		.sizes = SVG_BYTES, .mark = choice(rows, q)->bytes,
		.mark_name = name,
	};
	const char *failed;
	unsigned int i;

	snprintf(name, sizeof(name), "advised: %s", size_text(size, look.mark));
	for (i = 0; i < rows->nr; i++) {
		const struct row *r = &rows->all[i];

		curve_add(&curves[0], r->bytes, 1 - r->heat.hits,
			  1 - r->heat.time_saved);
		curve_add(&curves[1], r->bytes, 1 - r->ram, NAN);
	}
	failed = svg_write(path, curves, 2, &look);
	if (!failed)
		return EXIT_OK;
	complain("%s: %s", failed, strerror(errno));
	return EXIT_FAILED;
}

/* ---- For people ---- */

#define VERDICT	"verdict     "
#define GAP	"            "

/* Prints a command to be pasted.  DEVICE stands in it, and VG/LV if the volume is not known. */
static void print_command(const struct row *best, const struct question *q)
{
	if (!q->cached)
		printf(GAP "hearth cache %s DEVICE --size %.3g\n", q->name ?: "VG/LV", best->bytes / GIB);
	else if (best->bytes > 1.5 * q->cached)
		printf(GAP "hearth replace-ssd %s DEVICE --size %.3g\n", q->name ?: "VG/LV",
		       best->bytes / GIB);
	else
		puts(GAP "today's cache is large enough");
}

static void print_verdict(const struct rows *rows, const struct summary *s,
			  const struct question *q)
{
	const struct row *best = choice(rows, q);
	char a[SIZE_LEN], d[2 * SIZE_LEN];
	enum verdict v = judge(rows, s, q);

	switch (v) {
	case NO_CACHE:
		printf(VERDICT "not worth it: %s would %s %.1f%%%s\n", size_text(a, best->bytes),
		       q->rotational ? "save" : "hit", 100 * gain(best, q),
		       q->rotational ? " of the disk's time" : "");
		break;
	case ALL_ON_SSD:
		puts(VERDICT "not worth it: put the whole volume on the SSD");
		break;
	case BUY_RAM:
		printf(VERDICT "RAM instead: %s of it serve as many reads as the SSD\n",
		       size_text(a, enough_ram(rows, best)->bytes));
		break;
	case CACHE_IT:
		printf(VERDICT "worth it: %s of SSD %s %.1f%%%s\n", size_text(a, best->bytes),
		       q->rotational ? "save" : "hit", 100 * gain(best, q),
		       q->rotational ? " of the disk's time" : "");
		print_command(best, q);
		break;
	}
	printf("confidence  %s", confidence(s));
	if (s->seconds)
		printf(": %s were recorded", duration_text(d, s->seconds));
	putchar('\n');
}

/* Prints bytes as a share of the volume, which can be compared with the rule of thumb. */
static void print_part(double bytes, const struct question *q)
{
	if (q->volume)
		printf(" (%.1f%% of the volume)", 100 * bytes / q->volume);
}

static void print_summary(const struct summary *s, const struct question *q)
{
	char a[SIZE_LEN], b[SIZE_LEN], d[2 * SIZE_LEN];

	printf("requests    %s, %.0f%% writes, %s touched", short_text(a, s->requests),
	       100 * share(s->writes, s->requests), size_text(b, s->touched));
	if (s->seconds)
		printf(", in %s", duration_text(d, s->seconds));
	putchar('\n');
	if (s->seconds) {
		printf("written     %s a day", size_text(a, s->bytes_written /
							   s->seconds * DAY));
		print_part(s->bytes_written / s->seconds * DAY, q);
		putchar('\n');
	}
	if (s->touched_a_day) {
		printf("touched     %s in a day", size_text(a, s->touched_a_day));
		print_part(s->touched_a_day, q);
	}
	if (s->touched_a_month) {
		printf(", %s in 30 days", size_text(a, s->touched_a_month));
		print_part(s->touched_a_month, q);
	}
	if (s->touched_a_day)
		putchar('\n');
	if (q->volume)
		printf("a tenth     of the volume, the rule of thumb, is %s\n",
		       size_text(a, THUMB * q->volume));
}

static void print_row(const struct row *r)
{
	char size[SIZE_LEN], factor[16];

	snprintf(factor, sizeof(factor), "%gx", r->factor);
	printf("%-6s %10s %6.1f%% %8.1f%% %10.1f%% %12.2f", factor,
	       size_text(size, r->bytes), 100 * r->heat.hits,
	       100 * r->heat.read_hits, 100 * r->heat.time_saved,
	       r->heat.ssd_per_user);
	if (isnan(r->writes_a_day))
		printf(" %9s", "-");
	else
		printf(" %9.2f", r->writes_a_day);
	printf(" %7.1f%%\n", 100 * r->ram);
}

static void print_all(const struct rows *rows, const struct summary *s,
		      const struct question *q, const struct sampled *part)
{
	char a[SIZE_LEN];
	unsigned int i;

	print_summary(s, q);
	printf("policy      %s, blocks of %s, ", q->policy,
	       size_text(a, q->block));
	if (part->rate < 1)
		printf("one in %.1f sampled\n\n", 1 / part->rate);
	else
		printf("all of them\n\n");
	printf("%-6s %10s %7s %9s %11s %12s %9s %8s\n", "", "SSD", "hits",
	       "reads", "disk time", "SSD writes", "SSD", "RAM:");
	printf("%-6s %10s %7s %9s %11s %12s %9s %8s\n", "", "", "", "hit",
	       "saved", "per byte", "fills/day", "reads");
	for (i = 0; i < rows->nr; i++)
		print_row(&rows->all[i]);
	printf("\n%s %s nearly as %s as the best of these.\n",
	       size_text(a, choice(rows, q)->bytes),
	       q->rotational ? "saves" : "hits",
	       q->rotational ? "much disk time" : "often");
	printf("Its metadata takes %s.\n",
	       size_text(a, cache_metadata_bytes(choice(rows, q)->bytes, q->block)));
	putchar('\n');
	print_verdict(rows, s, q);
	if (any_finding(NOTE)) {
		putchar('\n');
		print_findings(NOTE);
	}
}

/* ---- For programs ---- */

static double or_nan(double v)
{
	return v ? v : NAN;
}

static void json_row(const struct row *r)
{
	json_begin(NULL, '{');
	json_real("factor", r->factor);
	json_uint("ssd_bytes", r->bytes);
	json_real("hit_ratio", r->heat.hits);
	json_real("read_hit_ratio", r->heat.read_hits);
	json_real("disk_time_saved", r->heat.time_saved);
	json_real("ssd_bytes_per_user_byte", r->heat.ssd_per_user);
	json_real("drive_writes_per_day", r->writes_a_day);
	json_real("ram_read_hit_ratio", r->ram);
	json_end();
}

static void json_all(const struct rows *rows, const struct summary *s,
		     const struct question *q, const struct sampled *part)
{
	unsigned int i;

	json_begin(NULL, '{');
	json_uint("requests", s->requests);
	json_uint("writes", s->writes);
	json_uint("bytes", s->bytes);
	json_uint("bytes_written", s->bytes_written);
	json_real("seconds", or_nan(s->seconds));
	json_uint("touched_bytes", s->touched);
	json_real("touched_bytes_a_day", or_nan(s->touched_a_day));
	json_real("touched_bytes_a_month", or_nan(s->touched_a_month));
	json_string("policy", q->policy);
	json_uint("block_bytes", q->block);
	json_real("sampled", part->rate);
	json_real("volume_bytes", or_nan(q->volume));
	json_real("tenth_of_volume_bytes", or_nan(THUMB * q->volume));
	json_uint("advised_bytes", choice(rows, q)->bytes);
	json_uint("advised_metadata_bytes",
		  cache_metadata_bytes(choice(rows, q)->bytes, q->block));
	json_string("verdict", verdict_names[judge(rows, s, q)]);
	json_string("confidence", confidence(s));
	json_findings("warnings", NOTE);
	json_begin("sizes", '[');
	for (i = 0; i < rows->nr; i++)
		json_row(&rows->all[i]);
	json_end();
	json_end();
}

/* ---- The subcommand ---- */

/* Takes the sizes that no option gives from a cache, and adds the findings about it. */
static void ask_cache(struct question *q, const struct cache_info *c)
{
	q->dev = makedev(c->dm->major, c->dm->minor);
	q->volume = c->dm->length * 512.0;
	q->cached = c->total * cache_block_bytes(c);
	if (!q->size)
		q->size = c->total * cache_block_bytes(c);
	if (!q->block)
		q->block = cache_block_bytes(c);
	examine_cache(c);
}

/* Takes sizes from the cache, or for --live from the volume, which need not be cached. */
static int ask_volume(struct question *q, const struct options *o)
{
	struct caches cs;
	struct cache_info *c;
	struct device d;
	bool no_dm;
	int r = o->cache ? caches_get(&cs, o->cache, &c) :
			   caches_read_if_any(&cs, &no_dm);

	if (r)
		return r;
	if (!o->cache)
		c = caches_find(&cs, o->live);
	if (c)
		ask_cache(q, c);
	caches_free(&cs);
	if (!o->live || (c && !o->cache))
		return EXIT_OK;
	r = live_find(o->live, &q->dev);
	d = (struct device){ major(q->dev), minor(q->dev) };
	if (!r)
		q->volume = 512.0 * sys_number(d, "size", 0);
	return r;
}

/* @name without "/dev/", if that has the form VG/LV; NULL if it has not, or @name is NULL. */
static const char *volume_name(const char *name)
{
	const char *slash;

	if (name && !strncmp(name, "/dev/", 5))
		name += 5;
	slash = name ? strchr(name, '/') : NULL;
	return slash && slash > name && !strchr(slash + 1, '/') ? name : NULL;
}

static int ask(struct question *q, const struct options *o)
{
	int r;

	*q = (struct question){
		.size = o->size * GIB,
		.block = o->block * 1024,
		.enough = o->sample ?: ENOUGH_BLOCKS,
		.policy = o->policy ?: "heat",
		.rotational = !o->solid,
	};
	q->name = volume_name(o->cache ?: o->live);
	if (o->cache || o->live) {
		r = ask_volume(q, o);
		if (r)
			return r;
	}
	if (!q->block)
		q->block = 65536;
	if (o->format && !trace_format_known(o->format)) {
		complain("no format '%s': %s", o->format, trace_formats());
		return EXIT_USAGE;
	}
	if (!policy_find(q->policy)) {
		complain("no policy '%s': heat, lru or nhit", q->policy);
		return EXIT_USAGE;
	}
	if (q->block >= 32768 && q->block % 32768 == 0)
		return EXIT_OK;
	complain("--blocksize: must be a multiple of 32 KiB");
	return EXIT_USAGE;
}

/* All that is computed from a recording. */
struct study {
	struct row all[NR_ROWS];
	struct rows rows;
	struct accesses as;
	struct sampled part;
	struct summary sum;
};

static int study(struct study *y, struct question *q, const struct trace *t)
{
	unsigned int i;

	y->rows = (struct rows){ .all = y->all };
	accesses_cut(&y->as, t, q->block);
	y->sum = summarize(t, &y->as, q);
	if (!q->size)
		q->size = THUMB * y->sum.touched;
	sample_blocks(&y->part, &y->as, q->enough);
	for (i = 0; i < NR_ROWS; i++) {
		/* An SSD larger than the volume gains nothing more. */
		if (i && q->volume && factors[i] * q->size > q->volume)
			break;
		if (fill_row(&y->all[y->rows.nr++], factors[i], q, &y->part, &y->sum))
			return EXIT_FAILED;
	}
	return EXIT_OK;
}

static void study_end(struct study *y)
{
	sampled_free(&y->part);
	accesses_free(&y->as);
}

double advised_bytes(const struct trace *t, double volume, uint32_t block)
{
	struct question q = {
		.volume = volume, .block = block, .enough = ENOUGH_BLOCKS,
		.policy = "heat", .rotational = true,
	};
	struct study y;
	double bytes = 0;

	if (!study(&y, &q, t))
		bytes = choice(&y.rows, &q)->bytes;
	study_end(&y);
	return bytes;
}

static int answer(struct question *q, const struct options *o,
		  const struct trace *t)
{
	struct study y;
	int r = study(&y, q, t);

	if (!r)
		warn_of_blocks(choice(&y.rows, q)->bytes, q);
	warn_of_length(&y.sum);
	if (!r && o->json)
		json_all(&y.rows, &y.sum, q, &y.part);
	else if (!r)
		print_all(&y.rows, &y.sum, q, &y.part);
	if (!r && o->svg)
		r = draw(o->svg, &y.rows, q);
	study_end(&y);
	return r;
}

static int read_requests(struct trace *t, struct question *q,
			 const struct options *o)
{
	q->recorded = 60 * o->minutes;
	if (o->live)
		return live_record(t, q->dev, &q->recorded, o->json);
	q->recorded = 0;
	return trace_read(t, o->args[0], o->format) ? EXIT_FAILED : EXIT_OK;
}

int hearth_advise(const struct options *o)
{
	char time[2 * SIZE_LEN];
	struct trace t = { 0 };
	struct question q;
	int r;

	if (!o->live == !o->nr_args) {
		complain("give a TRACE to look at, or --live VG/LV");
		return EXIT_USAGE;
	}
	r = ask(&q, o) ?: read_requests(&t, &q, o);
	if (r)
		return r;
	if (t.nr) {
		r = answer(&q, o, &t);
	} else {
		complain("%s: no requests in the %s that were recorded",
			 o->live, duration_text(time, q.recorded));
		r = EXIT_FAILED;
	}
	trace_free(&t);
	return r;
}
