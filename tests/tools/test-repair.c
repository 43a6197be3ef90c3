// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth-metadata repair.  Each dirty block stays dirty or is named as lost, no
 * block is mapped to another place than before, and the result passes every
 * checker: ours, and cache_check of the installed release and of the next one.
 */

#include "scratch.h"
#include "util.h"
#include "tools/metadata-repair.h"
#include "tests/fuzz/image-disk.h"
#include "tests/lib/repair-judge.h"

#include <dirent.h>
#include <unistd.h>

#define BLOCK_SIZE	128u
#define SETTINGS	"mode writeonly\n"

static char next_check[600];

/* ---- The output ---- */

/* Fills the output, because a repair must not depend on its old contents. */
static struct ramdev *output_new(u64 nr_blocks)
{
	struct ramdev *rd = ramdev_new(nr_blocks);
	u8 old[PD_BLOCK_SIZE];

	memset(old, 0x5a, sizeof(old));
	for (u64 i = 0; i < nr_blocks; i++)
		ramdev_set(rd, i, old);
	return rd;
}

static void output_save(struct ramdev *rd, const char *path)
{
	FILE *f = fopen(path, "w");
	u8 data[PD_BLOCK_SIZE];

	assert_non_null(f);
	for (u64 i = 0; i < rd->nr_blocks; i++) {
		ramdev_get(rd, i, data);
		assert_int_equal(fwrite(data, sizeof(data), 1, f), 1);
	}
	assert_ok(fclose(f));
}

/* ---- Inputs ---- */

static const u32 version[3] = { 2, 0, 0 };

static u32 hint_of(void *ctx, u32 cblock)
{
	return ((struct content *)ctx)->hint[cblock];
}

static bool discard_of(void *ctx, u64 bit)
{
	(void)ctx;
	return bit % 5 == 0;
}

/* Makes four commits, in which blocks arrive, leave and change. */
static struct content *fill(struct cmd *cmd, u32 nr, bool clean, u64 *rng)
{
	struct content *c = content_new(nr);
	struct cmd_stats stats = { 11, 22, 33, 44 };

	assert_ok(cmd_resize(cmd, nr));
	for (u32 round = 0; round < 4; round++) {
		for (u32 k = 0; k < nr / 2 + 1; k++) {
			u32 i = below(rng, nr);

			if (one_in(rng, 5)) {
				assert_ok(cmd_remove(cmd, i));
				c->oblock[i] = U64_MAX;
				c->dirty[i] = false;
				continue;
			}
			c->oblock[i] = (u64)i * 4 + below(rng, 4);
			c->dirty[i] = one_in(rng, 3);
			assert_ok(cmd_insert(cmd, i, c->oblock[i],
					     c->dirty[i]));
		}
		for (u32 i = 0; i < nr; i++)
			c->hint[i] = below(rng, 64);
		assert_ok(cmd_write_hints(cmd, "smq", version, hint_of, c));
		assert_ok(cmd_set_discard_geometry(cmd, BLOCK_SIZE, nr * 4));
		assert_ok(cmd_write_discards(cmd, discard_of, NULL));
		assert_ok(cmd_record_set(cmd, SETTINGS, strlen(SETTINGS)));
		cmd_set_stats(cmd, &stats);
		assert_ok(cmd_commit(cmd, clean));
	}
	return c;
}

static struct content *make(struct ramdev *rd, unsigned int format, u32 nr,
			    bool clean, u64 *rng)
{
	struct meta m;
	struct content *c;

	assert_ok(meta_open(&m, rd, format));
	c = fill(m.cmd, nr, clean, rng);
	meta_shut(&m);
	return c;
}

/* ---- A repair, and the rules for its output ---- */

static int repair(struct ramdev *rd, struct ramdev *out,
		  const struct repair_options *with, struct content *said,
		  struct repair_result *result)
{
	struct repair_options o = { 0 };
	struct pd_device *in = ramdev_open(rd, true);
	struct pd_backend be = ramdev_backend(out);
	int r;

	if (with)
		o = *with;
	o.say = content_take_line;
	o.ctx = said;
	r = metadata_repair(in, &be, &o, result);
	if (r)
		assert_true(*result->why);
	pd_device_close(in);
	return r;
}

static void read_output(struct ramdev *out, struct content *c, u32 *nr,
			unsigned int *format, bool *kept)
{
	struct cmd_stats stats;
	char record[CMD_RECORD_MAX];
	struct cmd *cmd;
	struct meta m;
	u32 v[3];

	assert_ok(meta_open_to_read(&m, out));
	cmd = m.cmd;
	assert_sound(cmd);
	assert_true(cmd_opened_clean(cmd));
	assert_false(cmd_needs_check(cmd));
	*nr = cmd_cache_blocks(cmd);
	*format = cmd_format(cmd);
	cmd_policy_version(cmd, v);
	assert_ok(cmd_load(cmd, cmd_policy_name(cmd), v, content_take_block, c));
	cmd_get_stats(cmd, &stats);
	*kept = cmd_record_get(cmd, record, sizeof(record)) ==
			(int)strlen(SETTINGS) &&
		!memcmp(record, SETTINGS, strlen(SETTINGS)) &&
		stats.read_hits == 11 && stats.write_misses == 44;
	meta_shut(&m);
}

static void both_cache_checks(struct ramdev *out)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/out", tmp);
	output_save(out, path);
	if (shell("cache_check -q %s >%s/log 2>&1", path, tmp))
		fail_msg("cache_check refuses");
	if (*next_check && shell("%s -q %s >%s/log 2>&1", next_check, path, tmp))
		fail_msg("cache_check of the next release refuses");
}

struct outcome {
	struct repair_outcome cost;
	bool kept;
};

/* @was is the truth; @after also holds the blocks that the repair named. */
static struct repair_outcome judge(const struct content *was,
				   const struct content *after, bool clean)
{
	struct repair_outcome o;
	char fault[128];

	if (!repair_judge(was, after, clean, &o, fault, sizeof(fault)))
		fail_msg("%s", fault);
	return o;
}

/* Repairs, and judges the result, whose format must be @format. */
static struct outcome repaired(struct ramdev *rd, const struct content *was,
			       unsigned int format, bool clean,
			       const struct repair_options *with)
{
	struct content *after = content_new(was->nr);
	struct ramdev *out = output_new(rd->nr_blocks);
	struct repair_result result;
	unsigned int f;
	struct outcome o;
	bool kept;
	u32 nr;

	if (repair(rd, out, with, after, &result))
		fail_msg("not repaired: %s", result.why);
	read_output(out, after, &nr, &f, &kept);
	assert_int_equal(nr, was->nr);
	assert_int_equal(f, format);
	both_cache_checks(out);
	o.cost = judge(was, after, clean);
	o.kept = kept;
	assert_true(result.lost_dirty >= o.cost.lost_dirty);
	ramdev_free(out);
	content_free(after);
	return o;
}

/* ---- Damage ---- */

enum pattern { ZEROS, NOISE, ONE_BIT, NR_PATTERNS };

static void damage(struct ramdev *rd, u64 nr, enum pattern p, u64 *rng)
{
	u8 data[PD_BLOCK_SIZE];

	ramdev_get(rd, nr, data);
	for (u32 i = 0; i < PD_BLOCK_SIZE; i++)
		if (p == ZEROS)
			data[i] = 0;
		else if (p == NOISE)
			data[i] = rnd(rng);
	if (p == ONE_BIT)
		data[below(rng, PD_BLOCK_SIZE)] ^= 1 << below(rng, 8);
	ramdev_set(rd, nr, data);
}

/* The part that a block has in the last commit. */
enum role { FREE, OTHER, MAPPING, DIRTY, HINTS };

struct roles {
	enum role *of;
	enum role now;
	struct pd_tm *tm;
};

static int mark_node(void *ctx, u64 nr, const struct pd_node *n, bool is_root)
{
	struct roles *r = ctx;

	(void)n;
	(void)is_root;
	r->of[nr] = r->now;
	return 0;
}

static int mark_entry(void *ctx, u64 key, const void *value)
{
	struct roles *r = ctx;

	(void)key;
	r->of[le64_to_cpu(*(const __le64 *)value)] = r->now;
	return 0;
}

static void mark(struct roles *r, enum role role, u64 root)
{
	struct pd_btree bt = { r->tm, 8 };
	struct pd_btree_visitor v = {
		.node = mark_node, .entry = mark_entry, .ctx = r,
	};

	r->now = role;
	if (root)
		assert_ok(pd_btree_walk(&bt, root, &v));
}

static enum role *find_roles(struct ramdev *rd)
{
	struct roles r = { .of = calloc(rd->nr_blocks, sizeof(enum role)) };
	const struct cmd_superblock *sb;
	struct meta m;

	assert_ok(meta_open(&m, rd, 0));
	r.tm = cmd_transaction(m.cmd);
	sb = cmd_committed_superblock(m.cmd);
	for (u64 nr = 0; nr < rd->nr_blocks; nr++)
		if (pd_sm_count(r.tm->sm, nr))
			r.of[nr] = OTHER;
	mark(&r, MAPPING, le64_to_cpu(sb->mapping_root));
	mark(&r, HINTS, le64_to_cpu(sb->hint_root));
	mark(&r, DIRTY, le64_to_cpu(sb->dirty_root));
	meta_shut(&m);
	return r.of;
}

static void assert_nothing_lost(struct outcome o, bool clean)
{
	assert_int_equal(o.cost.lost_dirty, 0);
	assert_int_equal(o.cost.gone, 0);
	assert_int_equal(o.cost.guessed, 0);
	assert_true(o.kept);
	if (clean)
		assert_int_equal(o.cost.other_hints, 0);
}

/* The repair must not lose more than the damaged block held. */
static void assert_expected(struct outcome o, enum role role,
			    unsigned int format, bool clean)
{
	switch (role) {
	case MAPPING:
		assert_true(o.cost.lost_dirty + o.cost.gone > 0);
		if (!clean || format == 1)
			assert_int_equal(o.cost.gone, 0);
		assert_int_equal(o.cost.guessed, 0);
		break;
	case DIRTY:
		assert_int_equal(o.cost.lost_dirty + o.cost.gone, 0);
		assert_int_equal(!!o.cost.guessed, clean);
		break;
	case HINTS:
		assert_int_equal(o.cost.lost_dirty + o.cost.gone + o.cost.guessed, 0);
		if (clean)
			assert_true(o.cost.other_hints > 0);
		break;
	default:
		assert_nothing_lost(o, clean);
	}
	assert_true(o.kept);
}

/* Damages each block in use, and a few free ones, with each pattern. */
static void each_block(unsigned int format, u32 nr, bool clean,
		       bool only_nodes)
{
	u64 rng = test_seed("each block", 900 + format + nr);
	struct ramdev *rd = ramdev_new(80 + nr / 60);
	struct content *c = make(rd, format, nr, clean, &rng);
	enum role *role = find_roles(rd);
	u32 tried = 0;

	os_quiet = true;
	assert_nothing_lost(repaired(rd, c, format, clean, NULL), clean);
	for (u64 b = 1; b < rd->nr_blocks; b++) {
		u8 data[PD_BLOCK_SIZE];

		ramdev_get(rd, b, data);
		if ((role[b] == FREE && b % 16) ||
		    (only_nodes && pd_block_fault(data, b, PD_KIND_NODE)))
			continue;
		for (enum pattern p = 0; p < NR_PATTERNS; p++) {
			struct ramdev *bad = ramdev_clone(rd);

			damage(bad, b, p, &rng);
			assert_expected(repaired(bad, c, format, clean, NULL),
					role[b], format, clean);
			ramdev_free(bad);
			tried++;
		}
	}
	os_quiet = false;
	printf("note: %u damaged devices\n", tried);
	assert_true(tried > 15);
	free(role);
	content_free(c);
	ramdev_free(rd);
}

static void each_block_format_1(void **state)
{
	(void)state;
	each_block(1, 1500, true, false);
}

static void each_block_format_2(void **state)
{
	(void)state;
	each_block(2, 1500, true, false);
}

static void each_block_unclean(void **state)
{
	(void)state;
	each_block(1, 600, false, false);
	each_block(2, 600, false, false);
}

/* The tree has two levels: three would need more than 64,000 array blocks. */
static void each_node_of_a_deep_tree(void **state)
{
	(void)state;
	each_block(2, 130000, true, true);
}

/* ---- Older blocks in the place of newer ones ---- */

static u64 root_of(struct ramdev *rd)
{
	struct meta m;
	u64 root;

	assert_ok(meta_open(&m, rd, 0));
	root = le64_to_cpu(cmd_committed_superblock(m.cmd)->mapping_root);
	meta_shut(&m);
	return root;
}

static u64 leaf_of(struct ramdev *rd, u64 key)
{
	struct pd_btree bt = { NULL, 8 };
	struct meta m;
	__le64 v;

	assert_ok(meta_open(&m, rd, 0));
	bt.tm = cmd_transaction(m.cmd);
	assert_ok(pd_btree_lookup(&bt,
		le64_to_cpu(cmd_committed_superblock(m.cmd)->mapping_root),
		key, &v));
	meta_shut(&m);
	return le64_to_cpu(v);
}

static void change(struct ramdev *rd, struct content *c, u32 cblock, u64 oblock)
{
	struct meta m;

	assert_ok(meta_open(&m, rd, 0));
	assert_ok(cmd_insert(m.cmd, cblock, oblock, true));
	assert_ok(cmd_commit(m.cmd, true));
	meta_shut(&m);
	c->oblock[cblock] = oblock;
	c->dirty[cblock] = true;
}

static void put_older(struct ramdev *rd, u64 from, u64 to, enum pd_kind kind)
{
	u8 data[PD_BLOCK_SIZE];

	ramdev_get(rd, from, data);
	pd_block_seal(data, to, kind);
	ramdev_set(rd, to, data);
}

/*
 * The write of a leaf was lost, and the block still holds an older leaf.  The
 * repair recognises it by an origin block that is mapped elsewhere now, and then
 * distrusts all its entries, because the others are as old.
 */
static void older_leaf(void **state)
{
	u64 rng = test_seed("older leaf", 911);

	(void)state;
	os_quiet = true;
	for (unsigned int format = 1; format <= 2; format++) {
		struct ramdev *rd = ramdev_new(200);
		struct content *c = make(rd, format, 1500, true, &rng);
		struct outcome o;
		u64 old;

		change(rd, c, 5, 5900);
		old = leaf_of(rd, 0);
		change(rd, c, 5, 5901);
		change(rd, c, 9, 5902);
		change(rd, c, 1200, 5900);
		put_older(rd, old, leaf_of(rd, 0), PD_KIND_ARRAY);
		o = repaired(rd, c, format, true, NULL);
		assert_true(o.cost.lost_dirty > 2);
		content_free(c);
		ramdev_free(rd);
	}
	os_quiet = false;
}

/* An older root: the space map counts the blocks below it as free. */
static void older_root(void **state)
{
	u64 rng = test_seed("older root", 912);

	(void)state;
	os_quiet = true;
	for (unsigned int format = 1; format <= 2; format++) {
		struct ramdev *rd = ramdev_new(200);
		struct content *c = make(rd, format, 1500, true, &rng);
		u64 old = root_of(rd);
		struct outcome o;

		change(rd, c, 5, 5900);
		put_older(rd, old, root_of(rd), PD_KIND_NODE);
		o = repaired(rd, c, format, true, NULL);
		assert_true(o.cost.lost_dirty > 0);
		content_free(c);
		ramdev_free(rd);
	}
	os_quiet = false;
}

/* ---- The superblock is lost ---- */

static void must_refuse(struct ramdev *rd, const struct repair_options *with,
			const char *words)
{
	struct content *said = content_new(100000);
	struct ramdev *out = output_new(rd->nr_blocks);
	struct repair_result result;

	assert_true(repair(rd, out, with, said, &result) < 0);
	if (!strstr(result.why, words))
		fail_msg("\"%s\" does not say \"%s\"", result.why, words);
	assert_int_equal(out->ops, 0);
	ramdev_free(out);
	content_free(said);
}

static u64 any_leaf(struct ramdev *rd)
{
	u8 data[PD_BLOCK_SIZE];
	u64 nr = 0;

	do
		ramdev_get(rd, ++nr, data);
	while (pd_block_fault(data, nr, PD_KIND_ARRAY));
	return nr;
}

static void no_superblock(void **state)
{
	static const struct repair_options geometry = {
		.block_size = BLOCK_SIZE, .cache_blocks = 1500,
	}, other = { .block_size = BLOCK_SIZE, .cache_blocks = 1400 };
	u64 rng = test_seed("no superblock", 913);

	(void)state;
	os_quiet = true;
	for (u32 i = 0; i < 2 * NR_PATTERNS; i++) {
		unsigned int format = 1 + i % 2;
		struct ramdev *rd = ramdev_new(120);
		struct content *c = make(rd, format, 1500, true, &rng);
		struct outcome o;

		change(rd, c, 700, 5900);
		change(rd, c, 700, 5901);
		damage(rd, 0, i / 2, &rng);
		must_refuse(rd, NULL, "--block-size");
		must_refuse(rd, &other, "no complete mapping");
		/* entries on which all complete mappings agree; 700 is not one */
		o = repaired(rd, c, format, false, &geometry);
		assert_true(o.cost.lost_dirty > 0);
		assert_true(o.cost.lost_dirty < 1500);
		assert_false(o.kept);

		damage(rd, any_leaf(rd), NOISE, &rng);
		must_refuse(rd, &geometry, "damaged, too");
		content_free(c);
		ramdev_free(rd);
	}
	os_quiet = false;
}

static void geometry_is_compared(void **state)
{
	static const struct repair_options other = {
		.block_size = 2 * BLOCK_SIZE, .cache_blocks = 600,
	};
	u64 rng = test_seed("geometry", 914);
	struct ramdev *rd = ramdev_new(100);

	(void)state;
	content_free(make(rd, 2, 600, true, &rng));
	must_refuse(rd, &other, "--block-size 128 --cache-blocks 600");
	ramdev_free(rd);
}

/* ---- After a power cut ---- */

#define CUT_BLOCKS	1500u

/* Changes the cache, and runs a commit of which only some writes survive. */
static void change_until_cut(struct ramdev *rd, u64 *rng)
{
	struct meta m;
	int r = 0;

	assert_ok(meta_open(&m, rd, 0));
	rd->crash_at = rd->ops + below(rng, 40);
	for (u32 k = 0; k < 30 && !r; k++) {
		u32 i = below(rng, CUT_BLOCKS);

		if (one_in(rng, 4))
			r = cmd_remove(m.cmd, i);
		else
			r = cmd_insert(m.cmd, i, (u64)i * 4 + below(rng, 4),
				       one_in(rng, 3));
	}
	if (!r)
		r = cmd_commit(m.cmd, one_in(rng, 2));
	assert_true(!r || r == -EIO);
	meta_shut(&m);
	ramdev_crash(rd, below(rng, RAMDEV_NR_FATES), rng);
}

/* Our reader's view of the cut; test-crash.c compares the reader with a model. */
static struct content *read_after_cut(struct ramdev *rd, bool *clean)
{
	struct content *c = content_new(CUT_BLOCKS);
	struct meta m;
	u32 v[3];

	assert_ok(meta_open(&m, rd, 0));
	*clean = cmd_opened_clean(m.cmd);
	cmd_policy_version(m.cmd, v);
	assert_ok(cmd_load(m.cmd, cmd_policy_name(m.cmd), v, content_take_block, c));
	meta_shut(&m);
	return c;
}

/* Without its superblock the repair refuses with a message, or the rules hold. */
static bool repaired_without_superblock(struct ramdev *rd, struct content *was,
					bool clean)
{
	static const struct repair_options geometry = {
		.block_size = BLOCK_SIZE, .cache_blocks = CUT_BLOCKS,
	};
	struct content *after = content_new(CUT_BLOCKS);
	struct ramdev *out = output_new(rd->nr_blocks);
	struct repair_result result;
	unsigned int format;
	bool kept;
	u32 nr;
	int r = repair(rd, out, &geometry, after, &result);

	if (r) {
		assert_int_equal(out->ops, 0);
	} else {
		read_output(out, after, &nr, &format, &kept);
		both_cache_checks(out);
		judge(was, after, clean);
	}
	ramdev_free(out);
	content_free(after);
	return !r;
}

static u64 pick_used(struct ramdev *rd, u64 *rng)
{
	enum role *role = find_roles(rd);
	u64 nr;

	do
		nr = 1 + below(rng, rd->nr_blocks - 1);
	while (role[nr] == FREE);
	free(role);
	return nr;
}

/*
 * Repairs the device that a cut left: as it is, with one damaged block, and
 * without its superblock.  Blocks that no commit uses hold the remains of a
 * commit here, and the repair must not take them for newer data.
 */
static void power_cuts(void **state)
{
	u64 rng = test_seed("repair after power cuts", 917);
	u32 without[2] = { 0 }, lost = 0, cuts = 2 * rounds(40);
	struct ramdev *rd = NULL;

	(void)state;
	os_quiet = true;
	for (u32 i = 0; i < cuts; i++) {
		unsigned int format = 1 + i / (cuts / 2);
		struct content *c;
		struct ramdev *bad;
		bool clean;

		if (i % (cuts / 2) == 0) {
			if (rd)
				ramdev_free(rd);
			rd = ramdev_new(120);
			content_free(make(rd, format, CUT_BLOCKS, true, &rng));
		}
		change_until_cut(rd, &rng);
		c = read_after_cut(rd, &clean);
		assert_int_equal(repaired(rd, c, format, clean, NULL).cost.lost_dirty, 0);
		bad = ramdev_clone(rd);
		damage(bad, pick_used(bad, &rng), below(&rng, NR_PATTERNS), &rng);
		lost += repaired(bad, c, format, clean, NULL).cost.lost_dirty;
		ramdev_free(bad);
		bad = ramdev_clone(rd);
		damage(bad, 0, below(&rng, NR_PATTERNS), &rng);
		without[repaired_without_superblock(bad, c, clean)]++;
		ramdev_free(bad);
		content_free(c);
	}
	ramdev_free(rd);
	os_quiet = false;
	printf("note: %u cuts, %u dirty blocks lost, without a superblock %u repaired, %u refused\n",
	       cuts, lost, without[1], without[0]);
	assert_true(lost && without[1]);
}

/* ---- The output ---- */

/* The repair refuses an output that is one block too small before it writes. */
static void room(void **state)
{
	static const u32 sizes[] = { 1, 10, 600, 5000, 40000, 130000, 200000 };
	u64 rng = test_seed("room", 915);

	(void)state;
	for (u32 i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		u32 nr = sizes[i / 2], low = 0, high = 200 + nr / 60;
		struct ramdev *rd = ramdev_new(high);
		struct content *c = make(rd, 1 + i % 2, nr, true, &rng);
		struct repair_result result;

		while (high - low > 1) {	/* high is large enough, low is not */
			struct ramdev *out = output_new((low + high) / 2);
			int r = repair(rd, out, NULL, c, &result);

			if (r) {
				assert_int_equal(r, -ENOSPC);
				assert_int_equal(out->ops, 0);
				low = out->nr_blocks;
			} else {
				high = out->nr_blocks;
			}
			ramdev_free(out);
		}
		printf("note: %u cache blocks, format %u: %u blocks\n", nr,
		       1 + i % 2, high);
		content_free(c);
		ramdev_free(rd);
	}
}

/* Wherever the writes stop, the output is good metadata or cannot be opened. */
static void interrupted(void **state)
{
	u64 rng = test_seed("interrupted", 916);
	struct ramdev *rd = ramdev_new(100);
	struct content *c = make(rd, 2, 600, true, &rng);
	int r = -1;

	(void)state;
	os_quiet = true;
	for (u64 stop = 0; r; stop++) {
		struct ramdev *out = output_new(100);
		struct repair_result result;
		struct meta m;
		int opened;

		out->crash_at = stop;
		r = repair(rd, out, NULL, c, &result);
		if (r)
			ramdev_crash(out, stop % RAMDEV_NR_FATES, &rng);
		opened = meta_open(&m, out, 2);
		assert_true(!opened || (r && opened == -EILSEQ));
		if (!opened) {
			assert_true(stop > 10);
			assert_false(cmd_formatted(m.cmd));
			assert_sound(m.cmd);
			meta_shut(&m);
		}
		ramdev_free(out);
	}
	os_quiet = false;
	content_free(c);
	ramdev_free(rd);
}

/* ---- The fuzzers' corpus ---- */

/* Returns the cache that our reader finds, or NULL if the reader refuses. */
static struct content *read_image(struct ramdev *rd, u32 nr, bool *clean)
{
	struct content *c;
	struct meta m;
	u32 v[3];

	if (meta_open_to_read(&m, rd))
		return NULL;
	c = content_new(nr);
	*clean = cmd_opened_clean(m.cmd);
	cmd_policy_version(m.cmd, v);
	if (cmd_load(m.cmd, cmd_policy_name(m.cmd), v, content_take_block, c)) {
		content_free(c);
		c = NULL;
	}
	meta_shut(&m);
	return c;
}

static u32 image_cache_blocks(struct ramdev *rd)
{
	struct pd_device *dev = ramdev_open(rd, true);
	struct pd_block b;
	u32 nr;

	assert_ok(pd_block_read(dev, 0, PD_KIND_RAW, &b));
	nr = le32_to_cpu(((struct cmd_superblock *)b.data)->cache_blocks);
	pd_block_put(&b);
	pd_device_close(dev);
	return min_t(u64, nr, (u64)(rd->nr_blocks + 1) * 509);
}

/*
 * Made-up metadata has no truth to compare with.  Our reader stands for it: each
 * block that the reader calls dirty must be dirty or named, no block may be
 * mapped to another place, and the output must pass the checkers.
 */
static bool repair_image(struct ramdev *rd)
{
	u32 nr = image_cache_blocks(rd), found;
	struct content *after = content_new(nr), *was;
	struct repair_options o = { .say = content_take_line, .ctx = after };
	struct pd_device *in = ramdev_open(rd, true);
	struct ramdev *out = output_new(rd->nr_blocks + 1000);
	struct pd_backend be = ramdev_backend(out);
	struct repair_result result;
	bool clean, kept;
	unsigned int format;
	int r = metadata_repair(in, &be, &o, &result);

	pd_device_close(in);
	was = read_image(rd, nr, &clean);
	if (r) {
		assert_true(*result.why);
		/* The repair refuses nothing that our reader reads. */
		assert_null(was);
	} else {
		both_cache_checks(out);
		if (was) {
			read_output(out, after, &found, &format, &kept);
			judge(was, after, clean);
			content_free(was);
		}
	}
	ramdev_free(out);
	content_free(after);
	return !r;
}

static void corpus(void **state)
{
	const char *top = getenv("TOP");
	struct image *im = image_new();
	u32 nr = 0, good = 0;
	struct ramdev *rd;
	char dir[500], path[800];
	struct dirent *e;
	DIR *d;

	(void)state;
	os_quiet = true;
	snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus-metadata",
		 top ? top : ".");
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		assert_ok(image_load(im, path));
		if (!im->device_blocks)
			continue;
		rd = image_to_disk(im);
		nr++;
		good += repair_image(rd);
		ramdev_free(rd);
	}
	closedir(d);
	os_quiet = false;
	printf("note: %u images, %u repaired\n", nr, good);
	assert_true(good > nr / 4);
	image_free(im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_block_format_1),
		cmocka_unit_test(each_block_format_2),
		cmocka_unit_test(each_block_unclean),
		cmocka_unit_test(each_node_of_a_deep_tree),
		cmocka_unit_test(older_leaf),
		cmocka_unit_test(older_root),
		cmocka_unit_test(no_superblock),
		cmocka_unit_test(power_cuts),
		cmocka_unit_test(geometry_is_compared),
		cmocka_unit_test(room),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(corpus),
	};
	const char *top = getenv("TOP");

	snprintf(next_check, sizeof(next_check),
		 "%s/build/trixie/bin/cache_check", top ? top : ".");
	if (access(next_check, X_OK)) {
		printf("skip: no cache_check of the next release\n");
		next_check[0] = 0;
	}
	if (!tmp_make("repair"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, tmp_remove);
}
