// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth origin: shows the result of the comparison of a cache with its origin, and tells
 * the target which of the two is right.
 *
 * A table that was refused takes no messages.  So the answer goes to a parameter of the
 * module (dm-target/cache-answer.c), and holds for the next activation of this volume.
 * This file activates LVM's volumes itself.
 *
 * It must not compare a block itself: the target does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache-info.h"
#include "hearth.h"
#include "lvm.h"
#include "text.h"

#define PARAMETER	"/sys/module/dm_cache/parameters/keep"

/* ---- The comparison's outcome ---- */

static const struct {
	const char *word, *text;
} findings[] = {
	{ "same", "no block that was compared differs from the origin" },
	{ "unchecked", "no block was compared with the origin" },
	{ "changed", "the origin was written without the cache, which began empty" },
	{ "cache-kept", "the cache was kept, and is written over the origin" },
	{ "origin-kept", "the origin was kept, and the cache began empty" },
};

static const char *text_of(const char *word)
{
	unsigned int i;

	for (i = 0; i < sizeof(findings) / sizeof(findings[0]); i++)
		if (!strcmp(word, findings[i].word))
			return findings[i].text;
	return word;
}

static int show(const char *name, bool json)
{
	struct caches cs;
	struct cache_info *c;
	int r = caches_get(&cs, name, &c);

	if (r)
		return r;
	if (!c->origin_state[0]) {
		complain("%s: the target that is loaded compares nothing; see hearth doctor",
			 c->name);
		r = EXIT_OLD_TARGET;
	} else if (json) {
		json_begin(NULL, '{');
		json_string("name", c->name);
		json_string("origin", c->origin_state);
		json_end();
	} else {
		printf("%s: %s\n", c->name, text_of(c->origin_state));
	}
	caches_free(&cs);
	return r;
}

/* ---- The answer ---- */

struct answer {
	const char *keep;		/* "cache" or "origin" */
	const char *name;		/* as the user gave it, without "/dev/" */
	char volume[2 * DM_NAME_MAX];	/* VG/LV, for lvchange; "" if the cache is not LVM's */
	char left_over[DM_NAME_MAX];	/* the device of the refused volume; "" if it is gone */
	char known_as[DM_NAME_MAX + 2];	/* the UUID or the name by which the target knows it */
};

static int write_parameter(const char *text)
{
	char *path = root_path("%s", PARAMETER);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), r = 0;

	free(path);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

static int tell(const struct answer *a)
{
	const char *const modprobe[] = { "modprobe", "-q", "dm-cache", NULL };
	char text[2 * DM_NAME_MAX];
	int r;

	snprintf(text, sizeof(text), "%s:%s\n", a->keep, a->known_as);
	r = write_parameter(text);
	if (r == -ENOENT && !lvm_run(modprobe))
		r = write_parameter(text);
	if (!r)
		return EXIT_OK;
	if (r == -ENOENT) {
		complain("the target that is loaded compares nothing; see hearth doctor");
		return EXIT_OLD_TARGET;
	}
	complain(PARAMETER ": %s", strerror(-r));
	return r == -EACCES ? EXIT_NO_DM : EXIT_FAILED;
}

/*
 * The device's UUID in device-mapper: "LVM-" and the UUIDs of the group and the volume
 * without the hyphens with which LVM prints them.
 */
static bool find_uuid(const char *volume, char *uuid, size_t len)
{
	char v[2][FIELD_LEN];
	const char *at;
	size_t n, i;

	if (!lvm_report("lvs", "vg_uuid,lv_uuid", volume, v, 2))
		return false;
	n = snprintf(uuid, len, "LVM-");
	for (i = 0; i < 2; i++)
		for (at = v[i]; *at && n < len - 1; at++)
			if (*at != '-')
				uuid[n++] = *at;
	uuid[n] = '\0';
	return true;
}

/* Finds the UUID by which the target knows LVM's volume.  An exit code. */
static int find_volume(struct answer *a)
{
	char type[64], active[16], below[3 * DM_NAME_MAX];

	if (lvm_volume(a->name, type, sizeof(type), active, sizeof(active))) {
		complain("%s: no such volume", a->name);
		return EXIT_NO_CACHE;
	}
	snprintf(a->volume, sizeof(a->volume), "%s", a->name);
	snprintf(below, sizeof(below), "%s%s", a->name,
		 strcmp(type, "thin-pool") ? "" : "_tdata");
	if (strcmp(type, "cache") &&
	    (lvm_volume(below, type, sizeof(type), active, sizeof(active)) ||
	     strcmp(type, "cache"))) {
		complain("%s: not cached (its type is %s)", a->name, type);
		return EXIT_NO_CACHE;
	}
	if (find_uuid(below, a->known_as, sizeof(a->known_as)))
		return EXIT_OK;
	complain("%s: LVM does not tell its UUID", below);
	return EXIT_FAILED;
}

static int find(struct answer *a)
{
	const struct cache_info *c;
	struct caches cs;
	bool active;
	int r = caches_read(&cs);

	if (r)
		return r;
	c = caches_find(&cs, a->name);
	active = c;
	if (c && c->dm->suspended && strchr(a->name, '/') && !lvm_has_table(a->name)) {
		snprintf(a->left_over, sizeof(a->left_over), "%s", c->dm->name);
		active = false;
	}
	caches_free(&cs);
	if (active) {
		complain("%s: it is active; which is right is decided as it is activated, so deactivate it first",
			 a->name);
		return EXIT_FAILED;
	}
	if (strchr(a->name, '/'))
		return find_volume(a);
	snprintf(a->known_as, sizeof(a->known_as), "%s", a->name);
	return EXIT_OK;
}

static bool agreed(const struct answer *a, bool yes)
{
	if (!strcmp(a->keep, "cache"))
		fprintf(stderr, "%s: all blocks that are in the cache will be written over the origin. Anything that was written to these blocks of the origin without the cache is lost.\n",
			a->name);
	else
		fprintf(stderr, "%s: the cache will be emptied. Its dirty blocks, which only the cache has, are lost.\n",
			a->name);
	if (yes)
		return true;
	return user_agrees("Do this?");
}

static void take_back(void)
{
	int r = write_parameter("\n");

	if (r)
		complain(PARAMETER ": the answer stays there, and has to be removed: %s",
			 strerror(-r));
}

/*
 * If the target refuses a volume that has a snapshot, LVM leaves devices behind: the cache,
 * suspended, and volumes without a table that hold it.  LVM then removes these volumes, but
 * not the cache, and activates nothing because the devices below the cache are there.
 */
static bool remove_left_over(const struct answer *a)
{
	const char *const argv[] = {
		"lvchange", "-qq", "-an", "--", a->volume, NULL
	};
	struct dm_device d;
	char said[DM_NAME_MAX];
	int r;

	/* LVM complains of the cache that it leaves, and may fail because of it. */
	(void)command_output(argv, said, sizeof(said));
	r = dm_look(a->left_over, &d);
	if (!r)
		r = dm_remove_tree(&d);
	free(d.table);
	free(d.status);
	if (!r || r == -ENXIO)
		return true;
	complain("%s: the device %s is left from an activation that was refused, and cannot be removed: %s",
		 a->name, a->left_over, dm_error()[0] ? dm_error() : strerror(-r));
	return false;
}

/* Activates the volume, and takes the answer back even if that fails: it was for this once. */
static int activate(const struct answer *a, bool json)
{
	const char *const argv[] = {
		"lvchange", "-qq", "-ay", "--", a->volume, NULL
	};
	int code = lvm_watch(argv, NULL, NULL);

	take_back();
	if (code && interrupted) {
		complain("%s: stopped; the answer was for this activation, and the next one does not get it",
			 a->name);
		return EXIT_INTERRUPTED;
	}
	if (code) {
		complain("%s: LVM did not activate it; see above and dmesg",
			 a->name);
		return EXIT_FAILED;
	}
	complain("note: check the file system before %s is mounted", a->name);
	return show(a->name, json);
}

static int answer(const struct options *o)
{
	struct answer a = { .keep = o->keep, .name = bare_name(o->args[0]) };
	int r;

	if (strcmp(a.keep, "cache") && strcmp(a.keep, "origin")) {
		complain("--keep takes cache or origin");
		return EXIT_USAGE;
	}
	r = find(&a);
	if (r)
		return r;
	if (!agreed(&a, o->yes))
		return EXIT_FAILED;
	/* A later table would take the answer if a signal could end hearth here. */
	if (a.volume[0])
		catch_signals();
	if (a.left_over[0] && !remove_left_over(&a))
		return EXIT_FAILED;
	r = tell(&a);
	if (r)
		return r;
	if (a.volume[0])
		return activate(&a, o->json);
	complain("note: make %s again now; the answer is for the next time that it is made",
		 a.name);
	return EXIT_OK;
}

int hearth_origin(const struct options *o)
{
	if (o->keep)
		return answer(o);
	if (o->yes) {
		complain("--yes goes with --keep");
		return EXIT_USAGE;
	}
	return show(o->args[0], o->json);
}
