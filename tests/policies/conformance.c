// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules for every policy, whatever it decides.  The arguments name policies;
 * without arguments the test runs all that are linked in.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "host.h"
#include "memory.h"

#define SLOTS	300
#define BLOCKS	3000

static const struct cache_io plain_read = { .op = CACHE_OP_READ, .sectors = 8 };

static const struct cache_policy_ops *ops_of(void **state)
{
	return *state;
}

static struct cache_io random_io(struct host *h)
{
	struct cache_io io = {
		.op = host_random(h, 2),
		.sectors = 1 + host_random(h, 128),
	};

	if (!host_random(h, 4)) {
		io.flags |= CACHE_IO_STREAM;
		io.stream_sectors = host_random(h, 4096);
	}
	if (io.op == CACHE_OP_WRITE && io.sectors == 128)
		io.flags |= CACHE_IO_FULL_BLOCK | CACHE_IO_NO_FETCH;
	if (!host_random(h, 16))
		io.flags |= CACHE_IO_META;
	return io;
}

static void random_access(struct host *h)
{
	struct cache_io io = random_io(h);
	/* A tenth of the blocks gets most of the requests. */
	u32 range = host_random(h, 4) ? h->nr_blocks / 10 : h->nr_blocks;

	host_access(h, host_random(h, range), &io);
}

static void fill(struct host *h)
{
	static const enum cache_verdict why[] = {
		CACHE_PROMOTE, CACHE_PROMOTE_AHEAD, CACHE_PROMOTE_HOT,
	};
	u32 block = 0, i;

	for (i = 0; i < h->nr_slots; i++) {
		if (h->state[i] != HOST_FREE)
			continue;
		while (h->slot_of[block] != NO_SLOT)
			block++;
		host_insert(h, i, block, why[i % ARRAY_SIZE(why)]);
	}
}

/* A host with a history: full, with hits, evictions and invalidations behind it. */
static struct host *lived_in(const struct cache_policy_ops *ops)
{
	struct host *h = host_new(ops, SLOTS, BLOCKS);
	u32 i;

	fill(h);
	for (i = 0; i < 20 * SLOTS; i++)
		random_access(h);
	return h;
}

static void test_table_of_operations(void **state)
{
	const struct cache_policy_ops *ops = ops_of(state);
	unsigned int i;

	assert_non_null(ops->name);
	assert_in_range(strlen(ops->name), 1, CACHE_POLICY_NAME_LEN - 1);
	for (i = 0; ops->aliases && ops->aliases[i]; i++)
		assert_in_range(strlen(ops->aliases[i]), 1,
				CACHE_POLICY_NAME_LEN - 1);
	assert_true(ops->version[0] > 0);
	assert_true(ops->create && ops->destroy && ops->hit && ops->miss);
	assert_true(ops->victims && ops->victim_busy);
	assert_true(ops->inserted && ops->removed);
	assert_true(ops->load && ops->load_done && ops->hint);
}

static void test_tunables(void **state)
{
	const struct cache_policy_ops *ops = ops_of(state);
	struct host *h = host_new(ops, SLOTS, BLOCKS);
	const struct cache_tunable *t;

	for (t = ops->tunables; t && t->key; t++) {
		u64 value = policy_get(h->policy, t);

		print_message("    %s: %llu..%llu %s, default %llu\n", t->key,
			      (unsigned long long)t->min,
			      (unsigned long long)t->max, t->unit,
			      (unsigned long long)value);
		assert_non_null(t->unit);
		assert_true(t->help && *t->help);
		assert_true(t->offset >= sizeof(struct cache_policy));
		assert_true(t->min <= value && value <= t->max);
		if (!policy_key_known(t->key))
			fail_msg("%s has no CACHE_SETTING_ALIAS", t->key);
	}
	assert_true(policy_key_known("random_threshold"));
	assert_false(policy_key_known("no_such_key"));
	host_free(h);
}

/* The policy works at both ends of every tunable's range. */
static void test_extreme_settings(void **state)
{
	const struct cache_policy_ops *ops = ops_of(state);
	const struct cache_tunable *t;
	unsigned int end, i;

	for (t = ops->tunables; t && t->key; t++) {
		for (end = 0; end < 2; end++) {
			struct host *h = host_new(ops, SLOTS, BLOCKS);

			assert_int_equal(policy_set(h->policy, t->key,
					 end ? t->max : t->min), 0);
			for (i = 0; i < 5000; i++)
				random_access(h);
			host_free(h);
		}
	}
}

static void test_each_slot_is_a_victim_once(void **state)
{
	struct host *h = host_new(ops_of(state), SLOTS, BLOCKS);
	u32 order[SLOTS];

	host_drain(h, order);
	fill(h);
	host_drain(h, order);
	host_free(h);

	h = lived_in(ops_of(state));
	host_drain(h, order);
	host_free(h);
}

/* Busy victims are offered again later, and the policy offers others meanwhile. */
static void test_busy_victims_come_again(void **state)
{
	struct host *h = lived_in(ops_of(state));
	u32 seen[SLOTS] = { 0 }, slots[8], round, got, i;

	for (round = 0; round < 40 * SLOTS / 8; round++) {
		got = host_victims(h, slots, 8);
		for (i = 0; i < got; i++) {
			seen[slots[i]]++;
			host_busy(h, slots[i]);
		}
	}
	for (i = 0; i < SLOTS; i++)
		if (h->state[i] == HOST_OCCUPIED && !seen[i])
			fail_msg("slot %u was never offered", i);
	host_free(h);
}

/* victims() finds a slot although all slots are hit all the time. */
static void test_hot_slots_are_still_victims(void **state)
{
	struct host *h = host_new(ops_of(state), SLOTS, BLOCKS);
	u32 slot, i, round;

	fill(h);
	for (round = 0; round < 2 * SLOTS; round++) {
		for (i = 0; i < SLOTS; i++)
			if (h->state[i] == HOST_OCCUPIED)
				host_access(h, h->block_of[i], &plain_read);
		assert_int_equal(host_victims(h, &slot, 1), 1);
		host_evict(h, slot);
		host_insert(h, slot, SLOTS + round, CACHE_PROMOTE);
	}
	host_free(h);
}

static void return_victim(struct host *h, u32 slot)
{
	switch (host_random(h, 3)) {
	case 0:
		host_busy(h, slot);
		break;
	case 1:
		host_evict(h, slot);
		break;
	case 2:
		host_invalidate(h, slot, CACHE_REMOVED_INVALID);
		break;
	}
}

static void random_op(struct host *h)
{
	u32 slots[8], slot = host_random(h, h->nr_slots), i, got;

	switch (host_random(h, 16)) {
	case 0:
		if (h->state[slot] == HOST_VICTIM)
			return_victim(h, slot);
		else if (h->state[slot] == HOST_OCCUPIED)
			host_invalidate(h, slot, CACHE_REMOVED_INVALID);
		break;
	case 1:
		if (h->state[slot] == HOST_OCCUPIED)
			host_invalidate(h, slot, host_random(h, 2) ?
					CACHE_REMOVED_INVALID :
					CACHE_REMOVED_DISCARDED);
		break;
	case 2:
		got = h->nr_occupied ? host_victims(h, slots, 8) : 0;
		for (i = 0; i < got; i++)
			if (host_random(h, 8))
				return_victim(h, slots[i]);
		break;
	case 3:
		if (h->nr_occupied < h->nr_slots / 2)
			fill(h);
		break;
	default:
		if (h->nr_free || h->nr_occupied)
			random_access(h);
	}
}

static void random_ops(struct host *h, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		random_op(h);
}

static void end_victims(struct host *h)
{
	u32 i;

	for (i = 0; i < h->nr_slots; i++)
		if (h->state[i] == HOST_VICTIM)
			host_busy(h, i);
}

static void test_random_operations(void **state)
{
	u32 order[SLOTS], seed;

	for (seed = 1; seed <= 20; seed++) {
		struct host *h = host_new(ops_of(state), 1 + 15 * (seed - 1),
					  BLOCKS);

		h->rng = seed;
		random_ops(h, 20000);
		end_victims(h);
		host_drain(h, order);
		host_free(h);
	}
}

static void save_hints(struct host *h, u32 *hints)
{
	u32 i;

	for (i = 0; i < h->nr_slots; i++)
		hints[i] = h->policy->ops->hint(h->policy, i);
}

static double correlation(const u32 *a, const u32 *b, u32 nr)
{
	double ma = 0, mb = 0, sab = 0, saa = 0, sbb = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		ma += (double)a[i] / nr;
		mb += (double)b[i] / nr;
	}
	for (i = 0; i < nr; i++) {
		sab += (a[i] - ma) * (b[i] - mb);
		saa += (a[i] - ma) * (a[i] - ma);
		sbb += (b[i] - mb) * (b[i] - mb);
	}
	return saa && sbb ? sab / sqrt(saa * sbb) : 1;
}

static void places(const u32 *order, u32 *place, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		place[order[i]] = i;
}

/* The hints saved at a stop restore the order of eviction at the next start. */
static void test_hints_restore_the_order(void **state)
{
	struct host *a = lived_in(ops_of(state)), *b = lived_in(ops_of(state));
	u32 order[SLOTS], before[SLOTS], after[SLOTS], hints[SLOTS], again[SLOTS];
	double c;

	save_hints(b, hints);
	host_switch(b, ops_of(state), true);
	save_hints(b, again);
	host_drain(a, order);
	places(order, before, SLOTS);
	host_drain(b, order);
	places(order, after, SLOTS);
	c = correlation(hints, again, SLOTS);
	if (c < .9)
		fail_msg("hints before and after loading agree by %.2f only", c);
	c = correlation(before, after, SLOTS);
	print_message("    order of eviction before and after: %.2f\n", c);
	if (c < .7)
		fail_msg("orders before and after loading agree by %.2f only", c);
	host_free(a);
	host_free(b);
}

static void test_any_hint_can_be_loaded(void **state)
{
	const struct cache_policy_ops *ops = ops_of(state);
	static const u32 odd[] = { 0, 63, 64, 255, 65536, U32_MAX };
	u32 order[SLOTS], i;
	struct host *h = host_new(ops, SLOTS, BLOCKS);

	for (i = 0; i < SLOTS; i += 2) {
		h->state[i] = HOST_OCCUPIED;
		h->block_of[i] = i;
		h->slot_of[i] = i;
		h->nr_occupied++;
		h->nr_free--;
		ops->load(h->policy, i, i, odd[i % ARRAY_SIZE(odd)], i % 3);
	}
	ops->load_done(h->policy);
	for (i = 0; i < SLOTS; i += 2)
		host_check_hint(h, i);
	random_ops(h, 5000);
	end_victims(h);
	host_drain(h, order);
	host_free(h);
}

/* Switches between any two policies, with victims out, and with or without hints. */
static void test_switching_keeps_residency(void **state)
{
	const struct cache_policy_ops *to;
	u32 order[SLOTS], victims[4], before, i, hints;

	for (i = 0; (to = policy_nth(i)); i++) {
		for (hints = 0; hints < 2; hints++) {
			struct host *h = lived_in(ops_of(state));

			host_victims(h, victims, 4);
			before = h->nr_occupied + h->nr_victims;
			host_switch(h, to, hints);
			assert_int_equal(h->nr_occupied, before);
			random_ops(h, 1000);
			end_victims(h);
			host_drain(h, order);
			host_free(h);
		}
	}
}

static void test_requests_do_not_allocate(void **state)
{
	struct host *h = lived_in(ops_of(state));
	u64 before = memory_allocations();
	u32 i;

	for (i = 0; i < 20000; i++)
		random_access(h);
	assert_int_equal(memory_allocations() - before, 0);
	host_free(h);
}

/* A hit stores once at most, and not at all when it brings no news. */
static void test_hits_store_little(void **state)
{
	struct host *h = lived_in(ops_of(state));
	u32 i, slot, changed = 0;

	for (slot = 0; slot < SLOTS; slot++) {
		if (h->state[slot] != HOST_OCCUPIED)
			continue;
		for (i = 0; i < 2000; i++) {
			memory_snapshot();
			h->policy->ops->hit(h->policy, slot, h->block_of[slot],
					    &plain_read);
			changed = memory_changed_words();
			if (changed > 1)
				fail_msg("a hit changed %u words", changed);
			if (!changed && i > 16)
				break;
		}
		if (changed)
			fail_msg("2000 hits still store");
		slot += 16;
	}
	host_free(h);
}

struct told {
	char names[128][CACHE_POLICY_STAT_LEN];
	unsigned int nr;
};

static void take_stat(void *ctx, const char *name, s64 value)
{
	struct told *t = ctx;
	unsigned int i;

	(void)value;
	assert_in_range(strlen(name), 1, CACHE_POLICY_STAT_LEN - 1);
	assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
			 strlen(name));
	for (i = 0; i < t->nr; i++)
		if (!strcmp(t->names[i], name))
			fail_msg("%s is told twice", name);
	assert_true(t->nr < ARRAY_SIZE(t->names));
	strcpy(t->names[t->nr++], name);
}

/* stats() changes nothing, and names the same figures at any size and time. */
static void test_stats(void **state)
{
	static const u32 sizes[] = { 1, 7, 64, 1000 };
	const struct cache_policy_ops *ops = ops_of(state);
	struct told first = { .nr = 0 };
	unsigned int i;

	if (!ops->stats)
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct host *h = host_new(ops, sizes[i], BLOCKS);
		struct told before = { .nr = 0 }, after = { .nr = 0 };

		ops->stats(h->policy, take_stat, &before);
		assert_true(before.nr);
		random_ops(h, 5000);
		memory_snapshot();
		ops->stats(h->policy, take_stat, &after);
		assert_int_equal(memory_changed_words(), 0);
		if (!i)
			first = before;
		assert_memory_equal(&before, &first, sizeof(first));
		assert_memory_equal(&after, &first, sizeof(first));
		host_free(h);
	}
	print_message("    %u figures\n", first.nr);
}

static void test_out_of_memory(void **state)
{
	const struct cache_policy_ops *ops = ops_of(state);
	u16 words[SLOTS] = { 0 };
	struct cache_policy_params params = {
		.nr_slots = SLOTS, .block_sectors = 128,
		.origin_blocks = BLOCKS, .words = words, .word_stride = 2,
	};
	struct cache_policy *p;
	unsigned int i;

	for (i = 1; i < 100; i++) {
		memory_fail_after(i);
		p = policy_make(ops, &params);
		memory_fail_after(0);
		if (!p)
			continue;
		ops->destroy(p);
		assert_true(i > 1);
		return;
	}
	fail_msg("create() never succeeds");
}

static void test_memory_per_block(void **state)
{
	const struct cache_policy_ops *ops = ops_of(state);
	const u32 nr = 1 << 20;
	struct cache_policy_params params = {
		.nr_slots = nr, .block_sectors = 128, .origin_blocks = 1 << 26,
		.words = calloc(nr, 2), .word_stride = 2,
	};
	u64 before = memory_in_use();
	struct cache_policy *p = policy_make(ops, &params);
	double bytes = (double)(memory_in_use() - before) / nr + 2;

	print_message("    %.3f bytes a block, the word included\n", bytes);
	/* The instance's header, up to 4 KiB, does not count. */
	if (bytes > 10 + 4096. / nr)
		fail_msg("more than 10 bytes a block");
	ops->destroy(p);
	free(params.words);
}

static void test_sizes(void **state)
{
	static const u32 sizes[] = { 1, 2, 3, 7, 8, 9, 31, 63, 64, 65, 1000 };
	u32 order[1000], i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct host *h = host_new(ops_of(state), sizes[i], BLOCKS);

		for (j = 0; j < 5000; j++)
			random_access(h);
		host_drain(h, order);
		host_free(h);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_table_of_operations),
	cmocka_unit_test(test_tunables),
	cmocka_unit_test(test_extreme_settings),
	cmocka_unit_test(test_each_slot_is_a_victim_once),
	cmocka_unit_test(test_busy_victims_come_again),
	cmocka_unit_test(test_hot_slots_are_still_victims),
	cmocka_unit_test(test_random_operations),
	cmocka_unit_test(test_hints_restore_the_order),
	cmocka_unit_test(test_any_hint_can_be_loaded),
	cmocka_unit_test(test_switching_keeps_residency),
	cmocka_unit_test(test_requests_do_not_allocate),
	cmocka_unit_test(test_hits_store_little),
	cmocka_unit_test(test_stats),
	cmocka_unit_test(test_out_of_memory),
	cmocka_unit_test(test_memory_per_block),
	cmocka_unit_test(test_sizes),
};

static int check(const struct cache_policy_ops *ops)
{
	struct CMUnitTest mine[ARRAY_SIZE(tests)];
	char name[64];
	unsigned int i;

	memcpy(mine, tests, sizeof(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++)
		mine[i].initial_state = (void *)ops;
	snprintf(name, sizeof(name), "conformance of %s", ops->name);
	return _cmocka_run_group_tests(name, mine, ARRAY_SIZE(mine), NULL, NULL);
}

int main(int argc, char **argv)
{
	return host_check_policies(argc, argv, check);
}
