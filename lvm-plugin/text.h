/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How things are printed: sizes, shares, durations, colours, JSON.
 */
#ifndef HEARTH_PLUGIN_TEXT_H
#define HEARTH_PLUGIN_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SIZE_LEN	16

/* "12.3 MiB"; returns @buf, of SIZE_LEN. */
const char *size_text(char *buf, double bytes);
/* "1.2k", at most five characters; returns @buf, of SIZE_LEN. */
const char *short_text(char *buf, double n);
/* "2 h 5 min", "40 s"; returns @buf, of 2 * SIZE_LEN. */
const char *duration_text(char *buf, double seconds);
/* @part of @whole, 0 if that is nothing. */
double share(double part, double whole);

enum colour { PLAIN, BOLD, GOOD, WARN, BAD };

/* Escape sequences on a terminal (unless NO_COLOR is set), "" elsewhere. */
const char *colour(enum colour c);

/*
 * JSON to stdout.  A key is NULL within an array; json_end() of the outermost
 * object ends the line.
 */
void json_begin(const char *key, char bracket);	/* '{' or '[' */
void json_end(void);
void json_string(const char *key, const char *value);
void json_uint(const char *key, uint64_t value);
void json_real(const char *key, double value);	/* NAN is null */
void json_bool(const char *key, bool value);
/* The value as a number if it is a whole one, else as a string. */
void json_word(const char *key, const char *value);

#endif
