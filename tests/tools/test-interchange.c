// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interchange with the cache_check, cache_dump and cache_restore of the installed
 * release and of the next one (build/trixie/bin, see scripts/setup).
 *
 * The tests allow for the known faults of 0.9, each by name, and for no other.
 */

#include "scratch.h"
#include "util.h"

#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_SIZE	128u

/* ---- A cache's contents, and their XML ---- */

struct content {
	u32 nr;
	u64 *oblock;	/* U64_MAX: unmapped */
	bool *dirty;
	u32 *hint;
};

static struct content *content_new(u32 nr)
{
	struct content *c = calloc(1, sizeof(*c));

	c->nr = nr;
	c->oblock = malloc((nr + 1) * sizeof(u64));
	c->dirty = calloc(nr + 1, sizeof(bool));
	c->hint = calloc(nr + 1, sizeof(u32));
	for (u32 i = 0; i < nr; i++)
		c->oblock[i] = U64_MAX;
	return c;
}

static void content_free(struct content *c)
{
	free(c->oblock);
	free(c->dirty);
	free(c->hint);
	free(c);
}

static struct content *random_content(u32 nr, u64 *rng)
{
	struct content *c = content_new(nr);
	u32 gaps = 1 + below(rng, 3);

	for (u32 i = 0; i < nr; i++) {
		if (gaps > 1 && one_in(rng, gaps))
			continue;
		c->oblock[i] = (u64)(nr - i) * 7 + 1;
		c->dirty[i] = one_in(rng, 2);
		c->hint[i] = below(rng, 64);
	}
	return c;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789+/";

static void write_xml(const struct content *c, const char *file)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fprintf(f, "<superblock uuid=\"\" block_size=\"%u\" nr_cache_blocks=\"%u\" policy=\"smq\" hint_width=\"4\">\n<mappings>\n",
		BLOCK_SIZE, c->nr);
	for (u32 i = 0; i < c->nr; i++)
		if (c->oblock[i] != U64_MAX)
			fprintf(f, "<mapping cache_block=\"%u\" origin_block=\"%llu\" dirty=\"%s\"/>\n",
				i, c->oblock[i], c->dirty[i] ? "true" : "false");
	fputs("</mappings>\n<hints>\n", f);
	for (u32 i = 0; i < c->nr; i++)
		if (c->oblock[i] != U64_MAX)	/* hints are below 64 */
			fprintf(f, "<hint cache_block=\"%u\" data=\"%c%cAAAA==\"/>\n",
				i, digits[c->hint[i] >> 2],
				digits[(c->hint[i] & 3) << 4]);
	fputs("</hints>\n</superblock>\n", f);
	assert_ok(fclose(f));
}

static u32 decode_hint(const char *s)
{
	u64 v = 0;

	for (int i = 0; i < 6; i++)
		v = v << 6 | (u32)(strchr(digits, s[i]) - digits);
	v >>= 4;	/* six digits hold 36 bits: four bytes, the first one topmost */
	return __builtin_bswap32((u32)v);
}

static struct content *read_xml(const char *file)
{
	FILE *f = fopen(file, "r");
	struct content *c = NULL;
	unsigned long long o;
	char line[400], word[20], *p;
	u32 i, n;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		p = strstr(line, "nr_cache_blocks=\"");
		if (p && sscanf(p, "nr_cache_blocks=\"%u\"", &n) == 1)
			c = content_new(n);
		p = line + strspn(line, " ");
		if (sscanf(p, "<mapping cache_block=\"%u\" origin_block=\"%llu\" dirty=\"%5[a-z]",
			   &i, &o, word) == 3) {
			assert_true(c && i < c->nr);
			c->oblock[i] = o;
			c->dirty[i] = !strcmp(word, "true");
		} else if (sscanf(p, "<hint cache_block=\"%u\" data=\"%8[^\"]", &i,
				  word) == 2) {
			assert_true(c && i < c->nr);
			if (c->oblock[i] != U64_MAX)
				c->hint[i] = decode_hint(word);
		}
	}
	fclose(f);
	assert_non_null(c);
	return c;
}

static void assert_same(const struct content *a, const struct content *b,
			bool with_dirty)
{
	assert_int_equal(a->nr, b->nr);
	assert_memory_equal(a->oblock, b->oblock, a->nr * sizeof(u64));
	assert_memory_equal(a->hint, b->hint, a->nr * sizeof(u32));
	if (with_dirty)
		assert_memory_equal(a->dirty, b->dirty, a->nr);
}

/* ---- Caches that our library writes and reads ---- */

static void make_device(const char *file, u32 cache_blocks)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_ok(ftruncate(fileno(f),
			    (off_t)(200 + cache_blocks / 60) * PD_BLOCK_SIZE));
	fclose(f);
}

static struct cmd *open_file(const char *file, unsigned int format,
			     struct pd_device **dev)
{
	struct cmd_geometry g = {
		.data_block_size = BLOCK_SIZE,
		.format = format,
		.may_format = format != 0,
	};
	const char *why;
	struct cmd *cmd;

	assert_ok(pd_device_open_file(file, false, dev));
	assert_ok(cmd_open(*dev, &g, &cmd, &why));
	return cmd;
}

static void shut(struct cmd *cmd, struct pd_device *dev)
{
	cmd_close(cmd);
	pd_device_close(dev);
}

static u32 hint_of(void *ctx, u32 cblock)
{
	return ((struct content *)ctx)->hint[cblock];
}

static const u32 version[3] = { 2, 0, 0 };

/* Takes several commits and detours, so that blocks are moved and freed. */
static void write_here(const struct content *c, const char *file,
		       unsigned int format, u64 *rng)
{
	struct pd_device *dev;
	struct cmd *cmd;

	make_device(file, c->nr);
	cmd = open_file(file, format, &dev);
	assert_ok(cmd_resize(cmd, one_in(rng, 2) ? c->nr + 600 : c->nr / 2));
	assert_ok(cmd_commit(cmd, false));
	assert_ok(cmd_resize(cmd, c->nr));
	assert_ok(cmd_set_discard_geometry(cmd, 1 << 20, below(rng, 40000) + 1));
	for (u32 i = 0; i < c->nr; i++) {
		if (one_in(rng, 10)) {
			assert_ok(cmd_insert(cmd, i, 1ULL << 40 | i, true));
			assert_ok(cmd_remove(cmd, i));
		}
		if (c->oblock[i] != U64_MAX)
			assert_ok(cmd_insert(cmd, i, c->oblock[i],
					     !c->dirty[i]));
		if (one_in(rng, 5000))
			assert_ok(cmd_commit(cmd, one_in(rng, 2)));
	}
	for (u32 i = 0; i < c->nr; i++)
		if (c->oblock[i] != U64_MAX)
			assert_ok(cmd_set_dirty(cmd, i, c->dirty[i]));
	assert_ok(cmd_write_hints(cmd, "smq", version, hint_of, (void *)c));
	assert_ok(cmd_record_set(cmd, "settings", 8));
	assert_ok(cmd_commit(cmd, true));
	shut(cmd, dev);
}

static int take_block(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		      bool hint_valid)
{
	struct content *c = ctx;

	c->oblock[cblock] = oblock;
	c->dirty[cblock] = dirty;
	if (hint_valid)
		c->hint[cblock] = hint;
	return 0;
}

static struct content *read_here(struct cmd *cmd)
{
	struct content *c = content_new(cmd_cache_blocks(cmd));
	u32 found[3];

	cmd_policy_version(cmd, found);	/* cache_restore writes version 0 */
	assert_ok(cmd_load(cmd, "smq", found, take_block, c));
	return c;
}

static void dump_here(struct cmd *cmd, const char *file)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_ok(metadata_dump(cmd, f));
	assert_ok(fclose(f));
}

/* ---- Interchange in both directions ---- */

static void check_there(const struct toolset *t, const char *file)
{
	if (!shell("%scache_check %s > %s 2>&1", t->dir, file, path("log")))
		return;
	shell("cat %s", path("log"));
	fail_msg("cache_check of the %s refuses", t->name);
}

/* We write; the tools check, dump and restore; we read the result. */
static void from_here(const struct toolset *t, u32 nr, unsigned int format,
		      u64 *rng)
{
	struct content *c = random_content(nr, rng), *seen;
	struct pd_device *dev;
	struct cmd *cmd;

	write_here(c, path("here"), format, rng);
	check_there(t, path("here"));

	assert_ok(shell("%scache_dump %s > %s", t->dir, path("here"),
			path("xml")));
	seen = read_xml(path("xml"));
	assert_same(c, seen, !(t->old && format == 2));
	content_free(seen);

	cmd = open_file(path("here"), 0, &dev);
	assert_sound(cmd);
	dump_here(cmd, path("xml"));
	shut(cmd, dev);
	seen = read_xml(path("xml"));
	assert_same(c, seen, true);
	content_free(seen);

	make_device(path("back"), nr);
	assert_ok(shell("%scache_restore -i %s -o %s --metadata-version %u > %s 2>&1",
			t->dir, path("xml"), path("back"), format,
			path("log")));
	cmd = open_file(path("back"), 0, &dev);
	assert_int_equal(cmd_format(cmd), format);
	seen = read_here(cmd);
	assert_same(c, seen, true);
	content_free(seen);
	shut(cmd, dev);
	content_free(c);
}

struct faults {
	bool restored_by_old;
	u32 unexpected;
};

static void judge(void *ctx, const char *msg)
{
	struct faults *f = ctx;

	if (f->restored_by_old &&
	    (strstr(msg, "has count 1, but 0 references") ||
	     strstr(msg, "belongs to an unmapped block") ||
	     strstr(msg, "set past the end")))
		return;
	printf("fault: %s\n", msg);
	f->unexpected++;
}

/* The tools write; we read and change; the tools check. */
static void from_there(const struct toolset *t, u32 nr, unsigned int format,
		       u64 *rng)
{
	struct content *c = random_content(nr, rng), *seen;
	struct faults f = { .restored_by_old = t->old };
	struct pd_device *dev;
	struct cmd *cmd;

	write_xml(c, path("xml"));
	make_device(path("there"), nr);
	assert_ok(shell("%scache_restore -i %s -o %s --metadata-version %u > %s 2>&1",
			t->dir, path("xml"), path("there"), format,
			path("log")));
	cmd = open_file(path("there"), 0, &dev);
	assert_true(cmd_opened_clean(cmd));
	assert_int_equal(cmd_format(cmd), format);
	seen = read_here(cmd);
	assert_same(c, seen, true);
	content_free(seen);
	metadata_check(cmd, judge, &f);
	assert_int_equal(f.unexpected, 0);

	for (u32 i = 0; i < nr; i += 1 + below(rng, 100)) {
		c->oblock[i] = (1 << 20) + i;
		c->dirty[i] = one_in(rng, 2);
		assert_ok(cmd_insert(cmd, i, c->oblock[i], c->dirty[i]));
	}
	assert_ok(cmd_write_hints(cmd, "smq", version, hint_of, c));
	assert_ok(cmd_commit(cmd, true));
	shut(cmd, dev);
	check_there(t, path("there"));
	assert_ok(shell("%scache_dump %s > %s", t->dir, path("there"),
			path("xml")));
	seen = read_xml(path("xml"));
	assert_same(c, seen, !(t->old && format == 2));
	content_free(seen);
	content_free(c);
}

/* A cache has a block at least: 0.9 refuses one without, and 1.1 cannot dump it. */
static const u32 sizes[] = { 1, 10, 509, 510, 1018, 5000, 33000, 131000 };

static void with(struct toolset *t,
		 void (*test)(const struct toolset *t, u32 nr,
			      unsigned int format, u64 *rng))
{
	u64 rng = test_seed(t->name, 801);

	if (!have(t))
		skip();
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		for (unsigned int format = 1; format <= 2; format++)
			test(t, sizes[i], format, &rng);
}

static void here_to_installed(void **state)
{
	(void)state;
	with(toolsets, from_here);
}

static void installed_to_here(void **state)
{
	(void)state;
	with(toolsets, from_there);
}

static void here_to_next_release(void **state)
{
	(void)state;
	with(toolsets + 1, from_here);
}

static void next_release_to_here(void **state)
{
	(void)state;
	with(toolsets + 1, from_there);
}

/* Every tool opens the emptied cache that cmd_unmap_all() leaves. */
static void emptied(void **state)
{
	u64 rng = test_seed("emptied", 804);

	(void)state;
	for (u32 i = 0; i < 2 * ARRAY_SIZE(toolsets); i++) {
		struct toolset *t = toolsets + i / 2;
		struct content *c, *seen;
		struct pd_device *dev;
		struct cmd *cmd;

		if (!have(t))
			continue;
		c = random_content(40000, &rng);
		write_here(c, path("here"), 1 + i % 2, &rng);
		cmd = open_file(path("here"), 0, &dev);
		assert_ok(cmd_unmap_all(cmd));
		assert_ok(cmd_commit(cmd, true));
		assert_sound(cmd);
		check_there(t, path("here"));
		assert_ok(cmd_resize(cmd, 40000));
		assert_ok(cmd_commit(cmd, true));
		assert_sound(cmd);
		check_there(t, path("here"));
		seen = read_here(cmd);
		for (u32 k = 0; k < 40000; k++)
			assert_true(seen->oblock[k] == U64_MAX);
		shut(cmd, dev);
		content_free(seen);
		content_free(c);
	}
}

/* lvm2's run of the checker clears needs_check; our reader sees the same cache. */
static void clearing_needs_check(void **state)
{
	u64 rng = test_seed("needs_check", 802);

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(toolsets); i++) {
		struct content *c, *seen;
		struct pd_device *dev;
		struct cmd *cmd;

		if (!have(toolsets + i))
			continue;
		c = random_content(2000, &rng);
		write_here(c, path("here"), 2, &rng);
		cmd = open_file(path("here"), 0, &dev);
		assert_ok(cmd_set_needs_check(cmd));
		shut(cmd, dev);
		assert_ok(shell("%scache_check -q --clear-needs-check-flag %s",
				toolsets[i].dir, path("here")));
		cmd = open_file(path("here"), 0, &dev);
		assert_false(cmd_needs_check(cmd));
		seen = read_here(cmd);
		assert_same(c, seen, true);
		/* the checker zeroes the record */
		assert_int_equal(cmd_record_get(cmd, NULL, 0), -ENODATA);
		shut(cmd, dev);
		content_free(seen);
		content_free(c);
	}
}

/* Our checker and theirs call the same images damaged. */
static void same_verdict(void **state)
{
	static const struct {
		const char *what;
		u32 offset;
		u64 value;
	} damage[] = {
		{ "hint root elsewhere", 200, 150 },
		{ "mapping root elsewhere", 192, 150 },
		{ "no dirty root", 284, 0 },
		{ "version", 40, 3 },
	};
	u64 rng = test_seed("verdicts", 803);
	const struct toolset *t = toolsets + 1;
	struct content *c;

	(void)state;
	if (!have(t))
		skip();
	c = random_content(2000, &rng);
	os_quiet = true;
	for (u32 i = 0; i < ARRAY_SIZE(damage); i++) {
		struct cmd_geometry g = { .data_block_size = BLOCK_SIZE };
		u8 data[PD_BLOCK_SIZE];
		struct pd_device *dev;
		struct cmd *cmd;
		const char *why;
		__le64 v = cpu_to_le64(damage[i].value);
		FILE *f;
		int r;

		write_here(c, path("here"), 2, &rng);
		f = fopen(path("here"), "r+");
		assert_int_equal(fread(data, sizeof(data), 1, f), 1);
		memcpy(data + damage[i].offset, &v,
		       damage[i].offset == 40 ? 4 : 8);
		pd_block_seal(data, 0, PD_KIND_SUPERBLOCK);
		rewind(f);
		assert_int_equal(fwrite(data, sizeof(data), 1, f), 1);
		fclose(f);

		if (!shell("%scache_check -q %s 2>/dev/null", t->dir,
			   path("here")))
			fail_msg("%s: accepted there", damage[i].what);
		assert_ok(pd_device_open_file(path("here"), true, &dev));
		r = cmd_open(dev, &g, &cmd, &why);
		if (!r) {
			r = metadata_check(cmd, NULL, NULL);
			cmd_close(cmd);
		}
		if (!r)
			fail_msg("%s: accepted here", damage[i].what);
		pd_device_close(dev);
	}
	os_quiet = false;
	content_free(c);
}

/* Changes the last byte of a block. */
static void spoil(const char *file, u64 nr)
{
	long at = (nr + 1) * PD_BLOCK_SIZE - 1;
	FILE *f = fopen(file, "r+");
	int c;

	assert_non_null(f);
	assert_ok(fseek(f, at, SEEK_SET));
	c = getc(f);
	assert_ok(fseek(f, at, SEEK_SET));
	putc(c ^ 1, f);
	assert_ok(fclose(f));
}

/* Returns the first array block of the mapping. */
static u64 first_leaf(const char *file)
{
	struct pd_device *dev;
	struct cmd *cmd = open_file(file, 0, &dev);
	struct pd_btree bt = { cmd_transaction(cmd), sizeof(__le64) };
	__le64 nr;

	assert_ok(pd_btree_lookup(&bt,
		le64_to_cpu(cmd_committed_superblock(cmd)->mapping_root), 0,
		&nr));
	shut(cmd, dev);
	return le64_to_cpu(nr);
}

/* lvm2 calls a program by its name, and may pass empty options. */
static void as_lvm_calls_it(void **state)
{
	const char *top = getenv("TOP");
	u64 rng = test_seed("cache_repair", 806);
	struct content *c = random_content(600, &rng), *seen;
	struct pd_device *dev;
	struct cmd *cmd;

	(void)state;
	write_here(c, path("here"), 2, &rng);
	make_device(path("lvm"), 600);
	assert_ok(shell("%s/build/unit/hearth-cache-repair '' -i %s -o %s > %s 2>&1",
			top ? top : ".", path("here"), path("lvm"),
			path("log")));
	check_there(toolsets, path("lvm"));
	cmd = open_file(path("lvm"), 0, &dev);
	assert_int_equal(cmd_format(cmd), 2);
	seen = read_here(cmd);
	assert_same(c, seen, true);
	shut(cmd, dev);
	content_free(seen);
	content_free(c);
}

/* A policy's name may contain characters that have a meaning in XML. */
static void odd_policy_name(void **state)
{
	static const char odd[] = "a\"<&'>";
	u64 rng = test_seed("odd policy", 807);
	struct content *c = random_content(600, &rng);

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(toolsets); i++) {
		struct pd_device *dev;
		struct cmd *cmd;

		if (!have(toolsets + i))
			continue;
		write_here(c, path("here"), 2, &rng);
		cmd = open_file(path("here"), 0, &dev);
		assert_ok(cmd_write_hints(cmd, odd, version, hint_of, c));
		assert_ok(cmd_commit(cmd, true));
		dump_here(cmd, path("xml"));
		shut(cmd, dev);
		make_device(path("back"), 600);
		assert_ok(shell("%scache_restore -i %s -o %s --metadata-version 2 > %s 2>&1",
				toolsets[i].dir, path("xml"), path("back"),
				path("log")));
		cmd = open_file(path("back"), 0, &dev);
		assert_string_equal(cmd_policy_name(cmd), odd);
		shut(cmd, dev);
	}
	content_free(c);
}

/* Checks the exit status and the output of hearth-metadata itself. */
static void command_line(void **state)
{
	static const struct run runs[] = {
		{ "", 2, "Usage" },
		{ "--help", 0, "Usage" },
		{ "-h", 0, "Usage" },
		{ "help", 0, "repair" },
		{ "help check", 0, "Usage: hearth-metadata check" },
		{ "help polish", 2, "Usage" },
		{ "check --help", 0, "Usage: hearth-metadata check" },
		{ "repair -h", 0, "cache-blocks" },
		{ "-V", 0, "^hearth-metadata [0-9]" },
		{ "--version", 0, "^hearth-metadata [0-9]" },
		{ "info --version", 0, "^hearth-metadata [0-9]" },
		{ "polish here", 2, "Usage" },
		{ "check", 2, "Usage: hearth-metadata check" },
		{ "check -x here", 2, "invalid option" },
		{ "check --accept-lost here", 2, "^hearth-metadata check: unrecognized option" },
		{ "info -q here", 2, "^hearth-metadata info: invalid option" },
		{ "info --usage", 0, "--version" },
		{ "check --help >/dev/full", 1, "No space left" },
		{ "check here extra", 2, "Usage" },
		{ "check here", 0, "^0 faults; " },
		{ "check -q here", 0, NULL },
		{ "info here", 0, "cache_blocks 600" },
		{ "dump here", 0, "nr_cache_blocks=\"600\"" },
		{ "dump -o xml here", 0, NULL },
		{ "check none", 1, "No such file" },
		{ "check -q none", 1, NULL },
		{ "check zero", 1, "not formatted$" },
		{ "dump zero", 1, "not formatted$" },
		{ "check noise", 1, "not cache metadata$" },
		{ "check -q noise", 1, NULL },
		{ "info bad", 1, "bad checksum$" },
		{ "check torn", 1, "cannot be used: it is damaged$" },
		{ "check torn", 1, "^1 fault; " },
		{ "check -q torn", 1, NULL },
		{ "check leak", 3, "^leak: block 6 has count 1, but 0 references" },
		{ "check leak", 3, "^0 faults, 1 leak: space is lost, nothing is damaged; " },
		{ "check -q leak", 3, NULL },
		{ "info here >/dev/full", 1, "No space left" },
		{ "--help >/dev/full", 1, "No space left" },
		{ "dump here >/dev/full", 1, "not all of it could be dumped" },
		{ "repair -i here", 2, "Usage: hearth-metadata repair" },
		{ "repair -i here -o out extra", 2, "Usage" },
		{ "repair --block-size 0 -i here -o out", 2, "0: must be a whole number above 0" },
		{ "repair --cache-blocks 1k -i here -o out", 2, "1k: must be" },
		{ "repair -i here -o out ''", 0, "no damage was found$" },
		{ "check ''", 1, "No such file" },
		{ "repair -i none -o out", 1, "No such file" },
		{ "repair -i here -o here", 1, "are the same" },
		{ "repair -i here -o link", 1, "are the same" },
		{ "repair -i here -o /dev/null", 1, "neither a device nor a file" },
		{ "repair -i here -o small", 1, "10 blocks of 4 KiB, and [0-9]* are needed" },
		{ "repair -i here -o out", 0, "no damage was found$" },
		{ "repair -q -i here -o out", 0, NULL },
		{ "repair -q -i noise -o out", 1, NULL },
		{ "repair --input noise --output out", 1, "--block-size and --cache-blocks" },
		{ "repair -i torn -o out", 4, "lost, and was dirty: [0-9]" },
		{ "repair -i torn -o out", 4, "accept-lost" },
		{ "repair --accept-lost -i torn -o out", 0, "dirty [0-9]*, lost [1-9][0-9]*$" },
		{ "check out", 0, "^0 faults; " },
	};
	u64 rng = test_seed("command line", 805);
	struct content *c = random_content(600, &rng);

	(void)state;
	write_here(c, path("here"), 2, &rng);
	make_device(path("zero"), 10);
	assert_ok(shell("head -c 40960 /dev/urandom > %s", path("noise")));
	write_xml(c, path("xml"));
	make_device(path("leak"), 600);	/* 0.9 leaks a block in format 1 */
	assert_ok(shell("cache_restore -i %s -o %s --metadata-version 1 >/dev/null",
			path("xml"), path("leak")));
	make_device(path("out"), 600);
	assert_ok(shell("cd %s && truncate -s 40960 small && ln -s here link && cp here bad && cp here torn",
			tmp));
	spoil(path("bad"), 0);
	spoil(path("torn"), first_leaf(path("torn")));
	run_all(runs, ARRAY_SIZE(runs));
	content_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(here_to_installed),
		cmocka_unit_test(installed_to_here),
		cmocka_unit_test(here_to_next_release),
		cmocka_unit_test(next_release_to_here),
		cmocka_unit_test(emptied),
		cmocka_unit_test(clearing_needs_check),
		cmocka_unit_test(same_verdict),
		cmocka_unit_test(as_lvm_calls_it),
		cmocka_unit_test(odd_policy_name),
		cmocka_unit_test(command_line),
	};

	if (!tmp_make("interchange"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, tmp_remove);
}
