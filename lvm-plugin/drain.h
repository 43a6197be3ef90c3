/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps of other subcommands: taking a cache of LVM's off, and the check before that.
 */
#ifndef HEARTH_PLUGIN_DRAIN_H
#define HEARTH_PLUGIN_DRAIN_H

#include "cache-info.h"

/**
 * drain_and_uncache() - write all dirty blocks back, and remove a cache of LVM's
 * @c: the cache
 * @quiet: show no progress on stderr
 *
 * Runs lvconvert to its end, and passes Ctrl-C on, so the caller has called catch_signals().
 *
 * Return: EXIT_OK; EXIT_FAILED, after a complaint of lvconvert; EXIT_INTERRUPTED: lvconvert has
 * failed after Ctrl-C, and the blocks that were written back are clean.
 */
int drain_and_uncache(const struct cache_info *c, bool quiet);

/**
 * drain_check_health() - can the dirty blocks of a cache be written back?
 * @c: the cache
 *
 * Return: EXIT_OK, also if no block is dirty; EXIT_FAILED after a complaint, if the health is
 * not good, or the status does not say how many blocks are dirty.
 */
int drain_check_health(const struct cache_info *c);

#endif
