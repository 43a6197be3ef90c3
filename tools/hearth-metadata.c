// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth-metadata: reads a cache's metadata.  Never writes.
 *
 *	hearth-metadata check [-q] DEVICE
 *	hearth-metadata dump [-o FILE] DEVICE
 *	hearth-metadata info DEVICE
 *
 * Exit status: 0 all is well, 1 faults were found or the metadata cannot be
 * read, 2 the command line is wrong.
 */

#include "metadata-check.h"

#include <unistd.h>

struct options {
	const char *device;
	const char *output;
	bool quiet;
};

static void usage(FILE *out)
{
	fputs("Usage: hearth-metadata check [-q] DEVICE\n"
	      "       hearth-metadata dump [-o FILE] DEVICE\n"
	      "       hearth-metadata info DEVICE\n", out);
}

static void print_fault(void *ctx, const char *msg)
{
	(void)ctx;
	fprintf(stderr, "%s\n", msg);
}

static int check(struct cmd *cmd, const struct options *o)
{
	u64 used, total;
	int n = metadata_check(cmd, o->quiet ? NULL : print_fault, NULL);

	if (n < 0) {
		fprintf(stderr, "check: %s\n", strerror(-n));
		return 1;
	}
	if (o->quiet)
		return !!n;
	cmd_usage(cmd, &used, &total);
	printf("%d faults; %llu of %llu blocks in use\n", n, used, total);
	if (cmd_needs_check(cmd))
		puts("the needs_check flag is set");
	return !!n;
}

static int dump(struct cmd *cmd, const struct options *o)
{
	FILE *out = o->output ? fopen(o->output, "w") : stdout;
	int r;

	if (!out) {
		perror(o->output);
		return 1;
	}
	r = metadata_dump(cmd, out);
	if (out != stdout && fclose(out) && !r)
		r = -errno;
	if (r)
		fprintf(stderr, "dump: %s\n", strerror(-r));
	return !!r;
}

static int info(struct cmd *cmd, const struct options *o)
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
	printf("block_size %u sectors\n", cmd_data_block_size(cmd));
	printf("cache_blocks %u\n", cmd_cache_blocks(cmd));
	printf("policy \"%s\" %u.%u.%u\n", cmd_policy_name(cmd), v[0], v[1],
	       v[2]);
	printf("discard_blocks %llu of %llu sectors\n", dnr, dsize);
	printf("metadata_blocks %llu of %llu\n", used, total);
	printf("reads %u hits %u misses\n", s.read_hits, s.read_misses);
	printf("writes %u hits %u misses\n", s.write_hits, s.write_misses);
	return 0;
}

static const struct command {
	const char *name;
	const char *options;
	int (*run)(struct cmd *cmd, const struct options *o);
} commands[] = {
	{ "check", "q", check },
	{ "dump", "o:", dump },
	{ "info", "", info },
};

static int run(const struct command *c, const struct options *o)
{
	const struct cmd_geometry any = { 0 };
	struct pd_device *dev;
	const char *why = "";
	struct cmd *cmd;
	int r;

	r = pd_device_open_file(o->device, true, &dev);
	if (r) {
		fprintf(stderr, "%s: %s\n", o->device, strerror(-r));
		return 1;
	}
	r = cmd_open(dev, &any, &cmd, &why);
	if (r) {
		fprintf(stderr, "%s: %s (%s)\n", o->device, why, strerror(-r));
		pd_device_close(dev);
		return 1;
	}
	r = c->run(cmd, o);
	cmd_close(cmd);
	pd_device_close(dev);
	return r;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return commands + i;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find_command(argv[1]) : NULL;
	struct options o = { 0 };
	int opt;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (!c) {
		usage(stderr);
		return 2;
	}
	optind = 2;
	while ((opt = getopt(argc, argv, c->options)) != -1) {
		if (opt == 'q')
			o.quiet = true;
		else if (opt == 'o')
			o.output = optarg;
		else
			return usage(stderr), 2;
	}
	if (optind + 1 != argc) {
		usage(stderr);
		return 2;
	}
	o.device = argv[optind];
	return run(c, &o);
}
