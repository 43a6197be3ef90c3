/* SPDX-License-Identifier: GPL-2.0-only */
/* The administrator's answer about an origin that differs: see cache-answer.c. */
#ifndef HEARTH_CACHE_ANSWER_H
#define HEARTH_CACHE_ANSWER_H

struct cache_table;

enum cache_answer {
	ANSWER_NONE,
	ANSWER_CACHE,	/* the cache is right: all resident blocks go home */
	ANSWER_ORIGIN,	/* the origin is right: the cache begins empty */
};

/* The caches that an answer is for. */
enum answer_scope {
	ANSWER_TO_NAME,		/* the named one, whether its origin differs or not */
	ANSWER_TO_ALL,		/* all caches whose origin differs */
};

/**
 * cache_answer_of() - the administrator's answer for the cache of a table
 * @t: a table that is being resumed
 * @scope: the answers that count
 *
 * Context: process, sleeps; takes answer_lock.
 *
 * Return: the answer; ANSWER_NONE if there is none of that scope for this cache.
 */
enum cache_answer cache_answer_of(struct cache_table *t, enum answer_scope scope);

/**
 * cache_answer_used() - forget the answer for the cache of a table
 * @t: a table that is being resumed; its metadata was committed as the answer says
 *
 * An answer for all caches stays.
 *
 * Context: process, sleeps; takes answer_lock.
 */
void cache_answer_used(struct cache_table *t);

#endif
