/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recorded load, which fio replays on a scratch volume.  It must not know LVM or caches.
 */
#ifndef HEARTH_PLUGIN_REPLAY_H
#define HEARTH_PLUGIN_REPLAY_H

#include <stdbool.h>

#include "trace.h"

/* The reads, or the writes, as fio measured them. */
struct replay_side {
	double requests;		/* requests a second; 0: there were none */
	double bytes;			/* bytes a second */
	double p50, p99, p999;		/* milliseconds of a request */
};

struct replay_result {
	double seconds;			/* length of the replay */
	struct replay_side reads, writes;
};

/**
 * replay_fold() - leave out the parts of the disk that no request touches
 * @t: the requests; their offsets become smaller, and their order on the disk stays
 *
 * A part that is left out is a whole MiB, or several. Aborts without memory.
 *
 * Return: replay_span() after that, in bytes.
 */
u64 replay_fold(struct trace *t);

/**
 * replay_span() - the bytes that a volume needs for these requests
 * @t: the requests
 *
 * Return: bytes from 0 to the end of the last request on the disk; 0 if there is no request.
 */
u64 replay_span(const struct trace *t);

/**
 * replay_write() - write the requests as fio reads them
 * @t: the requests
 * @volume: the path of the device that fio will read and write
 * @log: the path of the file that this writes; an old file is replaced
 *
 * Leaves out the times, and requests of no bytes, such as flushes.
 *
 * Return: true; false after a complaint.
 */
bool replay_write(const struct trace *t, const char *volume, const char *log);

/**
 * replay_run() - replay a log, as fast as the device allows
 * @log: the file of replay_write(), which names the device
 * @output: the path of a file that fio writes, and that stays
 * @minutes: the longest replay; 0: to the end of the log
 * @r: receives the measurements, if EXIT_OK is returned
 *
 * Runs fio, and ends it when interrupted is set, so the caller has called catch_signals().
 *
 * Return: EXIT_OK; EXIT_INTERRUPTED; EXIT_FAILED after a complaint of fio or of this function.
 */
int replay_run(const char *log, const char *output, double minutes, struct replay_result *r);

#endif
