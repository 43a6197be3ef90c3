// SPDX-License-Identifier: GPL-2.0-only
/*
 * The promises of heat: scans do not flush it, a moved working set gets in,
 * streams pass by unless they repeat, one access to a cold region does not
 * promote, and its hints are valid for a stock smq.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "host.h"

#define SLOTS		2048
#define BLOCKS		(64 * SLOTS)
#define BLOCK_SECTORS	128

static const struct cache_io small_read = { .op = CACHE_OP_READ, .sectors = 8 };

static struct host *heat_host(void)
{
	const struct cache_policy_ops *ops = policy_find("heat");

	assert_non_null(ops);
	return host_new(ops, SLOTS, BLOCKS);
}

/* Read @nr random blocks of the @span blocks from @base; returns the hit ratio. */
static double read_random(struct host *h, u32 base, u32 span, u32 nr)
{
	u64 hits = h->nr_hits;
	u32 i;

	for (i = 0; i < nr; i++)
		host_access(h, base + host_random(h, span), &small_read);
	return (double)(h->nr_hits - hits) / nr;
}

static struct cache_io stream_at(u64 sectors)
{
	return (struct cache_io) {
		.op = CACHE_OP_READ,
		.flags = sectors ? CACHE_IO_STREAM : 0,
		.sectors = BLOCK_SECTORS,
		.stream_sectors = min_t(u64, sectors, U32_MAX),
	};
}

/* Read a stream once; returns how many of its blocks were hits. */
static u32 read_stream(struct host *h, u32 base, u32 nr)
{
	u64 hits = h->nr_hits;
	u32 i;

	for (i = 0; i < nr; i++) {
		struct cache_io io = stream_at((u64)i * BLOCK_SECTORS);

		host_access(h, base + i, &io);
	}
	return h->nr_hits - hits;
}

/* A steady state: the working set is half the cache, and the cache is full. */
static struct host *steady(void)
{
	struct host *h = heat_host();

	read_random(h, 0, SLOTS / 2, 20 * SLOTS);
	read_random(h, SLOTS, 4 * SLOTS, 4 * SLOTS);
	read_random(h, 0, SLOTS / 2, 20 * SLOTS);
	assert_int_equal(h->nr_free, 0);
	return h;
}

static void test_names(void **state)
{
	const struct cache_policy_ops *ops = policy_find("smq");

	assert_non_null(ops);
	assert_ptr_equal(ops, policy_find("mq"));
	assert_ptr_equal(ops, policy_find("default"));
	assert_ptr_equal(ops, policy_find("heat"));
	assert_int_equal(ops->version[0], 2);
}

static void test_free_slots_take_everything(void **state)
{
	struct host *h = heat_host();

	assert_int_equal(read_stream(h, 0, SLOTS), 0);
	assert_int_equal(h->nr_free, 0);
	assert_int_equal(read_stream(h, 0, SLOTS), SLOTS);
	host_free(h);
}

/* Reads ten times the cache in random order, each block once. */
static void test_a_random_scan_does_not_flush(void **state)
{
	struct host *h = steady();
	double before = read_random(h, 0, SLOTS / 2, 10 * SLOTS), after;
	u32 i, block;

	for (i = 0; i < 10 * SLOTS; i++) {
		block = 6 * SLOTS + i * 7919ull % (40 * SLOTS);
		host_access(h, block, &small_read);
	}
	after = read_random(h, 0, SLOTS / 2, SLOTS);
	print_message("    hits before %.3f, after %.3f\n", before, after);
	assert_true(after > before - .02);
	host_free(h);
}

static void test_a_stream_does_not_flush(void **state)
{
	struct host *h = steady();
	double before = read_random(h, 0, SLOTS / 2, 10 * SLOTS), after;

	read_stream(h, 6 * SLOTS, 10 * SLOTS);
	after = read_random(h, 0, SLOTS / 2, SLOTS);
	print_message("    hits before %.3f, after %.3f\n", before, after);
	assert_true(after > before - .01);
	host_free(h);
}

/* Hits recover after reads of twice the bytes of the new working set. */
static void test_a_moved_working_set_gets_in(void **state)
{
	struct host *h = steady();
	u32 span = SLOTS / 2;
	double before, after;

	before = read_random(h, 0, span, 10 * SLOTS);
	read_random(h, 10 * SLOTS, span, 2 * span * BLOCK_SECTORS /
		    small_read.sectors);
	after = read_random(h, 10 * SLOTS, span, SLOTS);
	print_message("    hits before %.3f, after %.3f\n", before, after);
	assert_true(after > before - .05);
	host_free(h);
}

static enum cache_verdict ask(struct host *h, u32 block,
			      const struct cache_io *io)
{
	return h->policy->ops->miss(h->policy, block, io);
}

static void test_streams_pass_by(void **state)
{
	struct host *h = steady();
	struct cache_io io = stream_at(128);	/* 64 KiB of the stream came before it */

	assert_int_equal(ask(h, 50 * SLOTS, &io), CACHE_BYPASS_STREAM);
	assert_int_equal(policy_set(h->policy, "seq_cutoff", 65), 0);
	assert_int_not_equal(ask(h, 50 * SLOTS, &io), CACHE_BYPASS_STREAM);
	assert_int_equal(policy_set(h->policy, "seq_cutoff", 0), 0);
	io.stream_sectors = U32_MAX;
	assert_int_not_equal(ask(h, 50 * SLOTS, &io), CACHE_BYPASS_STREAM);
	host_free(h);
}

static u64 default_cutoff(const char *name, bool rotational)
{
	const struct cache_policy_ops *ops = policy_find(name);
	const struct cache_tunable *t = ops->tunables;
	u16 words[64] = { 0 };
	struct cache_policy_params params = {
		.nr_slots = 64, .block_sectors = BLOCK_SECTORS,
		.origin_blocks = BLOCKS, .rotational = rotational,
		.words = words, .word_stride = 2,
	};
	struct cache_policy *policy = policy_make(ops, &params);
	u64 value;

	assert_non_null(policy);
	while (strcmp(t->key, "seq_cutoff"))
		t++;
	value = *(u64 *)((char *)policy + t->offset);
	ops->destroy(policy);
	return value;
}

/* On a device without seeks streams are not cut, because they cost no more. */
static void test_only_disks_have_a_cutoff(void **state)
{
	static const char * const names[] = { "heat", "lru", "nhit" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(default_cutoff(names[i], true), 64);
		assert_int_equal(default_cutoff(names[i], false), 0);
	}
}

/* Reads a stream of a quarter of the cache again and again. */
static void test_repeated_streams_get_in(void **state)
{
	struct host *h = steady();
	u32 nr = SLOTS / 4, hits = 0, pass;

	for (pass = 0; pass < 6; pass++)
		hits = read_stream(h, 8 * SLOTS, nr);
	print_message("    %u of %u hit in the sixth pass\n", hits, nr);
	assert_true(hits > nr / 2);
	host_free(h);

	h = steady();
	host_switch(h, h->policy->ops, true);
	for (pass = 0; pass < 6; pass++)
		hits = read_stream(h, 8 * SLOTS, nr);
	print_message("    %u of %u after a restart\n", hits, nr);
	assert_true(hits > nr / 2);
	host_free(h);

	h = steady();
	assert_int_equal(policy_set(h->policy, "seq_again", 0), 0);
	for (pass = 0; pass < 6; pass++)
		hits = read_stream(h, 8 * SLOTS, nr);
	assert_true(hits < nr / 4);
	host_free(h);
}

/*
 * Streams that repeat once, and earn nothing: the few promotions that remain follow each
 * other, because a disk turns once more for each block that is promoted alone.
 */
static void test_streams_are_sampled_in_stretches(void **state)
{
	u32 promoted = 0, edges = 0, base = 8 * SLOTS, nr = SLOTS / 2, round, i;
	struct host *h = steady();
	bool last = false, now;

	for (round = 0; round < 40; round++) {
		read_stream(h, base, nr);
		read_stream(h, base, nr);
		base += nr;
	}
	for (round = 0; round < 40; round++) {
		read_stream(h, base, nr);
		for (i = 0; i < nr; i++) {
			struct cache_io io = stream_at((u64)i * BLOCK_SECTORS);

			now = i && ask(h, base + i, &io) != CACHE_BYPASS_STREAM;
			promoted += now;
			edges += now && !last;
			last = now;
		}
		base += nr;
	}
	print_message("    %u of %u promoted, in %u stretches\n", promoted, 40 * nr, edges);
	assert_in_range(promoted, 40 * nr / 400, 40 * nr / 40);
	assert_true(edges * 3 <= promoted);
	host_free(h);
}

/*
 * Within a stream, the disk has to seek to fetch the rest of a block.  A partial
 * write has to earn that seek; a write of a whole block fetches nothing.
 */
static void test_writes_of_part_of_a_block_are_dearer(void **state)
{
	struct cache_io part = {
		.op = CACHE_OP_WRITE, .sectors = 64, .stream_sectors = 64,
		.flags = CACHE_IO_STREAM,
	};
	struct cache_io whole = {
		.op = CACHE_OP_WRITE, .sectors = BLOCK_SECTORS,
		.stream_sectors = 64,
		.flags = CACHE_IO_STREAM | CACHE_IO_FULL_BLOCK |
			 CACHE_IO_NO_FETCH,
	};
	u32 parts = 0, wholes = 0, i;
	struct host *h = heat_host();

	read_random(h, 0, SLOTS, 20 * SLOTS);
	for (i = 0; i < 1000; i++) {
		parts += ask(h, 2 * SLOTS + i, &part) <= CACHE_PROMOTE_HOT;
		wholes += ask(h, 8 * SLOTS + i, &whole) <= CACHE_PROMOTE_HOT;
	}
	print_message("    %u parts and %u whole blocks of 1000\n", parts,
		      wholes);
	assert_true(parts < wholes / 2);
	host_free(h);
}

/*
 * The test reads one block in eight again, much later.  No class earns its price,
 * but a cache that promotes everything would have all those hits.  At the default
 * level the price falls because of that; at a level above it does not.
 */
static u32 promoted_of_pairs(u64 level)
{
	struct host *h = steady();
	u32 promoted = 0, base = 8 * SLOTS, i;

	assert_int_equal(policy_set(h->policy, "read_level", level), 0);
	for (i = 0; i < 16 * SLOTS; i++) {
		u32 block = base + i * 7919ull % (40 * SLOTS);
		u32 before = base + (i - SLOTS / 2) * 7919ull % (40 * SLOTS);

		host_access(h, block, &small_read);
		promoted += h->slot_of[block] != NO_SLOT;
		if (i >= SLOTS / 2 && i % 8 == 0)
			host_access(h, before, &small_read);
	}
	host_free(h);
	return promoted;
}

static void test_the_rival_sets_the_price(void **state)
{
	u32 adapting = promoted_of_pairs(2), fixed = promoted_of_pairs(3);

	print_message("    %u promotions at level 2, %u at level 3\n", adapting,
		      fixed);
	assert_true(adapting > 4 * fixed);
}

/* Sample promotions, which teach the policy, wait while there is other work. */
static void test_load_defers_samples(void **state)
{
	struct cache_io busy = small_read;
	struct host *h = steady();
	u32 idle_nr = 0, busy_nr = 0, i;

	assert_int_equal(policy_set(h->policy, "read_level", 5), 0);
	busy.load = 100;
	for (i = 0; i < 20 * SLOTS; i++)
		host_access(h, 8 * SLOTS + i, &small_read);
	for (i = 0; i < 8 * SLOTS; i++) {
		idle_nr += ask(h, 40 * SLOTS + i, &small_read) <=
			   CACHE_PROMOTE_HOT;
		busy_nr += ask(h, 50 * SLOTS + i, &busy) <= CACHE_PROMOTE_HOT;
	}
	print_message("    %u promoted when idle, %u when busy\n", idle_nr,
		      busy_nr);
	assert_true(idle_nr > 0);
	assert_int_equal(busy_nr, 0);
	host_free(h);
}

static void test_levels_are_ordered(void **state)
{
	u32 promoted[6], level, i;

	for (level = 0; level < ARRAY_SIZE(promoted); level++) {
		struct host *h = heat_host();

		assert_int_equal(policy_set(h->policy, "read_level", level), 0);
		read_random(h, 0, SLOTS, 10 * SLOTS);
		promoted[level] = 0;
		for (i = 0; i < 60 * SLOTS; i++) {
			u32 span = host_random(h, 3) ? SLOTS : 30 * SLOTS;
			u32 block = host_random(h, span);
			u32 slot = h->slot_of[block];

			host_access(h, block, &small_read);
			promoted[level] += slot == NO_SLOT &&
					   h->slot_of[block] != NO_SLOT;
		}
		print_message("    level %u: %u promotions\n", level,
			      promoted[level]);
		if (level && promoted[level] > promoted[level - 1] * 1.1)
			fail_msg("a higher level promotes more");
		host_free(h);
	}
	assert_true(promoted[2] < promoted[0] / 2);
}

struct figure {
	const char *name;
	s64 value;
	bool found;
};

static void take_figure(void *ctx, const char *name, s64 value)
{
	struct figure *f = ctx;

	if (strcmp(f->name, name))
		return;
	f->value = value;
	f->found = true;
}

static s64 figure(struct host *h, const char *name)
{
	struct figure f = { .name = name };

	h->policy->ops->stats(h->policy, take_figure, &f);
	if (!f.found)
		fail_msg("no figure %s", name);
	return f.value;
}

/* In a full cache each slot is in one queue, and the border is within its bounds. */
static void test_stats_show_the_queues(void **state)
{
	struct host *h = heat_host();

	assert_int_equal(figure(h, "small_slots"), 0);
	assert_int_equal(figure(h, "border_slots"), SLOTS / 10);
	host_free(h);

	h = steady();
	assert_int_equal(figure(h, "small_slots") + figure(h, "main_slots") +
			 figure(h, "busy_slots"), SLOTS);
	assert_true(figure(h, "main_slots") >= SLOTS / 2);
	assert_in_range(figure(h, "border_slots"), SLOTS / 16, SLOTS * 7 / 8);
	host_free(h);
}

/* A class of blocks that are read once loses its yield, and most misses are of it. */
static void test_stats_show_what_a_scan_yields(void **state)
{
	struct host *h = heat_host();
	u32 i;

	assert_int_equal(figure(h, "new_cold_small_yield_permille"), 1000);
	assert_int_equal(figure(h, "poor_misses_permille"), 0);
	host_free(h);

	h = steady();
	for (i = 0; i < 20 * SLOTS; i++)
		host_access(h, 6 * SLOTS + i * 7919ull % (40 * SLOTS),
			    &small_read);
	print_message("    new and cold %lld, poor misses %lld, mean %lld\n",
		      figure(h, "new_cold_small_yield_permille"),
		      figure(h, "poor_misses_permille"),
		      figure(h, "mean_yield_permille"));
	assert_true(figure(h, "new_cold_small_yield_permille") < 250);
	assert_true(figure(h, "poor_misses_permille") > 800);
	host_free(h);
}

/* Level 3 keeps its price within the bounds; a rival ahead lowers level 2 only. */
static void test_stats_show_lead_and_price(void **state)
{
	struct host *h = steady();
	u32 i;

	assert_int_equal(policy_set(h->policy, "write_level", 3), 0);
	assert_int_equal(policy_set(h->policy, "full_write_level", 0), 0);
	for (i = 0; i < 16 * SLOTS; i++) {
		host_access(h, 8 * SLOTS + i * 7919ull % (40 * SLOTS),
			    &small_read);
		if (i >= SLOTS / 2 && i % 8 == 0)
			host_access(h, 8 * SLOTS + (i - SLOTS / 2) * 7919ull %
				    (40 * SLOTS), &small_read);
	}
	print_message("    lead %lld, price of reads %lld, of writes %lld\n",
		      figure(h, "lead_permille"),
		      figure(h, "read_price_permille"),
		      figure(h, "write_price_permille"));
	assert_true(figure(h, "lead_permille") < 0);
	assert_in_range(figure(h, "write_price_permille"), 1000 * 15 / 72 / 2,
			1000 * 15 / 18);
	assert_true(figure(h, "read_price_permille") <
		    figure(h, "write_price_permille"));
	assert_int_equal(figure(h, "full_write_price_permille"), 0);
	host_free(h);
}

/* Every hint of a used cache has a meaning to smq, and the hints differ. */
static void test_hints_spread(void **state)
{
	struct host *h = steady();
	u32 seen[64] = { 0 }, distinct = 0, i;

	for (i = 0; i < SLOTS; i++)
		seen[h->policy->ops->hint(h->policy, i)] = 1;
	for (i = 0; i < 64; i++)
		distinct += seen[i];
	print_message("    %u distinct hints\n", distinct);
	assert_true(distinct >= 8);
	host_free(h);
}

static void test_hits_survive_a_restart(void **state)
{
	struct host *h = heat_host();
	double before, after;

	read_random(h, 0, 30 * SLOTS, 4 * SLOTS);
	read_random(h, 0, SLOTS, 30 * SLOTS);
	before = read_random(h, 0, SLOTS, 4 * SLOTS);
	host_switch(h, h->policy->ops, true);
	after = read_random(h, 0, SLOTS, 4 * SLOTS);
	print_message("    hits before %.3f, after %.3f\n", before, after);
	assert_true(after > before - .01);
	host_free(h);
}

/* After a restart a warm cache does not promote each new block. */
static void test_a_warm_cache_is_wary(void **state)
{
	struct host *h = heat_host();
	u32 promoted = 0, i, block;

	read_random(h, 0, SLOTS, 30 * SLOTS);
	host_switch(h, h->policy->ops, true);
	for (i = 0; i < SLOTS / 4; i++) {
		block = 6 * SLOTS + i * 7919ull % (40 * SLOTS);
		host_access(h, block, &small_read);
		promoted += h->slot_of[block] != NO_SLOT;
	}
	print_message("    %u of %u new blocks promoted\n", promoted, SLOTS / 4);
	assert_true(promoted < SLOTS / 32);
	host_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_free_slots_take_everything),
		cmocka_unit_test(test_a_random_scan_does_not_flush),
		cmocka_unit_test(test_a_stream_does_not_flush),
		cmocka_unit_test(test_a_moved_working_set_gets_in),
		cmocka_unit_test(test_streams_pass_by),
		cmocka_unit_test(test_only_disks_have_a_cutoff),
		cmocka_unit_test(test_repeated_streams_get_in),
		cmocka_unit_test(test_streams_are_sampled_in_stretches),
		cmocka_unit_test(test_writes_of_part_of_a_block_are_dearer),
		cmocka_unit_test(test_the_rival_sets_the_price),
		cmocka_unit_test(test_load_defers_samples),
		cmocka_unit_test(test_levels_are_ordered),
		cmocka_unit_test(test_stats_show_the_queues),
		cmocka_unit_test(test_stats_show_what_a_scan_yields),
		cmocka_unit_test(test_stats_show_lead_and_price),
		cmocka_unit_test(test_hints_spread),
		cmocka_unit_test(test_hits_survive_a_restart),
		cmocka_unit_test(test_a_warm_cache_is_wary),
	};

	return cmocka_run_group_tests_name("heat", tests, NULL, NULL);
}
