// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers for people, colours for terminals, JSON for programs.
 *
 * It must not know caches.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

const char *size_text(char *buf, double bytes)
{
	static const char * const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB"
	};
	unsigned int i = 0;

	while (bytes >= 1024 && i < 5) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, SIZE_LEN, "%.*f %s", bytes < 100 && bytes != (int)bytes,
		 bytes, units[i]);
	return buf;
}

const char *short_text(char *buf, double n)
{
	static const char units[] = " kMGTP";
	unsigned int i = 0;

	while (n >= 999.5 && i < 5) {
		n /= 1000;
		i++;
	}
	if (!i)
		snprintf(buf, SIZE_LEN, "%.0f", n);
	else
		snprintf(buf, SIZE_LEN, "%.*f%c", n < 9.95, n, units[i]);
	return buf;
}

const char *rate_text(char *buf, double n)
{
	return isfinite(n) ? short_text(buf, n) : "-";
}

const char *percent_text(char *buf, double share)
{
	if (!isfinite(share))
		return "-";
	snprintf(buf, SIZE_LEN, "%.1f", 100 * share);
	return buf;
}

const char *duration_text(char *buf, double seconds)
{
	unsigned long s = seconds + 0.5;

	if (s < 3)
		snprintf(buf, 2 * SIZE_LEN, "%.1f s", seconds);
	else if (s < 100)
		snprintf(buf, 2 * SIZE_LEN, "%lu s", s);
	else if (s < 6000)
		snprintf(buf, 2 * SIZE_LEN, "%lu min", (s + 30) / 60);
	else
		snprintf(buf, 2 * SIZE_LEN, "%lu h %lu min", s / 3600,
			 s / 60 % 60);
	return buf;
}

/*
 * The unit follows the time, and the text has two digits at least, because an SSD takes
 * microseconds, and a disk 1,000 times as long.
 */
const char *time_text(char *buf, double ms)
{
	static const char * const units[] = { "us", "ms", "s" };
	double n = 1000 * ms;
	unsigned int i = 0;

	if (!isfinite(ms))
		return "-";
	while (n >= 999.5 && i < 2) {
		n /= 1000;
		i++;
	}
	snprintf(buf, SIZE_LEN, "%.*f%s", n < 9.95, n, units[i]);
	return buf;
}

double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

const char *colour(enum colour c)
{
	static const char * const codes[] = {
		"\033[0m", "\033[1m", "\033[32m", "\033[33m", "\033[31m"
	};
	static int use = -1;

	if (use < 0)
		use = isatty(1) && !getenv("NO_COLOR") &&
		      strcmp(getenv("TERM") ?: "dumb", "dumb");
	return use ? codes[c] : "";
}

/* ---- JSON ---- */

#define MAX_DEPTH	8

static struct {
	char closing[MAX_DEPTH];
	bool used[MAX_DEPTH];
	unsigned int depth;
	bool one_line;
} json;

void json_quote(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char ch = *s;

		if (ch == '"' || ch == '\\')
			fprintf(out, "\\%c", ch);
		else if (ch < ' ')
			fprintf(out, "\\u%04x", ch);
		else
			fputc(ch, out);
	}
	fputc('"', out);
}

static void member(const char *key)
{
	if (!json.depth)
		return;
	if (json.used[json.depth - 1])
		fputs(json.one_line ? ", " : ",", stdout);
	json.used[json.depth - 1] = true;
	if (!json.one_line)
		printf("\n%*s", 2 * (int)json.depth, "");
	if (!key)
		return;
	json_quote(stdout, key);
	fputs(": ", stdout);
}

void json_begin(const char *key, char bracket)
{
	member(key);
	putchar(bracket);
	if (json.depth == MAX_DEPTH)
		abort();
	json.closing[json.depth] = bracket == '{' ? '}' : ']';
	json.used[json.depth++] = false;
}

void json_end(void)
{
	json.depth--;
	if (json.used[json.depth] && !json.one_line)
		printf("\n%*s", 2 * (int)json.depth, "");
	putchar(json.closing[json.depth]);
	if (json.depth)
		return;
	putchar('\n');
	json.one_line = false;
}

void json_one_line(void)
{
	json.one_line = true;
}

void json_time(const char *key)
{
	char text[32];
	time_t t = time(NULL);

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
	json_string(key, text);
}

void json_string(const char *key, const char *value)
{
	member(key);
	json_quote(stdout, value);
}

void json_uint(const char *key, uint64_t value)
{
	member(key);
	printf("%ju", value);
}

void json_real(const char *key, double value)
{
	member(key);
	if (isfinite(value))
		printf("%.6g", value);
	else
		fputs("null", stdout);
}

void json_bool(const char *key, bool value)
{
	member(key);
	fputs(value ? "true" : "false", stdout);
}

void json_word(const char *key, const char *value)
{
	size_t len = strlen(value);

	if (len && len < 19 && strspn(value, "0123456789") == len)
		json_uint(key, strtoull(value, NULL, 10));
	else
		json_string(key, value);
}
