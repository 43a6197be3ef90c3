/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space side of cache_policy_register(): the policies linked into
 * this program, by name or alias, and their settings by key.
 */
#ifndef HEARTH_SIMULATOR_REGISTRY_H
#define HEARTH_SIMULATOR_REGISTRY_H

#include "cache-policy.h"

/* NULL if no such policy is linked in. */
const struct cache_policy_ops *policy_find(const char *name);
/* The @i-th registered policy, NULL after the last. */
const struct cache_policy_ops *policy_nth(unsigned int i);

/* As the engine does: create, and fill in the common head. */
struct cache_policy *policy_make(const struct cache_policy_ops *ops,
				 const struct cache_policy_params *params);

/* The tunable of @ops named @key, or NULL. */
const struct cache_tunable *policy_tunable(const struct cache_policy_ops *ops,
					   const char *key);
u64 policy_get(struct cache_policy *p, const struct cache_tunable *t);
/* -ENOENT for an unknown key, -ERANGE outside its range, 0. */
int policy_set(struct cache_policy *p, const char *key, u64 value);
/* Is @key a setting of the target, of a former stock policy, or of a policy here? */
bool policy_key_known(const char *key);

#endif
