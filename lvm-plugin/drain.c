// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth drain, split and uncache: have all dirty blocks written back, with progress.
 * hearth settle: has the target empty the write log, with progress.
 *
 * For a volume of LVM's, lvm2 has the blocks written back, and keeps its own record of that.
 * -qq keeps it from printing a line every half second.  This file watches, and passes Ctrl-C
 * on; lvm2 then puts the former table back.  A cache made by hand gets a table with
 * writethrough and the policy cleaner, and its own table again after that.
 *
 * After an interruption the same command goes on where it stopped, because blocks that were
 * written back are clean.
 *
 * It must not copy a block itself: the target does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache-info.h"
#include "drain.h"
#include "hearth.h"
#include "left-over.h"
#include "lvm.h"
#include "stopped.h"
#include "table.h"
#include "text.h"

/* Chosen for people who watch; not measured. */
#define POLL		0.5	/* seconds */
#define REPORT		10.0	/* seconds between lines, if stderr is no terminal */
#define SILENT_MAX	20	/* looks; a large cache takes seconds to load a table */
#define SMOOTHING	10.0	/* seconds over which the rate is taken */

struct progress {
	char name[2 * DM_NAME_MAX], mode[16];
	double began, seen, reported;
	double block_bytes;
	bool of_log;			/* hearth settle: counts the blocks of the log alone */
	/* The blocks that it waits for: at the beginning, and at the last look. */
	uint64_t at_first, left;
	uint64_t dirty, of_these_log;	/* dirty blocks, blocks of the log; at the last look */
	bool log_in_use, healthy, gone;	/* at the last look */
	bool silent;			/* the target did not answer at the last look */
	double rate;			/* blocks a second; NAN until measured */
	bool quiet, terminal, shown;
};

/* ---- Progress ---- */

static uint64_t count_of(const struct progress *p, const struct cache_info *c)
{
	return p->of_log ? c->log_segments : c->dirty;
}

static void take_counts(struct progress *p, const struct cache_info *c)
{
	p->dirty = c->dirty;
	p->of_these_log = c->log_segments;
}

static void start(struct progress *p, const struct cache_info *c, bool of_log, bool quiet)
{
	memset(p, 0, sizeof(*p));
	p->of_log = of_log;
	snprintf(p->name, sizeof(p->name), "%s", c->name);
	snprintf(p->mode, sizeof(p->mode), "%s", c->mode);
	p->began = p->seen = p->reported = now();
	p->block_bytes = cache_block_bytes(c);
	p->at_first = p->left = count_of(p, c);
	take_counts(p, c);
	p->rate = NAN;
	p->quiet = quiet;
	p->terminal = isatty(2);
}

static void measure(struct progress *p, uint64_t left)
{
	double t = now(), span = t - p->seen, rate, weight;

	if (span <= 0)
		return;
	rate = left < p->left ? (p->left - left) / span : 0;
	weight = 1 - exp(-span / SMOOTHING);
	p->rate = isnan(p->rate) ? rate : p->rate + weight * (rate - p->rate);
	p->left = left;
	p->seen = t;
}

static uint64_t written_back(const struct progress *p)
{
	return p->at_first > p->left ? p->at_first - p->left : 0;
}

static void report(struct progress *p)
{
	char left[SIZE_LEN], rate[SIZE_LEN], time[2 * SIZE_LEN];

	if (p->quiet || (!p->terminal && p->seen - p->reported < REPORT))
		return;
	p->reported = p->seen;
	p->shown = true;
	fprintf(stderr, "%s%s: ", p->terminal ? "\r" : "", p->name);
	/* All blocks are written back, and the command has not ended yet. */
	if (!p->left)
		fputs("finishing", stderr);
	else
		fprintf(stderr, "%s %s, %.0f%% done",
			size_text(left, p->left * p->block_bytes),
			p->of_log ? "in the write log" : "dirty",
			100 * share(written_back(p), p->at_first));
	if (p->left && p->rate > 0)
		fprintf(stderr, ", %s/s, %s left",
			size_text(rate, p->rate * p->block_bytes),
			duration_text(time, p->left / p->rate));
	fputs(p->terminal ? "\033[K" : "\n", stderr);
}

static void end_of_line(const struct progress *p)
{
	if (p->terminal && p->shown)
		fputc('\n', stderr);
}

/* Only the target's stats tell of the write log; of the kernel's own target there are none. */
static bool tells_of_log(const struct cache_info *c)
{
	return cache_understood(c) && (!c->own || c->words[2]);
}

/* The status line "Fail" has no numbers.  In other modes no block gets dirty. */
static bool tells_of_dirty(const struct cache_info *c)
{
	return cache_understood(c) && !(c->failed_line && cache_writes_back(c));
}

/* Looks at the cache once more.  False if it is gone, or does not tell its blocks. */
static bool look(struct progress *p)
{
	struct caches cs;
	struct cache_info *c;
	bool found = false;

	p->gone = p->silent = false;
	if (caches_read(&cs))
		return false;
	c = caches_find(&cs, p->name);
	p->gone = !c;
	p->silent = c && cache_understood(c) && !tells_of_log(c);
	if (c && tells_of_log(c) && (p->of_log || tells_of_dirty(c))) {
		measure(p, count_of(p, c));
		take_counts(p, c);
		p->log_in_use = cache_log_in_use(c);
		p->healthy = !strcmp(c->health, "good");
		found = true;
	}
	caches_free(&cs);
	return found;
}

/* ---- Waiting for the target ---- */

static bool is_done(const struct progress *p)
{
	return p->of_log ? !p->log_in_use : !p->left;
}

static int lost(const struct progress *p)
{
	complain("%s: it %s, so that it is not known whether %s", p->name,
		 p->gone ? "is no active cache any longer" : "does not tell its state",
		 p->of_log ? "its write log is empty" : "all its blocks are clean");
	return EXIT_FAILED;
}

static int fails(const struct progress *p)
{
	complain("%s: a device fails, so that %s; see FAILURES in hearth-target(8)", p->name,
		 p->of_log ? "the write log cannot be emptied" :
			     "not all dirty blocks can be written back");
	return EXIT_FAILED;
}

/* While another program loads a table, the target does not answer, so this looks again. */
static bool look_with_patience(struct progress *p)
{
	unsigned int looks = 1;

	while (!look(p))
		if (!p->silent || looks++ == SILENT_MAX || pause_for(POLL))
			return false;
	return true;
}

/* Looks until the target has written all back.  An exit code. */
static int wait_for_target(struct progress *p)
{
	bool seen = look_with_patience(p);

	while (seen && !is_done(p)) {
		report(p);
		if (!p->healthy || pause_for(POLL))
			break;
		seen = look_with_patience(p);
	}
	end_of_line(p);
	if (!seen)
		return p->silent && interrupted ? EXIT_INTERRUPTED : lost(p);
	if (is_done(p))
		return EXIT_OK;
	return p->healthy ? EXIT_INTERRUPTED : fails(p);
}

/* ---- LVM ---- */

static void look_and_report(void *p)
{
	if (look(p))
		report(p);
}

/* Runs a command of LVM's to its end, and passes Ctrl-C on.  An exit code. */
static int watch(struct progress *p, const char *const argv[])
{
	int code = lvm_watch(argv, look_and_report, p);

	look(p);
	end_of_line(p);
	if (!code)
		return EXIT_OK;
	return interrupted ? EXIT_INTERRUPTED : EXIT_FAILED;
}

static int drain_lv(struct progress *p, const struct cache_info *c, bool stay)
{
	const char *const away[] = {
		"lvchange", "-qq", "-y", "--cachemode", "writethrough", "--",
		p->name, NULL
	};
	/* -y answers lvm2's question, because the administrator chose this mode before. */
	const char *const back[] = {
		"lvchange", "-qq", "-y", "--cachemode", c->table_mode, "--",
		p->name, NULL
	};
	int r = watch(p, away);

	if (r || stay)
		return r;
	/* After a Ctrl-C that came too late the mode is put back as well. */
	return lvm_run(back) ? EXIT_FAILED : EXIT_OK;
}

/* ---- Made by hand ---- */

static int drain_by_hand(struct progress *p, const struct cache_info *c, bool stay)
{
	char *table = table_with(c, "writethrough", "cleaner");
	int r = table_load(c, table);

	free(table);
	if (r)
		return r;
	r = wait_for_target(p);
	/* Another program has put another table there, or has removed the device. */
	if (r && p->gone)
		return r;
	if (stay && !r) {
		complain("note: %s stays in writethrough with the policy cleaner until its table is loaded again",
			 c->name);
		return r;
	}
	if (table_load(c, c->dm->table))
		return EXIT_FAILED;
	return r;
}

/* ---- The subcommands ---- */

int drain_check_health(const struct cache_info *c)
{
	if (!tells_of_dirty(c)) {
		complain("%s: its status does not say how many blocks are dirty; see 'hearth doctor'",
			 c->name);
		return EXIT_FAILED;
	}
	if (!strcmp(c->health, "good") || !c->dirty)
		return EXIT_OK;
	complain("%s: blocks are dirty and its health is %s, so that they cannot all be written back; see FAILURES in hearth-target(8)",
		 c->name, c->health);
	return EXIT_FAILED;
}

static void result_json(const struct progress *p, const char *what, int code)
{
	json_begin(NULL, '{');
	json_string("name", p->name);
	json_string("action", what);
	json_bool("complete", !code);
	json_uint("written_back_bytes", written_back(p) * p->block_bytes);
	json_uint("dirty_bytes", p->dirty * p->block_bytes);
	json_uint("write_log_bytes", p->of_these_log * p->block_bytes);
	json_real("seconds", now() - p->began);
	json_end();
}

/* Prints the end of settle.  Other blocks may stay dirty, because every kernel can read them. */
static void print_settled(const struct progress *p, int code)
{
	char log[SIZE_LEN], others[SIZE_LEN], time[2 * SIZE_LEN];
	uint64_t nr = p->dirty > p->of_these_log ? p->dirty - p->of_these_log : 0;

	if (code) {
		printf("%s: stopped, the same command goes on from here; %s in the write log\n",
		       p->name, size_text(log, p->of_these_log * p->block_bytes));
		return;
	}
	printf("%s: settled, the write log is empty (%s in %s); ", p->name,
	       size_text(log, written_back(p) * p->block_bytes),
	       duration_text(time, now() - p->began));
	if (nr)
		printf("%s of other blocks are still dirty in %s\n",
		       size_text(others, nr * p->block_bytes), p->mode);
	else
		puts("no other block is dirty");
}

static void print_result(const struct progress *p, const char *what, int code,
			 bool json)
{
	char done[SIZE_LEN], left[SIZE_LEN], time[2 * SIZE_LEN];

	if (json)
		result_json(p, what, code);
	else if (p->of_log)
		print_settled(p, code);
	else
		printf("%s: %s; %s written back in %s, %s dirty\n", p->name,
		       code ? "stopped, the same command goes on from here" : what,
		       size_text(done, written_back(p) * p->block_bytes),
		       duration_text(time, now() - p->began),
		       size_text(left, p->left * p->block_bytes));
}

/*
 * Reads the cache that the command line names, and begins its progress.  Returns an exit
 * code.  After EXIT_OK the caller frees @cs.
 */
static int begin(const struct options *o, struct progress *p,
		 struct caches *cs, struct cache_info **c)
{
	int r = caches_get(cs, o->args[0], c);

	if (r)
		return r;
	start(p, *c, false, o->json);
	catch_signals();
	r = drain_check_health(*c);
	if (r)
		caches_free(cs);
	return r;
}

int hearth_drain(const struct options *o)
{
	struct progress p;
	struct caches cs;
	struct cache_info *c;
	int r = begin(o, &p, &cs, &c);

	if (r)
		return r;
	if (!cache_writes_back(c))
		r = wait_for_target(&p);
	else if (c->vg[0])
		r = drain_lv(&p, c, o->stay);
	else
		r = drain_by_hand(&p, c, o->stay);
	/* If no block is dirty, the signal came too late, because the work is done. */
	if (r == EXIT_INTERRUPTED && !p.left && !o->stay)
		r = EXIT_OK;
	if (r != EXIT_FAILED)
		print_result(&p, "drained", r, o->json);
	caches_free(&cs);
	return r;
}

static int refuse_by_hand(const struct cache_info *c)
{
	complain("%s is not LVM's: use 'hearth drain --stay', then load the table '0 %ju linear %u:%u 0', and zero the first 4 KiB of %u:%u before it is cached again",
		 c->name, c->dm->length, c->origin.major, c->origin.minor,
		 c->metadata.major, c->metadata.minor);
	return EXIT_FAILED;
}

/* The two ways to take a cache off. */
struct way {
	const char *name, *option, *done;	/* the subcommand, lvconvert's option, the result */
	bool removes;				/* it removes the cache as well */
};

static const struct way split = { "split", "--splitcache", "split", false };
static const struct way uncache = { "uncache", "--uncache", "uncached", true };

/*
 * An earlier run was killed, but it, or its lvconvert, which goes on, has taken the cache
 * off.  Does the rest.  An exit code.
 */
static int finish(const struct options *o, const struct way *w, const struct left_over *l)
{
	struct progress p = { .began = now() };
	int r = w->removes ? left_over_remove(l) : EXIT_OK;

	if (r)
		return r;
	left_over_forget(w->name, o->args[0]);
	snprintf(p.name, sizeof(p.name), "%s", l->volume);
	print_result(&p, w->done, EXIT_OK, o->json);
	return EXIT_OK;
}

static bool was_killed_before(const struct options *o, const struct way *w,
			      struct left_over *l)
{
	return left_over_find(w->name, o->args[0], l) && left_over_is_off(l);
}

/*
 * Runs lvconvert, and prints the result.  lvconvert has no input, so it takes the answer to
 * each of its questions for no.  An exit code.
 */
static int take_off(const struct options *o, const struct way *w, struct progress *p)
{
	const char *const argv[] = { "lvconvert", "-qq", w->option, "--", p->name, NULL };
	struct left_over l;
	int r = watch(p, argv);

	/* It, or an earlier lvconvert, has taken the cache off, and has left the pool. */
	if (r && was_killed_before(o, w, &l))
		return finish(o, w, &l);
	if (!r)
		p->left = p->dirty = p->of_these_log = 0;
	left_over_forget(w->name, o->args[0]);
	if (r != EXIT_FAILED)
		print_result(p, w->done, r, o->json);
	return r;
}

static int detach(const struct options *o, const struct way *w)
{
	struct left_over l;
	struct progress p;
	struct caches cs;
	struct cache_info *c;
	int r;

	if (was_killed_before(o, w, &l))
		return finish(o, w, &l);
	r = begin(o, &p, &cs, &c);
	if (r)
		return r;
	if (!c->vg[0]) {
		r = refuse_by_hand(c);
	} else {
		left_over_keep(w->name, o->args[0], c);
		r = take_off(o, w, &p);
	}
	caches_free(&cs);
	return r;
}

/* ---- The write log ---- */

/* Sets absorb=0, because then no write enters the log, and the target empties it. */
static int stop_absorbing(const struct cache_info *c)
{
	const char *absorb = cache_setting(c->settings, c->nr_settings, "absorb");
	char *args[] = { (char *)c->name, "absorb=0" };
	const struct options set = { .args = args, .nr_args = 2 };

	return absorb && strcmp(absorb, "0") ? hearth_set(&set) : EXIT_OK;
}

static int settle(const struct cache_info *c, bool json)
{
	struct progress p;
	int r;

	start(&p, c, true, json);
	r = stop_absorbing(c) ?: wait_for_target(&p);
	if (r != EXIT_FAILED)
		print_result(&p, "settled", r, json);
	return r;
}

static bool needs_settling(const struct cache_info *c)
{
	const char *absorb = cache_setting(c->settings, c->nr_settings, "absorb");

	/* The kernel's own target opens no volume whose log is in use, whatever its status says. */
	return (c->own && !tells_of_log(c)) || cache_log_in_use(c) || (absorb && strcmp(absorb, "0"));
}

static void tell_of_stopped(const char *name)
{
	complain("%s is not active, and its write log is in use: 'lvchange -ay %s', then 'hearth settle %s'; if it cannot be activated, hearth-metadata(8) settles it",
		 name, name, name);
}

/* Settles all caches.  After a failure it goes on, because the others can still be settled. */
static int settle_all(void)
{
	int failed = EXIT_OK, code, r;
	unsigned int i, stopped;
	struct caches cs;
	bool no_dm;

	r = caches_read_if_any(&cs, &no_dm);
	if (r)
		return r;
	for (i = 0; i < cs.nr && !interrupted; i++)
		if (needs_settling(&cs.all[i]))
			failed = settle(&cs.all[i], false) ?: failed;
	caches_free(&cs);
	if (interrupted)
		return EXIT_INTERRUPTED;
	stopped = stopped_with_log(tell_of_stopped, &code);
	if (code)
		complain("lvs: exit status %d, so that stopped caches may be left whose write log is in use",
			 code);
	return stopped || code ? EXIT_FAILED : failed;
}

int hearth_settle(const struct options *o)
{
	struct caches cs;
	struct cache_info *c;
	int r;

	if (o->all == (o->nr_args == 1) || (o->all && o->json)) {
		complain("give a cache, or --all without --json");
		return EXIT_USAGE;
	}
	catch_signals();
	if (o->all)
		return settle_all();
	r = caches_get(&cs, o->args[0], &c);
	if (r)
		return r;
	r = settle(c, o->json);
	caches_free(&cs);
	return r;
}

/* ---- For other subcommands ---- */

int drain_and_uncache(const struct cache_info *c, bool quiet)
{
	const char *const argv[] = {
		"lvconvert", "-qq", "--uncache", "--", c->name, NULL
	};
	struct progress p;

	start(&p, c, false, quiet);
	return watch(&p, argv);
}

int hearth_split(const struct options *o)
{
	return detach(o, &split);
}

int hearth_uncache(const struct options *o)
{
	return detach(o, &uncache);
}
