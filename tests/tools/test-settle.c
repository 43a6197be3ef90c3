// SPDX-License-Identifier: GPL-2.0-only
/*
 * log_settle(): every byte of a write log reaches the origin, wherever the settlement
 * is cut, and nothing is written if anything is wrong.
 */

#include "volume.h"

#define NO_BLOCK	75u	/* neither in the cache nor in the log */

static const struct volume_kind kinds[] = {
	{ .format = 2 },
	{ .format = 1 },
	{ .format = 2, .discards = true },
	{ .format = 2, .unclean = true },
	{ .format = 1, .unclean = true, .discards = true },
};

struct lines {
	char text[2000];
	u32 percent;		/* the last that was reported */
	bool falls;		/* it fell at some time */
};

static void take_line(void *ctx, const char *msg)
{
	struct lines *l = ctx;
	size_t at = strlen(l->text);

	snprintf(l->text + at, sizeof(l->text) - at, "%s\n", msg);
}

static void take_percent(void *ctx, const char *what, unsigned int percent)
{
	struct lines *l = ctx;

	assert_string_equal(what, "settle");
	l->falls |= percent < l->percent;
	l->percent = percent;
}

static int run(struct volume *v, bool dry_run, struct lines *l)
{
	struct settle_options o = {
		.dry_run = dry_run, .say = take_line, .progress = take_percent,
		.ctx = l,
	};
	struct settle_volume sv = {
		.cache = disk_dev(&v->cache), .cache_sectors = v->cache.sectors,
		.origin = disk_dev(&v->origin),
		.origin_sectors = v->origin.sectors,
	};
	struct pd_device *dev;
	char why[512] = "";
	int r;

	memset(l, 0, sizeof(*l));
	sv.cmd = volume_open(v, dry_run, &dev);
	r = log_settle(&sv, &o, why, sizeof(why));
	volume_shut(sv.cmd, dev);
	assert_true(!r == !*why);
	if (r)
		take_line(l, why);
	return r;
}

static void assert_home(const struct volume *v)
{
	assert_memory_equal(v->origin.seen, v->home, v->origin.sectors * 512);
}

/* ---- The metadata after it ---- */

struct seen {
	const struct volume *v;
	u32 nr;
	bool hints;
};

static int compare(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		   bool hint_valid)
{
	struct seen *s = ctx;

	s->nr++;
	assert_int_equal(oblock, s->v->oblock[cblock]);
	assert_true(dirty == s->v->dirty[cblock]);
	assert_true(hint_valid == s->hints);
	if (hint_valid)
		assert_int_equal(hint, cblock * 3);
	return 0;
}

static int no_discard(void *ctx, u64 dblock)
{
	(void)ctx;
	fail_msg("discard bit %llu is set", dblock);
	return 0;
}

/* All is as it was but for the flag, and the discards, which are gone. */
static void assert_metadata(struct volume *v, bool unclean)
{
	static const u32 version[3] = { 2, 0, 0 };
	struct seen s = { .v = v, .hints = !unclean };
	char record[CMD_RECORD_MAX];
	u64 sectors, nr;
	struct cmd_stats stats;
	struct pd_device *dev;
	struct cmd *cmd = volume_open(v, true, &dev);
	u32 mapped = 0;

	for (u32 i = 0; i < VOLUME_SLOTS; i++)
		mapped += v->oblock[i] != U64_MAX;
	assert_sound(cmd);
	assert_false(cmd_log_flag(cmd));
	assert_false(cmd_needs_check(cmd));
	assert_true(cmd_opened_clean(cmd) == !unclean);
	assert_ok(cmd_load(cmd, "smq", version, compare, &s));
	assert_int_equal(s.nr, mapped);
	assert_int_equal(cmd_record_get(cmd, record, sizeof(record)),
			 strlen(VOLUME_RECORD));
	assert_memory_equal(record, VOLUME_RECORD, strlen(VOLUME_RECORD));
	cmd_get_stats(cmd, &stats);
	assert_int_equal(stats.write_misses, 44);
	cmd_discard_geometry(cmd, &sectors, &nr);
	assert_int_equal(sectors * nr, VOLUME_BLOCK * VOLUME_BLOCKS);
	if (!unclean)
		assert_ok(cmd_discards_load(cmd, no_discard, NULL));
	volume_shut(cmd, dev);
}

/* The cache device is as it was, but for the log's header, which is gone. */
static void assert_cache(const struct volume *now, const struct volume *was)
{
	static const u8 zeroes[2 * LOG_BLOCK_BYTES];
	u64 end = (now->cache.sectors - 2 * LOG_BLOCK_SECTORS) * 512;

	assert_memory_equal(now->cache.seen, was->cache.seen, end);
	assert_memory_equal(now->cache.seen + end, zeroes, sizeof(zeroes));
}

static void assert_untouched(const struct volume *now,
			     const struct volume *was)
{
	assert_int_equal(now->power.ops, 0);
	assert_memory_equal(now->metadata.seen, was->metadata.seen,
			    was->metadata.sectors * 512);
	assert_memory_equal(now->cache.seen, was->cache.seen,
			    was->cache.sectors * 512);
	assert_memory_equal(now->origin.seen, was->origin.seen,
			    was->origin.sectors * 512);
}

/* ---- Settling ---- */

static void settles(void **state)
{
	u64 rng = test_seed("settles", 930);
	u32 merged = 0;

	(void)state;
	for (u32 i = 0; i < rounds(30); i++) {
		const struct volume_kind *kind = kinds + i % ARRAY_SIZE(kinds);
		struct volume v, was;
		struct lines l;
		u32 extents;

		volume_make(&was, rnd(&rng), kind);
		volume_clone(&v, &was);
		assert_true(memcmp(v.origin.seen, v.home, v.origin.sectors * 512));
		assert_ok(run(&v, false, &l));
		assert_home(&v);
		assert_true(v.origin.ascending);
		assert_int_equal(l.percent, 100);
		assert_false(l.falls);
		assert_metadata(&v, kind->unclean);
		assert_cache(&v, &was);
		assert_non_null(strstr(l.text, "its flag is cleared"));
		assert_non_null(strstr(l.text, "2 blocks of the log are in the cache already, and dirty"));
		assert_non_null(strstr(l.text, "dirty in the cache: 6 blocks"));
		assert_int_equal(sscanf(l.text, "copying to the origin: %u", &extents), 1);
		merged += v.origin.writes < extents;

		/* There is nothing to do a second time. */
		v.power.ops = 0;
		assert_ok(run(&v, false, &l));
		assert_int_equal(v.power.ops, 0);
		assert_string_equal(l.text, "no write log is in use; there is nothing to do\n");
		volume_free(&v);
		volume_free(&was);
	}
	assert_int_equal(merged, rounds(30));
}

/* The dirty bits of blocks that are mapped and recorded, if anything cleared them. */
static void mapped_is_dirty(void **state)
{
	u64 rng = test_seed("mapped", 931);
	struct pd_device *dev;
	struct lines l;
	struct volume v;
	struct cmd *cmd;

	(void)state;
	volume_make(&v, rnd(&rng), kinds);
	cmd = volume_open(&v, false, &dev);
	for (u32 i = 0; i < VOLUME_SLOTS; i++)
		if (v.oblock[i] >= VOLUME_BLOCKS - 2 && v.oblock[i] != U64_MAX)
			assert_ok(cmd_set_dirty(cmd, i, false));
	assert_ok(cmd_commit(cmd, true));
	volume_shut(cmd, dev);
	assert_ok(run(&v, false, &l));
	assert_home(&v);
	assert_metadata(&v, false);
	volume_free(&v);
}

static void dry_run(void **state)
{
	u64 rng = test_seed("dry run", 932);

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct volume v, was;
		unsigned long long bytes;
		u64 differ = 0;
		struct lines l;
		const char *p;

		volume_make(&was, rnd(&rng), kinds + i);
		volume_clone(&v, &was);
		assert_ok(run(&v, true, &l));
		assert_untouched(&v, &was);
		p = strstr(l.text, " blocks, ");
		assert_non_null(p);
		assert_int_equal(sscanf(p, " blocks, %llu bytes", &bytes), 1);
		for (u64 s = 0; s < v.origin.sectors; s++)
			differ += !!memcmp(v.origin.seen + s * 512,
					   v.home + s * 512, 512);
		assert_int_equal(bytes, differ * 512);
		volume_free(&v);
		volume_free(&was);
	}
}

/* ---- Cuts and failures ---- */

static struct log_disk_block *ring_block(struct volume *v, u64 seq)
{
	return (void *)(v->cache.seen + log_ring_sector(&v->geo, seq) * 512);
}

static u64 head_of(struct volume *v)
{
	u64 head = 0;

	for (u32 i = 0; i < v->geo.ring_blocks; i++)
		head = max(head, le64_to_cpu(ring_block(v, i)->seq));
	return head;
}

/* Cuts in op @at.  Returns false if there are not so many. */
static bool cut_at(struct volume *v, u64 at, enum fate fate, bool unclean)
{
	struct lines l;
	u64 ops;

	v->power.die_at = at;
	run(v, false, &l);
	ops = v->power.ops;
	volume_crash(v, fate);
	/* If the flag is gone, this does nothing: all must be there. */
	assert_ok(run(v, false, &l));
	assert_home(v);
	assert_metadata(v, unclean);
	return at < ops;
}

static void cut(void **state)
{
	u64 rng = test_seed("cut", 933);

	(void)state;
	for (u32 i = 0; i < rounds(ARRAY_SIZE(kinds)); i++) {
		const struct volume_kind *kind = kinds + i % ARRAY_SIZE(kinds);
		struct volume v, was;
		u64 at;

		volume_make(&was, rnd(&rng), kind);
		volume_clone(&v, &was);
		for (enum fate fate = 0; fate < NR_FATES; fate++) {
			for (at = 0; cut_at(&v, at, fate, kind->unclean); at++) {
				was.rng++;
				volume_copy(&v, &was);
			}
			volume_copy(&v, &was);
			assert_true(at > 20);
		}
		volume_free(&v);
		volume_free(&was);
	}
}

/*
 * After a reset without a power cut, the last blocks of the ring may be in the cache of
 * the cache device only. If they were lost after some of their data went home, older
 * data would follow them. The very last one is of blocks that do not go home.
 */
static void head_not_durable(void **state)
{
	u64 rng = test_seed("head", 938);
	struct volume v, was;

	(void)state;
	volume_make(&was, rnd(&rng), kinds);
	volume_clone(&v, &was);
	for (u64 at = 1; ; at++) {
		u64 head = head_of(&v);

		for (u64 seq = head - 1; seq <= head; seq++)
			memset(v.cache.durable +
			       log_ring_sector(&v.geo, seq) * 512, 0,
			       LOG_BLOCK_BYTES);
		if (!cut_at(&v, at, FATE_LOST, false))
			break;
		volume_copy(&v, &was);
	}
	volume_free(&v);
	volume_free(&was);
}

/* Cut again and again, each time a little later. */
static void cut_often(void **state)
{
	u64 rng = test_seed("cut often", 934);

	(void)state;
	for (u32 i = 0; i < rounds(20); i++) {
		struct volume v;
		struct lines l;
		u64 at = 0;

		volume_make(&v, rnd(&rng), kinds);
		do {
			volume_crash(&v, below(&rng, NR_FATES));
			v.power.die_at = at += 1 + below(&rng, 9);
			assert_true(at < 2000);
		} while (run(&v, false, &l));
		volume_crash(&v, below(&rng, NR_FATES));
		assert_ok(run(&v, false, &l));
		assert_home(&v);
		assert_metadata(&v, false);
		volume_free(&v);
	}
}

/* Each write and flush fails once. Only the header's wiping may fail unnoticed. */
static void failing(void **state)
{
	u64 rng = test_seed("failing", 935);
	struct volume v, was;
	u32 unnoticed = 0;
	struct lines l;

	(void)state;
	volume_make(&was, rnd(&rng), kinds + 2);
	volume_clone(&v, &was);
	for (u64 at = 0; ; at++) {
		volume_copy(&v, &was);
		v.power.fail_at = at;
		if (!run(&v, false, &l)) {
			if (at >= v.power.ops)
				break;
			assert_non_null(strstr(l.text, "header on the cache device cannot be wiped"));
			assert_home(&v);
			unnoticed++;
		} else {
			assert_null(strstr(l.text, "is cleared"));
			assert_non_null(strstr(l.text, "Input/output error"));
		}
		volume_crash(&v, FATE_MIXED);
		assert_ok(run(&v, false, &l));
		assert_home(&v);
		assert_metadata(&v, false);
	}
	assert_int_equal(unnoticed, 2);
	volume_free(&v);
	volume_free(&was);
}

/* ---- Refusals ---- */

static void commit(struct volume *v, void (*change)(struct volume *v,
						    struct cmd *cmd))
{
	struct pd_device *dev;
	struct cmd *cmd = volume_open(v, false, &dev);

	change(v, cmd);
	assert_ok(cmd_commit(cmd, true));
	volume_shut(cmd, dev);
}

static void insert_in_ring(struct volume *v, struct cmd *cmd)
{
	assert_ok(cmd_insert(cmd, v->geo.ring_slot, NO_BLOCK, false));
}

static void insert_in_segment(struct volume *v, struct cmd *cmd)
{
	assert_ok(cmd_insert(cmd, v->segment, NO_BLOCK, false));
}

static void map_ring(struct volume *v)
{
	commit(v, insert_in_ring);
}

static void map_segment(struct volume *v)
{
	commit(v, insert_in_segment);
}

static void no_header(struct volume *v)
{
	for (u32 copy = 0; copy < 2; copy++)
		v->cache.seen[log_header_sector(VOLUME_BLOCK, VOLUME_SLOTS,
						copy) * 512] ^= 1;
}

static void other_id(struct volume *v)
{
	struct log_dev dev = disk_dev(&v->cache);

	v->geo.id++;
	assert_ok(log_header_write(&dev, &v->geo));
}

/* The block before the head: a chain from the tail to the head has a gap. */
static void torn_ring(struct volume *v)
{
	u64 head = head_of(v);

	assert_true(le64_to_cpu(ring_block(v, head)->tail) < head);
	ring_block(v, head - 1)->id ^= 1;
}

static void short_origin(struct volume *v)
{
	v->origin.sectors = (VOLUME_BLOCKS / 2) * VOLUME_BLOCK;
}

static void short_cache(struct volume *v)
{
	v->cache.sectors--;
}

/* A block of the mapping: the first array block that is not of hints or bits. */
static void bad_metadata(struct volume *v)
{
	struct pd_device *dev;
	struct cmd *cmd = volume_open(v, true, &dev);
	u64 root = le64_to_cpu(cmd_committed_superblock(cmd)->hint_root);

	volume_shut(cmd, dev);
	v->metadata.seen[root * PD_BLOCK_SIZE + 100] ^= 1;
}

static void refuses(void **state)
{
	static const struct {
		void (*damage)(struct volume *v);
		const char *text;
	} cases[] = {
		{ map_ring, "cache block 45 belongs to it, and is mapped to origin block 75" },
		{ map_segment, "belongs to it, and is mapped to origin block 75" },
		{ no_header, "no header of this cache's log" },
		{ other_id, "its ring is damaged" },
		{ torn_ring, "its ring is damaged" },
		{ short_origin, "past the origin's end" },
		{ short_cache, "the cache device has 3071 sectors, not the 3072" },
		{ bad_metadata, "the metadata is damaged: repair it first" },
	};
	u64 rng = test_seed("refuses", 936);

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct volume v, was;
		struct lines l;

		volume_make(&was, rnd(&rng), kinds);
		cases[i].damage(&was);
		volume_clone(&v, &was);
		assert_int_equal(run(&v, false, &l), -EILSEQ);
		if (!strstr(l.text, cases[i].text))
			fail_msg("\"%s\", not \"%s\"", l.text, cases[i].text);
		assert_non_null(strstr(l.text, "nothing was written"));
		assert_untouched(&v, &was);
		volume_free(&v);
		volume_free(&was);
	}
}

/* One header is enough. */
static void one_header(void **state)
{
	u64 rng = test_seed("one header", 937);

	(void)state;
	for (u32 copy = 0; copy < 2; copy++) {
		struct volume v;
		struct lines l;

		volume_make(&v, rnd(&rng), kinds);
		v.cache.seen[log_header_sector(VOLUME_BLOCK, VOLUME_SLOTS,
					       copy) * 512] ^= 1;
		assert_ok(run(&v, false, &l));
		assert_home(&v);
		volume_free(&v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settles),
		cmocka_unit_test(mapped_is_dirty),
		cmocka_unit_test(dry_run),
		cmocka_unit_test(cut),
		cmocka_unit_test(head_not_durable),
		cmocka_unit_test(cut_often),
		cmocka_unit_test(failing),
		cmocka_unit_test(refuses),
		cmocka_unit_test(one_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
