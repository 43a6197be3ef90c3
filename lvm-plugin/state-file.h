/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small files in /var/lib/hearth, from which a command that was killed goes on.
 */
#ifndef HEARTH_PLUGIN_STATE_FILE_H
#define HEARTH_PLUGIN_STATE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/**
 * state_directory() - make /var/lib/hearth, which all may read
 *
 * Return: false, with errno and without a complaint, if it is not there afterwards.
 */
bool state_directory(void);

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
