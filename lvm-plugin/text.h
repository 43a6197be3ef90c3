/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers as people read them, colours for terminals, JSON for programs.  It must not know
 * caches.
 */
#ifndef HEARTH_PLUGIN_TEXT_H
#define HEARTH_PLUGIN_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SIZE_LEN	16

/**
 * size_text() - an amount of bytes as "12.3 MiB"
 * @buf: of SIZE_LEN bytes
 * @bytes: the amount, 0 or more; 1 KiB is 1024 bytes
 *
 * Return: @buf.
 */
const char *size_text(char *buf, double bytes);

/**
 * short_text() - a number as "1.2k", of four characters at most below 1000P
 * @buf: of SIZE_LEN bytes
 * @n: the number, 0 or more; 1k is 1000
 *
 * Return: @buf.
 */
const char *short_text(char *buf, double n);

/**
 * duration_text() - a time as "2 h 5 min" or "40 s"
 * @buf: of 2 * SIZE_LEN bytes
 * @seconds: the time in seconds, 0 or more
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
 * share() - the share that a part is of a whole
 * @part: in any unit
 * @whole: in the same unit
 *
 * Dmeventd's plugin calls this, too.
 *
 * Return: @part / @whole; 0 if @whole is 0.
 */
double share(double part, double whole);

enum colour { PLAIN, BOLD, GOOD, WARN, BAD };

/**
 * colour() - the escape sequence to print before a text in a colour
 * @c: the colour; PLAIN for the sequence after the text
 *
 * Return: the sequence, constant. It is "" if stdout is no terminal, NO_COLOR is set, or TERM is
 * dumb or not set. The first call decides that for all.
 */
const char *colour(enum colour c);

/*
 * JSON to stdout.  One outermost value is open at a time, and a static variable has its state.
 * The key is NULL within an array.  main.c looks whether stdout has failed; these functions do
 * not.
 */

/** json_one_line() - print the next outermost value on one line */
void json_one_line(void);

/**
 * json_begin() - begin an object or an array; aborts if eight are open already
 * @key: its key; NULL within an array, or if it is the outermost one
 * @bracket: '{' or '['
 */
void json_begin(const char *key, char bracket);

/** json_end() - end the object or array that was begun last; the outermost one ends its line */
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
 * json_real() - print a number with six significant digits
 * @key: its key; NULL within an array
 * @value: the number; NAN and infinity are printed as null
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
 * json_quote() - print a text as a string of JSON, independent of json_begin()
 * @out: the stream that receives it
 * @s: the text, in UTF-8
 */
void json_quote(FILE *out, const char *s);

/**
 * json_word() - print a text as a number if it has only digits, 18 at most, else as a string
 * @key: its key; NULL within an array
 * @value: the text
 */
void json_word(const char *key, const char *value);

#endif
