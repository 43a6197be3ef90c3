// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index against plain arrays: for each sector of each block, where readers
 * find it and where the ring has it.
 */

#include "util.h"

#define BLOCKS		6
#define SECTORS		32	/* in a block, and in a slot */
#define SLOTS		48
#define NOWHERE		(-1)
#define MAX_WRITES	12u
#define MAX_LEAVING	4u

struct leaving {
	u32 nr;
	bool put;
	struct log_run runs[SECTORS];
};

struct ref {
	struct host host;
	struct log_index ix;
	u64 rng;
	u64 *fails;			/* what host.fails is */
	int seen[BLOCKS][SECTORS];	/* a place: slot * SECTORS + sector */
	int ring[BLOCKS][SECTORS];
	int old[BLOCKS][SECTORS];	/* what this round has still to repeat */
	bool in_round;
	bool used[SLOTS];
	u32 open, fill;

	struct log_write *writes[MAX_WRITES];	/* in flight */
	u32 nr_writes;
	struct log_run unlogged[256];		/* in the order of being seen */
	struct log_write *taken[256];
	u32 nr_unlogged, nr_taken;
	struct leaving leaving[MAX_LEAVING];
	u32 nr_leaving;
	u32 released[SLOTS];			/* of ring, but not settled */
};

static void ref_make(struct ref *r, u64 seed)
{
	memset(r, 0, sizeof(*r));
	memset(r->seen, 0xff, sizeof(r->seen));
	memset(r->ring, 0xff, sizeof(r->ring));
	memset(r->old, 0xff, sizeof(r->old));
	r->rng = seed;
	r->open = LOG_NO_SLOT;
	host_make(&r->host, SLOTS);
	assert_ok(log_index_init(&r->ix, &host_ops, &r->host, SECTORS, 1 << 20));
	/* Half of them have no memory to spare. */
	if (seed & 1)
		r->ix.roomy_bytes = 0;
}

static int place_of(const struct log_run *run, u32 sector)
{
	return run->slot * SECTORS + run->at + sector - run->sector;
}

/* ---- Steps ---- */

/* Room in the open segment, or in another. */
static bool take_room(struct ref *r, u32 n, u32 *slot, u32 *at)
{
	if (r->open == LOG_NO_SLOT || r->fill + n > SECTORS) {
		u32 s = below(&r->rng, SLOTS);

		if (r->used[s])
			return false;
		/* Memory is refused to writes only. */
		r->host.fails = NULL;
		assert_ok(log_segment_open(&r->ix, s, true));
		assert_int_equal(log_segment_open(&r->ix, s, true), -EEXIST);
		r->host.fails = r->fails;
		r->used[s] = true;
		r->open = s;
		r->fill = 0;
	}
	*slot = r->open;
	*at = r->fill;
	r->fill += n;
	return true;
}

static void begin_write(struct ref *r)
{
	u32 block = below(&r->rng, BLOCKS), sector, n, slot, at;
	struct log_write *w;

	sector = below(&r->rng, SECTORS);
	n = 1 + below(&r->rng, one_in(&r->rng, 3) ? SECTORS - sector :
		      min(SECTORS - sector, 3u));
	/* Often what the newest extent is continued by. */
	if (r->nr_unlogged && one_in(&r->rng, 3)) {
		const struct log_run *last = &r->unlogged[r->nr_unlogged - 1];

		if (last->sector + last->sectors < SECTORS) {
			block = last->block;
			sector = last->sector + last->sectors;
			n = 1;
		}
	}
	if (r->nr_writes == MAX_WRITES ||
	    r->nr_unlogged + r->nr_taken + r->nr_writes > 40)
		return;
	w = log_index_reserve(&r->ix, block, sector, n, true);
	if (IS_ERR(w)) {
		assert_non_null(r->host.fails);
		return;
	}
	if (!take_room(r, n, &slot, &at)) {
		log_index_cancel(&r->ix, w);
		return;
	}
	log_write_place(&r->ix, w, slot, at);
	r->writes[r->nr_writes++] = w;
}

static void end_write(struct ref *r)
{
	struct log_write *w;
	struct log_run *last;
	u32 i;

	if (!r->nr_writes)
		return;
	i = below(&r->rng, r->nr_writes);
	w = r->writes[i];
	r->writes[i] = r->writes[--r->nr_writes];
	if (one_in(&r->rng, 8)) {
		log_index_cancel(&r->ix, w);
		return;
	}
	last = r->nr_unlogged ? &r->unlogged[r->nr_unlogged - 1] : NULL;
	if (last && last->block == w->run.block && last->slot == w->run.slot &&
	    last->sector + last->sectors == w->run.sector &&
	    last->at + last->sectors == w->run.at)
		last->sectors += w->run.sectors;
	else
		r->unlogged[r->nr_unlogged++] = w->run;
	for (u32 k = 0; k < w->run.sectors; k++)
		r->seen[w->run.block][w->run.sector + k] =
			place_of(&w->run, w->run.sector + k);
	log_index_seen(&r->ix, w);
}

static void unring(struct ref *r, u32 block, u32 sector)
{
	int place = r->ring[block][sector];

	if (place != NOWHERE)
		r->released[place / SECTORS]++;
	r->ring[block][sector] = r->old[block][sector] = NOWHERE;
}

static void take(struct ref *r)
{
	struct log_write *w;

	if (r->nr_taken)
		return;
	w = log_index_take_unlogged(&r->ix);
	for (u32 i = 0; i < r->nr_unlogged; i++) {
		assert_memory_equal(&w->run, &r->unlogged[i], sizeof(w->run));
		r->taken[i] = w;
		w = w->next;
	}
	r->nr_taken = r->nr_unlogged;
	r->nr_unlogged = 0;
}

static void put(struct ref *r)
{
	struct log_run run;

	if (!r->nr_taken)
		return;
	run = r->taken[0]->run;
	for (u32 k = run.sector; k < run.sector + run.sectors; k++) {
		unring(r, run.block, k);
		r->ring[run.block][k] = place_of(&run, k);
	}
	log_index_put(&r->ix, r->taken[0]);
	r->nr_taken--;
	memmove(r->taken, r->taken + 1, r->nr_taken * sizeof(r->taken[0]));
}

static void begin_leaving(struct ref *r)
{
	struct leaving *l = &r->leaving[r->nr_leaving];
	u32 block = below(&r->rng, BLOCKS);
	int n;

	if (r->nr_leaving == MAX_LEAVING)
		return;
	n = log_index_collect(&r->ix, block, l->runs, SECTORS, true);
	if (n < 0) {
		assert_non_null(r->host.fails);
		return;
	}
	if (!n)
		return;
	l->nr = n;
	l->put = false;
	r->nr_leaving++;
}

static void go_on_leaving(struct ref *r)
{
	struct leaving *l;
	u32 i;

	if (!r->nr_leaving)
		return;
	i = below(&r->rng, r->nr_leaving);
	l = &r->leaving[i];
	/* VALID comes before GONE (W10). */
	while (!l->put && (r->nr_taken || r->nr_unlogged)) {
		take(r);
		put(r);
	}
	for (u32 n = 0; n < l->nr; n++) {
		const struct log_run *run = &l->runs[n];

		if (!l->put) {
			log_index_put_gone(&r->ix, run);
		} else {
			log_index_leave(&r->ix, run);
			r->host.pins[run->slot]--;
		}
		for (u32 k = run->sector; k < run->sector + run->sectors; k++)
			if (!l->put && r->ring[run->block][k] == place_of(run, k))
				unring(r, run->block, k);
			else if (l->put && r->seen[run->block][k] == place_of(run, k))
				r->seen[run->block][k] = NOWHERE;
	}
	if (l->put)
		*l = r->leaving[--r->nr_leaving];
	else
		l->put = true;
}

/* Everything old is repeated once, and nothing else. */
static void repeat(struct ref *r)
{
	struct log_run run;

	if (!r->in_round) {
		log_index_begin_round(&r->ix);
		memcpy(r->old, r->ring, sizeof(r->old));
		r->in_round = true;
	}
	if (!log_index_repeat(&r->ix, &run)) {
		for (u32 b = 0; b < BLOCKS; b++)
			for (u32 k = 0; k < SECTORS; k++)
				assert_int_equal(r->old[b][k], NOWHERE);
		r->in_round = false;
		return;
	}
	for (u32 k = run.sector; k < run.sector + run.sectors; k++) {
		assert_int_equal(r->old[run.block][k], place_of(&run, k));
		r->old[run.block][k] = NOWHERE;
	}
}

static bool holds(const int map[BLOCKS][SECTORS], u32 slot)
{
	for (u32 b = 0; b < BLOCKS; b++)
		for (u32 k = 0; k < SECTORS; k++)
			if (map[b][k] != NOWHERE &&
			    map[b][k] / SECTORS == (int)slot)
				return true;
	return false;
}

static bool ref_idle(struct ref *r, u32 slot)
{
	for (u32 i = 0; i < r->nr_writes; i++)
		if (r->writes[i]->run.slot == slot)
			return false;
	for (u32 i = 0; i < r->nr_unlogged; i++)
		if (r->unlogged[i].slot == slot)
			return false;
	for (u32 i = 0; i < r->nr_taken; i++)
		if (r->taken[i]->run.slot == slot)
			return false;
	for (u32 i = 0; i < r->nr_leaving; i++)
		for (u32 k = 0; k < r->leaving[i].nr; k++)
			if (r->leaving[i].runs[k].slot == slot)
				return false;
	return !holds(r->seen, slot) && !holds(r->ring, slot) &&
	       !r->released[slot] && !r->host.pins[slot];
}

static void close_segment(struct ref *r)
{
	u32 slot = below(&r->rng, SLOTS);

	if (!r->used[slot]) {
		assert_int_equal(log_segment_close(&r->ix, slot, false), -ENOENT);
		return;
	}
	if (slot == r->open)
		return;
	if (!ref_idle(r, slot)) {
		assert_int_equal(log_segment_close(&r->ix, slot, false), -EBUSY);
		return;
	}
	assert_true(log_segment_free(&r->ix, slot));
	assert_ok(log_segment_close(&r->ix, slot, false));
	r->used[slot] = false;
}

static void settle(struct ref *r)
{
	log_index_settle(&r->ix);
	memset(r->released, 0, sizeof(r->released));
}

/* ---- Lookups by readers ---- */

static u32 run_length(const int *map, u32 from, u32 end)
{
	u32 k = from + 1;

	while (k < end && map[k] == (map[from] == NOWHERE ? NOWHERE :
				     map[k - 1] + 1) &&
	       (map[k] == NOWHERE || map[k] % SECTORS))
		k++;
	return k - from;
}

static void look_up(struct ref *r)
{
	u32 b = below(&r->rng, BLOCKS), from = below(&r->rng, SECTORS);
	u32 end = from + 1 + below(&r->rng, SECTORS - from);
	const int *map = r->seen[b];
	struct log_run run;

	log_index_lookup(&r->ix, b, from, end - from, &run);
	assert_int_equal(run.sector, from);
	assert_int_equal(run.sectors, run_length(map, from, end));
	if (map[from] == NOWHERE) {
		assert_int_equal(run.slot, LOG_NO_SLOT);
		return;
	}
	assert_int_equal(place_of(&run, from), map[from]);
	assert_int_not_equal(r->host.pins[run.slot], 0);
	r->host.pins[run.slot]--;
}

static void collect(struct ref *r)
{
	u32 b = below(&r->rng, BLOCKS), sectors = 0;
	struct log_run runs[SECTORS];
	int n = log_index_collect(&r->ix, b, runs, SECTORS, false);

	assert_in_range(n, 0, SECTORS);
	for (int i = 0; i < n; i++) {
		for (u32 k = runs[i].sector; k < runs[i].sector + runs[i].sectors; k++)
			assert_int_equal(place_of(&runs[i], k), r->seen[b][k]);
		assert_true(!i || runs[i].sector >= runs[i - 1].sector +
			    runs[i - 1].sectors);
		sectors += runs[i].sectors;
		r->host.pins[runs[i].slot]--;
	}
	for (u32 k = 0; k < SECTORS; k++)
		sectors -= r->seen[b][k] != NOWHERE;
	assert_int_equal(sectors, 0);
	if (n > 1)
		assert_int_equal(log_index_collect(&r->ix, b, runs, n - 1, false),
				 -E2BIG);
}

static u32 ref_runs(const int map[BLOCKS][SECTORS])
{
	u32 n = 0;

	for (u32 b = 0; b < BLOCKS; b++)
		for (u32 k = 0; k < SECTORS; k += run_length(map[b], k, SECTORS))
			n += map[b][k] != NOWHERE;
	return n;
}

static void compare(struct ref *r)
{
	log_index_check(&r->ix);
	for (u32 b = 0; b < BLOCKS; b++) {
		bool has = false, all = true;

		for (u32 k = 0; k < SECTORS; k++) {
			has |= r->seen[b][k] != NOWHERE;
			all &= r->seen[b][k] != NOWHERE;
		}
		assert_int_equal(log_index_covers(&r->ix, b), all);
		for (u32 i = 0; i < r->nr_writes; i++)
			has |= r->writes[i]->run.block == b;
		assert_int_equal(log_index_has(&r->ix, b), has);
	}
	assert_int_equal(atomic64_read(&r->ix.nr_unlogged),
			 r->nr_unlogged + r->nr_taken + r->nr_writes);
	/* A run may be two while only one half of it was repeated. */
	assert_true(r->ix.nr_ring >= ref_runs(r->ring));
	if (!r->ix.nr_old)
		assert_int_equal(r->ix.nr_ring, ref_runs(r->ring));
	if (!r->in_round)
		assert_int_equal(r->ix.nr_old, 0);
}

static void step(struct ref *r)
{
	switch (below(&r->rng, 16)) {
	case 0: case 1: case 2:
		begin_write(r);
		break;
	case 3: case 4: case 5:
		end_write(r);
		break;
	case 6:
		take(r);
		break;
	case 7: case 8: case 9:
		put(r);
		break;
	case 10:
		begin_leaving(r);
		break;
	case 11:
		go_on_leaving(r);
		break;
	case 12:
		repeat(r);
		break;
	case 13:
		close_segment(r);
		break;
	case 14:
		settle(r);
		break;
	default:
		look_up(r);
		collect(r);
	}
}

/* End what is under way: then everything leaves, and nothing is left. */
static void drain(struct ref *r)
{
	r->host.fails = r->fails = NULL;
	while (r->nr_writes)
		end_write(r);
	while (r->nr_taken || r->nr_unlogged) {
		take(r);
		put(r);
	}
	while (r->nr_leaving)
		go_on_leaving(r);
	while (!log_index_empty(&r->ix)) {
		begin_leaving(r);
		go_on_leaving(r);
		go_on_leaving(r);
	}
	settle(r);
	r->open = LOG_NO_SLOT;
	for (u32 s = 0; s < SLOTS; s++)
		if (r->used[s])
			assert_ok(log_segment_close(&r->ix, s, false));
	compare(r);
}

static void random_operations(struct ref *r, u32 steps)
{
	for (u32 i = 0; i < steps; i++) {
		step(r);
		if (one_in(&r->rng, 8))
			compare(r);
	}
	drain(r);
	log_index_trim(&r->ix);
	assert_int_equal(r->host.bytes, 0);
	log_index_exit(&r->ix);
	host_free(&r->host);
}

static void test_random(void **state)
{
	u64 seed = test_seed("index, random operations", 1);

	(void)state;
	for (u32 i = 0; i < rounds(60); i++) {
		struct ref *r = malloc(sizeof(*r));

		ref_make(r, rnd(&seed));
		random_operations(r, 4000);
		free(r);
	}
}

static void test_no_memory(void **state)
{
	u64 seed = test_seed("index, refused memory", 1), chance = seed;

	(void)state;
	for (u32 i = 0; i < rounds(20); i++) {
		struct ref *r = malloc(sizeof(*r));

		ref_make(r, rnd(&seed));
		r->host.fail_one_in = 4;
		r->host.fails = r->fails = &chance;
		for (u32 s = 0; s < 4000; s++)
			step(r);
		compare(r);
		random_operations(r, 0);
		free(r);
	}
}

/* ---- Memory ---- */

static u32 allocations_left;

static bool next_fails(void)
{
	return !allocations_left--;
}

/* A caller asks the index whether it was made, and only then frees it. */
static void test_not_made(void **state)
{
	struct log_index ix;
	struct host h;

	(void)state;
	host_make(&h, 1000);
	for (u32 good = 0; good < 3; good++) {
		memset(&ix, 0, sizeof(ix));
		allocations_left = good;
		os_alloc_fails = next_fails;
		assert_int_equal(log_index_init(&ix, &host_ops, &h, 128, 1 << 20),
				 -ENOMEM);
		os_alloc_fails = NULL;
		assert_null(ix.buckets);
	}
	host_free(&h);
}

#define SCATTERED	400000u

static u32 log_one(struct log_index *ix, u64 block, u32 slot, u16 sector,
		   u16 at, u32 sectors)
{
	struct log_write *w = log_index_reserve(ix, block, sector, sectors, true);

	if (IS_ERR(w))
		return 0;
	log_write_place(ix, w, slot, at);
	log_index_seen(ix, w);
	log_index_put(ix, log_index_take_unlogged(ix));
	log_index_settle(ix);
	return 1;
}

/*
 * 4 KiB writes, each to another block, until the bound: all that the index uses
 * for one is at most 72 bytes, as the index counts and as the kernel's allocator
 * would round.
 */
static void test_scattered(void **state)
{
	struct log_index ix;
	struct host h;
	u64 table, n = 0;

	(void)state;
	host_make(&h, SCATTERED);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 24 << 20));
	table = atomic64_read(&ix.bytes);
	for (;; n++) {
		if (!(n % 16) && log_segment_open(&ix, n / 16, true))
			break;
		if (!log_one(&ix, n * 977, n / 16, 8 * (n % 16), 8 * (n % 16), 8))
			break;
	}
	log_index_trim(&ix);
	printf("note: %llu scattered extents, %.1f bytes each, %.1f of them the hash\n",
	       n, (double)(h.rounded + table) / n, (double)table / n);
	assert_true(h.rounded + table <= 72 * n);
	assert_true(atomic64_read(&ix.bytes) <= 24 << 20);
	assert_int_equal(h.bytes + table, atomic64_read(&ix.bytes));
	log_index_exit(&ix);
	host_free(&h);
}

/*
 * Blocks of 64 KiB full of 4 KiB extents that do not adjoin in the log, in an index that
 * has little memory to spare.
 */
static void test_dense(void **state)
{
	struct log_index ix;
	struct host h;
	u64 table;

	(void)state;
	host_make(&h, 1000);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 1 << 17));
	table = atomic64_read(&ix.bytes);
	for (u32 i = 0; i < 16; i++)
		for (u32 b = 0; b < 160; b++) {
			u32 n = i * 160 + b;

			if (!(n % 16))
				assert_ok(log_segment_open(&ix, n / 16, true));
			assert_int_equal(log_one(&ix, b, n / 16, 8 * (i * 7 % 16),
						 8 * (n % 16), 8), 1);
		}
	log_index_trim(&ix);
	printf("note: 16 extents in each block, %.1f bytes each without the hash\n",
	       (double)h.rounded / (16 * 160));
	assert_true(h.rounded <= 20 * 16 * 160);
	assert_int_equal(h.bytes + table, atomic64_read(&ix.bytes));
	log_index_exit(&ix);
	host_free(&h);
}

/* An index of blocks of 64 KiB, with one open segment. */
static void one_segment(struct log_index *ix, struct host *h)
{
	host_make(h, 1);
	assert_ok(log_index_init(ix, &host_ops, h, 128, 1 << 20));
	assert_ok(log_segment_open(ix, 0, true));
}

/*
 * A block that is written again and again, each write recorded before the next, is copied to
 * a larger place at most once for each class of memory, while the index has memory to spare.
 */
static void test_roomy(void **state)
{
	struct log_index ix;
	struct host h;
	u32 before, n;

	(void)state;
	one_segment(&ix, &h);
	before = h.nr_allocs;
	for (n = 0; n < 16; n++)
		assert_int_equal(log_one(&ix, 0, 0, 8 * (n * 7 % 16), 8 * n, 8), 1);
	/* A write, whose memory stays, and classes with room for 1, 9 and 16 + 8 extents. */
	assert_true(h.nr_allocs - before <= 1 + 4);
	log_index_exit(&ix);
	host_free(&h);
}

/* A batch records all that was seen. */
static void record_all(struct log_index *ix)
{
	struct log_write *w, *next;

	for (w = log_index_take_unlogged(ix); w; w = next) {
		next = w->next;
		log_index_put(ix, w);
	}
	log_index_settle(ix);
}

/* A batch of two writes to each of the blocks, at places that the earlier writes have left. */
static void write_twice(struct log_index *ix, u32 blocks, u32 sector)
{
	struct log_write *w;
	u32 i;

	for (i = 0; i < 2 * blocks; i++) {
		w = log_index_reserve(ix, i % blocks, sector + 16 * (i / blocks), 8, true);
		assert_false(IS_ERR(w));
		log_write_place(ix, w, 0, 0);
		log_index_seen(ix, w);
	}
	record_all(ix);
}

/*
 * Blocks lose the room that they have kept when the index has no memory to spare any more, all
 * of them while others are written.
 */
static void test_slim(void **state)
{
	struct log_index ix;
	struct host h;
	s64 before, slim;

	(void)state;
	host_make(&h, 1000);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 1 << 21));
	assert_ok(log_segment_open(&ix, 0, true));
	before = atomic64_read(&ix.bytes);
	write_twice(&ix, 1000, 0);
	/* Room for 17 extents and more. */
	assert_true(atomic64_read(&ix.bytes) - before >= 1000 * 256);
	ix.roomy_bytes = 0;
	/* Other blocks are written. */
	for (u32 i = 0; i < 1U << ix.bucket_bits; i += 8)
		assert_int_equal(log_one(&ix, 1000 + i / 8 % 64, 0, 0, 0, 8), 1);
	slim = atomic64_read(&ix.bytes);
	/* Two extents take 64 bytes with their block, as when there never was any to spare. */
	assert_int_equal(slim - before, 1064 * 64);
	write_twice(&ix, 1000, 32);
	assert_true(atomic64_read(&ix.bytes) - before <= 1064 * 96);
	log_index_check(&ix);
	log_index_exit(&ix);
	host_free(&h);
}

struct walk {
	u8 visits[100];		/* of each block */
	u32 nr, most;
};

static int visit(void *ctx, const struct log_run *run)
{
	struct walk *walk = ctx;

	walk->visits[run->block]++;
	return ++walk->nr == walk->most;
}

/* The index has the blocks from @first on, up to @end. */
static void walk_from_everywhere(struct log_index *ix, u32 first, u32 end)
{
	u32 nr = end - first;

	for (u32 from = 0; from <= 1U << ix->bucket_bits; from++) {
		struct walk all = { 0 }, some = { .most = nr / 2 };

		assert_ok(log_index_visit_from(ix, visit, &all, from));
		for (u32 b = 0; b < ARRAY_SIZE(all.visits); b++)
			assert_int_equal(all.visits[b], b >= first && b < end);
		assert_int_equal(log_index_visit_from(ix, visit, &some, from), nr > 1);
		assert_int_equal(some.nr, nr > 1 ? nr / 2 : nr);
	}
}

/*
 * A walk from any bucket on visits all blocks once, while they come, while they leave, and
 * when all have left.  Most buckets have several blocks.
 */
static void test_walk(void **state)
{
	struct log_index ix;
	struct log_run run;
	struct host h;
	u32 b;

	(void)state;
	host_make(&h, 1000);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 1 << 13));
	assert_int_equal(ix.bucket_bits, 6);
	assert_ok(log_segment_open(&ix, 0, true));
	for (b = 0; b < 100; b++) {
		walk_from_everywhere(&ix, 0, b);
		assert_int_equal(log_one(&ix, b, 0, 0, b, 1), 1);
	}
	for (b = 0; b < 100; b++) {
		walk_from_everywhere(&ix, b, 100);
		assert_int_equal(log_index_collect(&ix, b, &run, 1, true), 1);
		log_index_put_gone(&ix, &run);
		log_index_leave(&ix, &run);
	}
	walk_from_everywhere(&ix, 100, 100);
	log_index_exit(&ix);
	host_free(&h);
}

/* 512 bytes after 512 bytes make one extent, and one record. */
static void test_lengthened(void **state)
{
	struct log_write *w;
	struct log_index ix;
	struct log_run run;
	struct host h;

	(void)state;
	one_segment(&ix, &h);
	for (u32 i = 0; i < 128; i++) {
		w = log_index_reserve(&ix, 5, i, 1, true);
		assert_false(IS_ERR(w));
		log_write_place(&ix, w, 0, i);
		log_index_seen(&ix, w);
	}
	log_index_lookup(&ix, 5, 0, 128, &run);
	assert_int_equal(run.sectors, 128);
	w = log_index_take_unlogged(&ix);
	assert_int_equal(w->run.sectors, 128);
	log_index_put(&ix, w);
	assert_int_equal(ix.nr_ring, 1);
	log_index_check(&ix);
	log_index_exit(&ix);
	host_free(&h);
}

/* A closed block refuses writes and keeps what it has. */
static void test_closed(void **state)
{
	struct log_write *w;
	struct log_index ix;
	struct host h;

	(void)state;
	host_make(&h, 2);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 1 << 20));
	w = log_index_reserve(&ix, 7, 0, 8, true);
	assert_false(IS_ERR(w));
	assert_ok(log_index_close(&ix, 7));
	assert_ok(log_index_close(&ix, 7));
	assert_int_equal(log_index_writes(&ix, 7), 1);
	assert_int_equal(PTR_ERR(log_index_reserve(&ix, 7, 0, 8, true)), -EBUSY);
	assert_true(log_index_has(&ix, 7));
	log_index_cancel(&ix, w);
	assert_int_equal(log_index_writes(&ix, 7), 0);
	assert_false(log_index_has(&ix, 7));
	log_index_open(&ix, 7);
	assert_int_equal(PTR_ERR(log_index_reserve(&ix, 7, 0, 8, true)), -EBUSY);
	log_index_open(&ix, 7);
	assert_true(log_index_empty(&ix));
	log_index_trim(&ix);
	assert_int_equal(h.bytes, 0);
	log_index_exit(&ix);
	host_free(&h);
}

/* The bound holds for what writes need, and a block has at most so many extents. */
static void test_bounds(void **state)
{
	struct log_index ix;
	struct host h;
	u32 n;

	(void)state;
	assert_int_equal(log_index_init(&ix, &host_ops, &h, 0, 1), -EINVAL);
	assert_int_equal(log_index_init(&ix, &host_ops, &h, LOG_MAX_BLOCK + 1, 1),
			 -EINVAL);
	host_make(&h, 100);
	assert_ok(log_index_init(&ix, &host_ops, &h, LOG_MAX_BLOCK, 4000));
	assert_ok(log_segment_open(&ix, 0, true));
	for (n = 0; log_one(&ix, n, 0, 0, 2 * n, 1); n++)
		;
	assert_in_range(n, 20, 60);
	assert_int_equal(PTR_ERR(log_index_reserve(&ix, n, 0, 1, true)), -ENOSPC);
	for (n = 1; !log_segment_open(&ix, n, true); n++)
		;
	assert_int_equal(log_segment_open(&ix, n, true), -ENOSPC);
	log_index_exit(&ix);
	host_free(&h);

	host_make(&h, 100);
	assert_ok(log_index_init(&ix, &host_ops, &h, LOG_MAX_BLOCK, 1 << 20));
	assert_ok(log_segment_open(&ix, 0, true));
	for (n = 0; log_one(&ix, 0, 0, 2 * n, 2 * n, 1); n++)
		;
	printf("note: a block may have %u extents\n", n);
	assert_true(n >= 512);
	assert_int_equal(PTR_ERR(log_index_reserve(&ix, 0, 0, 1, true)), -EFBIG);
	log_index_check(&ix);
	log_index_exit(&ix);
	host_free(&h);
}

/* A ring may have filled a block up, so that it has no room for a write. */
static void test_replay_of_a_full_block(void **state)
{
	struct log_run run = { .sectors = 1 };
	struct log_index ix;
	struct host h;
	u32 n;

	(void)state;
	host_make(&h, 1);
	assert_ok(log_index_init(&ix, &host_ops, &h, LOG_MAX_BLOCK, 1 << 20));
	/* The largest block has room for 679. */
	for (n = 0; n < 675; n++) {
		run.sector = run.at = 2 * n;
		assert_ok(log_index_replay_valid(&ix, &run));
	}
	log_index_replayed(&ix);
	log_index_check(&ix);
	run.sector = run.at = 0;
	assert_ok(log_index_replay_gone(&ix, &run));
	log_index_check(&ix);
	log_index_exit(&ix);
	host_free(&h);
}

/* All that is seen of block 0 leaves, in as many parts as it takes. */
static u32 leave_in_parts(struct log_index *ix, struct host *h)
{
	static struct log_run runs[1000];
	u32 parts = 0;

	while (log_index_has(ix, 0)) {
		int n = log_index_collect(ix, 0, runs, ARRAY_SIZE(runs), true);

		assert_in_range(n, 1, ARRAY_SIZE(runs));
		for (int i = 0; i < n; i++)
			log_index_put_gone(ix, &runs[i]);
		log_index_settle(ix);
		for (int i = 0; i < n; i++) {
			log_index_leave(ix, &runs[i]);
			h->pins[runs[i].slot]--;
		}
		parts++;
	}
	return parts;
}

/* A write to sectors that are at the same place in segment 0, to be kept. */
static struct log_write *write_to_keep(struct log_index *ix, u64 block,
				       u16 sector, u32 sectors)
{
	struct log_write *w = log_index_reserve(ix, block, sector, sectors, true);

	assert_false(IS_ERR(w));
	log_write_place(ix, w, 0, sector);
	w->keep = LOG_KEEP;
	return w;
}

/* A block stays marked while it grows, and the mark goes with its last extent. */
static void test_kept(void **state)
{
	struct log_write *w;
	struct log_index ix;
	struct host h;

	(void)state;
	one_segment(&ix, &h);
	assert_false(log_index_keep(&ix, 0, LOG_KEEP));
	w = log_index_reserve(&ix, 0, 0, 1, true);
	assert_false(IS_ERR(w));
	assert_true(log_index_keep(&ix, 0, LOG_KEEP));
	/* Readers find nothing of it yet. */
	assert_false(log_index_kept(&ix, 0));
	assert_int_equal(log_one(&ix, 0, 0, 0, 0, 1), 1);
	assert_true(log_index_kept(&ix, 0));
	log_index_cancel(&ix, w);
	for (u32 i = 1; i < 32; i++)
		assert_int_equal(log_one(&ix, 0, 0, 2 * i, 2 * i, 1), 1);
	assert_true(log_index_kept(&ix, 0));
	assert_int_equal(leave_in_parts(&ix, &h), 1);
	assert_false(log_index_kept(&ix, 0));
	assert_int_equal(log_one(&ix, 0, 0, 0, 100, 1), 1);
	assert_false(log_index_kept(&ix, 0));
	assert_true(log_index_keep(&ix, 0, LOG_KEEP));
	assert_true(log_index_keep(&ix, 0, LOG_KEEP_NOT));
	assert_false(log_index_kept(&ix, 0));

	/* A write brings the mark with it, if it ends well. */
	w = write_to_keep(&ix, 0, 0, 4);
	assert_false(log_index_kept(&ix, 0));
	log_index_cancel(&ix, w);
	assert_false(log_index_kept(&ix, 0));
	log_index_seen(&ix, write_to_keep(&ix, 0, 101, 4));
	assert_true(log_index_kept(&ix, 0));
	assert_true(log_index_keep(&ix, 0, LOG_KEEP_NOT));
	/* The stronger mark stays. */
	assert_true(log_index_keep(&ix, 0, LOG_KEEP_IF_COVERED));
	assert_int_equal(log_index_kept(&ix, 0), LOG_KEEP_IF_COVERED);
	assert_true(log_index_keep(&ix, 0, LOG_KEEP_IF_FREE));
	assert_true(log_index_keep(&ix, 0, LOG_KEEP_IF_COVERED));
	assert_int_equal(log_index_kept(&ix, 0), LOG_KEEP_IF_FREE);
	/* The next write is told of it. */
	w = log_index_reserve(&ix, 0, 110, 1, true);
	assert_int_equal(w->keep, LOG_KEEP_IF_FREE);
	log_index_cancel(&ix, w);
	w = log_index_reserve(&ix, 1, 110, 1, true);
	assert_int_equal(w->keep, LOG_KEEP_NOT);
	log_index_cancel(&ix, w);
	assert_true(log_index_keep(&ix, 0, LOG_KEEP));
	assert_true(log_index_keep(&ix, 0, LOG_KEEP_IF_FREE));
	assert_int_equal(log_index_kept(&ix, 0), LOG_KEEP);
	assert_true(log_index_keep(&ix, 0, LOG_KEEP_NOT));
	/* It lengthens the one before. */
	log_index_seen(&ix, write_to_keep(&ix, 0, 105, 4));
	assert_true(log_index_kept(&ix, 0));
	log_index_exit(&ix);
	host_free(&h);
}

/* A block of 1 MiB with as many extents as it takes can still be emptied. */
static void test_full_block_leaves(void **state)
{
	static const u32 lengths[] = { 8, 1 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++) {
		u32 n, len = lengths[i], parts;
		struct log_index ix;
		struct host h;

		host_make(&h, 2);
		assert_ok(log_index_init(&ix, &host_ops, &h, 2048, 1 << 20));
		assert_ok(log_segment_open(&ix, 0, true));
		assert_ok(log_segment_open(&ix, 1, true));
		/* One after the other at the origin, in turn in two segments. */
		for (n = 0; n < 2048 / len; n++)
			if (!log_one(&ix, 0, n % 2, n * len, n / 2 * len, len))
				break;
		parts = leave_in_parts(&ix, &h);
		printf("note: %u extents of a block of 1 MiB left in %u parts\n", n, parts);
		assert_true(parts > 1);
		assert_true(log_index_empty(&ix));
		assert_ok(log_segment_close(&ix, 0, false));
		assert_ok(log_segment_close(&ix, 1, false));
		log_index_exit(&ix);
		host_free(&h);
	}
}

/*
 * A block is written again and again, and nothing is recorded: what is reserved
 * in it stays countable, and there is room for all that is recorded then.
 */
static void test_many_unlogged(void **state)
{
	struct log_write *w;
	struct log_index ix;
	struct host h;
	u32 n;

	(void)state;
	host_make(&h, 100);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 64 << 20));
	for (n = 0; n < 100; n++)
		assert_ok(log_segment_open(&ix, n, true));
	for (n = 0; n < 20000; n++) {
		w = log_index_reserve(&ix, 0, 2 * (n % 60), 1, true);
		if (IS_ERR(w))
			break;
		log_write_place(&ix, w, n % 100, n / 100 % 128);
		log_index_seen(&ix, w);
	}
	printf("note: a block may have %u writes that are not recorded\n", n);
	assert_in_range(n, 8000, 8192);
	assert_int_equal(PTR_ERR(w), -EFBIG);
	log_index_check(&ix);
	record_all(&ix);
	log_index_check(&ix);
	assert_int_equal(ix.nr_ring, 60);
	leave_in_parts(&ix, &h);
	assert_true(log_index_empty(&ix));
	log_index_exit(&ix);
	host_free(&h);
}

/* ---- Pins, which keep a segment from being written again (W6) ---- */

static void see(struct log_index *ix, u32 slot, u16 at)
{
	struct log_write *w = log_index_reserve(ix, 0, 0, 8, true);

	log_write_place(ix, w, slot, at);
	log_index_seen(ix, w);
}

static void test_segment_in_use(void **state)
{
	struct log_write *w, *next;
	struct log_run run;
	struct log_index ix;
	struct host h;

	(void)state;
	host_make(&h, 3);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 1 << 20));
	for (u32 i = 0; i < 3; i++)
		assert_ok(log_segment_open(&ix, i, true));

	/* In flight, seen, superseded but unlogged. */
	w = log_index_reserve(&ix, 0, 0, 8, true);
	log_write_place(&ix, w, 0, 0);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	log_index_seen(&ix, w);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	see(&ix, 1, 0);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);

	/* In the ring, then superseded in a block that is not durable. */
	w = log_index_take_unlogged(&ix);
	next = w->next;
	log_index_put(&ix, w);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	log_index_put(&ix, next);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	assert_true(log_segment_free(&ix, 0));
	log_index_settle(&ix);

	/* A reader has a pin, unless the slot is mapped in place. */
	h.pins[0]++;
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	assert_ok(log_segment_close(&ix, 0, true));
	h.pins[0]--;

	/* Superseded and recorded so, but it is about to leave. */
	assert_int_equal(log_index_collect(&ix, 0, &run, 1, true), 1);
	h.pins[1]--;
	see(&ix, 2, 0);
	log_index_put(&ix, log_index_take_unlogged(&ix));
	log_index_settle(&ix);
	assert_int_equal(log_segment_close(&ix, 1, false), -EBUSY);
	log_index_put_gone(&ix, &run);
	log_index_leave(&ix, &run);
	assert_ok(log_segment_close(&ix, 1, false));
	log_index_lookup(&ix, 0, 0, 8, &run);
	assert_int_equal(run.slot, 2);
	log_index_exit(&ix);
	host_free(&h);
}

/* Nobody gives a held segment back, whatever has become of its writes. */
static void test_held(void **state)
{
	struct log_write *w[3];
	struct log_index ix;
	struct log_run run;
	struct host h;

	(void)state;
	one_segment(&ix, &h);
	log_segment_hold(&ix, 0);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	assert_false(log_segment_free(&ix, 0));
	for (u32 i = 0; i < 3; i++) {
		w[i] = log_index_reserve(&ix, 0, 8 * i, 8, true);
		assert_false(IS_ERR(w[i]));
		log_write_place_held(w[i], 0, 16 * i);
	}
	log_index_cancel(&ix, w[0]);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	log_segment_let_go(&ix, 0, 3 * 8);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	log_index_cancel(&ix, w[1]);
	assert_int_equal(log_segment_close(&ix, 0, false), -EBUSY);
	log_index_seen(&ix, w[2]);
	log_index_put(&ix, log_index_take_unlogged(&ix));
	assert_false(log_segment_free(&ix, 0));
	assert_int_equal(log_index_collect(&ix, 0, &run, 1, true), 1);
	h.pins[0]--;
	log_index_put_gone(&ix, &run);
	log_index_leave(&ix, &run);
	log_index_settle(&ix);
	assert_ok(log_segment_close(&ix, 0, false));
	log_index_exit(&ix);
	host_free(&h);
}

/* Spare memory: bounded, used again, and charged only while it is in use. */
static void test_spare(void **state)
{
	static struct log_write *w[3000];
	struct log_index ix;
	struct host h;
	s64 idle, full;
	u32 n, before;

	(void)state;
	host_make(&h, 1);
	assert_ok(log_index_init(&ix, &host_ops, &h, 128, 4 << 20));
	idle = atomic64_read(&ix.bytes);
	for (n = 0; n < 3000; n++) {
		w[n] = log_index_reserve(&ix, n, 0, 8, true);
		assert_false(IS_ERR(w[n]));
	}
	before = h.nr_allocs;
	while (n--)
		log_index_cancel(&ix, w[n]);
	assert_int_equal(atomic64_read(&ix.bytes), idle);
	assert_int_equal(h.bytes, 2048 * 64);
	for (n = 0; n < 2048; n++)
		w[n] = log_index_reserve(&ix, 7, 0, 8, true);
	/* Memory of one block only, as it grew. */
	assert_in_range(h.nr_allocs - before, 1, 12);
	while (n--)
		log_index_cancel(&ix, w[n]);
	assert_int_equal(h.bytes, 2048 * 64);

	/* Spare memory does not help against the bound. */
	full = ix.max_bytes;
	ix.max_bytes = idle + sizeof(*w[0]) - 1;
	assert_int_equal(PTR_ERR(log_index_reserve(&ix, 7, 0, 8, true)), -ENOSPC);
	ix.max_bytes = full;
	log_index_trim(&ix);
	assert_int_equal(h.bytes, 0);
	log_index_exit(&ix);
	host_free(&h);
}

/* Two writes at a time to a block, again and again: its memory stays. */
static void test_two_at_a_time(void **state)
{
	struct log_write *a, *b;
	struct log_index ix;
	struct host h;
	u32 before = 0;

	(void)state;
	one_segment(&ix, &h);
	assert_int_equal(log_one(&ix, 0, 0, 0, 0, 8), 1);
	for (u32 i = 0; i < 8; i++) {
		if (i == 2)
			before = h.nr_allocs;
		a = log_index_reserve(&ix, 0, 0, 8, true);
		b = log_index_reserve(&ix, 0, 8, 8, true);
		log_index_cancel(&ix, a);
		log_index_cancel(&ix, b);
	}
	assert_int_equal(h.nr_allocs, before);
	log_index_exit(&ix);
	host_free(&h);
}

enum log_rule log_broken_rule;

int main(void)
{
	/* Mutants: test-world starts this program with one rule broken. */
	const char *broken = getenv("BREAK_RULE");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_dense),
		cmocka_unit_test(test_roomy),
		cmocka_unit_test(test_slim),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_spare),
		cmocka_unit_test(test_two_at_a_time),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_lengthened),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_not_made),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_replay_of_a_full_block),
		cmocka_unit_test(test_full_block_leaves),
		cmocka_unit_test(test_many_unlogged),
		cmocka_unit_test(test_segment_in_use),
	};
	const struct CMUnitTest of_segments[] = {
		cmocka_unit_test(test_segment_in_use),
	};

	if (broken) {
		log_broken_rule = strtoul(broken, NULL, 0);
		return cmocka_run_group_tests(of_segments, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
