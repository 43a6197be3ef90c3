// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth export: all counters in Prometheus' text format, version 0.0.4, to
 * stdout, to a file that is replaced as a whole, or to HTTP clients of the loopback
 * interface.
 *
 * It must not change a cache, or run a command of LVM's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache-info.h"
#include "hearth.h"
#include "history.h"

#define SECTOR		512
#define REQUEST_MAX	4096	/* bytes: a scrape has a few hundred. Chosen */
#define PATIENCE	5	/* seconds that a client may take. Chosen */

/* ---- One sample a line ---- */

struct out {
	FILE *f;
	const char *name;	/* of the metric */
	const struct cache_info *c;
};

static void put_label_value(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			fputc('\\', f);
		if (*s == '\n')
			fputs("\\n", f);
		else
			fputc(*s, f);
	}
}

/* Writes name{cache="...",@label="@value"}; a NULL label is left out. */
static void begin(const struct out *o, const char *label, const char *value)
{
	fprintf(o->f, "%s{cache=\"", o->name);
	put_label_value(o->f, o->c->name);
	if (label) {
		fprintf(o->f, "\",%s=\"", label);
		put_label_value(o->f, value);
	}
	fputs("\"} ", o->f);
}

static void sample(const struct out *o, const char *label, const char *value,
		   uint64_t n)
{
	begin(o, label, value);
	fprintf(o->f, "%ju\n", n);
}

/* ---- The metrics ---- */

static void put_info(const struct out *o)
{
	const struct cache_info *c = o->c;
	const char *const labels[][2] = {
		{ "mode", c->mode }, { "table_mode", c->table_mode },
		{ "policy", c->policy }, { "health", c->health },
		{ "engine", c->own ? "hearth" : "kernel" },
	};
	unsigned int i;

	fprintf(o->f, "%s{cache=\"", o->name);
	put_label_value(o->f, c->name);
	for (i = 0; i < 5; i++) {
		fprintf(o->f, "\",%s=\"", labels[i][0]);
		put_label_value(o->f, labels[i][1]);
	}
	fputs("\"} 1\n", o->f);
}

static void put_healthy(const struct out *o)
{
	sample(o, NULL, NULL, cache_healthy(o->c));
}

static void put_suspended(const struct out *o)
{
	sample(o, NULL, NULL, o->c->dm->suspended);
}

static void put_volume(const struct out *o)
{
	sample(o, NULL, NULL, o->c->dm->length * SECTOR);
}

static void put_block(const struct out *o)
{
	sample(o, NULL, NULL, cache_block_bytes(o->c));
}

static void put_size(const struct out *o)
{
	sample(o, NULL, NULL, o->c->total * cache_block_bytes(o->c));
}

static void put_used(const struct out *o)
{
	sample(o, NULL, NULL, o->c->used * cache_block_bytes(o->c));
}

static void put_dirty(const struct out *o)
{
	sample(o, NULL, NULL, o->c->dirty * cache_block_bytes(o->c));
}

static void put_metadata(const struct out *o)
{
	sample(o, NULL, NULL, o->c->metadata_total *
	       o->c->metadata_block_sectors * SECTOR);
}

static void put_metadata_used(const struct out *o)
{
	sample(o, NULL, NULL, o->c->metadata_used *
	       o->c->metadata_block_sectors * SECTOR);
}

static void put_hits(const struct out *o)
{
	sample(o, "op", "read", o->c->count[READ_HITS]);
	sample(o, "op", "write", o->c->count[WRITE_HITS]);
}

static void put_misses(const struct out *o)
{
	sample(o, "op", "read", o->c->count[READ_MISSES]);
	sample(o, "op", "write", o->c->count[WRITE_MISSES]);
}

static void put_bypasses(const struct out *o)
{
	unsigned int i;

	for (i = FIRST_BYPASS; i <= LAST_BYPASS; i++)
		sample(o, "reason", counter_names[i] + strlen("bypass_"),
		       o->c->count[i]);
}

static void put_errors(const struct out *o)
{
	sample(o, "kind", "cache_read", o->c->count[CACHE_READ_ERRORS]);
	sample(o, "kind", "cache_write", o->c->count[CACHE_WRITE_ERRORS]);
	sample(o, "kind", "origin", o->c->count[ORIGIN_ERRORS]);
}

static void put_written(const struct out *o)
{
	sample(o, NULL, NULL, o->c->count[CACHE_SECTORS_WRITTEN] * SECTOR);
}

static void put_intents_held(const struct out *o)
{
	sample(o, NULL, NULL, o->c->intents_held);
}

/* The kinds of timed requests, in the order of their counters. */
static const char * const timed[TIMED_TO_NS] = {
	"read_hit", "read_miss", "write_hit", "write_miss"
};

static void put_timed(const struct out *o)
{
	unsigned int i;

	for (i = 0; i < TIMED_TO_NS; i++)
		sample(o, "kind", timed[i], o->c->count[TIMED_READ_HITS + i]);
}

static void put_timed_seconds(const struct out *o)
{
	unsigned int i;

	for (i = 0; i < TIMED_TO_NS; i++) {
		begin(o, "kind", timed[i]);
		fprintf(o->f, "%.9f\n", o->c->count[READ_HITS_NS + i] / 1e9);
	}
}

static void put_io_requests(const struct out *o)
{
	sample(o, "op", "read", o->c->count[IO_READS]);
	sample(o, "op", "write", o->c->count[IO_WRITES]);
}

static void put_io_bytes(const struct out *o)
{
	sample(o, "op", "read", o->c->count[IO_READ_SECTORS] * SECTOR);
	sample(o, "op", "write", o->c->count[IO_WRITE_SECTORS] * SECTOR);
}

static void put_io_seconds(const struct out *o)
{
	begin(o, "op", "read");
	fprintf(o->f, "%.3f\n", o->c->count[IO_READ_MS] / 1000.0);
	begin(o, "op", "write");
	fprintf(o->f, "%.3f\n", o->c->count[IO_WRITE_MS] / 1000.0);
}

#define METRIC(symbol, name, help)					\
	{ "hearth_cache_" #name "_total", "counter", help, NULL, symbol,	\
	  symbol >= FIRST_OWN },
#define NO_METRIC(symbol, name, help)

static const struct metric {
	const char *name, *type, *help;
	void (*put)(const struct out *o);
	enum counter counter;	/* the value, if put is NULL */
	bool own;		/* only hearth's target counts it */
} metrics[] = {
	{ "hearth_cache_info", "gauge",
	  "Always 1; the labels say how it runs.", put_info, 0, false },
	{ "hearth_cache_healthy", "gauge",
	  "1 if nothing is wrong with it.", put_healthy, 0, false },
	{ "hearth_cache_suspended", "gauge",
	  "1 while the device is suspended.", put_suspended, 0, false },
	{ "hearth_cache_volume_bytes", "gauge",
	  "Size of the cached volume.", put_volume, 0, false },
	{ "hearth_cache_block_bytes", "gauge",
	  "Size of a block.", put_block, 0, false },
	{ "hearth_cache_size_bytes", "gauge",
	  "Size of the cache device.", put_size, 0, false },
	{ "hearth_cache_used_bytes", "gauge",
	  "Blocks in use.", put_used, 0, false },
	{ "hearth_cache_dirty_bytes", "gauge",
	  "Blocks that the origin does not hold yet.", put_dirty, 0, false },
	{ "hearth_cache_metadata_bytes", "gauge",
	  "Size of the metadata device.", put_metadata, 0, false },
	{ "hearth_cache_metadata_used_bytes", "gauge",
	  "Metadata in use.", put_metadata_used, 0, false },
	{ "hearth_cache_hits_total", "counter",
	  "Requests, cut at blocks, that were hits.", put_hits, 0, false },
	{ "hearth_cache_misses_total", "counter",
	  "Requests, cut at blocks, that were misses.", put_misses, 0, false },
	CACHE_COUNTERS(METRIC, NO_METRIC)
	{ "hearth_cache_bypasses_total", "counter",
	  "Misses that were not promoted.", put_bypasses, 0, true },
	{ "hearth_cache_written_bytes_total", "counter",
	  "Written to the cache device.", put_written, 0, true },
	{ "hearth_cache_intents_held", "gauge",
	  "Blocks marked dirty on the disk that are not.", put_intents_held, 0,
	  true },
	{ "hearth_cache_errors_total", "counter",
	  "Errors of devices.", put_errors, 0, true },
	{ "hearth_cache_retired_blocks", "gauge",
	  "Blocks of the cache device that could not be written.", NULL,
	  RETIRED_BLOCKS, true },
	{ "hearth_cache_timed_requests_total", "counter",
	  "Requests, cut at blocks, that were timed: a sample.", put_timed, 0,
	  true },
	{ "hearth_cache_timed_seconds_total", "counter",
	  "Time that those took, added up.", put_timed_seconds, 0, true },
	{ "hearth_volume_requests_total", "counter",
	  "Requests to the cached volume.", put_io_requests, 0, false },
	{ "hearth_volume_bytes_total", "counter",
	  "Bytes read from and written to it.", put_io_bytes, 0, false },
	{ "hearth_volume_seconds_total", "counter",
	  "Time that its requests took, added up.", put_io_seconds, 0, false },
};

static void put_metric(FILE *f, const struct metric *m, const struct caches *cs)
{
	unsigned int i;

	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
		m->type);
	for (i = 0; i < cs->nr; i++) {
		struct out o = { .f = f, .name = m->name, .c = &cs->all[i] };

		if (m->own && !o.c->own)
			continue;
		if (m->put)
			m->put(&o);
		else
			sample(&o, NULL, NULL, o.c->count[m->counter]);
	}
}

/* The whole text, allocated.  NULL, and @code is set, if caches cannot be read. */
static char *collect(size_t *len, int *code)
{
	static struct history h;
	struct caches cs;
	char *text = NULL;
	size_t i;
	FILE *f;

	*code = caches_read(&cs);
	if (*code)
		return NULL;
	f = open_memstream(&text, len);
	if (!f)
		abort();
	for (i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		put_metric(f, &metrics[i], &cs);
	fclose(f);
	for (i = 0; i < cs.nr; i++)
		history_update(&h, &cs.all[i]);
	caches_free(&cs);
	return text;
}

/* ---- To a file ---- */

static bool write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			len -= n;
		}
	}
	return true;
}

/* A reader sees the old text or the new one. */
static int to_file(const char *path, const char *text, size_t len)
{
	char *copy = strdup(path), *temporary;
	bool ok;
	int fd;

	/* Not named *.prom, or the textfile collector would read it. */
	if (!copy || asprintf(&temporary, "%s/.hearth-XXXXXX", dirname(copy)) < 0)
		abort();
	fd = mkstemp(temporary);
	ok = fd >= 0 && write_all(fd, text, len) && !fchmod(fd, 0644);
	if (fd >= 0)
		ok = !close(fd) && ok;
	ok = ok && !rename(temporary, path);
	if (!ok) {
		complain("%s: %s", path, strerror(errno));
		if (fd >= 0)
			unlink(temporary);
	}
	free(copy);
	free(temporary);
	return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- To a port ---- */

/* [ADDRESS:]PORT; only of the loopback interface. */
static bool parse_address(const char *text, struct sockaddr_in *a)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	char host[32] = "127.0.0.1", *end;
	unsigned long n = strtoul(port, &end, 10);

	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_port = htons(n);
	return *port >= '0' && *port <= '9' && !*end && n < 65536 &&
	       inet_pton(AF_INET, host, &a->sin_addr) == 1 &&
	       ntohl(a->sin_addr.s_addr) >> 24 == 127;
}

static int listen_on(const char *text)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd, one = 1;

	if (!parse_address(text, &a)) {
		complain("--listen %s: must be a port, or 127.0.0.1:PORT", text);
		return -EXIT_USAGE;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(fd, 16) || getsockname(fd, (struct sockaddr *)&a, &len)) {
		complain("--listen %s: %s", text, strerror(errno));
		return -EXIT_FAILED;
	}
	/* Port 0 stands for any that is free, so the number is printed. */
	printf("http://%s:%u/metrics\n", inet_ntoa(a.sin_addr),
	       ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

/* Reads until the head of the request is complete; false if it never is. */
static bool read_request(int fd, char *request)
{
	double limit = now() + PATIENCE;
	size_t have = 0;
	ssize_t n;

	while (have < REQUEST_MAX - 1 && now() < limit) {
		n = recv(fd, request + have, REQUEST_MAX - 1 - have, 0);
		if (n <= 0)
			return false;
		have += n;
		request[have] = '\0';
		if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n"))
			return true;
	}
	return false;
}

static void respond(int fd, const char *status, const char *text, size_t len,
		    bool body)
{
	char head[256];
	int n;

	n = snprintf(head, sizeof(head), "HTTP/1.0 %s\r\n"
		     "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		     "Content-Length: %zu\r\nConnection: close\r\n\r\n", status,
		     len);
	if (write_all(fd, head, n) && body)
		write_all(fd, text, len);
}

static void respond_plainly(int fd, const char *status)
{
	char text[64];

	snprintf(text, sizeof(text), "%s\n", status + strlen("404 "));
	respond(fd, status, text, strlen(text), true);
}

static void serve(int fd)
{
	char request[REQUEST_MAX], method[8] = "", path[64] = "", *text;
	size_t len;
	int code;

	if (!read_request(fd, request))
		return;
	sscanf(request, "%7s %63s", method, path);
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		respond_plainly(fd, "405 Method Not Allowed");
		return;
	}
	if (strcmp(path, "/metrics") && strcmp(path, "/")) {
		respond_plainly(fd, "404 Not Found");
		return;
	}
	text = collect(&len, &code);
	if (text)
		respond(fd, "200 OK", text, len, !strcmp(method, "GET"));
	else
		respond_plainly(fd, "500 No Device Mapper");
	free(text);
}

static int serve_all(const char *address)
{
	const struct timeval patience = { .tv_sec = PATIENCE };
	struct pollfd in = { .events = POLLIN };
	int fd;

	in.fd = listen_on(address);
	if (in.fd < 0)
		return -in.fd;
	catch_signals();
	signal(SIGPIPE, SIG_IGN);
	while (!interrupted) {
		if (poll(&in, 1, -1) <= 0)
			continue;
		fd = accept4(in.fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
			   sizeof(patience));
		serve(fd);
		close(fd);
	}
	close(in.fd);
	return EXIT_OK;
}

int hearth_export(const struct options *o)
{
	size_t len;
	char *text;
	int code;

	if (o->listen)
		return serve_all(o->listen);
	text = collect(&len, &code);
	if (!text)
		return code;
	if (o->file)
		code = to_file(o->file, text, len);
	else
		fwrite(text, 1, len, stdout);
	free(text);
	return code;
}
