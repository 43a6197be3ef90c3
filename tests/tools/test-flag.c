// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flag that says that a write log is in use: what hearth-metadata does with it,
 * and what the releases of thin-provisioning-tools do.
 */

#include "scratch.h"
#include "volume.h"

#include <sys/wait.h>
#include <unistd.h>

static const struct volume_kind logged = { .format = 2 };
static const struct volume_kind logged_1 = { .format = 1 };
static const struct volume_kind plain = { .format = 2, .no_log = true };

static void make_files(const struct volume_kind *kind, u64 seed)
{
	struct volume v;

	volume_make(&v, seed, kind);
	volume_save(&v, tmp);
	disk_save(&(struct disk) { .seen = v.home, .sectors = v.origin.sectors },
		  path("home"));
	volume_free(&v);
}

static struct cmd_superblock superblock(const char *file)
{
	struct cmd_superblock sb;
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_int_equal(fread(&sb, sizeof(sb), 1, f), 1);
	assert_ok(fclose(f));
	return sb;
}

/* Changes the superblock in place, and seals it. */
static void edit(const char *file, void (*change)(struct cmd_superblock *sb))
{
	struct cmd_superblock sb = superblock(file);
	FILE *f = fopen(file, "r+");

	assert_non_null(f);
	change(&sb);
	pd_block_seal(&sb, 0, PD_KIND_SUPERBLOCK);
	assert_int_equal(fwrite(&sb, sizeof(sb), 1, f), 1);
	assert_ok(fclose(f));
}

static void needs_check(struct cmd_superblock *sb)
{
	sb->flags |= cpu_to_le32(CMD_SB_NEEDS_CHECK);
}

static void no_flag(struct cmd_superblock *sb)
{
	sb->incompat_flags = 0;
}

static void other_bit(struct cmd_superblock *sb)
{
	sb->incompat_flags = cpu_to_le32(CMD_INCOMPAT_LOG << 1);
}

static bool flagged(const char *file)
{
	struct cmd_superblock sb = superblock(file);

	return le32_to_cpu(sb.incompat_flags) == CMD_INCOMPAT_LOG;
}

/* ---- hearth-metadata ---- */

static void settle(void **state)
{
	static const struct run runs[] = {
		{ "settle", 2, "^Usage: hearth-metadata settle" },
		{ "settle metadata cache", 2, "^Usage: hearth-metadata settle" },
		{ "settle metadata cache origin more", 2, "^Usage" },
		{ "settle -q metadata cache origin", 2, "invalid option -- .q" },
		{ "settle --help", 0, "dry-run" },
		{ "settle metadata cache none", 1, "none: No such file" },
		{ "settle metadata cache cache", 1, "three devices" },
		{ "settle metadata metadata origin", 1, "three devices" },
		{ "settle metadata cache metadata", 1, "three devices" },
		{ "settle metadata cache /dev/null", 1, "neither a device nor a file" },
		{ "settle cache metadata origin", 1, "cache: .*not cache metadata" },
		{ "settle metadata origin cache", 1, "no header of this cache" },
		{ "settle metadata cache short", 1, "past the origin.s end" },
		{ "check --cache-device cache metadata", 0, "^write log: 0 faults; [1-9]" },
		{ "settle -n metadata cache origin", 0, "^to copy to the origin: [1-9]" },
		{ "settle --dry-run metadata cache origin", 0, "^to copy" },
		{ "check metadata", 0, "^a write log is in use; with --cache-device" },
		{ "settle metadata cache origin", 0, "its flag is cleared$" },
		{ "check --cache-device cache metadata", 0, "^no write log is in use$" },
		{ "settle metadata cache origin", 0, "^no write log is in use; there is nothing" },
	};

	(void)state;
	make_files(&logged, test_seed("settle", 940));
	assert_ok(shell("cd %s && truncate -s 65536 short", tmp));
	assert_ok(shell("cd %s && cp origin before && cp metadata was", tmp));
	run_all(runs, 17);
	assert_ok(shell("cd %s && cmp origin before && cmp metadata was", tmp));
	run_all(runs + 17, ARRAY_SIZE(runs) - 17);
	assert_ok(shell("cmp %s %s", path("origin"), path("home")));
	assert_false(flagged(path("metadata")));
}

/* Python holds a device for itself, and the file "held" says so. */
static const char hold[] =
	"import os, sys, time; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL); open('held', 'w'); time.sleep(int(sys.argv[2]))";

/* Ends what in_use() has begun, however that ended. */
static int let_go(void **state)
{
	(void)state;
	shell("cd %s && [ ! -e pid ] || kill $(cat pid) 2>/dev/null", tmp);
	return shell("cd %s && { [ ! -s loop ] || until losetup -d $(cat loop); do sleep .1; done; }",
		     tmp);
}

static void in_use(void **state)
{
	static const struct run refused[] = {
		{ "settle metadata $(cat loop) origin", 1, "it is in use" },
		{ "check --cache-device $(cat loop) metadata", 1, "it is in use" },
	};
	static const struct run taken[] = {
		{ "check --cache-device $(cat loop) metadata", 0, "^write log: 0 faults" },
		{ "settle metadata $(cat loop) origin", 0, "cleared" },
	};

	(void)state;
	make_files(&logged, test_seed("in use", 941));
	if (shell("cd %s && losetup -f --show cache >loop 2>/dev/null", tmp)) {
		printf("skip: no loop devices\n");
		skip();
	}
	assert_ok(shell("cd %s && { python3 -c \"%s\" $(cat loop) 60 & echo $! >pid; until [ -e held ]; do sleep .1; done; }",
			tmp, hold));
	run_all(refused, ARRAY_SIZE(refused));
	assert_ok(shell("cd %s && kill $(cat pid) && until python3 -c \"%s\" $(cat loop) 0 2>/dev/null; do sleep .1; done",
			tmp, hold));
	run_all(taken, ARRAY_SIZE(taken));
	assert_ok(shell("cmp %s %s", path("origin"), path("home")));
}

static void check(void **state)
{
	static const struct run sound[] = {
		{ "check metadata", 0, "^a write log is in use" },
		{ "check -q metadata", 0, NULL },
		{ "check --cache-device cache metadata", 0, "^write log: 0 faults; [0-9]* extents of [0-9]* blocks, [0-9]* bytes$" },
		{ "check -q --cache-device cache metadata", 0, NULL },
		{ "check --cache-device none metadata", 1, "none: No such file" },
		{ "check --cache-device origin metadata", 1, "^write log: 1 fault; " },
		{ "check -q --cache-device origin metadata", 1, NULL },
		{ "info metadata", 0, "^write_log 1$" },
		{ "dump --cache-device cache metadata", 2, "unrecognized option" },
		{ "info -n metadata", 2, "invalid option" },
	};
	static const struct run others[] = {
		{ "check metadata", 0, "needs_check flag is set beside the write log.s" },
	};
	static const struct run dropped[] = {
		{ "info metadata", 0, "^write_log 0$" },
		{ "check metadata", 0, "^0 faults" },
		{ "check --cache-device cache metadata", 0, "^no write log is in use, but the cache device has one with [1-9]" },
		{ "check --cache-device origin metadata", 0, "^no write log is in use$" },
		{ "settle metadata cache origin", 0, "^no write log is in use; there is nothing" },
	};

	(void)state;
	make_files(&logged, test_seed("check", 942));
	run_all(sound, ARRAY_SIZE(sound));
	edit(path("metadata"), needs_check);
	run_all(others, ARRAY_SIZE(others));
	edit(path("metadata"), no_flag);
	run_all(dropped + 1, ARRAY_SIZE(dropped) - 1);
	make_files(&plain, test_seed("check", 943));
	run_all(dropped, 2);
}

/* Nobody restores the dump as if there were no log; without one it is as ever. */
static void dump(void **state)
{
	static const struct run runs[] = {
		{ "dump -o xml metadata", 0, "a write log is in use, so cache_restore refuses" },
		{ "dump metadata", 0, "^  <write_log/>$" },
	};
	static const struct run settled[] = {
		{ "settle metadata cache origin", 0, "cleared" },
		{ "dump -o xml2 metadata", 0, NULL },
	};

	(void)state;
	make_files(&logged, test_seed("dump", 944));
	run_all(runs, ARRAY_SIZE(runs));
	run_all(settled, ARRAY_SIZE(settled));
	assert_ok(shell("cd %s && ! grep -q write.log xml2 && sed '/<!--/,/-->/d; /write_log/d' xml | cmp - xml2",
			tmp));
	for (u32 i = 0; i < ARRAY_SIZE(toolsets); i++) {
		const struct toolset *t = toolsets + i;

		if (!have(t))
			continue;
		assert_ok(shell("cd %s && rm -f back && truncate -s 480K back", tmp));
		assert_int_not_equal(shell("cd %s && %scache_restore -i xml -o back >log 2>&1",
					   tmp, t->dir), 0);
		assert_ok(shell("grep -q unknown %s", path("log")));
		assert_ok(shell("cd %s && cmp -n 4096 back /dev/zero", tmp));
		assert_ok(shell("cd %s && %scache_restore -i xml2 -o back >log 2>&1",
				tmp, t->dir));
	}
}

static void repair(void **state)
{
	static const struct run keeps[] = {
		{ "repair -i metadata -o out", 0, "^a write log is in use, and the output says so" },
		{ "info out", 0, "^write_log 1$" },
		{ "check --cache-device cache out", 0, "^write log: 0 faults; [1-9]" },
		{ "settle out cache origin", 0, "cleared" },
		{ "repair --write-log -i out -o out2", 1, "the superblock is undamaged, and says that no write log" },
		{ "repair -q -i out -o out2", 0, NULL },
		{ "info out2", 0, "^write_log 0$" },
	};
	/* There are two mappings: blocks that they do not agree on are lost. */
	static const struct run lost[] = {
		{ "repair -i metadata -o out --block-size 64 --cache-blocks 48", 4, "begin again with --write-log" },
		{ "info out", 0, "^write_log 0$" },
		{ "repair -i metadata -o out --block-size 64 --cache-blocks 48 --write-log", 4, "the output says so" },
		{ "info out", 0, "^write_log 1$" },
		{ "check --cache-device cache out", 0, "^write log: 0 faults; [1-9]" },
	};

	(void)state;
	for (u32 format = 1; format <= 2; format++) {
		make_files(format == 1 ? &logged_1 : &logged,
			   test_seed("repair", 945));
		assert_ok(shell("cd %s && truncate -s 480K out out2", tmp));
		run_all(keeps, ARRAY_SIZE(keeps));
		assert_ok(shell("cmp %s %s", path("origin"), path("home")));
	}
	make_files(&logged, test_seed("repair", 946));
	assert_ok(shell("cd %s && dd if=/dev/zero of=metadata bs=4096 count=1 conv=notrunc 2>/dev/null",
			tmp));
	run_all(lost, ARRAY_SIZE(lost));
}

/* The shell offers every subcommand, and every option that the help names. */
static void completion(void **state)
{
	const char *top = getenv("TOP");
	static const struct {
		const char *words;
		const char *offered;
	} cases[] = {
		{ "\"\"", "check dump info repair settle help --help --version" },
		{ "help s", "settle" },
		{ "settle -", "--dry-run --help --usage --version" },
		{ "check -", "--cache-device --quiet --help --usage --version" },
		{ "repair --w", "--write-log" },
		{ "settle metad", "metadata" },
	};

	(void)state;
	make_files(&plain, test_seed("completion", 947));
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		if (shell("top=$(realpath %s) && cd %s && PATH=$top/build/unit:$PATH bash -c '. $0/tools/hearth-metadata.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _hearth_metadata; echo \"${COMPREPLY[*]}\"' $top hearth-metadata %s >log 2>&1 && [ \"$(cat log)\" = \"%s\" ]",
			  top ? top : ".", tmp, cases[i].words,
			  cases[i].offered)) {
			shell("cat %s", path("log"));
			fail_msg("%s: not \"%s\"", cases[i].words,
				 cases[i].offered);
		}
}

/* ---- thin-provisioning-tools: what each program does ---- */

static int tool(const struct toolset *t, const char *args)
{
	return shell("cd %s && %s%s >log 2>&1", tmp, t->dir, args);
}

static bool unchanged(void)
{
	return !shell("cd %s && cmp -s metadata was", tmp);
}

static void fresh(u64 seed)
{
	make_files(&logged, seed);
	assert_ok(shell("cd %s && cp metadata was", tmp));
}

/*
 * lvm2 runs it before each activation: another answer keeps the volume inactive. So
 * would another bit.
 */
static void their_check(const struct toolset *t, u64 seed)
{
	fresh(seed);
	assert_ok(tool(t, "cache_check metadata"));
	assert_ok(tool(t, "cache_check -q --clear-needs-check-flag metadata"));
	assert_true(unchanged());
	edit(path("metadata"), other_bit);
	assert_true(!tool(t, "cache_check metadata") == !t->old);
}

/* The reason why NEEDS_CHECK is never set beside the flag. */
static void their_clearing(const struct toolset *t, u64 seed)
{
	struct cmd_superblock sb;

	fresh(seed);
	edit(path("metadata"), needs_check);
	assert_ok(tool(t, "cache_check -q --clear-needs-check-flag metadata"));
	sb = superblock(path("metadata"));
	assert_false(le32_to_cpu(sb.flags) & CMD_SB_NEEDS_CHECK);
	assert_true(flagged(path("metadata")) == !t->old);
}

static void their_dump(const struct toolset *t, u64 seed)
{
	fresh(seed);
	assert_ok(tool(t, "cache_dump -o xml metadata"));
	assert_true(unchanged());
	edit(path("metadata"), no_flag);
	assert_ok(tool(t, "cache_dump -o xml2 metadata"));
	assert_ok(shell("cd %s && cmp xml xml2", tmp));
}

/* It drops the flag, and the log's data with it. */
static void their_repair(const struct toolset *t, u64 seed)
{
	fresh(seed);
	assert_ok(shell("cd %s && rm -f out && truncate -s 480K out", tmp));
	assert_ok(tool(t, "cache_repair -i metadata -o out"));
	assert_true(unchanged());
	assert_int_equal(superblock(path("out")).incompat_flags, 0);
}

/* 0.9 crashes on any metadata of format 2. 1.1 copies dirty blocks, and no log. */
static void their_writeback(const struct toolset *t, u64 seed)
{
	int r;

	fresh(seed);
	assert_ok(shell("cd %s && cp origin before && cp cache cache.was", tmp));
	r = tool(t, "cache_writeback --metadata-device metadata --fast-device cache --origin-device origin");
	assert_ok(shell("cd %s && cmp cache cache.was", tmp));
	assert_true(flagged(path("metadata")));
	if (t->old) {
		assert_true(WEXITSTATUS(r) > 128);	/* a signal */
		assert_ok(shell("cd %s && cmp origin before", tmp));
		return;
	}
	assert_ok(r);
	assert_int_not_equal(shell("cd %s && cmp -s origin home", tmp), 0);
	/* Its blocks are dirty no more, and the log is as it was: it still goes home. */
	run_all(&(const struct run) { "settle metadata cache origin", 0, "cleared" }, 1);
}

static void theirs(void **state)
{
	static void (*const rows[])(const struct toolset *t, u64 seed) = {
		their_check, their_clearing, their_dump, their_repair,
		their_writeback,
	};
	const struct toolset *t = *state;
	u64 rng = test_seed(t->name, 950);

	if (!have(t))
		skip();
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i](t, rnd(&rng));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settle),
		cmocka_unit_test_teardown(in_use, let_go),
		cmocka_unit_test(check),
		cmocka_unit_test(dump),
		cmocka_unit_test(repair),
		cmocka_unit_test(completion),
		{ "installed tools", theirs, NULL, NULL, toolsets },
		{ "next release's tools", theirs, NULL, NULL, toolsets + 1 },
	};

	if (!tmp_make("flag"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, tmp_remove);
}
