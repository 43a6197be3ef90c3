// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does a flush that is left out lose nothing?  Writers and flushers of one device run in all
 * orders that need at most PREEMPTIONS switches away from an actor that could go on.  An
 * actor may be interrupted before each step of the device, and before each access to what
 * is kept of it.
 *
 * The model is of a sequentially consistent machine.  It says nothing about barriers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <limits.h>
#include <stdint.h>
#include <ucontext.h>
#include <cmocka.h>

#include "os/sync.h"

static void step(void);

#undef atomic_read
#define atomic_read(a)		({ step(); __atomic_load_n(&(a)->counter, __ATOMIC_RELAXED); })
#undef atomic_set
#define atomic_set(a, v)	({ step(); (a)->counter = (v); })
#undef atomic_add_return
#define atomic_add_return(n, a)	({ step(); __atomic_add_fetch(&(a)->counter, n, __ATOMIC_RELAXED); })
#undef atomic_inc
#define atomic_inc(a)		({ step(); (a)->counter++; })
#undef atomic_dec_return
#define atomic_dec_return(a)	({ step(); --(a)->counter; })
#undef atomic_read_acquire
#define atomic_read_acquire(a)	atomic_read(a)
#undef atomic_xchg
#define atomic_xchg(a, v)	({ step(); (a)->counter = (v); })
#define atomic_cmpxchg(a, old, new) ({ step(); atomic_cmpxchg(a, old, new); })

#include "slots/cache-written.h"

#define NR_ACTORS	3
#define PREEMPTIONS	3
#define MAX_STEPS	128

/* The rules that a broken model leaves out. */
enum rule {
	ALL_RULES,
	FROM_ITS_END,		/* a write counts from its end, not from its beginning */
	NUMBERS,		/* only the flush that began last says that all is flushed */
	NONE_IN_FLIGHT,		/* ... and only if no older one is in flight */
	KNOWN_FIRST,		/* a failure is made known before the flush ends */
	NOTE_FIRST,		/* a write is noted before its user is told */
	NR_RULES
};

static struct world {
	enum rule broken;
	struct cache_written written;
	/* Writes, as bits: on the device; told to their users; durable; dropped. */
	u32 ended, told, durable, dropped;
	bool one_fails;		/* the device fails the first flush of the last actor */
	bool failed;		/* as the engine knows it */
	bool lost;		/* a flush ended well, but did not make a write durable */
	u32 nr_needless;	/* flushes that were left out */
} world;

/* ---- Actors, and the choice who goes on ---- */

static struct actor {
	ucontext_t context;
	char stack[64 * 1024];
	bool done;
} actors[NR_ACTORS];

static ucontext_t scheduler;
static u32 running = NR_ACTORS;

static void step(void)
{
	if (running < NR_ACTORS)
		swapcontext(&actors[running].context, &scheduler);
}

static struct choice {
	u32 actor;
	u32 preemptions;	/* up to and with this choice */
	bool can_run[NR_ACTORS];	/* before this choice */
} path[MAX_STEPS];
static u32 path_length;		/* the choices that are given, then those made */

/* Choose the first actor at @at whose number is not below @first; false: there is none. */
static bool choose(u32 at, u32 first)
{
	u32 last = at ? path[at - 1].actor : NR_ACTORS;
	u32 before = at ? path[at - 1].preemptions : 0;
	u32 actor, cost;

	for (actor = first; actor < NR_ACTORS; actor++) {
		cost = at && actor != last && path[at].can_run[last];
		if (!path[at].can_run[actor] || before + cost > PREEMPTIONS)
			continue;
		path[at].actor = actor;
		path[at].preemptions = before + cost;
		return true;
	}
	return false;
}

/* ---- The acts ---- */

static void note(void)
{
	cache_written_note(&world.written);
}

static void do_write(u32 bit)
{
	if (world.broken == FROM_ITS_END)
		note();
	step();
	world.ended |= bit;
	if (world.broken == NOTE_FIRST)
		world.told |= bit;
	if (world.broken != FROM_ITS_END)
		note();
	step();
	world.told |= bit;
}

/* The device drops what it was to flush, and says so. */
static void refuse(int nr)
{
	world.dropped |= world.ended & ~world.durable;
	step();
	if (world.broken != KNOWN_FIRST)
		world.failed = true;
	cache_written_end_flush(&world.written, nr, false);
	step();
	world.failed = true;
}

static void serve(int nr)
{
	u32 served = world.ended;

	step();
	world.durable |= served & ~world.dropped;
	if (world.broken == NONE_IN_FLIGHT)
		world.written.in_flight.counter = 1;
	cache_written_end_flush(&world.written, nr, true);
}

/* The order is that of cache_flush_needed(). */
static bool is_needless(void)
{
	return cache_written_is_flushed(&world.written) && !world.failed;
}

/*
 * A flush that the device serves may end before the engine knows that an older one has
 * failed.  So it need not have what that one dropped.
 */
static void do_flush(bool fails)
{
	u32 wanted = world.told;
	int nr;

	if (is_needless()) {
		world.nr_needless++;
	} else {
		if (world.broken == NUMBERS)
			world.written.last.counter = 1;
		nr = cache_written_begin_flush(&world.written);
		step();
		if (fails) {
			refuse(nr);
			return;
		}
		serve(nr);
		wanted &= ~world.dropped;
	}
	if (wanted & ~world.durable)
		world.lost = true;
}

static void act(int number)
{
	/* Two write and flush, one only flushes, twice. */
	if (number < 2)
		do_write(1 << number);
	else
		do_flush(world.one_fails);
	do_flush(false);
	actors[number].done = true;
}

/* ---- One order, then all ---- */

static void start_actor(int i)
{
	struct actor *a = &actors[i];

	getcontext(&a->context);
	a->context.uc_stack.ss_sp = a->stack;
	a->context.uc_stack.ss_size = sizeof(a->stack);
	a->context.uc_link = &scheduler;
	a->done = false;
	makecontext(&a->context, (void (*)(void))act, 1, i);
}

static void begin(enum rule broken, bool one_fails)
{
	int i;

	memset(&world, 0, sizeof(world));
	world.broken = broken;
	world.one_fails = one_fails;
	cache_written_init(&world.written);
	for (i = 0; i < NR_ACTORS; i++)
		start_actor(i);
}

static void see_who_can_run(u32 at)
{
	u32 i;

	assert_true(at < MAX_STEPS);
	for (i = 0; i < NR_ACTORS; i++)
		path[at].can_run[i] = !actors[i].done;
}

/* Follow the choices that are given, then take the first one each time. */
static void run(enum rule broken, bool one_fails)
{
	u32 given = path_length, at;

	begin(broken, one_fails);
	for (at = 0;; at++) {
		see_who_can_run(at);
		if (at >= given && !choose(at, 0))
			break;
		running = path[at].actor;
		swapcontext(&scheduler, &actors[running].context);
	}
	running = NR_ACTORS;
	path_length = at;
}

/* The next order: the last choice that can be another one is. */
static bool next_order(void)
{
	u32 at;

	for (at = path_length; at--;) {
		if (choose(at, path[at].actor + 1)) {
			path_length = at + 1;
			return true;
		}
	}
	return false;
}

struct result {
	u64 orders, lost, needless;
};

/* With a broken rule it ends when something was lost. */
static struct result all_orders(enum rule broken, bool one_fails)
{
	struct result r = {};

	path_length = 0;
	do {
		run(broken, one_fails);
		r.orders++;
		r.lost += world.lost;
		r.needless += world.nr_needless;
	} while ((broken == ALL_RULES || !r.lost) && next_order());
	return r;
}

static void nothing_is_lost(void **state)
{
	struct result r;
	int fails;

	(void)state;
	for (fails = 0; fails < 2; fails++) {
		r = all_orders(ALL_RULES, fails);
		print_message("%llu orders, %llu flushes left out\n",
			      (unsigned long long)r.orders, (unsigned long long)r.needless);
		assert_int_equal(r.lost, 0);
		assert_true(r.needless > 0);
	}
}

static void each_rule_is_needed(void **state)
{
	enum rule rule;

	(void)state;
	for (rule = FROM_ITS_END; rule < NR_RULES; rule++)
		assert_true(all_orders(rule, false).lost || all_orders(rule, true).lost);
}

/* No number of a flush equals one of the other two states, also when numbers wrap. */
static void numbers_wrap(void **state)
{
	struct cache_written w;
	int i, nr;

	(void)state;
	cache_written_init(&w);
	w.last.counter = INT_MAX - 8;
	for (i = 0; i < 8; i++) {
		nr = cache_written_begin_flush(&w);
		assert_true(nr & 1);
	}
	assert_true(nr < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(each_rule_is_needed),
		cmocka_unit_test(numbers_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
