/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registry of policies, the policy that an engine has, and the parsing of policies'
 * settings: see cache-policies.c.
 */
#ifndef HEARTH_CACHE_POLICIES_H
#define HEARTH_CACHE_POLICIES_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "cache-policy.h"

struct cache;

/*
 * The settings of a policy, and of a table, at most.  Not chosen by measurement: heat
 * has 5, and the engine has 14 of its own.
 */
#define CACHE_MAX_TUNABLES	32

/* The policy that an engine has.  It changes only while the engine is suspended. */
struct cache_current_policy {
	struct cache_policy *p;
	const struct cache_policy_ops *ops;	/* those of @p; their module is held */
	u64 defaults[CACHE_MAX_TUNABLES];	/* of its settings, in their order */
	/* Serialises the calls of @p that cache-policy.h lists for a spinlock. */
	spinlock_t lock;
};

/**
 * cache_policy_get() - find a policy, loading its module if need be
 * @name: its name, or an alias
 *
 * The module is dm-cache-NAME.
 *
 * Context: process, sleeps until modprobe has ended; takes registry_lock.
 *
 * Return: the policy, whose module stays until cache_policy_put(); NULL if there is
 * none.
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
 * @c: the engine; has its slots and devices
 * @ops: the policy; the engine takes a reference of its own to the module
 *
 * Context: process, sleeps; no I/O runs.
 *
 * Return: 0 or -ENOMEM.
 */
int cache_policy_init(struct cache *c, const struct cache_policy_ops *ops);

/**
 * cache_policy_switch() - another policy takes over the blocks of the cache
 * @c: the engine, suspended
 * @to: the policy; if the engine has it already, nothing happens
 *
 * The policy gets the hints of the one before, if that gives any.
 *
 * Context: process, sleeps.
 *
 * Return: 0; -ENOMEM: the engine is broken (life.broken), and has to be built anew
 * from the disk.
 */
int cache_policy_switch(struct cache *c, const struct cache_policy_ops *to);

/**
 * cache_policy_destroy() - take an engine's policy away
 * @c: the engine; no I/O runs, and it may have no policy
 *
 * Context: process, may sleep.
 */
void cache_policy_destroy(struct cache *c);

/**
 * cache_policy_insert() - make a slot VALID, and tell the policy that it has a block
 * @c: the engine
 * @slot: the slot, FILLING; its block is set
 * @why: the verdict that has let the block in
 * @word: the slot's new word, VALID and without pins; the pins that the slot has stay
 *
 * Context: process, does not sleep; takes policy.lock.
 *
 * Return: the old word.  If that has SLOT_WAITERS, the caller wakes the bios.
 */
u32 cache_policy_insert(struct cache *c, u32 slot, enum cache_verdict why, u32 word);

/**
 * cache_policy_key_loaded() - whether a policy that is known without modprobe has a
 * setting of this name
 * @key: the name, as a table or a message gave it
 *
 * These policies are hearth's own, the kernel's former ones, and all that are loaded.
 *
 * Context: any but interrupts, never sleeps; takes registry_lock.
 */
bool cache_policy_key_loaded(const char *key);

/**
 * cache_policy_key_known() - whether some policy has a setting of this name
 * @key: the name, as a table gave it
 *
 * If cache_policy_key_loaded() finds none, modprobe looks for another policy that has
 * the setting, and loads it.
 *
 * Context: process, sleeps until modprobe has ended; takes registry_lock.  A message
 * must not call it, because a suspend waits for the message, and modprobe may need the
 * device that is being suspended.
 */
bool cache_policy_key_known(const char *key);

/**
 * cache_tunable_find() - the row of a setting
 * @table: the rows, ended by a NULL key; may be NULL
 * @key: the name of the setting
 *
 * Context: any, never sleeps.
 *
 * Return: the row, or NULL.
 */
const struct cache_tunable *cache_tunable_find(const struct cache_tunable *table,
					       const char *key);

/**
 * cache_tunable_parse() - parse the value of a setting
 * @t: the row of the setting, which has the unit
 * @value: a decimal number, as a table or a message gave it
 * @result: receives the number
 * @why: receives, after an error, a text that names the key and what is wrong
 * @why_len: the bytes of @why
 *
 * Context: any, never sleeps.
 *
 * Return: 0; -EINVAL if @value is no number, or is out of range.
 */
int cache_tunable_parse(const struct cache_tunable *t, const char *value,
			u64 *result, char *why, size_t why_len);

/**
 * cache_tunable_set() - change a setting
 * @base: the policy; for a setting of the engine's own, the struct cache
 * @t: the row of the setting
 * @value: the value, as cache_tunable_parse() gave it
 *
 * Context: any; readers use READ_ONCE(), because they may read meanwhile.
 */
void cache_tunable_set(void *base, const struct cache_tunable *t, u64 value);

/**
 * cache_tunable_value() - the value of a setting
 * @base: as for cache_tunable_set()
 * @t: the row of the setting
 *
 * Context: any.
 */
u64 cache_tunable_value(const void *base, const struct cache_tunable *t);

#endif
