/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the command and of dmeventd's plugin: complaints, questions, the clock, signals,
 * paths, lists.  Knows no caches.
 */
#ifndef HEARTH_PLUGIN_UTIL_H
#define HEARTH_PLUGIN_UTIL_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/**
 * complain() - flush stdout, then print a line on stderr with "hearth: " before it
 * @format: as of printf(), without the newline
 *
 * Dmeventd's plugin must not call this, because it has a log.
 */
__attribute__((format(printf, 1, 2)))
void complain(const char *format, ...);

/**
 * user_agrees() - ask the user for yes or no
 * @question: printed on stderr
 *
 * Reads one line of stdin, however long it is.
 *
 * Return: true if the line begins with y; false also if there is no line, because a script may
 * have no input.
 */
bool user_agrees(const char *question);

/** now() - seconds since boot, including the time that the machine slept */
double now(void);

/** catch_signals() - from here on SIGINT, SIGTERM and SIGHUP only set interrupted */
void catch_signals(void);
extern volatile sig_atomic_t interrupted;

/**
 * pause_for() - sleep, until a signal comes
 * @seconds: the longest sleep, 0 or more
 *
 * Does not sleep if interrupted is set.
 *
 * Return: true if interrupted is set.
 */
bool pause_for(double seconds);

/**
 * root_path() - a path below dm_root()
 * @format: as of printf(): the path, which begins with a slash
 *
 * Aborts without memory, so dmeventd's plugin must not call it.
 *
 * Return: the path, which the caller frees.
 */
__attribute__((format(printf, 1, 2)))
char *root_path(const char *format, ...);

/**
 * try_root_path() - root_path(), also for dmeventd's plugin
 * @format: as of root_path()
 *
 * Return: the path, which the caller frees; NULL without memory.
 */
__attribute__((format(printf, 1, 2)))
char *try_root_path(const char *format, ...);

/**
 * root_open() - open a file below dm_root() for reading
 * @format: as of root_path()
 *
 * Dmeventd's plugin may call this.
 *
 * Return: the stream, which the caller closes, and which no other program inherits; NULL, and
 * errno says why.
 */
__attribute__((format(printf, 1, 2)))
FILE *root_open(const char *format, ...);

/**
 * root_access() - access() of a path below dm_root()
 * @mode: as of access()
 * @format: as of root_path()
 *
 * Dmeventd's plugin may call this.
 *
 * Return: 0 if it may be accessed so; -1, and errno says why: ENOMEM without memory.
 */
__attribute__((format(printf, 2, 3)))
int root_access(int mode, const char *format, ...);

/**
 * xasprintf() - a text of any length
 * @format: as of printf()
 *
 * Aborts without memory, so dmeventd's plugin must not call it.
 *
 * Return: the text, which the caller frees.
 */
__attribute__((format(printf, 1, 2)))
char *xasprintf(const char *format, ...);

/**
 * list_has() - is a word in a list?
 * @list: words with commas between them; may be ""
 * @word: the word, which is not ""
 *
 * Return: true if one of the words is @word.
 */
bool list_has(const char *list, const char *word);

#endif
