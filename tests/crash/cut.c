// SPDX-License-Identifier: GPL-2.0-only
/*
 * One cut: puts the disks together as they may be, examines them without a
 * kernel, and lets the engine open, read and use them.  Some cuts are cut once
 * more.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash.h"
#include "cut.h"

#define INTENTS_SETTING "max_intents "
#define REPAIRED_CUTS 4		/* one cut in so many opens repaired metadata */
#define SETTLED_CUTS 16		/* the write log of one in so many is settled */
#define BLOCKS_UNDER_WAY 16	/* four requests, of up to four blocks each */

/* ---- The table that the cache has after the cut ---- */

/* No table of passthrough is accepted while a block is dirty. */
static bool is_strict(const struct config *c)
{
	return !strcmp(c->mode, "passthrough");
}

static bool shrinks_or_strict(const struct config *from, const struct config *to)
{
	return to->fast_sectors < from->fast_sectors ||
	       to->origin_sectors < from->origin_sectors ||
	       is_strict(to);
}

/*
 * After a cut in the middle of a change a machine may come up with either
 * table. It has the new one for certain if the metadata has grown.  It has the
 * old one if the change waits for conditions of the new one.
 */
static const struct config *config_at(const struct crash *x, uint32_t cut,
				      const struct meta_view *v, struct rng *rng)
{
	const struct config *from, *to;
	uint64_t last = 1;

	for (uint32_t i = 0; i < x->log.nr_marks && x->log.marks[i].event < cut; i++)
		last = x->log.marks[i].number;
	to = &x->rec.configs[last / 2];
	if (last & 1 || !last)
		return to;
	from = to - 1;
	if (shrinks_or_strict(from, to))
		return from;
	if ((uint64_t)v->nr_slots * v->block_sectors > from->fast_sectors)
		return to;
	return rng_below(rng, 2) ? to : from;
}

/* ---- Without a kernel ---- */

/* Checks the metadata, the copies that it maps, and what a reader would find. */
static bool look(struct crash *x, struct replay *r, struct meta_view *v,
		 const char *when)
{
	uint64_t sectors = r->origin_sectors;
	const uint8_t *fast = x->w.memory[DISK_FAST];
	const uint8_t *origin = x->w.memory[DISK_ORIGIN];

	if (!meta_read(v, x->w.memory[DISK_META], x->w.head->disk_sectors[DISK_META])) {
		printf("  %s: the metadata is damaged\n", when);
		return false;
	}
	meta_compose(v, fast, origin, x->buf, sectors);
	if (v->write_log &&
	    !log_lay_over(v, x->w.memory[DISK_META], x->w.head->disk_sectors[DISK_META],
			  fast, x->w.head->disk_sectors[DISK_FAST], x->buf, sectors)) {
		printf("  %s: the write log is damaged\n", when);
		return false;
	}
	if (meta_unequal(v, fast, origin, sectors, false)) {
		printf("  %s: copies of clean blocks differ\n", when);
		return false;
	}
	return !replay_check_top(r, x->buf, sectors, when);
}

/*
 * As long as no block is ever dirty, the blocks that are dirty on the disk have
 * intents: as many as the setting allows, and one for each block of a write in
 * flight.
 */
static bool intents_bounded(const struct crash *x, const struct meta_view *v)
{
	uint32_t bound = 0;

	for (uint32_t i = 0; i < x->rec.nr_configs; i++) {
		const struct config *c = &x->rec.configs[i];
		const char *setting = strstr(c->policy, INTENTS_SETTING);

		if (!setting || (strcmp(c->mode, "writethrough") &&
				 strcmp(c->mode, "writearound")))
			return true;
		bound = strtoul(setting + strlen(INTENTS_SETTING), NULL, 10);
	}
	bound += BLOCKS_UNDER_WAY;
	if (v->nr_dirty <= bound)
		return true;
	printf("  intents: %u blocks are dirty on the disk, at most %u may be\n",
	       v->nr_dirty, bound);
	return false;
}

/* ---- With the engine ---- */

/*
 * The segments of a write log count as dirty blocks, and the flag alone as one.
 */
static uint32_t most_dirty(const struct meta_view *v)
{
	return v->nr_dirty + v->nr_segments + v->write_log;
}

/*
 * A full cache frees a few slots in advance.  Until that is committed, the
 * engine counts such a block as resident and as demoted.  A segment of a write log
 * in which everything was superseded is given back.
 */
static void settled_counts(struct crash *x, const struct meta_view *v,
			   struct cache_counts *c)
{
	for (int i = 0; i < 200; i++) {
		world_counts(&x->w, c);
		if (c->resident + c->demotions <= v->nr_mapped &&
		    (x->stock || c->dirty <= most_dirty(v)))
			return;
		usleep(50000);
	}
}

/* So many blocks may have to leave, because the ring of a new write log is to lie there. */
static uint32_t room_for_ring(const struct crash *x, const struct meta_view *v)
{
	return x->rec.absorbs && !v->write_log ? v->nr_slots / 8 : 0;
}

static bool counts_match(struct crash *x, const struct meta_view *v)
{
	struct cache_counts c;

	settled_counts(x, v, &c);
	if (!c.writable) {
		printf("  the cache is not writable\n");
		return false;
	}
	/* Write-back may have begun, but no block can have become dirty. */
	if (!x->stock && c.dirty > most_dirty(v)) {
		printf("  the engine has %u dirty blocks, the disk has %u, and %u segments\n",
		       c.dirty, v->nr_dirty, v->nr_segments);
		return false;
	}
	if (c.resident + c.demotions != v->nr_mapped ||
	    c.demotions > v->nr_slots / 8 + 2 + room_for_ring(x, v)) {
		printf("  not warm: %u blocks resident, %u demoted, %u on the disk\n",
		       c.resident, c.demotions, v->nr_mapped);
		return false;
	}
	return true;
}

static void use(struct crash *x, enum session kind, const struct config *c)
{
	struct config clean = *c;
	struct load *load;

	switch (kind) {
	case SESSION_NONE:
		break;
	case SESSION_READ:
		/* reads more than the cache holds: blocks come and go */
		world_read(&x->w, x->buf, c->origin_sectors);
		break;
	case SESSION_CLEAN:
		strcpy(clean.policy, "cleaner 0");
		if (world_change(&x->w, &clean))
			die("the cleaner policy cannot be loaded");
		if (!world_wait_clean(&x->w, 30))
			die("the cache does not become clean");
		break;
	case SESSION_LOAD:
		load = load_new(x->w.top.node, x->w.head, x->rng.state, 3);
		load_set_limit(load, c->origin_sectors);
		load_expect(load, x->first, c->origin_sectors);
		world_delays(&x->w, 30, 30, 60);
		/* Stock still reads a cached block after its discard. */
		load_start(load, !x->stock);
		load_wait(load, 40);
		x->tally.faults += load_stop(load);
		world_delays(&x->w, 0, 0, 0);
		load_free(load);
		break;
	}
}

/* Opens the cache on the disks, and reads it into @to. */
static bool open_and_read(struct crash *x, struct replay *r,
			  const struct config *c, const struct meta_view *v,
			  uint8_t *to, const char *when, int64_t *us)
{
	*us = world_activate(&x->w, c);
	if (*us < 0) {
		printf("  %s: cannot be activated: %s\n", when, strerror(-*us));
		return false;
	}
	x->tally.activations++;
	if (!counts_match(x, v))
		return false;
	world_read(&x->w, to, c->origin_sectors);
	return !replay_check_top(r, to, c->origin_sectors, when);
}

/* After a clean stop the copies are equal, and what was @read is still there. */
static bool closed_well(struct crash *x, struct replay *r, const uint8_t *read)
{
	struct meta_view v;

	if (!look(x, r, &v, "after a clean stop"))
		return false;
	if (!v.clean) {
		printf("  after a clean stop: CLEAN_SHUTDOWN is not set\n");
		return false;
	}
	if (memcmp(x->buf, read, r->origin_sectors * SECTOR)) {
		printf("  after a clean stop: the content differs from what was read before\n");
		return false;
	}
	return true;
}

static void time_clean_activation(struct crash *x, const struct config *c,
				  int64_t after_cut)
{
	int64_t us = world_activate(&x->w, c);

	if (us < 0)
		die("cannot be activated after a clean stop: %s", strerror(-us));
	world_deactivate(&x->w);
	x->tally.timed++;
	x->tally.us_after_cut += after_cut;
	x->tally.us_after_clean += us;
}

static void copy_chunks(struct crash *x, int disk, uint8_t *to,
			const uint8_t *from, const struct chunks *which,
			const struct chunks *but)
{
	for (uint32_t i = 0; i < x->changed[disk].nr; i++)
		if (which->set[i] && !(but && but->set[i]))
			memcpy(to + i * (size_t)CHUNK * SECTOR,
			       from + i * (size_t)CHUNK * SECTOR, CHUNK * SECTOR);
}

/* Saves the first cut's disks; complete_saved() adds what equals the base. */
static void save_disks(struct crash *x)
{
	for (int i = 0; i < NR_DISKS; i++) {
		copy_chunks(x, i, x->saved[i], x->w.memory[i], &x->changed[i], NULL);
		memcpy(x->in_saved[i].set, x->changed[i].set, x->changed[i].nr);
	}
}

static void complete_saved(struct crash *x)
{
	for (int i = 0; i < NR_DISKS; i++)
		copy_chunks(x, i, x->saved[i], x->main.disk[i].data,
			    &x->changed[i], &x->in_saved[i]);
}

/* Puts the disks together as they may be at the cut; the seed chooses. */
static void cut_disks(struct crash *x, struct replay *r, uint32_t cut)
{
	replay_advance(r, cut, x->changed);
	for (int i = 0; i < NR_DISKS; i++) {
		copy_chunks(x, i, x->w.memory[i], r->disk[i].data, &x->changed[i], NULL);
		if (r == &x->main)
			memset(x->changed[i].set, 0, x->changed[i].nr);
		replay_survivors(r, i, x->w.memory[i], &x->changed[i], &x->rng);
	}
}

/* The log has all writes to the disks from here on. */
static void begin_session(struct crash *x)
{
	x->w.head->used = x->rec.end;
	x->w.head->overflow = 0;
	x->w.head->recording = 1;
}

static void end_session(struct crash *x)
{
	x->w.head->recording = 0;
	log_mark_chunks(x->w.head, x->rec.end, x->changed);
}

static uint32_t pick_event(struct rng *rng, const struct log *log)
{
	uint32_t near;

	if (!log->nr_events)
		return 0;
	if (rng_below(rng, 2) || !log->nr_meta_events)
		return rng_below(rng, log->nr_events + 1);
	near = log->meta_events[rng_below(rng, log->nr_meta_events)];
	near += rng_below(rng, 3);
	return near < log->nr_events ? near : log->nr_events;
}

uint32_t cut_event(const struct crash *x, uint32_t number)
{
	struct rng rng = { mix64(x->rec.seed << 24 ^ number) };

	return pick_event(&rng, &x->log);
}

/* Opens the cache, reads it, perhaps uses it, and stops it. */
static bool open_after_second_cut(struct crash *x, struct replay *r,
				  const struct config *c,
				  const struct meta_view *v)
{
	int64_t us;
	bool ok;

	x->w.head->recording = 1;
	ok = open_and_read(x, r, c, v, x->second, "after the second cut", &us);
	if (ok)
		use(x, rng_below(&x->rng, SESSION_LOAD), c);
	world_deactivate(&x->w);
	end_session(x);
	return ok && closed_well(x, r, x->second);
}

/*
 * Cuts the session as well.  After this cut the cache must hold what the
 * session read, except where the session wrote.
 */
static bool second_cut(struct crash *x, const struct config *c,
		       bool nothing_volatile)
{
	struct log log;
	struct replay r = {
		.log = &log,
		.top.data = x->first,
		.unknown = x->session_unknown,
		.block_sectors = c->block_sectors,
		.origin_sectors = c->origin_sectors,
		.passdown = c->passdown,
		.nothing_volatile = nothing_volatile,
	};
	struct meta_view v;
	bool ok;

	log_read(&log, x->w.head, x->rec.end);
	complete_saved(x);
	for (int i = 0; i < NR_DISKS; i++)
		r.disk[i].data = x->saved[i];
	memset(x->session_unknown, 0, x->w.head->disk_sectors[DISK_ORIGIN]);
	cut_disks(x, &r, pick_event(&x->rng, &log));
	x->tally.second_cuts++;
	ok = look(x, &r, &v, "second cut, before activation") &&
	     repair_keeps(x, &v) &&
	     open_after_second_cut(x, &r, c, &v);
	log_free(&log);
	return ok;
}

static bool activated_cut(struct crash *x, const struct config *c,
			  const struct meta_view *v)
{
	enum session kind = rng_below(&x->rng, NR_SESSIONS);
	bool twice = rng_below(&x->rng, 100) < 40;
	int64_t us;
	bool ok;

	/* Only a second cut checks a load: without one, read. */
	if (!twice && kind == SESSION_LOAD)
		kind = SESSION_READ;
	if (twice)
		save_disks(x);
	begin_session(x);
	ok = open_and_read(x, &x->main, c, v, x->first, "after the cut", &us);
	if (ok)
		use(x, kind, c);
	if (ok && kind != SESSION_LOAD && kind != SESSION_NONE) {
		world_read(&x->w, x->buf, c->origin_sectors);
		if (memcmp(x->first, x->buf, c->origin_sectors * SECTOR)) {
			printf("  two reads of the same data differ\n");
			ok = false;
		}
	}
	world_deactivate(&x->w);
	if (ok && kind != SESSION_LOAD)
		ok = closed_well(x, &x->main, x->first);
	if (ok && !twice && rng_below(&x->rng, 2))
		time_clean_activation(x, c, us);
	end_session(x);
	if (ok && twice)
		ok = second_cut(x, c, false);
	return ok;
}

static bool written_back_by_tool(struct crash *x, const struct config *c)
{
	bool ok;

	world_sizes(&x->w, c);
	begin_session(x);
	ok = tools_write_back(x, c);
	end_session(x);
	return ok;
}

static uint8_t *copy_of_disk(struct crash *x, int disk)
{
	size_t bytes = x->w.head->disk_sectors[disk] * SECTOR;
	uint8_t *copy = malloc(bytes);

	if (!copy)
		die("no memory");
	return memcpy(copy, x->w.memory[disk], bytes);
}

/*
 * Settles the log on a copy of the disks.  The copy must hold the same then,
 * without a log.
 */
static bool settled_by_tool(struct crash *x, const struct config *c)
{
	uint64_t meta_sectors = x->w.head->disk_sectors[DISK_META];
	struct meta_view v;
	uint8_t *disk[NR_DISKS];
	bool ok;

	for (int i = 0; i < NR_DISKS; i++)
		disk[i] = copy_of_disk(x, i);
	ok = log_goes_home(disk[DISK_META], meta_sectors, disk[DISK_FAST],
			   x->w.head->disk_sectors[DISK_FAST], disk[DISK_ORIGIN],
			   c->origin_sectors) &&
	     meta_read(&v, disk[DISK_META], meta_sectors);
	if (ok && v.write_log) {
		printf("  settled: the flag of the write log is set\n");
		ok = false;
	}
	if (ok) {
		meta_compose(&v, disk[DISK_FAST], disk[DISK_ORIGIN], x->buf,
			     c->origin_sectors);
		ok = !replay_check_top(&x->main, x->buf, c->origin_sectors, "settled");
	}
	x->tally.settled++;
	for (int i = 0; i < NR_DISKS; i++)
		free(disk[i]);
	return ok;
}

/* The engine opens the repaired metadata from here on. */
static bool put_repaired(struct crash *x, struct meta_view *v)
{
	repair_take(x);
	return look(x, &x->main, v, "after the repair");
}

static void print_cut(const struct crash *x, uint32_t number, uint32_t event,
		      const struct config *c)
{
	printf("  cut %u, event %u of %u, mode %s, format %u, blocks of %u, %llu and %llu sectors, %s\n",
	       number, event, x->log.nr_events, c->mode, c->format,
	       c->block_sectors, (unsigned long long)c->fast_sectors,
	       (unsigned long long)c->origin_sectors, c->policy);
}

bool cut_check(struct crash *x, uint32_t number, uint32_t event, bool activate)
{
	const struct config *c;
	struct meta_view v;
	bool ok;

	x->rng.state = mix64(x->rec.seed << 24 ^ number ^ 0x5eed00000000ull);
	cut_disks(x, &x->main, event);
	/* The sizes come first, because they decide which blocks exist. */
	if (!meta_read(&v, x->w.memory[DISK_META], x->w.head->disk_sectors[DISK_META])) {
		printf("  the metadata is damaged\n");
		return false;
	}
	c = config_at(x, event, &v, &x->rng);
	x->main.origin_sectors = c->origin_sectors;
	x->main.block_sectors = c->block_sectors;
	x->main.passdown = c->passdown;
	ok = look(x, &x->main, &v, "before activation") &&
	     intents_bounded(x, &v) && repair_keeps(x, &v);
	x->tally.looked++;
	x->tally.mapped += v.nr_mapped;
	x->tally.dirty += v.nr_dirty;
	x->tally.logged += v.write_log;
	x->tally.segments += v.nr_segments;
	x->tally.differ += meta_unequal(&v, x->w.memory[DISK_FAST],
					x->w.memory[DISK_ORIGIN],
					c->origin_sectors, true);
	/* The tools need metadata, which the first commit writes. */
	if (ok && v.formatted && number % 64 == 0)
		ok = tools_agree(x, &v);
	if (ok && v.formatted && number % 64 == 32)
		ok = tools_pass(x, x->repaired);
	if (ok && v.write_log && number % SETTLED_CUTS == 3)
		ok = settled_by_tool(x, c);
	/* A repair calls blocks dirty of which it is not sure. */
	if (ok && activate && v.formatted && !is_strict(c) &&
	    number % REPAIRED_CUTS == 1)
		ok = put_repaired(x, &v);
	if (ok && activate) {
		world_sizes(&x->w, c);
		ok = activated_cut(x, c, &v);
		x->tally.cuts++;
	} else if (ok && number % 64 == 63 && v.nr_dirty && !v.write_log) {
		/* cache_writeback 1.1 crashes when it has nothing to write. */
		ok = written_back_by_tool(x, c);
	}
	if (!ok)
		print_cut(x, number, event, c);
	return ok;
}

/* ---- Stock, the kernel's own engine ---- */

/* Replaces what stock's table cannot express. */
static void stock_config(struct config *to, const struct config *c)
{
	*to = *c;
	strcpy(to->policy, "smq 0");
	if (!strcmp(c->mode, "writearound"))
		strcpy(to->mode, "writethrough");
	else if (!strcmp(c->mode, "writeonly"))
		strcpy(to->mode, "writeback");
}

/*
 * Cuts stock's own session, and hearth opens the result.  Stock does not flush
 * the cache device before it commits, so here the disks lose nothing that is
 * done.
 */
static bool stock_crash(struct crash *x, const struct config *c)
{
	x->tally.stock_crashes++;
	x->stock = false;
	engine_load("hearth");
	return second_cut(x, c, true);
}

/* A write log is in use: stock must refuse the volume, and write nothing. */
static bool stock_refuses(struct crash *x, const struct config *c, bool crash)
{
	uint8_t *before = copy_of_disk(x, DISK_META);
	int64_t us;
	bool ok;

	begin_session(x);
	us = world_activate(&x->w, c);
	if (us >= 0)
		world_deactivate(&x->w);
	end_session(x);
	ok = us < 0 && !memcmp(before, x->w.memory[DISK_META],
			       x->w.head->disk_sectors[DISK_META] * SECTOR);
	if (!ok)
		printf("  stock does not refuse a volume with a write log, or writes to it\n");
	free(before);
	x->tally.stock_refused++;
	if (crash)
		engine_load("hearth");
	return ok;
}

bool cut_check_stock(struct crash *x, uint32_t number, uint32_t event, bool crash)
{
	struct config c;
	struct meta_view v;
	int64_t us;
	bool ok;

	x->rng.state = mix64(x->rec.seed << 24 ^ number ^ 0x570c00000000ull);
	cut_disks(x, &x->main, event);
	if (!meta_read(&v, x->w.memory[DISK_META], x->w.head->disk_sectors[DISK_META]))
		return false;
	stock_config(&c, config_at(x, event, &v, &x->rng));
	x->main.origin_sectors = c.origin_sectors;
	x->main.block_sectors = c.block_sectors;
	x->main.passdown = c.passdown;
	if (!crash && v.formatted && !is_strict(&c) && number % 2 &&
	    (!repair_keeps(x, &v) || !put_repaired(x, &v)))
		return false;
	world_sizes(&x->w, &c);
	if (v.write_log)
		return stock_refuses(x, &c, crash);
	save_disks(x);
	begin_session(x);
	ok = open_and_read(x, &x->main, &c, &v, x->first, "opened by stock", &us);
	if (ok)
		use(x, crash ? SESSION_LOAD : SESSION_NONE, &c);
	world_deactivate(&x->w);
	end_session(x);
	x->tally.stock_cuts++;
	if (ok && !crash)
		ok = closed_well(x, &x->main, x->first);
	if (crash && ok)
		ok = stock_crash(x, &c);
	else if (crash)
		engine_load("hearth");
	if (!ok)
		print_cut(x, number, event, &c);
	return ok;
}
