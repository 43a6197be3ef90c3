/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policies that the running kernel could load.
 */
#ifndef HEARTH_PLUGIN_POLICIES_H
#define HEARTH_PLUGIN_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * policy_exists() - could the running kernel load a policy?
 * @policy: its name, or an alias
 * @names: if it could not, receives the names of those that it could, with commas
 * @len: how many bytes @names has; the rest of a longer list is cut off
 *
 * Reads modprobe's lists, and which modules are loaded. Prints nothing.
 *
 * Return: true if the kernel has a module for @policy, or if nothing tells which policies it
 * has.
 */
bool policy_exists(const char *policy, char *names, size_t len);

#endif
