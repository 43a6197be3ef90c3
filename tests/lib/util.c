// SPDX-License-Identifier: GPL-2.0-only
/* Helpers that several unit tests share. */

#include "util.h"

void store_make(struct store *s, u64 nr_blocks)
{
	struct pd_btree counts = { &s->tm, 4 };

	s->rd = ramdev_new(nr_blocks);
	s->dev = ramdev_open(s->rd, false);
	s->tm.dev = s->dev;
	assert_ok(pd_sm_create(nr_blocks, &s->tm.sm));
	assert_ok(pd_btree_empty(&counts, &s->overflow));
	pd_sm_set_overflow_root(s->tm.sm, s->overflow);
	store_commit(s);
}

void store_free(struct store *s)
{
	pd_sm_destroy(s->tm.sm);
	pd_device_close(s->dev);
	ramdev_free(s->rd);
}

void store_commit(struct store *s)
{
	assert_ok(pd_tm_pre_commit(&s->tm, &s->root));
	pd_sm_committed(s->tm.sm);
}

void store_abort(struct store *s)
{
	const char *why;

	pd_sm_destroy(s->tm.sm);
	assert_ok(pd_device_reset(s->dev));
	assert_ok(pd_sm_load(s->dev, &s->root, &s->tm.sm, &why));
}

void store_reopen(struct store *s)
{
	const char *why;

	pd_sm_destroy(s->tm.sm);
	pd_device_close(s->dev);
	s->dev = ramdev_open(s->rd, false);
	s->tm.dev = s->dev;
	assert_ok(pd_sm_load(s->dev, &s->root, &s->tm.sm, &why));
}

static int count_own(void *ctx, u64 nr)
{
	u32 *n = ctx;

	*n += !!nr;
	return 0;
}

u32 store_used(struct store *s)
{
	u32 own = 2;	/* superblock, overflow tree */

	assert_ok(pd_sm_walk_own(s->tm.sm, count_own, &own));
	return pd_sm_nr_used(s->tm.sm) - own;
}

static int open_metadata(struct meta *m, struct ramdev *rd,
			 const struct cmd_geometry *g, bool read_only)
{
	int r;

	m->rd = rd;
	m->dev = ramdev_open(rd, read_only);
	m->why = NULL;
	r = cmd_open(m->dev, g, &m->cmd, &m->why);
	if (r) {
		assert_non_null(m->why);
		pd_device_close(m->dev);
	}
	return r;
}

int meta_open(struct meta *m, struct ramdev *rd, unsigned int format)
{
	const struct cmd_geometry g = {
		.data_block_size = 128,
		.format = format,
		.may_format = format != 0,
	};

	return open_metadata(m, rd, &g, false);
}

int meta_open_to_read(struct meta *m, struct ramdev *rd)
{
	const struct cmd_geometry any = { 0 };

	return open_metadata(m, rd, &any, true);
}

void meta_shut(struct meta *m)
{
	cmd_close(m->cmd);
	pd_device_close(m->dev);
}

static void print_fault(void *ctx, const char *msg)
{
	(void)ctx;
	printf("fault: %s\n", msg);
}

void assert_sound(struct cmd *cmd)
{
	assert_int_equal(metadata_check(cmd, print_fault, NULL), 0);
}
