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

#include <argp.h>
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
	const char *words;	/* the arguments, as --help has them */
	unsigned int nr_words;
	const char *what;
	int (*run)(const struct options *o);
	const struct argp_option *options;
	const char *details;	/* printed after the options */
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

/*
 * Without the flag no log is in use. One that is there is an old one, and nothing
 * in it is a fault.
 */
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

/* Options without a short form, and those that all commands have. */
enum {
	OPT_ACCEPT_LOST = 256,
	OPT_BLOCK_SIZE,
	OPT_CACHE_DEVICE,
	OPT_CACHE_BLOCKS,
	OPT_WRITE_LOG,
	OPT_USAGE,
	OPT_HELP = 'h',
	OPT_VERSION = 'V',
};

static const struct argp_option common_options[] = {
	{ .name = "help", .key = OPT_HELP, .doc = "print this text", .group = -1 },
	{ .name = "usage", .key = OPT_USAGE, .doc = "print the options alone", .group = -1 },
	{ .name = "version", .key = OPT_VERSION, .doc = "print the version", .group = -1 },
	{ 0 }
};

static const struct argp_option check_options[] = {
	{ .name = "quiet", .key = 'q', .doc = "print nothing; only the exit status tells" },
	{ .name = "cache-device", .key = OPT_CACHE_DEVICE, .arg = "CACHE",
	  .doc = "verify the write log on the cache device, too" },
	{ 0 }
};

static const struct argp_option dump_options[] = {
	{ .name = "output", .key = 'o', .arg = "FILE", .doc = "write to FILE" },
	{ 0 }
};

static const struct argp_option info_options[] = { { 0 } };

static const struct argp_option repair_options[] = {
	{ .name = "input", .key = 'i', .arg = "IN",
	  .doc = "the damaged metadata, a device or a file; only read" },
	{ .name = "output", .key = 'o', .arg = "OUT",
	  .doc = "another device or file, which is overwritten" },
	{ .name = "quiet", .key = 'q', .doc = "print nothing" },
	{ .name = "accept-lost", .key = OPT_ACCEPT_LOST,
	  .doc = "exit status 0 even if dirty blocks are lost" },
	{ .name = "block-size", .key = OPT_BLOCK_SIZE, .arg = "SECTORS",
	  .doc = "size of a cache block, if the superblock is lost" },
	{ .name = "cache-blocks", .key = OPT_CACHE_BLOCKS, .arg = "N",
	  .doc = "number of cache blocks, if the superblock is lost" },
	{ .name = "write-log", .key = OPT_WRITE_LOG,
	  .doc = "a write log was in use, if the superblock is lost" },
	{ 0 }
};

static const struct argp_option settle_options[] = {
	{ .name = "dry-run", .key = 'n', .doc = "only say what would be copied" },
	{ 0 }
};

#define MAX_OPTIONS	(ARRAY_SIZE(repair_options) + ARRAY_SIZE(common_options))

static const struct command commands[] = {
	{ "check", "DEVICE", 1, "verify all metadata", check, check_options,
	  "Exit status: 0 no fault, 1 damage, 3 leaks only: space is lost, data are whole." },
	{ "dump", "DEVICE", 1, "write the XML that cache_restore reads", dump,
	  dump_options, "" },
	{ "info", "DEVICE", 1, "show the superblock", info, info_options, "" },
	{ "repair", "-i IN -o OUT", 0,
	  "write everything that is certain of IN to OUT", repair, repair_options,
	  "Exit status: 0 no dirty block is lost, 1 OUT holds no metadata, 4 dirty blocks are lost; those are listed." },
	{ "settle", "METADATA CACHE ORIGIN", 3, "copy a write log to the origin",
	  settle, settle_options,
	  "The volume must be inactive. This may be interrupted, and run again.\n"
	  "Exit status: 0 no write log is in use any more, 1 it is as it was." },
};

static int usage(FILE *out)
{
	fputs("Usage: hearth-metadata SUBCOMMAND [OPTION...] ...\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-6s %-22s %s\n", commands[i].name,
			commands[i].words, commands[i].what);
	fputs("  help [SUBCOMMAND], --help, --version\n", out);
	return out == stdout ? STATUS_OK : STATUS_USAGE;
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

/* ---- One command's options ---- */

struct parsing {
	const struct command *c;
	struct options *o;
	unsigned int nr_words;
	int status;		/* if the parsing ends with ECANCELED */
};

static error_t number(struct argp_state *state, const char *text, u32 *value)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	*value = v;
	if (*text >= '0' && *text <= '9' && !*end && !errno && v && v <= U32_MAX)
		return 0;
	argp_error(state, "%s: must be a whole number above 0", text);
	return EINVAL;
}

static error_t take_option(struct options *o, int key, char *text,
			   struct argp_state *state)
{
	switch (key) {
	case 'q':
		o->quiet = true;
		return 0;
	case 'i':
		o->device = text;
		return 0;
	case 'o':
		o->output = text;
		return 0;
	case OPT_ACCEPT_LOST:
		o->accept_lost = true;
		return 0;
	case OPT_BLOCK_SIZE:
		return number(state, text, &o->repair.block_size);
	case OPT_CACHE_BLOCKS:
		return number(state, text, &o->repair.cache_blocks);
	case OPT_CACHE_DEVICE:
		o->cache = text;
		return 0;
	case OPT_WRITE_LOG:
		o->repair.write_log = true;
		return 0;
	case 'n':
		o->dry_run = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* lvm2 may pass repair an empty word. */
static error_t take_word(struct parsing *p, char *word, struct argp_state *state)
{
	const char **places[] = { &p->o->device, &p->o->cache, &p->o->origin };

	if (!*word && !p->c->nr_words)
		return 0;
	if (p->nr_words == p->c->nr_words)
		argp_usage(state);
	*places[p->nr_words++] = word;
	return 0;
}

/* Ends the parsing with this status. */
static error_t done(struct parsing *p, int status)
{
	p->status = status;
	return ECANCELED;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct parsing *p = state->input;

	switch (key) {
	case OPT_HELP:
		argp_state_help(state, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG |
				ARGP_HELP_DOC);
		return done(p, STATUS_OK);
	case OPT_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE);
		return done(p, STATUS_OK);
	case OPT_VERSION:
		return done(p, version());
	case ARGP_KEY_ARG:
		return take_word(p, text, state);
	case ARGP_KEY_SUCCESS:
		if (p->nr_words < p->c->nr_words || !p->o->device ||
		    (p->c->run == repair && !p->o->output))
			argp_usage(state);
		return 0;
	}
	return take_option(p->o, key, text, state);
}

/* The command's own options, then those that all have. */
static void all_options(const struct command *c, struct argp_option *to)
{
	const struct argp_option *from;

	for (from = c->options; from->name; from++)
		*to++ = *from;
	memcpy(to, common_options, sizeof(common_options));
}

static int run(const struct command *c, const char *name, int argc, char **argv)
{
	struct options o = { 0 };
	struct parsing p = { .c = c, .o = &o };
	struct argp_option options[MAX_OPTIONS];
	char doc[256];
	struct argp argp = { .options = options, .parser = parse,
			     .args_doc = c->words, .doc = doc };

	all_options(c, options);
	snprintf(doc, sizeof(doc), "%c%s.\v%s", c->what[0] - 'a' + 'A', c->what + 1,
		 c->details);
	argv[0] = (char *)name;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p))
		return p.status;
	os_quiet = o.quiet;
	return c->run(&o);
}

static int run_named(const struct command *c, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof(name), "hearth-metadata %s", c->name);
	return run(c, name, argc, argv);
}

static int help(const char *name)
{
	const struct command *c = name ? find_command(name) : NULL;
	char *argv[] = { NULL, (char *)"--help", NULL };

	if (c)
		return run_named(c, 2, argv);
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
		return run(find_command("repair"), "hearth-cache-repair", argc, argv);
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return usage(stdout);
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		return version();
	if (!strcmp(word, "help"))
		return help(argv[2]);
	c = find_command(word);
	if (!c)
		return usage(stderr);
	return run_named(c, argc - 1, argv + 1);
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
