/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lvm2's own commands, run as they are installed.
 */
#ifndef HEARTH_PLUGIN_LVM_H
#define HEARTH_PLUGIN_LVM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The segment type of the volume VG/LV, and "active" or "".  0, or -1 if there is
 * no such volume.
 */
int lvm_volume(const char *name, char *type, size_t type_len, char *active,
	       size_t active_len);

/*
 * Cuts VG/LV, perhaps below /dev, into @vg and @lv of DM_NAME_MAX bytes each; @name, of
 * twice as many, becomes VG/LV.  False after a complaint.
 */
bool lvm_take_name(const char *from, char *name, char *vg, char *lv);

/*
 * The lock type of a volume group that lvmlockd has locks of, "sanlock" say; else "none".
 * Asks the daemon, and reads no disk.
 */
void lvm_lock_type(const char *vg, char *type, size_t len);

/*
 * Starts a command in a process group of its own, so that Ctrl-C reaches it only
 * through us.  Both its outputs go to stderr.  Returns its pid, or -1 after a
 * complaint.
 */
pid_t lvm_start(const char *const argv[]);
/* 1 if it has ended, and its exit status in @code; else 0.  Does not wait. */
int lvm_ended(pid_t pid, int *code);
/* Runs a command to its end.  Returns its exit status, 128 and more if killed. */
int lvm_run(const char *const argv[]);

#define LVM_MAX_BLOCKS	1e6	/* allocation/cache_pool_max_chunks, unless set */

/* The size of metadata, in bytes, that hearth-target(8) advises to a cache. */
double cache_metadata_bytes(double cache, double block);
/* The smallest blocks of 64 KiB and more of which LVM allows so many, in bytes. */
double cache_block_for(double cache);

/* A command line that is put together word by word; zeroed at first. */
struct command {
	const char *argv[160];	/* the longest is a cache with 64 settings */
	unsigned int nr;
	char *texts[48];	/* words that belong to the command */
	unsigned int nr_texts;
};

/* Adds a word, which must stay until the command has run. */
void command_add(struct command *c, const char *word);
/* Adds a word that is made here. */
__attribute__((format(printf, 2, 3)))
void command_add_text(struct command *c, const char *format, ...);
/* Each of these frees the words that were made here. */
void command_free(struct command *c);
/* lvm_run(): EXIT_OK or EXIT_FAILED. */
int command_run(struct command *c);
/* For --dry-run: a line on stdout. */
void command_print(struct command *c);

/*
 * The first line that a command prints, without the newline.  0, or -1 if the
 * command fails.  Its complaints are dropped.
 */
int command_output(const char *const argv[], char *line, size_t len);
/* All that it prints, allocated; NULL if it cannot be run.  Sets its exit code. */
char *command_said(const char *const argv[], int *code);
/* The same; NULL if it fails. */
char *command_text(const char *const argv[]);

/* LVM writes the name of a hidden volume in brackets: removes them.  Returns @name. */
char *lvm_without_brackets(char *name);

/*
 * The first line of the report that @command (lvs, pvs or vgs) makes of @what, cut
 * into @nr fields, at most 8; sizes are in bytes.  False if there is none.
 */
#define FIELD_LEN	256
bool lvm_report(const char *command, const char *fields, const char *what,
		char values[][FIELD_LEN], unsigned int nr);

#endif
