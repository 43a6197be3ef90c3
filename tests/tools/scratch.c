// SPDX-License-Identifier: GPL-2.0-only
/* A directory for a test's files, and a function that runs commands in it. */

#include "scratch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char tmp[64];

bool tmp_make(const char *what)
{
	snprintf(tmp, sizeof(tmp), "/tmp/hearth-%s-XXXXXX", what);
	return mkdtemp(tmp);
}

int tmp_remove(void **state)
{
	(void)state;
	return shell("rm -rf %s", tmp);
}

int shell(const char *fmt, ...)
{
	char cmd[3000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	fflush(stdout);
	return system(cmd);
}
