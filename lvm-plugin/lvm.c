// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs lvm2's commands, and others of the system.  It finds them by PATH, as a script
 * does, and starts them without a shell.
 *
 * It must not know what a command is for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dm.h"
#include "hearth.h"
#include "lvm.h"

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* The environment, allocated, by which LVM prints no warnings of descriptors, and English. */
static char **environment(void)
{
	static char quiet[] = "LVM_SUPPRESS_FD_WARNINGS=1", language[] = "LC_ALL=C";
	unsigned int nr = 0, i;
	char **all;

	while (environ[nr])
		nr++;
	all = calloc(nr + 3, sizeof(*all));
	if (!all)
		abort();
	for (nr = i = 0; environ[i]; i++)
		if (strncmp(environ[i], "LC_ALL=", 7))
			all[nr++] = environ[i];
	all[nr++] = quiet;
	all[nr++] = language;
	return all;
}

/*
 * The command gets a process group of its own, and the default actions of the signals that
 * hearth may have caught.
 */
static void set_up(posix_spawnattr_t *attr)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(attr, &set);
	posix_spawnattr_setpgroup(attr, 0);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

/*
 * Starts the command, with @out as its stdout.  With @quiet its complaints are dropped.
 * Returns its pid; or -1, and sets errno.
 */
static pid_t start(const char *const argv[], int out, bool quiet)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char **env = environment();
	pid_t pid = -1;

	posix_spawnattr_init(&attr);
	set_up(&attr);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
	if (quiet)
		posix_spawn_file_actions_adddup2(&files, 0, 2);
	posix_spawn_file_actions_addclosefrom_np(&files, 3);
	errno = posix_spawnp(&pid, argv[0], &files, &attr, (char *const *)argv, env);
	if (errno)
		pid = -1;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	free(env);
	return pid;
}

pid_t lvm_start(const char *const argv[])
{
	pid_t pid = start(argv, 2, false);

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

#define POLL	500000	/* microseconds between two calls; chosen for people who watch */

int lvm_watch(const char *const argv[], void (*meanwhile)(void *arg), void *arg)
{
	pid_t pid = lvm_start(argv);
	bool told = false;
	int code;

	if (pid < 0)
		return EXIT_FAILED;
	while (!lvm_ended(pid, &code)) {
		if (interrupted && !told) {
			kill(-pid, SIGINT);
			told = true;
		}
		usleep(POLL);
		if (meanwhile)
			meanwhile(arg);
	}
	return code;
}

/* ---- Sizes ---- */

#define MIB		1048576.0
#define DEFAULT_BLOCK	65536.0

double cache_metadata_bytes(double cache, double block)
{
	return 4 * MIB + 44 * cache / block;
}

double cache_block_for(double cache)
{
	double block = DEFAULT_BLOCK;

	while (cache / block > LVM_MAX_BLOCKS)
		block *= 2;
	return block;
}

/* ---- A command line, word by word ---- */

/* The last place of argv stays NULL, because NULL ends the list. */
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

void command_free(struct command *c)
{
	while (c->nr_texts)
		free(c->texts[--c->nr_texts]);
}

int command_run(struct command *c)
{
	int r = lvm_run(c->argv);

	command_free(c);
	return r ? EXIT_FAILED : EXIT_OK;
}

void command_print(struct command *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		printf("%s%s", i ? " " : "", c->argv[i]);
	putchar('\n');
	command_free(c);
}

/* ---- The output of a command ---- */

char *command_said(const char *const argv[], int *code)
{
	char *text = NULL;
	int ends[2], status;
	size_t room = 0;
	FILE *f;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	pid = start(argv, ends[1], true);
	close(ends[1]);
	f = fdopen(ends[0], "r");
	/* This reads the whole output, because these commands print no NUL. */
	if (!f || getdelim(&text, &room, '\0', f) < 0) {
		free(text);
		text = strdup("");
	}
	if (f)
		fclose(f);
	else
		close(ends[0]);
	if (pid < 0)
		goto failed;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			goto failed;
	*code = exit_code(status);
	return text;
failed:
	free(text);
	return NULL;
}

char *command_text(const char *const argv[])
{
	int code;
	char *text = command_said(argv, &code);

	if (!text || !code)
		return text;
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

char *lvm_without_brackets(char *name)
{
	if (*name == '[')
		memmove(name, name + 1, strlen(name));
	name[strcspn(name, "]")] = '\0';
	return name;
}

bool lvm_take_name(const char *from, char *name, char *vg, char *lv)
{
	const char *slash;

	if (!strncmp(from, "/dev/", 5))
		from += 5;
	slash = strchr(from, '/');
	if (!slash || strchr(slash + 1, '/') || strlen(from) >= DM_NAME_MAX) {
		complain("%s: must be VG/LV", from);
		return false;
	}
	snprintf(name, 2 * DM_NAME_MAX, "%s", from);
	snprintf(vg, DM_NAME_MAX, "%.*s", (int)(slash - from), from);
	snprintf(lv, DM_NAME_MAX, "%s", slash + 1);
	return true;
}

bool lvm_has_table(const char *name)
{
	char v[1][FIELD_LEN];

	return !lvm_report("lvs", "lv_live_table", name, v, 1) || v[0][0];
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

bool lvm_report_all(const char *command, const char *fields, const char *what,
		    unsigned int nr, void (*take)(void *arg, char values[][FIELD_LEN]),
		    void *arg)
{
	const char *const argv[] = {
		command, "-a", "--noheadings", "--nosuffix", "--units", "b",
		"--separator", "|", "-o", fields, "--", what, NULL
	};
	char *text = command_text(argv), *line, *value, *save = NULL;
	char values[MAX_FIELDS][FIELD_LEN];
	bool any = false;
	unsigned int i;

	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " ");
		for (i = 0; i < nr; i++) {
			value = strsep(&line, "|");
			snprintf(values[i], FIELD_LEN, "%s", value ?: "");
		}
		take(arg, values);
		any = true;
	}
	free(text);
	return any;
}

/* The first line of a report.  Further lines may be those of a volume's other segments. */
struct first {
	char (*values)[FIELD_LEN];
	unsigned int nr;
	bool taken;
};

static void take_first(void *arg, char values[][FIELD_LEN])
{
	struct first *first = arg;

	if (!first->taken)
		memcpy(first->values, values, first->nr * FIELD_LEN);
	first->taken = true;
}

bool lvm_report(const char *command, const char *fields, const char *what,
		char values[][FIELD_LEN], unsigned int nr)
{
	struct first first = { .values = values, .nr = nr };

	return lvm_report_all(command, fields, what, nr, take_first, &first);
}

/* ---- One column, of any length ---- */

/* The column as lvs prints it: a line for each segment, with spaces before it.  Allocated. */
static char *column_of(const char *column, const char *volume)
{
	const char *const argv[] = {
		"lvs", "-a", "--noheadings", "--nosuffix", "--units", "b", "-o", column, "--",
		volume, NULL
	};

	return command_text(argv);
}

char *lvm_value(const char *column, const char *volume)
{
	char *text = column_of(column, volume);

	if (!text)
		return NULL;
	memmove(text, text + strspn(text, " "), strlen(text + strspn(text, " ")) + 1);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

bool lvm_is_missing(const char *device)
{
	/* The second is that of older lvm2. */
	static const char * const words[] = { "[unknown]", "unknown device" };
	size_t len = strcspn(device, "(,");
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == len && !strncmp(device, words[i], len))
			return true;
	return false;
}

/* Takes the name out of LVM's "/dev/sdb1(42)" or "[lv_rimage_0](0)". */
static char *device_name_in(char *text)
{
	text += strspn(text, " ");
	text[strcspn(text, "(")] = '\0';
	if (text[0] != '[' || lvm_is_missing(text))
		return text;
	return lvm_without_brackets(text);
}

char *lvm_devices(const char *volume)
{
	char *text = column_of("devices", volume), *rest = text, *list, *name;

	if (!text)
		return NULL;
	/* The list is never longer than the text. */
	list = calloc(1, strlen(text) + 1);
	if (!list)
		abort();
	while ((name = strsep(&rest, ",\n"))) {
		name = device_name_in(name);
		if (!name[0] || list_has(list, name))
			continue;
		if (list[0])
			strcat(list, ",");
		strcat(list, name);
	}
	free(text);
	return list;
}

void lvm_lock_type(const char *vg, char *type, size_t len)
{
	const char *const argv[] = { "lvmlockctl", "--info", NULL };
	char *path = root_path("/run/lvm/lvmlockd.socket"), *text, *line, *save = NULL;
	bool runs = !access(path, F_OK);
	char name[DM_NAME_MAX], found[32];

	free(path);
	snprintf(type, len, "none");
	text = runs && vg[0] ? command_text(argv) : NULL;
	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "VG %127s lock_type=%31s", name, found) == 2 &&
		    !strcmp(name, vg))
			snprintf(type, len, "%s", found);
	free(text);
}
