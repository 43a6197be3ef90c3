// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth bench: replays a recorded load on a scratch volume, uncached and cached.
 *
 * The scratch volume lies on the disks of the volume that the user asks about.  That volume
 * itself is not opened.  The scratch volume and its cache have a tag, and bench removes only
 * volumes with this tag.  A run that was killed leaves them, and the next run removes them.
 *
 * It must not write to a volume that it has not made.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise.h"
#include "cache-info.h"
#include "hearth.h"
#include "lvm.h"
#include "replace.h"
#include "replay.h"
#include "state-file.h"
#include "sysfs.h"
#include "text.h"

#define KIB	1024.0
#define GIB	1073741824.0
#define EXTENT	4194304.0	/* bytes of an extent, unless the group has another */
#define SCRATCH	"hearth_bench"	/* also the tag */
#define POOL	SCRATCH "_cache"

enum { UNCACHED, COLD, WARM, NR_PASSES };

static const char * const pass_names[NR_PASSES] = { "uncached", "cold", "warm" };

struct bench {
	const struct options *o;
	struct trace t;
	char vg[DM_NAME_MAX], lv[DM_NAME_MAX];
	char name[2 * DM_NAME_MAX];	/* VG/LV */
	char scratch[2 * DM_NAME_MAX], pool[2 * DM_NAME_MAX];	/* VG/LV */
	char *disks;			/* physical volumes, with commas; allocated */
	char device[FIELD_LEN];		/* the physical volume for the cache */
	const char *mode;
	double volume, cached;		/* bytes of the volume and its cache; 0: not cached */
	/* Bytes of the scratch volume, the cache, a block, the metadata. */
	double span, size, block, metadata;
	bool folded;			/* the scratch volume lacks the parts without requests */
	char *log, *output;		/* paths of fio's files */
	struct replay_result pass[NR_PASSES];
};

/* ---- The volume, its disks and its SSD ---- */

static int take_name(struct bench *b, const char *name)
{
	if (!lvm_take_name(name, b->name, b->vg, b->lv))
		return EXIT_USAGE;
	snprintf(b->scratch, sizeof(b->scratch), "%s/" SCRATCH, b->vg);
	snprintf(b->pool, sizeof(b->pool), "%s/" POOL, b->vg);
	return EXIT_OK;
}

/* Is each name in the list that of a device?  It may be that of a hidden volume. */
static bool are_disks(const char *names)
{
	for (; names && names[0] == '/'; names++) {
		names = strchr(names, ',');
		if (!names)
			return true;
	}
	return false;
}

static int find_disks(struct bench *b)
{
	char v[2][FIELD_LEN], origin[2 * FIELD_LEN], *name;

	if (!lvm_report("lvs", "origin,lv_size", b->name, v, 2)) {
		complain("%s: no such volume", b->name);
		return EXIT_NO_CACHE;
	}
	b->volume = strtod(v[1], NULL);
	name = lvm_without_brackets(v[0]);
	snprintf(origin, sizeof(origin), "%s/%s", b->vg, b->cached && name[0] ? name : b->lv);
	b->disks = lvm_devices(origin);
	if (are_disks(b->disks))
		return EXIT_OK;
	complain("%s: it does not lie on disks alone, so no scratch volume can be made beside it",
		 b->name);
	return EXIT_FAILED;
}

/* Takes the bytes, the block and the disk of the volume's cache, if it has one. */
static int ask_cache(struct bench *b)
{
	const struct cache_info *c;
	struct caches cs;
	bool no_dm;
	int r = caches_read_if_any(&cs, &no_dm);

	if (r)
		return r;
	c = caches_find(&cs, b->name);
	if (c) {
		b->cached = c->total * cache_block_bytes(c);
		b->block = cache_block_bytes(c);
		device_disks(c->cache_device, b->device, sizeof(b->device));
		b->device[strcspn(b->device, ",")] = '\0';
	}
	caches_free(&cs);
	return EXIT_OK;
}

static int find_device(struct bench *b)
{
	char v[1][FIELD_LEN];

	if (b->o->nr_args > 2)
		snprintf(b->device, sizeof(b->device), "%s", b->o->args[2]);
	if (!b->device[0]) {
		complain("%s: it has no cache; name the DEVICE that the scratch cache is to lie on",
			 b->name);
		return EXIT_USAGE;
	}
	if (lvm_report("pvs", "vg_name", b->device, v, 1) && !strcmp(v[0], b->vg))
		return EXIT_OK;
	complain("%s: it does not belong to the volume group; 'vgextend %s %s' puts it there",
		 b->device, b->vg, b->device);
	return EXIT_FAILED;
}

/* ---- Sizes ---- */

static double rounded_up(double bytes)
{
	return ceil(bytes / EXTENT) * EXTENT;
}

static char *copy_of(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return copy;
}

static double room_on_disks(const struct bench *b)
{
	char *disks = copy_of(b->disks), *rest = disks, *disk;
	double room = 0;

	while ((disk = strsep(&rest, ","))) {
		struct new_device n = { .path = disk, .vg = b->vg };

		room += new_device_room(&n);
	}
	free(disks);
	return room;
}

/* The scratch volume lacks the parts that no request touches if there is no room for all. */
static int choose_span(struct bench *b)
{
	double room = room_on_disks(b);
	char a[SIZE_LEN], c[SIZE_LEN];

	b->span = rounded_up(replay_span(&b->t));
	if (b->span <= room)
		return EXIT_OK;
	b->span = rounded_up(replay_fold(&b->t));
	b->folded = true;
	if (b->span <= room)
		return EXIT_OK;
	complain("%s: the load touches %s, and %s is free for a scratch volume on %s; take a shorter record",
		 b->name, size_text(a, b->span), size_text(c, room), b->disks);
	return EXIT_FAILED;
}

static int choose_cache(struct bench *b)
{
	struct new_device n = {
		.path = b->device, .vg = b->vg, .origin = "", .force = true,
	};
	double bytes = b->o->size * GIB;

	if (b->o->block)
		b->block = b->o->block * KIB;
	if (!bytes)
		bytes = b->cached ?: advised_bytes(&b->t, b->volume, b->block ?: 65536);
	if (!b->block)
		b->block = cache_block_for(bytes);
	if (fmod(b->block, 32 * KIB)) {
		complain("--blocksize: must be a multiple of 32 KiB");
		return EXIT_USAGE;
	}
	b->size = rounded_up(bytes);
	b->metadata = rounded_up(cache_metadata_bytes(b->size, b->block));
	n.need = b->size + b->metadata;
	return new_device_check_room(&n);
}

/* ---- LVM's commands ---- */

/* Runs the command, or prints it. */
static int run(const struct bench *b, struct command *c)
{
	if (!b->o->dry)
		return command_run(c);
	command_print(c);
	return EXIT_OK;
}

static int make_scratch(struct bench *b)
{
	struct command c = {
		.argv = { "lvcreate", "-qq", "-y", "-Wn", "-n", SCRATCH, "--addtag", SCRATCH, "-L" },
		.nr = 9
	};
	char *disks = copy_of(b->disks), *rest = disks, *disk;
	int r;

	command_add_text(&c, "%.0fb", b->span);
	command_add(&c, b->vg);
	while ((disk = strsep(&rest, ",")))
		command_add(&c, disk);
	r = run(b, &c);
	free(disks);
	return r;
}

/* LVM makes no spare metadata here, because that would stay in the group. */
static int make_pool(struct bench *b)
{
	struct command c = {
		.argv = { "lvcreate", "-qq", "-y", "-n", POOL, "--addtag", SCRATCH, "--type",
			  "cache-pool", "--poolmetadataspare", "n", "-L" }, .nr = 12
	};

	command_add_text(&c, "%.0fb", b->size);
	command_add(&c, "--chunksize");
	command_add_text(&c, "%.0fb", b->block);
	command_add(&c, "--poolmetadatasize");
	command_add_text(&c, "%.0fb", b->metadata);
	command_add(&c, b->vg);
	command_add(&c, b->device);
	return run(b, &c);
}

static int attach(struct bench *b)
{
	struct command c = {
		.argv = { "lvconvert", "-qq", "-y", "--type", "cache", "--poolmetadataspare", "n",
			  "--cachepool" }, .nr = 8
	};

	command_add(&c, b->pool);
	command_add(&c, "--cachemode");
	command_add(&c, b->mode);
	command_add(&c, b->scratch);
	return run(b, &c);
}

/* Has a run of this command made the volume?  It has if the tag is its only one. */
static bool is_ours(const char *volume)
{
	char v[1][FIELD_LEN];

	return lvm_report("lvs", "lv_tags", volume, v, 1) && !strcmp(v[0], SCRATCH);
}

/*
 * Removes the volumes with the tag.  LVM removes an attached pool with the scratch volume.
 * A pool that was not attached yet is removed by itself.
 */
static int clean(const struct bench *b, bool left_over)
{
	const char *const volumes[] = { b->scratch, b->pool };
	unsigned int i;
	int r = EXIT_OK;

	for (i = 0; i < 2; i++) {
		struct command c = { .argv = { "lvremove", "-qq", "-y", volumes[i] }, .nr = 4 };

		if (!is_ours(volumes[i]))
			continue;
		if (left_over)
			complain("note: %s is left from a run that was ended; it is removed",
				 volumes[i]);
		r = run(b, &c) ?: r;
	}
	return r;
}

static int check_names(const struct bench *b)
{
	char type[64], active[16];

	if (lvm_volume(b->scratch, type, sizeof(type), active, sizeof(active)) ||
	    is_ours(b->scratch))
		return EXIT_OK;
	complain("%s: there is such a volume, and hearth has not made it", b->scratch);
	return EXIT_FAILED;
}

/* ---- The passes ---- */

static int pass(struct bench *b, unsigned int nr)
{
	if (b->o->dry) {
		printf("fio, %s: %zu requests to /dev/%s\n", pass_names[nr], b->t.nr, b->scratch);
		return EXIT_OK;
	}
	if (interrupted)
		return EXIT_INTERRUPTED;
	if (!b->o->json && isatty(2))
		fprintf(stderr, "%s ...\r", pass_names[nr]);
	return replay_run(b->log, b->output, b->o->minutes, &b->pass[nr]);
}

static bool write_log(struct bench *b)
{
	char path[2 * DM_NAME_MAX + 8];

	snprintf(path, sizeof(path), "/dev/%s", b->scratch);
	return b->o->dry || replay_write(&b->t, path, b->log);
}

static int passes(struct bench *b)
{
	return make_scratch(b) ?: pass(b, UNCACHED) ?: make_pool(b) ?: attach(b) ?:
	       pass(b, COLD) ?: pass(b, WARM);
}

/* Runs the passes, and removes the volumes and fio's files, also if a pass fails. */
static int measure(struct bench *b)
{
	int r, cleaned;

	if (!write_log(b)) {
		unlink(b->log);
		return EXIT_FAILED;
	}
	r = passes(b);
	if (b->o->dry) {
		printf("lvremove -qq -y %s\n", b->scratch);
		return r;
	}
	unlink(b->log);
	unlink(b->output);
	cleaned = clean(b, false);
	return r ?: cleaned;
}

/* ---- The result ---- */

static void print_side(const struct replay_side *s)
{
	char n[SIZE_LEN], t[3][SIZE_LEN];

	if (!s->requests) {
		printf(" %8s %6s %6s %6s", "-", "-", "-", "-");
		return;
	}
	printf(" %8s %6s %6s %6s", short_text(n, s->requests), time_text(t[0], s->p50),
	       time_text(t[1], s->p99), time_text(t[2], s->p999));
}

static void json_side(const char *key, const struct replay_side *s)
{
	bool any = s->requests;

	json_begin(key, '{');
	json_real("requests_per_second", s->requests);
	json_real("bytes_per_second", s->bytes);
	json_real("p50_ms", any ? s->p50 : NAN);
	json_real("p99_ms", any ? s->p99 : NAN);
	json_real("p999_ms", any ? s->p999 : NAN);
	json_end();
}

static void json_result(const struct bench *b)
{
	unsigned int i;

	json_begin(NULL, '{');
	json_string("name", b->name);
	json_uint("requests", b->t.nr);
	json_uint("scratch_bytes", b->span);
	json_bool("folded", b->folded);
	json_string("disks", b->disks);
	json_string("device", b->device);
	json_uint("cache_bytes", b->size);
	json_uint("block_bytes", b->block);
	json_string("mode", b->mode);
	json_begin("passes", '[');
	for (i = 0; i < NR_PASSES; i++) {
		json_begin(NULL, '{');
		json_string("name", pass_names[i]);
		json_real("seconds", b->pass[i].seconds);
		json_side("reads", &b->pass[i].reads);
		json_side("writes", &b->pass[i].writes);
		json_end();
	}
	json_end();
	json_end();
}

static void print_result(const struct bench *b)
{
	char a[SIZE_LEN], c[SIZE_LEN], n[SIZE_LEN];
	unsigned int i;

	printf("%s: %s requests on %s of %s%s,\ncached by %s on %s, in %s\n\n", b->name,
	       short_text(n, b->t.nr), size_text(a, b->span), b->disks,
	       b->folded ? " without what none touches" : "", size_text(c, b->size), b->device,
	       b->mode);
	printf("%-8s %7s  %8s %6s %6s %6s   %8s %6s %6s %6s\n", "", "seconds", "reads/s", "p50",
	       "p99", "p99.9", "writes/s", "p50", "p99", "p99.9");
	for (i = 0; i < NR_PASSES; i++) {
		printf("%-8s %7.1f ", pass_names[i], b->pass[i].seconds);
		print_side(&b->pass[i].reads);
		fputs("  ", stdout);
		print_side(&b->pass[i].writes);
		putchar('\n');
	}
}

/* ---- The subcommand ---- */

static int check_words(struct bench *b)
{
	const char *const fio[] = { "fio", "--version", NULL };
	char line[64];

	b->mode = b->o->mode ?: "writethrough";
	if (strcmp(b->mode, "writethrough") && strcmp(b->mode, "writeback")) {
		complain("--mode %s: there are writethrough and writeback", b->mode);
		return EXIT_USAGE;
	}
	if (!b->o->dry && command_output(fio, line, sizeof(line))) {
		complain("fio replays the load, and it is not installed");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int make_directory(void)
{
	if (state_directory(STATE_DIRECTORY))
		return EXIT_OK;
	complain("%s" STATE_DIRECTORY ": %s", dm_root(), strerror(errno));
	return EXIT_FAILED;
}

static int prepare(struct bench *b)
{
	const struct options *o = b->o;
	int r = take_name(b, o->args[0]) ?: check_words(b) ?: ask_cache(b) ?:
		find_disks(b) ?: find_device(b);

	if (!r && trace_read(&b->t, o->args[1], o->format))
		r = EXIT_FAILED;
	if (!r && !b->t.nr) {
		complain("%s: no requests in it", o->args[1]);
		r = EXIT_FAILED;
	}
	r = r ?: check_names(b) ?: clean(b, true);
	return r ?: choose_span(b) ?: choose_cache(b) ?: make_directory();
}

int hearth_bench(const struct options *o)
{
	struct bench b = { .o = o };
	int r;

	catch_signals();
	b.log = root_path(STATE_DIRECTORY "/bench.log");
	b.output = root_path(STATE_DIRECTORY "/bench.fio");
	r = prepare(&b);
	if (!r)
		r = measure(&b);
	if (!r && o->json && !o->dry)
		json_result(&b);
	else if (!r && !o->dry)
		print_result(&b);
	trace_free(&b.t);
	free(b.disks);
	free(b.log);
	free(b.output);
	return r;
}
