/* SPDX-License-Identifier: GPL-2.0-only */
/* Status lines and messages, see cache-status.c. */
#ifndef HEARTH_CACHE_STATUS_H
#define HEARTH_CACHE_STATUS_H

#include <linux/device-mapper.h>

/**
 * cache_status() - the line that device-mapper asks for
 * @ti: the target, at any time of its table's life
 * @type: which line
 * @flags: DM_STATUS_NOFLUSH_FLAG: no commit is waited for
 * @result: receives the text, cut off if it is longer
 * @maxlen: bytes of @result
 *
 * Context: process, sleeps; takes engines_lock.
 */
void cache_status(struct dm_target *ti, status_type_t type,
		  unsigned int flags, char *result, unsigned int maxlen);

/**
 * cache_message() - a message, as words
 * @ti: the target
 * @argc: how many words, at least one
 * @argv: the words
 * @result: receives the answer, if there is one
 * @maxlen: bytes of @result
 *
 * Context: process, sleeps; waits for a commit and may take any mutex of the engine.
 *
 * Return: 0; 1: @result is to be shown; -EINVAL for a message that the cache does not
 * take; -EBUSY while suspended; -EPERM for the wrong mode; or an error of
 * cache_setting_save() or of a commit.
 */
int cache_message(struct dm_target *ti, unsigned int argc, char **argv,
		  char *result, unsigned int maxlen);

#endif
