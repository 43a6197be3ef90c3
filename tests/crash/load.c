// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load on the cache: threads that write, read, flush and discard.
 *
 * The device is cut into stripes, and each stripe belongs to one thread, so
 * that a thread knows what it must read there.  Stripes and cache blocks end at
 * different places, so threads share blocks.  Every sector carries its version
 * and its place.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "crash.h"

#define STRIPE		208u	/* sectors; no multiple of a block */
#define MAX_IO		128u	/* sectors */
#define TAIL		256u	/* sectors */
#define MAX_THREADS	8u
#define PHASE		128u	/* requests; see is_quiet() */
#define UNKNOWN		UINT64_MAX	/* version of a discarded sector */

struct worker {
	struct load *l;
	pthread_t thread;
	struct rng rng;
	unsigned int index;
	uint8_t *buf;
	uint8_t *want;
	uint64_t requests;
	uint64_t faults;
};

struct load {
	const char *node;
	const struct crash_head *head;
	int fd;
	unsigned int nr;
	struct worker w[MAX_THREADS];
	uint64_t *versions;	/* by sector; its stripe's owner writes it */
	uint64_t capacity;
	uint64_t limit;		/* atomic; sectors in use */
	uint64_t version;	/* atomic; the last one that a write has */
	uint64_t begun;		/* atomic; requests */
	unsigned int stop;	/* atomic */
	bool discards;
	bool has_quiet_phases;
};

static void fill(uint8_t *to, uint64_t version, uint64_t sector)
{
	uint64_t *w = (uint64_t *)to, x = mix64(version * 0x9e3779b97f4a7c15ull + sector);

	memset(to, 0, SECTOR);
	if (!version)
		return;
	w[0] = version;
	w[1] = sector;
	for (unsigned int i = 2; i < SECTOR / 8; i++)
		w[i] = x += 0x9e3779b97f4a7c15ull;
}

/*
 * Picks a range in one of the worker's stripes, most often in the first
 * quarter.
 */
static uint64_t pick_range(struct worker *w, uint32_t *sectors)
{
	uint64_t limit = __atomic_load_n(&w->l->limit, __ATOMIC_ACQUIRE);
	uint32_t stripes = limit / STRIPE / w->l->nr, n, from;

	n = rng_below(&w->rng, 10) < 8 ? (stripes + 3) / 4 : stripes;
	n = rng_below(&w->rng, n);
	*sectors = 1 + rng_below(&w->rng, rng_below(&w->rng, 4) ? 16 : MAX_IO);
	from = rng_below(&w->rng, STRIPE - *sectors + 1);
	return (uint64_t)(n * w->l->nr + w->index) * STRIPE + from;
}

/* As pick_range(), but picks one or two aligned units of 64 sectors. */
static uint64_t pick_aligned(struct worker *w, uint32_t *sectors)
{
	uint64_t at = pick_range(w, sectors), begin = at - at % STRIPE;
	uint64_t first = (begin + 63) / 64 * 64;

	*sectors = (begin + STRIPE - first) / 64 > 1 && rng_below(&w->rng, 2) ? 128 : 64;
	return first;
}

static void do_write(struct worker *w, uint64_t at, uint32_t n, bool fua)
{
	struct iovec iov = { w->buf, n * SECTOR };
	uint64_t version = __atomic_add_fetch(&w->l->version, 1, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < n; i++)
		fill(w->buf + i * SECTOR, version, at + i);
	if (pwritev2(w->l->fd, &iov, 1, at * SECTOR, fua ? RWF_DSYNC : 0) !=
	    (ssize_t)iov.iov_len)
		die("write: %s", strerror(errno));
	for (uint32_t i = 0; i < n; i++)
		w->l->versions[at + i] = version;
}

static void do_read(struct worker *w, uint64_t at, uint32_t n)
{
	if (pread(w->l->fd, w->buf, n * SECTOR, at * SECTOR) != (ssize_t)(n * SECTOR))
		die("read: %s", strerror(errno));
	for (uint32_t i = 0; i < n; i++) {
		if (w->l->versions[at + i] == UNKNOWN)
			continue;
		fill(w->want, w->l->versions[at + i], at + i);
		if (!memcmp(w->want, w->buf + i * SECTOR, SECTOR))
			continue;
		if (w->faults++ < 4) {
			printf("  while running: sector %llu is wrong\n",
			       (unsigned long long)(at + i));
			print_sector("found", w->buf + i * SECTOR);
			print_sector("expected", w->want);
		}
	}
}

static void do_discard(struct worker *w, uint64_t at, uint32_t n)
{
	uint64_t range[2] = { at * SECTOR, n * SECTOR };

	if (ioctl(w->l->fd, BLKDISCARD, range))
		die("discard: %s", strerror(errno));
	for (uint32_t i = 0; i < n; i++)
		w->l->versions[at + i] = UNKNOWN;
}

/*
 * Two of a thread's eight requests are meetings: at the same time two threads
 * make a request where their stripes share a block.  Each meeting takes another
 * block, which is often not in the cache.
 */
static bool meet(struct worker *w)
{
	struct load *l = w->l;
	uint64_t turn = __atomic_fetch_add(&l->begun, 1, __ATOMIC_RELAXED) / (2 * l->nr);
	uint64_t limit = __atomic_load_n(&l->limit, __ATOMIC_ACQUIRE), at;
	uint32_t sectors = 1 + rng_below(&w->rng, 8);

	if (turn % 4)
		return false;
	at = mix64(turn) % (limit / STRIPE / l->nr) * l->nr + w->index;
	at = at * STRIPE + (w->index % 2 ? 0 : STRIPE - sectors);
	if (rng_below(&w->rng, 2))
		do_write(w, at, sectors, false);
	else
		do_read(w, at, sectors);
	return true;
}

static void any_request(struct worker *w)
{
	uint32_t dice = rng_below(&w->rng, 100), n;
	uint64_t at;

	if (dice < 8) {
		if (fdatasync(w->l->fd))
			die("fdatasync: %s", strerror(errno));
	} else if (dice < 10 && w->l->discards) {
		at = pick_aligned(w, &n);
		do_discard(w, at, n);
	} else if (dice < 18) {
		at = pick_aligned(w, &n);
		do_write(w, at, n, dice == 17);
	} else if (dice < 65) {
		at = pick_range(w, &n);
		do_write(w, at, n, dice < 22);
	} else {
		at = pick_range(w, &n);
		do_read(w, at, n);
	}
}

/*
 * In a quiet phase the first thread is alone, and flushes after every write or two,
 * because a write log treats such a load differently.
 */
static bool is_quiet(const struct load *l)
{
	return l->has_quiet_phases && load_requests(l) / PHASE % 4 == 3;
}

static void write_and_flush(struct worker *w)
{
	uint32_t n, writes = 1 + !rng_below(&w->rng, 3);
	uint64_t at;

	while (writes--) {
		at = pick_range(w, &n);
		do_write(w, at, n, !rng_below(&w->rng, 8));
	}
	if (fdatasync(w->l->fd))
		die("fdatasync: %s", strerror(errno));
}

static void one_request(struct worker *w)
{
	if (is_quiet(w->l))
		write_and_flush(w);
	else if (!meet(w))
		any_request(w);
	w->requests++;
}

static bool log_room(const struct load *l)
{
	return __atomic_load_n(&l->head->used, __ATOMIC_RELAXED) < l->head->size / 2;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!__atomic_load_n(&w->l->stop, __ATOMIC_ACQUIRE)) {
		if (!log_room(w->l))
			usleep(10000);
		else if (w->index && is_quiet(w->l))
			usleep(1000);
		else
			one_request(w);
	}
	return NULL;
}

struct load *load_new(const char *node, const struct crash_head *head,
		      uint64_t seed, unsigned int threads)
{
	struct load *l = calloc(1, sizeof(*l));

	l->node = node;
	l->head = head;
	l->fd = -1;
	l->nr = threads;
	l->capacity = head->disk_sectors[DISK_ORIGIN];
	l->versions = calloc(l->capacity, sizeof(*l->versions));
	for (unsigned int i = 0; i < l->nr; i++) {
		struct worker *w = &l->w[i];

		w->l = l;
		w->index = i;
		w->rng.state = mix64(seed + i);
		if (posix_memalign((void **)&w->buf, 4096, MAX_IO * SECTOR) ||
		    posix_memalign((void **)&w->want, 4096, SECTOR))
			die("no memory");
	}
	return l;
}

void load_set_limit(struct load *l, uint64_t sectors)
{
	/*
	 * Without the tail, because the table decides whether a block there is
	 * whole.
	 */
	__atomic_store_n(&l->limit, sectors - TAIL, __ATOMIC_RELEASE);
}

/*
 * Takes @content as the data on the device when the load begins.  The new
 * versions begin far above it, so that no write repeats a version that a cut
 * has lost.
 */
void load_expect(struct load *l, const uint8_t *content, uint64_t sectors)
{
	for (uint64_t i = 0; i < sectors; i++) {
		uint64_t w[2];

		memcpy(w, content + i * SECTOR, sizeof(w));
		l->versions[i] = w[0];
		if (w[0] > l->version)
			l->version = w[0];
	}
	l->version += 1u << 24;
}

void load_has_quiet_phases(struct load *l)
{
	l->has_quiet_phases = true;
}

void load_start(struct load *l, bool discards)
{
	l->fd = open(l->node, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (l->fd < 0)
		die("%s: %s", l->node, strerror(errno));
	l->stop = 0;
	l->discards = discards;
	for (unsigned int i = 0; i < l->nr; i++)
		if (pthread_create(&l->w[i].thread, NULL, work, &l->w[i]))
			die("no thread");
}

uint64_t load_stop(struct load *l)
{
	uint64_t faults = 0;

	__atomic_store_n(&l->stop, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < l->nr; i++) {
		pthread_join(l->w[i].thread, NULL);
		faults += l->w[i].faults;
	}
	close(l->fd);
	return faults;
}

uint64_t load_requests(const struct load *l)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < l->nr; i++)
		n += __atomic_load_n(&l->w[i].requests, __ATOMIC_RELAXED);
	return n;
}

void load_wait(const struct load *l, uint64_t requests)
{
	uint64_t want = load_requests(l) + requests;

	for (unsigned int i = 0; load_requests(l) < want; i++) {
		if (i > 60000)
			die("the load stands still: fewer than %llu requests in a minute",
			    (unsigned long long)requests);
		usleep(1000);
	}
}

void load_free(struct load *l)
{
	for (unsigned int i = 0; i < l->nr; i++) {
		free(l->w[i].buf);
		free(l->w[i].want);
	}
	free(l->versions);
	free(l);
}
