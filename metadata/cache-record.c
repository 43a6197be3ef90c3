// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of the superblock's record: lines are found, replaced and removed.
 *
 * This file owns the form of a line. It must not know any setting. User-space
 * tests compile it as well, because it reads bytes that a device may have got
 * from anywhere.
 */
#include "cache-record.h"

#define SHORT_KEY_LEN	12	/* of five words, and the end */

/* The stored form of a key: "max_promote_mbps" becomes "maprmb". */
static void shorten(char *out, const char *key)
{
	unsigned int in_word = 0, len = 0;

	for (; *key && len < SHORT_KEY_LEN - 1; key++) {
		if (*key == '_')
			in_word = 0;
		else if (in_word++ < 2)
			out[len++] = *key;
	}
	out[len] = '\0';
}

/* The first line of the short key @name, or NULL; @eol gets its newline. */
static const char *find_line(const char *text, const char *name,
			     const char **eol)
{
	size_t len = strlen(name);
	const char *line = text;

	for (; (*eol = strchr(line, '\n')); line = *eol + 1)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return line;
	return NULL;
}

void cache_record_take(char *text, int length)
{
	char *eol;

	text[max(0, min(length, (int)CMD_RECORD_MAX))] = '\0';
	eol = strrchr(text, '\n');
	*(eol ? eol + 1 : text) = '\0';
}

bool cache_record_get(const char *text, const char *key, char *value,
		      size_t len)
{
	char name[SHORT_KEY_LEN];
	const char *found, *eol;
	size_t length;

	shorten(name, key);
	found = find_line(text, name, &eol);
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

int cache_record_put(char *text, const char *key, const char *value)
{
	char after[CACHE_RECORD_BYTES], name[SHORT_KEY_LEN];
	const char *found, *eol;
	size_t len;

	if (value && strchr(value, '\n'))
		return -EINVAL;
	shorten(name, key);
	memcpy(after, text, sizeof(after));
	while ((found = find_line(after, name, &eol)))
		memmove(after + (found - after), eol + 1, strlen(eol + 1) + 1);
	len = strlen(after);
	if (value && snprintf(after + len, sizeof(after) - len, "%s %s\n", name,
			      value) >= (int)(sizeof(after) - len))
		return -ENOSPC;
	memcpy(text, after, sizeof(after));
	return 0;
}
