/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the words mean that a target uses for its health.
 */
#ifndef HEARTH_FAILURES_H
#define HEARTH_FAILURES_H

struct failure {
	const char *health, *what, *remedy;
};

/* NULL if @health is good, or a word that is not known. */
const struct failure *failure_find(const char *health);

#endif
