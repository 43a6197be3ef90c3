/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs commands of lvm2 and others, and reads their output.  It must not know what a command
 * is for.
 */
#ifndef HEARTH_PLUGIN_LVM_H
#define HEARTH_PLUGIN_LVM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * lvm_volume() - the type of a volume, and whether it is active
 * @name: VG/LV
 * @type: receives the segment type, "cache" say
 * @type_len: how many bytes @type has
 * @active: receives "active", or "" if the volume is not active
 * @active_len: how many bytes @active has
 *
 * Runs lvs, and drops its complaints.
 *
 * Return: 0; -1, without a complaint, if there is no such volume.
 */
int lvm_volume(const char *name, char *type, size_t type_len, char *active,
	       size_t active_len);

/**
 * lvm_has_table() - does a volume have a device that takes I/O?
 * @name: VG/LV
 *
 * Runs lvs, and drops its complaints. lvm_volume() calls a volume active as soon as its device
 * exists, also if an activation has failed before the device got a table.
 *
 * Return: whether it has one; true as well if LVM does not tell.
 */
bool lvm_has_table(const char *name);

/**
 * lvm_take_name() - cut the name of a volume in two
 * @from: VG/LV, perhaps below /dev
 * @name: of 2 * DM_NAME_MAX bytes; receives VG/LV
 * @vg: of DM_NAME_MAX bytes; receives the volume group
 * @lv: of DM_NAME_MAX bytes; receives the volume
 *
 * Does not look whether there is such a volume.
 *
 * Return: true; false after a complaint, if @from has another form or is longer than
 * DM_NAME_MAX - 1 bytes.
 */
bool lvm_take_name(const char *from, char *name, char *vg, char *lv);

/**
 * lvm_lock_type() - the lock type of a volume group
 * @vg: its name; "" is no group
 * @type: receives "sanlock" or "dlm", say, if lvmlockd has locks of the group; else "none"
 * @len: how many bytes @type has
 *
 * Asks lvmlockd if that runs. Reads no disk.
 */
void lvm_lock_type(const char *vg, char *type, size_t len);

/**
 * lvm_start() - start a command, and do not wait for it
 * @argv: its words; ends with NULL
 *
 * The command is found by PATH. It gets a process group of its own, so that Ctrl-C reaches it
 * only through the caller. Its input is empty, LC_ALL is C, and SIGINT, SIGTERM, SIGHUP and
 * SIGPIPE have their default actions. Both its outputs go to stderr.
 *
 * Return: its pid, of which the caller asks lvm_ended(); -1 after a complaint.
 */
pid_t lvm_start(const char *const argv[]);

/**
 * lvm_ended() - has a command ended?
 * @pid: of lvm_start()
 * @code: receives its exit status, as lvm_run() returns it, or EXIT_FAILED if it is no
 *	child of this process
 *
 * Does not wait. The caller must not use the pid any more after 1, because the kernel may give
 * it to another process.
 *
 * Return: 1 if it has ended; else 0, and @code stays as it is.
 */
int lvm_ended(pid_t pid, int *code);

/**
 * lvm_run() - run a command to its end
 * @argv: as of lvm_start()
 *
 * Return: its exit status; 128 and the signal's number if it was killed; EXIT_FAILED after
 * a complaint if it cannot be started.
 */
int lvm_run(const char *const argv[]);

/**
 * lvm_watch() - run a command to its end, and pass Ctrl-C on
 * @argv: as of lvm_start()
 * @meanwhile: is called every half second until the command ends; NULL: nothing is
 * @arg: for @meanwhile
 *
 * The caller has called catch_signals(). The command gets one SIGINT if interrupted is set, and
 * this waits for its end then, too.
 *
 * Return: as of lvm_run().
 */
int lvm_watch(const char *const argv[], void (*meanwhile)(void *arg), void *arg);

#define LVM_MAX_BLOCKS	1e6	/* allocation/cache_pool_max_chunks, unless set */

/**
 * cache_metadata_bytes() - the bytes of metadata that hearth-target(8) advises for a cache
 * @cache: bytes of the cache
 * @block: bytes of one of its blocks, more than 0
 *
 * Return: bytes, not rounded to anything.
 */
double cache_metadata_bytes(double cache, double block);

/**
 * cache_block_for() - the smallest block for which LVM's limit on the number of blocks holds
 * @cache: bytes of the cache
 *
 * Return: bytes of a block: 64 KiB, or 64 KiB times a power of two.
 */
double cache_block_for(double cache);

/* A command line that is put together word by word; zeroed at first. */
struct command {
	const char *argv[160];	/* enough to attach a cache with 64 settings */
	unsigned int nr;
	char *texts[48];	/* words that belong to the command */
	unsigned int nr_texts;
};

/**
 * command_add() - add a word
 * @c: the command line
 * @word: stays the caller's, and must last until the command has run
 *
 * Aborts if there is no place left.
 */
void command_add(struct command *c, const char *word);

/**
 * command_add_text() - add a word that this makes from a format
 * @c: the command line, which owns the word
 * @format: as of printf()
 *
 * Aborts without memory, or if there is no place left.
 */
__attribute__((format(printf, 2, 3)))
void command_add_text(struct command *c, const char *format, ...);

/**
 * command_free() - free the words that command_add_text() made
 * @c: the command line, which cannot be run any more
 */
void command_free(struct command *c);

/**
 * command_run() - run the command to its end, as lvm_run(), and free its words
 * @c: the command line
 *
 * Return: EXIT_OK; EXIT_FAILED if it cannot be started, after a complaint, or if it fails: then
 * the command itself has complained.
 */
int command_run(struct command *c);

/**
 * command_print() - print the command on a line of stdout, for --dry-run, and free its words
 * @c: the command line
 */
void command_print(struct command *c);

/**
 * command_output() - the first line that a command prints
 * @argv: as of lvm_start(); its complaints are dropped
 * @line: receives that line, without the newline; "" if the command fails
 * @len: how many bytes @line has; a longer line is cut
 *
 * Return: 0; -1, without a complaint, if the command fails or cannot be run.
 */
int command_output(const char *const argv[], char *line, size_t len);

/**
 * command_said() - all that a command prints, even if it fails
 * @argv: as of lvm_start(); its complaints are dropped
 * @code: receives its exit status, as lvm_run() returns it
 *
 * Waits until the command has ended.
 *
 * Return: the text, which the caller frees; "" if the command prints nothing. NULL, without a
 * complaint, if the command cannot be run; @code stays as it is then.
 */
char *command_said(const char *const argv[], int *code);

/**
 * command_text() - all that a command prints, if it succeeds
 * @argv: as of command_said()
 *
 * Return: the text, which the caller frees; NULL, without a complaint, if the command fails
 * or cannot be run.
 */
char *command_text(const char *const argv[]);

/**
 * lvm_without_brackets() - remove the brackets of a hidden volume's name
 * @name: as LVM writes it; is changed in place, and may have none
 *
 * Return: @name.
 */
char *lvm_without_brackets(char *name);

#define FIELD_LEN	256

/**
 * lvm_value() - a column of a volume, whatever its length
 * @column: its name
 * @volume: VG/LV
 *
 * If lvs prints several lines, the first counts. The complaints of lvs are dropped.
 *
 * Return: the text, which the caller frees; NULL, without a complaint, if lvs fails.
 */
char *lvm_value(const char *column, const char *volume);

/**
 * lvm_devices() - what a volume lies on, in all its segments
 * @volume: VG/LV
 *
 * The names are paths of physical volumes, names of hidden volumes without brackets, or that
 * of a missing device (lvm_is_missing()). The complaints of lvs are dropped.
 *
 * Return: the names with commas, each once, which the caller frees; "" if there are none. NULL,
 * without a complaint, if lvs fails.
 */
char *lvm_devices(const char *volume);

/**
 * lvm_is_missing() - is this LVM's word for a device that it does not find?
 * @device: a name as of lvm_devices(), or as LVM prints it; a "(" or a comma ends it
 *
 * Return: true if it is.
 */
bool lvm_is_missing(const char *device);

/**
 * lvm_report_all() - each line of a report of LVM's
 * @command: lvs, pvs or vgs
 * @fields: the names of the columns, with commas
 * @what: the volume, device or group
 * @nr: how many columns @fields names, at most 8
 * @take: is called for each line, with its columns as of lvm_report()
 * @arg: for @take
 *
 * The command's complaints are dropped.
 *
 * Return: true; false, without a complaint, if there is no line or the command fails.
 */
bool lvm_report_all(const char *command, const char *fields, const char *what,
		    unsigned int nr, void (*take)(void *arg, char values[][FIELD_LEN]),
		    void *arg);

/**
 * lvm_report() - the first line of a report of LVM's
 * @command: lvs, pvs or vgs
 * @fields: the names of the columns, with commas
 * @what: the volume, device or group
 * @values: receives the columns, each cut to FIELD_LEN - 1 characters; a length is a whole
 *	number of bytes, without a unit
 * @nr: how many columns @fields names, at most 8
 *
 * LVM prints a line for each segment if @fields names a column of segments, such as devices;
 * the lines after the first are dropped. lvm_devices() reads them all. The command's complaints
 * are dropped, too.
 *
 * Return: true; false, without a complaint, if there is no line or the command fails; then
 * @values stays as it is.
 */
bool lvm_report(const char *command, const char *fields, const char *what,
		char values[][FIELD_LEN], unsigned int nr);

#endif
