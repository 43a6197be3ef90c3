// SPDX-License-Identifier: GPL-2.0-only
/*
 * crashtest SEED ROUNDS CUTS LOOKS STOCK [CUT]
 *
 * Makes ROUNDS recordings (seeds SEED, SEED + 1, ...).  In each recording the
 * engine opens CUTS cuts, the test examines LOOKS more without an engine, and
 * stock opens STOCK.  With CUT the test checks only that cut.  It uses the
 * recording that a failed run has saved in $CRASH_DIR, if there is one.
 *
 * $CRASH_TOOLS: see tools.c.  $CRASH_ENGINE: a command that loads an engine,
 * hearth or stock.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cut.h"

#define MAX_FAILED 4u
#define FIRST_STOCK_CUT (1u << 20)

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "crashtest: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(2);
}

uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t rng_next(struct rng *r)
{
	r->state += 0x9e3779b97f4a7c15ull;
	return mix64(r->state);
}

static void *zeroed(uint64_t bytes)
{
	void *p;

	if (posix_memalign(&p, 4096, bytes))
		die("no memory");
	return memset(p, 0, bytes);
}

/* ---- Keeping a recording that failed ---- */

static void recording_path(char *path, size_t len, uint64_t seed)
{
	const char *dir = getenv("CRASH_DIR");

	snprintf(path, len, "%s/crash-%llu.log", dir ? dir : ".",
		 (unsigned long long)seed);
}

static void save_recording(struct crash *x)
{
	char path[256];
	FILE *f;

	recording_path(path, sizeof(path), x->rec.seed);
	f = fopen(path, "w");
	if (!f || fwrite(&x->rec, sizeof(x->rec), 1, f) != 1 ||
	    fwrite(x->w.head, x->rec.end, 1, f) != 1 || fclose(f))
		printf("  the recording could not be saved in %s\n", path);
	else
		printf("  recording saved: %s\n", path);
}

static bool load_recording(struct crash *x, uint64_t seed)
{
	uint64_t size = x->w.head->size;
	char path[256];
	FILE *f;

	recording_path(path, sizeof(path), seed);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fread(&x->rec, sizeof(x->rec), 1, f) != 1 || x->rec.end > size ||
	    fread(x->w.head, x->rec.end, 1, f) != 1)
		die("%s cannot be read", path);
	fclose(f);
	x->w.head->size = size;
	x->w.head->used = x->rec.end;
	x->w.head->recording = 0;
	world_delays(&x->w, 0, 0, 0);
	printf("seed %llu: read from %s\n", (unsigned long long)seed, path);
	return true;
}

/* ---- One round ---- */

struct cut {
	uint32_t event;
	uint32_t number;
};

static int by_event(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void replay_begin(struct crash *x)
{
	uint64_t top = x->w.head->disk_sectors[DISK_ORIGIN];

	x->main.log = &x->log;
	x->main.cut = 0;
	x->main.block_sectors = x->rec.configs[0].block_sectors;
	x->main.origin_sectors = x->rec.configs[0].origin_sectors;
	x->main.passdown = x->rec.configs[0].passdown;
	for (int i = 0; i < NR_DISKS; i++) {
		x->main.disk[i].next = 0;
		memset(x->main.disk[i].data, 0, x->w.head->disk_sectors[i] * SECTOR);
		memset(x->changed[i].set, 1, x->changed[i].nr);
	}
	x->main.top.next = 0;
	memset(x->main.top.data, 0, top * SECTOR);
	memset(x->main.unknown, 0, top);
}

static void report_failure(struct crash *x, uint32_t number)
{
	x->tally.failed++;
	printf("FAILED: make test-crash SEED=%llu CUT=%u\n",
	       (unsigned long long)x->rec.seed, number);
	fflush(stdout);
}

static void run_cuts(struct crash *x, uint32_t cuts, uint32_t looks)
{
	struct cut *list = calloc(cuts + looks, sizeof(*list));
	uint64_t before = x->tally.failed;

	replay_begin(x);
	for (uint32_t i = 0; i < cuts + looks; i++)
		list[i] = (struct cut){ cut_event(x, i), i };
	qsort(list, cuts + looks, sizeof(*list), by_event);
	for (uint32_t i = 0; i < cuts + looks; i++) {
		if (x->tally.failed - before >= MAX_FAILED)
			break;
		if (!cut_check(x, list[i].number, list[i].event, list[i].number < cuts))
			report_failure(x, list[i].number);
	}
	free(list);
}

/* ---- Stock, the kernel's own engine ---- */

void engine_load(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "%s %s", getenv("CRASH_ENGINE"), name);
	fflush(stdout);
	if (system(command))
		die("%s failed", command);
}

/* The first number comes last: its session is cut, and hearth is loaded. */
static bool one_stock_cut(struct crash *x, uint32_t number)
{
	bool ok;

	replay_begin(x);
	x->stock = true;
	ok = cut_check_stock(x, number, cut_event(x, number),
			     number == FIRST_STOCK_CUT);
	x->stock = false;
	return ok;
}

static void run_stock(struct crash *x, uint32_t cuts)
{
	if (!getenv("CRASH_ENGINE") || !cuts)
		return;
	engine_load("stock");
	while (cuts--)
		if (!one_stock_cut(x, FIRST_STOCK_CUT + cuts))
			report_failure(x, FIRST_STOCK_CUT + cuts);
}

/* ---- A whole round, or one cut of it ---- */

static void run_one(struct crash *x, uint32_t number)
{
	uint32_t event = cut_event(x, number);
	bool ok;

	replay_begin(x);
	printf("cut %u: event %u of %u\n", number, event, x->log.nr_events);
	if (number >= FIRST_STOCK_CUT) {
		engine_load("stock");
		ok = one_stock_cut(x, number);
	} else {
		ok = cut_check(x, number, event, true);
	}
	if (!ok)
		report_failure(x, number);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void run_all(struct crash *x, uint32_t cuts, uint32_t looks, uint32_t stock)
{
	uint64_t before = x->tally.failed;
	double begun = seconds(), cut;

	run_cuts(x, cuts, looks);
	cut = seconds();
	run_stock(x, stock);
	printf("  %u cuts, %u looks: %.1f s; %u by stock: %.1f s\n", cuts, looks,
	       cut - begun, stock, seconds() - cut);
	fflush(stdout);
	if (x->tally.failed != before)
		save_recording(x);
}

static void describe(const struct recording *rec, const struct log *log,
		     double took)
{
	const struct config *c = &rec->configs[0];

	printf("seed %llu: %s, %s, format %u, blocks of %u, %.3s, passdown %u: %llu requests, %u events, %llu MiB, %.1f s\n",
	       (unsigned long long)rec->seed, rec->script, c->mode, c->format,
	       c->block_sectors, c->policy, c->passdown,
	       (unsigned long long)rec->requests, log->nr_events,
	       (unsigned long long)rec->end >> 20, took);
	fflush(stdout);
}

static void make_room(struct crash *x)
{
	uint64_t top = x->w.head->disk_sectors[DISK_ORIGIN];

	for (int i = 0; i < NR_DISKS; i++) {
		x->main.disk[i].data = zeroed(x->w.head->disk_sectors[i] * SECTOR);
		x->saved[i] = zeroed(x->w.head->disk_sectors[i] * SECTOR);
		x->changed[i].nr = x->w.head->disk_sectors[i] / CHUNK;
		x->changed[i].set = zeroed(x->changed[i].nr);
		x->in_saved[i].set = zeroed(x->changed[i].nr);
	}
	x->main.top.data = zeroed(top * SECTOR);
	x->main.unknown = zeroed(top);
	x->session_unknown = zeroed(top);
	x->first = zeroed(top * SECTOR);
	x->second = zeroed(top * SECTOR);
	x->buf = zeroed(top * SECTOR);
	x->repaired = zeroed(x->w.head->disk_sectors[DISK_META] * SECTOR);
}

static void print_mean(const char *what, uint64_t sum, uint64_t of)
{
	printf("%s%.1f", what, of ? (double)sum / of : 0);
}

static void summary(const struct tally *t)
{
	printf("%llu cuts opened, %llu of them cut again; %llu states examined; %llu opened by stock, %llu of those cut again; %llu checked and dumped, %llu written back by tools\n",
	       (unsigned long long)t->cuts, (unsigned long long)t->second_cuts,
	       (unsigned long long)t->looked, (unsigned long long)t->stock_cuts,
	       (unsigned long long)t->stock_crashes,
	       (unsigned long long)t->tool_checks,
	       (unsigned long long)t->tool_writebacks);
	printf("%llu repairs, %llu refused for want of a superblock, %llu results opened by an engine; blocks named as lost %llu, dirty by guess %llu\n",
	       (unsigned long long)t->repairs,
	       (unsigned long long)t->repairs_refused,
	       (unsigned long long)t->repairs_opened,
	       (unsigned long long)t->repair_lost,
	       (unsigned long long)t->repair_guessed);
	print_mean("means of a state: blocks mapped ", t->mapped, t->looked);
	print_mean(", dirty ", t->dirty, t->looked);
	print_mean(", of those different on the origin ", t->differ, t->looked);
	if (t->logged) {
		printf("\n%llu states had a write log, %llu of them were settled, %llu refused by stock",
		       (unsigned long long)t->logged, (unsigned long long)t->settled,
		       (unsigned long long)t->stock_refused);
		print_mean("; mean of its segments ", t->segments, t->logged);
	}
	print_mean("\nmeans of an activation: us after a cut ", t->us_after_cut, t->timed);
	print_mean(", after a clean stop ", t->us_after_clean, t->timed);
	printf(" (%llu each)\n%llu cuts failed\n", (unsigned long long)t->timed,
	       (unsigned long long)t->failed);
}

int main(int argc, char **argv)
{
	static struct crash x;
	uint64_t seed, rounds;
	double begun;

	if (argc < 6)
		die("usage: crashtest SEED ROUNDS CUTS LOOKS STOCK [CUT]");
	seed = strtoull(argv[1], NULL, 0);
	rounds = argc > 6 ? 1 : strtoull(argv[2], NULL, 0);
	world_open(&x.w);
	make_room(&x);
	for (uint64_t i = 0; i < rounds; i++) {
		begun = seconds();
		if (argc <= 6 || !load_recording(&x, seed))
			record(&x.w, &x.rec, seed + i);
		log_read(&x.log, x.w.head, sizeof(*x.w.head));
		describe(&x.rec, &x.log, seconds() - begun);
		if (x.rec.faults)
			report_failure(&x, 0);
		if (argc > 6)
			run_one(&x, strtoul(argv[6], NULL, 0));
		else
			run_all(&x, strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0),
				strtoul(argv[5], NULL, 0));
		log_free(&x.log);
	}
	summary(&x.tally);
	world_close(&x.w);
	return x.tally.failed || x.tally.faults;
}
