/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of the superblock's record.
 *
 * It is lines of "key value", so that an older or newer module skips the keys
 * that it does not know. A key is stored as two letters of each of its words,
 * because the record is short. When there is no room for a line, numbers move
 * one by one to the packed line, whose form is in docs/metadata.md. Older modules
 * skip that line. So a setting's own line wins over the packed line: an older
 * module may have added it since.
 *
 * A text has CACHE_RECORD_BYTES and ends with a NUL. The functions neither
 * sleep, allocate nor lock; the caller guards the text.
 */
#ifndef HEARTH_CACHE_RECORD_H
#define HEARTH_CACHE_RECORD_H

#include "cache-metadata.h"

#define CACHE_RECORD_BYTES	(CMD_RECORD_MAX + 1)

/**
 * cache_record_take() - make a text of bytes that were read from the superblock
 * @text: the bytes, which may be anything; cut off after the last whole line
 * @length: how many; below 0 counts as 0, above CMD_RECORD_MAX as that
 */
void cache_record_take(char *text, int length);

/**
 * cache_record_get() - look a key up
 * @text: the text
 * @key: the key, in full
 * @value: receives the value with its NUL
 * @len: bytes of @value
 *
 * Return: false when the key is absent, or its value does not fit.
 */
bool cache_record_get(const char *text, const char *key, char *value,
		      size_t len);

/**
 * cache_record_put() - replace, add or remove a setting
 * @text: the text
 * @key: the key, in full
 * @value: its new value; NULL removes the setting
 *
 * Return: 0; -ENOSPC when the setting does not fit, -EINVAL when @value has more
 * than one line. After an error the text is as it was.
 */
int cache_record_put(char *text, const char *key, const char *value);

#endif
