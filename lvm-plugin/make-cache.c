// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth cache: makes a cache for a volume on a bare device.
 *
 * LVM's commands do it: one adds the device to the volume group, one makes a pool on it, and
 * one attaches the pool.  Mode and preset come last, by hearth set.  This file asks LVM first
 * which steps are done already, so that after an interruption the same command goes on.  The
 * pool has the name LV_cache, by which a later run knows it.
 *
 * It must not judge the device, which replace-device.c does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache-info.h"
#include "hearth.h"
#include "lvm.h"
#include "replace.h"
#include "text.h"

#define KIB		1024.0
#define MIB		1048576.0
#define GIB		1073741824.0
#define EXTENT		(4 * MIB)	/* bytes of an extent, unless the group has another */
#define POOL_LEN	(2 * DM_NAME_MAX + 32)

/* The volumes that matter here.  LVM renames the pool when it attaches it. */
enum part {
	VOLUME, POOL, POOL_DATA, ATTACHED_POOL, ATTACHED_POOL_DATA, NR_PARTS
};

#define ATTACHED	"_cpool"
#define LONGEST		"_cache_cpool_cdata"

/* The name of a part is the volume's name and this. */
static const char * const suffixes[NR_PARTS] = {
	[VOLUME] = "", [POOL] = "_cache", [POOL_DATA] = "_cache_cdata",
	[ATTACHED_POOL] = "_cache" ATTACHED, [ATTACHED_POOL_DATA] = LONGEST,
};

/* One of these volumes, by LVM's report. */
struct volume {
	bool is_there;
	char type[FIELD_LEN], pool[FIELD_LEN];	/* pool: the pool that is attached to it */
	double size, block, metadata;		/* bytes of a pool, a block, the metadata */
	char device[FIELD_LEN];			/* the first device that it is on */
};

struct making {
	const struct options *o;
	char vg[DM_NAME_MAX], lv[DM_NAME_MAX];
	char name[2 * DM_NAME_MAX], pool[POOL_LEN];	/* VG/LV */
	char device[FIELD_LEN];
	double extent, size, block, metadata;	/* bytes of an extent, the cache and so on */
	struct volume part[NR_PARTS];	/* before the first step */
	bool is_cached;		/* an earlier run has attached the pool */
};

/* ---- Names ---- */

static int take_name(struct making *m, const char *name)
{
	if (!lvm_take_name(name, m->name, m->vg, m->lv))
		return EXIT_USAGE;
	snprintf(m->pool, sizeof(m->pool), "%s_cache", m->name);
	/* LVM would refuse the name only after it has added the device to the group. */
	if (strlen(m->name) + strlen(LONGEST) >= DM_NAME_MAX) {
		complain("%s: this name is too long: with %s behind it, LVM takes %d bytes",
			 m->name, LONGEST, DM_NAME_MAX - 1);
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

/* LVM takes only names below /dev. */
static void take_device(struct making *m, const char *device)
{
	char *path = strncmp(device, "/dev/", 5) ? realpath(device, NULL) : NULL;

	snprintf(m->device, sizeof(m->device), "%s", path ?: device);
	free(path);
}

/* ---- The volumes that there are ---- */

static enum part part_of(const struct making *m, const char *name)
{
	size_t len = strlen(m->lv);
	enum part i = NR_PARTS;

	if (!strncmp(name, m->lv, len))
		for (i = 0; i < NR_PARTS && strcmp(name + len, suffixes[i]); i++)
			;
	return i;
}

static void take_volume(void *making, char v[][FIELD_LEN])
{
	struct making *m = making;
	enum part part = part_of(m, lvm_without_brackets(v[0]));
	struct volume *to = &m->part[part];

	/* LVM has a line for each segment. */
	if (part == NR_PARTS || to->is_there)
		return;
	to->is_there = true;
	strcpy(to->type, v[1]);
	strcpy(to->pool, lvm_without_brackets(v[2]));
	to->size = strtod(v[3], NULL);
	to->block = strtod(v[4], NULL);
	to->metadata = strtod(v[5], NULL);
	snprintf(to->device, FIELD_LEN, "%.*s", (int)strcspn(v[6], "("), v[6]);
}

/* Asks LVM about all parts in one call, because LVM reads all devices of the group each time. */
static int ask_lvm(struct making *m)
{
	lvm_report_all("lvs", "lv_name,segtype,pool_lv,lv_size,chunk_size,lv_metadata_size,devices",
		       m->vg, 7, take_volume, m);
	if (!m->part[VOLUME].is_there) {
		complain("%s: no such volume", m->name);
		return EXIT_NO_CACHE;
	}
	m->is_cached = !strcmp(m->part[VOLUME].type, "cache");
	return EXIT_OK;
}

/* ---- Sizes ---- */

static double rounded_down(double bytes, double unit)
{
	return floor(bytes / unit) * unit;
}

/* The bytes of metadata for a cache of @size bytes, in whole extents. */
static double metadata_for(const struct making *m, double size)
{
	return ceil(cache_metadata_bytes(size, m->block) / m->extent) * m->extent;
}

/*
 * Chooses the bytes of cache, block and metadata, as far as no option gives them.  @room is
 * the free bytes of the device.  Without --size it leaves room for the metadata twice,
 * because LVM makes a spare once in a group, which may be on the device, too.
 */
static void choose_sizes(struct making *m, double room)
{
	char v[1][FIELD_LEN];

	m->extent = EXTENT;
	if (lvm_report("vgs", "vg_extent_size", m->vg, v, 1) && strtod(v[0], NULL) > 0)
		m->extent = strtod(v[0], NULL);
	m->size = m->o->size * GIB;
	m->block = m->o->block ? m->o->block * KIB : cache_block_for(m->size ?: room);
	m->metadata = metadata_for(m, m->size ?: room);
	if (!m->size)
		m->size = room - 2 * m->metadata;
	m->size = rounded_down(m->size, m->extent);
}

static int check_sizes(const struct making *m)
{
	char a[SIZE_LEN], b[SIZE_LEN];

	if (fmod(m->block, 32 * KIB)) {
		complain("--blocksize: must be a multiple of 32 KiB");
		return EXIT_USAGE;
	}
	if (m->size < m->extent || m->size < m->block) {
		complain("%s: no room for a cache is free on it", m->device);
		return EXIT_FAILED;
	}
	if (m->size / m->block > LVM_MAX_BLOCKS) {
		complain("--blocksize: %s in blocks of %s are more than LVM's million; give a larger block",
			 size_text(a, m->size), size_text(b, m->block));
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

/* ---- The steps ---- */

/* Runs the command, or prints it. */
static int run(const struct making *m, struct command *c)
{
	if (!m->o->dry)
		return interrupted ? EXIT_INTERRUPTED : command_run(c);
	command_print(c);
	return EXIT_OK;
}

static int join_group(const struct making *m)
{
	struct command c = { .argv = { "vgextend", "-qq" }, .nr = 2 };
	char v[1][FIELD_LEN];

	if (lvm_report("pvs", "vg_name", m->device, v, 1) && !strcmp(v[0], m->vg))
		return EXIT_OK;
	command_add(&c, m->vg);
	command_add(&c, m->device);
	return run(m, &c);
}

/* Is the pool there?  Its bytes count then, whatever the options say. */
static bool pool_exists(struct making *m, enum part part)
{
	const struct volume *pool = &m->part[part];

	if (strcmp(pool->type, "cache-pool"))
		return false;
	m->size = pool->size;
	m->block = pool->block;
	m->metadata = pool->metadata;
	return true;
}

static int make_pool(struct making *m)
{
	struct command c = { .argv = { "lvcreate", "-qq", "-y", "-n" }, .nr = 4 };

	if (pool_exists(m, POOL))
		return EXIT_OK;
	command_add_text(&c, "%s_cache", m->lv);
	command_add(&c, "-L");
	command_add_text(&c, "%.0fb", m->size);
	command_add(&c, "--type");
	command_add(&c, "cache-pool");
	command_add(&c, "--chunksize");
	command_add_text(&c, "%.0fb", m->block);
	command_add(&c, "--poolmetadatasize");
	command_add_text(&c, "%.0fb", m->metadata);
	command_add(&c, m->vg);
	command_add(&c, m->device);
	return run(m, &c);
}

/*
 * Attaches the pool in writethrough, because no data can be lost in that mode.  hearth set
 * sets the mode that the user wants.
 */
static int attach(const struct making *m)
{
	struct command c = {
		.argv = { "lvconvert", "-qq", "-y", "--type", "cache", "--cachepool" }, .nr = 6
	};

	command_add(&c, m->pool);
	command_add(&c, "--cachemode");
	command_add(&c, "writethrough");
	command_add(&c, m->name);
	return run(m, &c);
}

static int set_all(const struct making *m)
{
	char mode[64], *args[2] = { (char *)m->name, mode };
	struct options o = { .args = args, .nr_args = 1 + !!m->o->mode, .preset = m->o->preset };

	if (o.nr_args == 1 && !o.preset)
		return EXIT_OK;
	if (m->o->mode)
		snprintf(mode, sizeof(mode), "mode=%s", m->o->mode);
	if (!m->o->dry)
		return hearth_set(&o);
	printf("hearth set%s%s %s%s%s\n", o.preset ? " --preset " : "", o.preset ?: "",
	       m->name, m->o->mode ? " " : "", m->o->mode ? mode : "");
	return EXIT_OK;
}

/* ---- All of it ---- */

/* @pool becomes the name for users, VG/POOL, of the pool that is attached to the volume. */
static void attached_pool(const struct making *m, char *pool)
{
	const char *name = m->part[VOLUME].pool;
	size_t len = strlen(name), end = strlen(ATTACHED);

	if (len > end && !strcmp(name + len - end, ATTACHED))
		len -= end;
	snprintf(pool, 2 * FIELD_LEN, "%s/%.*s", m->vg, (int)len, name);
}

/* Is the part on the device of the command line?  Yes, too, if LVM does not tell. */
static bool is_on_device(const struct making *m, enum part part)
{
	const struct volume *v = &m->part[part];

	return !v->is_there || same_device(v->device, m->device);
}

/*
 * The volume is cached.  If an earlier run of this command has made the cache, sets mode and
 * preset, which may be left to do.  An exit code.
 */
static int already_cached(struct making *m)
{
	char pool[2 * FIELD_LEN];

	attached_pool(m, pool);
	if (!strcmp(pool, m->pool) && pool_exists(m, ATTACHED_POOL) &&
	    is_on_device(m, ATTACHED_POOL_DATA))
		return set_all(m);
	complain("%s: it is cached already, by %s", m->name, pool);
	return EXIT_FAILED;
}

static int check_words(const struct making *m)
{
	if (!m->o->mode || is_cache_mode(m->o->mode))
		return EXIT_OK;
	complain("no mode '%s'; there are writethrough, writeback, passthrough, writearound and writeonly",
		 m->o->mode);
	return EXIT_USAGE;
}

/* Refuses a pool that an earlier run has made on another device. */
static int check_pool(const struct making *m)
{
	if (is_on_device(m, POOL_DATA))
		return EXIT_OK;
	complain("%s: an earlier run made %s on %s; name that device, or 'lvremove %s'",
		 m->name, m->pool, m->part[POOL_DATA].device, m->pool);
	return EXIT_FAILED;
}

/*
 * Refuses if a volume with the pool's name is there that is no pool.  LVM was killed while
 * it made the pool, or somebody else has made the volume.
 */
static int check_name(const struct making *m)
{
	if (!m->part[POOL].is_there)
		return EXIT_OK;
	complain("%s: %s is there, and is no cache pool; if an interrupted run left it: 'lvremove %s'",
		 m->name, m->pool, m->pool);
	return EXIT_FAILED;
}

/*
 * LVM's command outlives a run of this one that was killed, so the pool may have been made
 * since LVM was asked.
 */
static bool made_meanwhile(struct making *m)
{
	memset(m->part, 0, sizeof(m->part));
	return !ask_lvm(m) && pool_exists(m, POOL);
}

static int check_device(struct making *m)
{
	struct new_device n = {
		.path = m->device, .vg = m->vg, .origin = m->lv, .force = m->o->force,
	};
	double room;
	int r = new_device_check(&n);

	if (!r && pool_exists(m, POOL))
		return check_pool(m);
	if (r)
		return r;
	r = check_name(m);
	if (r)
		return r;
	room = new_device_room(&n);
	choose_sizes(m, room);
	n.need = m->size + m->metadata;
	if ((m->size < m->extent || room < n.need) && made_meanwhile(m))
		return check_pool(m);
	return check_sizes(m) ?: new_device_check_room(&n);
}

static int make_cache(struct making *m)
{
	int r = check_device(m);

	if (r)
		return r;
	r = join_group(m) ?: make_pool(m);
	if (!r && interrupted)
		return EXIT_INTERRUPTED;
	return r ?: attach(m) ?: set_all(m);
}

static void print_made(const struct making *m)
{
	char a[SIZE_LEN], b[SIZE_LEN], c[SIZE_LEN];

	/* The mode is not printed, because the user may have changed it since. */
	if (m->is_cached && !m->o->mode) {
		printf("%s: it is cached already, by %s on %s\n", m->name, m->pool, m->device);
		return;
	}
	printf("%s: cached by %s on %s, in blocks of %s, with %s of metadata, in %s\n",
	       m->name, size_text(a, m->size), m->device, size_text(b, m->block),
	       size_text(c, m->metadata), m->o->mode ?: "writethrough");
}

static void print_result(const struct making *m, int code)
{
	if (m->o->dry)
		return;
	if (m->o->json) {
		json_begin(NULL, '{');
		json_string("name", m->name);
		json_bool("complete", !code);
		json_string("device", m->device);
		json_uint("cache_bytes", m->size);
		json_uint("block_bytes", m->block);
		json_uint("metadata_bytes", m->metadata);
		json_end();
	} else if (code) {
		printf("%s: stopped; the same command goes on from here\n", m->name);
	} else {
		print_made(m);
	}
}

int hearth_cache(const struct options *o)
{
	struct making m = { .o = o };
	int r = take_name(&m, o->args[0]) ?: check_words(&m) ?: ask_lvm(&m);

	if (r)
		return r;
	take_device(&m, o->args[1]);
	catch_signals();
	r = m.is_cached ? already_cached(&m) : make_cache(&m);
	if (!r || r == EXIT_INTERRUPTED)
		print_result(&m, r);
	return r;
}
