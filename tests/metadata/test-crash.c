// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts every commit at every write and flush, and then loses, keeps,
 * reorders or tears the writes since the last flush.  An open finds the old or
 * the new state, complete and sound, and nothing else.
 */

#include "model.h"

#define NR_BLOCKS	250u
#define RANDOM_FATES	3	/* tries of each random fate */

struct tally {
	u64 commits;
	u64 points;
	u64 images;
	u64 old;
	u64 new;
};

/* A transaction that can be repeated. */
struct txn {
	struct ramdev *before;	/* the device before the transaction */
	unsigned int format;	/* nonzero: the device is still unformatted */
	u64 grow;		/* nonzero: extend to this many blocks first */
	const struct model *old;
	struct model *new;
	u64 rng;		/* the seed of the operations */
	u32 steps;
	bool clean;
	unsigned int early;
};

/* Opens the metadata and runs the transaction.  Returns the first error, or 0. */
static int perform(struct ramdev *rd, const struct txn *t, struct model *m)
{
	u64 rng = t->rng;
	struct meta x;
	int r;

	*m = *t->old;
	r = meta_open(&x, rd, t->format);
	if (r)
		return r;
	pd_device_set_early_writes(x.dev, t->early);
	if (t->grow)
		r = cmd_extend(x.cmd, t->grow);
	for (u32 i = 0; i < t->steps && !r; i++)
		r = model_step(m, x.cmd, &rng);
	m->clean = t->clean;
	if (!r)
		r = cmd_commit(x.cmd, t->clean);
	meta_shut(&x);
	return r;
}

static bool is_state(struct meta *x, const struct model *m)
{
	return cmd_opened_clean(x->cmd) == m->clean && model_matches(m, x->cmd);
}

/* Continues from the state that was found: debris must not confuse the allocator. */
static void carry_on(struct meta *x, const struct model *from, u64 *rng)
{
	struct model *m = malloc(sizeof(*m));

	*m = *from;
	for (u32 i = 0; i < 20; i++)
		assert_ok(model_step(m, x->cmd, rng));
	assert_ok(cmd_commit(x->cmd, true));
	m->clean = true;
	assert_ok(cmd_abort(x->cmd));
	assert_true(is_state(x, m));
	assert_sound(x->cmd);
	free(m);
}

static void inspect(struct ramdev *rd, const struct txn *t, bool committed,
		    struct tally *tally, u64 *rng)
{
	bool is_old, is_new;
	struct meta x;
	int r = meta_open(&x, rd, 0);

	tally->images++;
	if (r == -ENODATA) {
		assert_true(t->format && !committed);
		tally->old++;
		return;
	}
	assert_ok(r);
	is_new = is_state(&x, t->new);
	is_old = !t->format && is_state(&x, t->old);
	if (t->format && !is_new) {
		/* formatting is a commit of its own, before the rest */
		struct model *empty = calloc(1, sizeof(*empty));

		is_old = is_state(&x, empty);
		free(empty);
	}
	assert_true(is_new || (is_old && !committed));
	assert_sound(x.cmd);
	if (is_new)
		tally->new++;
	else
		tally->old++;
	if (!t->format && one_in(rng, 8))
		carry_on(&x, is_new ? t->new : t->old, rng);
	meta_shut(&x);
}

static void crash_once(const struct txn *t, u64 at, enum ramdev_fate fate,
		       struct tally *tally, u64 *rng)
{
	struct ramdev *rd = ramdev_clone(t->before);
	struct model *m = malloc(sizeof(*m));
	int r;

	rd->crash_at = at;
	r = perform(rd, t, m);
	if (r)
		assert_int_equal(r, -EIO);
	ramdev_crash(rd, fate, rng);
	inspect(rd, t, !r, tally, rng);
	ramdev_free(rd);
	free(m);
}

/* Tests all crash points of one transaction.  Leaves the device as committed. */
static struct ramdev *crash_everywhere(struct txn *t, struct tally *tally,
				       u64 *rng)
{
	struct ramdev *after = ramdev_clone(t->before);

	assert_ok(perform(after, t, t->new));
	for (u64 at = 0; at <= after->ops; at++) {
		for (int fate = 0; fate < RAMDEV_NR_FATES; fate++) {
			u32 n = fate >= RAMDEV_SHUFFLED ? RANDOM_FATES : 1;

			while (n--)
				crash_once(t, at, fate, tally, rng);
		}
		tally->points++;
	}
	tally->commits++;
	return after;
}

static void print_tally(const char *what, const struct tally *t)
{
	printf("note: %s: %llu commits, %llu crash points, %llu images, old %llu, new %llu\n",
	       what, t->commits, t->points, t->images, t->old, t->new);
	assert_true(t->old && t->new);
}

static void run(unsigned int format, u32 turns, struct tally *tally, u64 *rng)
{
	struct model *old = calloc(1, sizeof(*old));
	struct model *new = calloc(1, sizeof(*new));
	struct ramdev *rd = ramdev_new(NR_BLOCKS);

	/* the first turn starts with an unformatted device */
	for (u32 i = 0; i < turns; i++) {
		struct txn t = {
			.before = rd,
			.format = i ? 0 : format,
			.old = old,
			.new = new,
			.rng = rnd(rng),
			.steps = one_in(rng, 6) ? 0 : below(rng, 60),
			.clean = one_in(rng, 2),
			.early = one_in(rng, 2) ? 1 + below(rng, 999) : 0,
		};
		struct ramdev *after = crash_everywhere(&t, tally, rng);

		ramdev_free(rd);
		rd = after;
		*old = *new;
	}
	ramdev_free(rd);
	free(old);
	free(new);
}

static void format_1(void **state)
{
	u64 rng = test_seed("crashes, format 1", 501);
	struct tally tally = { 0 };

	(void)state;
	for (u32 i = rounds(3); i; i--)
		run(1, 10, &tally, &rng);
	print_tally("format 1", &tally);
}

static void format_2(void **state)
{
	u64 rng = test_seed("crashes, format 2", 502);
	struct tally tally = { 0 };

	(void)state;
	for (u32 i = rounds(4); i; i--)
		run(2, 10, &tally, &rng);
	print_tally("format 2", &tally);
}

/* The metadata device grew by more than a bitmap's worth. */
static void extending(void **state)
{
	u64 rng = test_seed("crashes while extending", 503);
	struct model *old = calloc(1, sizeof(*old));
	struct model *new = calloc(1, sizeof(*new));
	struct ramdev *rd = ramdev_new(100);
	struct tally tally = { 0 };
	struct txn t = {
		.before = rd,
		.grow = 17000,
		.old = old,
		.new = new,
		.rng = rnd(&rng),
		.steps = 30,
	};
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, rd, 2));
	assert_ok(cmd_resize(x.cmd, old->cache_blocks = 1000));
	assert_ok(cmd_commit(x.cmd, false));
	meta_shut(&x);
	ramdev_grow(rd, t.grow);
	ramdev_free(crash_everywhere(&t, &tally, &rng));
	print_tally("extending", &tally);
	ramdev_free(rd);
	free(old);
	free(new);
}

/* A big transaction: it grows an array to several index nodes. */
static void large_transaction(void **state)
{
	u64 rng = test_seed("crashes in a large transaction", 504);
	struct ramdev *before = ramdev_new(3000);
	u64 points = 0, last;
	struct meta x;
	u32 found[2] = { 0 };

	(void)state;
	assert_ok(meta_open(&x, before, 2));
	assert_ok(cmd_resize(x.cmd, 1000));
	assert_ok(cmd_commit(x.cmd, true));
	meta_shut(&x);
	last = 1200;	/* about the number of writes of the transaction */
	for (u64 at = 0; at < last; at += 1 + below(&rng, 40)) {
		struct ramdev *rd = ramdev_clone(before);
		int r;

		assert_ok(meta_open(&x, rd, 0));
		rd->crash_at = rd->ops + at;
		r = cmd_resize(x.cmd, 500000);
		if (!r)
			r = cmd_commit(x.cmd, true);
		meta_shut(&x);
		ramdev_crash(rd, below(&rng, RAMDEV_NR_FATES), &rng);
		assert_ok(meta_open(&x, rd, 0));
		assert_true(cmd_cache_blocks(x.cmd) == 500000 ||
			    (r && cmd_cache_blocks(x.cmd) == 1000));
		found[cmd_cache_blocks(x.cmd) == 500000]++;
		assert_sound(x.cmd);
		meta_shut(&x);
		ramdev_free(rd);
		points++;
	}
	printf("note: large transaction: %llu crash points, old %u, new %u\n",
	       points, found[0], found[1]);
	ramdev_free(before);
}

/* After a crash during the format, the device is empty or has the whole cache. */
static void formatting(void **state)
{
	u64 rng = test_seed("crashes while formatting", 506);
	u32 found[2] = { 0 };

	(void)state;
	for (u64 at = 0; at < 40; at++) {
		struct cmd_geometry g = {
			.data_block_size = 128,
			.format = 1 + at % 2,
			.may_format = true,
			.cache_blocks = 5000,
		};
		struct ramdev *rd = ramdev_new(NR_BLOCKS);
		struct meta x = { .rd = rd, .dev = ramdev_open(rd, false) };
		bool there;
		int r;

		rd->crash_at = rd->ops + at;
		r = cmd_open(x.dev, &g, &x.cmd, &x.why);
		if (r)
			pd_device_close(x.dev);
		else
			meta_shut(&x);
		ramdev_crash(rd, below(&rng, RAMDEV_NR_FATES), &rng);
		there = meta_open(&x, rd, 0) != -ENODATA;
		assert_true(there || r);
		found[there]++;
		if (there) {
			assert_int_equal(cmd_cache_blocks(x.cmd), 5000);
			assert_sound(x.cmd);
			meta_shut(&x);
		}
		ramdev_free(rd);
	}
	printf("note: formatting: nothing %u, formatted %u\n", found[0], found[1]);
	assert_true(found[0] && found[1]);
}

/* Setting NEEDS_CHECK and zeroing write nothing but the superblock. */
static void lone_superblock(void **state)
{
	u64 rng = test_seed("crashes while writing only the superblock", 505);
	struct model *m = calloc(1, sizeof(*m));
	struct ramdev *before = ramdev_new(NR_BLOCKS);
	struct meta x;

	(void)state;
	assert_ok(meta_open(&x, before, 2));
	for (u32 i = 0; i < 100; i++)
		assert_ok(model_step(m, x.cmd, &rng));
	assert_ok(cmd_commit(x.cmd, true));
	m->clean = true;
	meta_shut(&x);
	for (u32 i = 0; i < 200; i++) {
		struct ramdev *rd = ramdev_clone(before);
		bool zero = i % 2;
		int r;

		assert_ok(meta_open(&x, rd, 0));
		assert_ok(cmd_resize(x.cmd, 10));	/* stays uncommitted */
		rd->crash_at = rd->ops + below(&rng, 4);
		r = zero ? cmd_zero_superblock(x.cmd) :
			   cmd_set_needs_check(x.cmd);
		meta_shut(&x);
		ramdev_crash(rd, below(&rng, RAMDEV_NR_FATES), &rng);
		if (zero && meta_open(&x, rd, 0) == -ENODATA) {
			ramdev_free(rd);
			continue;
		}
		if (!zero)
			assert_ok(meta_open(&x, rd, 0));
		assert_true(r || !zero);
		assert_true(r || cmd_needs_check(x.cmd));
		assert_true(is_state(&x, m));
		assert_sound(x.cmd);
		meta_shut(&x);
		ramdev_free(rd);
	}
	ramdev_free(before);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(format_1),
		cmocka_unit_test(format_2),
		cmocka_unit_test(extending),
		cmocka_unit_test(large_transaction),
		cmocka_unit_test(formatting),
		cmocka_unit_test(lone_superblock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
