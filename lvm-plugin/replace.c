// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth replace-ssd: takes the cache off one device, and makes another cache of the
 * same settings on another device.
 *
 * The new device becomes a member of the volume group, and its free space is checked,
 * before the old cache is taken off.  The old device leaves the group when the new
 * cache is in place.
 *
 * When the old cache is off, nothing in the volume group describes it.  So replace-ssd writes
 * the description to a file first, and removes the file when the new cache is in place.
 * After any interruption the same command goes on from there, because each step looks
 * whether it is done already.
 *
 * It must not judge the new device, which replace-device.c does, or copy blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache-info.h"
#include "drain.h"
#include "hearth.h"
#include "lvm.h"
#include "replace.h"
#include "state-file.h"
#include "text.h"

#define MIB		1048576.0

/* The description of the cache and of the two devices, in LVM's words. */
enum item {
	CACHE_NAME, KIND, SIZE, METADATA_SIZE, CHUNK, FORMAT, MODE, POLICY, SETTINGS,
	OWN_MODE, OWN_SETTINGS, OLD_PV, NEW_PV, NR_ITEMS
};

static const char * const item_names[NR_ITEMS] = {
	[CACHE_NAME] = "name", [KIND] = "kind", [SIZE] = "bytes",
	[METADATA_SIZE] = "metadata_bytes", [CHUNK] = "chunk_bytes",
	[FORMAT] = "format", [MODE] = "mode", [POLICY] = "policy",
	[SETTINGS] = "settings", [OWN_MODE] = "own_mode",
	[OWN_SETTINGS] = "own_settings", [OLD_PV] = "from", [NEW_PV] = "to",
};

/* How far an earlier run of the same command came. */
enum stage {
	OLD_CACHE_ON,	/* the old cache was not taken off yet */
	NO_CACHE_ON,	/* the old cache is off, and the new cache is not attached */
	NEW_CACHE_ON,	/* only the old device and the settings are left to do */
};

/* Enough for MAX_SETTINGS settings, each with a key, "=" and a number. */
#define ITEM_LEN	4096
#define MAX_LVM_SETTINGS	64	/* struct command has room for these words */

struct plan {
	const struct options *o;
	char vg[DM_NAME_MAX], lv[DM_NAME_MAX];
	char name[2 * DM_NAME_MAX];	/* VG/LV */
	char item[NR_ITEMS][ITEM_LEN];
	char origin[FIELD_LEN];		/* the hidden volume below the cache */
	char hidden[FIELD_LEN];		/* the name of the cache's volume while it is on */
	bool missing;			/* LVM does not find the old device */
};

/* ---- Asking lvm2 ---- */

static bool type_is(const char *volume, const char *type)
{
	char is[64], active[16];

	return !lvm_volume(volume, is, sizeof(is), active, sizeof(active)) &&
	       !strcmp(is, type);
}

/* ---- The file ---- */

/* The path of the file, allocated.  A colon stands in it, because LVM's names have none. */
static char *plan_path(const struct plan *p)
{
	return root_path(STATE_DIRECTORY "/replace-%s:%s", p->vg, p->lv);
}

static void put_plan(FILE *out, const void *plan)
{
	const struct plan *p = plan;
	unsigned int i;

	for (i = 0; i < NR_ITEMS; i++)
		fprintf(out, "%s=%s\n", item_names[i], p->item[i]);
}

static int save_plan(const struct plan *p)
{
	char *path = plan_path(p);
	int r = EXIT_OK;

	if (!state_directory(STATE_DIRECTORY) || !state_file_write(path, put_plan, p)) {
		complain("%s: %s", path, strerror(errno));
		r = EXIT_FAILED;
	}
	free(path);
	return r;
}

/* Reads the file of an earlier run.  False if there is none. */
static bool load_plan(struct plan *p)
{
	char line[ITEM_LEN + 32], *value, *path = plan_path(p);
	FILE *f = fopen(path, "re");
	unsigned int i;

	free(path);
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		for (i = 0; i < NR_ITEMS; i++)
			if (!strcmp(line, item_names[i]))
				snprintf(p->item[i], ITEM_LEN, "%s", value);
	}
	fclose(f);
	return p->item[CACHE_NAME][0];
}

static void forget_plan(const struct plan *p)
{
	char *path = plan_path(p);

	unlink(path);
	free(path);
}

/* ---- The description of the cache ---- */

static int refuse(const struct plan *p, const char *why)
{
	complain("%s: %s", p->name, why);
	return EXIT_FAILED;
}

/* Sets the name of the cache for users, which is "fast" for "fast_cpool" or "fast_cvol". */
static void set_cache_name(struct plan *p, const char *hidden)
{
	static const char * const suffixes[] = { "_cpool", "_cvol" };
	size_t len = strlen(hidden), n;
	unsigned int i;

	snprintf(p->hidden, FIELD_LEN, "%s", hidden);
	snprintf(p->item[CACHE_NAME], FIELD_LEN, "%s", hidden);
	for (i = 0; i < 2; i++) {
		n = strlen(suffixes[i]);
		if (len > n && !strcmp(hidden + len - n, suffixes[i]))
			p->item[CACHE_NAME][len - n] = '\0';
	}
}

/*
 * Takes the old device from @devices, of lvm_devices().  It must be one device, because the
 * new one takes the place of one.  An exit code.
 */
static int set_old_pv(struct plan *p, const char *devices)
{
	if (devices[0] && devices[0] != '/' && !lvm_is_missing(devices))
		return refuse(p, "its cache is on a mirror; lvmraid(7) says how to replace one device of it");
	if (strchr(devices, ',')) {
		complain("%s: its cache is on several devices, %s, and this command replaces one; 'hearth uncache %s' takes the cache off, and 'hearth cache %s DEVICE' makes another one",
			 p->name, devices, p->name, p->name);
		return EXIT_FAILED;
	}
	p->missing = lvm_is_missing(devices);
	snprintf(p->item[OLD_PV], ITEM_LEN, "%s",
		 p->missing ? "" : devices);
	return EXIT_OK;
}

/*
 * Asks LVM about the pool @hidden, or the --cachevol, which has metadata and data together.
 * An exit code.
 */
static int ask_cache_volume(struct plan *p, const char *hidden)
{
	char name[2 * FIELD_LEN], v[5][FIELD_LEN], *devices;
	int r;

	snprintf(name, sizeof(name), "%s/%s", p->vg, hidden);
	if (!lvm_report("lvs", "segtype,lv_size,lv_metadata_size,chunk_size,data_lv",
		    name, v, 5))
		return refuse(p, "LVM says nothing of its cache");
	set_cache_name(p, hidden);
	strcpy(p->item[KIND], strcmp(v[0], "cache-pool") ? "vol" : "pool");
	strcpy(p->item[SIZE], v[1]);
	strcpy(p->item[METADATA_SIZE], v[2]);
	if (!p->item[CHUNK][0])
		strcpy(p->item[CHUNK], v[3]);
	if (!strcmp(p->item[KIND], "pool")) {
		lvm_without_brackets(v[4]);
		snprintf(name, sizeof(name), "%s/%s", p->vg, v[4]);
	}
	devices = lvm_devices(name);
	if (!devices)
		return refuse(p, "LVM says nothing of its cache's device");
	r = set_old_pv(p, devices);
	free(devices);
	return r;
}

/* Takes the settings that only the target knows. */
static void ask_target(struct plan *p, const struct cache_info *c)
{
	char *own = p->item[OWN_SETTINGS];
	size_t len = 0;
	unsigned int i;

	snprintf(p->item[CHUNK], FIELD_LEN, "%ju",
		 cache_block_bytes(c));
	if (!c->own)
		return;
	if (strcmp(c->mode, c->table_mode))
		strcpy(p->item[OWN_MODE], c->mode);
	for (i = 0; i < c->nr_settings && len < ITEM_LEN - 64; i++)
		if (!cache_setting(c->in_table, c->nr_in_table,
				   c->settings[i].key) &&
		    strcmp(c->settings[i].key, "migration_threshold"))
			len += snprintf(own + len, ITEM_LEN - len, "%s%s=%s",
					len ? " " : "", c->settings[i].key,
					c->settings[i].value);
}

static unsigned int words_in(const char *list)
{
	unsigned int nr = list[0] != '\0';

	while ((list = strchr(list, ','))) {
		list++;
		nr++;
	}
	return nr;
}

/* Takes the settings that LVM keeps.  An exit code. */
static int ask_settings(struct plan *p)
{
	char *settings = lvm_value("cache_settings", p->name);
	bool fits = settings && words_in(settings) <= MAX_LVM_SETTINGS &&
		    strlen(settings) < ITEM_LEN;

	if (fits)
		strcpy(p->item[SETTINGS], settings);
	else if (settings)
		complain("%s: LVM keeps more than %d settings of its cache, or very long ones, and this command cannot put them back; 'hearth uncache' and 'hearth cache' do without them; nothing was changed",
			 p->name, MAX_LVM_SETTINGS);
	else
		refuse(p, "LVM does not tell the settings of its cache");
	free(settings);
	return fits ? EXIT_OK : EXIT_FAILED;
}

static int make_plan(struct plan *p, const struct cache_info *c)
{
	char v[6][FIELD_LEN], origin[1][FIELD_LEN], name[2 * FIELD_LEN];

	if (!lvm_report("lvs", "pool_lv,origin,cache_mode,cache_policy,cache_metadata_format,chunk_size",
		    p->name, v, 6))
		return refuse(p, "no such volume");
	lvm_without_brackets(v[0]);
	lvm_without_brackets(v[1]);
	snprintf(name, sizeof(name), "%s/%s", p->vg, v[1]);
	if (!lvm_report("lvs", "lv_health_status", name, origin, 1) ||
	    origin[0][0])
		return refuse(p, "a device of the volume itself is missing, not only the cache's");
	strcpy(p->origin, v[1]);
	strcpy(p->item[MODE], v[2]);
	strcpy(p->item[POLICY], v[3]);
	strcpy(p->item[FORMAT], v[4]);
	/* With a --cachevol, LVM reports the bytes of a block for the cached volume. */
	if (strcmp(v[5], "0"))
		strcpy(p->item[CHUNK], v[5]);
	if (c)
		ask_target(p, c);
	return ask_settings(p) ?: ask_cache_volume(p, v[0]);
}

/* ---- The new device ---- */

/* Is there a volume with the name of the new cache? */
static bool cache_volume_exists(const struct plan *p)
{
	char v[1][FIELD_LEN], name[2 * ITEM_LEN];

	/* With older lvm2 the old cache has this name itself while it is attached. */
	if (!strcmp(p->item[CACHE_NAME], p->hidden) && type_is(p->name, "cache"))
		return false;
	snprintf(name, sizeof(name), "%s/%s", p->vg, p->item[CACHE_NAME]);
	return lvm_report("lvs", "segtype", name, v, 1);
}

static struct new_device new_device(const struct plan *p,
				    const struct cache_info *c)
{
	struct new_device n = {
		.path = p->item[NEW_PV], .vg = p->vg, .origin = p->origin,
		.cache = c, .force = p->o->force,
	};

	if (!cache_volume_exists(p))
		n.need = strtod(p->item[SIZE], NULL) +
			 strtod(p->item[METADATA_SIZE], NULL);
	return n;
}

static bool is_pv(const char *device, char *vg)
{
	char v[1][FIELD_LEN];

	if (!lvm_report("pvs", "vg_name", device, v, 1))
		return false;
	snprintf(vg, FIELD_LEN, "%s", v[0]);
	return true;
}

/*
 * Makes a physical volume that is in no group, because LVM adds none to a group that misses
 * a device.
 */
static int make_pv(const struct plan *p)
{
	const char *const argv[] = {
		"pvcreate", "-qq", p->item[NEW_PV], NULL
	};
	char vg[FIELD_LEN];

	if (is_pv(p->item[NEW_PV], vg))
		return EXIT_OK;
	return lvm_run(argv) ? EXIT_FAILED : EXIT_OK;
}

static int extend_group(const struct plan *p)
{
	const char *const argv[] = {
		"vgextend", "-qq", p->vg, p->item[NEW_PV], NULL
	};
	const struct new_device n = new_device(p, NULL);
	char vg[FIELD_LEN];

	if ((!is_pv(p->item[NEW_PV], vg) || strcmp(vg, p->vg)) &&
	    lvm_run(argv))
		return EXIT_FAILED;
	/* Only now LVM reports the free bytes of the device exactly. */
	return new_device_check_room(&n);
}

/* ---- The old device ---- */

static bool is_pool(const struct plan *p)
{
	return !strcmp(p->item[KIND], "pool");
}

/*
 * Finds the missing device's UUID and bytes, and the offset of the cache's metadata on it in
 * bytes.  An exit code.
 */
static int find_metadata(const struct plan *p, char *uuid, double *offset,
			 double *size)
{
	char name[2 * ITEM_LEN], v[1][FIELD_LEN], extent[1][FIELD_LEN];
	char which[FIELD_LEN], *text, *start, *end;
	const char *const missing[] = {
		"pvs", "-a", "--noheadings", "--nosuffix", "--units", "b",
		"--separator", "|", "-o", "pv_uuid,pe_start,pv_size", "-S", which, NULL
	};
	bool ok;

	snprintf(which, sizeof(which), "pv_missing=1 && vg_name=%s", p->vg);
	snprintf(name, sizeof(name), "%s/%s_%s", p->vg, p->item[CACHE_NAME],
		 is_pool(p) ? "cpool_cmeta" : "cvol");
	text = command_text(missing);
	start = text ? strchr(text, '|') : NULL;
	/* If two devices are missing, nothing tells which one is the cache's. */
	end = start ? strchr(start + 1, '|') : NULL;
	ok = end && !strchr(end + 1, '|') &&
	     lvm_report("lvs", "devices", name, v, 1) && strchr(v[0], '(') &&
	     lvm_report("vgs", "vg_extent_size", p->vg, extent, 1);
	if (!ok) {
		free(text);
		return refuse(p, "LVM does not tell where the metadata was, or misses more than one device; see hearth-root(7)");
	}
	/*
	 * If the metadata is still there, it names blocks of the missing device.  LVM would write
	 * what the new device has in their places back to the origin.
	 */
	if (!lvm_is_missing(v[0])) {
		free(text);
		return refuse(p, "the metadata of its cache is not on the missing device, so the cache cannot be given up like this; see hearth-root(7)");
	}
	*start++ = '\0';
	snprintf(uuid, FIELD_LEN, "%s", text + strspn(text, " "));
	*size = strtod(start, NULL) + strtod(end + 1, NULL);
	*offset = strtod(start, NULL) + strtod(extent[0], NULL) *
		  strtod(strchr(v[0], '(') + 1, NULL);
	free(text);
	return EXIT_OK;
}

static int check_as_large(const struct plan *p, double size)
{
	char a[SIZE_LEN], b[SIZE_LEN];
	uint32_t major, minor;
	uint64_t bytes = 0;

	if (!dm_block_device(p->item[NEW_PV], &major, &minor, &bytes) &&
	    bytes >= size)
		return EXIT_OK;
	complain("%s: it has %s, and must be as large as the missing device, which has %s",
		 p->item[NEW_PV], size_text(a, bytes), size_text(b, size));
	return EXIT_FAILED;
}

/* Writes zeros over the superblock on the new device, so that the cache begins empty. */
static int zero_superblock(const struct plan *p, double offset)
{
	char *zeros = calloc(1, MIB);
	int fd = open(p->item[NEW_PV], O_WRONLY | O_EXCL | O_CLOEXEC);
	bool ok;

	if (!zeros)
		abort();
	ok = fd >= 0 && pwrite(fd, zeros, MIB, offset) == (ssize_t)MIB &&
	     !fsync(fd);
	if (!ok)
		complain("%s: %s", p->item[NEW_PV], strerror(errno));
	if (fd >= 0)
		close(fd);
	free(zeros);
	return ok ? EXIT_OK : EXIT_FAILED;
}

/*
 * LVM takes a writeback cache off only if it can activate it, which it cannot without the
 * device.  So the new device gets the UUID of the missing device, and an empty superblock.
 */
static int take_the_place_of_missing(const struct plan *p)
{
	char uuid[FIELD_LEN], v[1][FIELD_LEN];
	const char *const create[] = {
		"pvcreate", "-qq", "--uuid", uuid, "--norestorefile",
		p->item[NEW_PV], NULL
	};
	const char *const restore[] = {
		"vgextend", "-qq", "--restoremissing", p->vg, p->item[NEW_PV],
		NULL
	};
	double offset, size;

	if (lvm_report("pvs", "vg_name", p->item[NEW_PV], v, 1))
		return refuse(p, "the new device must not be a physical volume yet; 'pvremove' removes that");
	if (find_metadata(p, uuid, &offset, &size) || check_as_large(p, size) ||
	    zero_superblock(p, offset) ||
	    lvm_run(create))
		return EXIT_FAILED;
	/* This may fail: LVM calls the device missing only if the group was changed since. */
	lvm_run(restore);
	return lvm_report("lvs", "lv_health_status", p->name, v, 1) && !v[0][0] ?
	       EXIT_OK : refuse(p, "a device of it is missing still");
}

static int uncache_dead(const struct plan *p)
{
	bool through = !strcmp(p->item[MODE], "writethrough");
	const char *const plain[] = {
		"lvconvert", "-qq", "-y", "--uncache", "--", p->name, NULL
	};
	const char *const forced[] = {
		"lvconvert", "-qq", "-y", "--uncache", "--force", "--",
		p->name, NULL
	};

	return lvm_run(through ? plain : forced) ? EXIT_FAILED : EXIT_OK;
}

/* May the cache be given up whose device is missing?  Asked before anything is written. */
static int check_dead(const struct plan *p, const struct cache_info *c)
{
	char why[3 * FIELD_LEN];

	if (strcmp(p->item[MODE], "writeback") || (!c && p->o->force))
		return EXIT_OK;
	if (!c)
		return refuse(p, "the cache device is gone, and may hold the only copy of some data; connect it again, or give those data up with --force");
	snprintf(why, sizeof(why),
		 "it is active, and its cache device is gone, with %ju blocks that are nowhere else; connect it again, or save all files that can be read, then unmount the volume, 'lvchange -an %s', and give the rest up with --force",
		 c->dirty, p->name);
	return refuse(p, why);
}

static int uncache_living(const struct plan *p, const struct cache_info *c)
{
	const char *const argv[] = {
		"lvconvert", "-qq", "--uncache", "--", p->name, NULL
	};

	/* The volume is not active.  LVM activates it if there may be dirty blocks. */
	if (!c)
		return lvm_run(argv) ? EXIT_FAILED : EXIT_OK;
	return drain_and_uncache(c, p->o->json);
}

static int check_living(const struct plan *p, const struct cache_info *c)
{
	if (!c)
		return EXIT_OK;
	if (c->dirty && strcmp(c->health, "good") && p->o->force)
		return refuse(p, "the failing device still answers, so LVM would wait for ever; disconnect it, and use --force again");
	return drain_check_health(c);
}

/* Removes the missing device from the group, because LVM refuses changes before that. */
static int remove_missing_device(const struct plan *p)
{
	const char *const argv[] = {
		"vgreduce", "-qq", "--removemissing", p->vg, NULL
	};

	if (p->item[OLD_PV][0])
		return EXIT_OK;
	return lvm_run(argv) ? EXIT_FAILED : EXIT_OK;
}

/* Takes the old device out of the volume group, if nothing else is on it. */
static int remove_old_device(const struct plan *p)
{
	const char *const old[] = {
		"vgreduce", "-qq", p->vg, p->item[OLD_PV], NULL
	};
	char v[2][FIELD_LEN];

	if (!p->item[OLD_PV][0] ||
	    same_device(p->item[OLD_PV], p->item[NEW_PV]))
		return EXIT_OK;
	if (!lvm_report("pvs", "vg_name,pv_used", p->item[OLD_PV], v, 2) ||
	    strcmp(v[0], p->vg))
		return EXIT_OK;
	if (strcmp(v[1], "0")) {
		complain("note: %s stays in the volume group %s: something else is on it",
			 p->item[OLD_PV], p->vg);
		return EXIT_OK;
	}
	if (lvm_run(old))
		complain("note: %s stays in the volume group %s",
			 p->item[OLD_PV], p->vg);
	return EXIT_OK;
}

/* ---- The new cache ---- */

static int make_cache_volume(const struct plan *p)
{
	struct command c = {
		.argv = { "lvcreate", "-qq", "-y", "-n" }, .nr = 4
	};

	if (cache_volume_exists(p))
		return EXIT_OK;
	command_add(&c, p->item[CACHE_NAME]);
	command_add(&c, "-L");
	command_add_text(&c, "%sb", p->item[SIZE]);
	if (is_pool(p)) {
		command_add(&c, "--type");
		command_add(&c, "cache-pool");
		command_add(&c, "--chunksize");
		command_add_text(&c, "%sb", p->item[CHUNK]);
		/* If --size changes the cache, LVM computes the bytes of its metadata. */
		if (!p->o->size && p->item[METADATA_SIZE][0]) {
			command_add(&c, "--poolmetadatasize");
			command_add_text(&c, "%sb", p->item[METADATA_SIZE]);
		}
	}
	command_add(&c, p->vg);
	command_add(&c, p->item[NEW_PV]);
	return command_run(&c);
}

static int attach(const struct plan *p)
{
	struct command c = {
		.argv = { "lvconvert", "-qq", "-y", "--type", "cache" },
		.nr = 5
	};
	char settings[ITEM_LEN], *rest = settings, *pair;

	command_add(&c, is_pool(p) ? "--cachepool" : "--cachevol");
	command_add_text(&c, "%s/%s", p->vg, p->item[CACHE_NAME]);
	command_add(&c, "--cachemode");
	command_add(&c, p->item[MODE]);
	if (p->item[POLICY][0]) {
		command_add(&c, "--cachepolicy");
		command_add(&c, p->item[POLICY]);
	}
	strcpy(settings, p->item[SETTINGS]);
	while ((pair = strsep(&rest, ",")))
		if (*pair) {
			command_add(&c, "--cachesettings");
			command_add(&c, pair);
		}
	if (is_pool(p) && p->item[FORMAT][0] == '1') {
		command_add(&c, "--cachemetadataformat");
		command_add(&c, "1");
	}
	if (!is_pool(p) && strtod(p->item[CHUNK], NULL) > 0) {
		command_add(&c, "--chunksize");
		command_add_text(&c, "%sb", p->item[CHUNK]);
	}
	command_add(&c, p->name);
	return command_run(&c);
}

/* Sets the mode and the settings that only the target keeps. */
static int tell_target(const struct plan *p)
{
	struct options o = { .interval = 1 };
	char settings[ITEM_LEN], mode[ITEM_LEN + 8], *rest = settings, *pair;
	char *args[64] = { (char *)p->name };

	o.args = args;
	o.nr_args = 1;
	strcpy(settings, p->item[OWN_SETTINGS]);
	while ((pair = strsep(&rest, " ")))
		if (*pair && o.nr_args < 62)
			args[o.nr_args++] = pair;
	if (p->item[OWN_MODE][0]) {
		snprintf(mode, sizeof(mode), "mode=%s", p->item[OWN_MODE]);
		args[o.nr_args++] = mode;
	}
	return o.nr_args > 1 ? hearth_set(&o) : EXIT_OK;
}

/* ---- The steps in order ---- */

/* Makes the new cache, and attaches it, when the old cache is off. */
static int put_new_cache_on(const struct plan *p)
{
	int r = remove_missing_device(p) ?: extend_group(p) ?: make_cache_volume(p);

	if (r)
		return r;
	return interrupted ? EXIT_INTERRUPTED : attach(p);
}

static int take_old_cache_off(const struct plan *p, const struct cache_info *c)
{
	int r = p->missing ? make_pv(p) : extend_group(p);

	r = r ?: save_plan(p);
	if (r)
		return r;
	r = p->missing ? uncache_dead(p) : uncache_living(p, c);
	/* If the old cache is still on, a later run begins anew, and needs no plan. */
	if (r && type_is(p->name, "cache"))
		forget_plan(p);
	return r ?: interrupted ? EXIT_INTERRUPTED : EXIT_OK;
}

/* Makes all checks that can be made before anything is changed.  An exit code. */
static int check(const struct plan *p, const struct cache_info *c, enum stage stage)
{
	const struct new_device n = new_device(p, c);
	int r = EXIT_OK;

	if (stage == NEW_CACHE_ON)
		return EXIT_OK;
	/*
	 * The old cache is checked before the device, because --force, which makes the checks of
	 * the device pass, also gives dirty blocks up.  The user shall read of the blocks first.
	 */
	if (stage == OLD_CACHE_ON)
		r = p->missing ? check_dead(p, c) : check_living(p, c);
	if (!r && stage == OLD_CACHE_ON && cache_volume_exists(p)) {
		complain("%s: the volume group has a volume %s, and the new cache needs this name; 'lvrename' gives it another",
			 p->name, p->item[CACHE_NAME]);
		r = EXIT_FAILED;
	}
	return r ?: new_device_check(&n);
}

static int replace(const struct plan *p, const struct cache_info *c,
		   enum stage stage)
{
	int r = check(p, c, stage);

	if (!r && stage == OLD_CACHE_ON && p->missing &&
	    !strcmp(p->item[MODE], "writeback"))
		return take_the_place_of_missing(p);
	if (!r && stage == OLD_CACHE_ON)
		r = take_old_cache_off(p, c);
	if (!r && stage < NEW_CACHE_ON)
		r = put_new_cache_on(p);
	r = r ?: remove_old_device(p) ?: tell_target(p);
	if (!r)
		forget_plan(p);
	return r;
}

/* ---- Messages ---- */

/*
 * The device below the cache's volume @hidden, of a pool or a --cachevol, or its devices with
 * commas.  Allocated; NULL if LVM does not say.
 */
static char *device_of(const struct plan *p, const char *hidden)
{
	char name[2 * FIELD_LEN], v[1][FIELD_LEN];

	snprintf(name, sizeof(name), "%s/%s", p->vg, hidden);
	if (!lvm_report("lvs", "data_lv", name, v, 1))
		return NULL;
	if (v[0][0])
		snprintf(name, sizeof(name), "%s/%s", p->vg, lvm_without_brackets(v[0]));
	return lvm_devices(name);
}

/* Says on which device the cache is, for say_state().  @begun: there is a description. */
static void say_device(const struct plan *p, const char *hidden, const char *mode, bool begun)
{
	char vg[FIELD_LEN] = "", *found = device_of(p, hidden);
	bool joined = is_pv(p->item[NEW_PV], vg) && !strcmp(vg, p->vg);
	const char *device = found;

	if (found && lvm_is_missing(found) && !strchr(found, ','))
		device = "a device that is missing";
	if (!device)
		complain("%s: it is cached now, LVM does not say by which device",
			 p->name);
	else if (begun || same_device(device, p->item[NEW_PV]))
		complain("%s: it is cached by %s now, in %s%s", p->name,
			 device, mode,
			 begun ? "; the same command goes on from here" : "");
	else
		complain("%s: its cache is as it was, on %s, in %s%s%s%s",
			 p->name, device, mode, joined ? "; " : "",
			 joined ? p->item[NEW_PV] : "",
			 joined ? " is in the volume group" : "");
	free(found);
}

/* After a failure it says by which device the volume is cached now, if it is. */
static void say_state(const struct plan *p)
{
	char v[3][FIELD_LEN], *path = plan_path(p);
	bool begun = !access(path, F_OK);

	free(path);
	if (!lvm_report("lvs", "segtype,pool_lv,cache_mode", p->name, v, 3)) {
		complain("%s: LVM does not say what it is now", p->name);
		return;
	}
	lvm_without_brackets(v[1]);
	if (strcmp(v[0], "cache"))
		complain("%s: it is not cached now; %s", p->name, begun ?
			 "the same command goes on from here" :
			 "nothing was changed");
	else
		say_device(p, v[1], v[2], begun);
}

static void print_result(const struct plan *p, int code)
{
	char size[SIZE_LEN];

	if (p->o->json) {
		json_begin(NULL, '{');
		json_string("name", p->name);
		json_bool("complete", !code);
		json_string("from", p->item[OLD_PV]);
		json_string("to", p->item[NEW_PV]);
		json_uint("cache_bytes", strtoull(p->item[SIZE], NULL, 10));
		json_end();
		return;
	}
	if (code)
		printf("%s: stopped; the same command goes on from here\n",
		       p->name);
	else
		printf("%s: cached by %s on %s, in %s\n", p->name,
		       size_text(size, strtod(p->item[SIZE], NULL)),
		       p->item[NEW_PV],
		       p->item[OWN_MODE][0] ? p->item[OWN_MODE] :
					      p->item[MODE]);
}

/* Takes the device and the size from the command line into the plan. */
static void take_options(struct plan *p)
{
	char *path = NULL;

	/* LVM takes only names below /dev. */
	if (strncmp(p->o->args[1], "/dev/", 5))
		path = realpath(p->o->args[1], NULL);
	snprintf(p->item[NEW_PV], FIELD_LEN, "%s", path ?: p->o->args[1]);
	free(path);
	if (p->o->size)
		snprintf(p->item[SIZE], FIELD_LEN, "%.0f",
			 p->o->size * 1024 * MIB);
}

/* Finds how far an earlier run came, and makes the plan or reads that of the earlier run. */
static int find_stage(struct plan *p, const struct cache_info *c, enum stage *stage)
{
	bool cached = type_is(p->name, "cache");
	struct plan was = *p;
	int r;

	if (!cached) {
		*stage = NO_CACHE_ON;
		if (!load_plan(p)) {
			complain("%s: not cached", p->name);
			return EXIT_NO_CACHE;
		}
		take_options(p);
		return EXIT_OK;
	}
	r = make_plan(p, c);
	if (r)
		return r;
	*stage = same_device(p->item[OLD_PV], p->o->args[1]) ? NEW_CACHE_ON :
							       OLD_CACHE_ON;
	if (*stage == NEW_CACHE_ON) {
		*p = was;
		if (!load_plan(p))
			return refuse(p, "its cache is on that device already");
	}
	take_options(p);
	return EXIT_OK;
}

int hearth_replace(const struct options *o)
{
	struct plan *p = calloc(1, sizeof(*p));
	const struct cache_info *c;
	enum stage stage;
	struct caches cs;
	int r;

	if (!p)
		abort();
	p->o = o;
	r = lvm_take_name(o->args[0], p->name, p->vg, p->lv) ? caches_read(&cs) : EXIT_USAGE;
	if (r)
		goto out;
	catch_signals();
	c = caches_find(&cs, p->name);
	r = find_stage(p, c, &stage);
	if (r)
		goto free_caches;
	r = replace(p, c, stage);
	if (!r || r == EXIT_INTERRUPTED)
		print_result(p, r);
	if (r)
		say_state(p);
free_caches:
	caches_free(&cs);
out:
	free(p);
	return r;
}
