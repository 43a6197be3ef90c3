/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers as people read them, colours for terminals, JSON for programs.
 */
#ifndef HEARTH_PLUGIN_TEXT_H
#define HEARTH_PLUGIN_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SIZE_LEN	16

/* As "12.3 MiB", in @buf of SIZE_LEN bytes, which is returned. */
const char *size_text(char *buf, double bytes);
/* As "1.2k", at most five characters, in @buf of SIZE_LEN bytes. */
const char *short_text(char *buf, double n);
/* As "2 h 5 min" or "40 s", in @buf of 2 * SIZE_LEN bytes. */
const char *duration_text(char *buf, double seconds);
/* As "118us", "1.2ms" or "17ms", in @buf of SIZE_LEN bytes; "-" for NAN. */
const char *time_text(char *buf, double ms);
/* @part / @whole; 0 if @whole is 0. */
double share(double part, double whole);

enum colour { PLAIN, BOLD, GOOD, WARN, BAD };

/* The escape sequence on a terminal, unless NO_COLOR is set; else "". */
const char *colour(enum colour c);

/*
 * JSON to stdout.  The key is NULL within an array.  Objects and arrays may be
 * nested eight deep; json_end() of the outermost one ends the line.
 */
/* The next outermost value is printed on one line. */
void json_one_line(void);
void json_begin(const char *key, char bracket);	/* bracket: '{' or '[' */
void json_end(void);
void json_string(const char *key, const char *value);
void json_uint(const char *key, uint64_t value);
void json_real(const char *key, double value);	/* NAN is null */
/* The present time, as "2026-11-25T10:18:52Z". */
void json_time(const char *key);
void json_bool(const char *key, bool value);
/* @s as a string of JSON, to @out. */
void json_quote(FILE *out, const char *s);
/* A number if @value is a whole one, else a string. */
void json_word(const char *key, const char *value);

#endif
