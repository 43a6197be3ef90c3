// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator's command: runs policies at cache sizes over traces, and prints
 * a table of figures or plots curves. It owns the options and the output, and
 * must not know how a model works.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "registry.h"
#include "run.h"
#include "svg.h"

/* More than the tables of docs/policies.md need. */
#define MAX_TRACES	16
#define MAX_POLICIES	32
#define MAX_SIZES	64

struct size {
	double n;
	bool percent;		/* of the footprint; else blocks */
};

static struct options {
	const char *policies[MAX_POLICIES];
	unsigned int nr_policies;
	struct size sizes[MAX_SIZES];
	unsigned int nr_sizes;
	u32 block_kib, ahead_kib, absorb;
	const char *format;
	const char *svg;
	bool mix, solid, mean, sources, tsv;
} opts = { .block_kib = 64 };

static const char usage[] =
"Usage: sim [OPTION]... TRACE...\n"
"Run cache policies over block traces.\n"
"\n"
"  -p, --policy=NAME[:KEY=VALUE,...]  a policy; may be repeated (default heat)\n"
"  -c, --cache=SIZE,...   in blocks, or % of the blocks touched (default 10%)\n"
"  -b, --block=KIB        block size (default 64)\n"
"  -a, --ahead=KIB        promoted behind a block where the policy welcomes it\n"
"                         (promote_ahead; default 0)\n"
"      --absorb=PERCENT   of the cache that the write log may have (default 0: no\n"
"                         log). It takes small writes that miss; only hearth's\n"
"                         own policies have one\n"
"  -f, --format=FORMAT    bin, msr, spc, blkparse, bpftrace, fio (an iolog) or\n"
"                         fiolog (of each request, with log_offset=1); default:\n"
"                         told from the file. NAME.zst is uncompressed\n"
"  -x, --mix              interleave the traces to one\n"
"  -s, --sources          figures of each trace of a mix\n"
"  -m, --mean             means over the traces only\n"
"      --solid            the origin has no seeks: what policies default to\n"
"      --svg=FILE         plot origin time saved and misses over cache size\n"
"      --tsv              tabs, all digits\n"
"  -l, --list             name the policies\n";

static void progress(double done)
{
	if (isatty(2))
		fprintf(stderr, done < 1 ? "\r%3.0f %%" : "\r     \r",
			100 * done);
}

static struct model *make(const struct accesses *as, const char *policy,
			  const struct size *size)
{
	char name[256];
	char *settings;
	struct model_params params = {
		.accesses = as,
		.rotational = !opts.solid,
		.ahead = opts.ahead_kib / opts.block_kib,
		.absorb = opts.absorb,
	};
	struct model *m;

	snprintf(name, sizeof(name), "%s", policy);
	settings = strchr(name, ':');
	if (settings)
		*settings++ = 0;
	params.settings = settings;
	params.nr_slots = size->percent ?
		max(1., size->n / 100 * as->nr_blocks) : size->n;
	m = model_create(name, &params);
	if (m) {
		m->accesses = as;
		m->nr_slots = params.nr_slots;
	}
	return m;
}

static void print_head(void)
{
	printf(opts.tsv ? "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n" :
	       "%-14s %-24s %6s %6s %6s %6s %6s %6s %6s\n", "trace", "policy",
	       "cache", "HR", "nsHR", "fills", "OTf", "OTp", "SSD/u");
}

static void print_row(const char *trace, const char *policy,
		      const struct size *size, const struct figures *f)
{
	char cache[32];

	snprintf(cache, sizeof(cache), "%g%s", size->n,
		 size->percent ? "%" : "");
	printf(opts.tsv ? "%s\t%s\t%s\t%.6f\t%.6f\t%.3f\t%.6f\t%.6f\t%.4f\n" :
	       "%-14s %-24s %6s %6.3f %6.3f %6.1f %6.3f %6.3f %6.3f\n",
	       trace, policy, cache, f->hit_ratio, f->ns_hit_ratio, f->fills,
	       f->fetch_saved, f->partial_saved, f->ssd_per_user);
	fflush(stdout);
}

static void figures_add(struct figures *to, const struct figures *f, double w)
{
	to->hit_ratio += w * f->hit_ratio;
	to->ns_hit_ratio += w * f->ns_hit_ratio;
	to->fills += w * f->fills;
	to->fetch_saved += w * f->fetch_saved;
	to->partial_saved += w * f->partial_saved;
	to->ssd_per_user += w * f->ssd_per_user;
}

static int one(const struct trace *t, const struct accesses *as,
	       const char *policy, const struct size *size, struct figures *f)
{
	struct account acc[MAX_TRACES] = { 0 }, total = { 0 };
	struct model *m = make(as, policy, size);
	struct figures part;
	unsigned int i;

	if (!m)
		return -1;
	run(m, acc, progress);
	m->destroy(m);
	for (i = 0; i < t->nr_sources; i++) {
		account_add(&total, &acc[i]);
		if (!opts.sources)
			continue;
		part = account_figures(&acc[i]);
		print_row(t->sources[i], policy, size, &part);
	}
	*f = account_figures(&total);
	return 0;
}

static int run_all(const struct trace *traces, unsigned int nr)
{
	struct figures means[MAX_POLICIES][MAX_SIZES] = { 0 };
	struct accesses as;
	struct figures f;
	unsigned int t, p, s;

	print_head();
	for (t = 0; t < nr; t++) {
		accesses_cut(&as, &traces[t], opts.block_kib * 1024);
		for (p = 0; p < opts.nr_policies; p++) {
			for (s = 0; s < opts.nr_sizes; s++) {
				if (one(&traces[t], &as, opts.policies[p],
					&opts.sizes[s], &f))
					return -1;
				figures_add(&means[p][s], &f, 1. / nr);
				if (!opts.mean)
					print_row(traces[t].name,
						  opts.policies[p],
						  &opts.sizes[s], &f);
			}
		}
		accesses_free(&as);
	}
	for (p = 0; p < opts.nr_policies; p++)
		for (s = 0; s < opts.nr_sizes; s++)
			if (nr > 1)
				print_row("mean", opts.policies[p],
					  &opts.sizes[s], &means[p][s]);
	if (opts.svg) {
		struct curve curves[MAX_POLICIES] = { 0 };
		struct svg_look look = { 0 };
		const char *failed;

		for (p = 0; p < opts.nr_policies; p++) {
			curves[p].name = opts.policies[p];
			for (s = 0; s < opts.nr_sizes; s++)
				curve_add(&curves[p], opts.sizes[s].n,
					  1 - means[p][s].hit_ratio,
					  1 - means[p][s].fetch_saved);
		}
		look.sizes = opts.sizes[0].percent ? SVG_PERCENT : SVG_NUMBERS;
		failed = svg_write(opts.svg, curves, opts.nr_policies, &look);
		if (failed) {
			perror(failed);
			return -1;
		}
	}
	return 0;
}

static int parse_sizes(char *arg)
{
	char *word, *end;

	opts.nr_sizes = 0;
	for (word = strtok(arg, ","); word; word = strtok(NULL, ",")) {
		struct size *s = &opts.sizes[opts.nr_sizes++];

		s->n = strtod(word, &end);
		s->percent = *end == '%';
		end += s->percent;
		if (*end || !(s->n > 0) || s->n > (s->percent ? 1e6 : 4e9) ||
		    opts.nr_sizes == MAX_SIZES) {
			fprintf(stderr, "%s: not a cache size\n", word);
			return -1;
		}
	}
	return opts.nr_sizes ? 0 : -1;
}

static int parse_absorb(const char *arg)
{
	char *end;
	long percent = strtol(arg, &end, 10);

	if (*end || end == arg || percent < 0 || percent > 100) {
		fprintf(stderr, "%s: not a percentage\n", arg);
		return -1;
	}
	opts.absorb = percent;
	return 0;
}

static void list_policies(void)
{
	const char * const *name;
	unsigned int i;

	for (i = 0; policy_nth(i); i++)
		printf("%s\n", policy_nth(i)->name);
	for (name = classic_names; *name; name++)
		printf("%s\n", *name);
	printf("MIN\nMIN-bypass\nsmq-like\n");
}

enum { OPT_ABSORB = 256, OPT_SOLID, OPT_SVG, OPT_TSV };

static const struct option long_options[] = {
	{ "policy", required_argument, NULL, 'p' },
	{ "cache", required_argument, NULL, 'c' },
	{ "block", required_argument, NULL, 'b' },
	{ "ahead", required_argument, NULL, 'a' },
	{ "absorb", required_argument, NULL, OPT_ABSORB },
	{ "format", required_argument, NULL, 'f' },
	{ "mix", no_argument, NULL, 'x' },
	{ "sources", no_argument, NULL, 's' },
	{ "mean", no_argument, NULL, 'm' },
	{ "solid", no_argument, NULL, OPT_SOLID },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "tsv", no_argument, NULL, OPT_TSV },
	{ "list", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL }
};

static int parse_option(int o)
{
	switch (o) {
	case 'p':
		if (opts.nr_policies == MAX_POLICIES)
			return -1;
		opts.policies[opts.nr_policies++] = optarg;
		return 0;
	case 'c':
		return parse_sizes(optarg);
	case 'b':
		opts.block_kib = atoi(optarg);
		return opts.block_kib >= 4 && opts.block_kib <= 1 << 20 ? 0 : -1;
	case 'a':
		opts.ahead_kib = atoi(optarg);
		return opts.ahead_kib <= 1 << 20 ? 0 : -1;
	case OPT_ABSORB:
		return parse_absorb(optarg);
	case 'f':
		opts.format = optarg;
		return 0;
	case 'x':
		opts.mix = true;
		return 0;
	case 's':
		opts.sources = true;
		return 0;
	case 'm':
		opts.mean = true;
		return 0;
	case OPT_SOLID:
		opts.solid = true;
		return 0;
	case OPT_SVG:
		opts.svg = optarg;
		return 0;
	case OPT_TSV:
		opts.tsv = true;
		return 0;
	case 'l':
		list_policies();
		exit(0);
	case 'h':
		fputs(usage, stdout);
		exit(0);
	}
	return -1;
}

int main(int argc, char **argv)
{
	static struct trace traces[MAX_TRACES], mixed;
	char default_size[] = "10%";
	unsigned int nr = 0, i;
	int o, r;

	parse_sizes(default_size);
	while ((o = getopt_long(argc, argv, "p:c:b:a:f:xsmlh", long_options,
				NULL)) != -1) {
		if (parse_option(o)) {
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!opts.nr_policies)
		opts.policies[opts.nr_policies++] = "heat";
	if (argc - optind > MAX_TRACES) {
		fprintf(stderr, "sim: at most %d traces\n", MAX_TRACES);
		return 2;
	}
	for (; optind < argc; optind++)
		if (trace_read(&traces[nr++], argv[optind], opts.format))
			return 1;
	if (!nr) {
		fputs(usage, stderr);
		return 2;
	}
	if (opts.mix)
		trace_mix(&mixed, traces, nr);
	r = opts.mix ? run_all(&mixed, 1) : run_all(traces, nr);
	trace_free(&mixed);
	for (i = 0; i < nr; i++)
		trace_free(&traces[i]);
	return r ? 1 : 0;
}
