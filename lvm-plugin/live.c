// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records requests by the kernel's trace event block_bio_queue, through libtracefs.  It
 * makes a trace instance of its own, so that it does not disturb other tracing.  The kernel
 * filters the event by device, so requests to other devices cost next to nothing.
 *
 * It must not know caches: it records any block device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <tracefs.h>
#include <unistd.h>

#include "dm.h"
#include "hearth.h"
#include "live.h"

#define SYSTEM		"block"
#define EVENT		"block_bio_queue"
/* The buffer has to hold the events between two polls.  Both were chosen, not measured. */
#define POLL		0.2	/* seconds */
#define BUFFER_KB	8192	/* for each CPU */

struct recording {
	struct trace *t;
	struct tracefs_instance *instance;
	struct tep_handle *events;
	struct tep_event *event;	/* block_bio_queue, with its fields: */
	struct tep_format_field *sector, *sectors, *op;
	double until;
	bool stopped;
	unsigned long long lost;
};

int live_find(const char *volume, dev_t *dev)
{
	const char *directory = volume[0] == '/' ? "" :
				strchr(volume, '/') ? "/dev/" : "/dev/mapper/";
	char *path = xasprintf("%s%s", directory, volume);
	struct stat st;
	bool found = !stat(path, &st) && S_ISBLK(st.st_mode);

	free(path);
	if (!found) {
		complain("%s: no such volume, or not active", volume);
		return EXIT_NO_CACHE;
	}
	*dev = st.st_rdev;
	return EXIT_OK;
}

/* ---- The instance ---- */

static bool parse_page(struct recording *r)
{
	int len;
	char *text = tracefs_instance_file_read(NULL, "events/header_page", &len);
	bool ok = text && !tep_parse_header_page(r->events, text, len, sizeof(long));

	free(text);
	return ok;
}

static bool parse_event(struct recording *r)
{
	int len;
	char *text = tracefs_event_file_read(NULL, SYSTEM, EVENT, "format", &len);
	bool ok = text && !tep_parse_event(r->events, text, len, SYSTEM);

	free(text);
	return ok;
}

/*
 * Reads the kernel's layout of a page of its buffer, and of this event.  It does not call
 * tracefs_local_events(), because that would read all symbols of the kernel as well.
 */
static bool read_format(struct recording *r)
{
	r->events = tep_alloc();
	if (!r->events || !parse_page(r) || !parse_event(r))
		return false;
	r->event = tep_find_event_by_name(r->events, SYSTEM, EVENT);
	if (!r->event)
		return false;
	r->sector = tep_find_field(r->event, "sector");
	r->sectors = tep_find_field(r->event, "nr_sector");
	r->op = tep_find_field(r->event, "rwbs");
	return r->sector && r->sectors && r->op;
}

/* Opens the instance of this device.  If a killed run has left it behind, it is used again. */
static bool open_instance(struct recording *r, dev_t dev)
{
	char name[64], filter[64];

	snprintf(name, sizeof(name), "hearth-%u-%u", major(dev), minor(dev));
	/* The kernel's own device number has the minor number in its lowest 20 bits. */
	snprintf(filter, sizeof(filter), "dev == %u", major(dev) << 20 | minor(dev));
	r->instance = tracefs_instance_create(name);
	return r->instance &&
	       !tracefs_instance_set_buffer_size(r->instance, BUFFER_KB, -1) &&
	       tracefs_event_file_write(r->instance, SYSTEM, EVENT, "filter", filter) > 0 &&
	       read_format(r) && !tracefs_event_enable(r->instance, SYSTEM, EVENT);
}

static int begin(struct recording *r, dev_t dev)
{
	char *path = root_path("/sys/kernel/tracing");

	if (dm_root()[0])
		tracefs_set_tracing_dir(path);
	free(path);
	tracefs_set_loglevel(TEP_LOG_NONE);
	errno = 0;
	if (open_instance(r, dev))
		return EXIT_OK;
	complain("the event " EVENT " cannot be recorded%s%s; is the user root, and does the kernel have tracefs?",
		 errno ? ": " : "", errno ? strerror(errno) : "");
	return EXIT_FAILED;
}

static void stop(struct recording *r)
{
	if (!r->stopped)
		tracefs_event_disable(r->instance, SYSTEM, EVENT);
	r->stopped = true;
}

static void end(struct recording *r)
{
	if (r->instance) {
		stop(r);
		tracefs_instance_destroy(r->instance);
		tracefs_instance_free(r->instance);
	}
	tep_free(r->events);
}

/* ---- Requests ---- */

static bool is_over(const struct recording *r)
{
	return interrupted || now() >= r->until;
}

static void take_request(struct recording *r, const struct tep_record *record)
{
	unsigned long long sector, sectors;
	struct request q = { .time_us = record->ts / 1000 };
	const char *op = (const char *)record->data + r->op->offset;

	if (tep_read_number_field(r->sector, record->data, &sector) ||
	    tep_read_number_field(r->sectors, record->data, &sectors))
		return;
	/* A flush has no sectors. */
	if (!sectors || memchr(op, 'D', strnlen(op, r->op->size)))
		return;
	q.offset = sector * 512;
	q.length = sectors * 512;
	q.write = memchr(op, 'W', strnlen(op, r->op->size)) != NULL;
	trace_add(r->t, &q);
}

/* libtracefs calls this for each event in the buffers, in the order of time. */
static int take(struct tep_event *event, struct tep_record *record, int cpu, void *data)
{
	struct recording *r = data;

	(void)cpu;
	if (record->missed_events)
		/* A negative number says that the kernel does not know how many it lost. */
		r->lost += record->missed_events > 0 ? record->missed_events : 1;
	if (event && event->id == r->event->id)
		take_request(r, record);
	if (is_over(r))
		stop(r);
	return 0;
}

static void report(const struct recording *r)
{
	fprintf(stderr, "\r%zu requests, %.0f s to go; Ctrl-C ends it\033[K",
		(size_t)r->t->nr, r->until - now());
}

static bool take_all(struct recording *r)
{
	return !tracefs_iterate_raw_events(r->events, r->instance, NULL, 0, take, r);
}

static int record(struct recording *r, bool quiet)
{
	bool ok = true;

	while (ok && !is_over(r)) {
		ok = take_all(r);
		if (!quiet)
			report(r);
		pause_for(POLL);
	}
	stop(r);
	ok = ok && take_all(r);
	if (!quiet)
		fputs("\r\033[K", stderr);
	if (ok)
		return EXIT_OK;
	complain("the trace buffers cannot be read: %s", strerror(errno));
	return EXIT_FAILED;
}

int live_record(struct trace *t, dev_t dev, double *seconds, bool quiet)
{
	struct recording r = { .t = t };
	double began;
	int code;

	catch_signals();
	code = begin(&r, dev);
	began = now();
	r.until = began + *seconds;
	if (!code)
		code = record(&r, quiet || !isatty(2));
	*seconds = now() - began;
	end(&r);
	/* Ctrl-C ended the recording; the rest of the command goes on. */
	interrupted = 0;
	if (r.lost)
		complain("note: %llu requests came too fast to be recorded", r.lost);
	return code;
}
