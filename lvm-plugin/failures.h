/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words that a target uses for its health, explained.  It must not know how a cache came
 * into a state.
 */
#ifndef HEARTH_PLUGIN_FAILURES_H
#define HEARTH_PLUGIN_FAILURES_H

/*
 * The advice for a repair of metadata.  Every message has the same words, which warn of
 * cache_repair 0.9, because that takes dirty blocks of format 2 for clean.
 */
#define SAFE_REPAIR \
	"'lvconvert --repair CACHE' with hearth-cache-repair or cache_repair 1.0 and later, never with 0.9 (hearth-metadata(8))"

struct failure {
	const char *health, *what, *remedy;
};

/**
 * failure_find() - the meaning of a health, and the remedy
 * @health: the target's word
 *
 * Prints nothing. Dmeventd's plugin calls this, too.
 *
 * Return: the words for people, constant; NULL if @health is "good" or is no known word.
 */
const struct failure *failure_find(const char *health);

#endif
