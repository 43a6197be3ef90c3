/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recorded load, replayed by fio on a volume of one's own.
 */
#ifndef HEARTH_PLUGIN_REPLAY_H
#define HEARTH_PLUGIN_REPLAY_H

#include <stdbool.h>

#include "trace.h"

/* The reads, or the writes, as fio measured them. */
struct replay_side {
	double requests;		/* a second; 0: there were none */
	double bytes;			/* a second */
	double p50, p99, p999;		/* milliseconds */
};

struct replay_result {
	double seconds;
	struct replay_side reads, writes;
};

/**
 * replay_fold() - leave out what no request touches
 * @t: the requests, whose offsets change; their order on the disk does not
 *
 * Whole MiB between two requests go. Aborts without memory.
 *
 * Return: replay_span() afterwards, bytes.
 */
u64 replay_fold(struct trace *t);

/**
 * replay_span() - how large a volume has to be for these requests
 * @t: the requests
 *
 * Return: bytes from 0 to the end of the last one on the disk; 0 if there is none.
 */
u64 replay_span(const struct trace *t);

/**
 * replay_write() - write the requests as fio reads them
 * @t: the requests
 * @volume: the path of the device that is read and written
 * @log: the file to be written; is replaced
 *
 * Leaves out requests of no bytes, such as flushes, and the times.
 *
 * Return: false after a complaint.
 */
bool replay_write(const struct trace *t, const char *volume, const char *log);

/**
 * replay_run() - replay a log, as fast as the device allows
 * @log: the file of replay_write(), which names the device
 * @output: the path of a file that fio may write
 * @minutes: at most; 0: to the end
 * @r: receives what was measured, after EXIT_OK
 *
 * Runs fio, and ends it when interrupted is set, so the caller has called catch_signals().
 *
 * Return: EXIT_OK; EXIT_INTERRUPTED; EXIT_FAILED after a complaint of fio's or of this.
 */
int replay_run(const char *log, const char *output, double minutes, struct replay_result *r);

#endif
