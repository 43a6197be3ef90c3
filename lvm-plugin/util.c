// SPDX-License-Identifier: GPL-2.0-only
/*
 * Complaints, questions, the clock, signals, paths, lists.
 *
 * It must not know caches.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"
#include "util.h"

void complain(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("hearth: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

bool user_agrees(const char *question)
{
	char *line = NULL;
	size_t room = 0;
	bool any, yes;

	fprintf(stderr, "%s [y/N] ", question);
	fflush(stderr);
	any = getline(&line, &room, stdin) > 0;
	yes = any && (line[0] == 'y' || line[0] == 'Y');
	if (!any)
		fputc('\n', stderr);
	free(line);
	return yes;
}

/* ---- Time and signals ---- */

volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

bool pause_for(double seconds)
{
	struct timespec t = { .tv_sec = seconds };

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	if (!interrupted)
		nanosleep(&t, NULL);
	return interrupted;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- Paths ---- */

/* NULL without memory. */
static char *below_root(const char *format, va_list ap)
{
	char *below, *path;

	if (vasprintf(&below, format, ap) < 0)
		return NULL;
	if (asprintf(&path, "%s%s", dm_root(), below) < 0)
		path = NULL;
	free(below);
	return path;
}

/* below_root() of the arguments of a function that ends in "...". */
#define PATH_BELOW_ROOT(format) ({		\
	va_list ap_;				\
	char *path_;				\
						\
	va_start(ap_, format);			\
	path_ = below_root(format, ap_);	\
	va_end(ap_);				\
	path_;					\
})

char *try_root_path(const char *format, ...)
{
	return PATH_BELOW_ROOT(format);
}

char *root_path(const char *format, ...)
{
	char *path = PATH_BELOW_ROOT(format);

	if (!path)
		abort();
	return path;
}

FILE *root_open(const char *format, ...)
{
	char *path = PATH_BELOW_ROOT(format);
	FILE *f = path ? fopen(path, "re") : NULL;

	free(path);
	return f;
}

int root_access(int mode, const char *format, ...)
{
	char *path = PATH_BELOW_ROOT(format);
	int r = path ? access(path, mode) : -1;

	free(path);
	return r;
}

char *xasprintf(const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		abort();
	va_end(ap);
	return text;
}

/* ---- Lists ---- */

bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *end;

	for (;; list = end + 1) {
		end = strchrnul(list, ',');
		if ((size_t)(end - list) == len && !strncmp(list, word, len))
			return true;
		if (!*end)
			return false;
	}
}
