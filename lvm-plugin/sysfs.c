// SPDX-License-Identifier: GPL-2.0-only
/*
 * Facts about block devices, and about the devices below them, from /sys.  Only the levels
 * of device-mapper's RAID come from its tables, because /sys does not have them.
 *
 * It must not know caches.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sysfs.h"
#include "util.h"

#define MAX_DEPTH	16	/* levels of devices on devices. Chosen, so that a loop ends */

/* For root_path() and its like: the device's numbers and a file follow. */
#define OF_DEVICE	"/sys/dev/block/%u:%u/%s"

static bool has(struct device d, const char *file)
{
	return !root_access(F_OK, OF_DEVICE, d.major, d.minor, file);
}

static DIR *open_directory(struct device d, const char *name)
{
	char *path = root_path(OF_DEVICE, d.major, d.minor, name);
	DIR *dir = opendir(path);

	free(path);
	return dir;
}

static bool read_text(struct device d, const char *file, char *text, int len)
{
	FILE *f = root_open(OF_DEVICE, d.major, d.minor, file);
	bool ok;

	if (!f)
		return false;
	ok = fgets(text, len, f);
	fclose(f);
	return ok;
}

static bool read_line(struct device d, const char *file, char *text, int len)
{
	if (!read_text(d, file, text, len))
		return false;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

long sys_number(struct device d, const char *file, long otherwise)
{
	char text[64], up[64];
	long n;

	/* A partition has no queue/, and its disk's directory is the one above. */
	snprintf(up, sizeof(up), "../%s", file);
	if (!read_text(d, file, text, sizeof(text)) &&
	    !read_text(d, up, text, sizeof(text)))
		return otherwise;
	return sscanf(text, "%ld", &n) == 1 ? n : otherwise;
}

/* The disk that a partition is a part of; otherwise the device itself. */
static struct device disk_of(struct device d)
{
	struct device disk;
	char text[32];

	if (has(d, "partition") &&
	    read_text(d, "../dev", text, sizeof(text)) &&
	    sscanf(text, "%u:%u", &disk.major, &disk.minor) == 2)
		return disk;
	return d;
}

static bool is_same(struct device d, struct device wanted)
{
	return d.major == wanted.major && d.minor == wanted.minor;
}

/* Opens the directory of the devices below @d. The caller closes it. NULL if there is none. */
static DIR *open_below(struct device d)
{
	return open_directory(d, "slaves");
}

/* Reads the next device directly below @d from @dir, of open_below(). False after the last. */
static bool next_below(struct device d, DIR *dir, struct device *below)
{
	char path[sizeof("slaves//dev") + NAME_MAX], text[32];
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "slaves/%s/dev", e->d_name);
		if (e->d_name[0] != '.' && read_text(d, path, text, sizeof(text)) &&
		    sscanf(text, "%u:%u", &below->major, &below->minor) == 2)
			return true;
	}
	return false;
}

/* Looks at one device on the way down.  True ends the search. */
typedef bool (*looker)(struct device d, const void *arg);

/* Is @look true for @d, or for a device at most @depth levels below it? */
static bool search(struct device d, looker look, const void *arg, int depth)
{
	struct device below;
	bool hit = false;
	DIR *dir;

	if (look(d, arg))
		return true;
	dir = depth ? open_below(d) : NULL;
	while (!hit && next_below(d, dir, &below))
		hit = search(below, look, arg, depth - 1);
	if (dir)
		closedir(dir);
	return hit;
}

static bool is_it(struct device d, const void *wanted)
{
	return is_same(d, *(const struct device *)wanted);
}

static bool is_on_it(struct device d, const void *disk)
{
	return is_same(disk_of(d), *(const struct device *)disk);
}

bool stands_on(struct device d, struct device wanted)
{
	return search(d, is_it, &wanted, MAX_DEPTH);
}

bool shares_disk(struct device d, struct device other)
{
	other = disk_of(other);
	return search(d, is_on_it, &other, MAX_DEPTH);
}

/* ---- Redundancy ---- */

/*
 * RAID 0, which dm also has as raid0_meta, and md's levels without "raid" in their names, such
 * as linear, keep one copy.
 */
static bool level_is_redundant(const char *level)
{
	return !strncmp(level, "raid", 4) && strcmp(level, "raid0") &&
	       strcmp(level, "raid0_meta");
}

static bool target_is_redundant(const char *type, const char *words)
{
	char level[16];

	if (!strcmp(type, "mirror"))
		return true;
	return !strcmp(type, "raid") && sscanf(words, "%15s", level) == 1 &&
	       level_is_redundant(level);
}

/* The mirror by which pvmove copies gives no redundancy: it goes away when it is whole. */
static bool is_pvmove(struct device d)
{
	char name[DM_NAME_MAX], uuid[DM_NAME_MAX + 2], vg[DM_NAME_MAX], lv[DM_NAME_MAX];

	return device_dm_name(d, name, sizeof(name), uuid, sizeof(uuid)) &&
	       lvm_split_name(name, uuid, vg, lv) && !strncmp(lv, "pvmove", 6);
}

static bool layer_is_redundant(struct device d)
{
	char level[32];

	if (read_line(d, "md/level", level, sizeof(level)))
		return level_is_redundant(level);
	return has(d, "dm/name") && !is_pvmove(d) &&
	       dm_all_targets(d.major, d.minor, target_is_redundant);
}

/* A device that is not redundant itself is so if all devices below it are. */
static bool has_redundancy(struct device d, int depth)
{
	struct device below;
	bool any = false, all = true;
	DIR *dir;

	d = disk_of(d);
	if (layer_is_redundant(d))
		return true;
	dir = depth ? open_below(d) : NULL;
	while (all && next_below(d, dir, &below)) {
		any = true;
		all = has_redundancy(below, depth - 1);
	}
	if (dir)
		closedir(dir);
	return any && all;
}

bool is_redundant(struct device d)
{
	return has_redundancy(d, MAX_DEPTH);
}

/* ---- Names ---- */

void device_node(struct device d, char *node)
{
	FILE *f = root_open(OF_DEVICE, d.major, d.minor, "uevent");
	char line[256];

	snprintf(node, NODE_LEN, "%u:%u", d.major, d.minor);
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "DEVNAME=", 8))
			snprintf(node, NODE_LEN, "/dev/%s", line + 8);
	}
	if (f)
		fclose(f);
}

bool device_dm_name(struct device d, char *name, size_t name_len, char *uuid,
		    size_t uuid_len)
{
	if (!read_line(d, "dm/name", name, name_len))
		return false;
	if (!read_line(d, "dm/uuid", uuid, uuid_len))
		uuid[0] = '\0';
	return true;
}

void device_name(struct device d, char *name)
{
	char mapped[DM_NAME_MAX], uuid[DM_NAME_MAX + 2];
	char vg[DM_NAME_MAX], lv[DM_NAME_MAX];

	if (!device_dm_name(d, mapped, sizeof(mapped), uuid, sizeof(uuid)))
		device_node(d, name);
	else if (lvm_split_name(mapped, uuid, vg, lv))
		snprintf(name, NODE_LEN, "%s/%s", vg, lv);
	else
		snprintf(name, NODE_LEN, "%s", mapped);
}

/* Adds @node to the list, unless the list has it. */
static void add_node(char *nodes, size_t len, const char *node)
{
	size_t used = strlen(nodes);

	if (list_has(nodes, node))
		return;
	snprintf(nodes + used, len - used, "%s%s", used ? "," : "", node);
}

static void add_disks(struct device d, char *nodes, size_t len, int depth)
{
	DIR *dir = depth ? open_below(d) : NULL;
	struct device below;
	char node[NODE_LEN];
	bool any = false;

	while (next_below(d, dir, &below)) {
		any = true;
		add_disks(below, nodes, len, depth - 1);
	}
	if (dir)
		closedir(dir);
	if (any)
		return;
	device_node(d, node);
	add_node(nodes, len, node);
}

void device_disks(struct device d, char *nodes, size_t len)
{
	nodes[0] = '\0';
	add_disks(d, nodes, len, MAX_DEPTH);
}

/* ---- Transports ---- */

/*
 * Reads the transport of the NVMe controller at @file, "pcie" or "tcp" say, and sets
 * @transport if it is remote.  False if there is no such file.
 */
static bool nvme_transport(struct device d, const char *file, const char **transport)
{
	static const char * const remote[][2] = {
		{ "tcp", "nvme-tcp" }, { "rdma", "nvme-rdma" }, { "fc", "nvme-fc" },
		{ "loop", "nvme-loop" },
	};
	char text[32];
	unsigned int i;

	if (!read_line(d, file, text, sizeof(text)))
		return false;
	for (i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
		if (!strcmp(text, remote[i][0]))
			*transport = remote[i][1];
	return true;
}

/*
 * An NVMe disk with several paths has the subsystem for its parent.  The controllers are in
 * the subsystem, and the first of them counts.
 */
static void search_subsystem(struct device d, const char **transport)
{
	char path[sizeof("device//transport") + NAME_MAX];
	DIR *dir = open_directory(d, "device");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "device/%s/transport", e->d_name);
		if (!strncmp(e->d_name, "nvme", 4) && nvme_transport(d, path, transport))
			break;
	}
	if (dir)
		closedir(dir);
}

/* Sets @transport by the disk's name, or by the SCSI host that its directory is below. */
static void by_place(struct device d, const char **transport)
{
	static const char * const names[] = { "rbd", "drbd", "nbd" };
	char node[NODE_LEN], *path, *real;
	unsigned int i;

	device_node(d, node);
	for (i = 0; i < 3; i++)
		if (!strncmp(node, "/dev/", 5) &&
		    !strncmp(node + 5, names[i], strlen(names[i])))
			*transport = names[i];
	path = root_path(OF_DEVICE, d.major, d.minor, "");
	real = realpath(path, NULL);
	free(path);
	if (real && strstr(real, "/session"))
		*transport = "iscsi";
	else if (real && strstr(real, "/rport-"))
		*transport = "fc";
	free(real);
}

static bool is_remote(struct device d, const void *arg)
{
	const char **transport = (const char **)arg;
	struct device disk = disk_of(d);

	by_place(disk, transport);
	if (!nvme_transport(disk, "device/transport", transport))
		search_subsystem(disk, transport);
	return strcmp(*transport, "local");
}

const char *device_transport(struct device d)
{
	const char *transport = "local";

	search(d, is_remote, &transport, MAX_DEPTH);
	return transport;
}

const char *kernel_release(void)
{
	static struct utsname u;

	uname(&u);
	return u.release;
}
