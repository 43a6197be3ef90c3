/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The directories /var/lib/hearth and /run/hearth, and how small files there are written.
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

/* Writes the content of a file. */
typedef void (*writer)(FILE *out, const void *what);

/**
 * state_file_write() - write a file that is there whole, and on the disk, or not at all
 * @path: the file, with dm_root(); its directory is there
 * @put: writes the content
 * @what: for @put
 *
 * Uses a file .NAME.PID beside it meanwhile, which stays if the process is killed. Complains
 * of nothing.
 *
 * Return: false, with errno, if it could not be written; an old file stays then.
 */
bool state_file_write(const char *path, writer put, const void *what);

/**
 * state_file_refresh() - state_file_write() for a file that may be lost in a power cut
 * @path: as of state_file_write()
 * @put: the same
 * @what: the same
 *
 * Does not wait for the disk, because dmeventd's plugin calls this, and must not wait where
 * the disk of /var is the one that fails.
 *
 * Return: as state_file_write().
 */
bool state_file_refresh(const char *path, writer put, const void *what);

#endif
