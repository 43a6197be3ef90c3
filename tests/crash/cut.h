/* SPDX-License-Identifier: GPL-2.0-only */
/* One run: a recording, its cuts, and the counters. */
#ifndef CUT_H
#define CUT_H

#include "crash.h"

/* The session from the first cut to the end, or to the second cut. */
enum session {
	SESSION_NONE,
	SESSION_READ,		/* read everything again: promotes and evicts */
	SESSION_CLEAN,		/* write all dirty blocks back */
	SESSION_LOAD,		/* load as in the recording */
};
#define NR_SESSIONS (SESSION_LOAD + 1)

struct tally {
	uint64_t looked;	/* states examined without a kernel */
	uint64_t cuts;		/* states that the engine opened */
	uint64_t second_cuts;
	uint64_t activations;
	uint64_t tool_checks, tool_writebacks;
	uint64_t repairs, repairs_refused;	/* of sound or spoilt data */
	uint64_t repairs_opened;	/* by an engine */
	uint64_t repair_lost, repair_guessed;	/* sums of blocks */
	uint64_t mapped, dirty;	/* summed over the states */
	uint64_t logged, segments;	/* states with a write log; sum of segments */
	uint64_t settled;	/* write logs, by hearth-metadata's code */
	uint64_t stock_refused;	/* states with a write log */
	uint64_t differ;	/* dirty blocks with different copies */
	uint64_t timed, us_after_cut, us_after_clean;
	uint64_t stock_cuts, stock_crashes;
	uint64_t faults;
	uint64_t failed;	/* cuts */
};

struct crash {
	struct world w;
	struct recording rec;
	struct log log;
	struct replay main;
	struct rng rng;		/* of the present cut */
	struct tally tally;
	bool stock;		/* stock, the kernel's own engine, is loaded */
	struct chunks changed[NR_DISKS];	/* may differ from main */
	uint8_t *saved[NR_DISKS];	/* the disks at the first cut */
	struct chunks in_saved[NR_DISKS];
	uint8_t *first;		/* the cache as first read after a cut */
	uint8_t *second;	/* the same after the second cut */
	uint8_t *buf;
	uint8_t *repaired;	/* metadata, see repair_keeps() */
	uint8_t *session_unknown;
};

/* Returns the event of a cut; the recording's seed and @number choose it. */
uint32_t cut_event(const struct crash *x, uint32_t number);
/* Checks one cut.  @event must not be below that of the call before. */
bool cut_check(struct crash *x, uint32_t number, uint32_t event, bool activate);
/*
 * The same with stock.  With @crash its session is cut, too, and hearth opens
 * that.
 */
bool cut_check_stock(struct crash *x, uint32_t number, uint32_t event, bool crash);

/* Every version's cache_check and cache_dump must agree with @v. */
bool tools_agree(struct crash *x, const struct meta_view *v);
/*
 * Every version's cache_check must accept the metadata in @data, which is on
 * the disk during the call.
 */
bool tools_pass(struct crash *x, uint8_t *data);
/* cache_writeback must write all data that is certain to the origin. */
bool tools_write_back(struct crash *x, const struct config *c);

/*
 * Repairs the metadata on the disk, whose content is @v, and the same metadata
 * with one block spoilt.  Every block that was dirty must be dirty, or named as
 * lost.  Leaves in x->repaired a result in which no dirty block is lost.
 */
bool repair_keeps(struct crash *x, const struct meta_view *v);
/* Copies that result to the metadata device. */
void repair_take(struct crash *x);

/* Loads an engine with the command in $CRASH_ENGINE; no cache may be open. */
void engine_load(const char *name);

#endif
