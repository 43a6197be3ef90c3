// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of policies, and the parsing of their settings.
 *
 * It owns the list of policy modules that are loaded and the rules by which a
 * setting is accepted: the key and the range come from the policy's table, so
 * that every policy refuses alike.  It does not know any policy by name.
 */
#include "cache.h"
#include "../policies/known-keys.h"

#include <linux/module.h>

struct registered_policy {
	struct list_head list;
	const struct cache_policy_ops *ops;
};

static DEFINE_SPINLOCK(registry_lock);	/* guards registry */
static LIST_HEAD(registry);

static bool answers_to(const struct cache_policy_ops *ops, const char *name)
{
	const char * const *alias;

	if (!strcmp(ops->name, name))
		return true;
	for (alias = ops->aliases; alias && *alias; alias++)
		if (!strcmp(*alias, name))
			return true;
	return false;
}

static const struct cache_policy_ops *find_locked(const char *name)
{
	struct registered_policy *rp;

	lockdep_assert_held(&registry_lock);
	list_for_each_entry(rp, &registry, list)
		if (answers_to(rp->ops, name))
			return rp->ops;
	return NULL;
}

static const struct cache_policy_ops *get_loaded(const char *name)
{
	const struct cache_policy_ops *ops;

	spin_lock(&registry_lock);
	ops = find_locked(name);
	if (ops && !try_module_get(ops->owner))
		ops = NULL;
	spin_unlock(&registry_lock);
	return ops;
}

/* Find a policy, loading dm-cache-NAME if need be.  May sleep. */
const struct cache_policy_ops *cache_policy_get(const char *name)
{
	const struct cache_policy_ops *ops = get_loaded(name);

	if (ops || strlen(name) >= CACHE_POLICY_NAME_LEN)
		return ops;
	request_module("dm-cache-%s", name);
	return get_loaded(name);
}

void cache_policy_put(const struct cache_policy_ops *ops)
{
	module_put(ops->owner);
}

int cache_policy_register(const struct cache_policy_ops *ops)
{
	struct registered_policy *rp = kmalloc(sizeof(*rp), GFP_KERNEL);
	int r = 0;

	if (!rp)
		return -ENOMEM;
	rp->ops = ops;

	spin_lock(&registry_lock);
	if (find_locked(ops->name))
		r = -EEXIST;
	else
		list_add(&rp->list, &registry);
	spin_unlock(&registry_lock);

	if (r) {
		DMERR("policy %s is registered already", ops->name);
		kfree(rp);
	}
	return r;
}
EXPORT_SYMBOL_GPL(cache_policy_register);

void cache_policy_unregister(const struct cache_policy_ops *ops)
{
	struct registered_policy *rp, *next;

	spin_lock(&registry_lock);
	list_for_each_entry_safe(rp, next, &registry, list) {
		if (rp->ops != ops)
			continue;
		list_del(&rp->list);
		kfree(rp);
	}
	spin_unlock(&registry_lock);
}
EXPORT_SYMBOL_GPL(cache_policy_unregister);

/* ---- Settings ---- */

bool cache_policy_key_known(const char *key)
{
	const char * const *known;

	for (known = cache_known_keys; *known; known++)
		if (!strcmp(*known, key))
			return true;
	return false;
}

const struct cache_tunable *
cache_tunable_find(const struct cache_tunable *table, const char *key)
{
	const struct cache_tunable *t;

	for (t = table; t && t->key; t++)
		if (!strcmp(t->key, key))
			return t;
	return NULL;
}

void cache_tunable_set(void *base, const struct cache_tunable *t, u64 value)
{
	WRITE_ONCE(*(u64 *)((char *)base + t->offset), value);
}

u64 cache_tunable_value(const void *base, const struct cache_tunable *t)
{
	return READ_ONCE(*(const u64 *)((const char *)base + t->offset));
}

/*
 * Parse a setting's value.  On error @why names the key and what it takes.
 */
int cache_tunable_parse(const struct cache_tunable *t, const char *value,
			u64 *result, char *why, size_t why_len)
{
	if (kstrtou64(value, 10, result)) {
		snprintf(why, why_len, "%s: '%s' is not a number", t->key, value);
		return -EINVAL;
	}
	if (*result < t->min || *result > t->max) {
		snprintf(why, why_len, "%s: %llu is not in %llu..%llu", t->key,
			 *result, t->min, t->max);
		return -EINVAL;
	}
	return 0;
}
