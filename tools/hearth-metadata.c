// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth-metadata: checks, shows and repairs a cache's metadata.
 *
 *	hearth-metadata check [-q] [--cache-device CACHE] DEVICE
 *	hearth-metadata dump [-o FILE] DEVICE
 *	hearth-metadata info DEVICE
 *	hearth-metadata repair [OPTION...] -i IN -o OUT
 *	hearth-metadata settle [-n] METADATA CACHE ORIGIN
 *
 * By the name of hearth-cache-repair it is "repair", because lvm2's configuration
 * takes the name of a program and no subcommand.
 *
 * Only repair and settle write; repair only to OUT.
 *
 * It must not read a block itself: the parts that it calls do.
 */

#include "log-volume.h"
#include "metadata-check.h"
#include "metadata-repair.h"

#include <getopt.h>
#include <unistd.h>

enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,	/* damage, or a device that cannot be read or written */
	STATUS_USAGE = 2,
	STATUS_LEAKS = 3,	/* check: space is lost, nothing is damaged */
	STATUS_LOST = 4,	/* repair: OUT is written, dirty blocks are lost */
};

struct options {
	const char *device;	/* the metadata */
	const char *cache;
	const char *origin;
	const char *output;
	bool quiet;
	bool dry_run;
	bool accept_lost;
	struct repair_options repair;
};

struct command {
	const char *name;
	const char *usage;
	const char *what;
	const char *options;
	int (*run)(const struct options *o);
	const char *details;
};

static void __printf(2, 3) complain(const struct options *o, const char *fmt,
				    ...)
{
	va_list ap;

	if (o->quiet)
		return;
	va_start(ap, fmt);
	fputs("hearth-metadata: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* ---- Commands that read a device ---- */

static int with_device(const struct options *o,
		       int (*fn)(struct cmd *cmd, const struct options *o))
{
	const struct cmd_geometry any = { 0 };
	struct pd_device *dev;
	const char *why = "";
	struct cmd *cmd;
	int r;

	r = pd_device_open_file(o->device, true, &dev);
	if (r) {
		complain(o, "%s: %s", o->device, metadata_error(r));
		return STATUS_FAILED;
	}
	r = cmd_open(dev, &any, &cmd, &why);
	if (r) {
		if (r == -EIO || r == -ENOMEM)
			complain(o, "%s: %s: %s", o->device, why,
				 metadata_error(r));
		else
			complain(o, "%s: %s", o->device, why);
		pd_device_close(dev);
		return STATUS_FAILED;
	}
	r = fn(cmd, o);
	cmd_close(cmd);
	pd_device_close(dev);
	return r;
}

static void print_fault(void *ctx, const char *msg)
{
	(void)ctx;
	fprintf(stderr, "%s\n", msg);
}

static const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

static void print_found(struct cmd *cmd, const struct metadata_faults *f)
{
	u64 used, total;

	cmd_usage(cmd, &used, &total);
	printf("%u fault%s", f->damage, plural(f->damage));
	if (f->leaks)
		printf(", %u leak%s%s", f->leaks, plural(f->leaks),
		       f->damage ? "" : ": space is lost, nothing is damaged");
	printf("; %llu of %llu blocks in use\n", used, total);
	if (cmd_needs_check(cmd) && cmd_log_flag(cmd))
		puts("the needs_check flag is set beside the write log's: cache_check 0.9 clears both, so repair the metadata first");
	else if (cmd_needs_check(cmd))
		puts("the needs_check flag is set");
}

/* The origin's sectors, U64_MAX if the superblock does not tell. */
static u64 origin_sectors(struct cmd *cmd)
{
	u64 block, nr, sectors;

	cmd_discard_geometry(cmd, &block, &nr);
	if (!cmd_opened_clean(cmd) || !block || !nr ||
	    __builtin_mul_overflow(block, nr, &sectors))
		return U64_MAX;
	return sectors;
}

static void print_log(struct cmd *cmd, const struct volume_log *l)
{
	if (cmd_log_flag(cmd))
		printf("write log: %u fault%s; %llu extent%s of %llu block%s, %llu bytes\n",
		       l->damage, plural(l->damage), l->nr_runs,
		       plural(l->nr_runs), l->nr_blocks, plural(l->nr_blocks),
		       l->nr_sectors * 512);
	else if (!l->damage && l->nr_runs)
		printf("no write log is in use, but the cache device has one with %llu extent%s: cache_repair and cache_check 0.9 clear the flag\n",
		       l->nr_runs, plural(l->nr_runs));
	else
		puts("no write log is in use");
}

/* Without the flag a log may be any old one, and what is wrong with it no fault. */
static int check_log(struct cmd *cmd, const struct options *o)
{
	bool in_use = cmd_log_flag(cmd);
	struct volume_log l;
	struct log_dev dev;
	char why[256];
	u64 sectors;
	int fd, r;

	r = log_open_cache(o->cache, &fd, &dev, &sectors, why, sizeof(why));
	if (r) {
		complain(o, "%s", why);
		return STATUS_FAILED;
	}
	r = volume_log_load(&l, cmd, &dev, sectors, origin_sectors(cmd),
			    in_use && !o->quiet ? print_fault : NULL, NULL);
	if (r)
		complain(o, "%s: %s", o->cache, metadata_error(r));
	else if (!o->quiet)
		print_log(cmd, &l);
	if (in_use && l.damage)
		r = -EILSEQ;
	volume_log_free(&l);
	close(fd);
	return r ? STATUS_FAILED : STATUS_OK;
}

static int check_metadata(struct cmd *cmd, const struct options *o)
{
	struct metadata_faults f;
	int r = metadata_find_faults(cmd, o->quiet ? NULL : print_fault, NULL,
				     &f);

	if (r) {
		complain(o, "%s: %s", o->device, metadata_error(r));
		return STATUS_FAILED;
	}
	if (!o->quiet)
		print_found(cmd, &f);
	if (o->cache)
		r = check_log(cmd, o);
	else if (cmd_log_flag(cmd) && !o->quiet)
		puts("a write log is in use; with --cache-device it is checked, too");
	if (f.damage || r)
		return STATUS_FAILED;
	return f.leaks ? STATUS_LEAKS : STATUS_OK;
}

static int check(const struct options *o)
{
	return with_device(o, check_metadata);
}

static int dump_metadata(struct cmd *cmd, const struct options *o)
{
	FILE *out = o->output ? fopen(o->output, "w") : stdout;
	int r;

	if (!out) {
		complain(o, "%s: %s", o->output, strerror(errno));
		return STATUS_FAILED;
	}
	if (cmd_log_flag(cmd))
		complain(o, "a write log is in use, so cache_restore refuses this: settle first");
	r = metadata_dump(cmd, out);
	if (out != stdout && fclose(out) && !r)
		r = -errno;
	if (r)
		complain(o, "%s: not all of it could be dumped: %s", o->device,
			 metadata_error(r));
	return r ? STATUS_FAILED : STATUS_OK;
}

static int dump(const struct options *o)
{
	return with_device(o, dump_metadata);
}

static int info_metadata(struct cmd *cmd, const struct options *o)
{
	u64 used, total, dsize, dnr;
	struct cmd_stats s;
	u32 v[3];

	(void)o;
	cmd_usage(cmd, &used, &total);
	cmd_discard_geometry(cmd, &dsize, &dnr);
	cmd_policy_version(cmd, v);
	cmd_get_stats(cmd, &s);
	printf("format %u\n", cmd_format(cmd));
	printf("clean_shutdown %d\n", cmd_opened_clean(cmd));
	printf("needs_check %d\n", cmd_needs_check(cmd));
	printf("write_log %d\n", cmd_log_flag(cmd));
	printf("block_size %u sectors\n", cmd_data_block_size(cmd));
	printf("cache_blocks %u\n", cmd_cache_blocks(cmd));
	printf("policy \"%s\" %u.%u.%u\n", cmd_policy_name(cmd), v[0], v[1],
	       v[2]);
	printf("discard_blocks %llu of %llu sectors\n", dnr, dsize);
	printf("metadata_blocks %llu of %llu\n", used, total);
	printf("reads %u hits %u misses\n", s.read_hits, s.read_misses);
	printf("writes %u hits %u misses\n", s.write_hits, s.write_misses);
	return STATUS_OK;
}

static int info(const struct options *o)
{
	return with_device(o, info_metadata);
}

/* ---- Repair and settle ---- */

static void print_report(void *ctx, const char *msg)
{
	const struct options *o = ctx;

	if (!o->quiet)
		printf("%s\n", msg);
}

static void print_progress(void *ctx, const char *what, unsigned int percent)
{
	const struct options *o = ctx;

	if (o->quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, percent < 100 ? "\r%s: %u%%" : "\r%s: %u%%\n", what,
		percent);
}

static int repair(const struct options *given)
{
	struct options o = *given;
	struct repair_result result;
	int r;

	o.repair.say = print_report;
	o.repair.progress = print_progress;
	o.repair.ctx = &o;
	r = metadata_repair_files(o.device, o.output, &o.repair, &result);
	if (r) {
		complain(&o, "%s", result.why);
		return STATUS_FAILED;
	}
	if (!result.lost_dirty)
		return STATUS_OK;
	if (o.accept_lost)
		return STATUS_OK;
	complain(&o, "%s is whole, but without %u cache block%s that had or may have had dirty data; --accept-lost makes this a success",
		 o.output, result.lost_dirty, plural(result.lost_dirty));
	return STATUS_LOST;
}

static int settle(const struct options *given)
{
	struct options o = *given;
	struct settle_options so = {
		.dry_run = o.dry_run,
		.say = print_report,
		.progress = print_progress,
		.ctx = &o,
	};
	char why[512];

	if (!log_settle_files(o.device, o.cache, o.origin, &so, why,
			      sizeof(why)))
		return STATUS_OK;
	complain(&o, "%s", why);
	return STATUS_FAILED;
}

/* ---- The command line ---- */

static const struct command commands[] = {
	{ "check", "check [OPTION...] DEVICE", "verify all metadata", "qC",
	  check,
	  "  -q, --quiet           print nothing; only the exit status tells\n"
	  "  --cache-device CACHE  verify the write log on the cache device, too\n"
	  "Exit status: 0 no fault, 1 damage, 3 leaks only: space is lost, data are whole.\n" },
	{ "dump", "dump [-o FILE] DEVICE",
	  "write the XML that cache_restore reads", "o:", dump,
	  "  -o, --output FILE  write to FILE\n" },
	{ "info", "info DEVICE", "show the superblock", "", info, "" },
	{ "repair", "repair [OPTION...] -i IN -o OUT",
	  "write everything that is certain of IN to OUT", "i:o:qABNW",
	  repair,
	  "  -i, --input IN        the damaged metadata, a device or a file; only read\n"
	  "  -o, --output OUT      another device or file, which is overwritten\n"
	  "  -q, --quiet           print nothing\n"
	  "  --accept-lost         exit status 0 even if dirty blocks are lost\n"
	  "  --block-size SECTORS  size of a cache block, if the superblock is lost\n"
	  "  --cache-blocks N      number of cache blocks, if the superblock is lost\n"
	  "  --write-log           a write log was in use, if the superblock is lost\n"
	  "Exit status: 0 no dirty block is lost, 1 OUT holds no metadata, 4 dirty\n"
	  "blocks are lost; those are listed.\n" },
	{ "settle", "settle [-n] METADATA CACHE ORIGIN",
	  "copy a write log to the origin", "n", settle,
	  "  -n, --dry-run  only say what would be copied\n"
	  "The volume must be inactive. This may be interrupted, and run again.\n"
	  "Exit status: 0 no write log is in use any more, 1 it is as it was.\n" },
};

/* Options without a short form; a command lists them by these letters. */
enum {
	OPT_ACCEPT_LOST = 'A',
	OPT_BLOCK_SIZE = 'B',
	OPT_CACHE_DEVICE = 'C',
	OPT_CACHE_BLOCKS = 'N',
	OPT_WRITE_LOG = 'W',
};

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "input", required_argument, NULL, 'i' },
	{ "output", required_argument, NULL, 'o' },
	{ "accept-lost", no_argument, NULL, OPT_ACCEPT_LOST },
	{ "block-size", required_argument, NULL, OPT_BLOCK_SIZE },
	{ "cache-blocks", required_argument, NULL, OPT_CACHE_BLOCKS },
	{ "cache-device", required_argument, NULL, OPT_CACHE_DEVICE },
	{ "write-log", no_argument, NULL, OPT_WRITE_LOG },
	{ "dry-run", no_argument, NULL, 'n' },
	{ NULL, 0, NULL, 0 }
};

static int usage(FILE *out)
{
	fputs("Usage: hearth-metadata SUBCOMMAND ...\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-33s %s\n", commands[i].usage,
			commands[i].what);
	fputs("  help [SUBCOMMAND], --help, --version\n", out);
	return out == stdout ? STATUS_OK : STATUS_USAGE;
}

static int command_usage(const struct command *c, FILE *out)
{
	fprintf(out, "Usage: hearth-metadata %s\n", c->usage);
	if (out == stderr)
		return STATUS_USAGE;
	fprintf(out, "%s.\n%s", c->what, c->details);
	return STATUS_OK;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return commands + i;
	return NULL;
}

static int version(void)
{
	puts("hearth-metadata " HEARTH_VERSION);
	return STATUS_OK;
}

static bool number(const char *text, u32 *value)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	*value = v;
	return *text >= '0' && *text <= '9' && !*end && !errno && v &&
	       v <= U32_MAX;
}

/* True if @c takes the option @opt. */
static bool belongs(const struct command *c, int opt)
{
	if (opt == 'h' || opt == 'V')
		return true;
	return opt != ':' && strchr(c->options, opt);
}

static bool take_option(struct options *o, int opt)
{
	switch (opt) {
	case 'q':
		o->quiet = true;
		return true;
	case 'i':
		o->device = optarg;
		return true;
	case 'o':
		o->output = optarg;
		return true;
	case OPT_ACCEPT_LOST:
		o->accept_lost = true;
		return true;
	case OPT_BLOCK_SIZE:
		return number(optarg, &o->repair.block_size);
	case OPT_CACHE_BLOCKS:
		return number(optarg, &o->repair.cache_blocks);
	case OPT_CACHE_DEVICE:
		o->cache = optarg;
		return true;
	case OPT_WRITE_LOG:
		o->repair.write_log = true;
		return true;
	case 'n':
		o->dry_run = true;
		return true;
	}
	return false;
}

/* Takes the words that are no options.  lvm2 may pass repair an empty one. */
static bool take_words(const struct command *c, struct options *o, char **word)
{
	const char **places[] = { &o->device, &o->cache, &o->origin };
	unsigned int want = c->run == settle ? 3 : c->run == repair ? 0 : 1;
	unsigned int nr = 0;

	for (; *word; word++) {
		if (c->run == repair && !**word)
			continue;
		if (nr == want)
			return false;
		*places[nr++] = *word;
	}
	if (c->run == repair)
		return o->device && o->output;
	return nr == want;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options o = { 0 };
	int opt;

	while ((opt = getopt_long(argc, argv, "hVqni:o:", long_options,
				  NULL)) != -1) {
		if (opt == '?' || !belongs(c, opt))
			return command_usage(c, stderr);
		if (opt == 'h')
			return command_usage(c, stdout);
		if (opt == 'V')
			return version();
		if (!take_option(&o, opt))
			return command_usage(c, stderr);
	}
	if (!take_words(c, &o, argv + optind))
		return command_usage(c, stderr);
	os_quiet = o.quiet;
	return c->run(&o);
}

static int help(const char *name)
{
	const struct command *c = name ? find_command(name) : NULL;

	if (c)
		return command_usage(c, stdout);
	return usage(name ? stderr : stdout);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int run_what_is_asked(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	const struct command *c;

	if (argc && !strcmp(base_name(argv[0]), "hearth-cache-repair"))
		return run(find_command("repair"), argc, argv);
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return usage(stdout);
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		return version();
	if (!strcmp(word, "help"))
		return help(argv[2]);
	c = find_command(word);
	if (!c)
		return usage(stderr);
	optind = 2;
	return run(c, argc, argv);
}

int main(int argc, char **argv)
{
	int status = run_what_is_asked(argc, argv);

	/* A full disk is not a success. */
	if ((fflush(stdout) || ferror(stdout)) && status == STATUS_OK) {
		perror("hearth-metadata: standard output");
		return STATUS_FAILED;
	}
	return status;
}
