// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injects one failure of a write, flush, read or allocation at every place where
 * one can happen.  The call that meets the failure returns it, every call fails
 * until an abort, and after the abort the old or the new state is there.
 */

#include "model.h"

#define NR_BLOCKS	250u

struct scene {
	struct ramdev *before;
	struct model *old;
	struct model *new;
	u64 rng;
	unsigned int early;
};

static void scene_make(struct scene *s, unsigned int format, u64 seed)
{
	struct meta x;

	s->before = ramdev_new(NR_BLOCKS);
	s->old = calloc(1, sizeof(*s->old));
	s->new = calloc(1, sizeof(*s->new));
	s->rng = seed;
	s->early = 0;
	assert_ok(meta_open(&x, s->before, format));
	for (u32 i = 0; i < 150; i++)
		assert_ok(model_step(s->old, x.cmd, &s->rng));
	assert_ok(cmd_commit(x.cmd, true));
	s->old->clean = true;
	meta_shut(&x);
}

static void scene_free(struct scene *s)
{
	ramdev_free(s->before);
	free(s->old);
	free(s->new);
}

/* Runs the same transaction each time. */
static int perform(struct scene *s, struct meta *x)
{
	u64 rng = s->rng;
	int r = 0;

	*s->new = *s->old;
	pd_device_set_early_writes(x->dev, s->early);
	for (u32 i = 0; i < 40 && !r; i++)
		r = model_step(s->new, x->cmd, &rng);
	s->new->clean = false;
	return r ? r : cmd_commit(x->cmd, false);
}

static bool is_state(struct meta *x, const struct model *m)
{
	return cmd_opened_clean(x->cmd) == m->clean && model_matches(m, x->cmd);
}

static void recover(struct scene *s, struct meta *x)
{
	struct model *m = malloc(sizeof(*m));
	u64 rng = s->rng;

	assert_int_equal(cmd_commit(x->cmd, true), -EIO);
	assert_int_equal(cmd_resize(x->cmd, 1), -EIO);
	assert_int_equal(cmd_discards_load(x->cmd, NULL, NULL), -EIO);
	assert_ok(cmd_abort(x->cmd));
	if (is_state(x, s->new)) {
		*m = *s->new;
	} else {
		assert_true(is_state(x, s->old));
		*m = *s->old;
	}
	assert_sound(x->cmd);
	for (u32 i = 0; i < 20; i++)
		assert_ok(model_step(m, x->cmd, &rng));
	assert_ok(cmd_commit(x->cmd, true));
	assert_sound(x->cmd);
	free(m);
}

static s64 allocations;	/* the number that still succeed */

static bool alloc_fails(void)
{
	return allocations-- == 0;
}

/* The kinds of failure, and how a test injects each. */
struct fault {
	const char *name;	/* plural */
	u64 seed;
	int error;
	bool while_opening;	/* the open may meet it as well */
	bool early;		/* with and without early writes */
	void (*arm)(struct ramdev *rd, u64 at);
};

static void arm_write(struct ramdev *rd, u64 at)
{
	rd->fail_at = at;
}

static void arm_read(struct ramdev *rd, u64 at)
{
	rd->fail_read_at = at;
}

static void arm_allocation(struct ramdev *rd, u64 at)
{
	(void)rd;
	allocations = at;
	os_alloc_fails = alloc_fails;
}

static const struct fault faults[] = {
	{ "writes and flushes", 601, -EIO, false, true, arm_write },
	{ "reads", 602, -EIO, true, false, arm_read },
	{ "allocations", 603, -ENOMEM, true, false, arm_allocation },
};

/* Returns 1 if a call met the fault. */
static int one_fault(const struct fault *f, struct scene *s, u64 at)
{
	struct ramdev *rd = ramdev_clone(s->before);
	bool opened;
	struct meta x;
	int r;

	if (f->while_opening)
		f->arm(rd, at);
	r = meta_open(&x, rd, 0);
	opened = !r;
	assert_true(opened || f->while_opening);
	if (!f->while_opening)
		f->arm(rd, at);
	if (opened)
		r = perform(s, &x);
	os_alloc_fails = NULL;
	if (r)
		assert_int_equal(r, f->error);
	if (opened) {
		if (r)
			recover(s, &x);
		meta_shut(&x);
	}
	ramdev_free(rd);
	return !!r;
}

/* Injects one failure at a time, at each place where a call can meet one. */
static void failing(void **state)
{
	const struct fault *f = *state;
	u64 rng = test_seed(f->name, f->seed);
	u32 n = 0;

	for (u32 i = rounds(20); i; i--) {
		struct scene s;
		u64 at = 0;

		scene_make(&s, 1 + i % 2, rnd(&rng));
		if (f->early)
			s.early = i % 3 ? 1 + below(&rng, 99) : 0;
		while (one_fault(f, &s, at))
			at++;
		n += at;
		scene_free(&s);
	}
	printf("note: %u failing %s\n", n, f->name);
}

/* After a failed commit NEEDS_CHECK can be set, which commits nothing else. */
static void needs_check_after_failure(void **state)
{
	u64 rng = test_seed("needs_check after a failure", 604);
	struct scene s;

	(void)state;
	scene_make(&s, 2, rnd(&rng));
	for (u64 at = 0;; at++) {
		struct ramdev *rd = ramdev_clone(s.before);
		struct meta x;
		int r;

		assert_ok(meta_open(&x, rd, 0));
		rd->fail_at = at;
		r = perform(&s, &x);
		if (r) {
			assert_ok(cmd_set_needs_check(x.cmd));
			assert_int_equal(cmd_commit(x.cmd, true), -EIO);
		}
		meta_shut(&x);
		if (r) {
			assert_ok(meta_open(&x, rd, 0));
			assert_true(cmd_needs_check(x.cmd));
			assert_true(is_state(&x, s.old));
			assert_sound(x.cmd);
			meta_shut(&x);
		}
		ramdev_free(rd);
		if (!r)
			break;
	}
	scene_free(&s);
}

/*
 * A commit that should change the log's flag and failed: the disk may have it or
 * not, so NEEDS_CHECK is not set beside it.
 */
static void log_flag_after_failure(void **state)
{
	bool was = *(const bool *)*state;
	u32 nr_failed = 0;
	int r = -EIO;

	for (u64 at = 0; r; at++) {
		struct ramdev *rd = ramdev_new(100);
		struct meta x;

		assert_ok(meta_open(&x, rd, 2));
		assert_ok(cmd_set_log_flag(x.cmd, was));
		assert_ok(cmd_commit(x.cmd, true));
		assert_ok(cmd_set_log_flag(x.cmd, !was));
		rd->fail_at = rd->ops + at;
		r = cmd_commit(x.cmd, true);
		if (r) {
			nr_failed++;
			assert_int_equal(cmd_set_log_flag(x.cmd, true), -EIO);
			assert_int_equal(cmd_set_needs_check(x.cmd), -EBUSY);
			assert_ok(cmd_abort(x.cmd));
			assert_ok(cmd_set_log_flag(x.cmd, !was));
			assert_ok(cmd_commit(x.cmd, true));
		}
		assert_true(cmd_log_flag(x.cmd) == !was);
		meta_shut(&x);
		assert_ok(meta_open(&x, rd, 0));
		assert_true(cmd_log_flag(x.cmd) == !was);
		assert_false(cmd_needs_check(x.cmd));
		meta_shut(&x);
		ramdev_free(rd);
	}
	assert_true(nr_failed > 1);
}

/* On a device that stays dead, every call returns an error and none hangs. */
static void dead_device(void **state)
{
	u64 rng = test_seed("dead device", 605);
	struct scene s;
	struct meta x;

	(void)state;
	os_quiet = true;
	scene_make(&s, 2, rnd(&rng));
	assert_ok(meta_open(&x, s.before, 0));
	s.before->dead = true;
	assert_int_equal(perform(&s, &x), -EIO);
	assert_int_equal(cmd_abort(x.cmd), -EIO);
	assert_int_equal(cmd_set_needs_check(x.cmd), -EIO);
	assert_int_equal(cmd_zero_superblock(x.cmd), -EIO);
	assert_int_equal(cmd_reread_matches(x.cmd), -EIO);
	s.before->dead = false;
	s.before->nr_log = 0;
	assert_ok(cmd_abort(x.cmd));
	meta_shut(&x);
	scene_free(&s);
	os_quiet = false;
}

int main(void)
{
	static const bool no, yes = true;
	const struct CMUnitTest tests[] = {
		{ "failing_writes", failing, NULL, NULL, (void *)&faults[0] },
		{ "failing_reads", failing, NULL, NULL, (void *)&faults[1] },
		{ "failing_allocations", failing, NULL, NULL,
		  (void *)&faults[2] },
		cmocka_unit_test(needs_check_after_failure),
		{ "log_flag_not_set", log_flag_after_failure, NULL, NULL,
		  (void *)&no },
		{ "log_flag_not_cleared", log_flag_after_failure, NULL, NULL,
		  (void *)&yes },
		cmocka_unit_test(dead_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
