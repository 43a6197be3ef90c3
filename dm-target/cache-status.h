/* SPDX-License-Identifier: GPL-2.0-only */
/* Status lines and messages: see cache-status.c. */
#ifndef HEARTH_CACHE_STATUS_H
#define HEARTH_CACHE_STATUS_H

#include <linux/device-mapper.h>

/**
 * cache_status() - the line that device-mapper asks for
 * @ti: the target, at any time of its table's life
 * @type: which line
 * @flags: with DM_STATUS_NOFLUSH_FLAG it waits for no commit
 * @result: receives the text, which is cut off if it is too long
 * @maxlen: the bytes of @result
 *
 * Context: process, sleeps; takes engines_lock; may wait for a commit.
 */
void cache_status(struct dm_target *ti, status_type_t type,
		  unsigned int flags, char *result, unsigned int maxlen);

/**
 * cache_message() - act on a message
 * @ti: the target
 * @argc: the number of words, at least one
 * @argv: the words
 * @result: receives the answer, if there is one
 * @maxlen: the bytes of @result
 *
 * Context: process, sleeps; may wait for a commit, and take any mutex of the engine.
 *
 * Return: 0; 1 if @result has an answer; -EINVAL if the cache does not take the
 * message; -EBUSY if the device is suspended; -EPERM if the mode does not allow the
 * message; or an error of cache_setting_save(), cache_verify() or a commit.
 */
int cache_message(struct dm_target *ti, unsigned int argc, char **argv,
		  char *result, unsigned int maxlen);

#endif
