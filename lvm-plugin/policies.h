/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policies that the running kernel could load.  It must not know any policy by name.
 */
#ifndef HEARTH_PLUGIN_POLICIES_H
#define HEARTH_PLUGIN_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * policy_exists() - could the running kernel load a policy?
 * @policy: its name, or an alias
 * @names: if it could not, receives the names of the policies that it could load, with commas
 * @len: how many bytes @names has; the rest of a longer list is cut off
 *
 * Reads modprobe's lists, and the list of the loaded modules. Prints nothing.
 *
 * Return: true if a module has the policy, or if the lists name no policy at all.
 */
bool policy_exists(const char *policy, char *names, size_t len);

#endif
