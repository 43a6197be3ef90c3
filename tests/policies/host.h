/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stand-in for the engine: slots, blocks and a policy.  It checks every rule of
 * the interface at each call.  Blocks are numbers below nr_blocks.
 */
#ifndef HEARTH_TEST_HOST_H
#define HEARTH_TEST_HOST_H

#include "registry.h"

#define NO_BLOCK	U32_MAX
#define NO_SLOT		U32_MAX

enum host_slot {
	HOST_FREE,
	HOST_OCCUPIED,
	HOST_VICTIM,		/* from victims() until evicted or busy */
};

struct host {
	struct cache_policy *policy;
	u32 nr_slots, nr_blocks;
	u16 *words;
	u32 *block_of;
	u32 *slot_of;
	u8 *state;
	u32 nr_free, nr_occupied, nr_victims;
	u64 nr_hits, nr_accesses;
	u32 rng;
};

struct host *host_new(const struct cache_policy_ops *ops, u32 nr_slots,
		      u32 nr_blocks);
void host_free(struct host *h);

u32 host_random(struct host *h, u32 below);
/* A request of one block: promotes it, and evicts if necessary.  True if it hit. */
bool host_access(struct host *h, u32 block, const struct cache_io *io);
/* Put @block into a free slot, as if the policy had granted the promotion. */
void host_insert(struct host *h, u32 slot, u32 block, enum cache_verdict why);
u32 host_free_slot(struct host *h);
/* Ask for up to @nr victims; checks each victim, and returns how many came. */
unsigned int host_victims(struct host *h, u32 *slots, unsigned int nr);
void host_evict(struct host *h, u32 slot);
void host_busy(struct host *h, u32 slot);
void host_invalidate(struct host *h, u32 slot, enum cache_removal why);
void host_check_hint(struct host *h, u32 slot);
/* Save the hints, replace the policy by a new one of @ops, and load the hints. */
void host_switch(struct host *h, const struct cache_policy_ops *ops,
		 bool hints_valid);
/* Take every slot as a victim, check that each comes once, and fill in @order. */
void host_drain(struct host *h, u32 *order);

/*
 * The rest of main(): checks the policies that the arguments name, or all of them.
 * @check returns the number of its tests that failed.  Returns an exit status.
 */
int host_check_policies(int argc, char **argv,
			int (*check)(const struct cache_policy_ops *ops));

#endif
