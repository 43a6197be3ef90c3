/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The directories /var/lib/hearth and /run/hearth, and small files from which a command that
 * was killed goes on.
 */
#ifndef HEARTH_PLUGIN_STATE_FILE_H
#define HEARTH_PLUGIN_STATE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#define STATE_DIRECTORY		"/var/lib/hearth"
#define HISTORY_DIRECTORY	"/run/hearth"

/**
 * state_directory() - make a directory that all may read, and those above it
 * @name: one of the two, or a directory in it; without dm_root()
 *
 * The modes of directories that are there stay. Dmeventd's plugin calls this, too.
 *
 * Return: false, with errno and without a complaint, if it is not there afterwards.
 */
bool state_directory(const char *name);

/**
 * state_file_write() - write a file that is there whole, and on the disk, or not at all
 * @path: the file, of root_path(); its directory is there
 * @put: writes the content
 * @what: for @put
 *
 * Uses PATH.new meanwhile. Complains of nothing.
 *
 * Return: false, with errno, if it could not be written; an old file stays then.
 */
bool state_file_write(const char *path, void (*put)(FILE *out, const void *what),
		      const void *what);

#endif
