// SPDX-License-Identifier: GPL-2.0-only
/* The stand-in for the engine.  A broken rule fails the running cmocka test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "host.h"

static struct cache_policy_params params_of(struct host *h)
{
	return (struct cache_policy_params) {
		.nr_slots = h->nr_slots,
		.block_sectors = 128,
		.origin_blocks = h->nr_blocks,
		.rotational = true,
		.words = h->words,
		.word_stride = sizeof(*h->words),
	};
}

struct host *host_new(const struct cache_policy_ops *ops, u32 nr_slots,
		      u32 nr_blocks)
{
	struct host *h = calloc(1, sizeof(*h));
	struct cache_policy_params params;

	h->nr_slots = nr_slots;
	h->nr_blocks = nr_blocks;
	h->nr_free = nr_slots;
	h->rng = 1;
	h->words = calloc(nr_slots, sizeof(*h->words));
	h->block_of = malloc(nr_slots * sizeof(*h->block_of));
	h->slot_of = malloc(nr_blocks * sizeof(*h->slot_of));
	h->state = calloc(nr_slots, 1);
	memset(h->block_of, 0xff, nr_slots * sizeof(*h->block_of));
	memset(h->slot_of, 0xff, nr_blocks * sizeof(*h->slot_of));
	params = params_of(h);
	h->policy = policy_make(ops, &params);
	assert_non_null(h->policy);
	ops->load_done(h->policy);
	return h;
}

void host_free(struct host *h)
{
	h->policy->ops->destroy(h->policy);
	free(h->words);
	free(h->block_of);
	free(h->slot_of);
	free(h->state);
	free(h);
}

u32 host_random(struct host *h, u32 below)
{
	h->rng ^= h->rng << 13;
	h->rng ^= h->rng >> 17;
	h->rng ^= h->rng << 5;
	return h->rng % below;
}

u32 host_free_slot(struct host *h)
{
	u32 i;

	for (i = 0; i < h->nr_slots; i++)
		if (h->state[i] == HOST_FREE)
			return i;
	return NO_SLOT;
}

void host_insert(struct host *h, u32 slot, u32 block, enum cache_verdict why)
{
	assert_int_equal(h->state[slot], HOST_FREE);
	h->state[slot] = HOST_OCCUPIED;
	h->block_of[slot] = block;
	h->slot_of[block] = slot;
	h->nr_free--;
	h->nr_occupied++;
	h->policy->ops->inserted(h->policy, slot, block, why);
}

void host_check_hint(struct host *h, u32 slot)
{
	u32 hint = h->policy->ops->hint(h->policy, slot);

	if (hint > 63)
		fail_msg("hint %u of slot %u is above 63", hint, slot);
}

static void take_victim(struct host *h, u32 slot)
{
	if (slot >= h->nr_slots)
		fail_msg("victim %u is no slot", slot);
	if (h->state[slot] != HOST_OCCUPIED)
		fail_msg("victim %u is %s", slot, h->state[slot] == HOST_FREE ?
			 "free" : "a victim already");
	h->state[slot] = HOST_VICTIM;
	h->nr_occupied--;
	h->nr_victims++;
	host_check_hint(h, slot);
}

unsigned int host_victims(struct host *h, u32 *slots, unsigned int nr)
{
	unsigned int got = h->policy->ops->victims(h->policy, slots, nr), i;

	if (got > nr)
		fail_msg("%u victims where %u were asked for", got, nr);
	if (!got && nr && h->nr_occupied)
		fail_msg("no victim, with %u slots occupied", h->nr_occupied);
	for (i = 0; i < got; i++)
		take_victim(h, slots[i]);
	return got;
}

static void drop(struct host *h, u32 slot, enum cache_removal why)
{
	u32 block = h->block_of[slot];

	if (h->state[slot] == HOST_VICTIM)
		h->nr_victims--;
	else
		h->nr_occupied--;
	h->state[slot] = HOST_FREE;
	h->block_of[slot] = NO_BLOCK;
	h->slot_of[block] = NO_SLOT;
	h->nr_free++;
	h->policy->ops->removed(h->policy, slot, block, why);
}

void host_evict(struct host *h, u32 slot)
{
	assert_int_equal(h->state[slot], HOST_VICTIM);
	drop(h, slot, CACHE_REMOVED_EVICTED);
}

void host_busy(struct host *h, u32 slot)
{
	assert_int_equal(h->state[slot], HOST_VICTIM);
	h->state[slot] = HOST_OCCUPIED;
	h->nr_victims--;
	h->nr_occupied++;
	h->policy->ops->victim_busy(h->policy, slot);
	host_check_hint(h, slot);
}

void host_invalidate(struct host *h, u32 slot, enum cache_removal why)
{
	assert_int_not_equal(h->state[slot], HOST_FREE);
	drop(h, slot, why);
}

bool host_access(struct host *h, u32 block, const struct cache_io *io)
{
	const struct cache_policy_ops *ops = h->policy->ops;
	u32 slot = h->slot_of[block];
	struct cache_io with = *io;
	enum cache_verdict verdict;

	h->nr_accesses++;
	if (slot != NO_SLOT) {
		h->nr_hits++;
		ops->hit(h->policy, slot, block, io);
		host_check_hint(h, slot);
		return true;
	}
	if (h->nr_free)
		with.flags |= CACHE_IO_FREE_SLOTS;
	verdict = ops->miss(h->policy, block, &with);
	if ((unsigned int)verdict >= NR_CACHE_VERDICTS)
		fail_msg("verdict %d is out of range", verdict);
	if (verdict > CACHE_PROMOTE_HOT)
		return false;
	if (!h->nr_free && host_victims(h, &slot, 1))
		host_evict(h, slot);
	slot = host_free_slot(h);
	if (slot != NO_SLOT)
		host_insert(h, slot, block, verdict);
	return false;
}

void host_switch(struct host *h, const struct cache_policy_ops *ops,
		 bool hints_valid)
{
	u32 *hints = calloc(h->nr_slots, sizeof(*hints));
	struct cache_policy_params params = params_of(h);
	u32 i;

	for (i = 0; i < h->nr_slots; i++)
		if (h->state[i] != HOST_FREE)
			hints[i] = h->policy->ops->hint(h->policy, i);
	h->policy->ops->destroy(h->policy);
	memset(h->words, 0, h->nr_slots * sizeof(*h->words));
	h->policy = policy_make(ops, &params);
	assert_non_null(h->policy);
	for (i = 0; i < h->nr_slots; i++) {
		if (h->state[i] == HOST_FREE)
			continue;
		if (h->state[i] == HOST_VICTIM) {
			h->nr_victims--;
			h->nr_occupied++;
		}
		h->state[i] = HOST_OCCUPIED;
		ops->load(h->policy, i, h->block_of[i], hints[i], hints_valid);
	}
	ops->load_done(h->policy);
	free(hints);
}

void host_drain(struct host *h, u32 *order)
{
	u32 batch[16], nr = 0, got, i;

	while (h->nr_occupied) {
		got = host_victims(h, batch, ARRAY_SIZE(batch));
		for (i = 0; i < got; i++)
			order[nr++] = batch[i];
	}
	assert_int_equal(h->policy->ops->victims(h->policy, batch, 16), 0);
}

static void list_policies(const char *wrong)
{
	const struct cache_policy_ops *ops;
	unsigned int i;

	fprintf(stderr, "%s: no such policy; there are", wrong);
	for (i = 0; (ops = policy_nth(i)); i++)
		fprintf(stderr, " %s", ops->name);
	fprintf(stderr, ", and their aliases\n");
}

int host_check_policies(int argc, char **argv,
			int (*check)(const struct cache_policy_ops *ops))
{
	const struct cache_policy_ops *ops;
	int i, failed = 0;

	for (i = 1; i < argc; i++) {
		ops = policy_find(argv[i]);
		if (!ops) {
			list_policies(argv[i]);
			return 2;
		}
		failed += check(ops);
	}
	for (i = 0; argc == 1 && (ops = policy_nth(i)); i++)
		failed += check(ops);
	return failed ? 1 : 0;
}
