// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policies of this program. Each registers itself by a constructor, and has
 * its aliases put into a section of their own by os/user.h.
 */
#include "registry.h"
#include "cache-setting-list.h"
#include "known-keys.h"

#define MAX_POLICIES	32	/* hearth has four; one more is refused */

static const struct cache_policy_ops *registered[MAX_POLICIES];
static unsigned int nr_registered;

int cache_policy_register(const struct cache_policy_ops *ops)
{
	if (nr_registered == MAX_POLICIES)
		return -ENOSPC;
	registered[nr_registered++] = ops;
	return 0;
}

void cache_policy_unregister(const struct cache_policy_ops *ops)
{
	(void)ops;
}

static bool has_name(const struct cache_policy_ops *ops, const char *name)
{
	const char * const *alias;

	if (!strcmp(ops->name, name))
		return true;
	for (alias = ops->aliases; alias && *alias; alias++)
		if (!strcmp(*alias, name))
			return true;
	return false;
}

const struct cache_policy_ops *policy_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_registered; i++)
		if (has_name(registered[i], name))
			return registered[i];
	return NULL;
}

const struct cache_policy_ops *policy_nth(unsigned int i)
{
	return i < nr_registered ? registered[i] : NULL;
}

struct cache_policy *policy_make(const struct cache_policy_ops *ops,
				 const struct cache_policy_params *params)
{
	struct cache_policy *p = ops->create(params);

	if (p) {
		p->ops = ops;
		p->params = *params;
	}
	return p;
}

const struct cache_tunable *policy_tunable(const struct cache_policy_ops *ops,
					   const char *key)
{
	const struct cache_tunable *t;

	for (t = ops->tunables; t && t->key; t++)
		if (!strcmp(t->key, key))
			return t;
	return NULL;
}

static u64 *tunable_at(struct cache_policy *p, const struct cache_tunable *t)
{
	return (u64 *)((char *)p + t->offset);
}

u64 policy_get(struct cache_policy *p, const struct cache_tunable *t)
{
	return READ_ONCE(*tunable_at(p, t));
}

int policy_set(struct cache_policy *p, const char *key, u64 value)
{
	const struct cache_tunable *t = policy_tunable(p->ops, key);

	if (!t)
		return -ENOENT;
	if (value < t->min || value > t->max)
		return -ERANGE;
	WRITE_ONCE(*tunable_at(p, t), value);
	return 0;
}

#define CORE_KEY(key, unit, def, min, max, help)	#key,
static const char * const core_keys[] = {
	CACHE_SETTINGS(CORE_KEY)
};

static bool is_in(const char * const *keys, unsigned int nr, const char *key)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

/* All aliases of the policies that are linked in; the linker names the ends. */
extern const char * const __start_os_aliases[], * const __stop_os_aliases[];

static bool is_alias(const char *key)
{
	const size_t len = strlen(CACHE_SETTING_ALIAS_PREFIX);
	const char * const *alias;

	for (alias = __start_os_aliases; alias < __stop_os_aliases; alias++)
		if (!strncmp(*alias, CACHE_SETTING_ALIAS_PREFIX, len) &&
		    !strcmp(*alias + len, key))
			return true;
	return false;
}

bool policy_key_known(const char *key)
{
	return is_in(core_keys, ARRAY_SIZE(core_keys), key) ||
	       is_in(cache_stock_keys, ARRAY_SIZE(cache_stock_keys), key) ||
	       is_alias(key);
}
