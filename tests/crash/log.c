// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the recorder's log: every request with the instants at which it was
 * submitted and done.
 */
#include <stdlib.h>
#include <string.h>

#include "crash.h"

struct place {
	uint32_t disk;
	uint32_t index;
};

static int by_completion(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	if (x->done != y->done)
		return x->done < y->done ? -1 : 1;
	return x->submit < y->submit ? -1 : x->submit > y->submit;
}

static size_t entry_size(const struct crash_entry *e)
{
	return sizeof(*e) + (e->kind == LOG_WRITE ? e->sectors * (size_t)SECTOR : 0);
}

static void count(struct log *log, const struct crash_head *head, uint64_t at)
{
	uint32_t nr[NR_RECORDED] = {}, marks = 0, meta = 0;
	const struct crash_entry *e;

	for (; at < head->used; at += entry_size(e)) {
		e = (const void *)((const char *)head + at);
		if (e->kind == LOG_MARK)
			marks++;
		else if (e->kind != LOG_DONE)
			nr[e->disk]++;
		meta += e->kind != LOG_MARK && e->disk == DISK_META;
	}
	for (int i = 0; i < NR_RECORDED; i++)
		log->ops[i] = calloc(nr[i] + 1, sizeof(struct op));
	log->marks = calloc(marks + 1, sizeof(*log->marks));
	log->meta_events = calloc(meta + 1, sizeof(*log->meta_events));
}

static struct op *add_op(struct log *log, const struct crash_entry *e)
{
	struct op *op = &log->ops[e->disk][log->nr_ops[e->disk]++];

	op->kind = e->kind;
	op->fua = e->flags & CRASH_FUA;
	op->sector = e->sector;
	op->sectors = e->sectors;
	op->data = (const uint8_t *)(e + 1);
	op->submit = log->nr_events;
	op->done = NEVER;
	return op;
}

void log_read(struct log *log, const struct crash_head *head, uint64_t begin)
{
	uint64_t span = (head->used - begin) / sizeof(struct crash_entry) + 1;
	/* by offset: an entry takes a multiple of 32 bytes */
	struct op **of = calloc(span, sizeof(*of));
	const struct crash_entry *e;

	if (head->overflow)
		die("the log is full");
	memset(log, 0, sizeof(*log));
	count(log, head, begin);
	for (uint64_t at = begin; at < head->used; at += entry_size(e)) {
		struct op **slot = &of[(at - begin) / sizeof(*e)];

		e = (const void *)((const char *)head + at);
		if (e->kind == LOG_MARK) {
			log->marks[log->nr_marks].event = log->nr_events;
			log->marks[log->nr_marks++].number = e->of;
		} else if (e->kind == LOG_DONE) {
			/* A request from before @begin has no entry here. */
			slot = e->of < begin ? NULL : &of[(e->of - begin) / sizeof(*e)];
			if (slot && !(e->flags & LOG_FAILED))
				(*slot)->done = log->nr_events;
		} else {
			*slot = add_op(log, e);
		}
		if (e->kind != LOG_MARK && e->disk == DISK_META)
			log->meta_events[log->nr_meta_events++] = log->nr_events;
		log->nr_events++;
	}
	free(of);
	for (int i = 0; i < NR_RECORDED; i++)
		qsort(log->ops[i], log->nr_ops[i], sizeof(struct op), by_completion);
}

void log_mark_chunks(const struct crash_head *head, uint64_t begin,
		     struct chunks *changed)
{
	const struct crash_entry *e;

	for (uint64_t at = begin; at < head->used; at += entry_size(e)) {
		e = (const void *)((const char *)head + at);
		if ((e->kind == LOG_WRITE || e->kind == LOG_DISCARD) &&
		    e->disk < NR_DISKS)
			chunks_mark(&changed[e->disk], e->sector, e->sectors);
	}
}

void log_free(struct log *log)
{
	for (int i = 0; i < NR_RECORDED; i++)
		free(log->ops[i]);
	free(log->marks);
	free(log->meta_events);
	memset(log, 0, sizeof(*log));
}
