// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of the superblock's record: settings are found, replaced and
 * removed, each in a line of its own or among others in the packed line.
 *
 * This file owns both forms. It must not know any setting. User-space tests
 * compile it as well, because it reads bytes that a device may have got from
 * anywhere.
 */
#include "cache-record.h"

#define SHORT_KEY_LEN	12	/* two letters of each of five words, one more, the NUL */
#define DIGITS_LEN	8	/* a u32 in base 36, and the NUL */

/*
 * The line "= mith1Z141Z3secuMH34" holds two settings. An older module sees one
 * line, of a key that it does not know.
 */
#define PACKED_KEY	"="
#define EMPTY_PACKED_LEN	3	/* with a space and a newline */
/*
 * The copy of a text that is worked on has room for a packed line with one more
 * setting.
 */
#define WORK_BYTES	(CACHE_RECORD_BYTES + EMPTY_PACKED_LEN +	\
			 SHORT_KEY_LEN + DIGITS_LEN)

/* A setting in the packed line; the next one begins at @end. */
struct packed {
	const char *key, *digits, *end;
	u32 value;
};

/* ---- Keys and numbers ---- */

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

static const char *skip_letters(const char *at)
{
	while (*at >= 'a' && *at <= 'z')
		at++;
	return at;
}

static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return U32_MAX;
}

/* The end of the number at @at, or NULL if there is none or it is no u32. */
static const char *take_number(const char *at, unsigned int base, u32 *number)
{
	const char *from = at;
	u64 v = 0;

	for (; digit(*at) < base; at++) {
		v = v * base + digit(*at);
		if (v > U32_MAX)
			return NULL;
	}
	*number = v;
	return at > from ? at : NULL;
}

/* As take_number(), but takes only the decimal digits that printing would give. */
static const char *take_decimal(const char *at, u32 *number)
{
	const char *end = take_number(at, 10, number);

	return *at == '0' && end != at + 1 ? NULL : end;
}

static void print_base36(char out[DIGITS_LEN], u32 number)
{
	char digits[DIGITS_LEN];
	unsigned int nr = 0;

	do {
		digits[nr++] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36];
		number /= 36;
	} while (number);
	while (nr)
		*out++ = digits[--nr];
	*out = '\0';
}

/* ---- Lines ---- */

static void cut(char *text, const char *from, const char *to)
{
	memmove(text + (from - text), to, strlen(to) + 1);
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

static void remove_lines(char *text, const char *name)
{
	const char *found, *eol;

	while ((found = find_line(text, name, &eol)))
		cut(text, found, eol + 1);
}

/* Returns the length that the text would have; it is cut off at WORK_BYTES. */
static size_t append_line(char *text, const char *name, const char *value)
{
	size_t len = strlen(text);

	return len + snprintf(text + len, WORK_BYTES - len, "%s %s\n", name,
			      value);
}

/* False if the text would be longer than the record. */
static bool add_line(char *text, const char *name, const char *value)
{
	size_t len = strlen(text);

	if (append_line(text, name, value) <= CMD_RECORD_MAX)
		return true;
	text[len] = '\0';
	return false;
}

/* ---- The packed line ---- */

static const char *packed_line(const char *text, const char **eol)
{
	const char *line = find_line(text, PACKED_KEY, eol);

	return line ? line + sizeof(PACKED_KEY) : NULL;
}

/* The setting at @p->end. A malformed one ends the line. */
static bool next_packed(struct packed *p)
{
	const char *digits = skip_letters(p->end), *end;

	end = take_number(digits, 36, &p->value);
	if (!end || digits == p->end)
		return false;
	p->key = p->end;
	p->digits = digits;
	p->end = end;
	return true;
}

static bool find_packed(const char *text, const char *name, struct packed *p)
{
	size_t len = strlen(name);
	const char *eol;

	p->end = packed_line(text, &eol);
	while (p->end && next_packed(p))
		if ((size_t)(p->digits - p->key) == len &&
		    !memcmp(p->key, name, len))
			return true;
	return false;
}

static void remove_packed(char *text, const char *name)
{
	const char *line, *eol;
	struct packed p;

	while (find_packed(text, name, &p))
		cut(text, p.key, p.end);
	line = packed_line(text, &eol);
	if (line && line == eol)
		remove_lines(text, PACKED_KEY);
}

/* The malformed rest of a line goes, because nothing in it can be found. */
static void add_packed(char *text, const char *name, u32 value)
{
	char setting[SHORT_KEY_LEN + DIGITS_LEN];
	size_t len = strlen(name);
	const char *eol;
	struct packed p;

	if (!packed_line(text, &eol))
		append_line(text, PACKED_KEY, "");
	p.end = packed_line(text, &eol);
	while (next_packed(&p))
		;
	cut(text, p.end, eol);

	memcpy(setting, name, len);
	print_base36(setting + len, value);
	len = strlen(setting);
	memmove(text + (p.end - text) + len, p.end, strlen(p.end) + 1);
	memcpy(text + (p.end - text), setting, len);
}

/* ---- Both forms ---- */

static void forget(char *text, const char *name)
{
	remove_lines(text, name);
	remove_packed(text, name);
}

/*
 * Only a key of letters and a number can be told apart in the packed line. So a
 * mode has a line of its own, and so has the session, which older modules replace.
 */
static bool can_pack(const char *line, char name[SHORT_KEY_LEN], u32 *value)
{
	const char *end = skip_letters(line);
	size_t len = end - line;

	if (!len || len >= SHORT_KEY_LEN || *end != ' ')
		return false;
	memcpy(name, line, len);
	name[len] = '\0';
	end = take_decimal(end + 1, value);
	return end && *end == '\n';
}

/*
 * Move the first setting that can be moved; false if there is none. A line behind
 * another of its key is no setting, because the first of them holds.
 */
static bool pack_one(char *text)
{
	const char *line, *eol, *first_eol;
	char name[SHORT_KEY_LEN];
	u32 value;

	for (line = text; (eol = strchr(line, '\n')); line = eol + 1) {
		if (!can_pack(line, name, &value) ||
		    find_line(text, name, &first_eol) != line)
			continue;
		forget(text, name);
		add_packed(text, name, value);
		return true;
	}
	return false;
}

/*
 * The setting gets a line of its own while there is room, because older modules
 * read that as well.
 */
static int add_setting(char *text, const char *name, const char *value)
{
	const char *end;
	u32 number;

	do {
		if (add_line(text, name, value))
			return 0;
	} while (pack_one(text));

	end = take_decimal(value, &number);
	if (!end || *end || !*name || *skip_letters(name))
		return -ENOSPC;
	add_packed(text, name, number);
	return strlen(text) > CMD_RECORD_MAX ? -ENOSPC : 0;
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
	struct packed p;
	size_t length;

	shorten(name, key);
	found = find_line(text, name, &eol);
	if (!found)
		return find_packed(text, name, &p) &&
		       snprintf(value, len, "%u", p.value) < (int)len;
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
	char after[WORK_BYTES], name[SHORT_KEY_LEN];
	int r = 0;

	if (value && strchr(value, '\n'))
		return -EINVAL;
	shorten(name, key);
	memcpy(after, text, CACHE_RECORD_BYTES);
	forget(after, name);
	if (value)
		r = add_setting(after, name, value);
	if (!r)
		memcpy(text, after, CACHE_RECORD_BYTES);
	return r;
}
