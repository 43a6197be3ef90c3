/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policies that the running kernel could load.
 */
#ifndef HEARTH_PLUGIN_POLICIES_H
#define HEARTH_PLUGIN_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if the kernel has a module for @policy, or if nothing tells which policies
 * it has.  If it has not, @names, of @len bytes, receives the names of the policies that it
 * has, with commas.
 */
bool policy_exists(const char *policy, char *names, size_t len);

#endif
