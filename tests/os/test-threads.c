// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks, atomics and declared races of os/, used by threads. It is built with
 * ThreadSanitizer, which fails it when a lock does not exclude, or when READ_ONCE() or
 * WRITE_ONCE() is a plain access.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/os.h"
#include "os/sync.h"

#define THREADS		3
#define TIMES		20000

static pthread_barrier_t together;

static void in_threads(void *(*fn)(void *))
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fn, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&together);
}

static spinlock_t lock;
static u64 guarded;

static void *count_under_lock(void *arg)
{
	unsigned long flags;

	pthread_barrier_wait(&together);
	for (int i = 0; i < TIMES; i++) {
		spin_lock_irqsave(&lock, flags);
		lockdep_assert_held(&lock);
		/* Now and then another thread finds the lock held. */
		if (i % 1000 == 0)
			sched_yield();
		guarded++;
		spin_unlock_irqrestore(&lock, flags);
	}
	return arg;
}

static void a_lock_excludes_others(void **state)
{
	(void)state;
	spin_lock_init(&lock);
	guarded = 0;
	in_threads(count_under_lock);
	assert_int_equal(guarded, THREADS * TIMES);
}

static atomic64_t sum, returned;
static atomic_t word;

/* So often that a thread is preempted within an addition, if that is not one step. */
#define ADDITIONS	(20 * TIMES)

static void *add_and_subtract(void *arg)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < ADDITIONS; i++) {
		atomic64_add(3, &sum);
		atomic64_sub(2, &sum);
		atomic64_add(atomic64_add_return(1, &returned), &sum);
		atomic_add(3, &word);
		atomic_sub(2, &word);
	}
	return arg;
}

/* @returned takes each value once, so the sum of the values is known. */
static void no_addition_is_lost(void **state)
{
	s64 n = (s64)THREADS * ADDITIONS;

	(void)state;
	atomic_set(&word, 7);
	atomic64_set(&sum, 5);
	atomic64_set(&returned, 0);
	in_threads(add_and_subtract);
	assert_int_equal(atomic_read(&word), 7 + n);
	assert_int_equal(atomic64_read(&returned), n);
	assert_int_equal(atomic64_read(&sum), 5 + n + n * (n + 1) / 2);
}

/* From @word to @sum in steps of 1, until nothing is left. */
static void *move(void *arg)
{
	int old;

	pthread_barrier_wait(&together);
	for (;;) {
		old = atomic_read(&word);
		do {
			if (!old)
				return arg;
		} while (!atomic_try_cmpxchg(&word, &old, old - 1));
		atomic64_add(1, &sum);
	}
}

static void a_word_is_changed_by_one_at_a_time(void **state)
{
	(void)state;
	atomic_set_release(&word, ADDITIONS);
	atomic64_set(&sum, 0);
	in_threads(move);
	assert_int_equal(atomic64_read(&sum), ADDITIONS);
	assert_int_equal(atomic_read(&word), 0);
}

/* @word counts down, and each value is returned once. */
static void *subtract(void *arg)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < TIMES; i++)
		atomic64_add(atomic_fetch_sub(1, &word), &sum);
	return arg;
}

static void each_subtraction_returns_the_value_before(void **state)
{
	s64 n = THREADS * TIMES;

	(void)state;
	atomic_set(&word, n);
	atomic64_set(&sum, 0);
	in_threads(subtract);
	assert_int_equal(atomic_read(&word), 0);
	assert_int_equal(atomic64_read(&sum), n * (n + 1) / 2);
}

/* A thread that takes a published pointer may read what it points to. */
static u64 *published;

static void *publish_or_take(void *arg)
{
	static u64 text;
	u64 *p;

	if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD) {
		text = 5;
		smp_store_release(&published, &text);
		return arg;
	}
	while (!(p = __atomic_load_n(&published, __ATOMIC_ACQUIRE)))
		sched_yield();
	assert_int_equal(*p, 5);
	return arg;
}

static void a_release_publishes(void **state)
{
	(void)state;
	in_threads(publish_or_take);
}

static u64 declared;

static void *read_and_write(void *arg)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < TIMES; i++)
		WRITE_ONCE(declared, READ_ONCE(declared) + 1);
	return arg;
}

static void a_declared_race_is_no_race(void **state)
{
	(void)state;
	declared = 0;
	in_threads(read_and_write);
	assert_in_range(READ_ONCE(declared), 1, THREADS * TIMES);
}

/* ---- Mistakes that end the program ---- */

static void lock_is_held(void)
{
	unsigned long flags;

	spin_lock_init(&lock);
	spin_lock_irqsave(&lock, flags);
	lockdep_assert_held(&lock);
	spin_unlock_irqrestore(&lock, flags);
}

static void lock_is_not_held(void)
{
	spin_lock_init(&lock);
	lockdep_assert_held(&lock);
}

static void lock_was_released(void)
{
	lock_is_held();
	lockdep_assert_held(&lock);
}

static void no_warning(void)
{
	WARN_ON_ONCE(lock.held > 1);
}

static void warning(void)
{
	WARN_ON_ONCE(lock.held < 1);
}

static bool aborts(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGABRT, SIG_DFL);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void a_missing_lock_ends_the_program(void **state)
{
	(void)state;
	assert_false(aborts(lock_is_held));
	assert_true(aborts(lock_is_not_held));
	assert_true(aborts(lock_was_released));
}

static void a_warning_ends_the_program(void **state)
{
	(void)state;
	spin_lock_init(&lock);
	assert_false(aborts(no_warning));
	assert_true(aborts(warning));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_excludes_others),
		cmocka_unit_test(no_addition_is_lost),
		cmocka_unit_test(a_word_is_changed_by_one_at_a_time),
		cmocka_unit_test(each_subtraction_returns_the_value_before),
		cmocka_unit_test(a_release_publishes),
		cmocka_unit_test(a_declared_race_is_no_race),
		cmocka_unit_test(a_missing_lock_ends_the_program),
		cmocka_unit_test(a_warning_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
