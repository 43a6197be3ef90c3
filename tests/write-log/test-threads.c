// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index and the ring used by threads: writers, a reader, two that have
 * blocks leave, and the ring's writer. It is built with ThreadSanitizer, which
 * fails it when a lock is missing.
 */

#include "util.h"

#include <pthread.h>
#include <sched.h>

#include "write-log/log-ring.h"

#define BLOCKS		4
#define SECTORS		32
#define SLOTS		256
#define RING		16
#define RECORDS		20
#define MAX_WRITERS	3

enum log_rule log_broken_rule;

static struct {
	struct log_index ix;
	struct log_ring ring;
	s64 bytes;
	int pins[SLOTS];
	u32 writers;		/* that have not ended */
	u32 others;
	u32 absorbed, refused, left;

	/* Guards the four below. */
	pthread_mutex_t lock;
	bool segment[SLOTS];
	u32 open, fill;
} t;

#define count(field, n)	__atomic_add_fetch(&t.field, n, __ATOMIC_SEQ_CST)
#define value(field)	__atomic_load_n(&t.field, __ATOMIC_SEQ_CST)

static void *thread_alloc(void *ctx, size_t bytes, bool nowait)
{
	(void)ctx;
	(void)nowait;
	count(bytes, bytes);
	return malloc(bytes);
}

static void thread_free(void *ctx, void *p, size_t bytes)
{
	(void)ctx;
	count(bytes, -(s64)bytes);
	free(p);
}

static void thread_pin(void *ctx, u32 slot)
{
	(void)ctx;
	count(pins[slot], 1);
}

static bool thread_pinned(void *ctx, u32 slot)
{
	(void)ctx;
	return value(pins[slot]);
}

static const struct log_index_ops thread_ops = {
	thread_alloc, thread_free, thread_pin, thread_pinned
};

static int thread_write(void *ctx, u64 sector, u32 sectors, const void *data, unsigned int flags)
{
	(void)ctx;
	(void)sector;
	(void)sectors;
	(void)data;
	(void)flags;
	return 0;
}

static const struct log_dev thread_dev = { NULL, thread_write, NULL };

static void unpin(const struct log_run *runs, int n)
{
	while (n-- > 0)
		count(pins[runs[n].slot], -1);
}

static void close_open(void)
{
	if (t.open != LOG_NO_SLOT)
		log_segment_let_go(&t.ix, t.open, t.fill);
	t.open = LOG_NO_SLOT;
}

static void open_another(u64 *rng)
{
	u32 first = below(rng, SLOTS);

	close_open();
	for (u32 i = 0; i < SLOTS && t.open == LOG_NO_SLOT; i++) {
		u32 s = (first + i) % SLOTS;

		if (t.segment[s] || log_segment_open(&t.ix, s, true))
			continue;
		log_segment_hold(&t.ix, s);
		t.segment[s] = true;
		t.open = s;
		t.fill = 0;
	}
}

static bool place(struct log_write *w, u64 *rng)
{
	u32 n = w->run.sectors;
	bool ok;

	pthread_mutex_lock(&t.lock);
	if (t.open == LOG_NO_SLOT || t.fill + n > SECTORS)
		open_another(rng);
	ok = t.open != LOG_NO_SLOT;
	if (ok) {
		log_write_place_held(w, t.open, t.fill);
		t.fill += n;
	}
	pthread_mutex_unlock(&t.lock);
	return ok;
}

static void close_segments(void)
{
	for (u32 s = 0; s < SLOTS; s++) {
		pthread_mutex_lock(&t.lock);
		if (t.segment[s] && s != t.open && !log_segment_close(&t.ix, s, false))
			t.segment[s] = false;
		pthread_mutex_unlock(&t.lock);
	}
}

static bool absorb(u64 *rng)
{
	u32 sector = below(rng, SECTORS), n = 1 + below(rng, SECTORS - sector);
	struct log_write *w;

	if (one_in(rng, 2))
		n = min(n, 3u);
	w = log_index_reserve(&t.ix, below(rng, BLOCKS), sector, n, true);
	if (IS_ERR(w))
		return false;
	if (!log_ring_admits(&t.ring) || one_in(rng, 10) || !place(w, rng)) {
		log_index_cancel(&t.ix, w);
		return false;
	}
	log_index_seen(&t.ix, w);
	return true;
}

static void *writer(void *arg)
{
	u64 rng = (uintptr_t)arg;

	for (u32 i = 0; i < rounds(20000); i++) {
		if (absorb(&rng)) {
			count(absorbed, 1);
		} else {
			count(refused, 1);
			sched_yield();
		}
	}
	count(writers, -1);
	return NULL;
}

static void *reader(void *arg)
{
	u64 rng = (uintptr_t)arg;

	while (value(writers)) {
		u32 sector = below(&rng, SECTORS);
		struct log_run runs[SECTORS];

		log_index_lookup(&t.ix, below(&rng, BLOCKS), sector, SECTORS - sector, runs);
		if (runs[0].slot != LOG_NO_SLOT)
			unpin(runs, 1);
		unpin(runs, log_index_collect(&t.ix, below(&rng, BLOCKS), runs, SECTORS, false));
		log_index_has(&t.ix, below(&rng, BLOCKS));
		sched_yield();
	}
	count(others, -1);
	return NULL;
}

struct leaving {
	struct log_departure log;
	struct log_run runs[SECTORS];
	int ended;
};

static void has_left(struct log_departure *d)
{
	__atomic_store_n(&container_of(d, struct leaving, log)->ended, 1, __ATOMIC_RELEASE);
}

static void leave(u64 block, bool stays)
{
	struct leaving l = { .log = { .runs = l.runs, .ended = has_left } };
	int n = log_index_collect(&t.ix, block, l.runs, SECTORS, true);

	if (n <= 0)
		return;
	unpin(l.runs, n);
	if (stays) {
		while (n--)
			log_index_stay(&t.ix, &l.runs[n]);
		return;
	}
	l.log.nr = n;
	log_ring_leave(&t.ring, &l.log);
	while (!__atomic_load_n(&l.ended, __ATOMIC_ACQUIRE))
		sched_yield();
	count(left, n);
}

/* Goes on until the log is empty. */
static void *leaver(void *arg)
{
	u64 rng = (uintptr_t)arg;

	while (value(writers) || !log_index_empty(&t.ix)) {
		u64 block = below(&rng, BLOCKS);
		bool close = one_in(&rng, 3) && !log_index_close(&t.ix, block);

		leave(block, one_in(&rng, 5));
		if (close)
			log_index_open(&t.ix, block);
		close_segments();
	}
	count(others, -1);
	return NULL;
}

/* Returns the first thing that was wrong, or NULL. */
static void *ring_writer(void *arg)
{
	(void)arg;
	while (value(others)) {
		if (log_ring_write_batch(&t.ring, &thread_dev))
			return "ring full";
		/* No more runs are admitted than the bound allows. */
		if (t.ix.nr_ring > RING * RECORDS / 4)
			return "more runs than the ring admits";
		sched_yield();
	}
	return NULL;
}

static void test_threads(void **state)
{
	static void *(*const fns[])(void *) = { writer, writer, writer, reader, leaver, leaver };
	struct log_geometry geo = { .id = 1, .block_sectors = SECTORS, .nr_slots = SLOTS + 10,
				    .ring_slot = SLOTS, .ring_blocks = RING };
	pthread_t threads[ARRAY_SIZE(fns)], ring;
	u64 seed = test_seed("threads", 1);
	void *wrong;

	(void)state;
	pthread_mutex_init(&t.lock, NULL);
	t.open = LOG_NO_SLOT;
	t.writers = MAX_WRITERS;
	t.others = ARRAY_SIZE(fns) - MAX_WRITERS;
	assert_ok(log_index_init(&t.ix, &thread_ops, NULL, SECTORS, 64 << 20));
	/* Blocks get smaller, too. */
	t.ix.roomy_bytes = 0;
	assert_ok(log_ring_init(&t.ring, &t.ix, &geo, 1, 1));
	t.ring.records = RECORDS;
	for (u32 i = 0; i < ARRAY_SIZE(fns); i++)
		assert_ok(pthread_create(&threads[i], NULL, fns[i], (void *)(uintptr_t)rnd(&seed)));
	assert_ok(pthread_create(&ring, NULL, ring_writer, NULL));
	assert_ok(pthread_join(ring, &wrong));
	if (wrong)
		fail_msg("%s", (char *)wrong);
	for (u32 i = 0; i < ARRAY_SIZE(fns); i++)
		assert_ok(pthread_join(threads[i], NULL));

	printf("note: threads: %u writes absorbed, %u refused, %u runs left, %llu ring blocks\n",
	       t.absorbed, t.refused, t.left, t.ring.seq);
	assert_true(t.absorbed > 1000 && t.refused && t.left > 100);
	close_open();
	close_segments();
	for (u32 s = 0; s < SLOTS; s++) {
		assert_int_equal(t.pins[s], 0);
		assert_false(t.segment[s]);
	}
	log_index_check(&t.ix);
	assert_int_equal(t.ix.nr_ring, 0);
	log_index_trim(&t.ix);
	assert_int_equal(t.bytes, 0);
	log_ring_exit(&t.ring);
	log_index_exit(&t.ix);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
