/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy that an engine has, and policies' settings; see cache-policies.c. */
#ifndef HEARTH_CACHE_POLICIES_H
#define HEARTH_CACHE_POLICIES_H

#include <linux/types.h>

#include "cache-policy.h"

struct cache;

#define CACHE_MAX_TUNABLES	32

/*
 * Find the policy @name, loading dm-cache-@name if need be, and take a reference
 * to its module; NULL if there is none.  May sleep.
 */
const struct cache_policy_ops *cache_policy_get(const char *name);
/* Give back what cache_policy_get() took.  Any context. */
void cache_policy_put(const struct cache_policy_ops *ops);
/*
 * Give @c, which has its slots and devices, the policy of @ops.  Takes a
 * reference to its module.  Sleeps; -ENOMEM.
 */
int cache_policy_init(struct cache *c, const struct cache_policy_ops *ops);
/*
 * Another policy takes over what is in the cache.  Its hints are the old one's,
 * if both mean the same by them.  Suspended; sleeps.  -ENOMEM: the engine is
 * broken, and has to be built anew from the disk.
 */
int cache_policy_switch(struct cache *c, const struct cache_policy_ops *to);
/* No policy any more; there may have been none. */
void cache_policy_destroy(struct cache *c);

/*
 * Is @key a setting of some policy, though not of this one?  The first asks
 * hearth's own policies and those that are loaded, in any context but interrupts.  The second has
 * modprobe look for more, so it is for the constructor only: a suspend waits for
 * a message, and modprobe may need the device that is being suspended.
 */
bool cache_policy_key_loaded(const char *key);
bool cache_policy_key_known(const char *key);
/* The row of @key, or NULL; @table may be NULL. */
const struct cache_tunable *cache_tunable_find(const struct cache_tunable *table,
					       const char *key);
/*
 * Parse @value in the unit of @t.  -EINVAL if it is no number or out of range;
 * @why names the key then, and what it takes.
 */
int cache_tunable_parse(const struct cache_tunable *t, const char *value,
			u64 *result, char *why, size_t why_len);
/*
 * Set or read a setting while I/O runs.  @base is the policy, or for the
 * engine's own settings the struct cache.  Any context.
 */
void cache_tunable_set(void *base, const struct cache_tunable *t, u64 value);
u64 cache_tunable_value(const void *base, const struct cache_tunable *t);

#endif
