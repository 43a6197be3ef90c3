/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words that a target uses for its health, explained.
 */
#ifndef HEARTH_PLUGIN_FAILURES_H
#define HEARTH_PLUGIN_FAILURES_H

/*
 * The advice for a repair, everywhere the same, because cache_repair 0.9 takes
 * dirty blocks of format 2 for clean.
 */
#define SAFE_REPAIR \
	"'lvconvert --repair CACHE' with hearth-cache-repair or cache_repair 1.0 and later, never with 0.9 (hearth-metadata(8))"

struct failure {
	const char *health, *what, *remedy;
};

/**
 * failure_find() - what a health means
 * @health: the target's word
 *
 * Prints nothing. Dmeventd's plugin calls this, too.
 *
 * Return: the words for people, constant; NULL if @health is "good" or is not known.
 */
const struct failure *failure_find(const char *health);

#endif
