/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A directory for a test's files, a function that runs commands in it, and the
 * releases of thin-provisioning-tools that there are.
 */

#ifndef SCRATCH_H
#define SCRATCH_H

#include "os/os.h"

/* The directory's path, valid once it is made. */
extern char tmp[64];

/*
 * @what: a word of the directory's name.  Also finds the toolsets.  Returns false if
 * mkdtemp() fails.
 */
bool tmp_make(const char *what);
/* Removes the directory: a teardown of a cmocka group. */
int tmp_remove(void **state);

/* Runs the command and returns the status that system() returned. */
int __printf(1, 2) shell(const char *fmt, ...);

/* A command line of hearth-metadata, and what it has to answer. */
struct run {
	const char *args;	/* file names are in the scratch directory */
	int status;
	const char *text;	/* a line of the output; NULL: no output */
};

/* Runs each in the directory, in this order; the test fails at the first that is wrong. */
void run_all(const struct run *runs, u32 nr);

/* The path of a file in the directory; four of them stay valid. */
const char *path(const char *name);

/* The installed release, and the next one (build/trixie/bin, see scripts/setup). */
struct toolset {
	const char *name;
	const char *dir;	/* with a slash at the end, or "" */
	/*
	 * The faults of 0.9: its dump calls every block of format 2 clean; its
	 * restore leaks a block in format 1, and sets stray dirty bits in format 2.
	 */
	bool old;
};

extern struct toolset toolsets[2];

/* Is it there?  Says so if not. */
bool have(const struct toolset *t);

#endif
