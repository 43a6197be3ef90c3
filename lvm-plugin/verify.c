// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth verify: compares all clean blocks of a cache with the origin, while the cache is
 * in use.
 *
 * The target compares some blocks for each message.  This file sends one message after the
 * other, and decides how fast: while the volume has users, the comparison takes a tenth of
 * the time.
 *
 * It must not read a block itself: the target does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache-info.h"
#include "hearth.h"
#include "text.h"

#define REPORT		10.0	/* seconds between lines, if stderr is no terminal */
/* Pauses, as a multiple of the time that a message took, while the volume is in use. */
#define PAUSE		9.0
#define PAUSE_MAX	5.0	/* seconds */
#define SUSPENDED_MAX	60	/* seconds to wait for a suspended volume */
#define IOPRIO_IDLE	(3 << 13)	/* the idle class of linux/ioprio.h, which has no levels */
#define NR_NAMED	20	/* so many of the blocks that differ are printed */
/* A sample ends after looks at so many times the number of the cache's slots. */
#define ROUNDS		3

struct verify {
	struct cache_info *c;
	const struct options *o;
	uint64_t total, looked_at;		/* slots */
	uint64_t equal, skipped, unreadable, differ, dropped;	/* blocks */
	uint64_t ios;				/* requests to the volume until the last message */
	uint64_t slots[NR_NAMED], blocks[NR_NAMED];	/* of blocks that differ */
	double began, reported;
	bool terminal, shown;
};

/* ---- One message ---- */

struct answer {
	uint64_t next, total, equal, skipped, unreadable, differ, dropped;
	uint64_t slot, block;
};

static void parse(char *text, struct answer *a)
{
	const struct {
		const char *name;
		uint64_t *to;
	} rows[] = {
		{ "next", &a->next }, { "total", &a->total },
		{ "equal", &a->equal }, { "skipped", &a->skipped },
		{ "unreadable", &a->unreadable }, { "differ", &a->differ },
		{ "dropped", &a->dropped }, { "slot", &a->slot },
		{ "block", &a->block },
	};
	char *line, *save = NULL, *value;
	unsigned int i;

	memset(a, 0, sizeof(*a));
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = '\0';
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (!strcmp(line, rows[i].name))
				*rows[i].to = strtoull(value, NULL, 10);
	}
}

/* Asks about the slots from @first on.  0, or an error, negative: -EINTR after Ctrl-C. */
static int ask(const struct verify *v, uint64_t first, struct answer *a)
{
	char message[64], *reply;
	int tries, r;

	snprintf(message, sizeof(message), "verify %ju%s", first,
		 v->o->repair ? " drop" : "");
	for (tries = 0; ; tries++) {
		r = dm_send(v->c->dm, message, &reply);
		if (r != -EBUSY || tries == SUSPENDED_MAX)
			break;
		if (pause_for(1))
			return -EINTR;
	}
	if (r || !reply)
		return r ?: -EINVAL;
	parse(reply, a);
	free(reply);
	return a->total ? 0 : -EINVAL;
}

static void add(struct verify *v, const struct answer *a, uint64_t first)
{
	if (a->differ && v->differ < NR_NAMED) {
		v->slots[v->differ] = a->slot;
		v->blocks[v->differ] = a->block;
	}
	v->total = a->total;
	v->looked_at += a->next - first;
	v->equal += a->equal;
	v->skipped += a->skipped;
	v->unreadable += a->unreadable;
	v->differ += a->differ;
	v->dropped += a->dropped;
}

/* ---- How fast ---- */

static uint64_t users_ios(struct cache_info *c)
{
	cache_read_io(c);
	return c->count[IO_READS] + c->count[IO_WRITES];
}

/* Pauses, so that the users of the volume have the devices; if it has none, does not. */
static void give_way(struct verify *v, double took)
{
	uint64_t ios = users_ios(v->c);
	double pause = took * PAUSE;

	if (ios != v->ios)
		pause_for(pause < PAUSE_MAX ? pause : PAUSE_MAX);
	v->ios = ios;
}

/* ---- Progress ---- */

static double part_done(const struct verify *v)
{
	if (v->o->sample)
		return share(v->equal + v->differ, v->o->sample);
	return share(v->looked_at, v->total);
}

static void report(struct verify *v)
{
	double t = now();

	if (v->o->json || t - v->reported < (v->terminal ? 0.5 : REPORT))
		return;
	v->reported = t;
	v->shown = true;
	fprintf(stderr, "%s%s: %.0f%% done, %ju blocks are equal, %ju differ%s",
		v->terminal ? "\r" : "", v->c->name, 100 * part_done(v),
		v->equal, v->differ, v->terminal ? "\033[K" : "\n");
}

static void end_of_line(const struct verify *v)
{
	if (v->terminal && v->shown)
		fputc('\n', stderr);
}

/* ---- All of it ---- */

/* Sends one message, and pauses.  @slot is the first slot, and becomes the next one. */
static int step(struct verify *v, uint64_t *slot)
{
	double before = now();
	struct answer a;
	int r = ask(v, *slot, &a);

	if (r)
		return r;
	add(v, &a, *slot);
	/* A suspend has ended the comparison before the first slot. */
	if (a.next == *slot)
		pause_for(0.1);
	*slot = a.next;
	report(v);
	give_way(v, now() - before);
	return 0;
}

static int verify_all(struct verify *v)
{
	uint64_t slot = 0;
	int r;

	do
		r = step(v, &slot);
	while (!r && !interrupted && slot < v->total);
	return r;
}

static int verify_sample(struct verify *v)
{
	uint64_t slot;
	int r;

	v->total = v->c->total;
	/* The status line is "Fail", or makes no sense. */
	if (!v->total)
		return -EINVAL;
	srandom(now() * 1e6);
	do {
		slot = ((uint64_t)random() << 16 ^ random()) % v->total;
		r = step(v, &slot);
	} while (!r && !interrupted && v->equal + v->differ < v->o->sample &&
		 v->looked_at < ROUNDS * v->total);
	return r;
}

/* Should the sample have as many blocks as there are?  By chance it would miss some of them. */
static bool compares_all(const struct verify *v)
{
	return !v->o->sample || (v->c->total && v->o->sample >= v->c->used);
}

static uint64_t left(const struct verify *v)
{
	return v->differ - v->dropped;
}

static void print_json(const struct verify *v)
{
	unsigned int i;

	json_begin(NULL, '{');
	json_string("name", v->c->name);
	json_bool("complete", !interrupted);
	json_uint("equal_blocks", v->equal);
	json_uint("skipped_blocks", v->skipped);
	json_uint("unreadable_blocks", v->unreadable);
	json_uint("different_blocks", v->differ);
	json_uint("dropped_blocks", v->dropped);
	json_begin("different", '[');
	for (i = 0; i < v->differ && i < NR_NAMED; i++) {
		json_begin(NULL, '{');
		json_uint("cache_block", v->slots[i]);
		json_uint("origin_block", v->blocks[i]);
		json_end();
	}
	json_end();
	json_real("seconds", now() - v->began);
	json_end();
}

static void print_result(const struct verify *v)
{
	char time[2 * SIZE_LEN];
	unsigned int i;

	for (i = 0; i < v->differ && i < NR_NAMED; i++)
		printf("%s: origin block %ju differs from cache block %ju\n",
		       v->c->name, v->blocks[i], v->slots[i]);
	if (v->differ > NR_NAMED)
		printf("%s: and %ju others; the kernel's log names all\n",
		       v->c->name, v->differ - NR_NAMED);
	printf("%s: %s; %ju blocks are equal, %ju differ", v->c->name,
	       interrupted ? "stopped" : "compared", v->equal, v->differ);
	if (v->dropped)
		printf(", of which %ju have left the cache", v->dropped);
	if (v->unreadable)
		printf(", %ju cannot be read", v->unreadable);
	printf("; %s\n", duration_text(time, now() - v->began));
	if (left(v) && !v->o->repair)
		printf("%s: 'hearth verify --repair' drops the blocks that differ; the origin's content is read then\n",
		       v->c->name);
}

static int outcome(const struct verify *v)
{
	if (v->o->json)
		print_json(v);
	else
		print_result(v);
	if (left(v))
		return EXIT_FINDINGS;
	return interrupted ? EXIT_INTERRUPTED : EXIT_OK;
}

static int refused(const struct verify *v, int error)
{
	if (error == -EINVAL) {
		complain("%s: the target that is loaded does not verify, or has failed; see hearth doctor",
			 v->c->name);
		return EXIT_OLD_TARGET;
	}
	complain("%s: verify: %s", v->c->name, strerror(-error));
	return EXIT_FAILED;
}

int hearth_verify(const struct options *o)
{
	struct verify v = { .o = o, .began = now(), .reported = now() };
	struct caches cs;
	int r = caches_get(&cs, o->args[0], &v.c);

	if (r)
		return r;
	v.terminal = isatty(2);
	v.ios = users_ios(v.c);
	catch_signals();
	/* The kernel ignores the class if the disk's scheduler does not know it. */
	syscall(SYS_ioprio_set, 1, 0, IOPRIO_IDLE);
	r = compares_all(&v) ? verify_all(&v) : verify_sample(&v);
	end_of_line(&v);
	r = r && r != -EINTR ? refused(&v, r) : outcome(&v);
	caches_free(&cs);
	return r;
}
