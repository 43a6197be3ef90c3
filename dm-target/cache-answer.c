// SPDX-License-Identifier: GPL-2.0-only
/*
 * The administrator's answer: which is right, a cache or the origin that was written
 * without it?
 *
 * A message cannot carry the answer, because the table is refused and no target
 * would get the message.  The table cannot carry it, because lvm2 writes the
 * tables.  So the answer is a parameter of the module, "keep":
 *
 *	cache:NAME	the cache named NAME is right
 *	origin:NAME	the origin of that cache is right
 *	cache:*		the same for every cache whose origin differs, until
 *	origin:*	something else is written
 *
 * NAME is the name of the device-mapper device, or the UUID of a volume of LVM's
 * (to which LVM adds a suffix where a volume has a layer below it).  The answer to a
 * name is for one activation.
 *
 * This file owns the parameter.  It must not know what an answer does.
 */
#include "cache-answer.h"
#include "cache-table.h"

#include <linux/dm-ioctl.h>
#include <linux/module.h>

/* "origin:", a name or a UUID, and a newline; DM_UUID_LEN counts the NUL at the end. */
#define ANSWER_LEN	(DM_UUID_LEN + 8)
/* A volume of LVM's: "LVM-", and the UUIDs of the volume group and the volume. */
#define LVM_UUID_LEN	68

static char answer[ANSWER_LEN];	/* without a newline; guarded by answer_lock */
static DEFINE_SPINLOCK(answer_lock);

static const char * const words[] = {
	[ANSWER_CACHE] = "cache:",
	[ANSWER_ORIGIN] = "origin:",
};

/* Parses the answer in @text; *@name becomes the name of its cache. */
static enum cache_answer parse(const char *text, const char **name)
{
	enum cache_answer a;

	for (a = ANSWER_CACHE; a <= ANSWER_ORIGIN; a++) {
		*name = text + strlen(words[a]);
		if (!strncmp(text, words[a], strlen(words[a])))
			return **name ? a : ANSWER_NONE;
	}
	return ANSWER_NONE;
}

static int set_answer(const char *value, const struct kernel_param *param)
{
	char text[ANSWER_LEN];
	const char *name;

	if (strscpy(text, value, sizeof(text)) < 0)
		return -EINVAL;
	text[strcspn(text, "\n")] = '\0';
	if (*text && !parse(text, &name))
		return -EINVAL;
	spin_lock(&answer_lock);
	strscpy(answer, text, sizeof(answer));
	spin_unlock(&answer_lock);
	return 0;
}

static int get_answer(char *buffer, const struct kernel_param *param)
{
	int len;

	spin_lock(&answer_lock);
	len = sysfs_emit(buffer, "%s\n", answer);
	spin_unlock(&answer_lock);
	return len;
}

static const struct kernel_param_ops answer_ops = {
	.set = set_answer,
	.get = get_answer,
};
module_param_cb(keep, &answer_ops, NULL, 0600);
MODULE_PARM_DESC(keep, "cache:NAME or origin:NAME: which of the two is right, where they differ");

struct names {
	char name[DM_NAME_LEN], uuid[DM_UUID_LEN];
};

static void get_names(struct cache_table *t, struct names *n)
{
	if (dm_copy_name_and_uuid(dm_table_get_md(t->ti->table), n->name, n->uuid))
		memset(n, 0, sizeof(*n));
}

static bool is_called(const struct names *n, const char *name)
{
	return !strcmp(n->name, name) ||
	       (strlen(name) == LVM_UUID_LEN &&
		!strncmp(n->uuid, name, LVM_UUID_LEN));
}

enum cache_answer cache_answer_of(struct cache_table *t, enum answer_scope scope)
{
	enum cache_answer a;
	const char *name;
	struct names n;
	bool all;

	get_names(t, &n);
	spin_lock(&answer_lock);
	a = parse(answer, &name);
	all = a && !strcmp(name, "*");
	if (a && (scope == ANSWER_TO_ALL ? !all : all || !is_called(&n, name)))
		a = ANSWER_NONE;
	spin_unlock(&answer_lock);
	return a;
}

void cache_answer_used(struct cache_table *t)
{
	const char *name;
	struct names n;

	get_names(t, &n);
	spin_lock(&answer_lock);
	if (parse(answer, &name) && is_called(&n, name))
		answer[0] = '\0';
	spin_unlock(&answer_lock);
}
