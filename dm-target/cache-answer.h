/* SPDX-License-Identifier: GPL-2.0-only */
/* The administrator's answer, see cache-answer.c. */
#ifndef HEARTH_CACHE_ANSWER_H
#define HEARTH_CACHE_ANSWER_H

struct cache_table;

enum cache_answer {
	ANSWER_NONE,
	ANSWER_CACHE,	/* all that is resident goes to the origin */
	ANSWER_ORIGIN,	/* the cache starts empty, and what is dirty is given up */
};

/* The caches that an answer is for. */
enum answer_scope {
	ANSWER_TO_NAME,		/* this one, whether its origin differs or not */
	ANSWER_TO_ALL,		/* those whose origin differs */
};

/**
 * cache_answer_of() - the administrator's answer for this table
 * @t: a table that is being resumed
 * @scope: which answers count
 *
 * Context: process; takes answer_lock, and sleeps.
 */
enum cache_answer cache_answer_of(struct cache_table *t, enum answer_scope scope);

/**
 * cache_answer_used() - the metadata says now what the answer to this name said
 * @t: a table that is being resumed
 *
 * The answer is forgotten; one to all caches stays.  Context: as cache_answer_of().
 */
void cache_answer_used(struct cache_table *t);

#endif
