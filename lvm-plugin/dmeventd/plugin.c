// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plugin of dmeventd.  On each event of a cache, and every few seconds, it gives
 * the status to monitor-rules.c.  It gives the notices that result to the log, and to a
 * command that the administrator may configure.
 *
 * dmeventd has a thread for each device; each struct watched belongs to one thread.
 * The daemon also watches the thin pools and mirrors of the machine.  So this file must not
 * end it, wait for long, or change state that all threads share.
 *
 * It must not know the conditions: monitor-rules.c has them.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <libdevmapper-event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "history.h"
#include "lost.h"
#include "monitor.h"
#include "record.h"
#include "util.h"

#define EXPORT	__attribute__((visibility("default")))

/* One cache, from its registration to its end. */
struct watched {
	struct monitor monitor;
	/* These are used during a look.  They are not on the stack, because a thread's is small. */
	struct cache_info cache;
	struct history history;
	struct dm_device dm;
	bool own;		/* the target is hearth's, and answers "stats" */
	unsigned int bad_line;	/* of the configuration, as it was reported last; 0: none */
};

/* The tests define a directory of their own. */
#ifndef HEARTH_ROOT
#define HEARTH_ROOT	""
#endif

const char *dm_root(void)
{
	return HEARTH_ROOT;
}

/* ---- Asking ---- */

/* The versions of the kernel's own target begin at 2.0, hearth's at 2.100. */
static bool target_is_own(void)
{
	struct dm_task *task = dm_task_create(DM_DEVICE_LIST_VERSIONS);
	struct dm_versions *v, *last = NULL;
	bool own = false;

	if (task && dm_task_run(task))
		for (v = dm_task_get_versions(task); v && v != last;) {
			last = v;
			if (!strcmp(v->name, "cache"))
				own = v->version[0] == 2 && v->version[1] >= 100;
			v = (struct dm_versions *)((char *)v + v->next);
		}
	if (task)
		dm_task_destroy(task);
	return own;
}

/* The answer to the message stats, allocated, or NULL. */
static char *ask_stats(const char *name, uint64_t sector)
{
	struct dm_task *task = dm_task_create(DM_DEVICE_TARGET_MSG);
	const char *answer;
	char *copy = NULL;

	if (!task)
		return NULL;
	if (dm_task_set_name(task, name) && dm_task_set_sector(task, sector) &&
	    dm_task_set_message(task, "stats") && dm_task_run(task)) {
		answer = dm_task_get_message_response(task);
		copy = answer ? strdup(answer) : NULL;
	}
	dm_task_destroy(task);
	return copy;
}

/* The words of the first target "cache", allocated, or NULL.  @start is its first sector. */
static char *cache_words(struct dm_task *status, uint64_t *start)
{
	char *target, *words;
	void *next = NULL;
	uint64_t length;

	do {
		next = dm_get_next_target(status, next, start, &length, &target,
					  &words);
		if (target && words && !strcmp(target, "cache"))
			return strdup(words);
	} while (next);
	return NULL;
}

static char *ask_table(const char *name)
{
	struct dm_task *task = dm_task_create(DM_DEVICE_TABLE);
	char *words = NULL;
	uint64_t start;

	if (!task)
		return NULL;
	if (dm_task_set_name(task, name) && dm_task_run(task))
		words = cache_words(task, &start);
	dm_task_destroy(task);
	return words;
}

/* ---- Telling ---- */

/* The process becomes the command.  Does not return. */
static void become(const char *const argv[])
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);
	sigset_t none;

	/* The kernel spares dmeventd when memory runs out; it need not spare the command. */
	if (fd >= 0 && write(fd, "0", 1) == 1)
		close(fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	closefrom(3);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

/* Starts a command without waiting for it, because it may take long. */
static void run_command(const char *const argv[])
{
	pid_t pid = fork();

	if (pid < 0) {
		syslog(LOG_ERR, "hearth: %s: %s", argv[0], strerror(errno));
		return;
	}
	if (!pid) {
		if (!fork())
			become(argv);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void tell(const struct monitor_conf *conf, const char *name,
		 const struct notice *n)
{
	const char *const argv[] = {
		conf->command, name, condition_name(n->condition),
		n->over ? "over" : "begins", n->text, NULL
	};

	syslog(n->over ? LOG_NOTICE :
	       n->condition <= COND_NEEDS_CHECK ? LOG_CRIT : LOG_WARNING,
	       "hearth: %s: %s%s: %s", name, condition_name(n->condition),
	       n->over ? " is over" : "", n->text);
	if (conf->command[0])
		run_command(argv);
}

static void read_conf(struct watched *w, struct monitor_conf *conf)
{
	unsigned int bad = monitor_read_the_conf(conf);

	if (bad && bad != w->bad_line)
		syslog(LOG_WARNING, "hearth: %s: line %u makes no sense",
		       MONITOR_CONF, bad);
	w->bad_line = bad;
}

/* Keeps the counters, so that hearth status has the last minute, hour and day. */
static void keep(struct watched *w, struct cache_info *c, const char *name)
{
	snprintf(w->dm.name, sizeof(w->dm.name), "%s", name);
	c->dm = &w->dm;
	cache_read_io(c);
	history_update(&w->history, c);
	record_keep(c);
}

static void look_at(struct watched *w, const char *name, const char *uuid,
		    char *words, char *stats)
{
	struct notice notices[NR_CONDITIONS];
	struct monitor_conf conf;
	struct cache_info *c = &w->cache;
	unsigned int i, nr;
	char *table;
	bool known;

	memset(c, 0, sizeof(*c));
	if (!cache_parse_status(c, words))
		return;
	if (stats)
		cache_parse_stats(c, stats);
	cache_set_name(c, name, uuid);
	table = ask_table(name);
	known = table && cache_parse_table(c, table);
	if (known)
		lost_below(c->origin, &c->lost);
	read_conf(w, &conf);
	nr = monitor_look(&w->monitor, &conf, c, now(), notices);
	for (i = 0; i < nr; i++)
		tell(&conf, c->name, &notices[i]);
	if (known && !c->failed_line)
		keep(w, c, name);
	free(table);
}

/* ---- Functions that dmeventd calls ---- */

EXPORT void process_event(struct dm_task *status, enum dm_event_mask event,
			  void **user)
{
	const char *name = dm_task_get_name(status);
	const char *uuid = dm_task_get_uuid(status);
	char *words, *stats = NULL;
	struct watched *w = *user;
	uint64_t start = 0;

	words = w && name ? cache_words(status, &start) : NULL;
	/* Without words the device is no cache any more; hearth monitor ends the registration. */
	if (!words)
		return;
	if (w->own)
		stats = ask_stats(name, start);
	/*
	 * If hearth's target does not answer, a table is being replaced.  The status line says
	 * "ro" then, which would be reported as a failure.
	 */
	if (!w->own || stats)
		look_at(w, name, uuid ?: "", words, stats);
	free(stats);
	free(words);
}

EXPORT int register_device(const char *name, const char *uuid, int major,
			   int minor, void **user)
{
	struct watched *w = calloc(1, sizeof(*w));

	if (!w)
		return 0;
	w->own = target_is_own();
	w->dm.major = major;
	w->dm.minor = minor;
	snprintf(w->dm.uuid, sizeof(w->dm.uuid), "%s", uuid);
	*user = w;
	syslog(LOG_INFO, "hearth: watching %s", name);
	return 1;
}

EXPORT int unregister_device(const char *name, const char *uuid, int major,
			     int minor, void **user)
{
	free(*user);
	*user = NULL;
	syslog(LOG_INFO, "hearth: no longer watching %s", name);
	return 1;
}
