// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's device-mapper, through libdevmapper.
 *
 * It must not print: it keeps libdevmapper's first complaint for dm_error().  It must not
 * know what the words of a table or of a status line mean.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dm.h"

static char complaint[256];

__attribute__((format(printf, 5, 6)))
static void keep_complaint(int level, const char *file, int line, int errnum,
			   const char *format, ...)
{
	va_list ap;

	(void)file;
	(void)line;
	(void)errnum;
	if (level > 3 || complaint[0])	/* 3 is an error; warnings have a greater level */
		return;
	va_start(ap, format);
	vsnprintf(complaint, sizeof(complaint), format, ap);
	va_end(ap);
}

const char *dm_error(void)
{
	return complaint;
}

const char *dm_root(void)
{
	return "";
}

/* Runs @task, and destroys it after an error.  0, or the error, negative. */
static int run(struct dm_task *task)
{
	int error;

	if (dm_task_run(task))
		return 0;
	error = dm_task_get_errno(task);
	dm_task_destroy(task);
	return error ? -error : -EIO;
}

void dm_quiet(void)
{
	complaint[0] = '\0';
	dm_log_with_errno_init(keep_complaint);
}

static struct dm_task *new_task(int type, const char *name)
{
	struct dm_task *task;

	dm_quiet();
	task = dm_task_create(type);
	if (task && name && !dm_task_set_name(task, name)) {
		dm_task_destroy(task);
		return NULL;
	}
	return task;
}

/*
 * 0 if device-mapper can be used.  Callers ask this first, because libdevmapper would
 * otherwise try modprobe and mknod.
 */
static int check_access(void)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return close(fd);
	if (errno == ENOENT && !geteuid() &&
	    !access("/sys/class/misc/device-mapper", F_OK))
		return 0;
	return errno == EACCES || errno == EPERM || geteuid() ? -EACCES :
								-ENODEV;
}

/* ---- Devices ---- */

/*
 * Asks for the table or the status, by @type, of the device's first target "cache".
 * @words is allocated.  -ENOENT if the device has no such target.
 */
static int ask(int type, const char *name, struct dm_device *d, char **words)
{
	struct dm_task *task = new_task(type, name);
	uint64_t start, length;
	char *target, *params;
	unsigned int nr = 0;
	struct dm_info info;
	void *next = NULL;
	bool any = false;
	int r;

	*words = NULL;
	if (!task)
		return -ENOMEM;
	dm_task_no_flush(task);
	r = run(task);
	if (r)
		return r;
	do {
		next = dm_get_next_target(task, next, &start, &length, &target,
					  &params);
		nr++;
		if (any || !target || strcmp(target, "cache"))
			continue;
		any = true;
		*words = strdup(params);
		d->start = start;
		d->length = length;
	} while (next);
	d->alone = nr == 1;
	if (dm_task_get_info(task, &info)) {
		d->major = info.major;
		d->minor = info.minor;
		d->suspended = info.suspended;
	}
	snprintf(d->uuid, sizeof(d->uuid), "%s", dm_task_get_uuid(task) ?: "");
	dm_task_destroy(task);
	if (any && !*words)
		return -ENOMEM;
	return any ? 0 : -ENOENT;
}

static int look_at(const char *name, struct dm_device *d)
{
	int r;

	memset(d, 0, sizeof(*d));
	snprintf(d->name, sizeof(d->name), "%s", name);
	r = ask(DM_DEVICE_TABLE, name, d, &d->table);
	if (r)
		return r;
	r = ask(DM_DEVICE_STATUS, name, d, &d->status);
	if (!r)
		return 0;
	free(d->table);
	d->table = NULL;
	return r;
}

int dm_look(const char *name, struct dm_device *d)
{
	int r = check_access();

	if (!r)
		return look_at(name, d);
	memset(d, 0, sizeof(*d));
	return r;
}

static int add(struct dm_device **devices, unsigned int *nr, const char *name)
{
	struct dm_device d, *more;
	int r = look_at(name, &d);

	/* The device is no cache, or it went away meanwhile. */
	if (r == -ENOENT || r == -ENXIO)
		return 0;
	if (r)
		return r;
	more = realloc(*devices, (*nr + 1) * sizeof(d));
	if (!more) {
		free(d.table);
		free(d.status);
		return -ENOMEM;
	}
	*devices = more;
	more[(*nr)++] = d;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct dm_device *)a)->name,
		      ((const struct dm_device *)b)->name);
}

int dm_list_caches(struct dm_device **devices, unsigned int *nr)
{
	struct dm_names *names;
	struct dm_task *task;
	int r = check_access();

	*devices = NULL;
	*nr = 0;
	if (r)
		return r;
	task = new_task(DM_DEVICE_LIST, NULL);
	if (!task)
		return -ENOMEM;
	r = run(task);
	if (r)
		return r;
	names = dm_task_get_names(task);
	while (names && names->dev && !r) {
		r = add(devices, nr, names->name);
		if (!names->next)
			break;
		names = (struct dm_names *)((char *)names + names->next);
	}
	dm_task_destroy(task);
	if (*nr)
		qsort(*devices, *nr, sizeof(**devices), by_name);
	return r;
}

void dm_free_caches(struct dm_device *devices, unsigned int nr)
{
	while (nr--) {
		free(devices[nr].table);
		free(devices[nr].status);
	}
	free(devices);
}

bool dm_all_targets(uint32_t major, uint32_t minor,
		    bool (*is)(const char *type, const char *words))
{
	struct dm_task *task = new_task(DM_DEVICE_TABLE, NULL);
	uint64_t start, length;
	char *type, *words;
	void *next = NULL;
	bool all = true;

	if (!task)
		return false;
	dm_task_set_major(task, major);
	dm_task_set_minor(task, minor);
	/* The table of an encrypted device has its key, so the buffers are wiped afterwards. */
	dm_task_secure_data(task);
	if (run(task))
		return false;
	do {
		next = dm_get_next_target(task, next, &start, &length, &type, &words);
		all = type && is(type, words);
	} while (next && all);
	dm_task_destroy(task);
	return all;
}

int dm_block_device(const char *path, uint32_t *major, uint32_t *minor,
		    uint64_t *bytes)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), r = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		r = -errno;
	else if (!S_ISBLK(st.st_mode))
		r = -ENOTBLK;
	else if (ioctl(fd, BLKGETSIZE64, bytes))
		r = -errno;
	close(fd);
	if (r)
		return r;
	*major = major(st.st_rdev);
	*minor = minor(st.st_rdev);
	return 0;
}

int dm_unclaimed(const char *path)
{
	int fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);

	return fd < 0 ? -errno : close(fd);
}

/* ---- Changes ---- */

int dm_send(const struct dm_device *d, const char *message, char **reply)
{
	struct dm_task *task = new_task(DM_DEVICE_TARGET_MSG, d->name);
	const char *said;
	int r;

	if (reply)
		*reply = NULL;
	if (!task)
		return -ENOMEM;
	dm_task_set_sector(task, d->start);
	if (!dm_task_set_message(task, message)) {
		dm_task_destroy(task);
		return -ENOMEM;
	}
	r = run(task);
	if (r)
		return r;
	said = dm_task_get_message_response(task);
	if (reply && said)
		*reply = strdup(said);
	dm_task_destroy(task);
	return 0;
}

static int load(const struct dm_device *d, const char *type, const char *table)
{
	struct dm_task *task = new_task(DM_DEVICE_RELOAD, d->name);
	int r;

	if (!task)
		return -ENOMEM;
	if (!dm_task_add_target(task, d->start, d->length, type, table)) {
		dm_task_destroy(task);
		return -ENOMEM;
	}
	r = run(task);
	if (!r)
		dm_task_destroy(task);
	return r;
}

static int simple(int type, const struct dm_device *d)
{
	struct dm_task *task = new_task(type, d->name);
	int r;

	if (!task)
		return -ENOMEM;
	r = run(task);
	if (!r)
		dm_task_destroy(task);
	return r;
}

int dm_replace(const struct dm_device *d, const char *type, const char *table)
{
	char first[sizeof(complaint)];
	int r = load(d, type, table);

	if (r)
		return r;
	r = simple(DM_DEVICE_SUSPEND, d);
	if (r) {
		simple(DM_DEVICE_CLEAR, d);
		return r;
	}
	r = simple(DM_DEVICE_RESUME, d);
	if (!r)
		return 0;
	/*
	 * If the kernel refused the switch, this resumes the old table.  If the new target did
	 * not resume, the old table is gone, and this tries the new one again.
	 */
	strcpy(first, complaint);
	simple(DM_DEVICE_CLEAR, d);
	simple(DM_DEVICE_RESUME, d);
	strcpy(complaint, first);
	return r;
}

#define GROUP_LEN	(4 + 32)	/* "LVM-" and the UUID of the volume group begin a UUID */

int dm_remove_tree(const struct dm_device *d)
{
	struct dm_tree *tree;
	struct dm_tree_node *root;
	int r = -ENOMEM;

	dm_quiet();
	tree = dm_tree_create();
	if (!tree)
		return -ENOMEM;
	if (dm_tree_add_dev(tree, d->major, d->minor)) {
		root = dm_tree_find_node(tree, 0, 0);
		dm_tree_retry_remove(root);
		r = dm_tree_deactivate_children(root, d->uuid, GROUP_LEN) ? 0 : -EBUSY;
		dm_udev_wait(dm_tree_get_cookie(root));
	}
	dm_tree_free(tree);
	return r;
}

/* ---- The target ---- */

int dm_cache_version(uint32_t version[3])
{
	struct dm_versions *v, *last = NULL;
	struct dm_task *task;
	int r = check_access();

	if (r)
		return r;
	task = new_task(DM_DEVICE_LIST_VERSIONS, NULL);
	if (!task)
		return -ENOMEM;
	r = run(task);
	if (r)
		return r;
	r = -ENOENT;
	for (v = dm_task_get_versions(task); v && v != last && r;) {
		last = v;
		if (!strcmp(v->name, "cache")) {
			memcpy(version, v->version, sizeof(v->version));
			r = 0;
		}
		v = (struct dm_versions *)((char *)v + v->next);
	}
	dm_task_destroy(task);
	return r;
}
