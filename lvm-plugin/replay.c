// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a recorded load for fio, runs fio, and reads its output.
 *
 * It must not know LVM or caches: the caller gives the path of a device that may be written.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hearth.h"
#include "lvm.h"
#include "replay.h"

#define MIB		(1024 * 1024ULL)
#define POLL		200000	/* microseconds between two looks whether fio has ended */
/* Requests under way, as many as a database or a file server has; chosen, not measured. */
#define DEPTH		"--iodepth=8"

/* ---- The load ---- */

u64 replay_span(const struct trace *t)
{
	u64 span = 0;
	size_t i;

	for (i = 0; i < t->nr; i++)
		if (t->requests[i].offset + t->requests[i].length > span)
			span = t->requests[i].offset + t->requests[i].length;
	return span;
}

u64 replay_fold(struct trace *t)
{
	u64 nr = replay_span(t) / MIB + 1, to = 0, i;
	u64 *place = calloc(nr, sizeof(*place));
	struct request *r;

	if (!place)
		abort();
	for (r = t->requests; r < t->requests + t->nr; r++)
		for (i = r->offset / MIB; r->length && i <= (r->offset + r->length - 1) / MIB; i++)
			place[i] = 1;
	/* place[i] was 1 if a request touches the MiB i; now it becomes the MiB that i goes to. */
	for (i = 0; i < nr; i++)
		if (place[i])
			place[i] = to++;
	for (r = t->requests; r < t->requests + t->nr; r++)
		r->offset = place[r->offset / MIB] * MIB + r->offset % MIB;
	free(place);
	return replay_span(t);
}

/* False, with errno, if anything that was written to @out is not in the file. */
static bool close_log(FILE *out)
{
	bool failed = ferror(out);

	if (fclose(out))
		return false;
	/* If the disk was full for a moment, requests in the middle are missing. */
	if (failed)
		errno = EIO;
	return !failed;
}

/* The log is one of fio's version 2, which has no times, so fio does not wait. */
bool replay_write(const struct trace *t, const char *volume, const char *log)
{
	FILE *out = fopen(log, "we");
	size_t i;

	if (out) {
		fprintf(out, "fio version 2 iolog\n%s add\n%s open\n", volume, volume);
		for (i = 0; i < t->nr; i++)
			if (t->requests[i].length)
				fprintf(out, "%s %s %llu %u\n", volume,
					t->requests[i].write ? "write" : "read",
					(unsigned long long)t->requests[i].offset,
					t->requests[i].length);
		fprintf(out, "%s close\n", volume);
	}
	if (out && close_log(out))
		return true;
	complain("%s: %s", log, strerror(errno));
	return false;
}

/* ---- Output of fio ---- */

/*
 * fio's terse output, version 3, is a line of fields with semicolons.  The reads' fields
 * begin with field 5, the writes' with field 46; both have the same order.  Fields count
 * from 0.
 */
enum {
	ERROR = 4, READS = 5, WRITES = 46,
	/* These count from the first field of the reads, or of the writes. */
	BANDWIDTH = 1, IOPS = 2, RUNTIME_MS = 3, PERCENTILES = 12,
	NR_FIELDS = WRITES + 41
};

/* A percentile is "99.000000%=1234", in microseconds. */
static double percentile_ms(const char *field)
{
	const char *value = strchr(field, '=');

	return value ? strtod(value + 1, NULL) / 1000 : 0;
}

static struct replay_side side(char **f)
{
	return (struct replay_side){
		.requests = strtod(f[IOPS], NULL),
		.bytes = strtod(f[BANDWIDTH], NULL) * 1024,
		.p50 = percentile_ms(f[PERCENTILES]),
		.p99 = percentile_ms(f[PERCENTILES + 1]),
		.p999 = percentile_ms(f[PERCENTILES + 2]),
	};
}

static bool parse(char *line, struct replay_result *r)
{
	char *field[NR_FIELDS], *rest = line;
	double reads, writes;
	unsigned int i;

	for (i = 0; i < NR_FIELDS; i++) {
		field[i] = strsep(&rest, ";");
		if (!field[i])
			return false;
	}
	if (strcmp(field[0], "3") || strcmp(field[ERROR], "0"))
		return false;
	r->reads = side(&field[READS]);
	r->writes = side(&field[WRITES]);
	reads = strtod(field[READS + RUNTIME_MS], NULL);
	writes = strtod(field[WRITES + RUNTIME_MS], NULL);
	r->seconds = (reads > writes ? reads : writes) / 1000;
	return true;
}

/* fio may print warnings before the line. */
static bool read_result(const char *output, struct replay_result *r)
{
	FILE *in = fopen(output, "re");
	char *line = NULL;
	bool found = false;
	size_t room = 0;

	while (in && !found && getline(&line, &room, in) > 0)
		found = !strncmp(line, "3;", 2) && parse(line, r);
	free(line);
	if (in)
		fclose(in);
	return found;
}

static int wait_for(pid_t pid)
{
	bool told = false;
	int code = 0;

	while (!lvm_ended(pid, &code)) {
		if (interrupted && !told) {
			kill(pid, SIGTERM);
			told = true;
		}
		/* pause_for() returns at once after Ctrl-C, and fio needs a while to end. */
		usleep(POLL);
	}
	return interrupted ? EXIT_INTERRUPTED : code;
}

int replay_run(const char *log, const char *output, double minutes, struct replay_result *r)
{
	struct command c = { .argv = { "fio", "--name=replay", "--replay_no_stall=1",
				       "--ioengine=libaio", "--direct=1", DEPTH,
				       "--output-format=terse", "--terse-version=3",
				       "--percentile_list=50:99:99.9" }, .nr = 9 };
	pid_t pid;
	int code;

	command_add_text(&c, "--read_iolog=%s", log);
	command_add_text(&c, "--output=%s", output);
	if (minutes)
		command_add_text(&c, "--runtime=%.0f", 60 * minutes);
	pid = lvm_start(c.argv);
	code = pid < 0 ? EXIT_FAILED : wait_for(pid);
	command_free(&c);
	if (!code && !read_result(output, r)) {
		complain("fio has failed, or says nothing that this command understands");
		code = EXIT_FAILED;
	}
	return code && code != EXIT_INTERRUPTED ? EXIT_FAILED : code;
}
