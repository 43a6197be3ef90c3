/* SPDX-License-Identifier: GPL-2.0-only */
/* A directory for a program's files, and commands that work there. */

#ifndef SCRATCH_H
#define SCRATCH_H

#include "os/os.h"

/* The directory's path, once it is made. */
extern char tmp[64];

/* @what: a word of its name.  False if it cannot be made. */
bool tmp_make(const char *what);
/* For cmocka, as the teardown of a group. */
int tmp_remove(void **state);

/* What system() returns for the command. */
int __printf(1, 2) shell(const char *fmt, ...);

#endif
