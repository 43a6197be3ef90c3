/* SPDX-License-Identifier: GPL-2.0-only */
/* A directory for a test's files, and a function that runs commands in it. */

#ifndef SCRATCH_H
#define SCRATCH_H

#include "os/os.h"

/* The directory's path, valid once it is made. */
extern char tmp[64];

/* @what: a word of the directory's name.  Returns false if mkdtemp() fails. */
bool tmp_make(const char *what);
/* Removes the directory: a teardown of a cmocka group. */
int tmp_remove(void **state);

/* Runs the command and returns the status that system() returned. */
int __printf(1, 2) shell(const char *fmt, ...);

#endif
