/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which policies the running kernel could load.
 */
#ifndef HEARTH_PLUGIN_POLICIES_H
#define HEARTH_PLUGIN_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is @policy one?  If not, @names holds those that are.  True as well where
 * nothing tells which there are.
 */
bool policy_exists(const char *policy, char *names, size_t len);

#endif
