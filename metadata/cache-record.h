/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of the superblock's record.
 *
 * It is "key value" lines, so that an older or newer module skips what it does
 * not know.  It is short, and all settings must fit: a key is stored as two
 * letters of each of its words.
 *
 * A text has CACHE_RECORD_BYTES and ends with a NUL.  Nothing here sleeps,
 * allocates or locks; the caller guards the text.
 */
#ifndef HEARTH_CACHE_RECORD_H
#define HEARTH_CACHE_RECORD_H

#include "cache-metadata.h"

#define CACHE_RECORD_BYTES	(CMD_RECORD_MAX + 1)

/*
 * Make a text of @length bytes that were read from the superblock into @text.
 * They may be anything: what follows the last whole line goes.  A @length below
 * 0, or above CMD_RECORD_MAX, is taken as the nearer of the two.
 */
void cache_record_take(char *text, int length);

/*
 * Copy the value of @key, with its NUL, to @value, which has @len bytes.  False
 * when there is none, or when it does not fit.
 */
bool cache_record_get(const char *text, const char *key, char *value,
		      size_t len);

/*
 * Replace, add or (with a NULL @value) remove a line.
 *
 * Return: 0; -ENOSPC when the line does not fit, -EINVAL when @value has more
 * than one line.  After an error the text is as it was.
 */
int cache_record_put(char *text, const char *key, const char *value);

#endif
