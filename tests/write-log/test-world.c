// SPDX-License-Identifier: GPL-2.0-only
/*
 * Worlds as designed have no fault; with one rule broken a fault is found.
 *
 * HEARTH_SET=all runs the long version. WORLDS=n and RULE=name choose what
 * "test-world" runs, for a closer look: it prints the first seed with a fault.
 */

#include "world.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUTS	8
#define STEPS	500

static bool is_long(void)
{
	const char *set = getenv("HEARTH_SET");

	return set && !strcmp(set, "all");
}

static void add(struct world_result *sum, const struct world_result *one)
{
	sum->cuts += one->cuts;
	sum->ring_blocks += one->ring_blocks;
	sum->without_flush += one->without_flush;
	sum->absorbed += one->absorbed;
	sum->homes += one->homes;
	sum->moves += one->moves;
	sum->replayed += one->replayed;
	sum->mapped_and_logged += one->mapped_and_logged;
}

/* Worlds until one has a fault; returns how many there were without. */
static u32 run_worlds(u64 seed, u32 nr, struct world_result *sum)
{
	u32 i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < nr && !sum->fault[0]; i++) {
		struct world_result one;

		world_run(seed + i, CUTS, STEPS, &one);
		add(sum, &one);
		memcpy(sum->fault, one.fault, sizeof(one.fault));
	}
	return sum->fault[0] ? i - 1 : i;
}

static void test_as_designed(void **state)
{
	u32 nr = rounds(is_long() ? 40000 : 400), ok;
	u64 seed = test_seed("worlds as designed", 1);
	struct world_result sum;

	(void)state;
	ok = run_worlds(seed, nr, &sum);
	printf("note: %u worlds, %u cuts, %u ring blocks, %u of them without a flush, %u writes absorbed, %u blocks home, %u into the cache, %u segments found after cuts, %u blocks found mapped and recorded\n",
	       ok, sum.cuts, sum.ring_blocks, sum.without_flush, sum.absorbed, sum.homes, sum.moves,
	       sum.replayed, sum.mapped_and_logged);
	if (sum.fault[0])
		fail_msg("seed %llu: %s", seed + ok, sum.fault);
	assert_true(sum.without_flush && sum.absorbed && sum.homes && sum.moves && sum.replayed &&
		    sum.mapped_and_logged);
}

/* In a process of its own, because a broken rule may end in an abort. */
static bool is_noticed(const char *name, u64 seed, u32 nr, char *how, size_t len)
{
	int fds[2], status;
	ssize_t got;
	pid_t pid;

	assert_ok(pipe(fds));
	fflush(NULL);
	pid = fork();
	if (!pid) {
		struct world_result sum;
		char line[128];
		u32 ok;

		signal(SIGABRT, SIG_DFL);
		alarm(is_long() ? 3600 : 300);
		ok = run_worlds(seed, nr, &sum);
		if (sum.fault[0]) {
			snprintf(line, sizeof(line), "%s (world %u)", sum.fault, ok);
			if (write(fds[1], line, strlen(line)) < 0)
				_exit(2);
		}
		_exit(0);
	}
	close(fds[1]);
	got = read(fds[0], how, len - 1);
	how[max(got, (ssize_t)0)] = '\0';
	close(fds[0]);
	waitpid(pid, &status, 0);
	/* Too slow is not noticed. */
	if (got <= 0 && WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
		snprintf(how, len, "signal %d", WTERMSIG(status));
	printf("note: %s: %s\n", name, how[0] ? how : "NOT NOTICED");
	return how[0];
}

/*
 * test-index and test-ring try step by step the pins, which keep a segment from
 * being written again, the head, and a flush in the middle of a batch, because a fault of
 * them is rare in worlds.
 */
static bool step_notices(u32 rule)
{
	char command[128];
	int status;

	snprintf(command, sizeof(command),
		 "ASAN_OPTIONS=detect_leaks=0 BREAK_RULE=%u \"$%s_TEST\" >/dev/null 2>&1", rule,
		 rule == LOG_W2_FLUSHED || rule == LOG_W6_SETTLE || rule == LOG_W11_HEAD ?
		 "RING" : "INDEX");
	status = system(command);
	printf("note: %s: its own test ends with status %d\n", log_rule_names[rule], status);
	return status;
}

static bool is_tried_by_step(u32 rule)
{
	return rule == LOG_W6_UNLOGGED || rule == LOG_W6_RING || rule == LOG_W6_LEAVING ||
	       rule == LOG_W6_PIN || rule == LOG_W6_SETTLE || rule == LOG_W11_HEAD ||
	       rule == LOG_W2_FLUSHED;
}

static bool is_named(const char *name, const char *const *names, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Rules of which a small number of worlds has no example. */
static bool needs_long(const char *name)
{
	static const char *const rare[] = { "W13_HOME_GATE", "W12_NEWEST", "W5_KEEP_MAPPED",
					    "W9_REPEATS_FUA" };

	return is_named(name, rare, ARRAY_SIZE(rare));
}

static void test_broken_rules(void **state)
{
	u64 seed = test_seed("worlds with a broken rule", 1);
	const char *only = getenv("RULE");
	u32 missed = 0, nr;
	char how[128];

	(void)state;
	nr = getenv("WORLDS") ? strtoul(getenv("WORLDS"), NULL, 0) : is_long() ? 40000 : 1500;
	for (u32 i = 1; i < LOG_NR_RULES; i++) {
		if ((only && strcmp(only, log_rule_names[i])) ||
		    (!only && !is_long() && needs_long(log_rule_names[i])))
			continue;
		if (is_tried_by_step(i) && getenv("INDEX_TEST")) {
			missed += !step_notices(i);
			continue;
		}
		log_broken_rule = i;
		missed += !is_noticed(log_rule_names[i], seed, nr, how, sizeof(how));
		log_broken_rule = LOG_NO_RULE;
	}
	for (u32 i = 1; i < WORLD_NR_RULES; i++) {
		if ((only && strcmp(only, world_rule_names[i])) ||
		    (!only && !is_long() && needs_long(world_rule_names[i])))
			continue;
		world_broken_rule = i;
		missed += !is_noticed(world_rule_names[i], seed, nr, how, sizeof(how));
		world_broken_rule = WORLD_NO_RULE;
	}
	assert_int_equal(missed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_designed),
		cmocka_unit_test(test_broken_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
