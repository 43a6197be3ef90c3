// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of policies, the policy that an engine has, and the parsing of
 * policies' settings.
 *
 * It owns the list of policy modules that are loaded and the rules by which a
 * setting is accepted: the key and the range come from the policy's table, so that
 * every policy refuses alike. It also owns the step in which a slot becomes VALID and
 * the policy learns of its block. It must not know any policy by name, nor what a key
 * means. policies/known-keys.h and policies/shipped-keys.h list the keys that it lets
 * pass although the policy does not have them.
 */
#include "cache.h"
#include "../policies/known-keys.h"
#include "../policies/shipped-keys.h"

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

/* ---- The policy of an engine ---- */

static struct cache_policy *create_policy(struct cache *c,
					  const struct cache_policy_ops *ops)
{
	struct cache_policy_params params = {
		.nr_slots = c->map.nr_slots,
		.block_sectors = c->geo.block_sectors,
		.origin_blocks = c->geo.origin_blocks,
		.rotational = compat_bdev_rotational(c->dev.origin),
		.words = &c->map.slots[0].policy,
		.word_stride = sizeof(struct slot),
	};
	struct cache_policy *p = ops->create(&params);

	if (p) {
		p->ops = ops;
		p->params = params;
	}
	return p;
}

/*
 * Put @p (or NULL) in the place of the policy, and free that one.  Another device that
 * had the engine before, and is suspended, may be asked for its status meanwhile.
 */
static void replace_policy(struct cache *c, struct cache_policy *p)
{
	struct cache_policy *old;

	spin_lock(&c->policy.lock);
	old = c->policy.p;
	c->policy.p = p;
	c->policy.ops = p ? p->ops : NULL;
	spin_unlock(&c->policy.lock);
	if (old) {
		const struct cache_policy_ops *ops = old->ops;

		ops->destroy(old);
		cache_policy_put(ops);
	}
}

void cache_policy_destroy(struct cache *c)
{
	replace_policy(c, NULL);
}

static void adopt_policy(struct cache *c, struct cache_policy *p)
{
	const struct cache_tunable *tn = p->ops->tunables;
	unsigned int i;

	/* A reference of its own, because the table's may go before the engine. */
	__module_get(p->ops->owner);
	replace_policy(c, p);
	for (i = 0; tn && tn[i].key && i < CACHE_MAX_TUNABLES; i++)
		c->policy.defaults[i] = cache_tunable_value(p, &tn[i]);
}

int cache_policy_init(struct cache *c, const struct cache_policy_ops *ops)
{
	struct cache_policy *p = create_policy(c, ops);

	if (!p)
		return -ENOMEM;
	adopt_policy(c, p);
	return 0;
}

/*
 * The hint of each slot, for the policy that comes after.  NULL if there is no
 * memory: hints are not worth a failure.
 */
static u32 *collect_hints(struct cache *c, const struct cache_policy_ops *from)
{
	u32 *hints = kvmalloc_array(c->map.nr_slots, sizeof(*hints), GFP_KERNEL);
	u32 i;

	for (i = 0; hints && i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		hints[i] = from->hint ? from->hint(c->policy.p, i) : 0;
	}
	return hints;
}

/* Tell @p of all blocks.  @valid: are @hints, if there are any, hints that @p can use? */
static void load_policy(struct cache *c, struct cache_policy *p,
			const u32 *hints, bool valid)
{
	struct slot *s;
	u32 i;

	for (i = 0; i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		s = slot_at(&c->map, i);
		if (slot_has_block(slot_word(s)))
			p->ops->load(p, i, slot_block(s), hints ? hints[i] : 0,
				     hints && valid);
	}
	p->ops->load_done(p);
}

int cache_policy_switch(struct cache *c, const struct cache_policy_ops *to)
{
	const struct cache_policy_ops *from = c->policy.ops;
	bool same = from->version[0] == to->version[0] &&
		    !strcmp(from->name, to->name);
	struct cache_policy *p;
	u32 *hints;
	u32 i;

	if (from == to)
		return 0;

	hints = collect_hints(c, from);
	for (i = 0; i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		WRITE_ONCE(slot_at(&c->map, i)->policy, 0);
	}

	p = create_policy(c, to);
	if (!p) {
		/* The old policy's words are overwritten: start again from disk. */
		c->life.broken = true;
		kvfree(hints);
		return -ENOMEM;
	}
	load_policy(c, p, hints, same || from->hint);
	kvfree(hints);
	adopt_policy(c, p);
	return 0;
}

u32 cache_policy_insert(struct cache *c, u32 slot, enum cache_verdict why, u32 word)
{
	struct slot *s = slot_at(&c->map, slot);
	u64 block = slot_block(s);
	u32 old = slot_word(s);

	/*
	 * Under one lock, because an eviction that finds the slot VALID relies on
	 * the policy knowing it.
	 */
	spin_lock(&c->policy.lock);
	while (!slot_try_change(s, &old, word + (old & SLOT_PIN_MASK)))
		;
	c->policy.p->ops->inserted(c->policy.p, slot, block, why);
	spin_unlock(&c->policy.lock);
	return old;
}

/* ---- Settings ---- */

const struct cache_tunable *
cache_tunable_find(const struct cache_tunable *table, const char *key)
{
	const struct cache_tunable *t;

	for (t = table; t && t->key; t++)
		if (!strcmp(t->key, key))
			return t;
	return NULL;
}

static bool key_is_in(const char * const *keys, unsigned int nr,
		      const char *key)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static bool key_is_listed(const char *key)
{
	return key_is_in(cache_stock_keys, ARRAY_SIZE(cache_stock_keys), key) ||
	       key_is_in(cache_shipped_keys, ARRAY_SIZE(cache_shipped_keys),
			 key);
}

static bool key_is_registered(const char *key)
{
	struct registered_policy *rp;
	bool found = false;

	spin_lock(&registry_lock);
	list_for_each_entry(rp, &registry, list)
		found = found || cache_tunable_find(rp->ops->tunables, key);
	spin_unlock(&registry_lock);
	return found;
}

bool cache_policy_key_loaded(const char *key)
{
	return key_is_listed(key) || key_is_registered(key);
}

bool cache_policy_key_known(const char *key)
{
	if (cache_policy_key_loaded(key))
		return true;
	request_module(CACHE_SETTING_ALIAS_PREFIX "%s", key);
	return key_is_registered(key);
}

void cache_tunable_set(void *base, const struct cache_tunable *t, u64 value)
{
	WRITE_ONCE(*(u64 *)((char *)base + t->offset), value);
}

u64 cache_tunable_value(const void *base, const struct cache_tunable *t)
{
	return READ_ONCE(*(const u64 *)((const char *)base + t->offset));
}

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
