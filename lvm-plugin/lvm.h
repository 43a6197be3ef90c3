/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lvm2's own commands, run as they are installed.
 */
#ifndef HEARTH_PLUGIN_LVM_H
#define HEARTH_PLUGIN_LVM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Its segment type, and "active" or "". Nonzero if there is no such volume. */
int lvm_volume(const char *name, char *type, size_t type_len, char *active,
	       size_t active_len);

/*
 * Start a command in a process group of its own, so that Ctrl-C reaches it only
 * through us; what it says goes to stderr.  Returns its pid or -1.
 */
pid_t lvm_start(const char *const argv[]);
/* Has it ended?  Then 1, and its exit code. */
int lvm_ended(pid_t pid, int *code);
/* Both; an exit code. */
int lvm_run(const char *const argv[]);

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
/* lvm_run(), then frees the words.  EXIT_OK or EXIT_FAILED. */
int command_run(struct command *c);

/* The first line that a command prints, without the newline; -1 if it fails. */
int command_output(const char *const argv[], char *line, size_t len);

/*
 * The first line of what lvs, pvs or vgs report of @what, cut into @nr fields;
 * sizes are in bytes.  False if there is none.
 */
#define FIELD_LEN	256
bool lvm_report(const char *command, const char *fields, const char *what,
		char values[][FIELD_LEN], unsigned int nr);

/* All that it prints, allocated; NULL if it fails. */
char *command_text(const char *const argv[]);

#endif
