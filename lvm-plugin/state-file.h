/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The directories /var/lib/hearth and /run/hearth, and the writing of files as a whole.  It
 * must not know what is in the files.
 */
#ifndef HEARTH_PLUGIN_STATE_FILE_H
#define HEARTH_PLUGIN_STATE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#define STATE_DIRECTORY		"/var/lib/hearth"
#define HISTORY_DIRECTORY	"/run/hearth"

/**
 * state_directory() - make a directory and those above it, of mode 0755 less the umask
 * @name: one of the two, or a directory in it; without dm_root()
 *
 * Directories that are there keep their modes. Dmeventd's plugin calls this, too.
 *
 * Return: true; false, with errno and without a complaint, if one of them cannot be made.
 */
bool state_directory(const char *name);

/* Writes the content of a file. */
typedef void (*writer)(FILE *out, const void *what);

/**
 * state_file_put_text() - the writer of a text that the caller has already
 * @out: the file
 * @text: a string
 */
void state_file_put_text(FILE *out, const void *text);

/**
 * state_file_write() - replace a file as a whole, and wait until it is on the disk
 * @path: the file, with dm_root(); its directory is there
 * @put: writes the content
 * @what: for @put
 *
 * Writes a file .NAME.PID beside it, and renames that. If the process is killed, .NAME.PID
 * may stay.
 *
 * Return: true; false, with errno and without a complaint, if the file cannot be written. An old
 * file stays as it is then.
 */
bool state_file_write(const char *path, writer put, const void *what);

/**
 * state_file_refresh() - state_file_write() for a file that may be lost in a power cut
 * @path: as of state_file_write()
 * @put: the same
 * @what: the same
 *
 * Does not wait for the disk. Dmeventd's plugin calls this, and it must not wait if the disk
 * of /var fails.
 *
 * Return: as state_file_write().
 */
bool state_file_refresh(const char *path, writer put, const void *what);

#endif
