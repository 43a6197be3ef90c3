// SPDX-License-Identifier: GPL-2.0-only
/* Writes the metadata fuzzer's corpus: seeds DIRECTORY. */

#include "image-disk.h"
#include "mutate.h"
#include "metadata/cache-metadata.h"
#include "tests/lib/rng.h"

struct recipe {
	const char *name;
	unsigned int format;
	u32 device_blocks, cache_blocks, step;	/* every @step-th is mapped */
	bool hints, discards, record, unclean, cut, needs_check;
	u32 table_slots;	/* 0: as many as the cache has blocks */
	u8 flags;
	u32 ops;
	const char *text;	/* the record's text */
};

static const struct recipe recipes[] = {
	{ "unformatted-1", .format = 1, .device_blocks = 64, .table_slots = 10, .ops = 60 },
	{ "unformatted-2", .format = 2, .device_blocks = 64, .table_slots = 700, .flags = IMAGE_FORMAT2, .ops = 60 },
	{ "tiny-1", 1, 64, 10, 1, .ops = 40 },
	{ "tiny-2", 2, 64, 10, 1, .ops = 40 },
	{ "hints-1", 1, 64, 600, 5, .hints = true, .ops = 60 },
	{ "hints-2", 2, 64, 600, 5, .hints = true, .ops = 60 },
	{ "all-1", 1, 200, 1500, 9, true, true, true, .ops = 80 },
	{ "all-2", 2, 200, 1500, 9, true, true, true, .ops = 80 },
	{ "unclean-1", 1, 100, 700, 7, true, true, .unclean = true, .ops = 20 },
	{ "unclean-2", 2, 100, 700, 7, true, true, .unclean = true, .ops = 20 },
	{ "cut-1", 1, 100, 1020, 11, .hints = true, .cut = true, .ops = 80 },
	{ "cut-2", 2, 100, 1020, 11, .hints = true, .cut = true, .ops = 80 },
	{ "needs-check", 2, 64, 100, 3, .needs_check = true, .ops = 5 },
	{ "grow", 2, 64, 509, 3, true, true, .table_slots = 1019, .ops = 30 },
	{ "shrink", 2, 64, 1019, 300, true, true, .table_slots = 509, .ops = 30 },
	{ "shrink-1", 1, 64, 1019, 300, true, true, .table_slots = 100, .ops = 30 },
	{ "full", 2, 24, 700, 2, true, .ops = 100 },
	{ "failing-write", 2, 100, 700, 7, .flags = IMAGE_FAILING_WRITE, .ops = 60 },
	{ "failing-read", 2, 100, 700, 7, true, .flags = IMAGE_FAILING_READ, .ops = 60 },
	{ "no-memory", 2, 100, 700, 7, true, .flags = IMAGE_NO_MEMORY, .ops = 60 },
	{ "early-writes", 2, 100, 700, 7, true, true, .flags = IMAGE_EARLY_WRITES, .ops = 80 },
	{ "wide", 2, 1000, 33000, 997, .hints = true, .discards = true, .ops = 20 },
	{ "deep", 1, 1200, 130000, 9973, .ops = 20 },
	{ "two-bitmaps", 2, 16400, 700, 11, .hints = true, .ops = 40 },
	{ "record-settings", 2, 64, 100, 9, .ops = 200, .text =
	  "mo writeonly\nmaprmb 7\nsecu 64\nse 0123456789abcdef\n" },
	{ "record-full", 1, 64, 100, 9, .ops = 200, .text =
	  "mith 4294967295\nprah 8192\nmaprmb 1000000\nmaprsh 100\nfaop 0\n"
	  "main 4294967295\ndihi 100\ndilo 100\ndili 99\nwrid 86400\n"
	  "rele 5\nwrle 5\nfuwrle 5\nsecu 1048576\nseag 0\nmo writearound\n"
	  "se fedcba98765\n" },
	{ "record-twice", 2, 64, 100, 9, .ops = 200, .text =
	  "se 1\nse 2\n\nsecu\nsecu \nfaop 0\nfaop 1\nse" },
	{ "record-packed", 2, 64, 100, 9, .ops = 200, .text =
	  "mo writearound\nse 0123456789abcdef\nseag 0\n"
	  "= mith1Z141Z3prah6BKmaprmbLFLSmaprsh2Sfaop0main1Z141Z3dihi2S"
	  "dilo2Sdili2RwridMO00rele5wrle5fuwrle5secuMH34\n" },
	{ "record-packed-twice", 2, 64, 100, 9, .ops = 200, .text =
	  "= secu1secu2faop!seag0\n= secu3mith1\n= faop0\nsecu 4\nfaop 1\n" },
	{ "record-void", 2, 64, 100, 9, .flags = IMAGE_VOID_RECORD, .ops = 200,
	  .text = "se 0123456789abcdef\n" },
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "seeds: %s\n", what);
	exit(1);
}

static u32 hint_of(void *ctx, u32 slot)
{
	(void)ctx;
	return slot < 600 ? slot % 64 : 0;	/* few hints keep the file small */
}

static bool discarded(void *ctx, u64 d)
{
	(void)ctx;
	return d % 5 == 0;
}

static void fill(const struct recipe *r, struct cmd *cmd, u64 *rng)
{
	static const u32 version[3] = { 2, 0, 0 };

	must(!cmd_resize(cmd, r->cache_blocks), "resize");
	for (u32 i = 0; i < r->cache_blocks; i += r->step)
		must(!cmd_insert(cmd, i, i * 2 + 1, rnd(rng) & 1 &&
				 (!r->table_slots || i < r->table_slots)),
		     "insert");
	must(!cmd_set_discard_geometry(cmd, 1024, r->discards ? 1000 : 0),
	     "discard geometry");
	if (r->discards)
		must(!cmd_write_discards(cmd, discarded, NULL), "discards");
	if (r->hints)
		must(!cmd_write_hints(cmd, "smq", version, hint_of, NULL),
		     "hints");
	if (r->record)
		must(!cmd_record_set(cmd, "mode writeonly\n", 15), "record");
	if (r->text)
		must(!cmd_record_set(cmd, r->text, strlen(r->text)), "text");
	must(!cmd_commit(cmd, !r->unclean), "commit");
	if (r->needs_check)
		must(!cmd_set_needs_check(cmd), "needs_check");
}

/* Begins another transaction, of whose blocks only some reach the disk. */
static void begin_another(const struct recipe *r, struct ramdev *rd,
			  struct cmd *cmd, u64 *rng)
{
	for (u32 i = 1; i < r->cache_blocks; i += 2 * r->step)
		must(!cmd_insert(cmd, i, 100000 + i, false), "insert");
	rd->fail_at = rd->ops + 6;
	cmd_commit(cmd, true);
	ramdev_crash_kept(rd, rnd(rng));
}

static void make(const struct recipe *r, struct image *im, u64 *rng)
{
	struct ramdev *rd = ramdev_new(r->device_blocks);
	struct cmd_geometry g = {
		.data_block_size = 128, .format = r->format, .may_format = true,
	};
	struct pd_device *dev;
	const char *why;
	struct cmd *cmd;

	if (r->cache_blocks) {
		dev = ramdev_open(rd, false);
		must(!cmd_open(dev, &g, &cmd, &why), "open");
		fill(r, cmd, rng);
		if (r->cut)
			begin_another(r, rd, cmd, rng);
		cmd_close(cmd);
		pd_device_close(dev);
	}
	image_from_disk(im, rd);
	ramdev_free(rd);
	im->nr_slots = r->table_slots ? r->table_slots : r->cache_blocks;
	im->flags = r->flags;
	im->origin_bits = 20;
	im->nr_ops = r->ops;
	for (u32 i = 0; i < r->ops; i++)
		im->ops[i] = rnd(rng) >> (i % 3 ? 0 : 60);
}

int main(int argc, char **argv)
{
	static u8 bytes[IMAGE_MAX_BYTES];
	struct image *im = image_new();
	u64 rng = 5;

	must(argc == 2, "usage: seeds DIRECTORY");
	for (u32 i = 0; i < ARRAY_SIZE(recipes); i++) {
		char path[4096];
		size_t n;
		FILE *f;

		make(recipes + i, im, &rng);
		n = image_write(im, bytes, sizeof(bytes));
		must(n, "an image does not fit");
		snprintf(path, sizeof(path), "%s/seed-%s", argv[1],
			 recipes[i].name);
		f = fopen(path, "wb");
		must(f && fwrite(bytes, n, 1, f) == 1 && !fclose(f),
		     "cannot write");
	}
	image_free(im);
	return 0;
}
