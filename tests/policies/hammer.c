// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sixteen threads call hit(), miss() and hint() without a lock while one evicts
 * and promotes; the program is built for ThreadSanitizer.  Afterwards no slot may
 * be lost.  The arguments name policies; without arguments all are tested.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "host.h"

#define THREADS		16
#define SLOTS		1024
#define BLOCKS		8192
#define WORKER_ROUNDS	4000

struct hammer {
	struct host *h;
	bool stop;
	u64 calls;
};

struct thread {
	pthread_t id;
	struct hammer *hammer;
	u32 rng;
	u64 calls;
};

static u32 thread_random(struct thread *t, u32 below)
{
	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 17;
	t->rng ^= t->rng << 5;
	return t->rng % below;
}

/* The result of a lookup in the engine: a guess that may be outdated. */
static void one_call(struct thread *t)
{
	struct cache_policy *p = t->hammer->h->policy;
	u32 block = thread_random(t, 8) ? thread_random(t, SLOTS) :
		    thread_random(t, BLOCKS);
	struct cache_io io = {
		.op = thread_random(t, 2),
		.flags = thread_random(t, 32),
		.sectors = 8,
		.stream_sectors = thread_random(t, 512),
	};

	switch (thread_random(t, 4)) {
	case 0:
		p->ops->miss(p, block, &io);
		break;
	case 1:
		p->ops->hint(p, thread_random(t, SLOTS));
		break;
	default:
		p->ops->hit(p, thread_random(t, SLOTS), block, &io);
	}
}

static void *requests(void *arg)
{
	struct thread *t = arg;

	while (!READ_ONCE(t->hammer->stop)) {
		one_call(t);
		t->calls++;
	}
	return NULL;
}

static u32 absent_block(struct host *h)
{
	u32 block;

	do {
		block = host_random(h, h->nr_blocks);
	} while (h->slot_of[block] != NO_SLOT);
	return block;
}

static void take_stat(void *ctx, const char *name, s64 value)
{
	u64 *told = ctx;

	(void)value;
	*told += *name != '\0';
}

static void now_and_then(struct cache_policy *p, u64 now_ms)
{
	u64 told = 0;

	if (p->ops->tick)
		p->ops->tick(p, now_ms);
	if (!p->ops->stats)
		return;
	p->ops->stats(p, take_stat, &told);
	assert_true(told);
}

static void worker_round(struct host *h)
{
	u32 slots[8], got, i;

	got = host_victims(h, slots, 8);
	for (i = 0; i < got; i++) {
		if (!host_random(h, 4)) {
			host_busy(h, slots[i]);
			continue;
		}
		host_evict(h, slots[i]);
		host_insert(h, slots[i], absent_block(h),
			    host_random(h, 2) ? CACHE_PROMOTE :
			    CACHE_PROMOTE_HOT);
	}
	i = host_random(h, h->nr_slots);
	if (h->state[i] != HOST_OCCUPIED)
		return;
	host_invalidate(h, i, CACHE_REMOVED_INVALID);
	host_insert(h, i, absent_block(h), CACHE_PROMOTE);
}

static void test_hammer(void **state)
{
	struct thread threads[THREADS] = { 0 };
	struct hammer hammer = { 0 };
	u32 order[SLOTS], i;
	u64 calls = 0;

	hammer.h = host_new(*state, SLOTS, BLOCKS);
	for (i = 0; i < SLOTS; i++)
		host_insert(hammer.h, i, i, CACHE_PROMOTE);
	for (i = 0; i < THREADS; i++) {
		threads[i].hammer = &hammer;
		threads[i].rng = i + 1;
		pthread_create(&threads[i].id, NULL, requests, &threads[i]);
	}
	for (i = 0; i < WORKER_ROUNDS; i++) {
		worker_round(hammer.h);
		if (i % 64 == 0)
			now_and_then(hammer.h->policy, i);
	}
	WRITE_ONCE(hammer.stop, true);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i].id, NULL);
		calls += threads[i].calls;
	}
	print_message("    %llu calls beside %u rounds of the worker\n",
		      (unsigned long long)calls, WORKER_ROUNDS);
	assert_int_equal(hammer.h->nr_occupied, SLOTS);
	host_drain(hammer.h, order);
	host_free(hammer.h);
}

static int check(const struct cache_policy_ops *ops)
{
	struct CMUnitTest test = cmocka_unit_test(test_hammer);
	char name[64];

	test.initial_state = (void *)ops;
	snprintf(name, sizeof(name), "hammer of %s", ops->name);
	return _cmocka_run_group_tests(name, &test, 1, NULL, NULL);
}

int main(int argc, char **argv)
{
	return host_check_policies(argc, argv, check);
}
