/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space side of cache_policy_register(): the policies linked into this
 * program, by name or alias, and their settings by key. It must not know any
 * policy; each registers itself before main() runs.
 */
#ifndef HEARTH_SIMULATOR_REGISTRY_H
#define HEARTH_SIMULATOR_REGISTRY_H

#include "cache-policy.h"

/**
 * policy_find() - find a policy
 * @name: its name, or an alias
 *
 * Return: the policy; NULL if none has the name.
 */
const struct cache_policy_ops *policy_find(const char *name);

/**
 * policy_nth() - find a policy by its number
 * @i: the number, from 0, in the order of registration
 *
 * Return: the policy; NULL after the last.
 */
const struct cache_policy_ops *policy_nth(unsigned int i);

/**
 * policy_make() - make an instance, as the engine does
 * @ops: the policy
 * @params: what it is made for
 *
 * Return: the instance with its common head filled in, or NULL without memory.
 */
struct cache_policy *policy_make(const struct cache_policy_ops *ops,
				 const struct cache_policy_params *params);

/**
 * policy_tunable() - find a tunable of a policy
 * @ops: the policy
 * @key: the name of the tunable
 *
 * Return: the tunable; NULL if the policy has none of this name.
 */
const struct cache_tunable *policy_tunable(const struct cache_policy_ops *ops,
					   const char *key);

/**
 * policy_get() - read a tunable
 * @p: the instance
 * @t: the tunable, one of its policy
 *
 * Return: the value.
 */
u64 policy_get(struct cache_policy *p, const struct cache_tunable *t);

/**
 * policy_set() - set a tunable
 * @p: the instance
 * @key: the name of the tunable
 * @value: the value
 *
 * Return: 0; -ENOENT if the policy has no such tunable; -ERANGE if the value is below the
 * least or above the greatest.
 */
int policy_set(struct cache_policy *p, const char *key, u64 value);

/**
 * policy_key_known() - whether a table may name a setting
 * @key: its name
 *
 * Return: true for a setting of the target, of a policy that is linked in, or
 * of the kernel's former mq.
 */
bool policy_key_known(const char *key);

#endif
