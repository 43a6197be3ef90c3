/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reader and writer of the record as modules had them before the packed
 * line. It is kept for test-record, which shows what such a module makes of
 * today's texts. It must stay as it is: those modules are in use.
 */

#ifndef OLD_RECORD_H
#define OLD_RECORD_H

#include "metadata/cache-record.h"

#define OLD_SHORT_KEY_LEN	12

static void old_shorten(char *out, const char *key)
{
	unsigned int in_word = 0, len = 0;

	for (; *key && len < OLD_SHORT_KEY_LEN - 1; key++) {
		if (*key == '_')
			in_word = 0;
		else if (in_word++ < 2)
			out[len++] = *key;
	}
	out[len] = '\0';
}

static const char *old_find_line(const char *text, const char *name,
				 const char **eol)
{
	size_t len = strlen(name);
	const char *line = text;

	for (; (*eol = strchr(line, '\n')); line = *eol + 1)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return line;
	return NULL;
}

static void old_record_take(char *text, int length)
{
	char *eol;

	text[max(0, min(length, (int)CMD_RECORD_MAX))] = '\0';
	eol = strrchr(text, '\n');
	*(eol ? eol + 1 : text) = '\0';
}

static bool old_record_get(const char *text, const char *key, char *value,
			   size_t len)
{
	char name[OLD_SHORT_KEY_LEN];
	const char *found, *eol;
	size_t length;

	old_shorten(name, key);
	found = old_find_line(text, name, &eol);
	if (!found)
		return false;
	found += strlen(name) + 1;
	length = eol - found;
	if (length >= len)
		return false;
	memcpy(value, found, length);
	value[length] = '\0';
	return true;
}

static int old_record_put(char *text, const char *key, const char *value)
{
	char after[CACHE_RECORD_BYTES], name[OLD_SHORT_KEY_LEN];
	const char *found, *eol;
	size_t len;

	if (value && strchr(value, '\n'))
		return -EINVAL;
	old_shorten(name, key);
	memcpy(after, text, sizeof(after));
	while ((found = old_find_line(after, name, &eol)))
		memmove(after + (found - after), eol + 1, strlen(eol + 1) + 1);
	len = strlen(after);
	if (value && snprintf(after + len, sizeof(after) - len, "%s %s\n", name,
			      value) >= (int)(sizeof(after) - len))
		return -ENOSPC;
	memcpy(text, after, sizeof(after));
	return 0;
}

#endif
