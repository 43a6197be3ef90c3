/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy that an engine has, and policies' settings; see cache-policies.c. */
#ifndef HEARTH_CACHE_POLICIES_H
#define HEARTH_CACHE_POLICIES_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "cache-policy.h"

struct cache;

#define CACHE_MAX_TUNABLES	32	/* chosen; hearth's largest list has 10 */

/* The policy that an engine has.  Changed while suspended. */
struct cache_current_policy {
	struct cache_policy *p;
	const struct cache_policy_ops *ops;	/* @p's; holds its module */
	u64 defaults[CACHE_MAX_TUNABLES];	/* of its settings */
	spinlock_t lock;	/* serialises @p's calls but hit() and miss() */
};

/**
 * cache_policy_get() - find a policy, loading its module if need be
 * @name: its name, or an alias
 *
 * Loads the module dm-cache-NAME.  Context: process, sleeps; takes registry_lock.
 *
 * Return: the policy, whose module stays until cache_policy_put(); or NULL.
 */
const struct cache_policy_ops *cache_policy_get(const char *name);

/**
 * cache_policy_put() - give back what cache_policy_get() took
 * @ops: the policy
 *
 * Context: any, never sleeps.
 */
void cache_policy_put(const struct cache_policy_ops *ops);

/**
 * cache_policy_init() - give an engine its first policy
 * @c: has its slots and devices
 * @ops: the policy; the engine takes a reference of its own to the module
 *
 * Context: process, sleeps; no I/O runs.  Return: 0 or -ENOMEM.
 */
int cache_policy_init(struct cache *c, const struct cache_policy_ops *ops);

/**
 * cache_policy_switch() - another policy takes over what is in the cache
 * @c: suspended
 * @to: the policy; if the engine has it already, nothing happens
 *
 * Its hints are the old one's, if both mean the same by them.  Context: process,
 * sleeps.
 *
 * Return: 0; -ENOMEM: the engine is broken, and has to be built anew from the disk.
 */
int cache_policy_switch(struct cache *c, const struct cache_policy_ops *to);

/**
 * cache_policy_destroy() - take an engine's policy away
 * @c: no I/O runs; it may have no policy
 *
 * Context: process, may sleep.
 */
void cache_policy_destroy(struct cache *c);

/**
 * cache_policy_key_loaded() - whether a policy that is at hand has this setting
 * @key: the name, as a table or a message gave it
 *
 * At hand are hearth's own policies, the kernel's former ones, and all that are
 * loaded.  Context: any but interrupts, never sleeps; takes registry_lock.
 */
bool cache_policy_key_loaded(const char *key);

/**
 * cache_policy_key_known() - whether some policy has a setting of this name
 * @key: the name, as a table gave it
 *
 * Loads a policy from elsewhere that has it if need be.  Context: process, sleeps
 * until modprobe has ended; takes registry_lock.  Not for a message: a suspend waits
 * for that, and modprobe may need the device that is being suspended.
 */
bool cache_policy_key_known(const char *key);

/**
 * cache_tunable_find() - the row of a setting
 * @table: ends with a NULL key; may be NULL
 * @key: name of the setting
 *
 * Context: any, never sleeps.  Return: the row, or NULL.
 */
const struct cache_tunable *cache_tunable_find(const struct cache_tunable *table,
					       const char *key);

/**
 * cache_tunable_parse() - parse a setting's value
 * @t: its row, which has the unit
 * @value: a decimal number, as a table or a message gave it
 * @result: receives the number
 * @why: on error receives a text that names the key and what it takes
 * @why_len: bytes of @why
 *
 * Context: any, never sleeps.  Return: 0, or -EINVAL for no number or one out of
 * range.
 */
int cache_tunable_parse(const struct cache_tunable *t, const char *value,
			u64 *result, char *why, size_t why_len);

/**
 * cache_tunable_set() - change a setting
 * @base: the policy, or for the engine's own settings the struct cache
 * @t: its row
 * @value: as cache_tunable_parse() returned it
 *
 * Context: any, beside readers that use READ_ONCE().
 */
void cache_tunable_set(void *base, const struct cache_tunable *t, u64 value);

/**
 * cache_tunable_value() - a setting's value
 * @base: as cache_tunable_set() has it
 * @t: its row
 *
 * Context: any.
 */
u64 cache_tunable_value(const void *base, const struct cache_tunable *t);

#endif
