/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks the places that keep a rule of docs/write-log.md.
 *
 * In the product log_keeps(RULE) is true. The tests define LOG_RULES_BREAKABLE
 * and break one rule at a time, because a rule whose absence no test notices
 * may just as well be absent.
 */
#ifndef HEARTH_LOG_RULES_H
#define HEARTH_LOG_RULES_H

#define LOG_RULES(X) \
	X(W2_DURABLE)		/* no PREFLUSH only if all data were written with FUA */ \
	X(W2_BATCH)		/* the flush of one batch does not serve the next */ \
	X(W2_FLUSHED)		/* a block spares later ones their PREFLUSH if it had one */ \
	X(W6_ORIGIN)		/* extents leave the index after GONE is durable */ \
	X(W6_UNLOGGED)		/* a segment with unlogged extents is in use */ \
	X(W6_RING)		/* so is one that the ring relies on */ \
	X(W6_LEAVING)		/* so is one of which a run is about to leave */ \
	X(W6_PIN)		/* so is one that a reader uses */ \
	X(W6_SETTLE)		/* a segment is released when the block is durable */ \
	X(W7_TAIL)		/* the tail moves to where the round began */ \
	X(W7_RESERVE)		/* room for two rounds is kept free */ \
	X(W9_REPEATS_FUA)	/* repeats do not rely on a later flush */ \
	X(W9_SAME_BLOCK)	/* a failed block is written again before any other */ \
	X(W10_GONE_LAST)	/* GONE comes after the VALID of its batch */ \
	X(W10_REPEATS_LAST)	/* repeats are chosen when the others are known */ \
	X(ROUND_OF_RING)	/* a round follows the ring, not the index */ \
	X(GONE_OF_PLACE)	/* GONE names a place, not the origin's sectors */ \
	X(W11_HEAD)		/* the head is the last block with SYNC */ \
	X(W12_NEWEST)		/* only the newest extent is lengthened */

#ifdef LOG_RULES_BREAKABLE

enum log_rule {
	LOG_NO_RULE,
#define X(name) LOG_##name,
	LOG_RULES(X)
#undef X
	LOG_NR_RULES
};

extern enum log_rule log_broken_rule;

#define log_keeps(name)		(log_broken_rule != LOG_##name)
#define LOG_RULES_CAN_BREAK	true

#else

#define log_keeps(name)		true
#define LOG_RULES_CAN_BREAK	false

#endif

#endif
