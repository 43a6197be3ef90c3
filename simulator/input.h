/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file or standard input, uncompressed on the way by libarchive: gzip, xz,
 * zstd or bzip2. The file's first bytes decide, not its name. This part
 * owns the open file and a buffer; it must not know what a trace is.
 */
#ifndef HEARTH_SIMULATOR_INPUT_H
#define HEARTH_SIMULATOR_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct input;

/**
 * input_open() - open a file for reading
 * @path: its path; "-" is standard input
 * @why: on error receives a static text
 *
 * Return: the input, or NULL.
 */
struct input *input_open(const char *path, const char **why);

/**
 * input_close() - close the file, and free the input
 * @in: the input
 */
void input_close(struct input *in);

/**
 * input_is_binary() - whether a file begins with bytes that no text has
 * @in: the input, of which nothing was read yet
 *
 * Return: true if one of the first 512 bytes is such a byte.
 */
bool input_is_binary(struct input *in);

/**
 * input_bytes() - read bytes
 * @in: the input
 * @bytes: room for @len bytes
 * @len: how many bytes to read
 *
 * Return: how many bytes were read; fewer than @len only at the end, or after an error.
 */
size_t input_bytes(struct input *in, void *bytes, size_t len);

/**
 * input_line() - read a line
 * @in: the input
 * @line: receives the line with its newline, or as much of it as fits
 * @len: bytes of @line
 *
 * Return: false at the end or after an error.
 */
bool input_line(struct input *in, char *line, size_t len);

/**
 * input_error() - why an input ended early
 * @in: the input, at its end
 *
 * Return: NULL if it did not; or a text that stays until input_close().
 */
const char *input_error(struct input *in);

#endif
