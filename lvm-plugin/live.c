// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recording by the kernel's trace event block_bio_queue.  A trace instance of our
 * own keeps other people's tracing undisturbed.  The kernel filters the event by
 * device, so requests to other devices cost next to nothing.
 *
 * It must not know caches: it records any block device.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dm.h"
#include "hearth.h"
#include "live.h"

#define EVENT		"events/block/block_bio_queue/"
/* The buffer has to hold what happens between two polls. Both were chosen, not measured. */
#define POLL		0.2	/* seconds */
#define BUFFER_KB	"8192"	/* for each CPU */
#define MARK		" block_bio_queue: "

struct recording {
	struct trace *t;
	char instance[600];
	unsigned long lost;
	char line[512];		/* the begin of a line whose end has not come */
	size_t len;
};

static bool put(const struct recording *r, const char *file, const char *text)
{
	char path[700];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", r->instance, file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	return !close(fd) && ok;
}

int live_find(const char *volume, dev_t *dev)
{
	char path[500];
	struct stat st;

	if (volume[0] == '/')
		snprintf(path, sizeof(path), "%s", volume);
	else
		snprintf(path, sizeof(path), "/dev/%s%s",
			 strchr(volume, '/') ? "" : "mapper/", volume);
	if (stat(path, &st) || !S_ISBLK(st.st_mode)) {
		complain("%s: no such volume, or not active", volume);
		return EXIT_NO_CACHE;
	}
	*dev = st.st_rdev;
	return EXIT_OK;
}

/* An instance that a killed run left behind is used again. */
static int begin(struct recording *r, dev_t dev)
{
	char filter[64];

	snprintf(r->instance, sizeof(r->instance),
		 "%s/sys/kernel/tracing/instances/hearth-%u-%u", dm_root(),
		 major(dev), minor(dev));
	/* In the kernel a device number has 20 bits for the minor number. */
	snprintf(filter, sizeof(filter), "dev == %u",
		 major(dev) << 20 | minor(dev));
	if ((!mkdir(r->instance, 0700) || errno == EEXIST) &&
	    put(r, "buffer_size_kb", BUFFER_KB) &&
	    put(r, EVENT "filter", filter) && put(r, EVENT "enable", "1"))
		return EXIT_OK;
	complain("%s: %s; is tracefs mounted, and the user root?", r->instance,
		 strerror(errno));
	return EXIT_FAILED;
}

static void end(const struct recording *r)
{
	put(r, EVENT "enable", "0");
	rmdir(r->instance);
}

/* "  fio-345 [001] ..... 12.345678: block_bio_queue: 254,3 WS 1234 + 8 [fio]" */
static void take_line(struct recording *r, char *line)
{
	unsigned long long sector, sectors, lost;
	struct request q = { 0 };
	char *event = strstr(line, MARK), *time, op[16];

	if (strstr(line, "[LOST") &&
	    sscanf(strstr(line, "[LOST"), "[LOST %llu", &lost) == 1)
		r->lost += lost;
	if (!event || event == line)
		return;
	if (sscanf(event + strlen(MARK), "%*u,%*u %15s %llu + %llu", op,
		   &sector, &sectors) != 3 || !sectors || strchr(op, 'D'))
		return;
	event[-1] = '\0';
	time = strrchr(line, ' ');
	q.time_us = time ? strtod(time, NULL) * 1e6 : 0;
	q.offset = sector * 512;
	q.length = sectors * 512;
	q.write = strchr(op, 'W') != NULL;
	trace_add(r->t, &q);
}

static void take(struct recording *r, const char *text, ssize_t n)
{
	for (; n > 0; n--, text++) {
		if (*text != '\n') {
			if (r->len < sizeof(r->line) - 1)
				r->line[r->len++] = *text;
			continue;
		}
		r->line[r->len] = '\0';
		r->len = 0;
		take_line(r, r->line);
	}
}

static void report(const struct recording *r, double left)
{
	fprintf(stderr, "\r%zu requests, %.0f s to go; Ctrl-C ends it\033[K",
		(size_t)r->t->nr, left);
}

/* Takes all lines that have come since the last call. */
static void take_all(struct recording *r, int pipe)
{
	static char text[65536];
	ssize_t n;

	while ((n = read(pipe, text, sizeof(text))) > 0)
		take(r, text, n);
}

static int record(struct recording *r, double seconds, bool quiet)
{
	double until = now() + seconds;
	char path[700];
	int fd;

	snprintf(path, sizeof(path), "%s/trace_pipe", r->instance);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		complain("%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	while (!interrupted && now() < until) {
		take_all(r, fd);
		if (!quiet)
			report(r, until - now());
		pause_for(POLL);
	}
	put(r, EVENT "enable", "0");
	take_all(r, fd);
	if (!quiet)
		fputs("\r\033[K", stderr);
	close(fd);
	return EXIT_OK;
}

int live_record(struct trace *t, dev_t dev, double *seconds, bool quiet)
{
	struct recording r = { .t = t };
	double began;
	int code;

	catch_signals();
	code = begin(&r, dev);
	began = now();
	if (!code)
		code = record(&r, *seconds, quiet || !isatty(2));
	*seconds = now() - began;
	end(&r);
	/* Ctrl-C ended the recording; the rest of the command goes on. */
	interrupted = 0;
	if (r.lost)
		complain("note: %lu requests came too fast to be recorded",
			 r.lost);
	return code;
}
