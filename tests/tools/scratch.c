// SPDX-License-Identifier: GPL-2.0-only
/* A directory for a test's files, a function that runs commands, and toolsets. */

#include "scratch.h"
#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char tmp[64];

struct toolset toolsets[2] = {
	{ "installed", "", true },
	{ "next release", "", false },
};

bool tmp_make(const char *what)
{
	static char next_dir[PATH_MAX + 20];
	const char *top = getenv("TOP");
	char *real = realpath(top ? top : ".", NULL);

	snprintf(next_dir, sizeof(next_dir), "%s/build/trixie/bin/",
		 real ? real : ".");
	free(real);
	toolsets[1].dir = next_dir;
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

static void run_one(const char *top, const struct run *run)
{
	int r = shell("cd %s && { %s/build/unit/hearth-metadata %s; } > log 2>&1",
		      tmp, top, run->args);

	if (r != run->status << 8)
		fail_msg("%s: status %#x", run->args, r);
	if (!run->text)
		r = shell("! [ -s %s ]", path("log"));
	else
		r = shell("grep -qe '%s' %s", run->text, path("log"));
	if (r) {
		shell("cat %s", path("log"));
		fail_msg("%s: not \"%s\"", run->args,
			 run->text ? run->text : "");
	}
	/* strerror(EILSEQ) says nothing to people. */
	if (!shell("grep -q Invalid.or.incomplete %s", path("log")))
		fail_msg("%s: strerror(EILSEQ)", run->args);
}

void run_all(const struct run *runs, u32 nr)
{
	const char *top = getenv("TOP");
	char real[PATH_MAX];

	if (!realpath(top ? top : ".", real))
		fail_msg("no %s", top);
	for (u32 i = 0; i < nr; i++)
		run_one(real, runs + i);
}

const char *path(const char *name)
{
	static char buf[4][640];
	static int next;

	next = (next + 1) % 4;
	snprintf(buf[next], sizeof(buf[next]), "%s/%s", tmp, name);
	return buf[next];
}

bool have(const struct toolset *t)
{
	if (!shell("%scache_check -V >/dev/null 2>&1", t->dir))
		return true;
	printf("skip: no cache_check of the %s\n", t->name);
	return false;
}
