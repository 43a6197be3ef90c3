// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading traces and cutting them into accesses; see trace.h.
 *
 * It must not know caches.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "input.h"
#include "trace.h"

struct reader {
	struct trace *t;
	const char *path;
	const char *format;
	u64 line;
	char names[256][64];	/* files of a fio log */
	unsigned int nr_names;
};

void trace_add(struct trace *t, const struct request *r)
{
	if (t->nr == t->room) {
		t->room = t->room ? 2 * t->room : 65536;
		t->requests = realloc(t->requests, t->room * sizeof(*r));
		if (!t->requests)
			abort();
	}
	t->requests[t->nr++] = *r;
}

void trace_free(struct trace *t)
{
	free(t->requests);
	memset(t, 0, sizeof(*t));
}

/* An offset in address space @nr: disks of a trace and files of a log have one. */
static u64 space(u64 nr, u64 offset)
{
	return (nr << 48) + offset;
}

/* Returns 0, which is a parser's word for a good line. */
static int add(struct reader *rd, u64 time_us, u64 offset, u64 length,
	       bool write)
{
	struct request r = {
		.time_us = time_us, .offset = offset, .length = length,
		.write = write,
	};

	trace_add(rd->t, &r);
	return 0;
}

static int parse_bin(struct reader *rd, const u8 *rec)
{
	struct request r = { 0 };
	u32 op;

	memcpy(&r.time_us, rec, 8);
	memcpy(&r.offset, rec + 8, 8);
	memcpy(&r.length, rec + 16, 4);
	memcpy(&op, rec + 20, 4);
	if (op > 1)
		return -1;
	r.write = op;
	trace_add(rd->t, &r);
	return 0;
}

static bool op_is(const char *op, char c)
{
	return op[0] == c || op[0] == c - 'a' + 'A';
}

/* Only the first letter of the operation counts, in any case. */
static int add_by_letter(struct reader *rd, u64 time_us, u64 offset,
			 u64 length, const char *op)
{
	if (!op_is(op, 'r') && !op_is(op, 'w'))
		return -1;
	return add(rd, time_us, offset, length, op_is(op, 'w'));
}

/* Timestamp (100 ns), host, disk, Read or Write, offset, size, response time */
static int parse_msr(struct reader *rd, const char *line)
{
	unsigned long long time, offset, length;
	unsigned int disk;
	char op[16];

	if (sscanf(line, "%llu,%*[^,],%u,%15[^,],%llu,%llu", &time, &disk, op,
		   &offset, &length) != 5)
		return -1;
	return add_by_letter(rd, time / 10, space(disk, offset), length, op);
}

/* ASU, LBA in sectors, size in bytes, opcode, time in seconds */
static int parse_spc(struct reader *rd, const char *line)
{
	unsigned long long lba, length;
	unsigned int asu;
	double time;
	char op[8];

	if (sscanf(line, "%u,%llu,%llu,%7[^,],%lf", &asu, &lba, &length, op,
		   &time) != 5)
		return -1;
	return add_by_letter(rd, time * 1e6, space(asu, lba * 512), length, op);
}

/* The default output of blkparse; requests are taken where they are queued. */
static int parse_blkparse(struct reader *rd, const char *line)
{
	unsigned long long sector, sectors;
	unsigned int major, minor;
	char action[8], op[16];
	double time;

	if (sscanf(line, " %u,%u %*u %*u %lf %*u %7s %15s %llu + %llu", &major,
		   &minor, &time, action, op, &sector, &sectors) != 7)
		return 0;	/* its summary, other events */
	if (strcmp(action, "Q") || !sectors || strchr(op, 'D'))
		return 0;
	return add(rd, time * 1e6, space(minor, sector * 512), sectors * 512,
		   strchr(op, 'W') != NULL);
}

static unsigned int name_number(struct reader *rd, const char *name)
{
	unsigned int i;

	for (i = 0; i < rd->nr_names; i++)
		if (!strcmp(rd->names[i], name))
			return i;
	if (i == ARRAY_SIZE(rd->names))
		return 0;
	snprintf(rd->names[i], sizeof(rd->names[i]), "%s", name);
	rd->nr_names++;
	return i;
}

static bool is_read_or_write(const char *op)
{
	return !strcmp(op, "read") || !strcmp(op, "write");
}

/* fio's iolog, version 2 (file, action, offset, length) or 3 (time first) */
static int parse_fio(struct reader *rd, const char *line)
{
	unsigned long long time = rd->line, offset = 0, length = 0;
	char name[64], op[16];
	int n;

	if (!strncmp(line, "fio version", 11))
		return 0;
	n = sscanf(line, "%63s %15s %llu %llu", name, op, &offset, &length);
	if (n < 2)
		return -1;
	if (!is_read_or_write(op))
		n = sscanf(line, "%llu %63s %15s %llu %llu", &time, name, op,
			   &offset, &length) - 1;
	if (n < 4 || !is_read_or_write(op))
		return 0;	/* add, open, close, wait, trim */
	return add(rd, time, space(name_number(rd, name), offset), length,
		   op[0] == 'w');
}

/*
 * fio's log of each request (log_offset=1): time in ms, value, direction,
 * length, offset, and in newer versions more
 */
static int parse_fiolog(struct reader *rd, const char *line)
{
	unsigned long long time, length, offset;
	unsigned int op;

	if (sscanf(line, "%llu, %*u, %u, %llu, %llu", &time, &op, &length,
		   &offset) != 4)
		return -1;
	if (op > 1)
		return 0;	/* trim */
	return add(rd, time * 1000, offset, length, op);
}

/* By bpftrace as docs/worth-it.md has it: time in ns, device, flags, sector, sectors */
static int parse_bpftrace(struct reader *rd, const char *line)
{
	unsigned long long time, sector, sectors;
	unsigned int dev;
	char op[16];

	if (sscanf(line, "%llu %u %15[A-Z] %llu %llu", &time, &dev, op, &sector,
		   &sectors) != 5)
		return 0;	/* how many probes there are, maps at the end */
	if (!sectors || strchr(op, 'D'))
		return 0;
	return add(rd, time / 1000, space(dev, sector * 512), sectors * 512,
		   strchr(op, 'W') != NULL);
}

static const struct {
	const char *name;
	int (*line)(struct reader *rd, const char *line);
} line_formats[] = {
	{ "msr", parse_msr },
	{ "spc", parse_spc },
	{ "blkparse", parse_blkparse },
	{ "fio", parse_fio },
	{ "fiolog", parse_fiolog },
	{ "bpftrace", parse_bpftrace },
};

static const char *guess(const char *line)
{
	unsigned int commas = 0;
	const char *c;
	char op[2];

	for (c = line; *c; c++)
		commas += *c == ',';
	if (!strncmp(line, "fio version", 11))
		return "fio";
	if (!strncmp(line, "Attaching ", 10) ||
	    sscanf(line, "%*u %*u %1[A-Z]%*s %*u %c", op, op) == 2)
		return "bpftrace";
	if (commas >= 6)
		return "msr";
	if (commas < 4)
		return "blkparse";
	return strpbrk(line, "rRwW") ? "spc" : "fiolog";
}

const char *trace_formats(void)
{
	return "blkparse, bpftrace, fio, fiolog, spc, msr or bin";
}

bool trace_format_known(const char *format)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(line_formats); i++)
		if (!strcmp(format, line_formats[i].name))
			return true;
	return !strcmp(format, "bin");
}

static int read_bin(struct reader *rd, struct input *in)
{
	u8 rec[24];
	size_t n;

	rd->format = "bin";
	while ((n = input_bytes(in, rec, sizeof(rec))) == sizeof(rec)) {
		rd->line++;
		if (parse_bin(rd, rec))
			return -1;
	}
	rd->line += n > 0;
	return n ? -1 : 0;
}

static int read_lines(struct reader *rd, struct input *in)
{
	char line[4096];
	unsigned int i;

	while (input_line(in, line, sizeof(line))) {
		rd->line++;
		if (!rd->format)
			rd->format = guess(line);
		for (i = 0; i < ARRAY_SIZE(line_formats) - 1; i++)
			if (!strcmp(rd->format, line_formats[i].name))
				break;
		if (line_formats[i].line(rd, line) && rd->line > 1)
			return -1;	/* the first may be a heading */
	}
	return 0;
}

/* The file's name without directories and what follows its first dot. */
static void set_name(struct trace *t, const char *path)
{
	const char *base = strrchr(path, '/');

	snprintf(t->name, sizeof(t->name), "%s", base ? base + 1 : path);
	t->name[strcspn(t->name, ".")] = 0;
}

/* ".bin" at its end, or before that of a compressed file. */
static bool is_named_bin(const char *path)
{
	const char *base = strrchr(path, '/'), *bin;

	bin = strstr(base ?: path, ".bin");
	return bin && (!bin[4] || bin[4] == '.');
}

__attribute__((format(printf, 2, 3)))
static int complain(const char *path, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "%s: %s: ", program_invocation_short_name,
		strcmp(path, "-") ? path : "standard input");
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}

/* Read all requests. Prints what is wrong and returns -1 if anything is. */
static int read_all(struct reader *rd, struct input *in, bool bin)
{
	unsigned long long line;
	int r;

	if (!bin && input_is_binary(in))
		return complain(rd->path, "it is not text; a recording is %s",
				trace_formats());
	r = bin ? read_bin(rd, in) : read_lines(rd, in);
	line = rd->line;
	if (input_error(in))
		return complain(rd->path, "after %s %llu: %s",
				bin ? "record" : "line", line,
				input_error(in));
	if (r)
		return complain(rd->path, "%s %llu does not parse as %s",
				bin ? "record" : "line", line, rd->format);
	if (rd->t->nr)
		return 0;
	if (!line)
		return complain(rd->path, "it is empty");
	return complain(rd->path, "no requests in it: read as %s, of which no line is one",
			rd->format);
}

int trace_read(struct trace *t, const char *path, const char *format)
{
	struct reader *rd = calloc(1, sizeof(*rd));
	struct input *in;
	const char *why;
	int r;

	memset(t, 0, sizeof(*t));
	set_name(t, path);
	t->nr_sources = 1;
	memcpy(t->sources[0], t->name, sizeof(t->name));
	if (!rd)
		abort();
	in = input_open(path, &why);
	if (!in) {
		free(rd);
		return complain(path, "%s", why);
	}
	rd->t = t;
	rd->path = path;
	rd->format = format;
	r = read_all(rd, in, format ? !strcmp(format, "bin") :
				      is_named_bin(path));
	input_close(in);
	free(rd);
	return r;
}

void trace_mix(struct trace *t, const struct trace *parts, unsigned int nr)
{
	size_t *at = calloc(nr, sizeof(*at));
	unsigned int i, best;
	struct request r;

	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "mix");
	t->nr_sources = nr;
	for (i = 0; i < nr; i++)
		memcpy(t->sources[i], parts[i].name, sizeof(parts[i].name));
	for (;;) {
		best = nr;
		for (i = 0; i < nr; i++) {
			if (at[i] == parts[i].nr)
				continue;
			if (best == nr || (double)at[i] / parts[i].nr <
			    (double)at[best] / parts[best].nr)
				best = i;
		}
		if (best == nr)
			break;
		r = parts[best].requests[at[best]++];
		r.offset += (u64)(best + 1) << 52;
		r.source = best;
		trace_add(t, &r);
	}
	free(at);
}

/*
 * Cutting. A request continues a stream if it starts where one of the last
 * NR_STREAMS streams ended, or up to CACHE_STREAM_GAP behind that. The engine
 * remembers 64 per CPU in a hash table, which loses some that collide.
 */

#define NR_STREAMS	32

struct stream {
	u64 end;
	u64 bytes;
	u64 used;
	u32 last_part;		/* bytes that its last request had in one block */
};

struct detector {
	struct stream streams[NR_STREAMS];
	u64 clock;
};

/* The stream that the request continues, or a new one, whose bytes are 0. */
static struct stream *detect(struct detector *d, u64 offset)
{
	unsigned int i, oldest = 0;

	for (i = 0; i < NR_STREAMS; i++) {
		if (d->streams[i].bytes && offset >= d->streams[i].end &&
		    offset - d->streams[i].end <= 512 * CACHE_STREAM_GAP)
			break;
		if (d->streams[i].used < d->streams[oldest].used)
			oldest = i;
	}
	if (i == NR_STREAMS) {
		i = oldest;
		d->streams[i].bytes = d->streams[i].last_part = 0;
	}
	d->streams[i].used = ++d->clock;
	return &d->streams[i];
}

struct ids {
	u64 *keys;		/* block + 1, 0 is empty */
	u32 *values;
	size_t size;
};

static void ids_init(struct ids *m, size_t size)
{
	m->size = size;
	m->keys = calloc(size, sizeof(*m->keys));
	m->values = calloc(size, sizeof(*m->values));
	if (!m->keys || !m->values)
		abort();
}

static void ids_exit(struct ids *m)
{
	free(m->keys);
	free(m->values);
}

static size_t ids_slot(const struct ids *m, u64 key)
{
	size_t i = (key * 0x9e3779b97f4a7c15ull >> 20) & (m->size - 1);

	while (m->keys[i] && m->keys[i] != key)
		i = (i + 1) & (m->size - 1);
	return i;
}

static void ids_grow(struct ids *m)
{
	struct ids old = *m;
	size_t i, j;

	ids_init(m, 2 * old.size);
	for (i = 0; i < old.size; i++) {
		if (!old.keys[i])
			continue;
		j = ids_slot(m, old.keys[i]);
		m->keys[j] = old.keys[i];
		m->values[j] = old.values[i];
	}
	ids_exit(&old);
}

static u32 id_of(struct ids *m, struct accesses *a, size_t *room, u64 block)
{
	size_t i = ids_slot(m, block + 1);

	if (m->keys[i])
		return m->values[i];
	if (a->nr_blocks == *room) {
		*room *= 2;
		a->blocks = realloc(a->blocks, *room * sizeof(*a->blocks));
		if (!a->blocks)
			abort();
	}
	m->keys[i] = block + 1;
	m->values[i] = a->nr_blocks;
	a->blocks[a->nr_blocks] = block;
	if (2 * ++a->nr_blocks > m->size)
		ids_grow(m);
	return a->nr_blocks - 1;
}

static void add_access(struct accesses *a, size_t *room,
		       const struct access *access)
{
	if (a->nr == *room) {
		*room *= 2;
		a->all = realloc(a->all, *room * sizeof(*a->all));
		if (!a->all)
			abort();
	}
	a->all[a->nr++] = *access;
}

static void find_next(struct accesses *a)
{
	u32 *last = malloc(max_t(size_t, 1, a->nr_blocks) * sizeof(*last));
	u32 i;

	a->next = malloc(max_t(size_t, 1, a->nr) * sizeof(*a->next));
	if (!a->next || !last)
		abort();
	memset(last, 0xff, a->nr_blocks * sizeof(*last));
	for (i = a->nr; i-- > 0;) {
		a->next[i] = last[a->all[i].id];
		last[a->all[i].id] = i;
	}
	free(last);
}

void accesses_cut(struct accesses *a, const struct trace *t, u32 block_size)
{
	struct detector *d = calloc(1, sizeof(*d));
	size_t room = 1024, block_room = 1024, i;
	struct ids ids;

	memset(a, 0, sizeof(*a));
	a->block_sectors = block_size / 512;
	a->all = malloc(room * sizeof(*a->all));
	a->blocks = malloc(block_room * sizeof(*a->blocks));
	ids_init(&ids, 4096);
	if (!d || !a->all || !a->blocks)
		abort();
	for (i = 0; i < t->nr; i++) {
		const struct request *r = &t->requests[i];
		struct stream *stream = detect(d, r->offset);
		u64 at = r->offset, end = r->offset + r->length;
		bool first = true;

		while (at < end) {
			u64 block = at / block_size;
			u64 stop = min(end, (block + 1) * block_size);
			struct access c = {
				.id = id_of(&ids, a, &block_room, block),
				.first = at % block_size / 512,
				.sectors = DIV_ROUND_UP(stop - at, 512),
				.op = r->write,
				.source = r->source,
			};

			if (stream->bytes || !first) {
				c.flags |= CACHE_IO_STREAM;
				c.large = stop - at >= LARGE_PART ||
					  stream->last_part >= LARGE_PART;
			}
			c.stream_sectors = min_t(u64, U32_MAX,
						 stream->bytes / 512);
			if (r->write && stop - at == block_size)
				c.flags |= CACHE_IO_FULL_BLOCK;
			add_access(a, &room, &c);
			first = false;
			stream->last_part = stop - at;
			stream->bytes += stop - at;
			at = stop;
		}
		stream->end = end;
	}
	ids_exit(&ids);
	free(d);
	find_next(a);
}

void accesses_free(struct accesses *a)
{
	free(a->all);
	free(a->blocks);
	free(a->next);
	memset(a, 0, sizeof(*a));
}
