/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the command and of dmeventd's plugin: complaints, the clock, signals,
 * paths.  Knows no caches.
 */
#ifndef HEARTH_PLUGIN_UTIL_H
#define HEARTH_PLUGIN_UTIL_H

#include <signal.h>
#include <stdbool.h>

/* Prints one line on stderr, "hearth: " before it, after what is in stdout. */
__attribute__((format(printf, 1, 2)))
void complain(const char *format, ...);

/* Seconds since boot, the time asleep included. */
double now(void);

/* From here on SIGINT, SIGTERM and SIGHUP set interrupted, and end nothing. */
void catch_signals(void);
extern volatile sig_atomic_t interrupted;
/* Sleeps for @seconds; a signal ends it early.  Returns interrupted. */
bool pause_for(double seconds);

/*
 * A path below dm_root(), allocated; the caller frees it.  Ends the program when
 * there is no memory, so the plugin must not call it.
 */
__attribute__((format(printf, 1, 2)))
char *root_path(const char *format, ...);

#endif
