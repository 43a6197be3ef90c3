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

/**
 * size_text() - a size as "12.3 MiB"
 * @buf: of SIZE_LEN bytes
 * @bytes: the size, 0 or more; 1 KiB is 1024 of them
 *
 * Return: @buf.
 */
const char *size_text(char *buf, double bytes);

/**
 * short_text() - a number as "1.2k", of five characters at most
 * @buf: of SIZE_LEN bytes
 * @n: the number, 0 or more; 1k is 1000
 *
 * Return: @buf.
 */
const char *short_text(char *buf, double n);

/**
 * duration_text() - a time as "2 h 5 min" or "40 s"
 * @buf: of 2 * SIZE_LEN bytes
 * @seconds: the time, 0 or more
 *
 * Return: @buf.
 */
const char *duration_text(char *buf, double seconds);

/**
 * time_text() - the time of a request as "118us", "1.2ms" or "17ms"
 * @buf: of SIZE_LEN bytes
 * @ms: milliseconds
 *
 * Return: @buf; "-", and @buf stays as it is, for NAN.
 */
const char *time_text(char *buf, double ms);

/**
 * rate_text() - a number a second, as short_text()
 * @buf: of SIZE_LEN bytes
 * @n: the number
 *
 * Return: @buf; "-", and @buf stays as it is, for NAN.
 */
const char *rate_text(char *buf, double n);

/**
 * percent_text() - a share as "12.3"
 * @buf: of SIZE_LEN bytes
 * @share: 0 to 1
 *
 * Return: @buf; "-", and @buf stays as it is, for NAN.
 */
const char *percent_text(char *buf, double share);

/**
 * share() - a part of a whole
 * @part: in any unit
 * @whole: in the same
 *
 * Dmeventd's plugin calls this, too.
 *
 * Return: @part / @whole; 0 if @whole is 0.
 */
double share(double part, double whole);

enum colour { PLAIN, BOLD, GOOD, WARN, BAD };

/**
 * colour() - what to print before a text in a colour
 * @c: the colour; PLAIN after the text
 *
 * Return: the escape sequence if stdout is a terminal, unless NO_COLOR is set, or TERM is dumb
 * or not set; else "". Constant; the first call decides for all.
 */
const char *colour(enum colour c);

/*
 * JSON to stdout.  One value is open at a time, in a static variable.  The key is NULL
 * within an array.  Nothing here looks whether writing has failed.
 */

/** json_one_line() - print the next outermost value on one line */
void json_one_line(void);

/**
 * json_begin() - begin an object or an array; aborts if eight are open
 * @key: its key; NULL within an array, or if it is the outermost one
 * @bracket: '{' or '['
 */
void json_begin(const char *key, char bracket);

/** json_end() - end the object or array that was begun last; after the outermost one, the line */
void json_end(void);

/**
 * json_string() - print a string
 * @key: its key; NULL within an array
 * @value: the text, in UTF-8
 */
void json_string(const char *key, const char *value);

/**
 * json_uint() - print a whole number
 * @key: its key; NULL within an array
 * @value: the number
 */
void json_uint(const char *key, uint64_t value);

/**
 * json_real() - print a number with six digits
 * @key: its key; NULL within an array
 * @value: the number; NAN is null
 */
void json_real(const char *key, double value);

/**
 * json_time() - print the present time, as "2026-11-25T10:18:52Z"
 * @key: its key; NULL within an array
 */
void json_time(const char *key);

/**
 * json_bool() - print true or false
 * @key: its key; NULL within an array
 * @value: which of them
 */
void json_bool(const char *key, bool value);

/**
 * json_quote() - print a text as a string of JSON, outside of what json_begin() began
 * @out: where to
 * @s: the text, in UTF-8
 */
void json_quote(FILE *out, const char *s);

/**
 * json_word() - print a number if a text is a whole one, else a string
 * @key: its key; NULL within an array
 * @value: the text; a number has 18 digits at most
 */
void json_word(const char *key, const char *value);

#endif
