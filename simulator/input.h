/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file or standard input, uncompressed on the way by libarchive: gzip, xz, zstd
 * or bzip2, by what it begins with and not by its name.
 */
#ifndef HEARTH_SIMULATOR_INPUT_H
#define HEARTH_SIMULATOR_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct input;

/* "-" is standard input.  NULL with *why, which stays, if it cannot be read. */
struct input *input_open(const char *path, const char **why);
void input_close(struct input *in);

/* Does it begin with bytes that no text has? */
bool input_is_binary(struct input *in);
/* Up to @len bytes; less only at the end, or where it cannot be read further. */
size_t input_bytes(struct input *in, void *bytes, size_t len);
/* A line with its newline, or the first part of one that is longer. */
bool input_line(struct input *in, char *line, size_t len);
/* After the end: NULL, or why it ended early. */
const char *input_error(struct input *in);

#endif
