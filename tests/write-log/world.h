/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small world around the write log's own code: blocks of an origin, slots, a
 * ring, users and background work under random interleavings, and power cuts.
 *
 * Each process is a fiber; whatever lies between two yields is what the engine
 * does under a lock. A write is issued, takes effect and ends at three different
 * moments. At a cut each part that was not flushed, of either device, is there
 * or not, and a block of the ring may be torn. At a reset the devices keep what
 * is in their caches.
 *
 * The index, the ring and recovery are the product's. This file does what the kernel
 * part will do around them (write, flush, go home, into the cache, evict, discard,
 * set and clear the flag), as docs/write-log.md has it.
 */
#ifndef LOG_TEST_WORLD_H
#define LOG_TEST_WORLD_H

#include "util.h"

/* Rules that the kernel part has to keep; the library's own are in log-rules.h. */
#define WORLD_RULES(X) \
	X(W1_FLAG_FIRST)	/* the flag is durable before anything is absorbed */ \
	X(W1_ABSORBERS)		/* absorbers count themselves in, then read the state */ \
	X(W1_LAST_GONE)		/* so is the last GONE */ \
	X(W1_FAILED_CLEAR)	/* nothing is absorbed when clearing the flag failed */ \
	X(W2_PREFLUSH)		/* a block with records goes out with a PREFLUSH */ \
	X(W3_RING)		/* a flush writes the ring */ \
	X(W3_DEVICE)		/* and flushes the device, even if the ring does not need it */ \
	X(W3_IN_FLIGHT)		/* and waits for the block in flight */ \
	X(W3_JOINED)		/* also if the device has flushed meanwhile */ \
	X(W4_FLUSH_FIRST)	/* the origin is flushed before GONE */ \
	X(W5_DIRTY)		/* into the cache: the mapping is committed dirty */ \
	X(W5_COMMIT_FIRST)	/* and durable before GONE */ \
	X(W5_CLOSED)		/* nothing is absorbed meanwhile */ \
	X(W5_KEEP_MAPPED)	/* no eviction before GONE is durable */ \
	X(W5_MAPPING_HOLDS)	/* recovery: mapped and recorded: the mapping holds */ \
	X(W6_DISCARD)		/* what is discarded is GONE durably before the origin */ \
	X(W8_ORDER)		/* extents are recorded in the order of being seen */ \
	X(W8_WHOLE)		/* though they are superseded by then */ \
	X(W10_VALID_FIRST)	/* what went home before it was logged gets a VALID */ \
	X(W13_HOME_GATE)	/* going home waits for writes to the origin */ \
	X(W13_KEEP_GATE)	/* into the cache waits for all writes in flight */ \
	X(W13_EARLY_COPY)	/* only a block with extents is read before writes wait */ \
	X(W13_UNMAPPED)		/* absorbed only when the unmapping is durable */ \
	X(W14_PIN)		/* readers pin */ \
	X(W14_SLOT_AGAIN)	/* a reader that found neither looks for a slot again */ \
	X(W14_PIN_FIRST)	/* a mixed read pins its extents before the origin is read */ \
	X(GROW_HEADER)		/* a header at the new end, then the new size is committed */ \
	X(RESET_FLUSH)		/* recovery flushes the cache device before it serves */

enum world_rule {
	WORLD_NO_RULE,
#define X(name) WORLD_##name,
	WORLD_RULES(X)
#undef X
	WORLD_NR_RULES
};

extern enum world_rule world_broken_rule;
extern const char *const world_rule_names[];	/* by enum world_rule */
extern const char *const log_rule_names[];	/* by enum log_rule */

struct world_result {
	u32 cuts, ring_blocks, without_flush, absorbed, homes, moves, replayed, mapped_and_logged;
	char fault[96];		/* empty if there was none */
};

/* One world: so many cuts, with up to @steps steps before each. */
void world_run(u64 seed, u32 cuts, u32 steps, struct world_result *result);

#endif
