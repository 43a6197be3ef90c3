// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recordings: load on a new cache while its table changes.
 *
 * The seed chooses mode, format, block size, policy and script, so that
 * consecutive seeds use them all.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash.h"

#define PORTION 40ull	/* requests */
#define MIB 2048ull	/* in sectors */

struct session {
	struct world *w;
	struct recording *rec;
	struct load *load;
	struct config c;
	struct rng rng;
};

static void pause_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

/* Waits for so many portions of load. */
static void work(struct session *s, unsigned int portions)
{
	load_wait(s->load, portions * PORTION);
}

static void change(struct session *s)
{
	uint32_t k = s->rec->nr_configs++;
	int r;

	if (k >= MAX_CONFIGS)
		die("too many changes");
	s->rec->configs[k] = s->c;
	world_mark(s->w, 2 * k);
	r = world_change(s->w, &s->c);
	if (r)
		die("change %u, to %s, fast %llu, origin %llu: %s", k, s->c.mode,
		    (unsigned long long)s->c.fast_sectors,
		    (unsigned long long)s->c.origin_sectors, strerror(-r));
	world_mark(s->w, 2 * k + 1);
}

/* Adds "NAME VALUE" to the settings of the table. */
static void add_setting(struct config *c, const char *setting)
{
	char name[16], rest[sizeof(c->policy)] = "";
	unsigned int nr;

	if (sscanf(c->policy, "%15s %u %159[^\n]", name, &nr, rest) < 2)
		die("no policy: %s", c->policy);
	snprintf(c->policy, sizeof(c->policy), "%s %u %.110s %s", name, nr + 2, rest,
		 setting);
}

static void to_mode(struct session *s, const char *mode)
{
	strcpy(s->c.mode, mode);
	change(s);
}

static void stop_load(struct session *s)
{
	s->rec->faults += load_stop(s->load);
}

static void start_load(struct session *s)
{
	load_set_limit(s->load, s->c.origin_sectors);
	load_start(s->load, true);
}

/* Stops the load, and waits until no block is dirty. */
static void settle(struct session *s)
{
	char mode[16];

	stop_load(s);
	strcpy(mode, s->c.mode);
	to_mode(s, "writethrough");
	if (!world_wait_clean(s->w, 60))
		die("the cache does not become clean");
	strcpy(s->c.mode, mode);
}

/* ---- Scripts; the load runs when one begins ---- */

static void script_plain(struct session *s)
{
	work(s, 16);
}

static void script_suspend(struct session *s)
{
	for (int i = 0; i < 6; i++) {
		work(s, 2);
		if (dm_suspend(&s->w->cache))
			die("the cache cannot be suspended");
		pause_ms(20);
		if (dm_resume(&s->w->cache))
			die("the cache cannot be resumed");
	}
	work(s, 2);
}

static void script_modes(struct session *s)
{
	static const char *const modes[] = {
		"writeback", "writethrough", "writeonly", "writearound", "writeback"
	};

	for (unsigned int i = 0; i < 5; i++) {
		work(s, 3);
		to_mode(s, modes[i]);
	}
	work(s, 3);
	settle(s);
	to_mode(s, "passthrough");
	start_load(s);
	work(s, 4);
	to_mode(s, "writeback");
	work(s, 4);
}

/* The write log is emptied under load, and its flag cleared and set again. */
static void turn_off_and_on(struct session *s)
{
	if (dm_message(&s->w->cache, "absorb 0"))
		die("message absorb");
	work(s, 2);
	if (dm_message(&s->w->cache, "absorb 1"))
		die("message absorb");
	/* This takes seconds, in which a load would fill the recording. */
	stop_load(s);
	if (!world_wait_log(s->w, 60))
		die("nothing is absorbed any more");
	start_load(s);
	work(s, 2);
}

static void script_overlay(struct session *s)
{
	bool back = !strcmp(s->c.mode, "writeback") || !strcmp(s->c.mode, "writeonly");

	to_mode(s, back ? "writeback" : "writethrough");
	for (int i = 0; i < 3; i++) {
		work(s, 2);
		if (s->rec->absorbs)
			turn_off_and_on(s);
		if (dm_message(&s->w->cache, back ? "mode writeonly" : "mode writearound"))
			die("message mode");
		work(s, 2);
		if (dm_message(&s->w->cache, "mode table") ||
		    dm_message(&s->w->cache, "migration_threshold 4096"))
			die("message");
	}
	work(s, 2);
}

static void script_resize(struct session *s)
{
	work(s, 5);
	s->c.fast_sectors += MIB / 2;
	change(s);
	work(s, 4);
	s->c.origin_sectors += MIB + 72;
	change(s);
	load_set_limit(s->load, s->c.origin_sectors);
	work(s, 5);
	settle(s);
	s->c.fast_sectors -= MIB;
	change(s);
	start_load(s);
	work(s, 4);
	settle(s);
	s->c.origin_sectors -= MIB / 2;
	change(s);
	start_load(s);
	work(s, 4);
}

static void script_restart(struct session *s)
{
	for (int i = 0; i < 3; i++) {
		work(s, 5);
		stop_load(s);
		world_deactivate(s->w);
		if (world_activate(s->w, &s->c) < 0)
			die("cannot be activated again");
		start_load(s);
	}
	work(s, 5);
}

static void script_policy(struct session *s)
{
	static const char *const policies[] = {
		"cleaner 0", "lru 2 max_promote_share 100", "nhit 2 max_promote_share 100",
		"smq 8 read_level 0 write_level 0 full_write_level 0 max_promote_share 100",
	};
	bool absorbs = s->rec->absorbs;

	for (unsigned int i = 0; i < 4; i++) {
		work(s, 4);
		strcpy(s->c.policy, policies[i]);
		if (absorbs && i)
			add_setting(&s->c, "absorb 1");
		change(s);
	}
	work(s, 4);
}

/* The engine is idle: it writes blocks back, and takes intents back. */
static void script_idle(struct session *s)
{
	work(s, 8);
	stop_load(s);
	pause_ms(8000);
	start_load(s);
	work(s, 4);
}

static const struct script {
	const char *name;
	void (*run)(struct session *s);
} scripts[] = {
	{ "plain", script_plain },
	{ "suspend", script_suspend },
	{ "modes", script_modes },
	{ "resize", script_resize },
	{ "restart", script_restart },
	{ "policy", script_policy },
	{ "overlay", script_overlay },
	{ "idle", script_idle },
};

#define NR_SCRIPTS (sizeof(scripts) / sizeof(scripts[0]))

/* ---- The seed's choices ---- */

static const char *const modes[] = {
	"writeback", "writethrough", "writeonly", "writearound", "writeback",
};

static const char *const policies[] = {
	/* with so few intents the engine takes some back all the time */
	"lru 6 max_promote_share 100 seq_cutoff 0 max_intents 6",
	"lru 4 max_promote_share 100 seq_cutoff 0",
	"smq 10 read_level 0 write_level 0 full_write_level 0 seq_cutoff 0 max_promote_share 100",
};

static const uint32_t blocks[] = { 64, 128, 192, 256 };

/*
 * Does the recording of this seed have a write log? Seeds with 3 as their hundreds
 * do.
 */
static bool absorbs(uint64_t seed)
{
	return seed % 1000 / 100 == 3;
}

static const struct script *choose(struct config *c, uint64_t seed)
{
	uint64_t n = seed;

	memset(c, 0, sizeof(*c));
	/*
	 * Periods without a common factor, so that every combination comes up.
	 */
	strcpy(c->mode, modes[n % 5]);
	c->format = 1 + (n / 5 + n) % 2;
	c->block_sectors = blocks[n * 3 / 2 % 4];
	strcpy(c->policy, policies[n % 3]);
	c->fast_sectors = 3 * MIB;
	c->origin_sectors = 6 * MIB + 40;
	c->passdown = n % 7 != 3;
	if (absorbs(seed)) {
		strcpy(c->mode, "writeback");
		add_setting(c, "absorb 1");
		/* So a log outlives a restart. */
		if (n / 4 % 2 == 0)
			add_setting(c, "settle_seconds 0");
		/* So more blocks go into the cache. */
		if (n / 2 % 2 == 0)
			add_setting(c, "dirty_low 90");
	}
	return &scripts[(n + n / 8) % NR_SCRIPTS];
}

void record(struct world *w, struct recording *rec, uint64_t seed)
{
	struct session s = { .w = w, .rec = rec, .rng.state = mix64(seed) };
	const struct script *script;
	int64_t r;

	memset(rec, 0, sizeof(*rec));
	script = choose(&s.c, seed);
	rec->seed = seed;
	rec->absorbs = absorbs(seed);
	strcpy(rec->script, script->name);
	for (int i = 0; i < NR_DISKS; i++)
		memset(w->memory[i], 0, w->head->disk_sectors[i] * SECTOR);
	world_sizes(w, &s.c);
	world_delays(w, 20, 20, 60);
	w->head->used = sizeof(*w->head);
	w->head->overflow = 0;
	w->head->recording = 1;

	rec->configs[rec->nr_configs++] = s.c;
	r = world_activate(w, &s.c);
	if (r < 0)
		die("a new cache: %s", strerror(-r));
	world_mark(w, 1);
	if (rec->absorbs && !world_wait_log(w, 60))
		die("nothing is absorbed");
	s.load = load_new(w->top.node, w->head, seed, 4);
	if (rec->absorbs)
		load_has_quiet_phases(s.load);
	start_load(&s);
	script->run(&s);
	stop_load(&s);
	world_deactivate(w);

	w->head->recording = 0;
	world_delays(w, 0, 0, 0);
	rec->end = w->head->used;
	rec->requests = load_requests(s.load);
	load_free(s.load);
}
