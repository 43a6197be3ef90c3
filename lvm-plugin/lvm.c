// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running lvm2's commands, and others of the system.  They are found by PATH, as in
 * a script, and no shell is in between.
 *
 * It must not know what a command is for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hearth.h"
#include "lvm.h"

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* Becomes the command, with @out as its stdout.  Does not return. */
static void become(const char *const argv[], int out, bool quiet)
{
	int null = open("/dev/null", O_RDWR);

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	dup2(null, 0);
	dup2(out, 1);
	if (quiet)
		dup2(null, 2);
	closefrom(3);
	setenv("LVM_SUPPRESS_FD_WARNINGS", "1", 1);
	setenv("LC_ALL", "C", 1);
	execvp(argv[0], (char *const *)argv);
	if (!quiet)
		dprintf(2, "hearth: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

pid_t lvm_start(const char *const argv[])
{
	pid_t pid = fork();

	if (!pid)
		become(argv, 2, false);
	if (pid < 0)
		complain("%s: %s", argv[0], strerror(errno));
	return pid;
}

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

int lvm_ended(pid_t pid, int *code)
{
	int status;
	pid_t r;

	do
		r = waitpid(pid, &status, WNOHANG);
	while (r < 0 && errno == EINTR);
	if (!r)
		return 0;
	*code = r < 0 ? EXIT_FAILED : exit_code(status);
	return 1;
}

int lvm_run(const char *const argv[])
{
	pid_t pid = lvm_start(argv);
	int status;

	if (pid < 0)
		return EXIT_FAILED;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return exit_code(status);
}

/* ---- A command line, word by word ---- */

/* The last place stays NULL, which ends the list.  No caller has so many words. */
void command_add(struct command *c, const char *word)
{
	if (c->nr == ARRAY_LEN(c->argv) - 1)
		abort();
	c->argv[c->nr++] = word;
}

void command_add_text(struct command *c, const char *format, ...)
{
	va_list ap;
	char *word;

	va_start(ap, format);
	if (c->nr_texts == ARRAY_LEN(c->texts) ||
	    vasprintf(&word, format, ap) < 0)
		abort();
	va_end(ap);
	c->texts[c->nr_texts++] = word;
	command_add(c, word);
}

int command_run(struct command *c)
{
	int r = lvm_run(c->argv);

	while (c->nr_texts)
		free(c->texts[--c->nr_texts]);
	return r ? EXIT_FAILED : EXIT_OK;
}

/* ---- The output of a command ---- */

char *command_text(const char *const argv[])
{
	char *text = NULL;
	int ends[2], status;
	size_t room = 0;
	FILE *f;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid)
		become(argv, ends[1], true);
	close(ends[1]);
	f = fdopen(ends[0], "r");
	/* Reads all, because these commands print no NUL. */
	if (!f || getdelim(&text, &room, '\0', f) < 0) {
		free(text);
		text = strdup("");
	}
	if (f)
		fclose(f);
	if (pid < 0)
		goto failed;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			goto failed;
	if (!exit_code(status))
		return text;
failed:
	free(text);
	return NULL;
}

int command_output(const char *const argv[], char *line, size_t len)
{
	char *text = command_text(argv);

	line[0] = '\0';
	if (!text)
		return -1;
	snprintf(line, len, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return 0;
}

int lvm_volume(const char *name, char *type, size_t type_len, char *active,
	       size_t active_len)
{
	const char *const argv[] = {
		"lvs", "--noheadings", "--separator", "|", "-o",
		"segtype,lv_active", "--", name, NULL
	};
	char line[256], *begin = line, *bar;

	if (command_output(argv, line, sizeof(line)))
		return -1;
	begin += strspn(begin, " ");
	bar = strchr(begin, '|');
	if (!bar)
		return -1;
	*bar++ = '\0';
	snprintf(type, type_len, "%s", begin);
	snprintf(active, active_len, "%s", bar);
	return 0;
}

#define MAX_FIELDS	8	/* no caller asks for more */

bool lvm_report(const char *command, const char *fields, const char *what,
		char values[][FIELD_LEN], unsigned int nr)
{
	const char *const argv[] = {
		command, "-a", "--noheadings", "--nosuffix", "--units", "b",
		"--separator", "|", "-o", fields, "--", what, NULL
	};
	char line[MAX_FIELDS * FIELD_LEN], *at = line, *value;
	unsigned int i;

	if (command_output(argv, line, sizeof(line)))
		return false;
	at += strspn(at, " ");
	for (i = 0; i < nr; i++) {
		value = strsep(&at, "|");
		snprintf(values[i], FIELD_LEN, "%s", value ?: "");
	}
	return line[0];
}
