/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the command and of dmeventd's plugin: complaints, the clock, signals,
 * paths.  Knows no caches.
 */
#ifndef HEARTH_PLUGIN_UTIL_H
#define HEARTH_PLUGIN_UTIL_H

#include <signal.h>
#include <stdbool.h>

/**
 * complain() - print a line on stderr, "hearth: " before it, after what is in stdout
 * @format: as of printf(), without the newline
 *
 * Not for dmeventd's plugin, which has a log.
 */
__attribute__((format(printf, 1, 2)))
void complain(const char *format, ...);

/** now() - seconds since boot, the time asleep included */
double now(void);

/** catch_signals() - from here on SIGINT, SIGTERM and SIGHUP set interrupted, and end nothing */
void catch_signals(void);
extern volatile sig_atomic_t interrupted;

/**
 * pause_for() - sleep, until a signal comes
 * @seconds: how long, 0 or more
 *
 * Does not sleep if interrupted is set.
 *
 * Return: true if interrupted is set.
 */
bool pause_for(double seconds);

/**
 * root_path() - a path below dm_root()
 * @format: as of printf(): the path, with a slash at first
 *
 * Aborts without memory, so dmeventd's plugin must not call it.
 *
 * Return: the path, which the caller frees.
 */
__attribute__((format(printf, 1, 2)))
char *root_path(const char *format, ...);

#endif
