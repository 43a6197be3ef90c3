/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's log, /dev/kmsg, line by line.  It must not know what a line means.
 */
#ifndef HEARTH_PLUGIN_KERNEL_LOG_H
#define HEARTH_PLUGIN_KERNEL_LOG_H

/**
 * kernel_log_open() - open the kernel's log
 * @whence: where it begins: SEEK_DATA behind the last "dmesg --clear", SEEK_END with the next
 *	line
 *
 * Return: a descriptor that does not block, which the caller closes; -1, and errno says why.
 */
int kernel_log_open(int whence);

/**
 * kernel_log_read() - go through all lines that there are by now
 * @fd: of kernel_log_open()
 * @take: called with each line, without the newline; it may change the line
 * @ctx: first argument of @take
 */
void kernel_log_read(int fd, void (*take)(void *ctx, char *line), void *ctx);

#endif
